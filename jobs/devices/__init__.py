"""Choice of the device that does the work, and of the memory it may use."""
