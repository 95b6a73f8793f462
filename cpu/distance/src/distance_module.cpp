// gpualign.cpu.distance._distance: Python bindings of the distance kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "core/common/src/owned_array.hpp"
#include "cpu/src/dispatch.hpp"
#include "distance.hpp"
#include "pair_selector.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

using Planes = nb::ndarray<const uint64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Terms = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Range = std::tuple<int64_t, int64_t>;

// Rows of planes that are in several arrays.
class PlaneRows {
 public:
  // parts: (uint64[rows][planes][words of a row], rows of consecutive samples), of which some words are used.
  PlaneRows(std::vector<std::tuple<Planes, Offsets>> parts, size_t first_word, size_t words) : parts_(std::move(parts)), words_(words) {
    if (parts_.empty()) throw nb::value_error("there are no rows");
    planes_ = std::get<0>(parts_[0]).shape(1);
    row_words_ = std::get<0>(parts_[0]).shape(2);
    if (words % 8 || first_word % 8 || first_word + words > row_words_) throw nb::value_error("there are no such words");
    for (const auto& [planes, rows] : parts_) {
      if (planes.shape(1) != planes_ || planes.shape(2) != row_words_) throw nb::value_error("the shapes do not fit");
      for (size_t k = 0; k < rows.shape(0); k++) {
        if (rows(k) < 0 || rows(k) >= static_cast<int64_t>(planes.shape(0))) throw nb::value_error("no such row");
        samples_.push_back(planes.data() + static_cast<size_t>(rows(k)) * planes_ * row_words_ + first_word);
      }
    }
  }

  size_t planes() const { return planes_; }
  SamplePlanes sample_planes() const { return {nullptr, samples_.data(), static_cast<int64_t>(row_words_), static_cast<int64_t>(words_)}; }
  int64_t samples() const { return static_cast<int64_t>(samples_.size()); }

 private:
  std::vector<std::tuple<Planes, Offsets>> parts_;
  std::vector<const uint64_t*> samples_;
  size_t planes_ = 0, row_words_ = 0, words_;
};

// The planes of a panel, as Python has them: an array or PlaneRows.
struct PanelPlanes {
  SamplePlanes planes;
  size_t count;
  int64_t samples;
};

PanelPlanes planes_of(nb::handle object) {
  if (nb::isinstance<PlaneRows>(object)) {
    const auto& rows = nb::cast<const PlaneRows&>(object);
    return {rows.sample_planes(), rows.planes(), rows.samples()};
  }
  const auto planes = nb::cast<Planes>(object);
  const int64_t samples = static_cast<int64_t>(planes.shape(1)), words = static_cast<int64_t>(planes.shape(2));
  return {{planes.data(), nullptr, samples * words, words}, planes.shape(0), samples};
}

// Checks that the samples `rows` x `columns` are among `samples`, and that their results fit in a matrix from row_place, column_place on.
void check_place(int64_t samples, Range rows, Range columns, int64_t height, int64_t width, int64_t row_place, int64_t column_place) {
  const auto inside = [](int64_t start, int64_t stop, int64_t size) { return 0 <= start && start <= stop && stop <= size; };
  const auto [row_start, row_stop] = rows;
  const auto [column_start, column_stop] = columns;
  if (!inside(row_start, row_stop, samples) || !inside(column_start, column_stop, samples) ||
      !inside(row_place, row_place + row_stop - row_start, height) ||
      !inside(column_place, column_place + column_stop - column_start, width))
    throw nb::value_error("the tile does not fit");
}

// Returns the tile of samples `rows` x `columns` of the planes, whose counts begin at row_place, column_place of `counts`. Checks all
// bounds.
DistanceTile make_tile(const PanelPlanes& panel, int64_t sites, Range rows, Range columns, const Counts& counts, int64_t row_place,
                       int64_t column_place, int32_t weight, bool upper) {
  const auto [row_start, row_stop] = rows;
  const auto [column_start, column_stop] = columns;
  const int64_t samples = panel.samples, words = panel.planes.sample_words;
  const int64_t height = static_cast<int64_t>(counts.shape(0)), width = static_cast<int64_t>(counts.shape(1));
  if (words % 8 || sites < 0 || sites > 64 * words) throw nb::value_error("the tile does not fit");
  check_place(samples, rows, columns, height, width, row_place, column_place);
  const int64_t first = row_place * width + column_place;
  DistanceTile tile{
      panel.planes, (sites + 63) / 64, row_start, row_stop, column_start, column_stop, counts.data() + first, width, weight, upper, {}, 0};
  return tile;
}

