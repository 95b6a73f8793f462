// Linear-gap global scores with small weights, and edit distances: one thread aligns a query with 32 targets, one bit each.
//
// Glossary
//   lane        here: one query with one group of 32 targets, the work of a thread. An item is THREADS lanes
//   strip       ROWS consecutive query rows. The strips of an item form a pipeline of blocks (pipeline.cuh)
//   u, v        steps of the rebased score down a column (u) and along a row (v), 0 .. S (S = STEPS)
//   plane       one bit per target: plane k of a step, k = 1 .. S, is [step >= k]. plane[k - 1] in the code
//   slot        match mask of one letter in the current column, in shared memory
//   carry       v along the last row of a strip, [column][plane][thread] in global memory; the next strip copies it ahead (carry_ring.cuh)
//   checkpoint  with PATHS: u of all rows of a strip, every TILE columns (field `edges`)
//
// The recurrence is that of the CPU's kernel (cpu/alignment/src/bitsliced.hpp). Rebased scores H'(i,j) = H(i,j) + gap (i + j), divided by
// the common factor of the weights, have steps u = H'(i,j) - H'(i-1,j) and v = H'(i,j) - H'(i,j-1) from 0 to S. With the shifted scores s'
// = S of equal letters and X < S of different ones, and u of column j - 1 and v of row i - 1 before the step,
//   z = max(s', u, v);  v(i,j) = z - u;  u(i,j) = z - v
// Of each plane, with PM the match mask:
//   z_k = [k <= X] | PM | u_k | v_k;  (z - u)_k = OR over a = 0 .. S-k of z_(k+a) & ~u_(a+1)
// Planes are nested: u_(k+1) implies u_k. So in all terms but the last, z_S & ~u_(S-k+1), PM and u_(k+a) add nothing, and v_(k+a) can stand
// for z_(k+a). A cell takes five three-input operations for edit distance (S = 2, X = 1), 11 for S = 3 and 19 for S = 4 (X = 1).
//
// COLUMNS columns are computed together. Slots of the first four letters are made for every column, those of later letters (ambiguity
// codes) only for columns that have such letters; else they hold no bits. Dummy rows above row 1 start with u = X and match nothing, which
// passes row 0 down unchanged. The score of a pair is the sum of v along its last row, counted in bit-sliced (vertical) counters.
//
// The lanes of a warp are neighbouring queries with the same group of targets: their loads of letters are one broadcast, and any numbers of
// queries and targets fill warps. The lanes of an item have the same number of strips and of columns.
//
// Macros: those of bitsliced.cuh, and BLOCKS (minimum blocks per multiprocessor: 7, 6, 6, 4 for STEPS 1 to 4).
// Registers: 146 (2 steps, 25 rows); 128 and 32 bytes of stack (1 step, 32 rows); 142 (4 steps, 15 rows) on sm_90a (NVRTC 13.5). Shared
// memory: 4 COLUMNS (LETTERS + 1) THREADS bytes of slots, and the ring of carries. Measured (one H200, 2026-11-28,
// benchmarks/results/nw_cuda.md), 16,000 x 1.5 kb: edit distance 89.0 TCUPS, 2/-1/1 (S = 4) 25.2; real 16S genes 83.6 and 23.7; 100,000 x
// 100 bp, edit distance: 78.3.
#include "bitsliced.cuh"
#include "carry_ring.cuh"

constexpr int kCounterBits = 24;  // sums of v are below 2^24: at most S times the longest target

// One step, u or v, of 32 targets.
struct Steps {
  uint32_t plane[STEPS];
};

// Returns what stands for z_k in a difference (see above): z_S itself, else plane k of the step that is not subtracted. top: z_S.
DEVICE uint32_t largest(int k, uint32_t top, const Steps& other) { return k == STEPS ? top : other.plane[k - 1]; }
// Returns (z - d)_K; other: the step, of u and v, that is not d. If z_(K+a) is 1 for a = 0 .. X - K, the last of these terms, ~d_(X-K+1),
// contains the others, because planes are nested.
template <int K>
DEVICE uint32_t difference(uint32_t top, const Steps& other, const Steps& d) {
  constexpr bool kBelow = K <= MISMATCH;
  constexpr int kOnes = kBelow ? MISMATCH - K : 0;  // the last a with z_(K+a) = 1 whatever the letters
  uint32_t sum;
  if (!kBelow)
    sum = largest(K, top, other) & ~d.plane[0];
  else if (kOnes == STEPS - K)
    return ~d.plane[kOnes];
  else
    sum = not_or_and_not(d.plane[kOnes], largest(K + kOnes + 1, top, other), d.plane[kOnes + 1]);
#pragma unroll
  for (int a = kBelow ? kOnes + 2 : 1; a <= STEPS - K; a++) sum = or_and_not(sum, largest(K + a, top, other), d.plane[a]);
  return sum;
}
template <int K>
struct Differences {
  static DEVICE void run(uint32_t top, const Steps& other, const Steps& d, Steps& out) {
    out.plane[K - 1] = difference<K>(top, other, d);
    Differences<K - 1>::run(top, other, d, out);
  }
};
template <>
struct Differences<0> {
  static DEVICE void run(uint32_t, const Steps&, const Steps&, Steps&) {}
};

