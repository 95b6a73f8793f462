// gpualign.core.scoring._masking: Python bindings of the search for regions of low complexity.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "core/common/src/owned_array.hpp"
#include "dust.hpp"
#include "seg.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Finder>
nb::ndarray<nb::numpy, int64_t> find(Finder finder, Array<uint8_t> codes, Array<int64_t> offsets) {
  std::vector<int64_t> flat;
  {
    nb::gil_scoped_release unlocked;
    std::vector<Interval> intervals;
    for (size_t i = 0; i + 1 < offsets.shape(0); i++) {
      finder.find(codes.data() + offsets(i), offsets(i + 1) - offsets(i), offsets(i), intervals);
      for (const Interval& interval : intervals) flat.insert(flat.end(), {interval.begin, interval.end});
      intervals.clear();
    }
  }
  const size_t count = flat.size() / 2;
  return owned_array(std::move(flat), {count, 2});
}

}  // namespace

NB_MODULE(_masking, m) {
  m.doc() = "Regions of low complexity in encoded sequences.";
  m.def(
      "seg",
      [](Array<uint8_t> codes, Array<int64_t> offsets, int window, double trigger, double extend) {
        if (window <= Seg::kUnknown || window > Seg::kMaxWindow) throw nb::value_error("window: out of range");
        return find(Seg(window, trigger, extend), codes, offsets);
      },
      nb::arg("codes"), nb::arg("offsets"), nb::arg("window"), nb::arg("trigger"), nb::arg("extend"),
      "Find regions in proteins, whose codes below 20 are amino acids. window: letters; trigger, extend: bits. Returns "
      "int64[intervals][2]: half-open positions in codes, ascending and disjoint.");
  m.def(
      "dust", [](Array<uint8_t> codes, Array<int64_t> offsets) { return find(Dust(), codes, offsets); }, nb::arg("codes"),
      nb::arg("offsets"), "Find regions in nucleotide sequences, whose codes below 4 are A, C, G and T. Returns the same as `seg`.");
}
