"""All-pairs distances of samples by their calls at sites: SNPs, genotypes, alignments."""
