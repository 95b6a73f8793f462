"""CUDA itself: devices, compilers, the kernel cache, buffers and streams."""
