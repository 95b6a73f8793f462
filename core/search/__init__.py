"""What searches have beside alignments: hits and their order, strands, E-values."""
