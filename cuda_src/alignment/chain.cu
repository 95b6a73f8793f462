// Global and local scores by chains of warps, one pair per chain, in 32 or 64 bits. chain.cuh has the glossary (window, strip, lane, lag,
// batch, group, carry, tag, ring, queue) and the invariants of a chain.
//
//   part    a third of a lane's rows. Part p computes column c one pass after part p - 1, from which it gets the row above
//   pass    the step of a warp: every part of every lane computes one column. In pass K = 0 .. 3 of lane 0's batch b, part p of
//           lane l takes column 4 (b - l) + K - p, counted from 0
//   top     what is above a strip: the carries of the strip above, or row 0 above strip 0. Only lane 0 reads it
//
// Why parts: a cell waits for the cell above it, and with one warp per scheduler nothing else could run meanwhile. Three columns at a time
// are three independent chains of instructions.
//
//            lane 0, parts 0 1 2    lane 1, parts 0 1 2
//   pass 0    columns  0 -1 -2        columns -4 -5 -6    lane 0 reads the top carry of column 0
//   pass 1             1  0 -1                -3 -4 -5
//   pass 2             2  1  0                -2 -3 -4    column 0 leaves part 2 of lane 0, by the shuffle that ends the pass
//   pass 3             3  2  1                -1 -2 -3    its carry waits
//   pass 4             4  3  2                 0 -1 -2    its carry enters part 0 of lane 1
//
// Columns below 0 and beyond n have the padding letter, which scores as dummy rows do (recurrence.cuh). Locally they reach no score;
// globally they are never read.
//
// Order between lanes. What lane 0 reads from the ring of top carries, and what all lanes read from the ring of letters, is stored by other
// lanes before the __syncwarp of Strip::group. Within a group only the shuffles that end each pass keep the lanes in step: no lane begins
// pass k + 1 before all have ended pass k. Lane 0 has therefore used the last top carry of a group before any lane stores the next group,
// so a ring of one group would also be correct; the second group makes that independent of the shuffles.
//
// With PATHS every strip keeps the carries of its last row, and every TILE columns a checkpoint: H, with affine gaps also E, of each row
// before that column. trace_chain.cu starts from there.
//
// Macros
//   CELL        S32 or S64 (score.cuh)             IS_LOCAL, IS_AFFINE  true or false
//   ROWS        rows of a lane, 12 or 24           WARPS    warps of a block, 1, 2 or 4
//   LETTERS     letters with one for padding       BYTES    1: the scores fit signed bytes, use a profile; 0: look them up
//   PATHS       0 or 1                             TILE     columns between two checkpoints, a multiple of kBatch (256)
//   RESULT      integer type of a score            OPEN, EXTEND, LIFT, LEVEL, FREE_QUERY, FREE_TARGET  see recurrence.cuh
// Registers: 80 (S32 linear, 12 rows); 196 (S32 affine, 24 rows, PATHS); 244 (S64 affine local, 24 rows) on sm_90a (NVRTC 13.5). Shared
// memory: 4 LETTERS^2 + WARPS (1,024 + 256 sizeof(Value) / 4 CARRIES + (BYTES ? 32 LETTERS ROWS : 16)) bytes, with CARRIES 2 for affine
// gaps and else 1. Measured (one H200, 2026-11-28, benchmarks/results/nw_cuda.md), one pair of 1 Mb x 1 Mb, 32 bits: 5.75 TCUPS linear
// 5/-4/6, 3.31 affine 5/-4/10/1; 30 sequences of 30 kb: 6.23 and 3.56. 64 bits and local scores: not measured alone.
#include "chain_letters.cuh"
#include "chain_scores.cuh"
#include "recurrence.cuh"

using Rules = Recurrence<CELL, IS_LOCAL, IS_AFFINE>;
using Cell = Rules::Cell;
using Value = Rules::Value;
constexpr int kCarries = Rules::CARRIES;
constexpr int64_t kStripRows = static_cast<int64_t>(kLanes) * ROWS;
constexpr int kBatch = kParts + 1;  // the lag: a column in each part, and one on its way to the next lane
constexpr uint32_t kPadding = LETTERS - 1;
static_assert(kBatch == kOffsets && TILE % kBatch == 0);

