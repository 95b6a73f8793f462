// One antidiagonal of a band of diagonals, from the two before it: what each lane of a warp keeps and computes.
//
// Recurrence: that of recurrence.cuh for global alignments, with affine gaps (linear ones open at no cost). The band is computed by
// antidiagonals a = i + j, whose cells do not depend on each other. Its diagonals are d = j - i from `lowest` on. Those of an antidiagonal
// have the parity of a, so place p has d = lowest + 2p if a - lowest is even, and d = lowest + 2p + 1 if it is odd. The neighbours of its
// cell on the antidiagonal before are
//   a - lowest even:  the left one (d - 1) at place p - 1, the upper one (d + 1) at place p
//   a - lowest odd:   the left one at place p, the upper one at place p + 1.
// The letter of the query moves up by a place on even antidiagonals, that of the target down by a place on odd ones.
//
// The lanes of a warp form TEAMS teams, each with a pair of sequences of its own. A lane has kPlaces adjacent places, so only the first and
// the last of them take values from another lane. If a value holds two scores (U16x2), value k has places k and CELLS + k of the lane: then
// the neighbours of both are in value k - 1 or k + 1, except at the ends.
//
// Edges. Rows and columns 0 and before have the padding letter, which scores 0 with any other. So a single cell with the value LEVEL on
// diagonal 0, somewhere before (0,0), is enough: from it follow H' = LEVEL in (0,0) and LEVEL - o in the rest of row 0 and column 0, where
// o = OPEN - EXTEND.
//
// Values. Every cell of the matrix can be reached by one gap followed by pairs of letters, all within the band. So
//   LEVEL - o + min(s', 0) min(i, j) <= H' <= LEVEL + max(s') min(i, j),
// and E and F are lower by at most o. Cells outside of the band have OUTSIDE, which is less than all of these, and from which o or the
// lowest s' can be subtracted. OUTSIDE and LEVEL keep 16-bit scores in range up to some length (gpu/alignment/pair_bands.py).
//
// Macros: CELL   S32, or U16x2 or H16x2 for two scores in a value     CELLS  values of a lane     TEAMS  1, 2 or 4
//         OUTSIDE  see above     LETTERS, OPEN, EXTEND, LIFT, LEVEL  as in threads.cuh     FREE_QUERY, FREE_TARGET  0
#pragma once

#include "path.cuh"
#include "recurrence.cuh"

using Cell = CELL;
using Rules = Recurrence<Cell, false, true>;
using Value = Rules::Value;

constexpr int kGroup = 8;  // antidiagonals whose directions a word holds
constexpr int kTeam = kLanes / TEAMS, kHalves = Cell::PAIRS, kPlaces = CELLS * kHalves;
constexpr uint32_t kEntryBytes = sizeof(int32_t), kRowBytes = LETTERS * kEntryBytes, kTableBytes = LETTERS * kRowBytes;
constexpr int64_t kOpening = OPEN - EXTEND;

DEVICE Value outside() { return Cell::of(OUTSIDE); }

// A thread's place in its team, and communication within the team. Called by all lanes of a warp together.
struct Team {
  int lane, first;  // number of the lane in the team; first lane of the team in the warp
  DEVICE explicit Team(int thread) : lane(thread % kTeam), first(thread % kLanes - lane) {}
  template <class T>
  DEVICE T from(T value, int other) const {
    return __shfl_sync(kAllLanes, value, first + other);
  }
  // Returns bit k for lane k of the team.
  DEVICE uint32_t ballot(bool holds) const { return __ballot_sync(kAllLanes, holds) >> first & (kAllLanes >> (32 - kTeam)); }
};

// Returns `own` moved up by a place; the last place of `below` moves into the first.
DEVICE Value moved_up(Value below, Value own) {
  if constexpr (kHalves == 1)
    return below;
  else
    return pick_bytes(below, own, 0x5432);
}
// Returns `own` moved down by a place; the first place of `above` moves into the last.
DEVICE Value moved_down(Value own, Value above) {
  if constexpr (kHalves == 1)
    return above;
  else
    return pick_bytes(own, above, 0x5432);
}

