// gpualign.cpu.distance._distance: Python bindings of the distance kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>

#include "cpu/src/dispatch.hpp"
#include "distance.hpp"
#include "distance_choice.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

using Planes = nb::ndarray<const uint64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Terms = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Range = std::tuple<int64_t, int64_t>;
using Limits = std::vector<std::tuple<Counts, int32_t>>;

// Returns the tile of samples `rows` x `columns` of the planes, whose counts begin at row_place, column_place of `counts`. Checks all
// bounds.
DistanceTile make_tile(const Planes& planes, Range rows, Range columns, const Counts& counts, int64_t row_place, int64_t column_place,
                       int32_t weight, bool upper, const Limits& limits) {
  const auto [row_start, row_stop] = rows;
  const auto [column_start, column_stop] = columns;
  const int64_t samples = static_cast<int64_t>(planes.shape(1)), words = static_cast<int64_t>(planes.shape(2));
  const int64_t height = static_cast<int64_t>(counts.shape(0)), width = static_cast<int64_t>(counts.shape(1));
  const auto inside = [](int64_t start, int64_t stop, int64_t size) { return 0 <= start && start <= stop && stop <= size; };
  if (words % 8 || !inside(row_start, row_stop, samples) || !inside(column_start, column_stop, samples) ||
      !inside(row_place, row_place + row_stop - row_start, height) ||
      !inside(column_place, column_place + column_stop - column_start, width))
    throw nb::value_error("the tile does not fit");
  const int64_t first = row_place * width + column_place;
  DistanceTile tile{planes.data(), samples * words, words, row_start, row_stop, column_start, column_stop, counts.data() + first,
                    width,         weight,          upper, {},        0};
  if (limits.size() > kMaxLimits) throw nb::value_error("there are more limits than there is room for");
  for (const auto& [limited, max_count] : limits) {
    if (limited.shape(0) != counts.shape(0) || limited.shape(1) != counts.shape(1)) throw nb::value_error("the shapes do not fit");
    tile.limits[tile.limit_count++] = {limited.data() + first, max_count};
  }
  return tile;
}

void check(const std::vector<int>& planes, size_t count) {
  for (int p : planes)
    if (p < 0 || static_cast<size_t>(p) >= count) throw nb::value_error("there is no such plane");
}

// Computes every ordered pair, call by call, as in appendix 1 of Payne et al. 2010.
void plain_loop(nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> data, Counts distances) {
  const size_t instances = data.shape(0), attributes = data.shape(1);
  if (distances.shape(0) != instances || distances.shape(1) != instances) throw nb::value_error("the shapes do not fit");
  nb::gil_scoped_release unlocked;
  for (size_t i = 0; i < instances; i++)
    for (size_t j = 0; j < instances; j++) {
      int32_t distance = 0;
      for (size_t k = 0; k < attributes; k++) distance += data(i, k) != data(j, k);
      distances(j, i) = distance;
    }
}

}  // namespace

