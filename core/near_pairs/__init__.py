"""Pairs within a threshold, found without computing the others: bounds on the edit distance, filter steps, deduplication of records."""
