// Screens all pairs of a rectangle by lengths and sketches, and lists the candidates (candidate_list.cuh). near.cuh has the glossary.
//
// PRODUCTS (products_*.cuh) computes the products of sketches in tiles, as for distances.
//
// Macros: PRODUCTS, "products_mma.cuh", "products_popc.cuh" or "products_none.cuh" (no sketches).
// Registers: 62 (none); 122 and 64 bytes of stack (popc); 154 (mma) on sm_90a (NVRTC 13.5). Shared memory: that of PRODUCTS.
// Measured (one H200, 2026-11-22, benchmarks/results/near_cuda.md), 10^9 pairs a second: genes of 1.5 kb, 8,192 bits: mma 117.5, popc 7.5;
// reads of 100 letters, 1,024 bits: 178.3 and 64.8. Without sketches: not measured alone.
#include PRODUCTS
#include "candidate_list.cuh"

KERNEL(kThreads, kBlocks) near_screen(const NearScreenArgs a) {
  DistanceWork work;
  if (!find_work<kRows, kColumns>(a.product, static_cast<int>(blockIdx.x), work)) return;
  // Skip the products if no pair of the block's tile has lengths within the bound.
  bool fits = false;
  for (int row = work.row + static_cast<int>(threadIdx.x); row < work.row + kRows && row < a.product.row_count; row += kThreads)
    fits |= a.rows[row].first < work.column + kColumns && a.rows[row].stop > work.column && a.rows[row].first < a.rows[row].stop;
  if (!__syncthreads_or(fits)) return;
  multiply_planes(a.product, work, CandidateList{a});
}
