"""Which device does the work, and how much memory it may use."""
