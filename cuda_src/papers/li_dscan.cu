// DScan-mNW of Li et al. 2013 (section IV.B): one block per matrix, one launch. Three anti-diagonals are in shared memory, two known ones
// and the one that is being computed. Each is also written to the row-major matrix, where its cells do not coalesce; many threads hide the
// latency.
//
// Macros: THREADS (threads of a block), LONGEST (letters of the longest query). Registers: 32 on sm_90a (NVRTC 13.5). Shared memory: 12
// (LONGEST + 1) + 4,096 bytes. Measured: benchmarks/results/papers/table.md (one H200, 2026-11-21).
#include "li.cuh"

constexpr int kThreads = THREADS;

KERNEL(kThreads, 1) li_dscan(const LiArgs a) {
  __shared__ int32_t diagonals[3][LONGEST + 1];  // [diagonal % 3][row]
  __shared__ int32_t table[kLetters * kLetters];
  const LiPair p = li_pair(a, a.first_pair + blockIdx.x);
  for (int k = threadIdx.x; k < kLetters * kLetters; k += kThreads) table[k] = a.table[k];
  for (int d = 0; d <= p.rows + p.columns; d++) {
    int32_t* current = diagonals[d % 3];
    const int32_t *one_before = diagonals[(d + 2) % 3], *two_before = diagonals[(d + 1) % 3];
    const int first = d > p.columns ? d - p.columns : 0, last = d < p.rows ? d : p.rows;
    __syncthreads();
    for (int i = first + threadIdx.x; i <= last; i += kThreads) {
      const int j = d - i;
      int cell;
      if (i == 0 || j == 0)
        cell = -(i + j) * a.gap;
      else
        cell = larger(two_before[i - 1] + table[p.query[i - 1] * kLetters + p.target[j - 1]],
                      larger(one_before[i - 1], one_before[i]) - a.gap);
      current[i] = cell;
      p.matrix[static_cast<int64_t>(i) * p.stride + j] = cell;
    }
  }
}