// Computes the cells of a value, and adds their directions to its words. Arguments as of directed_cell. number: of the antidiagonal in its
// group. With one place in a value, the word is that of directed_cell. With two places, there is a byte for each place and direction, of
// which bit `number` is set:
//   words[0], bytes 0 and 1: H is not the diagonal value     bytes 2 and 3: H is not F
//   words[1], bytes 0 and 1: the gap E that enters the right neighbour is longer than one letter     bytes 2 and 3: F likewise
DEVICE void directed_cells(Value t, Value& diagonal, Value& h, Value& e, Value& f, uint32_t* words, int number, uint32_t one) {
  if constexpr (kHalves == 1) {
    Rules::directed_cell(t, diagonal, h, e, f, words[0]);
  } else {
    // No difference is negative. With 0x7fff added, the highest bit of each half tells whether its difference is positive. Those for gaps
    // use the FMA pipe, because maxima and logic fill the other one.
    constexpr uint32_t kTop = 0x7fff7fff;
    const uint32_t minus_one = 0u - one, bits = 0x01010101u << number;
    const Value new_h = Cell::max3(t, e, f);
    const uint32_t paired = pick_bytes(new_h + kTop - t, new_h + kTop - f, 0xfdb9);
    e = Cell::add_max(new_h, Cell::step(-kOpening), e);
    f = Cell::add_max(new_h, Cell::step(-kOpening), f);
    const Value opened = multiply_add(new_h, minus_one, Cell::of(kOpening) + kTop);
    const uint32_t gaps = pick_bytes(add_by_fma(e, opened, one), add_by_fma(f, opened, one), 0xfdb9);
    words[0] |= paired & bits;
    words[1] |= gaps & bits;
    diagonal = h;
    h = new_h;
  }
}

// Returns the directions (Direction in path.cuh) of a cell. words: of its value, `stride` words apart; half: of the value, 0 or 1
DEVICE int directions_in(const uint32_t* words, int stride, int number, int half) {
  if constexpr (kHalves == 1) return directions_of(words[0], number, kGroup, 4);
  const int bit = 8 * half + number;
  const uint32_t paired = words[0] >> bit, gaps = words[stride] >> bit;
  return static_cast<int>((~paired & 1) | (~paired >> 15 & 2) | (gaps << 2 & 4) | (gaps >> 13 & 8));
}

// The cells of a lane.
struct Cells {
  Value h[CELLS], before[CELLS];             // H on the last antidiagonal, and on the one before it
  Value e[CELLS], f[CELLS];                  // what enters the right and the lower neighbour
  uint32_t query[kPlaces], target[kPlaces];  // letters: bytes of the table's rows before the row, and the address of the first row's entry
};

// Computes the cells of antidiagonal a. EVEN: whether a - lowest is even. number: of the antidiagonal in its group. table:
// [kHalves][LETTERS][LETTERS] s', for the upper half times 2^16. entering: the letter that enters the band, of the query on even
// antidiagonals and of the target on odd ones. one: 1, but unknown to the compiler.
template <bool EVEN>
DEVICE void step(Cells& c, uint32_t (&words)[CELLS][kHalves], SharedWords table, uint32_t entering, int number, Team team, uint32_t one) {
  constexpr int kLast = CELLS - 1, kLastPlace = kPlaces - 1;
  Value outer;
  if (EVEN) {
    const int other = team.lane > 0 ? team.lane - 1 : 0;
    uint32_t moved = team.from(c.query[kLastPlace], other);
    if (team.lane == 0) moved = entering * kRowBytes;
    outer = team.from(c.e[kLast], other);
    if (team.lane == 0) outer = outside();
    outer = moved_up(outer, c.e[kLast]);
#pragma unroll
    for (int k = kLastPlace; k > 0; k--) c.query[k] = c.query[k - 1];
    c.query[0] = moved;
  } else {
    const int other = team.lane + 1 < kTeam ? team.lane + 1 : team.lane;
    uint32_t moved = team.from(c.target[0], other);
    if (team.lane == kTeam - 1) moved = table.begin() + entering * kEntryBytes;
    outer = team.from(c.f[0], other);
    if (team.lane == kTeam - 1) outer = outside();
    outer = moved_down(c.f[0], outer);
#pragma unroll
    for (int k = 0; k < kLastPlace; k++) c.target[k] = c.target[k + 1];
    c.target[kLastPlace] = moved;
  }
#pragma unroll
  for (int n = 0; n < CELLS; n++) {
    const int k = EVEN ? kLast - n : n;
    Value e = EVEN ? (k > 0 ? c.e[k > 0 ? k - 1 : 0] : outer) : c.e[k];
    Value f = EVEN ? c.f[k] : (k < kLast ? c.f[k < kLast ? k + 1 : 0] : outer);
    Value h = c.h[k], t = c.before[k], diagonal;
    t += static_cast<Value>(table.load<0>(add_by_fma(c.query[k], c.target[k], one)));
    constexpr int kUpper = kHalves == 2 ? CELLS : 0;  // place of the upper half
    if (kHalves == 2) t += table.load<kTableBytes>(add_by_fma(c.query[kUpper + k], c.target[kUpper + k], one));
    directed_cells(t, diagonal, h, e, f, words[k], number, one);
    c.before[k] = diagonal;
    c.h[k] = h, c.e[k] = e, c.f[k] = f;
  }
}