template <bool FIT_BYTES>
struct ScoresBy {
  using type = TableLookup;
};
template <>
struct ScoresBy<true> {
  using type = Profile;
};
using Scores = ScoresBy<BYTES>::type;
using Columns = LetterRing<kBatch, Scores::kLetterBytes>;

// ---- carries between strips

constexpr int kHalves = sizeof(Value) / sizeof(uint32_t);
constexpr int kWords = kCarries * kHalves;  // 64-bit words of a column: 32 bits of a carry and the tag each

// 32 bits of a value (half 0: the low ones) and the tag, the number of the strip that reads them.
DEVICE uint64_t tagged(Value value, int half, uint32_t strip) {
  return static_cast<uint64_t>(strip) << 32 | static_cast<uint32_t>(static_cast<uint64_t>(value) >> (32 * half));
}
DEVICE Value joined(const uint64_t* halves) {
  uint64_t value = 0;
#pragma unroll
  for (int half = 0; half < kHalves; half++) value |= (halves[half] & 0xffffffffu) << (32 * half);
  return static_cast<Value>(value);
}

// One of the top carries (H, or F) of the columns of a batch.
struct alignas(16) TopBatch {
  Value column[kBatch];
};
// [carry][batch % kTopBatches]: two groups of top carries, the one that lane 0 reads and the one that is stored next.
constexpr int kTopBatches = 2 * kLanes / kBatch;
using TopRing = TopBatch[kCarries][kTopBatches];

// Brings the top carries of a strip into the ring, one column per lane. A group is loaded while the group before it is computed.
class TopCarries {
 public:
  // handed_down: [word][column], `stride` columns per word
  DEVICE TopCarries(TopRing& ring, const uint64_t* handed_down, int64_t stride, int strip, int n)
      : ring_(ring), handed_down_(handed_down), stride_(stride), strip_(strip), columns_above_(strip > 0 ? n : 0) {
    load(this_lane());
  }

  // Stores the group that begins at `column`, which was loaded before, and loads the next one. Waits until the strip above has written the
  // group. Lane 0 may read it after __syncwarp.
  DEVICE void advance(int column) {
    const int mine = column + this_lane();
    // Polls without sleeping: a strip that wakes late delays all strips below it.
    while (any_lane(wrong_tags())) load(mine);
#pragma unroll
    for (int c = 0; c < kCarries; c++) ring_[c][mine / kBatch % kTopBatches].column[mine % kBatch] = joined(loaded_ + c * kHalves);
    load(mine + kLanes);
  }

 private:
  // Column `column`, from 0, of the strip above; of row 0 above strip 0, and beyond the last column, where any value does.
  DEVICE void load(int column) {
    if (column < columns_above_) {
#pragma unroll
      for (int w = 0; w < kWords; w++) loaded_[w] = load_relaxed(handed_down_ + w * stride_ + column);
    } else {
      Value top[kCarries];
      Rules::top(column + 1, top);
#pragma unroll
      for (int w = 0; w < kWords; w++) loaded_[w] = tagged(top[w / kHalves], w % kHalves, strip_);
    }
  }
  // Not 0 if a loaded word is not for this strip, i.e. was not yet written by the strip above.
  DEVICE uint32_t wrong_tags() const {
    uint32_t wrong = 0;
#pragma unroll
    for (int w = 0; w < kWords; w++) wrong |= static_cast<uint32_t>(loaded_[w] >> 32) ^ strip_;
    return wrong;
  }

  TopRing& ring_;
  const uint64_t* const handed_down_;
  const int64_t stride_;
  const uint32_t strip_;
  const int columns_above_;  // columns that the strip above hands down; 0 for strip 0
  uint64_t loaded_[kWords];  // of this lane's column of the group that is stored next
};

