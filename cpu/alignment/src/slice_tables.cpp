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

void SliceTables::pack(const Record* targets, int count, int64_t columns) {
  const auto used = letters_of(targets, count);
  no_letter_ = static_cast<uint32_t>(std::count(used.begin(), used.end(), true));
  uint32_t next = 0;
  for (int l = 0; l < kLetters; l++) element_of_[l] = used[l] ? next++ : no_letter_;
  tables_per_column_ = tables(static_cast<int>(no_letter_), shape_);
  columns_ = columns;
  shape_.bits == 16 ? pack_elements<uint16_t>(targets, count) : pack_elements<uint32_t>(targets, count);
}

template <class Element>
void SliceTables::pack_elements(const Record* targets, int count) {
  const int64_t width = static_cast<int64_t>(tables_per_column_) * shape_.table_elements;
  const size_t bytes = static_cast<size_t>(columns_ * width) * sizeof(Element),
               live_bytes = static_cast<size_t>(columns_) * sizeof(uint32_t);
  auto* const tables = static_cast<Element*>(tables_.reserve(bytes));
  auto* const live = static_cast<uint32_t*>(live_.reserve(live_bytes));
  std::memset(tables, 0, bytes);
  std::memset(live, 0, live_bytes);
  for (int t = 0; t < count; t++) {
    const auto [codes, length] = targets[t];
    for (int64_t j = 0; j < length; j++) {
      tables[j * width + element_of_[codes[j]]] |= static_cast<Element>(1u << t);
      live[j] |= 1u << t;
    }
  }
}

void SliceTables::set_queries(const std::vector<Record>& queries, QuerySlicesArgs& a) {
  rows_ = 0;
  for (const Record& query : queries) rows_ = std::max(rows_, query.length);
  shape_.bits == 16 ? set_query_elements<uint16_t>(queries) : set_query_elements<uint32_t>(queries);
  a.letters = letters_.reserve(0);
  a.dummies = dummies_.data();
  a.rows = rows_;
  a.tables = tables_.reserve(0);
  a.tables_per_column = tables_per_column_;
  a.live = static_cast<const uint32_t*>(live_.reserve(0));
  a.columns = columns_;
}

template <class Element>
void SliceTables::set_query_elements(const std::vector<Record>& queries) {
  const auto name_of = [&](uint32_t element) { return static_cast<Element>(shape_.by_bytes ? 0x0202 * element + 0x0100 : element); };
  const size_t width = static_cast<size_t>(queries_), count = static_cast<size_t>(rows_) * width;
  auto* const letters = static_cast<Element*>(letters_.reserve(count * sizeof(Element)));
  std::fill_n(letters, count, name_of(no_letter_));
  dummies_.assign(width, static_cast<uint32_t>(rows_));  // elements without a query have dummy rows only
  for (size_t q = 0; q < queries.size(); q++) {
    const auto [codes, length] = queries[q];
    const int64_t first = rows_ - length;
    dummies_[q] = static_cast<uint32_t>(first);
    for (int64_t i = 0; i < length; i++) letters[static_cast<size_t>(first + i) * width + q] = name_of(element_of_[codes[i]]);
  }
}

}  // namespace gpualign
