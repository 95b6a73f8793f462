"""Clustering of records that are near each other: arrays in, arrays out. scipy handles graphs and linkage."""
