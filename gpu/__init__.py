"""CUDA devices. This version finds and reports them; it has no CUDA kernels yet."""
