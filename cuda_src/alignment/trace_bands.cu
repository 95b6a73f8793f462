// Global alignments of listed pairs, each within a band of diagonals: one warp per pair, forward pass and traceback.
//
// Recurrence: that of recurrence.cuh for global alignments, in 32 bits, with affine gaps (linear ones open at no cost). The warp proceeds
// by antidiagonals a = i + j, whose cells do not depend on each other. Its band has the diagonals d = j - i from `lowest` on. Those of an
// antidiagonal have the parity of a, so place p has d = lowest + 2p if a - lowest is even, and d = lowest + 2p + 1 if it is odd. The
// neighbours of its cell on the antidiagonal before are
//   a - lowest even:  the left one (d - 1) at place p - 1, the upper one (d + 1) at place p
//   a - lowest odd:   the left one at place p, the upper one at place p + 1.
// A lane has CELLS places side by side, so only the first and the last of them take values from another lane. The letter of the query moves
// up by a place on even antidiagonals, that of the target down by a place on odd ones; lanes hold the next kLanes letters of either.
// Paths stay within the band. The host decides whether a path outside it could be better (cpu/alignment/src/band_bound.hpp).
//
// Directions (recurrence.cuh, directed_cell) are packed, those of 8 antidiagonals of a place in a word: [a / 8][CELLS][lane] in global
// memory of the warp. One lane then walks the path back.
//
// Macros: CELLS  places of a lane     LETTERS, OPEN, EXTEND, LIFT, LEVEL  as in threads.cuh     RESULT  type of a score
//         SIGN   -1 for distances, else 1     FREE_QUERY, FREE_TARGET  0
#include "path.cuh"
#include "recurrence.cuh"

struct BandPair {
  int32_t query, target;  // records
  int32_t lowest;         // first diagonal, at most min(0, n - m); the band has 2 kLanes CELLS diagonals, n - m among them
};
SAME_AS_ON_HOST(BandPair);

struct TraceBandArgs {
  const uint8_t* query_codes;
  const int64_t* query_offsets;  // [queries of the set + 1]
  const BandPair* pairs;         // [pair_count], the longest first
  const int32_t* table;          // [LETTERS][LETTERS] s' (recurrence.cuh), by query letter; the last letter is padding
  uint32_t* next;                // 0 at first: pairs that warps have taken
  RESULT* scores;                // [pair_count]
  PathArgs path;                 // of its targets' numbers and of first_targets nothing is read; matrix_stride: words of a warp
  int32_t pair_count;
};
SAME_AS_ON_HOST(TraceBandArgs);

using Rules = Recurrence<S32, false, true>;
using Value = Rules::Value;

constexpr Value kOutside = -(1 << 29);
constexpr int kAntidiagonalsPerWord = 8;

DEVICE int32_t from_lane(int32_t value, int lane) { return __shfl_sync(kAllLanes, value, lane); }

// The cells of a lane.
struct Cells {
  Value h[CELLS], before[CELLS];  // H on the last antidiagonal, and on the one before it
  Value e[CELLS], f[CELLS];       // what enters the right and the lower neighbour
  uint32_t word[CELLS];           // directions
  int32_t query[CELLS], target[CELLS];
};

// A sequence that is read letter by letter, kLanes letters at a time.
struct Letters {
  const uint8_t* codes;
  int length;
  int32_t held;  // letter number `first` + lane

  // Returns the letter of this number, counted from 0; any letter of the table beyond the ends. Numbers are asked for in ascending order.
  DEVICE int32_t next(int number, int lane) {
    const int within = (number % kLanes + kLanes) % kLanes;
    if (within == 0) load(number, lane);
    return from_lane(held, within);
  }
  // Holds the letters from the multiple of kLanes at or below `number` on.
  DEVICE void load(int number, int lane) {
    const int own = number - (number % kLanes + kLanes) % kLanes + lane;
    held = own >= 0 && own < length ? codes[own] : LETTERS - 1;
  }
};

// Computes the cells of antidiagonal `a`. EVEN: a - lowest is even. INSIDE: no cell of the band is in row 0 or column 0, or beyond.
template <bool EVEN, bool INSIDE>
DEVICE void step(Cells& c, const int32_t* table, Letters& query, Letters& target, int a, int lowest, int lane) {
  const int last = CELLS - 1, places = CELLS * kLanes;
  // Row of place 0, and column of place 0.
  const int row = (a - lowest) >> 1, column = (a + lowest + (EVEN ? 0 : 1)) >> 1;
  Value outer;
  if (EVEN) {
    const int32_t letter = query.next(row - 1, lane);
    int32_t moved = from_lane(c.query[last], lane > 0 ? lane - 1 : 0);
    if (lane == 0) moved = letter;
    outer = from_lane(c.e[last], lane > 0 ? lane - 1 : 0);
    if (lane == 0) outer = kOutside;
#pragma unroll
    for (int k = last; k > 0; k--) c.query[k] = c.query[k - 1];
    c.query[0] = moved;
  } else {
    const int32_t letter = target.next(column + places - 2, lane);
    int32_t moved = from_lane(c.target[0], lane + 1 < kLanes ? lane + 1 : lane);
    if (lane == kLanes - 1) moved = letter;
    outer = from_lane(c.f[0], lane + 1 < kLanes ? lane + 1 : lane);
    if (lane == kLanes - 1) outer = kOutside;
#pragma unroll
    for (int k = 0; k < last; k++) c.target[k] = c.target[k + 1];
    c.target[last] = moved;
  }
#pragma unroll
  for (int n = 0; n < CELLS; n++) {
    const int k = EVEN ? last - n : n;
    Value e = EVEN ? (k > 0 ? c.e[k > 0 ? k - 1 : 0] : outer) : c.e[k];
    Value f = EVEN ? c.f[k] : (k < last ? c.f[k < last ? k + 1 : 0] : outer);
    Value h = c.h[k], diagonal;
    Rules::directed_cell(c.before[k] + table[c.query[k] * LETTERS + c.target[k]], diagonal, h, e, f, c.word[k]);
    if (!INSIDE) {
      const int i = row - (lane * CELLS + k), j = column + lane * CELLS + k;
      if (i <= 0 || j <= 0) {
        h = i < 0 || j < 0 ? kOutside : i == 0 && j == 0 ? static_cast<Value>(LEVEL) : static_cast<Value>(Rules::edge(1, false));
        e = f = i < 0 || j < 0 ? kOutside : h + Rules::opening();
      }
    }
    c.before[k] = diagonal;
    c.h[k] = h, c.e[k] = e, c.f[k] = f;
  }
}

