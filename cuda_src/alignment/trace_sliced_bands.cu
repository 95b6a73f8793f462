// Global alignments of listed pairs, each within a band of diagonals, forward pass and traceback: a warp aligns 32 pairs, one bit each
// (sliced_cells.cuh). For letters with the codes 0 to 3, with one score for equal letters and one for others.
//
// A group is 32 listed pairs with the same band. Their lengths should be similar: all take as many antidiagonals as the longest pair.
//
// 1. The lanes make words of the group's letters: two for each position, with a bit for each pair.
// 2. They compute two antidiagonals a = i + j at a time, and store the directions of all cells in global memory. The first diagonal of a
//    band, `lowest`, is odd. On an odd antidiagonal the cell of place p is on diagonal j - i = lowest + 2p; its left neighbour is that of
//    place p - 1, the upper one that of place p. On an even antidiagonal the cell is on diagonal lowest + 2p + 1; its left neighbour is
//    that of place p, the upper one that of place p + 1. A lane has CELLS adjacent places.
// 3. Each lane walks the path of a pair back. In each step it looks at the next kAhead cells of the diagonal, and the path takes all pairs
//    of letters up to the next gap.
//
// Macros: those of sliced_cells.cuh and bands.cuh     CELLS  places of a lane     BLOCKS  minimum number of blocks per multiprocessor
//         MATCH, MISMATCH  scores of equal letters and of others     OPEN, EXTEND  costs of a gap's first letter and of each further one
// Registers: 80 and 8 bytes of stack (1 cell), 128 (2 cells), 210 (4 cells), 255 and 16 bytes of stack (6 cells) with 5 bits on sm_90a
// (nvcc 13.0). Shared memory: 3,072 bytes. Measured (one H200, 2026-11-30, benchmarks/log: G-104), 1,727,956 pairs of genes at 97 %
// identity, bands of 64, 128, 192 and 256 diagonals: 0.031, 0.047, 0.074 and 0.091 microseconds a pair with CIGARs, 3.84 TCUPS of the
// bands' cells.
#include "bands.cuh"
#include "sliced_cells.cuh"

constexpr int kPairs = 32;  // of a group
constexpr int kPlaces = CELLS * kLanes;
constexpr int kThreads = 128;
constexpr int kAhead = 8;

// Where the letters of a pair begin, and how many there are.
struct PairLetters {
  int64_t query, target;
  int m, n;
};

// The letters of 32 sequences by position. Beyond the end of a sequence they have code 0; no cell of its pair's matrix depends on them.
struct LetterWords {
  Letter* words;
  int count;
  DEVICE Letter at(int position) const { return position >= 0 && position < count ? words[position] : Letter{{0, 0}}; }
};

// A group, and what is stored of it.
struct Group {
  LetterWords query, target;
  int lowest;
  CellDirections* directions;  // [antidiagonals][CELLS][kLanes], from antidiagonal 1 on

  DEVICE const CellDirections* at(int i, int j) const {
    const int place = (j - i - lowest) >> 1;
    return directions + (static_cast<int64_t>(i + j - 1) * CELLS + place % CELLS) * kLanes + place / CELLS;
  }
};

// A place: its cell on the last antidiagonal, and the letters of this cell.
struct Place {
  Cell cell;
  Letter query, target;
};

DEVICE int this_lane() { return static_cast<int>(threadIdx.x) % kLanes; }

// Functions called by all lanes of a warp together.
DEVICE Number from_lane(const Number& number, int lane) {
  Number n;
#pragma unroll
  for (int b = 0; b < BITS; b++) n.bit[b] = __shfl_sync(kAllLanes, number.bit[b], lane);
  return n;
}
DEVICE Letter from_lane(const Letter& letter, int lane) {
  return {{__shfl_sync(kAllLanes, letter.bit[0], lane), __shfl_sync(kAllLanes, letter.bit[1], lane)}};
}

// Makes the words of 32 sequences. start(k), length(k): first letter in `codes`, and number of letters, of pair k
template <class Start, class Length>
DEVICE void make_words(const LetterWords& made, const uint8_t* codes, Start start, Length length) {
  for (int position = this_lane(); position < made.count; position += kLanes) {
    Letter letter{{0, 0}};
    for (int k = kPairs - 1; k >= 0; k--) {
      const uint32_t code = position < length(k) ? codes[start(k) + position] : 0;
      letter.bit[0] = letter.bit[0] * 2 + (code & 1);
      letter.bit[1] = letter.bit[1] * 2 + (code >> 1 & 1);
    }
    made.words[position] = letter;
  }
}

