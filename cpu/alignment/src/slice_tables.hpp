// A few targets in the bits of elements, and queries side by side, as the kernels for several queries at once read them.
#pragma once
#include <array>
#include <vector>

#include "cpu/src/scratch.hpp"
#include "cpu/src/work.hpp"
#include "kernels.hpp"

namespace gpualign {

// Returns which letters occur in `count` records.
std::array<bool, kLetters> letters_of(const Record* records, int count);

class SliceTables {
 public:
  SliceTables(SliceShape shape, int vector_bytes) : shape_(shape), queries_(queries(shape, vector_bytes)) {}

  // Returns the number of queries that share a vector; 0 without a shape.
  static int queries(SliceShape shape, int vector_bytes) { return shape.bits ? vector_bytes * 8 / shape.bits : 0; }
  // Returns the number of letters for which two tables have room, besides one element for no letter.
  static int max_letters(SliceShape shape) { return 2 * shape.table_elements - 1; }
  // Returns the number of tables per column, 1 or 2, for `letters` letters.
  static int tables(int letters, SliceShape shape) { return letters < shape.table_elements ? 1 : 2; }

  // Packs targets, at most one per bit of an element and with at most max_letters() different letters, for `columns` columns, at least the
  // longest.
  void pack(const Record* targets, int count, int64_t columns);

  // Packs at most queries() queries, and sets the fields of `a` that point to queries and targets; valid until the next call.
  void set_queries(const std::vector<Record>& queries, QuerySlicesArgs& a);

 private:
  template <class Element>
  void pack_elements(const Record* targets, int count);
  template <class Element>
  void set_query_elements(const std::vector<Record>& queries);

  const SliceShape shape_;
  const int queries_;
  Scratch tables_, live_, letters_;
  std::array<uint32_t, kLetters> element_of_{};  // [letter] element of its table; no_letter_ if no target has the letter
  std::vector<uint32_t> dummies_;
  int tables_per_column_ = 0;
  uint32_t no_letter_ = 0;
  int64_t columns_ = 0, rows_ = 0;
};

}  // namespace gpualign
