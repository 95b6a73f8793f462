// Edit distance by chains of warps (chain.cuh): Myers' bit vectors in words of 32 rows, WORDS of them a lane.
//
// D's vertical steps are +1 (bit of `up`), -1 (bit of `down`) or 0; a row hands down the horizontal step -1, 0 or 1 below it.
// A word (Myers 1999, as Hyyro 2003 has it; h = step from above):
//   equal |= (h < 0) in row 1;  d = (((equal & up) + up) ^ up) | equal | down
//   right_up = down | ~(d | up);  right_down = up & d;  both move one row down, h entering below row 1
//   up = right_down | ~(d | right_up);  down = right_up & d
// Dummy rows before row 1 have equal = up = down = 0, which hands down what comes from above.
//
// A column is a dozen instructions a word, and as many would go into handing its steps to the next lane. So lanes hand over half a BATCH
// of columns at once, and lane l works BATCH columns behind lane l - 1: a half is on its way while the next one is computed. More columns
// at once would cost less each, but a strip begins kLanes batches after the one above it.
//
// Two warps of a scheduler slow each other down more than they gain, so it has one, which waits for each instruction's result. So the words
// of a lane go down a column apart, and what one of them waits for, the other has; all that is loaded is asked for half a batch ahead; and
// there are few branches, as a warp waits for all that it has loaded before each.
//
// Steps of a batch are a word: of each column a bit of `right_up` and one of `right_down`, the first column's highest. To the next strip
// they go with the number of the strip that they are for, so that no flag, and no fence, has to follow them; what a strip hands down
// takes the place of what it was handed.
//
// Macros: WORDS (1, 2 or 4), LETTERS, BATCH (8), WARPS (of a block), RESULT.
#include "chain_letters.cuh"

static_assert(BATCH == 8, "the steps of a batch are half a word");
constexpr int kHalf = BATCH / 2;
static_assert(kHalf == kPlaces);
constexpr int64_t kStripRows = static_cast<int64_t>(kLanes) * WORDS * 32;
using Columns = Letters<BATCH, kLanes * WORDS * sizeof(uint32_t)>;  // a letter's masks
constexpr int kGroup = Columns::kGroup;
constexpr int kTurns = kGroup < 2 ? 1 : 2;  // batches between two branches
constexpr uint32_t kSteps = (1u << 2 * BATCH) - 1;
constexpr uint32_t kUps = kSteps / 3 * 2;  // the steps of row 0: +1 all
constexpr uint32_t kHalfSteps = (1u << 2 * kHalf) - 1;
constexpr int kStripShift = 2 * BATCH;  // where the number of the strip begins

// Which rows of a lane have the letter of a column, of half a batch: word w's column comes w columns before that of word 0.
struct Masks {
  uint32_t equal[kHalf][WORDS];
};

// The words of a lane.
struct Words {
  const char* masks;  // of letter 0 and this lane, in shared memory: [letter][word][lane]
  uint32_t one;       // 1
  uint32_t up[WORDS], down[WORDS];
  uint32_t right_up[WORDS], right_down[WORDS];  // of the last column; the steps below a word are the highest bits

