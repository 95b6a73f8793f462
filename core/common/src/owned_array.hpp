// C++ results as NumPy arrays.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

namespace gpualign {

// A vector's content as an array of this shape that owns it.
template <class T, class Allocator>
nanobind::ndarray<nanobind::numpy, T> owned_array(std::vector<T, Allocator>&& values, const std::vector<size_t>& shape) {
  using Values = std::vector<T, Allocator>;
  auto* kept = new Values(std::move(values));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<Values*>(p); });
  return nanobind::ndarray<nanobind::numpy, T>(kept->data(), shape.size(), shape.data(), owner);
}

}  // namespace gpualign
