// Columns that pass the rows of a strip together, each a row behind the one before it: a cell waits for the one above it and the one beside
// it, and so the cells of a step wait for none of each other. Where an operation takes two clocks to be waited for, as where AMD's Zen 5 is
// lightly loaded, that is worth 5 to 10 %.
#pragma once

namespace gpualign::GPUALIGN_ISA {

template <int C>
struct Column {
  static constexpr int number = C;
};

// Row step - c of columns c = C .. 0. AT_ENDS: where a column may have no such row.
template <int C, bool AT_ENDS, class Cell>
static inline __attribute__((always_inline)) void pass_step(int step, int rows, Cell& cell) {
  const int row = step - C;
  if (!AT_ENDS || (row >= 0 && row < rows)) cell(row, Column<C>());
  if constexpr (C > 0) pass_step<C - 1, AT_ENDS>(step, rows, cell);
}

// Calls cell(row, Column<c>()) for all rows and COLUMNS columns; of a row, column after column.
template <int COLUMNS, class Cell>
static inline __attribute__((always_inline)) void pass_behind(int rows, Cell cell) {
  int step = 0;
  for (; step < COLUMNS - 1; step++) pass_step<COLUMNS - 1, true>(step, rows, cell);
  for (; step < rows; step++) pass_step<COLUMNS - 1, false>(step, rows, cell);
  for (; step < rows + COLUMNS - 1; step++) pass_step<COLUMNS - 1, true>(step, rows, cell);
}

}  // namespace gpualign::GPUALIGN_ISA
