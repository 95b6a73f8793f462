// Vectors whose elements begin uninitialised.
#pragma once
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace gpualign {

// Allocator that leaves new elements uninitialised, so that the threads that fill a vector are the first ones to touch its memory.
template <class T>
struct Unset : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Unset<U>;
  };
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};

template <class T>
using UnsetVector = std::vector<T, Unset<T>>;

}  // namespace gpualign
