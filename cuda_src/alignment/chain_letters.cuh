// The letters of a strip's columns on their way to the lanes of a warp (chain.cuh), each of which works LAG columns behind the one
// before it.
#pragma once

#include "chain.cuh"

// Where what belongs to a letter is found, in bytes, of columns next to each other: what moves in one instruction.
struct alignas(16) Places {
  uint32_t column[4];
};
constexpr int kPlaces = 4;

// LAG: columns, a multiple of kPlaces. LETTER_BYTES: what lies between the places of a letter and the next one.
template <int LAG, uint32_t LETTER_BYTES>
class Letters {
 public:
  static constexpr int kQuads = LAG / kPlaces;
  static constexpr int kGroup = kLanes / LAG;  // batches for which a lane has a letter each
  static constexpr int kRing = 2 * kLanes;     // batches of letters at hand, of which lanes read kLanes + 2 kGroup
  // [part][batch % kRing], so that lanes, which read neighbouring batches, use all banks.
  using Ring = Places[kQuads][kRing];

  // missing: the letter of columns that there are not. A group of letters is asked for while the one before it is put where lanes find it.
  DEVICE Letters(Ring& ring, const ChainStrip& s, uint32_t missing)
      : ring_(ring), from_(s.target + this_lane()), left_(static_cast<int>((s.n - this_lane() + LAG - 1) / LAG)), missing_(missing),
        asked_(ask()) {}

  // All columns are missing.
  static DEVICE void clear(Ring& ring, uint32_t missing) {
    Places* const places = &ring[0][0];
    const uint32_t place = missing * LETTER_BYTES;
    for (int k = this_lane(); k < kQuads * kRing; k += kLanes) places[k] = {place, place, place, place};
  }

  // The next group, which begins at `batch`; lanes find it after __syncwarp.
  DEVICE void advance(int batch) {
    const int lane = this_lane();
    ring_[lane % LAG / kPlaces][(batch + lane / LAG) & (kRing - 1)].column[lane % kPlaces] = asked_ * LETTER_BYTES;
    asked_ = ask();
  }

  DEVICE const Places& places(int part, int batch) const { return ring_[part][batch & (kRing - 1)]; }

 private:
  // A letter a lane.
  DEVICE uint32_t ask() {
    const uint32_t letter = left_ > 0 ? *from_ : missing_;
    from_ += kLanes;
    left_ -= kGroup;
    return letter;
  }

  Ring& ring_;
  const uint8_t* from_;
  int left_;  // batches from this lane's next letter on
  const uint32_t missing_;
  uint32_t asked_;
};
