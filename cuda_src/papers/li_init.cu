// Row 0 and column 0 of every matrix (li.cuh), a block a matrix.
#include "li.cuh"

KERNEL(THREADS, 1) li_init(const LiArgs a) {
  const LiPair p = li_pair(a, a.first_pair + blockIdx.x);
  for (int j = threadIdx.x; j <= p.columns; j += THREADS) p.matrix[j] = -j * a.gap;
  for (int i = threadIdx.x; i <= p.rows; i += THREADS) p.matrix[static_cast<int64_t>(i) * p.stride] = -i * a.gap;
}
