"""CUDA C++ kernels and headers, compiled at run time by gpualign.gpu."""
