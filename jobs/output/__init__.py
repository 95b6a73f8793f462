"""Output files of a run: their location and format, and how a later run resumes them."""
