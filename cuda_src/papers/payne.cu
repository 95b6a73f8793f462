// The five kernels of Payne, Sinnott-Armstrong, Moore 2010, "Exploiting graphics processing units for computational biology and
// bioinformatics", in the order of the paper: each one removes the bottleneck of the one before it. They are kept as the paper has them,
// for teaching and measuring; gpualign itself uses the kernels in distance_*.cu.
//
// d(i, j) = number of attributes (sites) at which instances (samples) i and j differ. A block computes one pair; its threads divide the
// attributes among themselves ("leapfrog"). Beyond the paper: pairs of two sets, and missing calls, which differ from nothing. Counts are
// below 2^31, as in distance.cuh.
//
//   naive      section 4    int, the instances of an attribute contiguous (column-major); an atomic addition for each difference
//   coalesced  section 5.1  int, the attributes of an instance contiguous: consecutive threads read consecutive words
//   char       section 5.2  four attributes in a char4: a quarter of the loads, as many atomic additions
//   register   section 5.3  the differences of a char4 are added up in a register: a quarter of the atomic additions
//   shared     section 5.3  a sum per thread in shared memory, added up by thread 0: no atomic additions
//
// Rows of char data are padded with missing calls to whole char4, where the paper tests whether an attribute exists.
//
// Macros: THREADS (threads of a block, 128 in the paper). Registers on sm_90a (NVRTC 13.5): 26 (naive), 20 (coalesced),
// 27 (char), 28 (register), 72 (shared). Shared memory: none, but 4 THREADS bytes (shared).
// Measured (one H200, 2026-11-21, benchmarks/results/papers/table.md), 112 samples x 512 sites, all ordered pairs: 0.038, 0.0165, 0.0144,
// 0.0125 and 0.0188 ms in the order above.
#include "portable.cuh"

struct PayneArgs {
  const void* data;   // naive: int32[attributes][stride]; coalesced: int32[instances][stride]; else uint8[instances][stride]
  int32_t* distance;  // [rows][columns], 0 before the first launch
  int64_t stride;     // elements of a row of `data`
  int32_t attributes;
  int32_t first_row, first_column, columns;  // instances of row 0 and of column 0; columns of `distance`
};
SAME_AS_ON_HOST(PayneArgs);

constexpr int kThreads = THREADS, kNoCall = 255;  // the paper: 128

struct Pair {
  int64_t x, y;  // instances
  int32_t* distance;
};

DEVICE Pair pair_of_block(const PayneArgs& a) {
  const int64_t pair = blockIdx.x;
  return {a.first_column + pair % a.columns, a.first_row + pair / a.columns, a.distance + pair};
}

DEVICE bool differ(int x, int y) { return x != y && x != kNoCall && y != kNoCall; }

struct alignas(4) Four {
  uint8_t x, y, z, w;
};

DEVICE Four load_four(const PayneArgs& a, int64_t instance, int attribute) {
  return *reinterpret_cast<const Four*>(static_cast<const uint8_t*>(a.data) + instance * a.stride + attribute);
}

KERNEL(kThreads, 1) payne_naive(const PayneArgs a) {
  const Pair pair = pair_of_block(a);
  const int32_t* data = static_cast<const int32_t*>(a.data);
  for (int i = threadIdx.x; i < a.attributes; i += kThreads)
    if (differ(data[a.stride * i + pair.x], data[a.stride * i + pair.y])) atomicAdd(pair.distance, 1);
}

KERNEL(kThreads, 1) payne_coalesced(const PayneArgs a) {
  const Pair pair = pair_of_block(a);
  const int32_t* data = static_cast<const int32_t*>(a.data);
  for (int i = threadIdx.x; i < a.attributes; i += kThreads)
    if (differ(data[i + a.stride * pair.x], data[i + a.stride * pair.y])) atomicAdd(pair.distance, 1);
}

KERNEL(kThreads, 1) payne_char(const PayneArgs a) {
  const Pair pair = pair_of_block(a);
  for (int i = 4 * threadIdx.x; i < a.attributes; i += 4 * kThreads) {
    const Four j = load_four(a, pair.x, i), k = load_four(a, pair.y, i);
    if (differ(j.x, k.x)) atomicAdd(pair.distance, 1);
    if (differ(j.y, k.y)) atomicAdd(pair.distance, 1);
    if (differ(j.z, k.z)) atomicAdd(pair.distance, 1);
    if (differ(j.w, k.w)) atomicAdd(pair.distance, 1);
  }
}

DEVICE int count_four(const Four& j, const Four& k) {
  int count = 0;
  if (differ(j.x, k.x)) count++;
  if (differ(j.y, k.y)) count++;
  if (differ(j.z, k.z)) count++;
  if (differ(j.w, k.w)) count++;
  return count;
}

KERNEL(kThreads, 1) payne_register(const PayneArgs a) {
  const Pair pair = pair_of_block(a);
  for (int i = 4 * threadIdx.x; i < a.attributes; i += 4 * kThreads)
    atomicAdd(pair.distance, count_four(load_four(a, pair.x, i), load_four(a, pair.y, i)));
}

KERNEL(kThreads, 1) payne_shared(const PayneArgs a) {
  __shared__ int32_t counts[kThreads];
  const Pair pair = pair_of_block(a);
  const int thread = threadIdx.x;
  counts[thread] = 0;
  __syncthreads();
  for (int i = 4 * thread; i < a.attributes; i += 4 * kThreads)
    counts[thread] += count_four(load_four(a, pair.x, i), load_four(a, pair.y, i));
  __syncthreads();
  if (thread == 0) {
    for (int i = 1; i < kThreads; i++) counts[0] += counts[i];
    *pair.distance += counts[0];  // added to the counts of earlier launches, if the attributes come in pieces
  }
}
