// Memory for arrays that are read in no order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gpualign {

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

template <class T>
using LargeArray = std::unique_ptr<T[], Freed>;

// Not initialised. In large pages where the system has them: with small ones each access at random also looks for its page.
template <class T>
LargeArray<T> large_array(size_t count) {
  constexpr size_t kPage = size_t{2} << 20;
  const size_t bytes = (count * sizeof(T) + kPage - 1) / kPage * kPage;
  void* const memory = std::aligned_alloc(kPage, bytes ? bytes : kPage);
  if (!memory) throw std::bad_alloc();
#if defined(__linux__)
  madvise(memory, bytes, MADV_HUGEPAGE);  // advice only: a refusal changes nothing but time
#endif
  return LargeArray<T>(static_cast<T*>(memory));
}

}  // namespace gpualign
