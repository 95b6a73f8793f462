// Edit distance by chains of warps (chain.cuh): Myers' bit vectors in words of 32 rows, WORDS of them a lane.
//
// D's vertical steps are +1 (bit of `up`), -1 (bit of `down`) or 0; a row hands down the horizontal step -1, 0 or 1 below it.
// A word (Myers 1999, as Hyyro 2003 has it; h = step from above):
//   equal |= (h < 0) in row 1;  d = (((equal & up) + up) ^ up) | equal | down
//   right_up = down | ~(d | up);  right_down = up & d;  both move one row down, h entering below row 1
//   up = right_down | ~(d | right_up);  down = right_up & d
// Dummy rows before row 1 have equal = up = down = 0, which hands down what comes from above.
//
// A column is a dozen instructions a word, and as many would go into handing its steps to the next lane. So lanes hand over BATCH columns
// at once, and lane l works BATCH columns behind lane l - 1. Steps of a batch are one word, `right_up` in bits 0 .. BATCH - 1, `right_down`
// in the next ones, the first column's highest. To the next strip they go with the number of the strip that they are for, so that no
// flag, and no fence, has to follow them; what a strip hands down takes the place of what it was handed. More columns at once would
// cost less each, but a strip begins kLanes batches after the one above it.
//
// Macros: WORDS (1, 2 or 4), LETTERS, BATCH (8), WARPS (of a block), RESULT.
#include "chain.cuh"

static_assert(BATCH == 8, "letters of a batch are two words, its steps half a word");
constexpr int kGroup = kLanes / BATCH;  // batches for which a lane has a letter each
constexpr int kRing = 2 * kLanes;       // batches of letters at hand, of which lanes read kLanes + kGroup
constexpr int64_t kStripRows = static_cast<int64_t>(kLanes) * WORDS * 32;
constexpr int kLetterWords = WORDS < 2 ? 64 : 32 * WORDS;  // of `equal`, so that a letter's begin at a multiple of 256 bytes
constexpr uint32_t kAllUp = (1u << BATCH) - 1;             // the steps of row 0
constexpr uint32_t kSteps = (1u << 2 * BATCH) - 1;
constexpr int kStripShift = 2 * BATCH;  // where the number of the strip begins

struct alignas(8) BatchLetters {
  uint32_t words[2];  // a byte a column: its letter's place in `equal`, in 256 bytes
};
static_assert(LETTERS * kLetterWords / 64 <= 256, "places of letters fit a byte");

// The words of a lane.
struct Words {
  const char* equal;  // in shared memory, [letter][word][lane]
  uint32_t place;     // of this lane in a letter's words, in bytes
  uint32_t one;       // 1
  uint32_t up[WORDS], down[WORDS];

  // masks: the warp's memory for `equal`; strip: its first row, and the query.
  DEVICE void begin(const ChainArgs& a, uint32_t* masks, const ChainStrip& strip) {
    const int64_t first = strip.first + static_cast<int64_t>(this_lane()) * WORDS * 32;
    equal = reinterpret_cast<const char*>(masks);
    place = this_lane() * sizeof(uint32_t);
    one = a.one;
    for (int k = 0; k < LETTERS * WORDS; k++) masks[k / WORDS * kLetterWords + k % WORDS * 32 + this_lane()] = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      up[w] = down[w] = 0;
      for (int bit = 0; bit < 32; bit++) {
        const int64_t i = first + w * 32 + bit;
        if (i < 1) continue;
        up[w] |= 1u << bit;
        masks[strip.query[i - 1] * kLetterWords + w * 32 + this_lane()] |= 1u << bit;
      }
    }
  }

  // The steps below the last row of a batch, from those above the first.
  DEVICE uint32_t pass(const BatchLetters& letters, uint32_t steps) {
    const uint32_t two = one + one;
    uint32_t ups = steps << (32 - BATCH), downs = steps << (32 - 2 * BATCH);  // this column's step is the highest bit
    uint32_t ups_below = 0, downs_below = 0;
#pragma unroll
    for (int c = 0; c < BATCH; c++) {
      const char* const at = equal + pick_bytes(letters.words[c / 4], place, 0x5504 | (c % 4) << 4);
      uint32_t above = ups, minus = downs >> 31;  // the step from above: +1 in the highest bit, -1 in the lowest
#pragma unroll
      for (int w = 0; w < WORDS; w++) {
        const uint32_t equals = *reinterpret_cast<const uint32_t*>(at + w * 128), raised = up[w];
        const uint32_t d = or_xor(or3(equals, minus, down[w]), add_by_fma(and_of_either(raised, equals, minus), raised, one), raised);
        const uint32_t right_up = or_nor(down[w], d, raised), right_down = d & raised;
        const uint32_t plus = append_sign(right_up, static_cast<int32_t>(above));
        up[w] = or_nor(multiply_add(right_down, two, minus), d, plus);
        down[w] = d & plus;
        above = right_up;
        minus = right_down >> 31;
      }
      ups_below = append_sign(ups_below, static_cast<int32_t>(above));
      downs_below = multiply_add(downs_below, two, minus);
      ups <<= 1;
      downs = multiply_add(downs, two, 0);  // as elsewhere by the FMA pipe, since logic and shifts fill the other one
    }
    return ups_below | downs_below << BATCH;
  }
};

