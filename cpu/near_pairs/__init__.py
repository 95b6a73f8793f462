"""Near pairs on the CPU: which steps, what is kept of each record, and tiles of pairs."""
