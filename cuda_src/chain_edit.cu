// Edit distance by chains of warps (chain.cuh): Myers' bit vectors in words of 32 rows, WORDS of them a lane.
//
// D's vertical steps are +1 (bit of `up`), -1 (bit of `down`) or 0; a row hands down the horizontal step -1, 0 or 1 below it.
// A word (Myers 1999, with Hyyro's carries; h = step from above):
//   x = equal | down;  equal |= (h < 0)
//   d = (((equal & up) + up) ^ up) | equal | down
//   right_up = down | ~(d | up);  right_down = up & d;  both move one row down, h entering below row 1
//   up = right_down | ~(x | right_up);  down = right_up & x
// Dummy rows before row 1 have equal = up = down = 0, which hands down what comes from above.
//
// Macros: WORDS, LETTERS, RESULT.
#define PATHS 0
#define TILE 1
#include "chain.cuh"

struct EditPolicy {
  using Value = int32_t;
  static constexpr int CARRIES = 1;
  static constexpr int kRows = 32 * WORDS;

  uint32_t* equal;  // in shared memory, [letter][word][lane]: this lane's column
  uint32_t up[WORDS], down[WORDS];
  int32_t sum;  // of the horizontal steps of the last row

  DEVICE void begin(const ChainArgs&, int64_t first, const uint8_t* query) {
    for (int k = 0; k < LETTERS * WORDS; k++) equal[k * kLanes] = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      up[w] = down[w] = 0;
      for (int bit = 0; bit < 32; bit++) {
        const int64_t i = first + w * 32 + bit;
        if (i < 1) continue;
        up[w] |= 1u << bit;
        equal[(query[i - 1] * WORDS + w) * kLanes] |= 1u << bit;
      }
    }
    sum = 0;
  }
  static DEVICE void top(int64_t, int64_t, Value* carry) { carry[0] = 1; }
  DEVICE void step(int letter, const Value* in, Value* out) {
    uint32_t plus = in[0] > 0, minus = in[0] < 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      uint32_t eq = equal[(letter * WORDS + w) * kLanes];
      const uint32_t x = eq | down[w];
      eq |= minus;
      const uint32_t d = (((eq & up[w]) + up[w]) ^ up[w]) | eq | down[w];
      uint32_t right_up = down[w] | ~(d | up[w]), right_down = up[w] & d;
      const uint32_t plus_below = right_up >> 31, minus_below = right_down >> 31;
      right_up = right_up << 1 | plus;
      right_down = right_down << 1 | minus;
      up[w] = right_down | ~(x | right_up);
      down[w] = right_up & x;
      plus = plus_below;
      minus = minus_below;
    }
    out[0] = static_cast<int32_t>(plus) - static_cast<int32_t>(minus);
    sum += out[0];
  }
  static DEVICE void keep(Value*) {}
  DEVICE void finish(RESULT* distance, bool last, int64_t m, int64_t) {
    if (last && threadIdx.x == kLanes - 1) *distance = static_cast<RESULT>(m + sum);
  }
};

KERNEL(32, 1) align_chain_edit(const ChainArgs a) {
  __shared__ uint32_t equal[LETTERS * WORDS * kLanes];
  EditPolicy policy;
  policy.equal = equal + threadIdx.x;
  align_chains(a, policy);
}
