// Types and functions that the Python bindings of the CPU kernels share.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <vector>

#include "core/alignment/src/walk.hpp"

namespace gpualign {

namespace nb = nanobind;

using Codes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Throws if the arrays are no set of sequences, or if `ids` are not numbers of records with letters. what: the set, for messages.
void check_set(const Codes& codes, const Numbers& offsets, const Numbers& ids, const char* what);

// Returns the contents of a sink as NumPy arrays of this shape: (scores, statistics, runs, starts, sizes).
nb::object path_arrays(PathSink&& sink, const std::vector<size_t>& shape);

// Adds the functions for lists of local alignments to the module.
void bind_local_hits(nb::module_& module);

}  // namespace gpualign
