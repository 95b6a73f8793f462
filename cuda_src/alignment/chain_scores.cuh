// The scores of a lane's rows beside the letter of a column, for chain.cu: ROWS rows in parts, each at a column of its own.
//
// Both classes are made of a table [LETTERS][LETTERS] in shared memory, by query letter, and the codes of the lane's rows.
#pragma once

#include "chain.cuh"

constexpr int kParts = 3;
constexpr int kPartRows = ROWS / kParts;
static_assert(kParts * kPartRows == ROWS && (kPartRows == 4 || kPartRows == 8), "what is loaded in one instruction");

// A byte each, in a profile: [letter][part][lane].
struct alignas(kPartRows) BytesOfPart {
  uint32_t word[kPartRows / 4];
};
class Profile {
 public:
  using OfPart = BytesOfPart;
  static constexpr uint32_t kLetterBytes = kParts * kLanes * sizeof(OfPart);
  struct Shared {
    OfPart parts[LETTERS][kParts][kLanes];
  };

  // table: in shared memory, by query letter; codes: of the lane's rows.
  DEVICE Profile(Shared& shared, const int32_t* table, const int (&codes)[ROWS])
      : mine_(reinterpret_cast<const char*>(&shared.parts[0][0][this_lane()])) {
#pragma unroll 1
    for (int letter = 0; letter < LETTERS; letter++)
#pragma unroll
      for (int part = 0; part < kParts; part++) {
        OfPart scores{};
#pragma unroll
        for (int r = 0; r < kPartRows; r++)
          scores.word[r / 4] |= (static_cast<uint32_t>(table[codes[part * kPartRows + r] * LETTERS + letter]) & 0xff) << (8 * (r % 4));
        shared.parts[letter][part][this_lane()] = scores;
      }
  }
  DEVICE OfPart of(int part, uint32_t place) const {
    return *reinterpret_cast<const OfPart*>(mine_ + place + part * kLanes * sizeof(OfPart));
  }
  // x and the score of a row of the part.
  template <class Value>
  static DEVICE Value added(const OfPart& scores, int row, Value x) {
    return add_byte(scores.word[row / 4], row % 4, x);
  }

 private:
  const char* mine_;
};

// Wider ones stay in the table.
struct ScoresOfPart {
  int32_t score[kPartRows];
};
class LookUp {
 public:
  using OfPart = ScoresOfPart;
  static constexpr uint32_t kLetterBytes = sizeof(int32_t);
  struct Shared {};

  DEVICE LookUp(Shared&, const int32_t* table, const int (&codes)[ROWS]) : table_(reinterpret_cast<const char*>(table)) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) rows_[r] = codes[r] * LETTERS * kLetterBytes;
  }
  DEVICE OfPart of(int part, uint32_t place) const {
    OfPart found;
#pragma unroll
    for (int r = 0; r < kPartRows; r++) found.score[r] = *reinterpret_cast<const int32_t*>(table_ + (rows_[part * kPartRows + r] + place));
    return found;
  }
  template <class Value>
  static DEVICE Value added(const OfPart& scores, int row, Value x) {
    return x + scores.score[row];
  }

 private:
  const char* table_;
  uint32_t rows_[ROWS];  // where a row's scores begin
};
