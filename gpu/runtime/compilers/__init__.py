"""Compilers that turn kernels into machine code, and the selection of a compiler."""