// Sets the places of a lane to antidiagonal 0, whose cells are virtual except (0,0).
DEVICE void begin(Place (&places)[CELLS], const Group& group) {
  const Number zero = Number::of(0), level = Number::of(kVirtual), corner = Number::of(kVirtual + OPENING);
  const Number open = Number::of(kTop - DIFFERENT + kVirtual), closed = Number::of(kTop - DIFFERENT - OPENING);
#pragma unroll
  for (int k = 0; k < CELLS; k++) {
    const int column = (group.lowest + 1) / 2 + this_lane() * CELLS + k, row = -column;
    const uint32_t is_below = row > 0 ? ~0u : 0, is_above = row < 0 ? ~0u : 0;  // diagonal 0
    Cell& c = places[k].cell;
#pragma unroll
    for (int b = 0; b < BITS; b++) {
      c.u.bit[b] = select_bits(is_below, zero.bit[b], select_bits(is_above, level.bit[b], corner.bit[b]));
      c.v.bit[b] = select_bits(is_above, zero.bit[b], select_bits(is_below, level.bit[b], corner.bit[b]));
      c.e.bit[b] = select_bits(is_below, closed.bit[b], open.bit[b]);
      c.f.bit[b] = select_bits(is_above, closed.bit[b], open.bit[b]);
    }
    places[k].query = group.query.at(row - 1);
    places[k].target = group.target.at(column - 1);
  }
}

// Returns all bits if the cell of a diagonal on antidiagonal a is virtual, i.e. if i < 1 or j < 1; else 0.
DEVICE uint32_t is_virtual(int a, int diagonal) { return static_cast<uint32_t>((a - (diagonal < 0 ? -diagonal : diagonal) - 2) >> 31); }

// Computes antidiagonals a and a + 1, and stores their directions. a: odd. query, target: the letters that enter the band. EDGE: whether
// cells may be virtual
template <bool EDGE>
DEVICE void compute_two(Place (&places)[CELLS], const Group& group, int a, const Letter& query, const Letter& target) {
  constexpr int kLast = CELLS - 1;
  const int lane = this_lane(), first = group.lowest + 2 * CELLS * lane;  // diagonal of the first place
  CellDirections* const to = group.directions + static_cast<int64_t>(a - 1) * kPlaces + lane;

  const int before = lane > 0 ? lane - 1 : 0;
  Letter entering = from_lane(places[kLast].query, before);
  const Number u = from_lane(places[kLast].cell.u, before);
  Number e = from_lane(places[kLast].cell.e, before);
  if (lane == 0) entering = query, e = Number::of(0);
#pragma unroll
  for (int k = kLast; k >= 0; k--) {
    Place &p = places[k], &left = places[k > 0 ? k - 1 : 0];
    p.query = k > 0 ? left.query : entering;
    to[k * kLanes] = compute<EDGE>(p.cell, p.query, p.target, k > 0 ? left.cell.u : u, k > 0 ? left.cell.e : e, p.cell.v, p.cell.f,
                                   EDGE ? is_virtual(a, first + 2 * k) : 0);
  }

  const int behind = lane < kLanes - 1 ? lane + 1 : lane;
  entering = from_lane(places[0].target, behind);
  const Number v = from_lane(places[0].cell.v, behind);
  Number f = from_lane(places[0].cell.f, behind);
  if (lane == kLanes - 1) entering = target, f = Number::of(0);
#pragma unroll
  for (int k = 0; k < CELLS; k++) {
    Place &p = places[k], &up = places[k < kLast ? k + 1 : kLast];
    p.target = k < kLast ? up.target : entering;
    to[kPlaces + k * kLanes] = compute<EDGE>(p.cell, p.query, p.target, p.cell.u, p.cell.e, k < kLast ? up.cell.v : v,
                                             k < kLast ? up.cell.f : f, EDGE ? is_virtual(a + 1, first + 2 * k + 1) : 0);
  }
}

// Computes all cells up to an antidiagonal, and stores their directions.
DEVICE void compute_all(const Group& group, int antidiagonals) {
  Place places[CELLS];
  begin(places, group);
  const int highest = group.lowest + 2 * kPlaces - 1, farthest = highest > -group.lowest ? highest : -group.lowest;
  // Positions of the letters that enter on antidiagonals 1 and 2.
  const int row = (-1 - group.lowest) / 2, column = (group.lowest - 1) / 2 + kPlaces;
  Letter query = group.query.at(row), target = group.target.at(column);
  for (int k = 0; 2 * k < antidiagonals; k++) {
    const Letter next_query = group.query.at(row + k + 1), next_target = group.target.at(column + k + 1);
    if (2 * k <= farthest)
      compute_two<true>(places, group, 2 * k + 1, query, target);
    else
      compute_two<false>(places, group, 2 * k + 1, query, target);
    query = next_query, target = next_target;
  }
}

