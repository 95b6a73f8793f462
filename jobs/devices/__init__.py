"""Choice of the compute devices, and of the memory they may use."""
