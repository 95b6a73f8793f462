"""The CPU engine: vector kernels in C++ (src/) and their host."""
