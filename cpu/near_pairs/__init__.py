"""Near pairs on the CPU: filter step selection, per-record data, and tiles of pairs."""