// Where a lane stores the carries of its last row, and its checkpoints.
struct CarrySink {
  uint64_t* handed_down;  // [word][column]
  int64_t stride;         // columns
  uint32_t next_strip;    // the tag
  unsigned stored;        // columns to store: n for the last lane, 0 for the others
  Value* carries;         // with PATHS: [carry][column], kept for the traceback
  Value* checkpoint;      // with PATHS: that of the lane's rows before column 1
  int64_t tile;           // values from one checkpoint to the next
  unsigned n;             // with PATHS: all columns

  // Stores the carries of column j, from 0.
  DEVICE void store(const Value (&carry)[2], int j) const {
    const bool stores = static_cast<unsigned>(j) < stored;
#pragma unroll
    for (int w = 0; w < kWords; w++)
      store_relaxed_if(stores, handed_down + w * stride + j, tagged(carry[w / kHalves], w % kHalves, next_strip));
    if (PATHS && stores)
      for (int c = 0; c < kCarries; c++) carries[c * stride + j] = carry[c];
  }
};

// ---- a lane

// What a cell needs from the row above it: H(i-1,j-1) and F(i,j).
struct FromAbove {
  Value diagonal, f;
};

// State of a lane between two passes. "This pass" is the one that is computed next, or being computed.
struct Lane {
  const Scores scores;
  const int64_t first;           // its first row
  Value h[ROWS], e[ROWS];        // before a part takes column j: H(i,j-1), E(i,j); after it: H(i,j), E(i,j+1)
  Value best;                    // local scores: the largest H so far
  FromAbove from_above[kParts];  // for each part's first row in this pass; part 0 has only `diagonal` between passes
  // The previous lane's carries, which this lane uses two passes after they were computed.
  Value carry_1_pass_old[kCarries], carry_2_passes_old[kCarries];
  Scores::PartScores scores_of_pass[kParts];  // for the column that each part takes in this pass
  LetterOffsets batch_offsets;                // of this batch's columns
  uint32_t previous_batch_last_offset;        // of the last column of the previous batch, which part 1 takes in pass 0 and part 2 in pass 1
  TopBatch batch_top[kCarries];               // top carries of this batch, which only lane 0 uses

  DEVICE Lane(const Scores& made, int64_t first_row, const Columns& columns)
      : scores(made), first(first_row), best(Cell::of(LEVEL)), batch_offsets(columns.offsets(0, -this_lane())),
        previous_batch_last_offset(kPadding * Scores::kLetterBytes) {
    Value top[kCarries];
    Rules::top(1, top);
#pragma unroll
    for (int part = 0; part < kParts; part++) {
      set_column_0(part);
      from_above[part] = {top[0], top[kCarries - 1]};
      scores_of_pass[part] = scores.load(part, part == 0 ? batch_offsets.column[0] : previous_batch_last_offset);
    }
#pragma unroll
    for (int c = 0; c < kCarries; c++) carry_1_pass_old[c] = carry_2_passes_old[c] = top[c];
  }

  // Gives the rows of a part the values of column 0.
  DEVICE void set_column_0(int part) {
#pragma unroll
    for (int r = part * kPartRows; r < (part + 1) * kPartRows; r++) {
      h[r] = Rules::left_h(first + r);
      e[r] = Rules::left_e(first + r);
    }
    if (part == 0) from_above[0].diagonal = Rules::left_h(first - 1);
  }

  // Stores a part's rows as they are: values of the column before the one that it takes next.
  DEVICE void store_checkpoint(int part, Value* checkpoint) const {
#pragma unroll
    for (int r = part * kPartRows; r < (part + 1) * kPartRows; r++) {
      checkpoint[r * kCarries] = h[r];
      if (kCarries == 2) checkpoint[r * kCarries + kCarries - 1] = e[r];
    }
  }

