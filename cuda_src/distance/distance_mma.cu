// Distances by products of bit planes (distance.cuh) on binary tensor cores (products_mma.cuh), compute capability 8.0 and newer.
//
// No macros. Registers: 155 on sm_90a (NVRTC 13.5).
// Measured (one H200, 2026-11-23, benchmarks/results/dist_cuda.md), 8,192 samples x 65,536 sites of three calls, all ordered pairs: 794 *
// 10^12 comparisons a second; of two calls 1,170.
#include "products_mma.cuh"

KERNEL(kThreads, kBlocks) distance_mma(const DistanceArgs a) {
  DistanceWork work;
  if (!find_work<kRows, kColumns>(a, static_cast<int>(blockIdx.x), work)) return;
  multiply_planes(a, work, CountAdder{a});
}
