// Global and local scores by chains of warps (chain.cuh), one pair a chain, in 32 or 64 bits.
//
// A cell waits for the one above it, and a warp alone has nothing else to do meanwhile. So the rows of a lane are in three parts, each of
// which takes the column that the part above it took before. Lane l works kBatch columns behind lane l - 1: three that pass its rows, and
// one in which what the last row hands down is on its way.
//
//            lane 0             lane 1
//   pass   0: column 0, -1, -2   -4, -5, -6
//   pass   1:        1,  0, -1   -3, -4, -5
//   ...
//   pass   4:        4,  3,  2    0, -1, -2      column 0 left lane 0 behind pass 2
//
// To the next strip a column goes with the number of the strip that it is for, so that no flag, and no fence, has to follow it; what a
// strip hands down takes the place of what it was handed. Columns that there are not have the letter of padding, which scores as dummy rows
// do (recurrence.cuh): locally they reach nothing, and globally nobody looks at them.
//
// With PATHS every strip keeps its carries, and its rows' state before every TILE columns: trace_chain.cu begins there.
//
// Macros: CELL (S32, S64), IS_LOCAL, IS_AFFINE, ROWS (of a lane, 12 or 24), WARPS (of a block), LETTERS (with one
// for padding), BYTES (whether scores fit signed bytes), PATHS, TILE (a multiple of kBatch), RESULT and the constants of recurrence.cuh.
#include "chain_letters.cuh"
#include "chain_scores.cuh"
#include "recurrence.cuh"

using Rules = Recurrence<CELL, IS_LOCAL, IS_AFFINE>;
using Cell = Rules::Cell;
using Value = Rules::Value;
constexpr int kCarries = Rules::CARRIES;
constexpr int64_t kStripRows = static_cast<int64_t>(kLanes) * ROWS;
constexpr int kBatch = kParts + 1;
constexpr uint32_t kPadding = LETTERS - 1;
static_assert(kBatch == kPlaces && TILE % kBatch == 0);

template <bool NARROW>
struct ScoresBy {
  using type = LookUp;
};
template <>
struct ScoresBy<true> {
  using type = Profile;
};
using Scores = ScoresBy<BYTES>::type;
using Columns = Letters<kBatch, Scores::kLetterBytes>;

// ---- what strips hand down

constexpr int kHalves = sizeof(Value) / sizeof(uint32_t);
constexpr int kWords = kCarries * kHalves;  // of a column

// Half a value, and the number of the strip that it is for.
DEVICE uint64_t tagged(Value value, int half, uint32_t strip) {
  return static_cast<uint64_t>(strip) << 32 | static_cast<uint32_t>(static_cast<uint64_t>(value) >> (32 * half));
}
DEVICE Value joined(const uint64_t* halves) {
  uint64_t value = 0;
#pragma unroll
  for (int half = 0; half < kHalves; half++) value |= (halves[half] & 0xffffffffu) << (32 * half);
  return static_cast<Value>(value);
}

// A value of each column of a batch, where lane 0 finds it.
struct alignas(16) Head {
  Value column[kBatch];
};
// [carry][batch], of two groups of kLanes columns: one is read while the next is put there.
constexpr int kHeads = 2 * kLanes / kBatch;
using Heads = Head[kCarries][kHeads];

// The carries above the first row of a strip, a column a lane: those of a group are asked for while the group before it is computed.
class CarriesAbove {
 public:
  // handed_down: [word][column], `stride` columns
  DEVICE CarriesAbove(Heads& heads, const uint64_t* handed_down, int64_t stride, int strip, int n)
      : heads_(heads), from_(handed_down), stride_(stride), strip_(strip), until_(strip > 0 ? n : 0) {
    ask(this_lane());
  }

  // Puts the group from `column` on, which was asked for, where lane 0 finds it after __syncwarp, and asks for the next one.
  DEVICE void advance(int column) {
    const int mine = column + this_lane();
    // Without sleep: a strip that wakes late delays all strips below it.
    while (any_lane(missing())) ask(mine);
#pragma unroll
    for (int c = 0; c < kCarries; c++) heads_[c][mine / kBatch % kHeads].column[mine % kBatch] = joined(asked_ + c * kHalves);
    ask(mine + kLanes);
  }

 private:
  DEVICE void ask(int column) {
    if (column < until_) {
#pragma unroll
      for (int w = 0; w < kWords; w++) asked_[w] = load_relaxed(from_ + w * stride_ + column);
    } else {
      Value top[kCarries];
      Rules::top(column + 1, top);
#pragma unroll
      for (int w = 0; w < kWords; w++) asked_[w] = tagged(top[w / kHalves], w % kHalves, strip_);
    }
  }
  DEVICE uint32_t missing() const {
    uint32_t wrong = 0;
#pragma unroll
    for (int w = 0; w < kWords; w++) wrong |= static_cast<uint32_t>(asked_[w] >> 32) ^ strip_;
    return wrong;
  }

