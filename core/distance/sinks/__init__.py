"""Where distances go."""
