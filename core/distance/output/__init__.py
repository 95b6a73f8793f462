"""Distance sinks."""
