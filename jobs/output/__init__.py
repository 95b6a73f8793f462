"""Files that a run writes: where they go, in which format, and how another run resumes them."""
