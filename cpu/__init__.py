"""The CPU engine: vector kernels in C++ (src/) and the Python code that runs them."""
