// Copies a selection of many strings into one buffer.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "core/common/src/large_pages.hpp"
#include "core/common/src/threads.hpp"

namespace gpualign {

struct Gathered {
  LargeArray<int64_t> ends;  // [string] its begin, and the end of the last one
  uint8_t* text;             // to be freed by free()
};

// Copies the strings picked[0] .. picked[count - 1], which may repeat. Each thread copies strings of about the same total size. Runs of
// adjacent strings are copied at once, so if few of many strings are left out, copying is as fast as memory.
inline Gathered gather(const uint8_t* text, const int64_t* offsets, const int64_t* picked, int64_t count, int max_threads) {
  constexpr int64_t kThreadWork = 4 << 20;  // bytes for which a thread is worth its start
  LargeArray<int64_t> ends = large_array<int64_t>(static_cast<size_t>(count) + 1);
  ends[0] = 0;
  for (int64_t k = 0; k < count; k++) ends[k + 1] = ends[k] + offsets[picked[k] + 1] - offsets[picked[k]];
  const int64_t total = ends[count];
  size_t bytes = static_cast<size_t>(total ? total : 1);
  uint8_t* const out = static_cast<uint8_t*>(large_pages(bytes));
  if (!out) throw std::bad_alloc();
  const int threads = static_cast<int>(std::clamp<int64_t>(total / kThreadWork, 1, max_threads));
  const auto bound = [&](int thread) {  // the first string of a thread
    if (thread == threads) return count;
    return static_cast<int64_t>(std::lower_bound(ends.get(), ends.get() + count, total / threads * thread) - ends.get());
  };
  run_threads(threads, [&](int thread) {
    const int64_t stop = bound(thread + 1);
    for (int64_t k = bound(thread), next; k < stop; k = next) {
      for (next = k + 1; next < stop && picked[next] == picked[next - 1] + 1;) next++;
      const int64_t size = offsets[picked[next - 1] + 1] - offsets[picked[k]];
      if (size) std::memcpy(out + ends[k], text + offsets[picked[k]], static_cast<size_t>(size));
    }
  });
  return {std::move(ends), out};
}

}  // namespace gpualign
