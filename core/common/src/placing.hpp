// Writes values of bands into a whole matrix: rows in order of arrival, and the lower triangle of a symmetric matrix.
//
// The matrix is usually a file mapped into memory, in which the first access to each page of 4 KB is an exception that costs as much as
// writing it. So many pages are requested at a time, and each is written completely by one thread.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "threads.hpp"

namespace gpualign {

// A contiguous matrix of elements of some size.
struct Elements {
  uint8_t* data;
  size_t rows, columns, size;

  uint8_t* at(size_t row, size_t column) const { return data + (row * columns + column) * size; }
};

constexpr size_t kBytesPerThread = 1 << 20;  // work that justifies a thread

inline int threads_for(size_t bytes, int threads) {
  return static_cast<int>(std::min(static_cast<size_t>(std::max(1, threads)), bytes / kBytesPerThread + 1));
}

// Makes the pages of [begin, begin + bytes) present and writable, as far as the system can; accesses do the rest.
inline void populate([[maybe_unused]] uint8_t* begin, [[maybe_unused]] size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(begin) & ~(page - 1);
  const uintptr_t stop = reinterpret_cast<uintptr_t>(begin) + bytes;
  if (stop - first > 2 * page) madvise(reinterpret_cast<void*>(first), stop - first, MADV_POPULATE_WRITE);
#endif
}

// Writes values[rows][columns] to `out` from (row, column) on. put: writes one row.
template <class Put>
void place_rows(const Elements& out, const Elements& values, size_t row, size_t column, int threads, const Put& put) {
  const size_t bytes = values.columns * out.size;
  const size_t together = std::max<size_t>(1, kBytesPerThread / 4 / std::max<size_t>(1, bytes));
  const size_t parts = (values.rows + together - 1) / together;
  share(parts, threads_for(values.rows * bytes, threads), [&](size_t part) {
    const size_t stop = std::min(values.rows, (part + 1) * together);
    for (size_t i = part * together; i < stop; i++) {
      uint8_t* const to = out.at(row + i, column);
      populate(to, bytes);
      put(to, values.at(i, 0));
    }
  });
}

// Copies elements of the same type.
inline void copy_rows(const Elements& out, const Elements& values, size_t row, size_t column, int threads) {
  const size_t bytes = values.columns * values.size;
  place_rows(out, values, row, column, threads, [bytes](uint8_t* to, const uint8_t* from) { memcpy(to, from, bytes); });
}

// Converts elements to a wider type.
template <class To, class From>
void widen_rows(const Elements& out, const Elements& values, size_t row, size_t column, int threads) {
  const size_t columns = values.columns;
  place_rows(out, values, row, column, threads, [columns](uint8_t* to, const uint8_t* from) {
    To* const wide = reinterpret_cast<To*>(to);
    const From* const narrow = reinterpret_cast<const From*>(from);
    for (size_t j = 0; j < columns; j++) wide[j] = narrow[j];
  });
}

// A square block for a transposition. Matrix rows are read and written in runs of kSide elements, through a copy that stays in L2.
template <class T>
struct Square {
  static constexpr size_t kSide = 256;
  static constexpr size_t kStride = kSide + 64 / sizeof(T);  // spreads its columns over the cache sets
  T copy[kSide * kStride];
};

// Fills the rows [first, stop) and columns [column, column + kSide) left of the diagonal, in a matrix with n columns, with the transpose of
// the elements above it. stop - first <= kSide.
template <class T>
void mirror_square(T* data, size_t n, size_t first, size_t stop, size_t column, Square<T>& square) {
  constexpr size_t kStride = Square<T>::kStride, kRows = 4, kWord = 16 / sizeof(T);
  const size_t column_stop = std::min(column + Square<T>::kSide, stop);
  for (size_t j = column; j < column_stop; j++) {
    const size_t begin = std::max(first, j + 1);
    if (begin < stop) memcpy(square.copy + (j - column) * kStride + begin - first, data + j * n + begin, (stop - begin) * sizeof(T));
  }
  // A few rows at a time, 16 bytes of each: single elements would fill the store queue of the processor.
  for (size_t i = first; i < stop; i += kRows) {
    const T* const from = square.copy + i - first;
    size_t done = column;
    if (i + kRows <= stop)
      for (const size_t end = std::min(column_stop, i); done + kWord <= end; done += kWord)
        for (size_t row = 0; row < kRows; row++) {
          T word[kWord];
          for (size_t j = 0; j < kWord; j++) word[j] = from[(done - column + j) * kStride + row];
          memcpy(data + (i + row) * n + done, word, sizeof(word));
        }
    for (size_t row = i; row < std::min(i + kRows, stop); row++)
      for (size_t j = done; j < std::min(column_stop, row); j++) data[row * n + j] = from[(j - column) * kStride + row - i];
  }
}

template <class T>
void mirror_as(const Elements& out, size_t first, size_t stop, int threads) {
  const size_t n = out.columns;
  const int some = threads_for((stop - first) * stop * sizeof(T), threads);
  share(stop - first, some, [&](size_t k) { populate(out.at(first + k, 0), (first + k) * sizeof(T)); });
  constexpr size_t kSide = Square<T>::kSide;
  share((stop + kSide - 1) / kSide, some, [&](size_t part) {
    const std::unique_ptr<Square<T>> square(new Square<T>);  // not zeroed, unlike make_unique
    for (size_t row = first; row < stop; row += kSide)
      mirror_square(reinterpret_cast<T*>(out.data), n, row, std::min(stop, row + kSide), part * kSide, *square);
  });
}

// Copies element (j, i) of a square matrix to (i, j) for all j < i in the rows [first, stop).
inline void mirror_rows(const Elements& out, size_t first, size_t stop, int threads) {
  switch (out.size) {
    case 1: return mirror_as<uint8_t>(out, first, stop, threads);
    case 2: return mirror_as<uint16_t>(out, first, stop, threads);
    case 4: return mirror_as<uint32_t>(out, first, stop, threads);
    default: return mirror_as<uint64_t>(out, first, stop, threads);
  }
}

}  // namespace gpualign
