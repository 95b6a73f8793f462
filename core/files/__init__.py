"""Files: opening and unpacking, their kinds, delimited text, matrices, scratch files and journals."""
