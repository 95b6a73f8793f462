// Values of bands in a whole matrix: rows as they come, and what lies below the diagonal of a symmetric one.
//
// The matrix is mostly a file that is mapped into memory, in which the first touch of a page is an exception, one of 4 KB that costs as
// much as writing it. So pages are asked for many at a time, and each is written by one thread from end to end.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "threads.hpp"

namespace gpualign {

// A matrix of elements of some size: rows without gaps between them.
struct Elements {
  uint8_t* data;
  size_t rows, columns, size;

  uint8_t* at(size_t row, size_t column) const { return data + (row * columns + column) * size; }
};

constexpr size_t kShare = 1 << 20;  // bytes that are worth a thread

inline int threads_for(size_t bytes, int threads) {
  return static_cast<int>(std::min(static_cast<size_t>(std::max(1, threads)), bytes / kShare + 1));
}

// Makes the pages of [begin, begin + bytes) present and writable, as far as the system can; touching them does what is left undone.
inline void populate([[maybe_unused]] uint8_t* begin, [[maybe_unused]] size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(begin) & ~(page - 1);
  const uintptr_t stop = reinterpret_cast<uintptr_t>(begin) + bytes;
  if (stop - first > 2 * page) madvise(reinterpret_cast<void*>(first), stop - first, MADV_POPULATE_WRITE);
#endif
}

// Puts values[rows][columns] in out, from (row, column) on. put: a row of them.
template <class Put>
void place_rows(const Elements& out, const Elements& values, size_t row, size_t column, int threads, const Put& put) {
  const size_t bytes = values.columns * out.size;
  const size_t together = std::max<size_t>(1, kShare / 4 / std::max<size_t>(1, bytes));
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

// Elements of one type.
inline void copy_rows(const Elements& out, const Elements& values, size_t row, size_t column, int threads) {
  const size_t bytes = values.columns * values.size;
  place_rows(out, values, row, column, threads, [bytes](uint8_t* to, const uint8_t* from) { memcpy(to, from, bytes); });
}

// Elements of a type that holds all that the values' type does.
template <class To, class From>
void widen_rows(const Elements& out, const Elements& values, size_t row, size_t column, int threads) {
  const size_t columns = values.columns;
  place_rows(out, values, row, column, threads, [columns](uint8_t* to, const uint8_t* from) {
    To* const wide = reinterpret_cast<To*>(to);
    const From* const narrow = reinterpret_cast<const From*>(from);
    for (size_t j = 0; j < columns; j++) wide[j] = narrow[j];
  });
}

// A square of a transposition. It is read and written in runs of kSide elements, by way of a copy that stays in the second cache.
template <class T>
struct Square {
  static constexpr size_t kSide = 256;
  static constexpr size_t kStride = kSide + 64 / sizeof(T);  // its columns are spread over the cache
  T copy[kSide * kStride];
};

// Left of the diagonal, rows [first, stop) of a matrix with n columns and its columns [column, column + kSide), stop - first <= kSide: the
// transpose of what is above the diagonal.
template <class T>
void mirror_square(T* data, size_t n, size_t first, size_t stop, size_t column, Square<T>& square) {
  constexpr size_t kStride = Square<T>::kStride, kRows = 4, kWord = 16 / sizeof(T);
  const size_t column_stop = std::min(column + Square<T>::kSide, stop);
  for (size_t j = column; j < column_stop; j++) {
    const size_t begin = std::max(first, j + 1);
    if (begin < stop) memcpy(square.copy + (j - column) * kStride + begin - first, data + j * n + begin, (stop - begin) * sizeof(T));
  }
  // A few rows at a time, a word of 16 bytes of each: elements one by one would fill the processor's queue of stores.
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
    const std::unique_ptr<Square<T>> square(new Square<T>);  // not cleared, as by make_unique
    for (size_t row = first; row < stop; row += kSide)
      mirror_square(reinterpret_cast<T*>(out.data), n, row, std::min(stop, row + kSide), part * kSide, *square);
  });
}

// Writes element (i, j) of a square matrix, where j < i, as element (j, i) is, in rows [first, stop).
inline void mirror_rows(const Elements& out, size_t first, size_t stop, int threads) {
  switch (out.size) {
    case 1: return mirror_as<uint8_t>(out, first, stop, threads);
    case 2: return mirror_as<uint16_t>(out, first, stop, threads);
    case 4: return mirror_as<uint32_t>(out, first, stop, threads);
    default: return mirror_as<uint64_t>(out, first, stop, threads);
  }
}

}  // namespace gpualign
