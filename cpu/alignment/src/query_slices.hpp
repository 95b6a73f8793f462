// Bit-sliced scores of several queries at once: element q of a vector is query q with as many targets as the element has bits, the same
// for all queries. Sets that are smaller than a vector fill it so, and of a set against itself less is computed in vain: the less, the
// smaller the elements. AVX-512 picks elements of 32 bits from 16, AVX2 those of 16 bits from 8, as its shuffle of bytes stays within 16
// bytes.
//
// The recurrence is that of bitsliced.hpp, whose cells it takes. A row's mask is made as it is used: a column's table holds in element e
// which targets have letter e, and a permutation picks each query's element. Queries end in the same row. The rows before row 1 of
// shorter ones are dummies that equal no letter and whose u is X, which hands row 0 down unchanged: z = X, v' = 0, u' = X.
#pragma once
#include "bitsliced.hpp"

namespace gpualign::GPUALIGN_ISA {

#if defined(GPUALIGN_AVX512) || defined(GPUALIGN_AVX2)

constexpr SliceShape kSliceShape{8 * static_cast<int>(sizeof(PickedElement)), kPickedElements, sizeof(PickedElement) == 2};

template <int S, int X>
struct QuerySlicesKernel {
  using Block = BitslicedKernel<S, X>;
  using Steps = typename Block::Steps;
  static constexpr int kQueries = lanes_of<PickedElement>();
  static constexpr int kTableBytes = kPickedElements * static_cast<int>(sizeof(PickedElement));

  static void run(const QuerySlicesArgs& a) {
    Steps* bound = static_cast<Steps*>(a.boundary);
    memset(bound, 0, sizeof(Steps) * static_cast<size_t>(a.columns));
    for (int64_t row = 0; row < a.rows; row += kSliceRows) {
      if (a.cancel->requested) return;
      const int rows = a.rows - row < kSliceRows ? static_cast<int>(a.rows - row) : kSliceRows;
      a.tables_a_column == 1 ? strip<1>(a, row, rows, bound) : strip<2>(a, row, rows, bound);
    }
    Block::count_last_row(bound, a.columns, a.sums, [&](int64_t j) { return (Words)broadcast(static_cast<PickedElement>(a.live[j])); });
  }

 private:
  template <int TABLES>
  static void strip(const QuerySlicesArgs& a, int64_t row, int rows, Steps* bound) {
    const Words* letters = static_cast<const Words*>(a.letters) + row;
    Vec<PickedElement> dummies{};  // rows of this strip
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
      Block::pass_columns(rows, u, bound + j, bound + j, [&](int r, int c) __attribute__((always_inline)) {
        return TABLES == 1 ? pick_elements(table[c][0], letters[r]) : pick_elements(table[c][0], table[c][TABLES - 1], letters[r]);
      });
    }
  }
};

static void query_slices(const QuerySlicesArgs& a) { run_steps<QuerySlicesKernel>(a); }

#else
constexpr void (*query_slices)(const QuerySlicesArgs&) = nullptr;  // no permutation by a variable
constexpr SliceShape kSliceShape{};
#endif

}  // namespace gpualign::GPUALIGN_ISA
