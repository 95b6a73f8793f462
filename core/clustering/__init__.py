"""Clusters of records that are near each other. Arrays in, arrays out; scipy does the graphs and the linkage."""
