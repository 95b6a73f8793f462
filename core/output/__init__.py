"""Writers: text tables, matrices, sparse matrices and Arrow. A sink takes results in any order and writes the same bytes."""
