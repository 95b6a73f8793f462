"""Names and specialisations of kernels, and the layout of their arguments."""
