// Edit distance by chains of warps, one pair per chain: Myers' bit vectors in words of 32 rows, WORDS of them per lane. chain.cuh has the
// glossary (strip, lane, lag, batch, group, tag, ring, queue) and the invariants of a chain.
//
// Of a word, bit r is row r of its 32 rows:
//   PM      match mask: rows whose letter equals the letter of the column
//   VP, VN  rows i with D(i,j) - D(i-1,j) = +1, -1. Before a step they are those of column j - 1 (previous), after it of column j
//   D0      rows i with D(i,j) = D(i-1,j-1)
//   HP, HN  rows i with D(i,j) - D(i,j-1) = +1, -1
//   carry   the horizontal step of the row above the word, two bits: hp (+1) and hn (-1)
// The step of a word from column j - 1 to column j (Myers 1999, as Hyyro 2003 has it for blocks):
//   D0 = ((((PM | hn) & VP) + VP) ^ VP) | PM | hn | VN     hn enters in the first row, bit 0
//   HP = VN | ~(D0 | VP);  HN = D0 & VP                    bit 31 of both is the carry for the word below
//   HP' = HP << 1 | hp;    HN' = HN << 1 | hn              horizontal steps of the row above each row
//   VP = HN' | ~(D0 | HP');  VN = D0 & HP'
// Dummy rows have PM = VP = VN = 0, and above them enters the +1 of row 0. So they stay at D0 = HN = 0 and HP = 1, which passes the +1 on:
// they are copies of row 0.
//
// The step takes a dozen instructions per word, and passing a carry to the next lane would take as many. So lanes pass on the carries of
// half a batch at once; one half is on its way while the next one is computed, and a lane works a batch (8 columns) behind the lane before
// it. Longer batches would cost less per column, but a strip begins kLanes batches after the strip above it.
//
// A scheduler has a single warp (two slow each other down by more than they gain), which waits for the result of every instruction.
// Therefore
//   - word w of a lane works w columns behind word 0, so that the words are independent chains of instructions;
//   - all loads are issued half a batch ahead;
//   - there are few branches, because a warp waits for all of its loads before a branch.
//
// Layouts of 32-bit words that are not bit vectors of rows
//   steps of a batch   bits 15 .. 0: hp and hn of column 0, of column 1, ..., of column 7 (bits 1 and 0); bits 31 .. 16: the tag, number
//                      of the strip that reads them, modulo 2^16. Far fewer than 2^16 strips run at a time, so no two of them share a tag
//   steps of a half    bits 7 .. 0 in the same order, of columns 0 .. 3 or 4 .. 7
//   carries_in         bits 31 .. 24 at first: steps of a half, shifted left by two after each column: the next carry is always on top
//   steps_out          shifted left by two before each column's carry is appended: the last carry is bits 1 and 0
//
// Macros: WORDS (words of a lane: 1, 2 or 4), LETTERS (letters, without one for padding), BATCH (columns, 8), WARPS (warps of a block, 4),
// RESULT (integer type of a distance).
// Registers: 71 (1 word); 106 (2 words); 168 (4 words) on sm_90a (NVRTC 13.5). Shared memory: WARPS (128 LETTERS WORDS + 2,048) bytes.
// Measured (one H200, 2026-11-28, benchmarks/results/nw_cuda.md): a pair of 1 Mb x 1 Mb 30.9 TCUPS, of 4 Mb x 4 Mb 40.8.
#include "chain_letters.cuh"

static_assert(BATCH == 8, "the steps of a batch are half a word");
constexpr int kHalf = BATCH / 2;  // columns
static_assert(kHalf == kOffsets);
constexpr int64_t kStripRows = static_cast<int64_t>(kLanes) * WORDS * 32;
using Columns = LetterRing<BATCH, kLanes * WORDS * sizeof(uint32_t)>;  // bytes of a letter's match masks
constexpr int kGroup = Columns::kGroup;
constexpr int kUnrolledBatches = kGroup < 2 ? 1 : 2;     // between two branches
constexpr uint32_t kBatchSteps = (1u << 2 * BATCH) - 1;  // the bits of the steps of a batch
constexpr uint32_t kBatchHp = kBatchSteps / 3 * 2;       // the hp bits among them: the steps of row 0, all +1
constexpr uint32_t kHalfSteps = (1u << 2 * kHalf) - 1;   // the bits of the steps of a half
constexpr int kTagShift = 2 * BATCH;

