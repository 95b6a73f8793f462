"""Finds pairs within a threshold without aligning all pairs: edit distance bounds, filter steps and deduplication of records."""
