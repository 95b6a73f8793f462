"""CUDA engine: devices, compiled kernels, batches, streams."""