KERNEL(128, CELLS > 8 ? 2 : 4) trace_bands(const TraceBandArgs args) {
  __shared__ int32_t table[LETTERS * LETTERS];
  __shared__ uint32_t usable[LETTERS];
  for (int k = threadIdx.x; k < LETTERS * LETTERS; k += blockDim.x) table[k] = args.table[k];
  for (int k = threadIdx.x; k < LETTERS; k += blockDim.x) usable[k] = args.path.usable[k];
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % kLanes, warps = static_cast<int>(blockDim.x) / kLanes;
  const int64_t warp = static_cast<int64_t>(blockIdx.x) * warps + static_cast<int>(threadIdx.x) / kLanes;
  uint32_t* const directions = args.path.directions + warp * args.path.matrix_stride;

  for (;;) {
    uint32_t taken = 0;
    if (lane == 0) taken = atomicAdd(args.next, 1u);
    taken = static_cast<uint32_t>(from_lane(static_cast<int32_t>(taken), 0));
    if (taken >= static_cast<uint32_t>(args.pair_count)) return;
    const BandPair pair = args.pairs[taken];
    const int64_t query_start = args.query_offsets[pair.query], target_start = args.path.target_offsets[pair.target];
    Letters query{args.query_codes + query_start, static_cast<int>(args.query_offsets[pair.query + 1] - query_start), 0};
    Letters target{args.path.target_codes + target_start, static_cast<int>(args.path.target_offsets[pair.target + 1] - target_start), 0};
    const int m = query.length, n = target.length, lowest = pair.lowest, highest = lowest + 2 * CELLS * kLanes - 1;

    // Antidiagonal 0 is the first. Before it no cell has a value, and the letters are those of antidiagonal -1.
    const int row = (-1 - lowest) >> 1, column = lowest >> 1;  // of place 0
    Cells c;
#pragma unroll
    for (int k = 0; k < CELLS; k++) {
      const int i = row - (lane * CELLS + k), j = column + lane * CELLS + k;
      c.h[k] = c.before[k] = c.e[k] = c.f[k] = kOutside;
      c.word[k] = 0;
      c.query[k] = i >= 1 && i <= m ? query.codes[i - 1] : LETTERS - 1;
      c.target[k] = j >= 1 && j <= n ? target.codes[j - 1] : LETTERS - 1;
    }
    query.load(row, lane);
    target.load(column + CELLS * kLanes - 1, lane);

    const int end = m + n, edge = (-lowest > highest ? -lowest : highest) + 2;  // antidiagonals from `edge` on are inside
    for (int a = 0; a <= end; a++) {
      const bool even = ((a - lowest) & 1) == 0;
      if (a < edge)
        even ? step<true, false>(c, table, query, target, a, lowest, lane) : step<false, false>(c, table, query, target, a, lowest, lane);
      else
        even ? step<true, true>(c, table, query, target, a, lowest, lane) : step<false, true>(c, table, query, target, a, lowest, lane);
      if (a % kAntidiagonalsPerWord == kAntidiagonalsPerWord - 1 || a == end) {
#pragma unroll
        for (int k = 0; k < CELLS; k++) directions[(a / kAntidiagonalsPerWord * CELLS + k) * kLanes + lane] = c.word[k];
      }
    }

    const int corner = (n - m - lowest) >> 1;
    Value own = c.h[0];
#pragma unroll
    for (int k = 1; k < CELLS; k++)
      if (k == corner % CELLS) own = c.h[k];
    const int64_t score = Rules::score(from_lane(own, corner / CELLS), m, n);
    __syncwarp();  // one lane reads the directions of all
    if (lane == 0) {
      args.scores[taken] = static_cast<RESULT>(SIGN * score);
    }
    if (lane == 0 && args.path.detail > 0) {
      Walk walk({score, m, n}, args.path.detail == 2 ? args.path.scratch + taken * args.path.capacity : nullptr, args.path.capacity);
      int held = -1;  // index of the word
      uint32_t word = 0;
      walk.run(query.codes, target.codes, usable, 0, 0, [&](int i, int j) {
        const int a = i + j, place = (j - i - lowest) >> 1, group = a / kAntidiagonalsPerWord;
        const int index = (group * CELLS + place % CELLS) * kLanes + place / CELLS;
        if (index != held) {
          held = index;
          word = directions[index];
        }
        const int rows = group == end / kAntidiagonalsPerWord ? end % kAntidiagonalsPerWord + 1 : kAntidiagonalsPerWord;
        return directions_of(word, a % kAntidiagonalsPerWord, rows, 4);
      });
      walk.finish(args.path, taken, false, false);
    }
    __syncwarp();  // the next pair overwrites the directions
  }
}
