// A few targets in the bits of 32-bit elements, and queries side by side, as kernels of several queries at once read them.
#pragma once
#include <array>
#include <vector>

#include "scratch.hpp"
#include "work.hpp"

namespace gpualign {

// Which letters some records have.
std::array<bool, kLetters> letters_of(const Record* records, int count);

class SliceTables {
 public:
  // Letters that tables of such vectors have room for, beside an element of none.
  static int most_letters(int vector_bytes) { return 2 * vector_bytes / 4 - 1; }
  // Vectors of a column for so many letters: 1 or 2.
  static int tables(int letters, int vector_bytes) { return letters < vector_bytes / 4 ? 1 : 2; }

  // Packs targets, at most kTargetsTogether with at most most_letters() different letters, for `columns` columns: at least the longest.
  void pack(const Record* targets, int count, int vector_bytes, int64_t columns);

  // Packs queries, at most one an element, and sets the fields of `a` that say where queries and targets are; until the next call.
  void place(const std::vector<Record>& queries, QuerySlicesArgs& a);

 private:
  Scratch tables_, live_, letters_;
  std::array<uint32_t, kLetters> element_of_{};  // the element of none where no target has the letter
  std::vector<uint32_t> dummies_;
  int vector_bytes_ = 0, tables_a_column_ = 0;
  uint32_t none_ = 0;
  int64_t columns_ = 0;
};

}  // namespace gpualign
