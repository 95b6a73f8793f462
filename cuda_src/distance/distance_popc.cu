// Products of bit planes (distance.cuh) with popc.
#include "products_popc.cuh"

KERNEL(kThreads, kBlocks) distance_popc(const DistanceArgs a) {
  DistanceWork work;
  if (!find_work<kRows, kColumns>(a, static_cast<int>(blockIdx.x), work)) return;
  multiply_planes(a, work, CountAdder{a});
}