DEVICE void align_strip(const ChainArgs& a, Words& rows, uint8_t* ring, const ChainStrip& s) {
  const int lane = this_lane(), batches = static_cast<int>((s.n + BATCH - 1) / BATCH);
  uint32_t* const handed_down = reinterpret_cast<uint32_t*>(a.progress) + s.pair * (a.carry_stride / BATCH);
  const uint32_t this_strip = static_cast<uint32_t>(s.number) << kStripShift, next_strip = this_strip + (1u << kStripShift);
  // For lane 0: a letter a lane of the group that begins at `batch`, and of the first kGroup lanes the steps above.
  auto letter = [&](int batch) {
    const int64_t j = static_cast<int64_t>(batch) * BATCH + lane;
    return static_cast<uint8_t>(j < s.n ? s.target[j] * (kLetterWords / 64) : 0);
  };
  const int waits_until = s.number > 0 && lane < kGroup ? batches - lane : 0;
  auto steps = [&](int batch) { return batch < waits_until ? load_relaxed(handed_down + batch + lane) : this_strip | kAllUp; };
  auto letters_of = [&](int batch) { return *reinterpret_cast<const BatchLetters*>(ring + (batch & kRing - 1) * BATCH); };
  ring[lane] = letter(0);
  uint8_t next_letter = letter(kGroup);
  uint32_t next_steps = steps(0), out = 0;
  __syncwarp();
  BatchLetters next_letters = letters_of(-lane);
  const unsigned hands_down = lane == kLanes - 1 ? batches : 0;

  for (int group = 0; group < batches + kLanes - 1; group += kGroup) {
    // Without sleep: a strip that wakes late delays all strips below it.
    while (any_lane((next_steps ^ this_strip) & ~kSteps)) next_steps = steps(group);
    const uint32_t from_above = next_steps;
    next_steps = steps(group + kGroup);
    ring[(group + kGroup) % kRing * BATCH + lane] = next_letter;
    next_letter = letter(group + 2 * kGroup);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < kGroup; k++) {
      const int batch = group + k - lane;
      const uint32_t first = from_lane(from_above, k), other = from_lane_before(out);
      const BatchLetters letters = next_letters;
      next_letters = letters_of(batch + 1);
      const Words before = rows;
      out = rows.pass(letters, lane == 0 ? first : other);
      if (batch < 0) rows = before;
      if (static_cast<unsigned>(batch) < hands_down) store_relaxed(handed_down + batch, next_strip | out);
    }
  }
  if (!s.last) return;
  // The horizontal steps of the last row.
  __syncwarp();
  int64_t sum = 0;
  for (int batch = lane; batch < batches; batch += kLanes) {
    const uint32_t below = load_relaxed(handed_down + batch);
    const int64_t rest = s.n - static_cast<int64_t>(batch) * BATCH;
    const uint32_t inside = rest < BATCH ? kAllUp & ~(kAllUp >> rest) : kAllUp;
    sum += count_bits(below & inside) - count_bits(below >> BATCH & inside);
  }
  int64_t distance = s.m;
  for (int from = 0; from < kLanes; from++) distance += from_lane(sum, from);
  if (lane == 0) *s.score = static_cast<RESULT>(distance);
}

KERNEL(WARPS* kLanes, 1) align_chain_edit(const ChainArgs a) {
  __shared__ uint32_t equal[WARPS][LETTERS * kLetterWords];
  alignas(8) __shared__ uint8_t rings[WARPS][kRing * BATCH];
  const int warp = threadIdx.x / kLanes;
  for (int k = this_lane(); k < kRing * BATCH; k += kLanes) rings[warp][k] = 0;  // lanes that have not begun read it
  take_strips(a, kStripRows, [&](const ChainStrip& strip) {
    Words words;
    words.begin(a, equal[warp], strip);
    align_strip(a, words, rings[warp], strip);
    __syncwarp();
  });
}
