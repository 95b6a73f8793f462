"""Clusters of records that are near each other, from arrays to arrays. scipy does the graphs and the linkage."""
