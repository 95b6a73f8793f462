"""Database search: score cutoffs, best hits in order, and their writer."""
