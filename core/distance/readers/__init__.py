"""What calls are read from: one kind of file a module."""
