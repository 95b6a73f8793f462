"""Writers: text tables, matrices, sparse matrices and Arrow. Whatever the order in which a sink gets results, it writes the same bytes."""
