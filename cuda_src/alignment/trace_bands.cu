// Global alignments of listed pairs, each within a band of diagonals (band_cells.cuh), forward pass and traceback: one, two or four pairs
// per warp. A band has 2 kTeam kPlaces diagonals. Of m + n and the first diagonal, one is odd. The longest pairs are listed first.
//
// Antidiagonals are computed in groups of 8, each starting with an even one (a - lowest); the last group ends with m + n. So the first
// group starts with antidiagonal 0 or earlier. All pairs of a warp have the same number of groups. In a group 4 letters of each sequence
// enter the band. A lane holds the letters of one group in as many as its team has lanes.
//
// Directions are stored in global memory, and the team then walks the path back. In each step its lanes look at the next kLanes cells of
// the diagonal, and the path takes all pairs of letters up to the next gap.
//
// Macros: those of band_cells.cuh and bands.cuh
// Registers: 78 (S32, 1 cell); 232 and 576 bytes of stack (S32, 24 cells); 90 (U16x2, 2 cells, 4 teams); 128 (U16x2, 8 cells, 2 teams) on
// sm_90a (NVRTC 13.5). Shared memory: 4 kHalves LETTERS^2 + 4 LETTERS bytes. Measured (one H200, 2026-11-29, benchmarks/log: G-102),
// 1,727,972 pairs of genes at 97 % identity, bands of 64, 128, 192 and 256 diagonals: 0.062, 0.105, 0.143 and 0.185 microseconds a pair
// with CIGARs.
#include "band_cells.cuh"
#include "bands.cuh"

constexpr int kLettersPerGroup = kGroup / 2;                  // of each sequence
constexpr int kUnrolled = CELLS <= 4 ? kLettersPerGroup : 1;  // pairs of antidiagonals; more would not stay in registers or caches
constexpr int kGroupWords = kPlaces * kTeam;                  // directions of a group

// A sequence, from which a team reads kLettersPerGroup letters for each group.
struct Letters {
  const uint8_t* codes;
  int length;
  int first;      // number, counted from 0, of the letter that the first lane holds first
  uint32_t held;  // this lane's letters, a byte each

  // Returns a letter; that of the padding before and after the sequence.
  DEVICE uint32_t letter(int number) const { return number >= 0 && number < length ? codes[number] : LETTERS - 1; }

  // Returns the letters for a group. Called for all groups in order.
  DEVICE uint32_t of_group(int group, Team team) {
    if (group % kTeam == 0) {
      held = 0;
      for (int k = 0; k < kLettersPerGroup; k++) held |= letter(first + kLettersPerGroup * (group + team.lane) + k) << 8 * k;
    }
    return team.from(held, group % kTeam);
  }
};

// The pair of a team, and where its groups of antidiagonals lie.
struct Band {
  Letters query, target;
  int lowest, start;     // first diagonal, and first antidiagonal
  uint32_t* directions;  // [groups][CELLS][kHalves][kTeam]
};

// Computes a group, and stores its directions.
DEVICE void compute_group(Cells& c, Band& band, SharedWords table, int group, Team team, uint32_t one) {
  const uint32_t query = band.query.of_group(group, team), target = band.target.of_group(group, team);
  uint32_t words[CELLS][kHalves] = {};
#pragma unroll(kUnrolled)
  for (int k = 0; k < kLettersPerGroup; k++) {
    step<true>(c, words, table, query >> 8 * k & 0xff, 2 * k, team, one);
    step<false>(c, words, table, target >> 8 * k & 0xff, 2 * k + 1, team, one);
  }
  uint32_t* const to = band.directions + group * kGroupWords + team.lane;
#pragma unroll
  for (int k = 0; k < CELLS * kHalves; k++) to[k * kTeam] = words[k / kHalves][k % kHalves];
}

// Walks back along the directions. Called by all lanes of a warp together; walks: whether this team has a path
DEVICE void walk_back(Walk& walk, const Band& band, const uint32_t* usable, bool walks, Team team) {
  for (;;) {
    const bool walking = walks && walk.i > 0 && walk.j > 0;
    if (!any_lane(walking)) return;
    const int place = (walk.j - walk.i - band.lowest) >> 1, own = place % kPlaces;
    const uint32_t* const words = band.directions + own % CELLS * kHalves * kTeam + place / kPlaces;
    int found[TEAMS] = {};
    uint32_t paired = 0, equal = 0;  // bit k: for the cell k steps away on the diagonal
#pragma unroll
    for (int look = 0; look < TEAMS; look++) {
      const int away = look * kTeam + team.lane, i = walk.i - away, j = walk.j - away, number = i + j - band.start;
      bool pairs = false, equals = false;
      if (walking && i > 0 && j > 0) {
        found[look] = directions_in(words + number / kGroup * kGroupWords, kTeam, number % kGroup, own / CELLS);
        const int a = band.query.codes[i - 1], b = band.target.codes[j - 1];
        pairs = (found[look] & kDiagonal) && (usable[a] >> b & 1);
        equals = a == b;
      }
      paired |= team.ballot(pairs) << look * kTeam;
      equal |= team.ballot(equals) << look * kTeam;
    }
    const int first = team.from(found[0], 0);
    const bool continues = walk.op == kInsertion ? first & kExtendUp : walk.op == kDeletion && (first & kExtendLeft);
    const int count = continues ? 0 : lowest_bit(~static_cast<uint64_t>(paired));
    int next = 0;  // directions of the cell after these pairs
#pragma unroll
    for (int look = 0; look < TEAMS; look++) {
      const int there = team.from(found[look], count % kTeam);
      if (look == count / kTeam) next = there;
    }
    if (!walking) continue;
    walk.extend(count, equal);
    if (count == kLanes || walk.i == 0 || walk.j == 0) continue;
    walk.step(continues ? walk.op : next & kUp ? kInsertion : kDeletion);
  }
}

