// Linear-gap global alignment with small weights, and edit distance: one thread aligns a query with 32 targets, a bit each.
//
// The recurrence is that of the CPU's kernel (cpu/alignment/src/bitsliced.hpp). Rebased scores H'(i,j) = H(i,j) + gap (i + j), divided by
// the common factor of the weights, step by u (down) and v (right) in 0 .. S; plane k of a step says for each target whether
// the step is at least k. With the shifted scores S of equal letters and X < S of others,
//   z = max(s', u, v);  right' = z - u;  down' = z - v
//   z_k = [k <= X] | equal | u_k | v_k;  (z - u)_k = OR over a = 0 .. S-k of z_(k+a) & ~u_(a+1)
// A step's planes are nested, u_(k+1) in u_k. So in the terms before the last, z_S & ~u_(S-k+1), `equal` and u_(k+a) add nothing, and
// v_(k+a) is enough. Edit distance is S = 2, X = 1: five three-input operations a row; S = 3 takes 11, S = 4 takes 19 (X = 1).
//
// An item is THREADS times a query and a group of 32 targets. Rows pass in strips of ROWS, in a pipeline of blocks
// (pipeline.cuh); a strip's u stay in registers, its last row's v go through memory, [column][plane][thread], from where the next
// strip copies them ahead (carry_ring.cuh). COLUMNS columns pass together: their [letters equal] masks are made once a strip in
// shared memory, a slot a letter. Letters from the fifth on (ambiguity codes) are rare: their slots hold no bits but in columns that have
// such letters. Dummy rows before row 1 start with u = X and equal nothing, which hands row 0 down unchanged. A pair's score is the sum of
// v along the last row, kept by vertical counters.
//
// The lanes of a warp take neighbouring queries of one group of targets, so their loads of letters are one broadcast, and any
// number of queries and targets fills warps. Lanes of an item share its number of strips and its columns.
//
// With PATHS (for edit distances) every strip keeps its carries, and its u of every TILE columns: trace_slices.cu begins there.
//
// Macros: those of bitsliced.cuh and BLOCKS (resident blocks at least).
#include "bitsliced.cuh"
#include "carry_ring.cuh"

constexpr int kCounterBits = 24;  // sums below 16 million: S times the longest target

struct Steps {
  uint32_t plane[STEPS];
};

