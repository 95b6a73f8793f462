// Brings the target letters of a strip's columns from global memory to the lanes of a warp (chain.cuh: lag, batch, group, ring).
//
// A lane needs a letter only to find its scores (chain.cu) or its match masks (chain_edit.cu) in shared memory. So the ring holds their
// byte offsets instead of letters, four columns in 16 bytes, which are one load.
#pragma once

#include "chain.cuh"

// Offsets in bytes that belong to the letters of four consecutive columns.
struct alignas(16) LetterOffsets {
  uint32_t column[4];
};
constexpr int kOffsets = 4;  // columns of one LetterOffsets

// LAG: columns, a multiple of kOffsets. LETTER_BYTES: from what belongs to a letter to what belongs to the next letter.
template <int LAG, uint32_t LETTER_BYTES>
class LetterRing {
 public:
  static constexpr int kQuads = LAG / kOffsets;  // LetterOffsets of a batch
  static constexpr int kGroup = kLanes / LAG;    // batches of a group
  static constexpr int kRing = 2 * kLanes;       // batches that the ring holds. At any time the lanes read kLanes + 2 kGroup of them
  // [quad][batch % kRing]: lanes read consecutive batches, i.e. different banks.
  using Ring = LetterOffsets[kQuads][kRing];

  // padding: the letter of columns beyond the target. A group is loaded while the group before it is stored in the ring.
  DEVICE LetterRing(Ring& ring, const ChainStrip& s, uint32_t padding)
      : ring_(ring), source_(s.target + this_lane()), batches_left_(static_cast<int>((s.n - this_lane() + LAG - 1) / LAG)),
        padding_(padding), loaded_(load()) {}

  // Fills the ring with padding: lanes that have not reached their first column read it.
  static DEVICE void clear(Ring& ring, uint32_t padding) {
    LetterOffsets* const quads = &ring[0][0];
    const uint32_t offset = padding * LETTER_BYTES;
    for (int k = this_lane(); k < kQuads * kRing; k += kLanes) quads[k] = {offset, offset, offset, offset};
  }

  // Stores the group that was loaded, which begins at `batch`, and loads the next one. Other lanes may read the group after __syncwarp.
  DEVICE void advance(int batch) {
    const int lane = this_lane();
    ring_[lane % LAG / kOffsets][(batch + lane / LAG) & (kRing - 1)].column[lane % kOffsets] = loaded_ * LETTER_BYTES;
    loaded_ = load();
  }

  DEVICE const LetterOffsets& offsets(int quad, int batch) const { return ring_[quad][batch & (kRing - 1)]; }

 private:
  // This lane's letter of the next group.
  DEVICE uint32_t load() {
    const uint32_t letter = batches_left_ > 0 ? *source_ : padding_;
    source_ += kLanes;
    batches_left_ -= kGroup;
    return letter;
  }

  Ring& ring_;
  const uint8_t* source_;  // of the next load
  int batches_left_;       // of the target, from the batch of the next load on; 0 or less: padding
  const uint32_t padding_;
  uint32_t loaded_;  // letter of the group that is stored next
};
