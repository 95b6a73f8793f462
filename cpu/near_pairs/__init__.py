"""Near pairs on the CPU: choice of filter steps, data kept for each record, and tiles of pairs."""