void check(const std::vector<int>& planes, size_t count) {
  for (int p : planes)
    if (p < 0 || static_cast<size_t>(p) >= count) throw nb::value_error("there is no such plane");
}

using Numbers = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>;
using PairCounts = nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>;
// Planes of a panel, its sites, whether the operation is DIFFER, left, right, mask, weight, index of the count.
using Term = std::tuple<nb::object, int64_t, bool, std::vector<int>, std::vector<int>, int, int32_t, int>;

// A selector that keeps the arrays it reads, with all bounds checked.
class BoundSelector {
 public:
  BoundSelector(const std::string& instruction_set, std::vector<Term> terms, std::vector<int64_t> weights, std::optional<Offsets> offsets,
                int64_t max_sum, std::tuple<int, int32_t> min_compared, std::tuple<int, int32_t> cap, std::vector<int32_t> floors,
                int64_t far_offset)
      : kinds_(weights.size()), samples_(!terms.empty() ? planes_of(std::get<0>(terms[0])).samples
                                         : offsets      ? static_cast<int64_t>(offsets->size())
                                                        : std::numeric_limits<int64_t>::max()),
        terms_(std::move(terms)),
        selector_(kernels_named<DistanceKernels>(instruction_set), checked_terms(),
                  SelectionRule{std::move(weights),
                                offsets ? std::vector<int64_t>(offsets->data(), offsets->data() + offsets->size()) : std::vector<int64_t>(),
                                max_sum, std::get<0>(min_compared), std::get<1>(min_compared), std::get<0>(cap), std::get<1>(cap), floors,
                                far_offset}) {
    const int kinds = static_cast<int>(kinds_);
    if (std::get<0>(min_compared) >= kinds || std::get<0>(cap) >= kinds || (!floors.empty() && floors.size() != kinds_) ||
        (offsets && static_cast<int64_t>(offsets->size()) < samples_))
      throw nb::value_error("the rule does not fit the counts");
  }

  std::tuple<Numbers, Numbers, PairCounts, int64_t, int64_t> select(Range rows, Range columns, bool upper) const {
    for (const auto& [start, stop] : {rows, columns})
      if (start < 0 || start > stop || stop > samples_) throw nb::value_error("the tile does not fit");
    SelectedTile tile;
    std::vector<int32_t> counts;
    {
      nb::gil_scoped_release unlocked;
      tile = selector_.select(std::get<0>(rows), std::get<1>(rows), std::get<0>(columns), std::get<1>(columns), upper);
      counts.reserve(kinds_ * tile.rows.size());
      for (const auto& of_kind : tile.counts) counts.insert(counts.end(), of_kind.begin(), of_kind.end());
    }
    const size_t pairs = tile.rows.size();
    return {owned_array<nb::ndim<1>>(std::move(tile.rows), {pairs}), owned_array<nb::ndim<1>>(std::move(tile.columns), {pairs}),
            owned_array<nb::ndim<2>>(std::move(counts), {kinds_, pairs}), tile.too_few, tile.undefined};
  }

 private:
  std::vector<SelectionTerm> checked_terms() const {
    std::vector<SelectionTerm> out;
    for (const auto& [planes, sites, differ, left, right, mask, weight, count] : terms_) {
      const PanelPlanes panel = planes_of(planes);
      const int64_t samples = panel.samples, words = panel.planes.sample_words;
      check(left, panel.count);
      check(right, panel.count);
      if (mask >= static_cast<int>(panel.count) || (differ ? left.empty() || left.size() > kMaxPlanes : left.size() != right.size()))
        throw nb::value_error("there is no such plane");
      if (samples != samples_ || words % 8 || sites < 0 || sites > 64 * words || count < 0 || static_cast<size_t>(count) >= kinds_)
        throw nb::value_error("the panel does not fit");
      out.push_back({panel.planes, (sites + 63) / 64, differ, left, right, mask, weight, count});
    }
    return out;
  }

