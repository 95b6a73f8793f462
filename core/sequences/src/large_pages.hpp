// Memory in large pages, where the system has them: to make many small ones takes longer than to fill them.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gpualign {

constexpr size_t kLargePage = size_t{2} << 20;

// So many bytes and, from a large page on, up to the end of the last one, for free(); null where the system does not give them. Pages
// that are not written to take no memory.
inline void* large_pages(size_t& bytes) {
  if (bytes < kLargePage) return std::malloc(bytes);
  bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  void* const found = std::aligned_alloc(kLargePage, bytes);
#if defined(__linux__)
  if (found) madvise(found, bytes, MADV_HUGEPAGE);  // advice only
#endif
  return found;
}

template <class T>
struct LargePages {
  using value_type = T;
  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}

  T* allocate(size_t count) {
    size_t bytes = count * sizeof(T);
    void* const found = large_pages(bytes);
    if (!found) throw std::bad_alloc();
    return static_cast<T*>(found);
  }
  void deallocate(T* values, size_t) { std::free(values); }

  bool operator==(const LargePages&) const { return true; }
  bool operator!=(const LargePages&) const { return false; }
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace gpualign
