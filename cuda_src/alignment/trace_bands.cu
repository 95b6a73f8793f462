// Global alignments of listed pairs, each within a band of diagonals: one warp per pair, forward pass and traceback.
//
// Recurrence: that of recurrence.cuh for global alignments, in 32 bits, with affine gaps (linear ones open at no cost). The warp proceeds
// by antidiagonals a = i + j, whose cells do not depend on each other. Its band has the diagonals d = j - i from `lowest` on. Those of an
// antidiagonal have the parity of a, so place p has d = lowest + 2p if a - lowest is even, and d = lowest + 2p + 1 if it is odd. The
// neighbours of its cell on the antidiagonal before are
//   a - lowest even:  the left one (d - 1) at place p - 1, the upper one (d + 1) at place p
//   a - lowest odd:   the left one at place p, the upper one at place p + 1.
// A lane has CELLS places side by side, so only the first and the last of them take values from another lane. The letter of the query moves
// up by a place on even antidiagonals, that of the target down by a place on odd ones.
// Paths stay within the band. The host decides whether a path outside it could be better (cpu/alignment/src/band_bound.hpp).
//
// Antidiagonals are computed in groups of 8, an even one first, of which the last ends with m + n. So the first may begin before 0, where
// there are no cells. In a group 4 letters of each sequence enter the band. A lane holds the letters of one group in 32.
//
// Directions (recurrence.cuh, directed_cell) of a place are packed, those of a group in a word: [group][CELLS][lane] in global memory of
// the warp. One lane then walks the path back.
//
// Macros: CELLS  places of a lane     LETTERS, OPEN, EXTEND, LIFT, LEVEL  as in threads.cuh     RESULT  type of a score
//         SIGN   -1 for distances, else 1     FREE_QUERY, FREE_TARGET  0
#include "path.cuh"
#include "recurrence.cuh"

struct BandPair {
  int32_t query, target;  // records
  int32_t lowest;         // first diagonal, at most min(0, n - m), m + n + lowest odd; of 2 kLanes CELLS diagonals, n - m among them
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
constexpr int kGroup = 8, kLettersPerGroup = kGroup / 2;      // antidiagonals, and letters of each sequence that enter the band with them
constexpr int kUnrolled = CELLS <= 4 ? kLettersPerGroup : 1;  // pairs of antidiagonals; more would not stay in registers or caches
constexpr int32_t kEntryBytes = sizeof(int32_t), kRowBytes = LETTERS * kEntryBytes;  // of the table

DEVICE int32_t from_lane(int32_t value, int lane) { return __shfl_sync(kAllLanes, value, lane); }

// The cells of a lane.
struct Cells {
  Value h[CELLS], before[CELLS];        // H on the last antidiagonal, and on the one before it
  Value e[CELLS], f[CELLS];             // what enters the right and the lower neighbour
  uint32_t word[CELLS];                 // directions
  int32_t query[CELLS], target[CELLS];  // letters, by the bytes of rows and of entries of the table before theirs
};

// A sequence of which a warp reads kLettersPerGroup letters for each group.
struct Letters {
  const uint8_t* codes;
  int length;
  int first;      // number, counted from 0, of the letter that the first lane holds first
  uint32_t held;  // this lane's letters, a byte each

  // Returns a letter; that of the padding before and after the sequence.
  DEVICE uint32_t letter(int number) const { return number >= 0 && number < length ? codes[number] : LETTERS - 1; }

