"""What `gpualign bench` measures and writes: a module for each paper."""
