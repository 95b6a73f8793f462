"""Where results go: one module a kind of output. A sink takes results in any order and writes the same bytes."""
