// Conversion of C++ results to NumPy arrays.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

namespace gpualign {

// Moves a vector into an array of this shape that owns its memory. Type: what its type says beside that of its elements, e.g. ndim<1>.
template <class... Type, class T, class Allocator>
nanobind::ndarray<nanobind::numpy, T, Type...> owned_array(std::vector<T, Allocator>&& values, const std::vector<size_t>& shape) {
  using Values = std::vector<T, Allocator>;
  auto* owned = new Values(std::move(values));
  nanobind::capsule owner(owned, [](void* p) noexcept { delete static_cast<Values*>(p); });
  return nanobind::ndarray<nanobind::numpy, T, Type...>(owned->data(), shape.size(), shape.data(), owner);
}

}  // namespace gpualign
