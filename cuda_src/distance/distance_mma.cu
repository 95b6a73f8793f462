// Products of bit planes (distance.cuh) with binary tensor cores, compute capability 8.0 and newer.
#include "products_mma.cuh"

KERNEL(kThreads, kBlocks) distance_mma(const DistanceArgs a) {
  DistanceWork work;
  if (!find_work<kRows, kColumns>(a, static_cast<int>(blockIdx.x), work)) return;
  multiply_planes(a, work, CountAdder{a});
}
