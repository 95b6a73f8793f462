"""CUDA engines for alignments, near pairs and distances, and the runtime that they share."""