  // Pass K of a batch whose first column is `column` (from 0): part p takes column + K - p. Part K takes the first one, so it is set to
  // column 0, or stored as a checkpoint, now. FIRST: `column` may be 0.
  template <int K, bool FIRST>
  DEVICE void pass(int column, const LetterOffsets& next_batch_offsets, const CarrySink& sink) {
    if constexpr (K < kParts) {
      if (FIRST && column == 0) set_column_0(K);
      if (PATHS && column % TILE == 0 && static_cast<unsigned>(column) < sink.n)
        store_checkpoint(K, sink.checkpoint + column / TILE * sink.tile);
    }
    Scores::PartScores scores_of_next_pass[kParts];
#pragma unroll
    for (int part = 0; part < kParts; part++) {
      const int c = K + 1 - part;  // of the batch
      scores_of_next_pass[part] = scores.load(part, c < 0        ? previous_batch_last_offset
                                                    : c < kBatch ? batch_offsets.column[c < 0 ? 0 : c % kBatch]
                                                                 : next_batch_offsets.column[0]);
    }
    Value carry_in[kCarries];
#pragma unroll
    for (int c = 0; c < kCarries; c++) {
      carry_in[c] = this_lane() == 0 ? batch_top[c].column[K] : carry_2_passes_old[c];
      carry_2_passes_old[c] = carry_1_pass_old[c];
    }
    from_above[0].f = Rules::f_above(carry_in);
#pragma unroll
    for (int r = 0; r < kPartRows; r++)
#pragma unroll
      for (int part = 0; part < kParts; part++) {
        const int row = part * kPartRows + r;
        FromAbove& p = from_above[part];
        Rules::cell(Scores::add(scores_of_pass[part], r, p.diagonal), p.diagonal, h[row], e[row], p.f, 1);
        if (IS_LOCAL && r % 2) best = Cell::max3(best, h[row - 1], h[row]);
      }
    const Value carry_out[2] = {h[ROWS - 1], from_above[kParts - 1].f};
#pragma unroll
    for (int c = 0; c < kCarries; c++) carry_1_pass_old[c] = from_previous_lane(carry_out[c]);
    sink.store(carry_out, column + K - (kParts - 1));
    // In the next pass, a part takes the column that the part above it took in this one, and needs H and F as that part left them.
#pragma unroll
    for (int part = kParts - 1; part > 0; part--) from_above[part] = from_above[part - 1];
    from_above[0].diagonal = carry_in[0];
#pragma unroll
    for (int part = 0; part < kParts; part++) scores_of_pass[part] = scores_of_next_pass[part];
  }

  // Batch `number` of lane 0, i.e. batch number - l of lane l. next_is_stored: the ring has the top carries of the next batch already.
  template <bool FIRST>
  DEVICE void batch(int number, const Columns& columns, const TopRing& top, bool next_is_stored, const CarrySink& sink) {
    const int mine = number - this_lane();
    const LetterOffsets next_batch_offsets = columns.offsets(0, mine + 1);
    TopBatch next_batch_top[kCarries];
#pragma unroll
    for (int c = 0; c < kCarries; c++) next_batch_top[c] = next_is_stored ? top[c][(number + 1) % kTopBatches] : batch_top[c];
    pass<0, FIRST>(mine * kBatch, next_batch_offsets, sink);
    pass<1, FIRST>(mine * kBatch, next_batch_offsets, sink);
    pass<2, FIRST>(mine * kBatch, next_batch_offsets, sink);
    pass<3, FIRST>(mine * kBatch, next_batch_offsets, sink);
    previous_batch_last_offset = batch_offsets.column[kBatch - 1];
    batch_offsets = next_batch_offsets;
#pragma unroll
    for (int c = 0; c < kCarries; c++) batch_top[c] = next_batch_top[c];
  }
};

// Shared memory of a warp.
struct Shared {
  Scores::Shared scores;
  Columns::Ring letters;
  TopRing top;
};

