"""Finds pairs within a threshold without aligning the rest: edit distance bounds, filter steps, record deduplication."""
