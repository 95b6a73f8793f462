"""All-pairs distance of samples by their calls at sites: SNPs, genotypes, alignments."""
