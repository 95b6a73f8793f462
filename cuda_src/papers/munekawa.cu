// The two kernels of Munekawa, Ino, Hagihara 2008 (in Japanese: "A fast method for sequence alignment using the CUDA-equipped GPU"):
// Smith-Waterman scores of one query against many targets, with the anti-diagonals of the matrix in shared memory.
//
// Equations 1 to 3, for query row i and target column j, with gap costs alpha (first letter) and beta (further letters):
//   H(i,j) = max(0, E(i,j), F(i,j), H(i-1,j-1) + s(q_i, t_j))
//   E(i,j) = max(H(i,j-1) - alpha, E(i,j-1) - beta)     F(i,j) = max(H(i-1,j) - alpha, F(i-1,j) - beta)
// A block computes the matrix of one target and keeps its maximum. The paper scored 2 / -1 with gaps of 1; here s is a table, and gaps are
// affine. Its queries had to fit a block (1,024 letters, 2,048 with char4); here a longer query is cut into strips of THREADS rows (scalar)
// or 4 THREADS rows (vector), and the last row of a strip, H and F of each column, waits in global memory for the next strip.
//
//   scalar  sections 4.1 and 4.2: one thread per row. The cells of anti-diagonal t = i + j are independent, and need the anti-diagonals t -
//           1 and t - 2, which are in shared memory. (Three buffers take turns, so that one barrier per anti-diagonal suffices.)
//   vector  section 4.3: letters in char4, a thread has four rows and computes four columns at a time: 16 cells between two barriers; the
//           next four letters of the target are loaded ahead. The wave front consists of blocks of 4 x 4 cells.
//
// Outside of the matrix H is 0, and E and F are kNever. Any negative number would do, because H is never below 0. Scores fit 32 bits:
// gpu/papers/munekawa.py refuses other tasks.
//
// Macros: THREADS (threads of a block). Registers on sm_90a (NVRTC 13.5): 40 (scalar), 60 (vector). Shared memory: 24 THREADS +
// 4,096 bytes (scalar), 64 THREADS + 4,096 (vector). Measured: benchmarks/results/papers/table.md (one H200, 2026-11-21).
#include "portable.cuh"

struct MunekawaArgs {
  const uint8_t* query;    // [rows]
  const uint8_t* targets;  // letters of all targets, each padded with kPadding to a multiple of 4
  const int64_t* offsets;  // [grid] first letter of a target
  const int32_t* lengths;  // [grid] letters, without padding
  const int32_t* table;    // [kLetters][kLetters]
  int32_t* below;          // [2][letters of all targets]: H, then F, of the last row of a strip
  int32_t* scores;         // [grid], 0 at first
  int64_t below_stride;    // letters of all targets
  int32_t rows;            // letters of the query
  int32_t open, extend;    // alpha, beta
};
SAME_AS_ON_HOST(MunekawaArgs);

constexpr int kLetters = 32, kPadding = 31, kNever = -(1 << 28);
constexpr int kThreads = THREADS;  // in the paper the rows of the query, or a quarter of them

DEVICE int larger(int a, int b) { return a > b ? a : b; }

KERNEL(kThreads, 1) munekawa_scalar(const MunekawaArgs a) {
  __shared__ int32_t h[3][kThreads], f[3][kThreads];  // [anti-diagonal % 3][row]
  __shared__ int32_t table[kLetters * kLetters];
  const int thread = threadIdx.x, length = a.lengths[blockIdx.x];
  const uint8_t* target = a.targets + a.offsets[blockIdx.x];
  int32_t* above_h = a.below + a.offsets[blockIdx.x];
  int32_t* above_f = above_h + a.below_stride;
  for (int k = thread; k < kLetters * kLetters; k += kThreads) table[k] = a.table[k];
  int best = 0;
  for (int first = 0; first < a.rows; first += kThreads) {
    const int rows = a.rows - first < kThreads ? a.rows - first : kThreads;
    __syncthreads();
    const int32_t* scores = table + (thread < rows ? a.query[first + thread] : kPadding) * kLetters;
    int left = 0, e = kNever, above_left = 0;  // above_left: H above and to the left, for the first row
    for (int t = 0; t < length + rows - 1; t++) {
      const int current = t % 3, one_before = (t + 2) % 3, two_before = (t + 1) % 3, j = t - thread;
      if (thread < rows && j >= 0 && j < length) {
        const int up_h = thread ? h[one_before][thread - 1] : (first ? above_h[j] : 0),
                  up_f = thread ? f[one_before][thread - 1] : (first ? above_f[j] : kNever);
        const int corner = j == 0 ? 0 : thread ? h[two_before][thread - 1] : above_left;
        above_left = up_h;
        e = larger(left - a.open, e - a.extend);
        const int down = larger(up_h - a.open, up_f - a.extend);
        const int cell = larger(larger(0, corner + scores[target[j]]), larger(e, down));
        best = larger(best, cell);
        left = cell;
        h[current][thread] = cell;
        f[current][thread] = down;
        if (thread == rows - 1 && first + rows < a.rows) {
          above_h[j] = cell;
          above_f[j] = down;
        }
      }
      __syncthreads();
    }
  }
  atomic_max(&a.scores[blockIdx.x], best);
}

