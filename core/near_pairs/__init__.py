"""Pairs within a threshold, without computing the others: bounds on the edit distance, the steps that use them, equal records once."""
