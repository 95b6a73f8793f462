"""Database search: score cutoffs, the best hits in order, and their writer."""
