"""Database search: score cutoffs, hit assembly and ordering, and the hit writer."""
