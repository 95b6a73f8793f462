// Numbers (slots) for the letters that occur in some rows of a query, so that a kernel looks up scores for these letters only.
#pragma once
#include "cpu/src/simd.hpp"
#include "kernels.hpp"

namespace gpualign::GPUALIGN_ISA {

struct LetterSlots {
  int letters[kLetters];  // [slot] the letters, in order of their first occurrence
  int count;

  void clear() {
    count = 0;
    for (int l = 0; l < kLetters; l++) slot_of_[l] = -1;
  }

  // Returns the slot of a letter; a letter without one gets the next slot.
  int of(int letter) {
    if (slot_of_[letter] < 0) {
      slot_of_[letter] = count;
      letters[count++] = letter;
    }
    return slot_of_[letter];
  }

 private:
  int slot_of_[kLetters];  // -1: none
};

}  // namespace gpualign::GPUALIGN_ISA