  size_t kinds_;
  int64_t samples_;
  std::vector<Term> terms_;
  PairSelector selector_;
};

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
  m.doc() = "Counts for pairs of samples from bit planes: an array [planes][samples][words], or PlaneRows.";
  nb::class_<PlaneRows>(m, "PlaneRows", "Planes of samples whose rows are in several arrays.")
      .def(nb::init<std::vector<std::tuple<Planes, Offsets>>, size_t, size_t>(), nb::arg("parts"), nb::arg("first_word"), nb::arg("words"),
           "parts: (uint64[rows][planes][words of a row], rows of consecutive samples), all with the same planes and words, of which "
           "`words` from first_word on are used; both are multiples of 8.");
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
      [](const std::string& instruction_set, nb::object planes, std::vector<int> bits, int mask, int64_t sites, Range rows, Range columns,
         Counts counts, int64_t row_place, int64_t column_place, int32_t weight, bool upper) {
        const PanelPlanes panel = planes_of(planes);
        check(bits, panel.count);
        if (bits.empty() || bits.size() > kMaxPlanes || mask >= static_cast<int>(panel.count))
          throw nb::value_error("there is no such plane");
        const DistanceKernels& kernels = kernels_named<DistanceKernels>(instruction_set);
        const DistanceTile tile = make_tile(panel, sites, rows, columns, counts, row_place, column_place, weight, upper);
        nb::gil_scoped_release unlocked;
        kernels.differ(tile, bits.data(), static_cast<int>(bits.size()), mask);
      },
      nb::arg("instruction_set"), nb::arg("planes"), nb::arg("bits"), nb::arg("mask"), nb::arg("sites"), nb::arg("rows"),
      nb::arg("columns"), nb::arg("counts"), nb::arg("row_place"), nb::arg("column_place"), nb::arg("weight"), nb::arg("upper"),
      "Add to int32 counts, for each pair, weight times the number of sites that differ in any of the planes `bits` and are "
      "set in the plane `mask` of both samples (-1: all sites). upper: pairs of a row with an earlier column are not needed. "
      "sites: number of sites of the planes.");
  m.def(
      "both",
      [](const std::string& instruction_set, nb::object planes, std::vector<int> left, std::vector<int> right, int64_t sites, Range rows,
         Range columns, Counts counts, int64_t row_place, int64_t column_place, int32_t weight, bool upper) {
        const PanelPlanes panel = planes_of(planes);
        check(left, panel.count);
        check(right, panel.count);
        if (left.size() != right.size()) throw nb::value_error("rows and columns must have the same number of planes");
        const DistanceKernels& kernels = kernels_named<DistanceKernels>(instruction_set);
        const DistanceTile tile = make_tile(panel, sites, rows, columns, counts, row_place, column_place, weight, upper);
        nb::gil_scoped_release unlocked;
        kernels.both(tile, left.data(), right.data(), static_cast<int>(left.size()));
      },
      nb::arg("instruction_set"), nb::arg("planes"), nb::arg("left"), nb::arg("right"), nb::arg("sites"), nb::arg("rows"),
      nb::arg("columns"), nb::arg("counts"), nb::arg("row_place"), nb::arg("column_place"), nb::arg("weight"), nb::arg("upper"),
      "Add to int32 counts weight times the number of common bits of plane left[k] of the row and right[k] of the column, "
      "summed over k. sites, upper: as for `differ`.");
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
        if (sites > 64 * words || terms.shape(0) != 9 || static_cast<int64_t>(terms.shape(1)) != 64 * words)
          throw nb::value_error("the tile does not fit");
        check_place(samples, rows, columns, height, width, row_place, column_place);
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
  nb::class_<BoundSelector>(m, "PairSelector", "Selects pairs by their counts: see `core/distance/pair_selection.py`.")
      .def(nb::init<const std::string&, std::vector<Term>, std::vector<int64_t>, std::optional<Offsets>, int64_t, std::tuple<int, int32_t>,
                    std::tuple<int, int32_t>, std::vector<int32_t>, int64_t>(),
           nb::arg("instruction_set"), nb::arg("terms"), nb::arg("weights"), nb::arg("offsets").none(), nb::arg("max_sum"),
           nb::arg("min_compared"), nb::arg("cap"), nb::arg("floors"), nb::arg("far_offset"),
           "terms: (planes of a panel, its sites, whether the operation is DIFFER, left, right, mask or -1, weight, number of the count). "
           "min_compared, cap: (number of the count or -1, limit). floors: least count of each kind, or empty.")
      .def(
          "select", &BoundSelector::select, nb::arg("rows"), nb::arg("columns"), nb::arg("upper"),
          "Return (rows, columns, int32 counts[kind][pairs], number of pairs with too few compared sites, number of pairs without a value) "
          "of the pairs in a rectangle that the rule selects. Pairs are in no particular order.");
  m.def("plain_loop", &plain_loop, nb::arg("data"), nb::arg("distances"),
        "Count the differing numbers of every ordered pair of rows, into int32[rows][rows], as the CPU code of Payne 2010 does.");
}
