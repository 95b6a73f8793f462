// Splitting of a table line into cells, and selection of the columns to read.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace gpualign {

// The treatment of a column of a table.
enum class Column : uint8_t { kRead = 0, kSkip = 1, kEmpty = 2 };

// A cell without surrounding blanks and quotes.
struct Cell {
  const char* text;
  size_t size;

  Cell(const char* from, const char* to) : text(from), size(static_cast<size_t>(to - from)) {
    const auto around = [](char c) { return c == ' ' || c == '"' || c == '\r'; };
    while (size && around(text[size - 1])) size--;
    while (size && around(*text)) text++, size--;
  }

  bool is(const std::string& word) const { return word.size() == size && std::memcmp(text, word.data(), size) == 0; }
  bool is_one_of(const std::vector<std::string>& words) const {
    for (const std::string& word : words)
      if (is(word)) return true;
    return false;
  }

  // Removes one or two zeros after a decimal point or comma, or after the character that replaces a quoted comma, from an integer written
  // as a decimal (7.0, 7,00). Returns that character, or 0 if the cell is something else. Three zeros are thousands.
  char remove_zero_decimals() {
    const auto point = [](char c) { return c == '.' || c == ',' || c == '\x1e'; };
    size_t digits = size;
    if (size > 2 && text[size - 1] == '0' && point(text[size - 2])) digits = size - 2;
    if (size > 3 && text[size - 1] == '0' && text[size - 2] == '0' && point(text[size - 3])) digits = size - 3;
    if (digits == size) return 0;
    for (size_t k = text[0] == '-' && digits > 1; k < digits; k++)
      if (text[k] < '0' || text[k] > '9') return 0;
    size = digits;
    return text[digits] == '.' ? '.' : ',';
  }
};

// An integer that is written as a decimal.
struct Decimal {
  char point;     // '.' or ','
  int64_t place;  // column read
  bool is_zero;
};

// How the integers of a table are written as decimals. A 0 without a comma may be a missing allele beside numbers with one; a 0 with a
// comma is a number.
struct Decimals {
  std::vector<int64_t> commas;  // [column read] count of integers other than 0 with a comma; empty before the first comma
  std::vector<int64_t> zeros;   // [column read] count of zeros with a comma; empty before the first comma
  bool points = false;          // some have a point
  bool mixed_line = false;      // some line has numbers with and without a comma

  // Adds the decimals of a line. columns: number of columns read. numbers: count of integers of the line other than 0.
  void add(const std::vector<Decimal>& line, int64_t columns, int64_t numbers) {
    int64_t with_comma = 0;
    bool has_comma = false;
    for (const Decimal& decimal : line) {
      points = points || (decimal.point == '.' && !decimal.is_zero);
      if (decimal.point != ',' || decimal.place >= columns) continue;
      has_comma = true;
      commas.resize(static_cast<size_t>(columns)), zeros.resize(static_cast<size_t>(columns));
      (decimal.is_zero ? zeros : commas)[static_cast<size_t>(decimal.place)]++;
      with_comma += !decimal.is_zero;
    }
    mixed_line = mixed_line || (has_comma && with_comma < numbers);
  }
};

struct LineCells {
  int64_t cells = 0;       // cells of the line
  int64_t taken = 0;       // cells read
  int64_t not_empty = -1;  // first column that should be empty but is not
};

// Splits a line at a separator and calls take(index, column, from, to) for the cells of columns that are read; `index` numbers these.
// columns[count] is the treatment of each column; if count is 0, all are read. Cells beyond the columns are only counted.
template <bool kAll, class Take>
LineCells each_cell_of(const char* at, const char* end, char separator, const uint8_t* columns, int64_t count, Take take) {
  constexpr int64_t kShort = 8;  // most cells are shorter, and then a loop is faster than memchr
  LineCells line;
  while (true) {
    const char* stop = at;
    const char* const near = end - at > kShort ? at + kShort : end;
    while (stop < near && *stop != separator) stop++;
    if (stop == near && stop < end) {
      const void* match = std::memchr(stop, separator, static_cast<size_t>(end - stop));
      stop = match ? static_cast<const char*>(match) : end;
    }
    const Column column = kAll ? Column::kRead : line.cells < count ? static_cast<Column>(columns[line.cells]) : Column::kSkip;
    if (column == Column::kRead)
      take(line.taken++, line.cells, at, stop);
    else if (column == Column::kEmpty && line.not_empty < 0 && Cell(at, stop).size)
      line.not_empty = line.cells;
    line.cells++;
    if (stop >= end) return line;
    at = stop + 1;
  }
}

template <class Take>
LineCells each_cell(const char* at, const char* end, char separator, const std::vector<uint8_t>& columns, Take take) {
  const int64_t count = static_cast<int64_t>(columns.size());
  return count ? each_cell_of<false>(at, end, separator, columns.data(), count, take)
               : each_cell_of<true>(at, end, separator, nullptr, 0, take);
}

}  // namespace gpualign
