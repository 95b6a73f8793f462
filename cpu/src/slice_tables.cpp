#include "slice_tables.hpp"

#include <algorithm>
#include <cstring>

namespace gpualign {

std::array<bool, kLetters> letters_of(const Record* records, int count) {
  std::array<bool, kLetters> used{};
  for (int k = 0; k < count; k++)
    for (int64_t j = 0; j < records[k].length; j++) used[records[k].codes[j]] = true;
  return used;
}

void SliceTables::pack(const Record* targets, int count, int vector_bytes, int64_t columns) {
  const auto used = letters_of(targets, count);
  none_ = static_cast<uint32_t>(std::count(used.begin(), used.end(), true));
  uint32_t next = 0;
  for (int l = 0; l < kLetters; l++) element_of_[l] = used[l] ? next++ : none_;
  vector_bytes_ = vector_bytes;
  tables_a_column_ = tables(static_cast<int>(none_), vector_bytes);
  columns_ = columns;

  const int64_t width = static_cast<int64_t>(tables_a_column_) * vector_bytes / 4;
  const size_t bytes = static_cast<size_t>(columns * width) * sizeof(uint32_t),
               live_bytes = static_cast<size_t>(columns) * sizeof(uint32_t);
  auto* const tables = static_cast<uint32_t*>(tables_.reserve(bytes));
  auto* const live = static_cast<uint32_t*>(live_.reserve(live_bytes));
  std::memset(tables, 0, bytes);
  std::memset(live, 0, live_bytes);
  for (int t = 0; t < count; t++) {
    const auto [codes, length] = targets[t];
    for (int64_t j = 0; j < length; j++) {
      tables[j * width + element_of_[codes[j]]] |= 1u << t;
      live[j] |= 1u << t;
    }
  }
}

void SliceTables::place(const std::vector<Record>& queries, QuerySlicesArgs& a) {
  const size_t elements = static_cast<size_t>(vector_bytes_) / 4;
  int64_t rows = 0;
  for (const Record& query : queries) rows = std::max(rows, query.length);
  const size_t count = static_cast<size_t>(rows) * elements;
  auto* const letters = static_cast<uint32_t*>(letters_.reserve(count * sizeof(uint32_t)));
  std::fill_n(letters, count, none_);
  dummies_.assign(elements, static_cast<uint32_t>(rows));  // of an element without a query all
  for (size_t q = 0; q < queries.size(); q++) {
    const auto [codes, length] = queries[q];
    const int64_t first = rows - length;
    dummies_[q] = static_cast<uint32_t>(first);
    for (int64_t i = 0; i < length; i++) letters[static_cast<size_t>(first + i) * elements + q] = element_of_[codes[i]];
  }
  a.letters = letters;
  a.dummies = dummies_.data();
  a.rows = rows;
  a.tables = tables_.reserve(0);
  a.tables_a_column = tables_a_column_;
  a.live = static_cast<const uint32_t*>(live_.reserve(0));
  a.columns = columns_;
}

}  // namespace gpualign
