// DScan-mNW (section IV.B): a block a matrix, one launch. Diagonals lie in shared memory, three at a time: two that are known, and one that
// is being computed; each is also written to its places in the row-major matrix, which do not coalesce, and of which many threads hide
// the latency (li.cuh).
#include "li.cuh"

constexpr int kThreads = THREADS;

KERNEL(kThreads, 1) li_dscan(const LiArgs a) {
  __shared__ int32_t diagonals[3][LONGEST + 1];  // by row
  __shared__ int32_t table[kLetters * kLetters];
  const LiPair p = li_pair(a, a.first_pair + blockIdx.x);
  for (int k = threadIdx.x; k < kLetters * kLetters; k += kThreads) table[k] = a.table[k];
  for (int d = 0; d <= p.rows + p.columns; d++) {
    int32_t* now = diagonals[d % 3];
    const int32_t *one = diagonals[(d + 2) % 3], *two = diagonals[(d + 1) % 3];
    const int first = d > p.columns ? d - p.columns : 0, last = d < p.rows ? d : p.rows;
    __syncthreads();
    for (int i = first + threadIdx.x; i <= last; i += kThreads) {
      const int j = d - i;
      int cell;
      if (i == 0 || j == 0)
        cell = -(i + j) * a.gap;
      else
        cell = larger(two[i - 1] + table[p.query[i - 1] * kLetters + p.target[j - 1]], larger(one[i - 1], one[i]) - a.gap);
      now[i] = cell;
      p.matrix[static_cast<int64_t>(i) * p.stride + j] = cell;
    }
  }
}