struct alignas(4) Letters {
  uint8_t letter[4];
};

KERNEL(kThreads, 1) munekawa_vector(const MunekawaArgs a) {
  __shared__ int32_t h[2][kThreads][4], f[2][kThreads][4];  // [turn % 2][thread][column]: the last row of each thread's 4 x 4 block
  __shared__ int32_t table[kLetters * kLetters];
  const int thread = threadIdx.x, quarters = (a.lengths[blockIdx.x] + 3) / 4;
  const Letters* target = reinterpret_cast<const Letters*>(a.targets + a.offsets[blockIdx.x]);
  int32_t* above_h = a.below + a.offsets[blockIdx.x];
  int32_t* above_f = above_h + a.below_stride;
  for (int k = thread; k < kLetters * kLetters; k += kThreads) table[k] = a.table[k];
  int best = 0;
  for (int first = 0; first < a.rows; first += 4 * kThreads) {
    const int strip = a.rows - first < 4 * kThreads ? a.rows - first : 4 * kThreads, threads = (strip + 3) / 4;
    const bool more = first + strip < a.rows;
    int row[4], left_h[4], e[4], corner = 0;
    for (int r = 0; r < 4; r++) {
      const int i = 4 * thread + r;
      row[r] = (i < strip ? a.query[first + i] : kPadding) * kLetters;
      left_h[r] = 0;
      e[r] = kNever;
    }
    Letters next = target[0];
    __syncthreads();
    for (int t = 0; t < quarters + threads - 1; t++) {
      const int b = t - thread, current = t & 1;
      if (thread < threads && b >= 0 && b < quarters) {
        const Letters letters = next;
        if (b + 1 < quarters) next = target[b + 1];
        int up_h[4], up_f[4];
        for (int c = 0; c < 4; c++) {
          up_h[c] = thread ? h[!current][thread - 1][c] : (first ? above_h[4 * b + c] : 0);
          up_f[c] = thread ? f[!current][thread - 1][c] : (first ? above_f[4 * b + c] : kNever);
        }
        const int next_corner = up_h[3];
        for (int r = 0; r < 4; r++) {
          int diagonal = corner;
          corner = left_h[r];  // of the next row: the cell left of the block
          for (int c = 0; c < 4; c++) {
            e[r] = larger(left_h[r] - a.open, e[r] - a.extend);
            up_f[c] = larger(up_h[c] - a.open, up_f[c] - a.extend);
            const int cell = larger(larger(0, diagonal + table[row[r] + letters.letter[c]]), larger(e[r], up_f[c]));
            diagonal = up_h[c];
            up_h[c] = cell;
            left_h[r] = cell;
            best = larger(best, cell);
          }
        }
        corner = next_corner;
        for (int c = 0; c < 4; c++) {
          h[current][thread][c] = up_h[c];
          f[current][thread][c] = up_f[c];
          if (more && thread == threads - 1) {
            above_h[4 * b + c] = up_h[c];
            above_f[4 * b + c] = up_f[c];
          }
        }
      }
      __syncthreads();
    }
  }
  atomic_max(&a.scores[blockIdx.x], best);
}
