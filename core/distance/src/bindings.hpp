// Types of arrays in the bindings of gpualign.core.distance._sites, and its parts.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

namespace gpualign {

template <class T, int N>
using Input = nanobind::ndarray<const T, nanobind::ndim<N>, nanobind::c_contig, nanobind::device::cpu>;
template <class T, int N>
using Output = nanobind::ndarray<T, nanobind::ndim<N>, nanobind::c_contig, nanobind::device::cpu>;
using Table = nanobind::ndarray<const uint8_t, nanobind::shape<256>, nanobind::c_contig, nanobind::device::cpu>;

void bind_planes(nanobind::module_& m);

}  // namespace gpualign