  Heads& heads_;
  const uint64_t* const from_;
  const int64_t stride_;
  const uint32_t strip_;
  const int until_;  // columns that are handed down
  uint64_t asked_[kWords];
};

// Where what a lane hands down goes.
struct Below {
  uint64_t* handed_down;  // [word][column]
  int64_t stride;         // columns
  uint32_t strip;         // the next one
  unsigned columns;       // that the last lane hands down; of other lanes 0
  Value* carries;         // with PATHS: [carry][column], to keep
  Value* edge;            // with PATHS: of the lane's rows, before column 1
  int64_t tile;           // values between the edges of two tiles
  unsigned all_columns;

  // Of column j, from 0.
  DEVICE void put(const Value (&out)[2], int j) const {
    const bool wanted = static_cast<unsigned>(j) < columns;
#pragma unroll
    for (int w = 0; w < kWords; w++) store_relaxed_if(wanted, handed_down + w * stride + j, tagged(out[w / kHalves], w % kHalves, strip));
    if (PATHS && wanted)
      for (int c = 0; c < kCarries; c++) carries[c * stride + j] = out[c];
  }
};

// ---- a lane

// What a column brings to a row from above: H above and left of it, and F.
struct Passing {
  Value diagonal, f;
};

struct Lane {
  const Scores scores;
  const int64_t first;  // its first row
  Value h[ROWS], e[ROWS], best;
  Passing passing[kParts];                    // of the column that a part takes next; of part 0 `diagonal` alone
  Value coming[kCarries], waiting[kCarries];  // from the lane before this one, of the last pass and of the one before it
  Scores::OfPart now[kParts];                 // of the columns of the pass that comes
  Places here;                                // of this batch
  uint32_t before;                            // of the last column of the batch before it
  Head head[kCarries];                        // of this batch, for lane 0

  DEVICE Lane(const Scores& made, int64_t first_row, const Columns& columns)
      : scores(made), first(first_row), best(Cell::of(LEVEL)), here(columns.places(0, -this_lane())),
        before(kPadding * Scores::kLetterBytes) {
    Value top[kCarries];
    Rules::top(1, top);
#pragma unroll
    for (int part = 0; part < kParts; part++) {
      begin(part);
      passing[part] = {top[0], top[kCarries - 1]};
      now[part] = scores.of(part, part == 0 ? here.column[0] : before);
    }
#pragma unroll
    for (int c = 0; c < kCarries; c++) coming[c] = waiting[c] = top[c];
  }

  // The rows of a part before column 1.
  DEVICE void begin(int part) {
#pragma unroll
    for (int r = part * kPartRows; r < (part + 1) * kPartRows; r++) {
      h[r] = Rules::left_h(first + r);
      e[r] = Rules::left_e(first + r);
    }
    if (part == 0) passing[0].diagonal = Rules::left_h(first - 1);
  }

  DEVICE void keep(int part, Value* edge) const {
#pragma unroll
    for (int r = part * kPartRows; r < (part + 1) * kPartRows; r++) {
      edge[r * kCarries] = h[r];
      if (kCarries == 2) edge[r * kCarries + kCarries - 1] = e[r];
    }
  }

  // Pass K of a batch whose first column is `column` (from 0): part p takes column + K - p. BEGINS: that column may be the lane's first.
  template <int K, bool BEGINS>
  DEVICE void pass(int column, const Places& next_places, const Below& below) {
    if constexpr (K < kParts) {
      if (BEGINS && column == 0) begin(K);
      if (PATHS && column % TILE == 0 && static_cast<unsigned>(column) < below.all_columns)
        keep(K, below.edge + column / TILE * below.tile);
    }
    Scores::OfPart next[kParts];
#pragma unroll
    for (int part = 0; part < kParts; part++) {
      const int c = K + 1 - part;
      next[part] = scores.of(part, c < 0 ? before : c < kBatch ? here.column[c < 0 ? 0 : c % kBatch] : next_places.column[0]);
    }
    Value above[kCarries];
#pragma unroll
    for (int c = 0; c < kCarries; c++) {
      above[c] = this_lane() == 0 ? head[c].column[K] : waiting[c];
      waiting[c] = coming[c];
    }
    passing[0].f = Rules::f_above(above);
#pragma unroll
    for (int r = 0; r < kPartRows; r++)
#pragma unroll
      for (int part = 0; part < kParts; part++) {
        const int row = part * kPartRows + r;
        Passing& p = passing[part];
        Rules::cell(Scores::added(now[part], r, p.diagonal), p.diagonal, h[row], e[row], p.f, 1);
        if (IS_LOCAL && r % 2) best = Cell::max3(best, h[row - 1], h[row]);
      }
    const Value out[2] = {h[ROWS - 1], passing[kParts - 1].f};
#pragma unroll
    for (int c = 0; c < kCarries; c++) coming[c] = from_lane_before(out[c]);
    below.put(out, column + K - (kParts - 1));
#pragma unroll
    for (int part = kParts - 1; part > 0; part--) passing[part] = passing[part - 1];
    passing[0].diagonal = above[0];
#pragma unroll
    for (int part = 0; part < kParts; part++) now[part] = next[part];
  }

