// Substitution scores for chain.cu: those of a lane's ROWS rows against the letter of a column.
//
// The rows of a lane are kParts parts of kPartRows rows. Each part is at a column of its own (chain.cu), so scores are loaded by part. Both
// classes are made from a table [LETTERS][LETTERS] in shared memory, by query letter, and from the letters of the lane's rows. They offer
// the same functions: load() reads the scores of a part, add() adds one of them.
#pragma once

#include "chain.cuh"

constexpr int kParts = 3;
constexpr int kPartRows = ROWS / kParts;
static_assert(kParts * kPartRows == ROWS && (kPartRows == 4 || kPartRows == 8), "the scores of a part are one load of 4 or 8 bytes");

// A signed byte per row.
struct alignas(kPartRows) BytePartScores {
  uint32_t word[kPartRows / 4];
};

// For scores that fit signed bytes: a query profile, [letter][part][lane]. Shared memory per warp: LETTERS * ROWS * 32 bytes.
class Profile {
 public:
  using PartScores = BytePartScores;
  static constexpr uint32_t kLetterBytes = kParts * kLanes * sizeof(PartScores);
  struct Shared {
    PartScores parts[LETTERS][kParts][kLanes];
  };

  // codes: letters of the lane's rows.
  DEVICE Profile(Shared& shared, const int32_t* table, const int (&codes)[ROWS])
      : lane_(reinterpret_cast<const char*>(&shared.parts[0][0][this_lane()])) {
#pragma unroll 1
    for (int letter = 0; letter < LETTERS; letter++)
#pragma unroll
      for (int part = 0; part < kParts; part++) {
        PartScores scores{};
#pragma unroll
        for (int r = 0; r < kPartRows; r++)
          scores.word[r / 4] |= (static_cast<uint32_t>(table[codes[part * kPartRows + r] * LETTERS + letter]) & 0xff) << (8 * (r % 4));
        shared.parts[letter][part][this_lane()] = scores;
      }
  }
  // letter_offset: kLetterBytes times the letter of the column (chain_letters.cuh).
  DEVICE PartScores load(int part, uint32_t letter_offset) const {
    return *reinterpret_cast<const PartScores*>(lane_ + letter_offset + part * kLanes * sizeof(PartScores));
  }
  // x plus the score of row `row` of the part.
  template <class Value>
  static DEVICE Value add(const PartScores& scores, int row, Value x) {
    return add_byte(scores.word[row / 4], row % 4, x);
  }

 private:
  const char* lane_;  // this lane's scores of letter 0, part 0
};

// 32 bits per row.
struct WordPartScores {
  int32_t score[kPartRows];
};

// For larger scores: each one is looked up in the table.
class TableLookup {
 public:
  using PartScores = WordPartScores;
  static constexpr uint32_t kLetterBytes = sizeof(int32_t);
  struct Shared {};

  DEVICE TableLookup(Shared&, const int32_t* table, const int (&codes)[ROWS]) : table_(reinterpret_cast<const char*>(table)) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) row_offsets_[r] = codes[r] * LETTERS * kLetterBytes;
  }
  DEVICE PartScores load(int part, uint32_t letter_offset) const {
    PartScores loaded;
#pragma unroll
    for (int r = 0; r < kPartRows; r++)
      loaded.score[r] = *reinterpret_cast<const int32_t*>(table_ + (row_offsets_[part * kPartRows + r] + letter_offset));
    return loaded;
  }
  template <class Value>
  static DEVICE Value add(const PartScores& scores, int row, Value x) {
    return x + scores.score[row];
  }

 private:
  const char* table_;
  uint32_t row_offsets_[ROWS];  // bytes from the table to the scores of a row's letter
};