// z_k where it counts, given z_S and the step that z is not the difference to.
DEVICE uint32_t largest(int k, uint32_t top, const Steps& other) { return k == STEPS ? top : other.plane[k - 1]; }
// (z - d)_k. Of the terms in which z is 1, the last, ~d_(X-k+1), holds the others.
template <int K>
DEVICE uint32_t difference(uint32_t top, const Steps& other, const Steps& d) {
  constexpr bool kBelow = K <= MISMATCH;
  constexpr int kOnes = kBelow ? MISMATCH - K : 0;  // the last term a with z = 1
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

DEVICE void cell(uint32_t equal, Steps& u, Steps& v) {
  const uint32_t top = or3(equal, u.plane[STEPS - 1], v.plane[STEPS - 1]);
  Steps right, down;
  Differences<STEPS>::run(top, v, u, right);
  Differences<STEPS>::run(top, u, v, down);
  u = down;
  v = right;
}

constexpr int kFrequent = LETTERS < 4 ? LETTERS : 4;

// Which of 32 targets have letter `code`, of the first four, in a column.
DEVICE uint32_t equals(const PackedColumn& column, int code) {
  uint32_t mask = kFurther ? ~column.word[2] : ~0u;
#pragma unroll
  for (int p = 0; p < 2 && p < PLANES; p++) mask &= code >> p & 1 ? column.word[p] : ~column.word[p];
  return mask;
}

// The same of a later letter.
DEVICE uint32_t equals_rare(const PackedColumn& column, const uint32_t* further, int code) {
  uint32_t mask = ~0u;
#pragma unroll
  for (int p = 0; p < PLANES; p++) {
    const uint32_t bits = p < 2 ? column.word[p] : further[p - 2];
    mask &= code >> p & 1 ? bits : ~bits;
  }
  return mask;
}

// Adds `bits` to counters whose plane b has the weight 2^b, from plane FROM on.
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

using Ring = CarryRing<uint32_t, COLUMNS * STEPS, THREADS>;  // planes one after the other: side by side they are slower (benchmarks/LOG.md)
constexpr int kAhead = Ring::kAhead / STEPS;

// Asks for the next COLUMNS columns, from `column` on, of what is above a strip. Past the last one the batch stays empty: batches are
// counted.
DEVICE void ask(Ring& above, int strip, int column, int handed_down) {
  if (column < handed_down) {
    above.ask();
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
  uint32_t* const rings = kept(ring_memory);
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
    const bool idle = own < 0;  // it repeats the first lane, and writes no score
    const int lane = idle ? leader : own, group = lane / a.query_count, row = lane % a.query_count;
    const int columns = a.group_columns[leader / a.query_count];
    const int64_t query_start = a.query_offsets[a.queries[row]];
    const int64_t m = a.query_offsets[a.queries[row] + 1] - query_start;
    const uint8_t* query = a.query_codes + query_start;
    const PackedColumn* const letters = reinterpret_cast<const PackedColumn*>(a.planes + a.group_planes[group]);
    const int group_columns = a.group_columns[group];
    const uint32_t *const live = reinterpret_cast<const uint32_t*>(letters + group_columns), *const further = live + group_columns;
    const int64_t first = m - static_cast<int64_t>(strips - unit.strip) * ROWS + 1;
    // Where this strip's carries are, and how far before them those of the strip above.
    const int64_t back = PATHS ? columns * kColumnStride : 0;
    uint32_t* const carries = a.carries + carry_start(a.pipeline, unit) + unit.strip * back + thread;
    uint32_t* edge =
        PATHS ? a.edges + a.pipeline.slots[unit.item] * a.edge_stride + unit.strip * edge_tiles(columns) * edge_tile() + thread : nullptr;
    Handover handover(a.pipeline, unit);

    Steps u[ROWS];
    int slot[ROWS];
    uint32_t rare = 0;  // letters from the fifth on that a row of the strip has
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
    const int handed_down = unit.strip > 0 ? columns : 0;
    PackedColumn next[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) next[c] = letters[c];
    for (int chunk = 0; chunk < columns; chunk += kChunk) {
      const int end = chunk + kChunk < columns ? chunk + kChunk : columns;
      handover.wait_for(end + kAhead < columns ? end + kAhead : columns);
      if (chunk == 0)
        for (int j = 0; j < kAhead; j += COLUMNS) ask(above, unit.strip, j, handed_down);
      for (int j = chunk; j < end; j += COLUMNS) {
        if (PATHS && j % TILE == 0) {
#pragma unroll
          for (int r = 0; r < ROWS; r++)
            for (int k = 0; k < STEPS; k++) edge[(r * STEPS + k) * THREADS] = u[r].plane[k];
          edge += edge_tile();
        }
        const uint32_t* const entering = above.take();
        ask(above, unit.strip, j + kAhead, handed_down);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
          // Of two columns the next load stands before what it replaces is used, of one behind that: it makes a difference of 7 % that only
          // the compiler's choice of registers explains (benchmarks/LOG.md).
          const PackedColumn kept = next[c], &here = COLUMNS > 1 ? kept : next[c];
          if (COLUMNS > 1) next[c] = letters[j + COLUMNS + c];
#pragma unroll
          for (int code = 0; code < kFrequent; code++) slots[c * kSlots + code * THREADS] = equals(here, code);
          if (kFurther && here.word[3]) {
            for (uint32_t left = rare; left; left &= left - 1) {
              const int code = __ffs(static_cast<int>(left)) - 1;
              slots[c * kSlots + code * THREADS] = equals_rare(here, further + static_cast<int64_t>(j + c) * kFurther, code);
            }
          }
          if (COLUMNS == 1) next[c] = letters[j + COLUMNS + c];
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
          Steps v;
#pragma unroll
          for (int k = 0; k < STEPS; k++) v.plane[k] = entering[(c * STEPS + k) * kLanes];
#pragma unroll
          for (int r = 0; r < ROWS; r++) cell(slots[c * kSlots + slot[r]], u[r], v);
          for (int k = 0; k < STEPS; k++) store_shared_by_blocks(carry + k * THREADS, v.plane[k]);
          carry += kColumnStride;
        }
      }
      if (!last) handover.hand_down(end);
    }
    if (!last || PATHS) continue;  // with paths, the way back writes scores

    uint32_t counter[kCounterBits];
#pragma unroll
    for (int b = 0; b < kCounterBits; b++) counter[b] = 0;
    for (int j = 0; j < group_columns; j++) {
      const uint32_t running = live[j];
      const uint32_t* const written = carries + j * kColumnStride;
      Steps steps;
      for (int k = 0; k < STEPS; k++) steps.plane[k] = load_shared_by_blocks(written + k * THREADS);
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
