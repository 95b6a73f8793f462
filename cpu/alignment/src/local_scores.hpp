// Scores of letters against columns of targets, for local alignment with one target per vector lane.
#pragma once
#include "kernels.hpp"
#include "saturating.hpp"

namespace gpualign::GPUALIGN_ISA {

// Returns the element that stands for score 0. H is never below it. So E and F, which are at least H - open of the last cell, are at least
// -open, and gap costs need no saturating subtraction. Processors execute fewer saturating subtractions per cycle than plain ones. Avoiding
// them is worth more than the maximum with 0 costs, and more than the scores that the upper end of the range loses.
template <class E>
static inline E zero_element(const LocalArgs& a) {
  return static_cast<E>(Range<E>::kZero + (Range<E>::kSaturates ? a.open + a.extend : 0));
}

// Looks up scores of letters in columns of targets. Scores that fit a byte are looked up for as many columns as fill a vector of bytes, and
// then widened; others are looked up one by one.
template <class E>
struct LocalScores {
  static constexpr int kLanes = lanes_of<E>();
  typedef int8_t Narrow __attribute__((vector_size(kLanes)));

  // Writes the scores in kColumnsAtATime columns to out[column]. scores, bytes: [kLetters] the scores of a letter; both are the same if
  // they fit bytes
  static inline __attribute__((always_inline)) void look_up(const LocalArgs& a, const int32_t* scores, const uint8_t* bytes,
                                                            const uint8_t* codes, Vec<E>* out) {
    if (!a.byte_scores || sizeof(E) == 8) {
      for (int c = 0; c < kColumnsAtATime; c++)
        for (int k = 0; k < kLanes; k++) out[c][k] = static_cast<E>(scores[codes[c * kLanes + k]]);
      return;
    }
    for (int c = 0; c < kColumnsAtATime; c += sizeof(E)) {
      Bytes packed;
      memcpy(&packed, codes + c * kLanes, sizeof packed);
      const Bytes found = a.letters <= 16 ? look_up_16(bytes, packed) : look_up_32(bytes, packed);
      if constexpr (sizeof(E) == 1) {
        out[c] = (Vec<E>)found;
      } else {
        alignas(64) Narrow parts[sizeof(E)];
        memcpy(parts, &found, sizeof found);
        for (int p = 0; p < static_cast<int>(sizeof(E)); p++) out[c + p] = __builtin_convertvector(parts[p], Vec<E>);
      }
    }
  }
};

}  // namespace gpualign::GPUALIGN_ISA