  // Returns the letters for a group. All groups are asked for in order.
  DEVICE uint32_t of_group(int group, int lane) {
    if (group % kLanes == 0) {
      held = 0;
      for (int k = 0; k < kLettersPerGroup; k++) held |= letter(first + kLettersPerGroup * (group + lane) + k) << 8 * k;
    }
    return static_cast<uint32_t>(from_lane(static_cast<int32_t>(held), group % kLanes));
  }
};

// Computes the cells of antidiagonal `a`. EVEN: a - lowest is even. INSIDE: no cell of the band is in row 0 or column 0, or beyond.
// entering: the letter that enters the band, of the query on even antidiagonals and of the target on odd ones.
template <bool EVEN, bool INSIDE>
DEVICE void step(Cells& c, const int32_t* table, int32_t entering, int a, int lowest, int lane) {
  const int last = CELLS - 1;
  Value outer;
  if (EVEN) {
    int32_t moved = from_lane(c.query[last], lane > 0 ? lane - 1 : 0);
    if (lane == 0) moved = entering * kRowBytes;
    outer = from_lane(c.e[last], lane > 0 ? lane - 1 : 0);
    if (lane == 0) outer = kOutside;
#pragma unroll
    for (int k = last; k > 0; k--) c.query[k] = c.query[k - 1];
    c.query[0] = moved;
  } else {
    int32_t moved = from_lane(c.target[0], lane + 1 < kLanes ? lane + 1 : lane);
    if (lane == kLanes - 1) moved = entering * kEntryBytes;
    outer = from_lane(c.f[0], lane + 1 < kLanes ? lane + 1 : lane);
    if (lane == kLanes - 1) outer = kOutside;
#pragma unroll
    for (int k = 0; k < last; k++) c.target[k] = c.target[k + 1];
    c.target[last] = moved;
  }
  const char* const scores = reinterpret_cast<const char*>(table);
#pragma unroll
  for (int n = 0; n < CELLS; n++) {
    const int k = EVEN ? last - n : n;
    Value e = EVEN ? (k > 0 ? c.e[k > 0 ? k - 1 : 0] : outer) : c.e[k];
    Value f = EVEN ? c.f[k] : (k < last ? c.f[k < last ? k + 1 : 0] : outer);
    Value h = c.h[k], diagonal;
    const Value score = *reinterpret_cast<const int32_t*>(scores + (c.query[k] + c.target[k]));
    Rules::directed_cell(c.before[k] + score, diagonal, h, e, f, c.word[k]);
    if (!INSIDE) {
      const int i = ((a - lowest) >> 1) - (lane * CELLS + k), j = ((a + lowest + (EVEN ? 0 : 1)) >> 1) + lane * CELLS + k;
      if (i <= 0 || j <= 0) {
        h = i < 0 || j < 0 ? kOutside : i == 0 && j == 0 ? static_cast<Value>(LEVEL) : static_cast<Value>(Rules::edge(1, false));
        e = f = i < 0 || j < 0 ? kOutside : h + Rules::opening();
      }
    }
    c.before[k] = diagonal;
    c.h[k] = h, c.e[k] = e, c.f[k] = f;
  }
}

// Computes the cells of a group, from antidiagonal `a` on. query, target: the letters that enter the band, a byte each.
template <bool INSIDE>
DEVICE void group_of_steps(Cells& c, const int32_t* table, uint32_t query, uint32_t target, int a, int lowest, int lane) {
#pragma unroll(INSIDE ? kUnrolled : 1)
  for (int k = 0; k < kLettersPerGroup; k++) {
    step<true, INSIDE>(c, table, static_cast<int32_t>(query >> 8 * k & 0xff), a + 2 * k, lowest, lane);
    step<false, INSIDE>(c, table, static_cast<int32_t>(target >> 8 * k & 0xff), a + 2 * k + 1, lowest, lane);
  }
}

KERNEL(128, CELLS > 8 ? 2 : 4) trace_bands(const TraceBandArgs args) {
  __shared__ int32_t table[LETTERS * LETTERS];
  __shared__ uint32_t usable[LETTERS];
  for (int k = threadIdx.x; k < LETTERS * LETTERS; k += blockDim.x) table[k] = args.table[k];
  for (int k = threadIdx.x; k < LETTERS; k += blockDim.x) usable[k] = args.path.usable[k];
  __syncthreads();
  bool equal_letters_pair = true;
  for (int k = 0; k < LETTERS - 1; k++) equal_letters_pair &= usable[k] >> k & 1;
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
    Letters query{args.query_codes + query_start, static_cast<int>(args.query_offsets[pair.query + 1] - query_start), 0, 0};
    Letters target{args.path.target_codes + target_start, static_cast<int>(args.path.target_offsets[pair.target + 1] - target_start), 0, 0};
    const int m = query.length, n = target.length, lowest = pair.lowest, highest = lowest + 2 * CELLS * kLanes - 1;
    const int groups = (m + n) / kGroup + 1, start = m + n + 1 - kGroup * groups;

    // Before the first group no cell has a value, and the letters are those of antidiagonal start - 1.
    const int row = (start - lowest) / 2 - 1, column = (start + lowest) / 2;  // of place 0; both sums are even
    Cells c;
#pragma unroll
    for (int k = 0; k < CELLS; k++) {
      c.h[k] = c.before[k] = c.e[k] = c.f[k] = kOutside;
      c.word[k] = 0;
      c.query[k] = static_cast<int32_t>(query.letter(row - (lane * CELLS + k) - 1)) * kRowBytes;
      c.target[k] = static_cast<int32_t>(target.letter(column + lane * CELLS + k - 1)) * kEntryBytes;
    }
    query.first = row;
    target.first = column + CELLS * kLanes - 1;

    const int edge = (-lowest > highest ? -lowest : highest) + 2;  // antidiagonals from `edge` on are inside
    for (int group = 0; group < groups; group++) {
      const uint32_t above = query.of_group(group, lane), right = target.of_group(group, lane);
      const int a = start + kGroup * group;
      if (a < edge)
        group_of_steps<false>(c, table, above, right, a, lowest, lane);
      else
        group_of_steps<true>(c, table, above, right, a, lowest, lane);
#pragma unroll
      for (int k = 0; k < CELLS; k++) directions[(group * CELLS + k) * kLanes + lane] = c.word[k];
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
      // Loads the word with the directions of a cell, and returns the cell's antidiagonal in the group.
      const auto load = [&](int i, int j) {
        const int place = (j - i - lowest) >> 1, index = ((i + j - start) / kGroup * CELLS + place % CELLS) * kLanes + place / CELLS;
        if (index != held) {
          held = index;
          word = directions[index];
        }
        return (i + j - start) % kGroup;
      };
      walk.run(
          query.codes, target.codes, usable, 0, 0,
          [&](int i, int j) {
            const int antidiagonal = load(i, j);
            return directions_of(word, antidiagonal, kGroup, 4);
          },
          [&](int i, int j) {
            const int antidiagonal = load(i, j);
            constexpr int many = kGroup / 2;  // cells of a diagonal in a word, if it begins with the last or last but one antidiagonal
            if (!equal_letters_pair || antidiagonal < kGroup - 2 || i < many || j < many) return 0;
            if (word & (antidiagonal % 2 ? 0x08080808 : 0x80808080)) return 0;  // a cell whose H is not the diagonal value
            bool equal = true;
            for (int k = 1; k <= many; k++) equal &= query.codes[i - k] == target.codes[j - k];
            return equal ? many : 0;
          });
      walk.finish(args.path, taken, false, false);
    }
    __syncwarp();  // the next pair overwrites the directions
  }
}
