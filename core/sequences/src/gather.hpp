// Copies a selection of many strings into one buffer.
#pragma once
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "core/common/src/large_pages.hpp"

namespace gpualign {

struct Gathered {
  LargeArray<int64_t> ends;  // [string] its begin, and the end of the last one
  uint8_t* text;             // to be freed by free()
};

// Copies the strings picked[0] .. picked[count - 1], which may repeat. Runs of adjacent strings are copied at once, so omitting few of many
// runs at the speed of memory.
inline Gathered gather(const uint8_t* text, const int64_t* offsets, const int64_t* picked, int64_t count) {
  LargeArray<int64_t> ends = large_array<int64_t>(static_cast<size_t>(count) + 1);
  ends[0] = 0;
  for (int64_t k = 0; k < count; k++)
    ends[static_cast<size_t>(k) + 1] = ends[static_cast<size_t>(k)] + offsets[picked[k] + 1] - offsets[picked[k]];
  size_t bytes = static_cast<size_t>(ends[static_cast<size_t>(count)]);
  if (!bytes) bytes = 1;
  uint8_t* const out = static_cast<uint8_t*>(large_pages(bytes));
  if (!out) throw std::bad_alloc();
  for (int64_t k = 0, next; k < count; k = next) {
    for (next = k + 1; next < count && picked[next] == picked[next - 1] + 1;) next++;
    const int64_t size = offsets[picked[next - 1] + 1] - offsets[picked[k]];
    if (size) std::memcpy(out + ends[static_cast<size_t>(k)], text + offsets[picked[k]], static_cast<size_t>(size));
  }
  return {std::move(ends), out};
}

}  // namespace gpualign
