// Columns of a strip computed together, each one row behind the column before it. A cell depends on the one above and the one to the left
// of it, so the cells of a skewed step do not depend on each other. Where an operation has a latency of two cycles, as on a lightly loaded
// AMD Zen 5, this is worth 5 to 10 %.
#pragma once

namespace gpualign::GPUALIGN_ISA {

// The number of a column as a type, so that it is known at compile time.
template <int C>
struct Column {
  static constexpr int number = C;
};

// Calls cell for row step - c of columns c = C .. 0. AT_ENDS: some of these rows may not exist, and are left out.
template <int C, bool AT_ENDS, class Cell>
static inline __attribute__((always_inline)) void skew_step(int step, int rows, Cell& cell) {
  const int row = step - C;
  if (!AT_ENDS || (row >= 0 && row < rows)) cell(row, Column<C>());
  if constexpr (C > 0) skew_step<C - 1, AT_ENDS>(step, rows, cell);
}

// Calls cell(row, Column<c>()) for all rows and COLUMNS columns, and for each row in the order of the columns.
template <int COLUMNS, class Cell>
static inline __attribute__((always_inline)) void skew_columns(int rows, Cell cell) {
  int step = 0;
  for (; step < COLUMNS - 1; step++) skew_step<COLUMNS - 1, true>(step, rows, cell);
  for (; step < rows; step++) skew_step<COLUMNS - 1, false>(step, rows, cell);
  for (; step < rows + COLUMNS - 1; step++) skew_step<COLUMNS - 1, true>(step, rows, cell);
}

}  // namespace gpualign::GPUALIGN_ISA
