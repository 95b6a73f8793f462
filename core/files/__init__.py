"""Text files: what delimits their cells, what quotes protect, and their lines."""