// The match masks of half a batch: pm[c][w] is what word w needs when word 0 takes column c of the half, i.e. the mask of column c - w.
struct Masks {
  uint32_t pm[kHalf][WORDS];
};

// The bit vectors of a lane.
struct Words {
  const char* masks;  // of letter 0 and this lane, in shared memory: [letter][word][lane]
  uint32_t one;       // 1, but unknown to the compiler
  // Of the last column that a word took. Bit 31 of hp and hn is the carry for the word below.
  uint32_t vp[WORDS], vn[WORDS], hp[WORDS], hn[WORDS];

  // Makes the match masks of a strip and the vectors of column 0, D(i,0) = i. shared: the warp's memory for masks.
  DEVICE void start(const ChainArgs& a, uint32_t* shared, const ChainStrip& strip) {
    const int64_t first = strip.first + static_cast<int64_t>(this_lane()) * WORDS * 32;
    uint32_t* const mine = shared + this_lane();
    masks = reinterpret_cast<const char*>(mine);
    one = a.one;
#pragma unroll 1
    for (int k = 0; k < LETTERS * WORDS; k++) mine[k * kLanes] = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      vp[w] = vn[w] = hp[w] = hn[w] = 0;
      for (int bit = 0; bit < 32; bit++) {
        const int64_t i = first + w * 32 + bit;
        const uint32_t row = i < 1 ? 0 : 1u << bit;
        vp[w] |= row;
        mine[((row ? strip.query[i - 1] : 0) * WORDS + w) * kLanes] |= row;
      }
    }
  }

  // Loads the masks of the half of `offsets`; previous: offsets of the half before it.
  DEVICE Masks load_masks(const LetterOffsets& previous, const LetterOffsets& offsets) const {
    Masks loaded;
#pragma unroll
    for (int c = 0; c < kHalf; c++)
#pragma unroll
      for (int w = 0; w < WORDS; w++) {
        const uint32_t offset = c < w ? previous.column[kHalf + c - w] : offsets.column[c - w];
        loaded.pm[c][w] = *reinterpret_cast<const uint32_t*>(masks + offset + w * kLanes * sizeof(uint32_t));
      }
    return loaded;
  }

  // Word w takes its next column. hp_in: the carry's hp in the highest bit; hn_in: its hn in the lowest bit, all other bits 0.
  DEVICE void take(int w, uint32_t pm, uint32_t hp_in, uint32_t hn_in) {
    const uint32_t previous_vp = vp[w], two = one + one;
    const uint32_t d0 = or_xor(or3(pm, hn_in, vn[w]), add_by_fma(and_of_either(previous_vp, pm, hn_in), previous_vp, one), previous_vp);
    hp[w] = or_nor(vn[w], d0, previous_vp);
    hn[w] = d0 & previous_vp;
    const uint32_t shifted_hp = append_sign(hp[w], static_cast<int32_t>(hp_in));
    vp[w] = or_nor(multiply_add(hn[w], two, hn_in), d0, shifted_hp);
    vn[w] = d0 & shifted_hp;
  }

  // All words take their next columns. carries_in: word 0's carry in the highest two bits. Returns steps_out with the carry of the last
  // word appended.
  DEVICE uint32_t step(const uint32_t (&pm)[WORDS], uint32_t carries_in, uint32_t steps_out) {
    // From the last word to the first: each needs the carry that the word above it made one step ago, for the same column.
#pragma unroll
    for (int w = WORDS - 1; w > 0; w--) take(w, pm[w], hp[w - 1], hn[w - 1] >> 31);
    // Doubled on the FMA pipe, since logic and shifts fill the ALU pipe.
    take(0, pm[0], carries_in, multiply_add(carries_in, one + one, 0) >> 31);
    return append_sign(append_sign(steps_out, static_cast<int32_t>(hp[WORDS - 1])), static_cast<int32_t>(hn[WORDS - 1]));
  }
};