KERNEL(128, CELLS > 8 ? 2 : 4) trace_bands(const TraceBandArgs args) {
  __shared__ Value table[kHalves][LETTERS * LETTERS];
  __shared__ uint32_t usable[LETTERS];
  for (int k = threadIdx.x; k < LETTERS * LETTERS; k += blockDim.x)
    for (int half = 0; half < kHalves; half++) table[half][k] = static_cast<Value>(args.table[k]) * (half ? 1 << 16 : 1);
  for (int k = threadIdx.x; k < LETTERS; k += blockDim.x) usable[k] = args.path.usable[k];
  __syncthreads();
  const SharedWords scores(table);
  const Team team(static_cast<int>(threadIdx.x));
  const int warps = static_cast<int>(blockDim.x) / kLanes;
  const int64_t warp = static_cast<int64_t>(blockIdx.x) * warps + static_cast<int>(threadIdx.x) / kLanes;
  uint32_t* const directions = args.path.directions + (warp * TEAMS + team.first / kTeam) * args.path.matrix_stride;

  for (;;) {
    uint32_t taken = 0;
    if (threadIdx.x % kLanes == 0) taken = atomicAdd(args.next, static_cast<uint32_t>(TEAMS));
    taken = __shfl_sync(kAllLanes, taken, 0);
    const uint32_t pair_count = static_cast<uint32_t>(args.pair_count);
    if (taken >= pair_count) return;
    taken += static_cast<uint32_t>(team.first / kTeam);
    const bool has_pair = taken < pair_count;  // else the team repeats the last pair
    if (!has_pair) taken = pair_count - 1;
    const BandPair pair = args.pairs[taken];
    const int64_t query_start = args.query_offsets[pair.query], target_start = args.path.target_offsets[pair.target];
    const int m = static_cast<int>(args.query_offsets[pair.query + 1] - query_start);
    const int n = static_cast<int>(args.path.target_offsets[pair.target + 1] - target_start);
    const int lowest = pair.lowest;
    const int longest = __shfl_sync(kAllLanes, m + n, 0);  // the first team has the longest pair
    const int groups = longest / kGroup + 1, start = m + n + 1 - kGroup * groups;

    // Before the first group only a cell of diagonal 0 has a value, and the letters are those of antidiagonal start - 1.
    const int row = (start - lowest) / 2 - 1, column = (start + lowest) / 2;  // of place 0; both sums are even
    Band band{{args.query_codes + query_start, m, row, 0},
              {args.path.target_codes + target_start, n, column + kPlaces * kTeam - 1, 0},
              lowest,
              start,
              directions};
    Cells c;
#pragma unroll
    for (int k = 0; k < CELLS; k++) {
      c.h[k] = c.before[k] = c.e[k] = c.f[k] = outside();
      for (int half = 0; half < kHalves; half++) {
        if (team.lane * kPlaces + half * CELLS + k != -lowest >> 1) continue;
        Value& first = start % 2 ? c.h[k] : c.before[k];  // on an even antidiagonal
        first = Cell::joined(half ? OUTSIDE : LEVEL, half ? LEVEL : OUTSIDE);
      }
    }
#pragma unroll
    for (int k = 0; k < kPlaces; k++) {
      c.query[k] = band.query.letter(row - (team.lane * kPlaces + k) - 1) * kRowBytes;
      c.target[k] = scores.begin() + band.target.letter(column + team.lane * kPlaces + k - 1) * kEntryBytes;
    }
    for (int group = 0; group < groups; group++) compute_group(c, band, scores, group, team, args.one);

    const int corner = (n - m - lowest) >> 1;  // its place
    Value own = c.h[0];
#pragma unroll
    for (int k = 1; k < CELLS; k++)
      if (k == corner % kPlaces % CELLS) own = c.h[k];
    own = team.from(own, corner / kPlaces);
    const int64_t score = Rules::score(Cell::get(own, corner % kPlaces / CELLS), m, n);
    __syncwarp();  // a lane reads the directions of all
    const bool stores = has_pair && team.lane == 0;
    if (stores) args.scores[taken] = static_cast<RESULT>(SIGN * score);
    if (args.path.detail > 0) {
      uint8_t* const scratch = stores && args.path.detail == 2 ? args.path.scratch + taken * args.path.capacity : nullptr;
      Walk walk({score, m, n}, scratch, args.path.capacity);
      walk_back(walk, band, usable, has_pair, team);
      if (stores) walk.finish(args.path, taken, false, false);
    }
    __syncwarp();  // the next pair overwrites the directions
  }
}
