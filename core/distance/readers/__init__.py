"""Call readers, one module per kind of file."""
