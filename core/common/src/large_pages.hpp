// Memory in large pages, if the system has them: creating many small pages takes longer than filling them, and with small pages each random
// access also misses the TLB.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gpualign {

constexpr size_t kLargePage = size_t{2} << 20;

// Allocates `bytes` bytes, to be freed by free(), or returns null. `bytes` is rounded up to whole large pages if it is at least one. Pages
// that are not written take no memory.
inline void* large_pages(size_t& bytes) {
  if (bytes < kLargePage) return std::malloc(bytes);
  bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  void* const memory = std::aligned_alloc(kLargePage, bytes);
#if defined(__linux__)
  if (memory) madvise(memory, bytes, MADV_HUGEPAGE);  // only advice: it may be refused
#endif
  return memory;
}

template <class T>
struct LargePages {
  using value_type = T;
  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}

  T* allocate(size_t count) {
    size_t bytes = count * sizeof(T);
    void* const memory = large_pages(bytes);
    if (!memory) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* values, size_t) { std::free(values); }

  bool operator==(const LargePages&) const { return true; }
  bool operator!=(const LargePages&) const { return false; }
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

// An array that begins uninitialised.
template <class T>
using LargeArray = std::unique_ptr<T[], FreeMemory>;

template <class T>
LargeArray<T> large_array(size_t count) {
  return LargeArray<T>(LargePages<T>().allocate(count ? count : 1));
}

}  // namespace gpualign
