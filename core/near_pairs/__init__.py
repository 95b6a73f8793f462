"""Finds pairs within a threshold without aligning all pairs: edit distance bounds, filter steps, record deduplication."""
