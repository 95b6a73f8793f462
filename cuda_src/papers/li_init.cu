// Row 0 and column 0 of every matrix (li.cuh), one block per matrix.
//
// Macros: THREADS (threads of a block). Registers: 24 on sm_90a (NVRTC 13.5). No shared memory. Not measured alone.
#include "li.cuh"

KERNEL(THREADS, 1) li_init(const LiArgs a) {
  const LiPair p = li_pair(a, a.first_pair + blockIdx.x);
  for (int j = threadIdx.x; j <= p.columns; j += THREADS) p.matrix[j] = -j * a.gap;
  for (int i = threadIdx.x; i <= p.rows; i += THREADS) p.matrix[static_cast<int64_t>(i) * p.stride] = -i * a.gap;
}