NB_MODULE(_distance, m) {
  m.doc() = "Counts for pairs of samples from bit planes.";
  m.def(
      "instruction_sets",
      [] {
        std::vector<std::tuple<std::string, int, bool, bool>> out;
        for (const auto& v : variants<DistanceKernels>())
          out.emplace_back(v.kernels->name, v.kernels->vector_bytes, v.kernels->counts_bits, v.supported);
        return out;
      },
      "(name, bytes of a vector, counts the bits of vectors, runs on this machine) of each variant in this build, fastest first.");
  m.def(
      "differ",
      [](const std::string& instruction_set, Planes planes, std::vector<int> bits, int mask, Range rows, Range columns, Counts counts,
         int64_t row_place, int64_t column_place, int32_t weight, bool upper, const Limits& limits) {
        check(bits, planes.shape(0));
        if (bits.empty() || bits.size() > kMaxPlanes || mask >= static_cast<int>(planes.shape(0)))
          throw nb::value_error("there is no such plane");
        const DistanceKernels& kernels = kernels_named<DistanceKernels>(instruction_set);
        const DistanceTile tile = make_tile(planes, rows, columns, counts, row_place, column_place, weight, upper, limits);
        nb::gil_scoped_release unlocked;
        kernels.differ(tile, bits.data(), static_cast<int>(bits.size()), mask);
      },
      nb::arg("instruction_set"), nb::arg("planes"), nb::arg("bits"), nb::arg("mask"), nb::arg("rows"), nb::arg("columns"),
      nb::arg("counts"), nb::arg("row_place"), nb::arg("column_place"), nb::arg("weight"), nb::arg("upper"), nb::arg("limits") = Limits(),
      "Add to int32 counts, for each pair, weight times the number of sites that differ in any of the planes `bits` and are "
      "set in the plane `mask` of both samples (-1: all sites). upper: pairs of a row with an earlier column are not needed. "
      "limits: a pair that exceeds `most` in the counts of each of these (counts, most), which may be the counts added to, "
      "may be skipped with counts that are too small.");
  m.def(
      "both",
      [](const std::string& instruction_set, Planes planes, std::vector<int> left, std::vector<int> right, Range rows, Range columns,
         Counts counts, int64_t row_place, int64_t column_place, int32_t weight, bool upper, const Limits& limits) {
        check(left, planes.shape(0));
        check(right, planes.shape(0));
        if (left.size() != right.size()) throw nb::value_error("rows and columns must have the same number of planes");
        const DistanceKernels& kernels = kernels_named<DistanceKernels>(instruction_set);
        const DistanceTile tile = make_tile(planes, rows, columns, counts, row_place, column_place, weight, upper, limits);
        nb::gil_scoped_release unlocked;
        kernels.both(tile, left.data(), right.data(), static_cast<int>(left.size()));
      },
      nb::arg("instruction_set"), nb::arg("planes"), nb::arg("left"), nb::arg("right"), nb::arg("rows"), nb::arg("columns"),
      nb::arg("counts"), nb::arg("row_place"), nb::arg("column_place"), nb::arg("weight"), nb::arg("upper"), nb::arg("limits") = Limits(),
      "Add to int32 counts weight times the number of common bits of plane left[k] of the row and right[k] of the column, "
      "summed over k. upper, limits: as for `differ`.");
  m.def(
      "relate",
      [](const std::string& instruction_set, Planes planes, int one, int two, int called, int64_t sites, Terms terms, Range rows,
         Range columns, Sums sums, int64_t row_place, int64_t column_place, bool upper) {
        check({one, two}, planes.shape(0));
        if (called >= static_cast<int>(planes.shape(0))) throw nb::value_error("there is no such plane");
        const auto [row_start, row_stop] = rows;
        const auto [column_start, column_stop] = columns;
        const int64_t samples = static_cast<int64_t>(planes.shape(1)), words = static_cast<int64_t>(planes.shape(2));
        const int64_t height = static_cast<int64_t>(sums.shape(0)), width = static_cast<int64_t>(sums.shape(1));
        const auto inside = [](int64_t start, int64_t stop, int64_t size) { return 0 <= start && start <= stop && stop <= size; };
        if (sites > 64 * words || terms.shape(0) != 9 || static_cast<int64_t>(terms.shape(1)) != 64 * words ||
            !inside(row_start, row_stop, samples) || !inside(column_start, column_stop, samples) ||
            !inside(row_place, row_place + row_stop - row_start, height) ||
            !inside(column_place, column_place + column_stop - column_start, width))
          throw nb::value_error("the tile does not fit");
        const auto plane = [&](int p) { return planes.data() + p * samples * words; };
        const DistanceKernels& kernels = kernels_named<DistanceKernels>(instruction_set);
        const RelationshipTile tile{plane(one),
                                    plane(two),
                                    called < 0 ? nullptr : plane(called),
                                    words,
                                    (sites + 63) / 64,
                                    row_start,
                                    row_stop,
                                    column_start,
                                    column_stop,
                                    terms.data(),
                                    sums.data() + row_place * width + column_place,
                                    width,
                                    upper};
        nb::gil_scoped_release unlocked;
        kernels.relate(tile);
      },
      nb::arg("instruction_set"), nb::arg("planes"), nb::arg("one"), nb::arg("two"), nb::arg("called"), nb::arg("sites"), nb::arg("terms"),
      nb::arg("rows"), nb::arg("columns"), nb::arg("sums"), nb::arg("row_place"), nb::arg("column_place"), nb::arg("upper"),
      "Add to int64 sums terms[3 x + y][site], for x and y second alleles of the row and of the column (planes `one`, `two`), "
      "over the sites at which both have calls (plane `called`, -1: all). upper: as for `differ`. Terms of sites beyond the "
      "last must be 0.");
  m.def("choose", &choose, nb::arg("counts"), nb::arg("weights"), nb::arg("row_offsets"), nb::arg("column_offsets"), nb::arg("most"),
        nb::arg("least_of"), nb::arg("least"), nb::arg("diagonal"),
        "Select the pairs r, c of int32 counts[k][rows][columns] with sum of weights[k] counts[k][r][c] + row_offsets[r] + "
        "column_offsets[c] <= most and counts[least_of][r][c] >= least (least_of < 0: any). Returns (r, c, counts[k][pairs], "
        "number of pairs with fewer than `least`). Row r is compared with the columns from r + diagonal + 1 on.");
  m.def("plain_loop", &plain_loop, nb::arg("data"), nb::arg("distances"),
        "Count the differing numbers of every ordered pair of rows, into int32[rows][rows], as the CPU code of Payne 2010 does.");
}
