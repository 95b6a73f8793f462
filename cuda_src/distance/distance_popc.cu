// Distances by products of bit planes (distance.cuh) with popc (products_popc.cuh), for every device.
//
// No macros. Registers: 122 on sm_90a (NVRTC 13.5).
// Measured (one H200, 2026-11-23, benchmarks/results/dist_cuda.md), 2,048 samples x 65,536 sites of three calls, all ordered pairs: 37 *
// 10^12 comparisons a second; of two calls 56.
#include "products_popc.cuh"

KERNEL(kThreads, kBlocks) distance_popc(const DistanceArgs a) {
  DistanceWork work;
  if (!find_work<kRows, kColumns>(a, static_cast<int>(blockIdx.x), work)) return;
  multiply_planes(a, work, CountAdder{a});
}
