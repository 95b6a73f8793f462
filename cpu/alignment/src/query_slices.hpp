// Bit-sliced scores of several queries at once: element q of a vector is query q, with one bit per target, and all queries have the same
// targets. This fills vectors when there are fewer targets than bits. When a set is compared with itself, it also computes fewer pairs that
// are not needed: the smaller the elements, the fewer. AVX-512 selects elements of 32 bits from 16, AVX2 those of 16 bits from 8, since its
// byte shuffle stays within 16 bytes.
//
// The recurrence and the cells are those of bitsliced.hpp. The match mask of a row is made when it is used: element e of a column's table
// has the targets with letter e, and a permutation selects the element for each query's letter. All queries end in the same row. A shorter
// query begins with dummy rows, which match no letter and have u = X in column 0. They hand row 0 down unchanged: z = X, v' = 0, u' = X.
#pragma once
#include "bitsliced.hpp"

namespace gpualign::GPUALIGN_ISA {

#if defined(GPUALIGN_AVX512) || defined(GPUALIGN_AVX2)

constexpr SliceShape kSliceShape{8 * static_cast<int>(sizeof(PickedElement)), kPickedElements, sizeof(PickedElement) == 2};

// The kernel for match steps S and mismatch steps X.
template <int S, int X>
struct QuerySlicesKernel {
  using Block = BitslicedKernel<S, X>;
  using Steps = typename Block::Steps;
  static constexpr int kQueries = lanes_of<PickedElement>();
  static constexpr int kTableBytes = kPickedElements * static_cast<int>(sizeof(PickedElement));

  static void run(const QuerySlicesArgs& a) {
    Steps* boundary = static_cast<Steps*>(a.boundary);
    memset(boundary, 0, sizeof(Steps) * static_cast<size_t>(a.columns));
    for (int64_t row = 0; row < a.rows; row += kSliceRows) {
      if (a.cancel->requested) return;
      const int rows = a.rows - row < kSliceRows ? static_cast<int>(a.rows - row) : kSliceRows;
      a.tables_per_column == 1 ? strip<1>(a, row, rows, boundary) : strip<2>(a, row, rows, boundary);
    }
    Block::count_last_row(boundary, a.columns, a.sums, [&](int64_t j) { return (Words)broadcast(static_cast<PickedElement>(a.live[j])); });
  }

 private:
  template <int TABLES>
  static void strip(const QuerySlicesArgs& a, int64_t row, int rows, Steps* boundary) {
    const Words* letters = static_cast<const Words*>(a.letters) + row;
    Vec<PickedElement> dummies{};  // [query] dummy rows in this strip
    for (int q = 0; q < kQueries; q++) {
      const int64_t before = a.dummies[q] - row;
      dummies[q] = static_cast<PickedElement>(before < 0 ? 0 : before < kSliceRows ? before : kSliceRows);
    }
    Steps u[kSliceRows];
    for (int r = 0; r < rows; r++) {
      const Words dummy = (Words)(dummies > broadcast(static_cast<PickedElement>(r)));
      for (int k = 1; k <= S; k++) u[r].plane[k - 1] = k <= X ? ~dummy : ~Words{};
    }
    const char* tables = static_cast<const char*>(a.tables);
    for (int64_t j = 0; j < a.columns; j += Block::kSliceColumns) {
      Words table[Block::kSliceColumns][TABLES];
      for (int c = 0; c < Block::kSliceColumns; c++)
        for (int t = 0; t < TABLES; t++) table[c][t] = load_table(tables + ((j + c) * TABLES + t) * kTableBytes);
      Block::pass_columns(rows, u, boundary + j, boundary + j, [&](int r, int c) __attribute__((always_inline)) {
        return TABLES == 1 ? pick_elements(table[c][0], letters[r]) : pick_elements(table[c][0], table[c][TABLES - 1], letters[r]);
      });
    }
  }
};

static void query_slices(const QuerySlicesArgs& a) { run_steps<QuerySlicesKernel>(a); }

#else
constexpr void (*query_slices)(const QuerySlicesArgs&) = nullptr;  // these instruction sets have no suitable permutation
constexpr SliceShape kSliceShape{};
#endif

}  // namespace gpualign::GPUALIGN_ISA
