// A few targets in the bits of elements, and queries side by side, as kernels of several queries at once read them.
#pragma once
#include <array>
#include <vector>

#include "cpu/src/scratch.hpp"
#include "cpu/src/work.hpp"
#include "kernels.hpp"

namespace gpualign {

// Which letters some records have.
std::array<bool, kLetters> letters_of(const Record* records, int count);

class SliceTables {
 public:
  SliceTables(SliceShape shape, int vector_bytes) : shape_(shape), queries_(queries(shape, vector_bytes)) {}

  // Queries that share a vector; 0 where there is no shape.
  static int queries(SliceShape shape, int vector_bytes) { return shape.bits ? vector_bytes * 8 / shape.bits : 0; }
  // Letters that two tables have room for, beside an element of none.
  static int most_letters(SliceShape shape) { return 2 * shape.table_elements - 1; }
  // Tables of a column for so many letters: 1 or 2.
  static int tables(int letters, SliceShape shape) { return letters < shape.table_elements ? 1 : 2; }

  // Packs targets, at most one a bit of an element with at most most_letters() different letters, for `columns` columns: at least the
  // longest.
  void pack(const Record* targets, int count, int64_t columns);

  // Packs queries, at most queries(), and sets the fields of `a` that say where queries and targets are; until the next call.
  void place(const std::vector<Record>& queries, QuerySlicesArgs& a);

 private:
  template <class Element>
  void pack_elements(const Record* targets, int count);
  template <class Element>
  void place_elements(const std::vector<Record>& queries);

  const SliceShape shape_;
  const int queries_;
  Scratch tables_, live_, letters_;
  std::array<uint32_t, kLetters> element_of_{};  // the element of none where no target has the letter
  std::vector<uint32_t> dummies_;
  int tables_a_column_ = 0;
  uint32_t none_ = 0;
  int64_t columns_ = 0, rows_ = 0;
};

}  // namespace gpualign