// One cell of 32 targets. u: in, of column j - 1; out, of column j. v: in, of row i - 1; out, of row i.
DEVICE void cell(uint32_t pm, Steps& u, Steps& v) {
  const uint32_t top = or3(pm, u.plane[STEPS - 1], v.plane[STEPS - 1]);
  Steps right, down;
  Differences<STEPS>::run(top, v, u, right);
  Differences<STEPS>::run(top, u, v, down);
  u = down;
  v = right;
}

constexpr int kFrequent = LETTERS < 4 ? LETTERS : 4;

// Returns the match mask of letter `code`, one of the first four, in a column.
DEVICE uint32_t match_mask(const PackedColumn& column, int code) {
  uint32_t mask = kFurther ? ~column.word[2] : ~0u;
#pragma unroll
  for (int p = 0; p < 2 && p < PLANES; p++) mask &= code >> p & 1 ? column.word[p] : ~column.word[p];
  return mask;
}

// The same for a letter from the fifth on. further: the column's further planes.
DEVICE uint32_t match_mask_rare(const PackedColumn& column, const uint32_t* further, int code) {
  uint32_t mask = ~0u;
#pragma unroll
  for (int p = 0; p < PLANES; p++) {
    const uint32_t bits = p < 2 ? column.word[p] : further[p - 2];
    mask &= code >> p & 1 ? bits : ~bits;
  }
  return mask;
}

// Adds `bits`, with the weight 2^from, to 32 counters; bit b of a counter is in counter[b].
DEVICE void ripple(uint32_t* counter, uint32_t bits, int from) {
#pragma unroll
  for (int b = 0; b < kCounterBits; b++) {
    if (b < from) continue;
    const uint32_t carry = counter[b] & bits;
    counter[b] ^= bits;
    bits = carry;
    if (b % 4 == 3 && !bits) break;
  }
}

// A carry is one word: planes side by side, as one carry, are slower (benchmarks/log: G-078).
using Ring = CarryRing<uint32_t, COLUMNS * STEPS, THREADS>;
constexpr int kAhead = Ring::kAhead / STEPS;  // columns

// Requests the carries of COLUMNS columns, from `column` on, of the row above a strip. Beyond the last column the batch stays empty, but
// counts. columns_above: columns that the strip above hands down, 0 for strip 0.
DEVICE void request(Ring& above, int strip, int column, int columns_above) {
  if (column < columns_above) {
    above.request();
  } else {
    uint32_t* const v = above.put();
    // Above row 1 v is 0, or 1 where gaps in the query at its ends are free.
    if (strip == 0)
      for (int k = 0; k < COLUMNS * STEPS; k++) v[k * kLanes] = FREE_QUERY && k % STEPS == 0 ? ~0u : 0;
  }
}

KERNEL(THREADS, BLOCKS) align_slices(const SliceArgs a) {
  constexpr int kSlots = (LETTERS + 1) * THREADS;  // of a column
  __shared__ uint32_t masks[COLUMNS * kSlots];
  alignas(16) __shared__ uint32_t ring_memory[THREADS / kLanes * Ring::kCarries];
  uint32_t* const rings = in_register(ring_memory);
  const int thread = threadIdx.x;
  uint32_t* const slots = masks + thread;
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) slots[c * kSlots + kNoLetter * THREADS] = 0;
  constexpr int64_t kColumnStride = static_cast<int64_t>(STEPS) * THREADS;

  for (;;) {
    const Unit unit = take_unit(a.pipeline);
    if (unit.item < 0) return;
    const int strips = a.item_strips[unit.item];
    const bool last = unit.strip == strips - 1;
    const int leader = lane_of(a, unit.item, 0), own = lane_of(a, unit.item, thread);
    const bool idle = own < 0;  // repeats the first lane and writes no score
    const int lane = idle ? leader : own, group = lane / a.query_count, row = lane % a.query_count;
    const int columns = a.group_columns[leader / a.query_count];
    const int64_t query_start = a.query_offsets[a.queries[row]];
    const int64_t m = a.query_offsets[a.queries[row] + 1] - query_start;
    const uint8_t* query = a.query_codes + query_start;
    const PackedColumn* const letters = reinterpret_cast<const PackedColumn*>(a.planes + a.group_planes[group]);
    const int group_columns = a.group_columns[group];
    const uint32_t *const live = reinterpret_cast<const uint32_t*>(letters + group_columns), *const further = live + group_columns;
    const int64_t first = m - static_cast<int64_t>(strips - unit.strip) * ROWS + 1;
    // This strip's carries, and how many words before them those of the strip above are: with PATHS all strips keep theirs, else a strip
    // overwrites the carries that it has read.
    const int64_t back = PATHS ? columns * kColumnStride : 0;
    uint32_t* const carries = a.carries + carry_start(a.pipeline, unit) + unit.strip * back + thread;
    uint32_t* checkpoint =
        PATHS ? a.edges + a.pipeline.slots[unit.item] * a.edge_stride + unit.strip * edge_tiles(columns) * edge_tile() + thread : nullptr;
    Handover handover(a.pipeline, unit);

    Steps u[ROWS];
    int slot[ROWS];
    uint32_t rare = 0;  // set of the letters from the fifth on that rows of the strip have
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const int64_t i = first + r;
      const int code = i < 1 ? kNoLetter : query[i - 1];
      slot[r] = code * THREADS;
      if (code >= kFrequent && code < LETTERS) {
        rare |= 1u << code;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) slots[c * kSlots + code * THREADS] = 0;
      }
