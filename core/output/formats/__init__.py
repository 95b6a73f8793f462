"""Row-based pair formats, one module per format. Each module defines the header and the columns of a row."""
