// The best targets of each query of a search: only these hits leave the device, not the matrix of scores.
//
// The key of a pair is its score (high 32 bits) and the inverted rank of its target in the database (low 32 bits): the keys of a query are
// distinct, and a larger key is a better hit. Radix selection finds the key of the last hit digit by digit, from the highest: a histogram
// of the next digit, over the keys that begin with the digits known so far, gives that digit. All keys that are not smaller are hits; the
// host sorts them.
//
// No macros. Registers: 22 on sm_90a (NVRTC 13.5). Shared memory: 1,044 bytes. Measured within a search (one H200, 2026-11-21,
// benchmarks/results/sw_cuda.md): 4.71 TCUPS with 25 hits per query chosen on the device, 4.72 without.
#include "portable.cuh"

struct SelectArgs {
  const int32_t* scores;  // [rows][target_count], 0 or more
  const int32_t* ranks;   // [target_count] position in the database
  int32_t* hit_scores;    // out, [rows][hits]
  int32_t* hit_columns;   // out, [rows][hits]
  int32_t rows;
  int32_t target_count;
  int32_t hits;  // hits per query, at most target_count
};
SAME_AS_ON_HOST(SelectArgs);

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;

DEVICE uint64_t key_of(const SelectArgs& a, const int32_t* scores, int column) {
  return static_cast<uint64_t>(scores[column]) << 32 | (0xffffffffu - static_cast<uint32_t>(a.ranks[column]));
}

// One block per row (query).
KERNEL(512, 1) select_hits(const SelectArgs a) {
  __shared__ int32_t counts[kDigits];
  __shared__ uint64_t prefix;         // the digits of the last hit's key that are known so far
  __shared__ int32_t hits_in_prefix;  // hits among the keys that begin with them
  __shared__ int32_t digits_left, written;
  for (int row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const int32_t* scores = a.scores + static_cast<int64_t>(row) * a.target_count;
    __syncthreads();
    if (threadIdx.x == 0) {
      prefix = 0;
      hits_in_prefix = a.hits;
      digits_left = 64 / kDigitBits;
      written = 0;
    }
    __syncthreads();
    while (digits_left > 0) {
      const int shift = (digits_left - 1) * kDigitBits;
      for (int d = threadIdx.x; d < kDigits; d += blockDim.x) counts[d] = 0;
      __syncthreads();
      for (int column = threadIdx.x; column < a.target_count; column += blockDim.x) {
        const uint64_t key = key_of(a, scores, column) >> shift;
        if (key >> kDigitBits == prefix) atomicAdd(&counts[key & (kDigits - 1)], 1);
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        int d = kDigits - 1;
        while (counts[d] < hits_in_prefix) hits_in_prefix -= counts[d--];
        prefix = prefix << kDigitBits | static_cast<uint64_t>(d);
        digits_left--;
        // If all keys with this prefix are hits, the remaining digits do not matter.
        if (counts[d] == hits_in_prefix) {
          prefix <<= digits_left * kDigitBits;
          digits_left = 0;
        }
      }
      __syncthreads();
    }
    for (int column = threadIdx.x; column < a.target_count; column += blockDim.x) {
      if (key_of(a, scores, column) < prefix) continue;
      const int64_t place = static_cast<int64_t>(row) * a.hits + atomicAdd(&written, 1);
      a.hit_scores[place] = scores[column];
      a.hit_columns[place] = column;
    }
  }
}
