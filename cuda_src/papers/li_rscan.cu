// RScan-mNW (section IV.C): a thread a matrix. A block's threads compute a row of their matrices each, then write the rows to global
// memory together, a matrix after the other, so that accesses coalesce. Rows are cut into sections, of which shared memory holds two rows a
// thread and its letters: 3 x 4 bytes x threads x section, 12 KB for 32 and 32 as in the paper. Sections are computed one after the other,
// each over all rows; its left neighbours come from global memory (li.cuh).
#include "li.cuh"

constexpr int kThreads = THREADS, kSection = SECTION;

KERNEL(kThreads, 1) li_rscan(const LiArgs a) {
  __shared__ int32_t rows[2][kThreads][kSection + 1];  // an element longer, so that threads do not share banks
  __shared__ int32_t letters[kThreads][kSection + 1];
  __shared__ int32_t table[kLetters * kLetters];
  __shared__ int32_t most_rows, most_columns;
  const int thread = threadIdx.x, number = static_cast<int>(blockIdx.x) * kThreads + thread;
  const bool mine = number < a.pairs;
  const LiPair p = li_pair(a, a.first_pair + (mine ? number : a.pairs - 1));
  for (int k = thread; k < kLetters * kLetters; k += kThreads) table[k] = a.table[k];
  if (thread == 0) most_rows = most_columns = 0;
  __syncthreads();
  atomic_max(&most_rows, p.rows);
  atomic_max(&most_columns, p.columns);
  __syncthreads();
  const int in_block =
      a.pairs - static_cast<int>(blockIdx.x) * kThreads < kThreads ? a.pairs - static_cast<int>(blockIdx.x) * kThreads : kThreads;
  for (int left = 0; left < most_columns; left += kSection) {
    const int width = p.columns - left < kSection ? p.columns - left : kSection;  // 0 or less: this matrix has ended
    for (int c = 0; c < width; c++) {
      letters[thread][c] = p.target[left + c];
      rows[0][thread][c] = -(left + c + 1) * a.gap;
    }
    int corner = -left * a.gap;
    for (int i = 1; i <= most_rows; i++) {
      int32_t *above = rows[(i - 1) & 1][thread], *now = rows[i & 1][thread];
      if (mine && i <= p.rows && width > 0) {
        const int32_t* scores = table + p.query[i - 1] * kLetters;
        int before = p.matrix[static_cast<int64_t>(i) * p.stride + left], diagonal = corner;
        corner = before;
        for (int c = 0; c < width; c++) {
          before = larger(diagonal + scores[letters[thread][c]], larger(above[c], before) - a.gap);
          diagonal = above[c];
          now[c] = before;
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
