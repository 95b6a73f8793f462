"""Clusters of records that are near each other. Pure: arrays in, arrays out; scipy does the graphs and the linkage."""
