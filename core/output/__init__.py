"""Writers: text tables, matrices, sparse matrices and Arrow. A sink writes the same bytes regardless of the order in which results are
computed."""