// The steps above the first row of a strip, one batch per lane. A group is loaded while the group before it is computed.
class StepsAbove {
 public:
  DEVICE StepsAbove(const uint32_t* handed_down, int strip, int batches)
      : source_(handed_down + this_lane()), batches_above_(strip > 0 && this_lane() < kGroup ? batches - this_lane() : 0),
        tag_(static_cast<uint32_t>(strip) << kTagShift), loaded_(load(0)) {}

  // Returns this lane's batch of the group that was loaded, which begins at `batch`, and loads the group that begins at `next`. Waits until
  // the strip above has written the former.
  DEVICE uint32_t take(int batch, int next) {
    // Polls without sleeping: a strip that wakes late delays all strips below it.
    while (any_lane((loaded_ ^ tag_) & ~kBatchSteps)) loaded_ = load(batch);
    const uint32_t taken = loaded_;
    loaded_ = load(next);
    return taken;
  }

 private:
  // Above strip 0, and beyond the last batch, the steps of row 0.
  DEVICE uint32_t load(int batch) const { return batch < batches_above_ ? load_relaxed(source_ + batch) : tag_ | kBatchHp; }

  const uint32_t* const source_;
  const int batches_above_;  // batches that the strip above hands down, less this lane; 0 for strip 0
  const uint32_t tag_;
  uint32_t loaded_;
};

// State of a lane between two halves.
struct Lane {
  Words rows;
  uint32_t vp_of_column_0[WORDS];
  LetterOffsets offsets[2];  // by halves: [HALF] of this half until its pass has begun, then of the same half of the next batch
  Masks masks;               // of the half that is computed next
  uint32_t carries_in;       // of the columns that word 0 has yet to take of this half, on top
  uint32_t steps_out;        // of the last word's latest columns, the latest at the bottom

  // first_half: the steps above the first half of lane 0, in the bits of kHalfSteps.
  DEVICE Lane(const Words& words, const Columns& letters, uint32_t first_half)
      : rows(words), offsets{letters.offsets(0, -this_lane()), letters.offsets(1, -this_lane())},
        masks(words.load_masks(offsets[0], offsets[0])), carries_in(first_half << (32 - 2 * kHalf)), steps_out(0) {
    for (int w = 0; w < WORDS; w++) vp_of_column_0[w] = words.vp[w];
  }

  // Computes half a batch. next_half: for lane 0, the steps above the half after this one, in the bits of kHalfSteps; other bits are
  // ignored. Returns steps_out as it was when the last word, which is WORDS - 1 columns behind, had just taken the half before this one.
  template <int HALF>
  DEVICE uint32_t pass(const Columns& letters, int batch, uint32_t next_half) {
    const Masks next_masks = rows.load_masks(offsets[HALF], offsets[1 - HALF]);
    offsets[HALF] = letters.offsets(HALF, batch + 1);
    uint32_t previous_half = 0, from_above = 0;
#pragma unroll
    for (int c = 0; c < kHalf; c++) {
      if (c == WORDS - 1) {
        previous_half = steps_out;
        from_above = from_previous_lane(steps_out);
      }
      // Word c takes the lane's first column now if batch is 0. Before that it has computed padding, which must leave no trace.
      if (HALF == 0 && c < WORDS && batch <= 0) {
        rows.vp[c] = vp_of_column_0[c];
        rows.vn[c] = 0;
      }
      // One carry is left: the next half's go in below it, by a sum of disjoint bits on the FMA pipe.
      if (c == kHalf - 1)
        carries_in = multiply_add((this_lane() == 0 ? next_half : from_above) & kHalfSteps, rows.one << (32 - 2 * kHalf - 2), carries_in);
      steps_out = rows.step(masks.pm[c], carries_in, steps_out);
      carries_in <<= 2;
    }
    masks = next_masks;
    return previous_half;
  }
};