  // shared: the warp's memory for masks; strip: its first row, and the query. Nothing is known of steps.
  DEVICE void begin(const ChainArgs& a, uint32_t* shared, const ChainStrip& strip) {
    const int64_t first = strip.first + static_cast<int64_t>(this_lane()) * WORDS * 32;
    uint32_t* const mine = shared + this_lane();
    masks = reinterpret_cast<const char*>(mine);
    one = a.one;
#pragma unroll 1
    for (int k = 0; k < LETTERS * WORDS; k++) mine[k * kLanes] = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      up[w] = down[w] = right_up[w] = right_down[w] = 0;
      for (int bit = 0; bit < 32; bit++) {
        const int64_t i = first + w * 32 + bit;
        const uint32_t row = i < 1 ? 0 : 1u << bit;
        up[w] |= row;
        mine[((row ? strip.query[i - 1] : 0) * WORDS + w) * kLanes] |= row;
      }
    }
  }

  // places: of this half; before: of the half before it.
  DEVICE Masks masks_of(const Places& before, const Places& places) const {
    Masks found;
#pragma unroll
    for (int c = 0; c < kHalf; c++)
#pragma unroll
      for (int w = 0; w < WORDS; w++) {
        const uint32_t place = c < w ? before.column[kHalf + c - w] : places.column[c - w];
        found.equal[c][w] = *reinterpret_cast<const uint32_t*>(masks + place + w * kLanes * sizeof(uint32_t));
      }
    return found;
  }

  // Word w takes a column. above, minus: the step above it, +1 in the highest bit, -1 in the lowest.
  DEVICE void take(int w, uint32_t equal, uint32_t above, uint32_t minus) {
    const uint32_t raised = up[w], two = one + one;
    const uint32_t d = or_xor(or3(equal, minus, down[w]), add_by_fma(and_of_either(raised, equal, minus), raised, one), raised);
    right_up[w] = or_nor(down[w], d, raised);
    right_down[w] = d & raised;
    const uint32_t plus = append_sign(right_up[w], static_cast<int32_t>(above));
    up[w] = or_nor(multiply_add(right_down[w], two, minus), d, plus);
    down[w] = d & plus;
  }

  // All words take theirs. above: the steps above word 0's column, the highest two bits. Returns `below` with the steps below the last
  // word's column as its lowest two.
  DEVICE uint32_t step(const uint32_t (&equal)[WORDS], uint32_t above, uint32_t below) {
#pragma unroll
    for (int w = WORDS - 1; w > 0; w--) take(w, equal[w], right_up[w - 1], right_down[w - 1] >> 31);
    // Doubled by the FMA pipe, since logic and shifts fill the other one.
    take(0, equal[0], above, multiply_add(above, one + one, 0) >> 31);
    return append_sign(append_sign(below, static_cast<int32_t>(right_up[WORDS - 1])), static_cast<int32_t>(right_down[WORDS - 1]));
  }
};

// The steps above the first row of a strip, a batch a lane: those of a group are asked for while the group before it is computed.
class StepsAbove {
 public:
  DEVICE StepsAbove(const uint32_t* handed_down, int strip, int batches)
      : from_(handed_down + this_lane()), until_(strip > 0 && this_lane() < kGroup ? batches - this_lane() : 0),
        strip_(static_cast<uint32_t>(strip) << kStripShift), asked_(ask(0)) {}

  // Of the group that was asked for, which began at `batch`. Asks for that which begins at `next`.
  DEVICE uint32_t take(int batch, int next) {
    // Without sleep: a strip that wakes late delays all strips below it.
    while (any_lane((asked_ ^ strip_) & ~kSteps)) asked_ = ask(batch);
    const uint32_t found = asked_;
    asked_ = ask(next);
    return found;
  }

 private:
  DEVICE uint32_t ask(int batch) const { return batch < until_ ? load_relaxed(from_ + batch) : strip_ | kUps; }

  const uint32_t* const from_;
  const int until_;  // batches that are handed down, less this lane
  const uint32_t strip_;
  uint32_t asked_;
};

// What a lane has under way.
struct Lane {
  Words rows;
  uint32_t start[WORDS];  // `up` before column 1
  Places places[2];       // of the batch, by halves
  Masks masks;            // of the half that comes
  uint32_t incoming;      // steps above the columns of this half that are left, in its highest bits
  uint32_t below;         // steps below the last word; its last column's are the lowest bits

  // above: the steps above the first half batch of lane 0, kHalfSteps.
  DEVICE Lane(const Words& words, const Columns& letters, uint32_t above)
      : rows(words), places{letters.places(0, -this_lane()), letters.places(1, -this_lane())}, masks(words.masks_of(places[0], places[0])),
        incoming(above << (32 - 2 * kHalf)), below(0) {
    for (int w = 0; w < WORDS; w++) start[w] = words.up[w];
  }

