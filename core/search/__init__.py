"""Database search: score cutoffs, hit collection and ordering, and the hit writer."""
