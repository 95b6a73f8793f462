// Memory for large arrays with random access.
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

// Deleter for memory of the C library.
struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

template <class T>
using LargeArray = std::unique_ptr<T[], Freed>;

// Returns an uninitialised array, in large pages if the system has them: with small ones each random access also misses the TLB.
template <class T>
LargeArray<T> large_array(size_t count) {
  constexpr size_t kPage = size_t{2} << 20;
  const size_t bytes = (count * sizeof(T) + kPage - 1) / kPage * kPage;
  void* const memory = std::aligned_alloc(kPage, bytes ? bytes : kPage);
  if (!memory) throw std::bad_alloc();
#if defined(__linux__)
  madvise(memory, bytes, MADV_HUGEPAGE);  // only advice: if refused, accesses are slower
#endif
  return LargeArray<T>(static_cast<T*>(memory));
}

}  // namespace gpualign
