"""The compilers that turn kernels into machine code, and which of them is taken."""
