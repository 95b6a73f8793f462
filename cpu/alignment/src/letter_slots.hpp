// The letters of some rows of a query, each with a slot: a kernel looks up scores for these letters alone.
#pragma once
#include "cpu/src/simd.hpp"
#include "kernels.hpp"

namespace gpualign::GPUALIGN_ISA {

struct LetterSlots {
  int letters[kLetters];  // [count] by slot, in the order in which they were met
  int count;

  void clear() {
    count = 0;
    for (int l = 0; l < kLetters; l++) slot_of_[l] = -1;
  }

  // The slot of a letter, a new one where it has none yet.
  int of(int letter) {
    if (slot_of_[letter] < 0) {
      slot_of_[letter] = count;
      letters[count++] = letter;
    }
    return slot_of_[letter];
  }

 private:
  int slot_of_[kLetters];  // or -1
};

}  // namespace gpualign::GPUALIGN_ISA