#pragma unroll
      for (int k = 1; k <= STEPS; k++) u[r].plane[k - 1] = (i < 1 ? k <= MISMATCH && !FREE_QUERY : k == 1 && FREE_TARGET) ? ~0u : 0;
    }
    uint32_t* carry = carries;
    Ring above(rings, carries - thread - back);
    const int columns_above = unit.strip > 0 ? columns : 0;
    PackedColumn next[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) next[c] = letters[c];
    for (int chunk = 0; chunk < columns; chunk += kChunk) {
      const int end = chunk + kChunk < columns ? chunk + kChunk : columns;
      handover.wait_for(end + kAhead < columns ? end + kAhead : columns);
      if (chunk == 0)
        for (int j = 0; j < kAhead; j += COLUMNS) request(above, unit.strip, j, columns_above);
      for (int j = chunk; j < end; j += COLUMNS) {
        if (PATHS && j % TILE == 0) {
#pragma unroll
          for (int r = 0; r < ROWS; r++)
            for (int k = 0; k < STEPS; k++) checkpoint[(r * STEPS + k) * THREADS] = u[r].plane[k];
          checkpoint += edge_tile();
        }
        const uint32_t* const v_above = above.take();
        request(above, unit.strip, j + kAhead, columns_above);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
          // With two columns the next letters are loaded before the current ones are used, with one column after that. The other order is
          // 7 % slower, which only the compiler's choice of registers explains (benchmarks/log: G-041).
          const PackedColumn kept = next[c], &here = COLUMNS > 1 ? kept : next[c];
          if (COLUMNS > 1) next[c] = letters[j + COLUMNS + c];
#pragma unroll
          for (int code = 0; code < kFrequent; code++) slots[c * kSlots + code * THREADS] = match_mask(here, code);
          if (kFurther && here.word[3]) {
            for (uint32_t left = rare; left; left &= left - 1) {
              const int code = __ffs(static_cast<int>(left)) - 1;
              slots[c * kSlots + code * THREADS] = match_mask_rare(here, further + static_cast<int64_t>(j + c) * kFurther, code);
            }
          }
          if (COLUMNS == 1) next[c] = letters[j + COLUMNS + c];
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
          Steps v;
#pragma unroll
          for (int k = 0; k < STEPS; k++) v.plane[k] = v_above[(c * STEPS + k) * kLanes];
#pragma unroll
          for (int r = 0; r < ROWS; r++) cell(slots[c * kSlots + slot[r]], u[r], v);
          for (int k = 0; k < STEPS; k++) store_shared_by_blocks(carry + k * THREADS, v.plane[k]);
          carry += kColumnStride;
        }
      }
      if (!last) handover.hand_down(end);
    }
    if (!last || PATHS) continue;  // with PATHS, trace_slices.cu writes the scores

    uint32_t counter[kCounterBits];
#pragma unroll
    for (int b = 0; b < kCounterBits; b++) counter[b] = 0;
    for (int j = 0; j < group_columns; j++) {
      const uint32_t running = live[j];  // targets that have a letter in this column
      const uint32_t* const last_row = carries + j * kColumnStride;
      Steps steps;
      for (int k = 0; k < STEPS; k++) steps.plane[k] = load_shared_by_blocks(last_row + k * THREADS);
      if (STEPS == 2) {
        const uint32_t first_bit = steps.plane[0] & running, second_bit = steps.plane[STEPS - 1] & running, low = counter[0];
        counter[0] = xor3(low, first_bit, second_bit);
        ripple(counter, majority(low, first_bit, second_bit), 1);
      } else {
        for (int k = 0; k < STEPS; k++) ripple(counter, steps.plane[k] & running, 0);
      }
    }
    const int target = group * 32;
    RESULT* scores = a.scores + static_cast<int64_t>(a.rows[row]) * a.target_count + target;
#pragma unroll 4
    for (int k = 0; k < 32 && target + k < a.target_count && !idle; k++) {
      uint32_t sum = 0;
#pragma unroll
      for (int b = 0; b < kCounterBits; b++) sum |= (counter[b] >> k & 1) << b;
      const int64_t n = a.target_lengths[target + k];
      scores[k] = static_cast<RESULT>(a.sum_factor * static_cast<int64_t>(sum) + a.per_letter * (m + n));
    }
    handover.finish();
  }
}
