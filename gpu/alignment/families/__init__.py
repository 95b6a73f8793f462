"""The families of alignment kernels: each module knows one, from the variants that it has to their launch;
`gpu/alignment/kernel_selection.py` lists them."""