  // Passes half a batch. above: of lane 0, the steps above the half behind it, kHalfSteps, among others. Returns `below` when the last
  // word, which is WORDS - 1 columns behind, had taken the half before this one.
  template <int HALF>
  DEVICE uint32_t pass(const Columns& letters, int batch, uint32_t above) {
    const Masks next_masks = rows.masks_of(places[HALF], places[1 - HALF]);
    places[HALF] = letters.places(HALF, batch + 1);
    uint32_t before = 0, handed_over = 0;
#pragma unroll
    for (int c = 0; c < kHalf; c++) {
      if (c == WORDS - 1) {
        before = below;
        handed_over = from_lane_before(below);
      }
      if (HALF == 0 && c < WORDS && batch <= 0) {  // word c's column 1 comes, now or in a later batch
        rows.up[c] = start[c];
        rows.down[c] = 0;
      }
      if (c == kHalf - 1)
        incoming = multiply_add((this_lane() == 0 ? above : handed_over) & kHalfSteps, rows.one << (32 - 2 * kHalf - 2), incoming);
      below = rows.step(masks.equal[c], incoming, below);
      incoming <<= 2;
    }
    masks = next_masks;
    return before;
  }
};

// The sum of the steps in a row of n columns, by all lanes.
DEVICE int64_t sum_of_steps(const uint32_t* row, int64_t n, int batches) {
  int64_t sum = 0;
#pragma unroll 8  // loads at once
  for (int first = 0; first < batches; first += kLanes) {
    const int batch = first + this_lane();
    const int64_t left = n - static_cast<int64_t>(batch) * BATCH;
    const uint32_t inside = left <= 0 ? 0 : left < BATCH ? kSteps & ~(kSteps >> 2 * left) : kSteps;
    const uint32_t steps = batch < batches ? load_relaxed(row + batch) & inside : 0;
    sum += count_bits(steps & kUps) - count_bits(steps & ~kUps);
  }
  int64_t total = 0;
#pragma unroll 1
  for (int lane = 0; lane < kLanes; lane++) total += from_lane(sum, lane);
  return total;
}

DEVICE void align_strip(const ChainArgs& a, const Words& words, Columns::Ring& ring, const ChainStrip& s) {
  // One for all lanes, as the compiler is to see: it splits code in two where some lanes may have left a loop.
  const int batches = from_lane(static_cast<int>((s.n + BATCH - 1) / BATCH), 0);
  uint32_t* const handed_down = static_cast<uint32_t*>(a.handed_down) + s.pair * (a.carry_stride / BATCH);
  const uint32_t next_strip = static_cast<uint32_t>(s.number + 1) << kStripShift;
  const unsigned hands_down = this_lane() == kLanes - 1 ? batches : 0;
  Columns letters(ring, s, 0);
  StepsAbove steps(handed_down, s.number, batches);
  letters.advance(0);
  uint32_t above = steps.take(0, 1);
  __syncwarp();
  Lane lane(words, letters, above >> 2 * kHalf & kHalfSteps);

  // A batch more than there are, as words are behind.
  for (int group = 0; group < batches + kLanes; group += kGroup) {
    uint32_t next_above = steps.take(group + 1, group + 1 + kGroup);
    letters.advance(group + kGroup);
    __syncwarp();
#pragma unroll 1
    for (int turn = 0; turn < kGroup; turn += kTurns) {
#pragma unroll
      for (int k = turn; k < turn + kTurns; k++) {
        const int batch = group + k - this_lane();
        const uint32_t done = lane.pass<0>(letters, batch, above);
        store_relaxed_if(static_cast<unsigned>(batch - 1) < hands_down, handed_down + batch - 1, next_strip | (done & kSteps));
        above = next_above;
        lane.pass<1>(letters, batch, above >> 2 * kHalf);
        next_above = from_lane_after(next_above);
      }
    }
  }
  if (!s.last) return;
  __syncwarp();
  const int64_t sum = sum_of_steps(handed_down, s.n, batches);
  if (this_lane() == 0) *s.score = static_cast<RESULT>(s.m + sum);
}

KERNEL(WARPS* kLanes, 1) align_chain_edit(const ChainArgs a) {
  __shared__ uint32_t masks[WARPS][LETTERS * WORDS * kLanes];
  __shared__ Columns::Ring rings[WARPS];
  const int warp = threadIdx.x / kLanes;
  Columns::clear(rings[warp], 0);  // lanes that have not begun read it
  __syncwarp();
  take_strips(a, kStripRows, [&](const ChainStrip& strip) {
    Words words;
    words.begin(a, masks[warp], strip);
    align_strip(a, words, rings[warp], strip);
    __syncwarp();
  });
}
