"""CUDA runtime: devices, compilers, the kernel cache, buffers and streams."""