DEVICE CarrySink make_sink(const ChainArgs& a, const ChainStrip& s, uint64_t* handed_down, int n) {
  const int64_t strip = static_cast<int64_t>(s.pair) * a.strips + s.number;  // of all pairs
  CarrySink sink{handed_down, a.carry_stride, static_cast<uint32_t>(s.number + 1),
                 this_lane() == kLanes - 1 ? static_cast<unsigned>(n) : 0u};
  if (PATHS) {
    sink.carries = static_cast<Value*>(a.carries) + strip * a.carry_stride * kCarries;
    sink.checkpoint = static_cast<Value*>(a.edges) + s.pair * a.edge_stride + (s.number * kStripRows + this_lane() * ROWS) * kCarries;
    sink.tile = a.strips * kStripRows * kCarries;
    sink.n = n;
  }
  return sink;
}

// A strip that is being computed.
struct Strip {
  Shared& shared;
  const CarrySink& sink;
  TopCarries top;
  Columns columns;
  Lane lane;

  // Computes a group of lane 0, from its batch `number` on. FIRST: the first batch of some lane may be among them.
  template <bool FIRST>
  DEVICE void group(int number) {
    top.advance(number * kBatch);
    columns.advance(number + Columns::kGroup);
    __syncwarp();
#pragma unroll
    for (int c = 0; c < kCarries; c++) lane.batch_top[c] = shared.top[c][number % kTopBatches];
#pragma unroll 1
    for (int k = 0; k < Columns::kGroup; k++) lane.batch<FIRST>(number + k, columns, shared.top, k + 1 < Columns::kGroup, sink);
  }
};

DEVICE void align_strip(const ChainArgs& a, Shared& shared, const int32_t* table, const ChainStrip& s) {
  // Every lane has the same n. The shuffle shows that to the compiler, which would otherwise duplicate code for lanes that might have left
  // the loop.
  const int n = from_lane(static_cast<int>(s.n), 0);
  const int64_t first = s.first + static_cast<int64_t>(this_lane()) * ROWS;
  int codes[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) codes[r] = first + r < 1 ? kPadding : s.query[first + r - 1];
  uint64_t* const handed_down = static_cast<uint64_t*>(a.handed_down) + s.pair * (kWords * a.carry_stride);
  const CarrySink sink = make_sink(a, s, handed_down, n);
  const Scores scores(shared.scores, table, codes);
  Columns::clear(shared.letters, kPadding);
  Columns columns(shared.letters, s, kPadding);
  __syncwarp();
  columns.advance(0);
  __syncwarp();
  Strip strip{shared, sink, TopCarries(shared.top, handed_down, a.carry_stride, s.number, n), columns, Lane(scores, first, columns)};

  // The last part of the last lane, kParts - 1 columns and kLanes - 1 batches behind the first, must take column n - 1.
  const int batches = (n + kParts - 1 + kBatch - 1) / kBatch + kLanes - 1;
  int number = 0;
  for (; number < kLanes; number += Columns::kGroup) strip.group<true>(number);
  for (; number < batches; number += Columns::kGroup) strip.group<false>(number);

  if (IS_LOCAL) {
    Rules::write(s.score, strip.lane.best, s.m, s.n);
  } else if (s.last && !PATHS && sink.stored > 0) {  // with PATHS, trace_chain.cu writes the scores
    uint64_t corner[kHalves];
    for (int half = 0; half < kHalves; half++) corner[half] = load_relaxed(handed_down + half * a.carry_stride + n - 1);
    Rules::write(s.score, joined(corner), s.m, s.n);
  }
}

KERNEL(WARPS* kLanes, 1) align_chain(const ChainArgs a) {
  __shared__ int32_t table[LETTERS * LETTERS];
  __shared__ Shared shared_of_warps[WARPS];
  for (int k = threadIdx.x; k < LETTERS * LETTERS; k += blockDim.x) table[k] = a.table[k];
  __syncthreads();
  Shared& shared = shared_of_warps[threadIdx.x / kLanes];
  for_each_strip<IS_LOCAL>(a, kStripRows, [&](const ChainStrip& strip) {
    align_strip(a, shared, table, strip);
    __syncwarp();
  });
}
