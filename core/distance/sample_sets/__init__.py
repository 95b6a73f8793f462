"""Sets of samples on disk: their calls as bit planes, in a file that grows."""
