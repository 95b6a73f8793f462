"""Results in the form that writers use: blocks of pairs, table columns, filters."""
