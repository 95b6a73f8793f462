"""Plans all-vs-all work: tiles, bands, costs, memory budgets and shards."""