// Walks the path of pair k of a group back to row 0 or column 0.
DEVICE void walk_back(Walk& walk, const Group& group, int k) {
  while (walk.i > 0 && walk.j > 0) {
    const CellDirections* const first = group.at(walk.i, walk.j);
    const bool continues = walk.op == kInsertion ? first->word[3] >> k & 1 : walk.op == kDeletion && (first->word[2] >> k & 1);
    uint32_t paired = 0, equal_or_up = 0;  // bit s: of the cell s steps away on the diagonal
#pragma unroll
    for (int s = 0; s < kAhead; s++) {
      if (walk.i <= s || walk.j <= s) continue;
      const CellDirections* const cell = first - static_cast<int64_t>(s) * 2 * kPlaces;
      paired |= (cell->word[0] >> k & 1) << s;
      equal_or_up |= (cell->word[1] >> k & 1) << s;
    }
    const int count = continues ? 0 : lowest_bit(~static_cast<uint64_t>(paired));
    walk.extend(count, equal_or_up);
    if (count == kAhead || walk.i == 0 || walk.j == 0) continue;
    walk.step(continues ? walk.op : equal_or_up >> count & 1 ? kInsertion : kDeletion);
  }
}

// Returns the score of a path that is closed.
DEVICE int64_t score_of(const Walk& walk, int m, int n) {
  const int64_t gaps = m + n - 2 * (walk.matches + walk.mismatches);
  const int64_t pairs = static_cast<int64_t>(MATCH) * walk.matches + static_cast<int64_t>(MISMATCH) * walk.mismatches;
  return pairs - static_cast<int64_t>(EXTEND) * gaps - static_cast<int64_t>(OPEN - EXTEND) * walk.gap_opens;
}

KERNEL(128, BLOCKS) trace_sliced_bands(const TraceBandArgs args) {
  __shared__ PairLetters pairs_of_block[kThreads / kLanes][kPairs];
  const int warp = static_cast<int>(threadIdx.x) / kLanes;
  PairLetters* const pairs = pairs_of_block[warp];
  uint32_t* const memory = args.path.directions + (static_cast<int64_t>(blockIdx.x) * (kThreads / kLanes) + warp) * args.path.matrix_stride;

  for (;;) {
    uint32_t taken = 0;
    if (this_lane() == 0) taken = atomicAdd(args.next, 1u);
    taken = __shfl_sync(kAllLanes, taken, 0);
    if (taken >= static_cast<uint32_t>(args.pair_count) / kPairs) return;
    const int64_t first = static_cast<int64_t>(taken) * kPairs;

    int rows = 0, columns = 0, antidiagonals = 0;  // maxima over the pairs
    for (int k = 0; k < kPairs; k++) {
      const BandPair listed = args.pairs[first + k];
      const int64_t *const query = args.query_offsets + listed.query, *const target = args.path.target_offsets + listed.target;
      const PairLetters pair{query[0], target[0], static_cast<int>(query[1] - query[0]), static_cast<int>(target[1] - target[0])};
      if (k % kLanes == this_lane()) pairs[k] = pair;
      rows = pair.m > rows ? pair.m : rows;
      columns = pair.n > columns ? pair.n : columns;
      antidiagonals = pair.m + pair.n > antidiagonals ? pair.m + pair.n : antidiagonals;
    }
    __syncwarp();
    Letter* const letters = reinterpret_cast<Letter*>(memory);
    const int even_rows = (rows + 1) / 2 * 2, even_columns = (columns + 1) / 2 * 2;  // so that directions are aligned
    const Group group{{letters, rows},
                      {letters + even_rows, columns},
                      args.pairs[first].lowest,
                      reinterpret_cast<CellDirections*>(letters + even_rows + even_columns)};
    make_words(group.query, args.query_codes, [&](int k) { return pairs[k].query; }, [&](int k) { return pairs[k].m; });
    make_words(group.target, args.path.target_codes, [&](int k) { return pairs[k].target; }, [&](int k) { return pairs[k].n; });
    __syncwarp();
    compute_all(group, antidiagonals);
    __syncwarp();  // a lane reads the directions of all

    for (int k = this_lane(); k < kPairs; k += kLanes) {
      uint8_t* const scratch = args.path.detail == 2 ? args.path.scratch + (first + k) * args.path.capacity : nullptr;
      Walk walk({0, pairs[k].m, pairs[k].n}, scratch, args.path.capacity);
      walk_back(walk, group, k);
      walk.close(false, false);
      args.scores[first + k] = static_cast<RESULT>(SIGN * score_of(walk, pairs[k].m, pairs[k].n));
      if (args.path.detail > 0) walk.finish(args.path, first + k, false, false);
    }
    __syncwarp();  // the next group overwrites the directions
  }
}
