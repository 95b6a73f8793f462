// Pairs of letters that an alignment may not contain.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpualign {

// A pair of letters, 0-based.
struct LetterPair {
  int64_t query, target;
};

// Cells of a matrix that no path may contain: rows[k] for k from bounds[j] to bounds[j + 1] - 1 are the rows of column j.
struct ExcludedCells {
  std::vector<int64_t> bounds, rows;

  // Sets the cells of a matrix of row_count rows and column_count columns. cell(pair): row and column of a pair of letters, as query and
  // target; pairs outside the matrix are left out.
  template <class Cell>
  void set(const std::vector<LetterPair>& pairs, int64_t row_count, int64_t column_count, Cell cell) {
    const auto each = [&](auto action) {
      for (const LetterPair& pair : pairs) {
        const auto [row, column] = cell(pair);
        if (row >= 0 && row < row_count && column >= 0 && column < column_count) action(row, static_cast<size_t>(column));
      }
    };
    bounds.assign(static_cast<size_t>(column_count) + 1, 0);
    each([&](int64_t, size_t column) { bounds[column + 1]++; });
    for (size_t j = 1; j < bounds.size(); j++) bounds[j] += bounds[j - 1];
    rows.resize(static_cast<size_t>(bounds.back()));
    std::vector<int64_t> next(bounds.begin(), bounds.end() - 1);
    each([&](int64_t row, size_t column) { rows[static_cast<size_t>(next[column]++)] = row; });
  }
};

}  // namespace gpualign
