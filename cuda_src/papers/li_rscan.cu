// RScan-mNW of Li et al. 2013 (section IV.C): one thread per matrix. The threads of a block compute a row of their matrices each, then
// write the rows to global memory together, one matrix after the other, so that accesses coalesce. Rows are cut into sections. Shared
// memory holds two rows and the letters of a section for each thread: 3 x 4 bytes x threads x section, 12 KB for 32 and 32 as in the paper.
// The sections are computed one after the other, each for all rows; the cells at its left come from global memory (li.cuh).
//
// Macros: THREADS (threads of a block), SECTION (columns of a section). Registers: 48 on sm_90a (NVRTC 13.5). Shared memory: 12 THREADS
// (SECTION + 1) + 4,104 bytes. Measured: benchmarks/results/papers/table.md (one H200, 2026-11-21).
#include "li.cuh"

constexpr int kThreads = THREADS, kSection = SECTION;

KERNEL(kThreads, 1) li_rscan(const LiArgs a) {
  __shared__ int32_t rows[2][kThreads][kSection + 1];  // one element more, so that threads use different banks
  __shared__ int32_t letters[kThreads][kSection + 1];
  __shared__ int32_t table[kLetters * kLetters];
  __shared__ int32_t max_rows, max_columns;
  const int thread = threadIdx.x, number = static_cast<int>(blockIdx.x) * kThreads + thread;
  const bool mine = number < a.pairs;
  const LiPair p = li_pair(a, a.first_pair + (mine ? number : a.pairs - 1));
  for (int k = thread; k < kLetters * kLetters; k += kThreads) table[k] = a.table[k];
  if (thread == 0) max_rows = max_columns = 0;
  __syncthreads();
  atomic_max(&max_rows, p.rows);
  atomic_max(&max_columns, p.columns);
  __syncthreads();
  const int in_block =
      a.pairs - static_cast<int>(blockIdx.x) * kThreads < kThreads ? a.pairs - static_cast<int>(blockIdx.x) * kThreads : kThreads;
  for (int left = 0; left < max_columns; left += kSection) {
    const int width = p.columns - left < kSection ? p.columns - left : kSection;  // 0 or less: this matrix is complete
    for (int c = 0; c < width; c++) {
      letters[thread][c] = p.target[left + c];
      rows[0][thread][c] = -(left + c + 1) * a.gap;
    }
    int corner = -left * a.gap;  // M(i-1, left)
    for (int i = 1; i <= max_rows; i++) {
      int32_t *above = rows[(i - 1) & 1][thread], *current = rows[i & 1][thread];
      if (mine && i <= p.rows && width > 0) {
        const int32_t* scores = table + p.query[i - 1] * kLetters;
        int left_cell = p.matrix[static_cast<int64_t>(i) * p.stride + left], diagonal = corner;
        corner = left_cell;
        for (int c = 0; c < width; c++) {
          left_cell = larger(diagonal + scores[letters[thread][c]], larger(above[c], left_cell) - a.gap);
          diagonal = above[c];
          current[c] = left_cell;
        }
      }
      __syncthreads();
      for (int other = 0; other < in_block; other++) {
        const LiPair q = li_pair(a, a.first_pair + static_cast<int>(blockIdx.x) * kThreads + other);
        if (i > q.rows) continue;
        for (int c = thread; c < kSection && left + c < q.columns; c += kThreads)
          q.matrix[static_cast<int64_t>(i) * q.stride + left + c + 1] = rows[i & 1][other][c];
      }
      __syncthreads();
    }
  }
}
