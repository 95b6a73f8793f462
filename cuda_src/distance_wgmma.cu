// Products of bit planes (distance.cuh) with Hopper's binary tensor cores, compute capability 9.0a.
#include "products_wgmma.cuh"

KERNEL(kThreads, kBlocks) distance_wgmma(const DistanceArgs a) {
  DistanceWork work;
  if (!find_work<kRows, kColumns>(a, work)) return;
  multiply_planes(a, work, CountAdder{a});
}
