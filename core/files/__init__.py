"""Files: opening and decompression, file kinds, delimited text, matrices, scratch files and journals."""