  // A batch of lane 0. more: whether the next one's head is there already.
  template <bool BEGINS>
  DEVICE void batch(int number, const Columns& columns, const Heads& heads, bool more, const Below& below) {
    const int mine = number - this_lane();
    const Places next_places = columns.places(0, mine + 1);
    Head next_head[kCarries];
#pragma unroll
    for (int c = 0; c < kCarries; c++) next_head[c] = more ? heads[c][(number + 1) % kHeads] : head[c];
    pass<0, BEGINS>(mine * kBatch, next_places, below);
    pass<1, BEGINS>(mine * kBatch, next_places, below);
    pass<2, BEGINS>(mine * kBatch, next_places, below);
    pass<3, BEGINS>(mine * kBatch, next_places, below);
    before = here.column[kBatch - 1];
    here = next_places;
#pragma unroll
    for (int c = 0; c < kCarries; c++) head[c] = next_head[c];
  }
};

// What a warp has in shared memory.
struct Shared {
  Scores::Shared scores;
  Columns::Ring letters;
  Heads heads;
};

DEVICE Below below_of(const ChainArgs& a, const ChainStrip& s, uint64_t* handed_down, int n) {
  const int64_t place = static_cast<int64_t>(s.pair) * a.strips + s.number;
  Below below{handed_down, a.carry_stride, static_cast<uint32_t>(s.number + 1), this_lane() == kLanes - 1 ? static_cast<unsigned>(n) : 0u};
  if (PATHS) {
    below.carries = static_cast<Value*>(a.carries) + place * a.carry_stride * kCarries;
    below.edge = static_cast<Value*>(a.edges) + s.pair * a.edge_stride + (s.number * kStripRows + this_lane() * ROWS) * kCarries;
    below.tile = a.strips * kStripRows * kCarries;
    below.all_columns = n;
  }
  return below;
}

// A strip on its way.
struct Strip {
  Shared& shared;
  const Below& below;
  CarriesAbove above;
  Columns columns;
  Lane lane;

  // As many batches of lane 0 as a group of letters has, from batch `number` on. BEGINS: lanes may have their first among them.
  template <bool BEGINS>
  DEVICE void group(int number) {
    above.advance(number * kBatch);
    columns.advance(number + Columns::kGroup);
    __syncwarp();
#pragma unroll
    for (int c = 0; c < kCarries; c++) lane.head[c] = shared.heads[c][number % kHeads];
#pragma unroll 1
    for (int k = 0; k < Columns::kGroup; k++) lane.batch<BEGINS>(number + k, columns, shared.heads, k + 1 < Columns::kGroup, below);
  }
};

DEVICE void align_strip(const ChainArgs& a, Shared& shared, const int32_t* table, const ChainStrip& s) {
  // One for all lanes, as the compiler is to see: it splits code in two where some lanes may have left a loop.
  const int n = from_lane(static_cast<int>(s.n), 0);
  const int64_t first = s.first + static_cast<int64_t>(this_lane()) * ROWS;
  int codes[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) codes[r] = first + r < 1 ? kPadding : s.query[first + r - 1];
  uint64_t* const handed_down = static_cast<uint64_t*>(a.handed_down) + s.pair * (kWords * a.carry_stride);
  const Below below = below_of(a, s, handed_down, n);
  const Scores scores(shared.scores, table, codes);
  Columns::clear(shared.letters, kPadding);
  Columns columns(shared.letters, s, kPadding);
  __syncwarp();
  columns.advance(0);
  __syncwarp();
  Strip strip{shared, below, CarriesAbove(shared.heads, handed_down, a.carry_stride, s.number, n), columns, Lane(scores, first, columns)};

  // Parts are behind, and lanes.
  const int batches = (n + kParts - 1 + kBatch - 1) / kBatch + kLanes - 1;
  int number = 0;
  for (; number < kLanes; number += Columns::kGroup) strip.group<true>(number);
  for (; number < batches; number += Columns::kGroup) strip.group<false>(number);

  if (IS_LOCAL) {
    Rules::write(s.score, strip.lane.best, s.m, s.n);
  } else if (s.last && !PATHS && below.columns > 0) {  // with paths, the way back writes scores
    uint64_t corner[kHalves];
    for (int half = 0; half < kHalves; half++) corner[half] = load_relaxed(handed_down + half * a.carry_stride + n - 1);
    Rules::write(s.score, joined(corner), s.m, s.n);
  }
}

KERNEL(WARPS* kLanes, 1) align_chain(const ChainArgs a) {
  __shared__ int32_t table[LETTERS * LETTERS];
  __shared__ Shared of_warps[WARPS];
  for (int k = threadIdx.x; k < LETTERS * LETTERS; k += blockDim.x) table[k] = a.table[k];
  __syncthreads();
  Shared& shared = of_warps[threadIdx.x / kLanes];
  take_strips(a, kStripRows, [&](const ChainStrip& strip) {
    align_strip(a, shared, table, strip);
    __syncwarp();
  });
}
