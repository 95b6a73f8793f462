"""Pairwise distances between samples, based on their calls at sites: SNPs, genotypes, alignments."""
