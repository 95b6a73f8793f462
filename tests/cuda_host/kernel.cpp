// One kernel as a shared library: -DKERNEL_FILE="threads.cu" -DKERNEL_NAME=align_threads and the kernel's own macros.
#include KERNEL_FILE

extern "C" void run(unsigned grid, unsigned block, unsigned shared_bytes, const void* args, unsigned seed) {
  cuda_host::launch(KERNEL_NAME, grid, block, shared_bytes, args, seed);
}