// Returns the sum of the steps of a row of n columns; called by all lanes.
DEVICE int64_t sum_of_steps(const uint32_t* row, int64_t n, int batches) {
  int64_t sum = 0;
#pragma unroll 8  // so that eight loads are in flight
  for (int first = 0; first < batches; first += kLanes) {
    const int batch = first + this_lane();
    const int64_t left = n - static_cast<int64_t>(batch) * BATCH;
    const uint32_t inside = left <= 0 ? 0 : left < BATCH ? kBatchSteps & ~(kBatchSteps >> 2 * left) : kBatchSteps;
    const uint32_t steps = batch < batches ? load_relaxed(row + batch) & inside : 0;
    sum += count_bits(steps & kBatchHp) - count_bits(steps & ~kBatchHp);
  }
  int64_t total = 0;
#pragma unroll 1
  for (int lane = 0; lane < kLanes; lane++) total += from_lane(sum, lane);
  return total;
}

DEVICE void align_strip(const ChainArgs& a, const Words& words, Columns::Ring& ring, const ChainStrip& s) {
  // Every lane has the same number. The shuffle shows that to the compiler, which would otherwise duplicate code for lanes that might have
  // left the loop.
  const int batches = from_lane(static_cast<int>((s.n + BATCH - 1) / BATCH), 0);
  uint32_t* const handed_down = static_cast<uint32_t*>(a.handed_down) + s.pair * (a.carry_stride / BATCH);
  const uint32_t next_tag = static_cast<uint32_t>(s.number + 1) << kTagShift;
  const unsigned stored = this_lane() == kLanes - 1 ? batches : 0;  // batches: only the last lane stores its steps
  Columns letters(ring, s, 0);
  StepsAbove steps(handed_down, s.number, batches);
  letters.advance(0);
  uint32_t above = steps.take(0, 1);  // of lane 0's batch that is computed next, which lane 0 holds itself
  __syncwarp();
  Lane lane(words, letters, above >> 2 * kHalf & kHalfSteps);

  // The last lane, kLanes - 1 batches behind the first, computes one more batch, because its last word is up to three columns behind.
  for (int group = 0; group < batches + kLanes; group += kGroup) {
    uint32_t next_above = steps.take(group + 1, group + 1 + kGroup);  // lane k: of batch group + 1 + k
    letters.advance(group + kGroup);
    __syncwarp();
#pragma unroll 1
    for (int first = 0; first < kGroup; first += kUnrolledBatches) {
#pragma unroll
      for (int k = first; k < first + kUnrolledBatches; k++) {
        const int batch = group + k - this_lane();
        const uint32_t previous_batch = lane.pass<0>(letters, batch, above);
        store_relaxed_if(static_cast<unsigned>(batch - 1) < stored, handed_down + batch - 1, next_tag | (previous_batch & kBatchSteps));
        above = next_above;
        lane.pass<1>(letters, batch, above >> 2 * kHalf);
        next_above = from_next_lane(next_above);  // lane 0 gets the batch after it
      }
    }
  }
  if (!s.last) return;
  // The distance is D(m,0) = m plus the steps along row m, which the last lane has stored.
  __syncwarp();
  const int64_t sum = sum_of_steps(handed_down, s.n, batches);
  if (this_lane() == 0) *s.score = static_cast<RESULT>(s.m + sum);
}

KERNEL(WARPS* kLanes, 1) align_chain_edit(const ChainArgs a) {
  __shared__ uint32_t masks[WARPS][LETTERS * WORDS * kLanes];
  __shared__ Columns::Ring rings[WARPS];
  const int warp = threadIdx.x / kLanes;
  Columns::clear(rings[warp], 0);  // lanes read it before their first column, too
  __syncwarp();
  for_each_strip<false>(a, kStripRows, [&](const ChainStrip& strip) {
    Words words;
    words.start(a, masks[warp], strip);
    align_strip(a, words, rings[warp], strip);
    __syncwarp();
  });
}
