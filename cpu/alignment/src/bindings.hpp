// Types and functions that the Python bindings of the CPU kernels share.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <vector>

#include "core/alignment/src/walk.hpp"
#include "cpu/src/work.hpp"

namespace gpualign {

namespace nb = nanobind;

using Codes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The sequences of the queries and targets of a call.
struct PairSets {
  Sequences queries, targets;
};

// Returns the sequences in these arrays. Throws if they are not sets of sequences, or if an id is not the number of a record with letters.
PairSets checked_sets(const Codes& query_codes, const Numbers& query_offsets, const Numbers& query_ids, const Codes& target_codes,
                      const Numbers& target_offsets, const Numbers& target_ids);

// Returns the contents of a sink as NumPy arrays of this shape: (scores, statistics, runs, starts, sizes).
nb::object path_arrays(PathSink&& sink, const std::vector<size_t>& shape);

// Adds the functions for lists of local alignments to the module.
void bind_local_hits(nb::module_& module);

}  // namespace gpualign
