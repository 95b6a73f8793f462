// gpualign.cpu.near_pairs._near: Python bindings of the search for near pairs.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "column_distances.hpp"
#include "core/common/src/owned_array.hpp"
#include "cpu/src/dispatch.hpp"
#include "near_bound.hpp"
#include "near_records.hpp"
#include "near_tile.hpp"
#include "near_verify.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

using Codes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Arrays that live as long as the records that read them.
struct HeldArrays {
  HeldArrays(Codes c, Numbers o) : codes(std::move(c)), offsets(std::move(o)) {
    if (!offsets.shape(0)) throw nb::value_error("offsets must begin with 0");
  }
  Codes codes;
  Numbers offsets;
};

struct HeldRecords : HeldArrays, Records {
  HeldRecords(Codes c, Numbers o, int letters, int q, int bits)
      : HeldArrays(std::move(c), std::move(o)), Records(codes.data(), static_cast<int64_t>(codes.shape(0)), offsets.data(),
                                                        static_cast<int64_t>(offsets.shape(0)) - 1, letters, q, bits) {}
};

struct Found {
  nb::ndarray<nb::numpy, int64_t> queries, targets;
  nb::ndarray<nb::numpy, int32_t> distances;
  nb::ndarray<nb::numpy, int64_t> steps;
  bool overflow;
};

template <class T>
nb::ndarray<nb::numpy, T> column(std::vector<T>&& values) {
  const size_t size = values.size();
  return owned_array(std::move(values), {size});
}

void check_sets(const Records& queries, const Records& targets) {
  if (!queries.built() || !targets.built()) throw nb::value_error("the records are not built");
  if (queries.letters() != targets.letters() || queries.q() != targets.q() || queries.bits() != targets.bits())
    throw nb::value_error("queries and targets must have the same letters, q and bits");
}

void check_ids(const Numbers& ids, int64_t count, const char* what) {
  for (size_t i = 0; i < ids.shape(0); i++)
    if (ids(i) < 0 || ids(i) >= count) throw nb::index_error((std::string(what) + ": record number out of range").c_str());
}

// targets: what has the lengths of records, by number.
template <class Targets>
void check_ascending(const Targets& targets, const Numbers& ids) {
  for (size_t i = 1; i < ids.shape(0); i++)
    if (targets.length(ids(i)) < targets.length(ids(i - 1))) throw nb::value_error("targets must be in ascending order of length");
}

// Returns a tile after checking its arguments.
NearTile checked_tile(const Records& queries, const Records& targets, const Numbers& query_ids, const Numbers& firsts,
                      const Numbers& target_ids, bool use_counts, int64_t max_pairs) {
  check_sets(queries, targets);
  check_ids(query_ids, queries.count(), "queries");
  check_ids(target_ids, targets.count(), "targets");
  if (firsts.shape(0) != query_ids.shape(0)) throw nb::value_error("a query has one first target");
  check_ascending(targets, target_ids);
  return {query_ids.data(),
          firsts.data(),
          static_cast<int64_t>(query_ids.shape(0)),
          target_ids.data(),
          static_cast<int64_t>(target_ids.shape(0)),
          use_counts,
          max_pairs};
}

std::optional<Found> tile(const std::string& instruction_set, const HeldRecords& queries, const HeldRecords& targets, Numbers query_ids,
                          Numbers firsts, Numbers target_ids, const Bound& bound, bool use_counts, int64_t max_pairs,
                          const Cancel& cancel) {
  const NearKernels& kernels = kernels_named<NearKernels>(instruction_set);
  const NearTile request = checked_tile(queries, targets, query_ids, firsts, target_ids, use_counts, max_pairs);
  NearTileResult result;
  bool done;
  {
    nb::gil_scoped_release unlocked;
    done = near_tile(kernels, queries, targets, request, bound, cancel, result);
  }
  if (!done) return std::nullopt;
  return Found{column(std::move(result.queries)), column(std::move(result.targets)), column(std::move(result.distances)),
               column(std::move(result.steps)), result.overflow};
}

nb::ndarray<nb::numpy, int64_t> survivors(const std::string& instruction_set, const HeldRecords& queries, const HeldRecords& targets,
                                          Numbers query_ids, Numbers firsts, Numbers target_ids, const Bound& bound, bool use_counts) {
  const NearKernels& kernels = kernels_named<NearKernels>(instruction_set);
  const NearTile request = checked_tile(queries, targets, query_ids, firsts, target_ids, use_counts, 0);
  std::vector<int64_t> steps;
  {
    nb::gil_scoped_release unlocked;
    steps = count_survivors(kernels, queries, targets, request, bound);
  }
  return column(std::move(steps));
}

std::optional<nb::ndarray<nb::numpy, int32_t>> within(const std::string& instruction_set, const HeldRecords& queries,
                                                      const HeldRecords& targets, Numbers query_ids, Numbers target_ids, const Bound& bound,
                                                      const Cancel& cancel) {
  const NearKernels& kernels = kernels_named<NearKernels>(instruction_set);
  check_sets(queries, targets);
  check_ids(query_ids, queries.count(), "queries");
  check_ids(target_ids, targets.count(), "targets");
  const size_t count = query_ids.shape(0);
  if (target_ids.shape(0) != count) throw nb::value_error("a pair is a query and a target");
  std::vector<int32_t> distances(count);
  bool done;
  {
    nb::gil_scoped_release unlocked;
    done = Verifier(kernels, queries, targets, bound, cancel)
               .distances(query_ids.data(), target_ids.data(), static_cast<int64_t>(count), distances.data());
  }
  if (!done) return std::nullopt;
  return column(std::move(distances));
}

using Costs = nb::ndarray<const uint8_t, nb::shape<32, 32>, nb::c_contig, nb::device::cpu>;

// Returns sequences after checking that their offsets ascend within the codes, which are below 32.
Sequences checked_sequences(const Codes& codes, const Numbers& offsets, const char* what) {
  const size_t count = offsets.shape(0);
  bool is_valid = count > 0 && offsets(0) == 0 && offsets(count - 1) == static_cast<int64_t>(codes.shape(0));
  for (size_t i = 1; is_valid && i < count; i++) is_valid = offsets(i - 1) < offsets(i) && offsets(i) - offsets(i - 1) < (1 << 24);
  for (size_t i = 0; is_valid && i < codes.shape(0); i++) is_valid = codes(i) < 32;
  if (!is_valid)
    throw nb::value_error((std::string(what) + ": offsets must ascend from 0 to the number of codes, codes be below 32").c_str());
  return {codes.data(), offsets.data()};
}

// Returns sequences after checking the queries among them, as `checked_sequences` does, but in the time of these alone.
Sequences checked_queries(const Codes& codes, const Numbers& offsets, const Numbers& ids) {
  if (!offsets.shape(0)) throw nb::value_error("offsets must begin with 0");
  check_ids(ids, static_cast<int64_t>(offsets.shape(0)) - 1, "query_ids");
  for (size_t i = 0; i < ids.shape(0); i++) {
    const int64_t start = offsets(ids(i)), stop = offsets(ids(i) + 1);
    bool is_valid = 0 <= start && start < stop && stop <= static_cast<int64_t>(codes.shape(0)) && stop - start < (1 << 24);
    for (int64_t at = start; is_valid && at < stop; at++) is_valid = codes(at) < 32;
    if (!is_valid) throw nb::value_error("queries: offsets must ascend within the codes, which must be below 32");
  }
  return {codes.data(), offsets.data()};
}

using Labels = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using LabelDistances = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Checks that each record has a label, and that the labels are at least 0.
void check_labels(const Labels& labels, size_t records) {
  bool is_valid = labels.shape(0) == records;
  for (size_t i = 0; is_valid && i < records; i++) is_valid = labels(i) >= 0;
  if (!is_valid) throw nb::value_error("each record has one label, at least 0");
}

// Targets with the arrays that they read.
struct HeldColumnTargets : ColumnTargets {
  HeldColumnTargets(Codes c, Numbers o, Numbers i, std::optional<Labels> l)
      : ColumnTargets(checked_sequences(c, o, "targets"), checked_ids(i, o), i.shape(0), checked_labels(l, o)), codes(std::move(c)),
        offsets(std::move(o)), ids(std::move(i)), labels(std::move(l)) {
    for (size_t k = 0; labels && k < labels->shape(0); k++) largest_label = std::max(largest_label, (*labels)(k));
  }

  static const int64_t* checked_ids(const Numbers& ids, const Numbers& offsets) {
    check_ids(ids, static_cast<int64_t>(offsets.shape(0)) - 1, "target_ids");
    check_ascending(Sequences{nullptr, offsets.data()}, ids);
    return ids.data();
  }
  static const int32_t* checked_labels(const std::optional<Labels>& labels, const Numbers& offsets) {
    if (labels) check_labels(*labels, offsets.shape(0) - 1);
    return labels ? labels->data() : nullptr;
  }

  Codes codes;
  Numbers offsets, ids;
  std::optional<Labels> labels;
  int32_t largest_label = 0;
};

std::optional<Found> column_tile(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids,
                                 Numbers firsts, const HeldColumnTargets& targets, Costs costs, int weight, int gap_open, int gap_extend,
                                 int trim_start, int trim_end, bool gap_is_free, std::optional<std::tuple<Labels, LabelDistances>> labels,
                                 int64_t max_distance, int64_t max_pairs, const Cancel& cancel) {
  const NearKernels& kernels = kernels_named<NearKernels>(instruction_set);
  const Sequences queries = checked_queries(query_codes, query_offsets, query_ids);
  if (firsts.shape(0) != query_ids.shape(0)) throw nb::value_error("a query has one first target");
  if (!targets.is_filled()) throw nb::value_error("the panels of the targets are not filled");
  int largest = 0;
  for (size_t i = 0; i < 32 * 32; i++) largest = costs.data()[i] > largest ? costs.data()[i] : largest;
  if (largest > 64 || weight < 1 || gap_open < 0 || gap_extend < 0 || trim_start < 0 || trim_end < 0 || max_distance < 0 ||
      max_distance / weight > kMaxColumnSum(largest) || (gap_is_free && (trim_start || trim_end)))
    throw nb::value_error("the costs or the distance are out of range");
  const ColumnDistance distance{costs.data(), largest, weight, gap_open, gap_extend, trim_start, trim_end, gap_is_free};
  if (labels.has_value() != targets.labels.has_value()) throw nb::value_error("either both queries and targets have labels, or neither");
  size_t label_count = 0;
  if (labels) {
    const auto& [of_queries, distances] = *labels;
    label_count = distances.shape(0);
    bool is_valid = distances.shape(1) == label_count && static_cast<size_t>(targets.largest_label) < label_count &&
                    of_queries.shape(0) == query_offsets.shape(0) - 1;
    for (size_t i = 0; is_valid && i < query_ids.shape(0); i++) {
      const int32_t label = of_queries.data()[query_ids(i)];
      is_valid = label >= 0 && static_cast<size_t>(label) < label_count;
    }
    for (size_t i = 0; is_valid && i < label_count * label_count; i++) is_valid = distances.data()[i] >= 0;
    if (!is_valid) throw nb::value_error("labels must be numbers of rows and columns of their distances, which are at least 0");
  }
  const ColumnTile tile{queries,
                        query_ids.data(),
                        firsts.data(),
                        static_cast<int64_t>(query_ids.shape(0)),
                        targets,
                        labels ? std::get<0>(*labels).data() : nullptr,
                        labels ? std::get<1>(*labels).data() : nullptr,
                        static_cast<int64_t>(label_count),
                        max_distance,
                        max_pairs};
  NearTileResult result;
  bool done;
  {
    nb::gil_scoped_release unlocked;
    done = column_pairs(kernels, tile, distance, cancel, result);
  }
  if (!done) return std::nullopt;
  return Found{column(std::move(result.queries)), column(std::move(result.targets)), column(std::move(result.distances)),
               column(std::move(result.steps)), result.overflow};
}

}  // namespace

NB_MODULE(_near, m) {
  nb::set_leak_warnings(false);  // an error's traceback still holds objects when the process ends
  m.doc() = "Finds the pairs of records within an edit distance.";
  m.attr("Cancel") = nb::module_::import_("gpualign.cpu.alignment._kernels").attr("Cancel");

  nb::class_<Bound>(
      m, "Bound",
      "The largest allowed edit distance for m and n letters: floor(per_letter * (m + n) + per_shorter * min(m, n) + "
      "constant), none if it is below 0. It is computed in float64: callers whose bound must not lose pairs to rounding add a "
      "margin. coverage: fraction of max(m, n), or with coverage_of_shorter of min(m, n), that either record has in aligned pairs "
      "of letters; inside: edits between the first and the last pair, per letter there, apart from `ambiguous` edits. With a coverage of 0 "
      "neither restricts pairs. equal_gain, other_gain: least increase of the score if two letters in gaps at one end are paired, equal "
      "ones with codes below `ordinary` or any; 0, 0: unknown.")
      .def(
          "__init__",
          [](Bound* self, double per_letter, double per_shorter, double constant, double inside, double coverage, bool coverage_of_shorter,
             int64_t ambiguous, int64_t equal_gain, int64_t other_gain, int ordinary) {
            new (self) Bound(per_letter, per_shorter, constant, inside, coverage, coverage_of_shorter, ambiguous,
                             {equal_gain, other_gain, ordinary});
          },
          nb::arg("per_letter"), nb::arg("per_shorter"), nb::arg("constant"), nb::arg("inside") = 0.0, nb::arg("coverage") = 0.0,
          nb::arg("coverage_of_shorter") = false, nb::arg("ambiguous") = 0, nb::arg("equal_gain") = 0, nb::arg("other_gain") = 0,
          nb::arg("ordinary") = 0)
      .def("at", &Bound::at, nb::arg("m"), nb::arg("n"), "Return the bound, at most max(m, n); -1 if no such pair is allowed.");

  nb::class_<HeldRecords>(
      m, "Records",
      "Records as bit planes, letter counts and, unless q is 0, sketches: the sets of their hashed q-grams in `bits` bits (a "
      "power of two from 64 to 32768). Codes are below `letters`, at most 32; record i is codes[offsets[i]:offsets[i + 1]].")
      .def(nb::init<Codes, Numbers, int, int, int>(), nb::arg("codes"), nb::arg("offsets"), nb::arg("letters"), nb::arg("q"),
           nb::arg("bits"))
      .def(
          "build", [](HeldRecords& r, int64_t first, int64_t stop, int threads) { r.build(first, stop, threads); }, nb::arg("first"),
          nb::arg("stop"), nb::arg("threads") = 1, nb::call_guard<nb::gil_scoped_release>(),
          "Build the records first to stop - 1, in `threads` threads. Every record must be built once.")
      .def_prop_ro("nbytes", [](const HeldRecords& r) { return r.bytes(); }, "Bytes of memory, without codes and offsets.");

  nb::class_<Found>(m, "Found", "The near pairs of a tile; those of near_tile are sorted by query, then target.")
      .def_prop_ro(
          "queries", [](const Found& f) { return f.queries; }, nb::rv_policy::automatic, "int64[pairs]: record numbers.")
      .def_prop_ro(
          "targets", [](const Found& f) { return f.targets; }, nb::rv_policy::automatic, "int64[pairs]: record numbers.")
      .def_prop_ro(
          "distances", [](const Found& f) { return f.distances; }, nb::rv_policy::automatic, "int32[pairs].")
      .def_prop_ro(
          "steps", [](const Found& f) { return f.steps; }, nb::rv_policy::automatic,
          "int64[4] of near_tile: pairs requested, and pairs remaining after lengths, after letter counts, after sketches. Not used by "
          "column_tile.")
      .def_ro("overflow", &Found::overflow, "More pairs are near than allowed: the arrays are empty, and the steps are incomplete.");

  m.def(
      "instruction_sets",
      [] {
        std::vector<std::tuple<std::string, int, bool, bool>> out;
        for (const auto& v : variants<NearKernels>())
          out.emplace_back(v.kernels->name, v.kernels->vector_bytes, v.kernels->counts_bits, v.supported);
        return out;
      },
      "(name, bytes of a vector, counts the bits of vectors, runs on this machine) of each variant in this build, fastest first.");
  m.def("near_tile", &tile, nb::arg("instruction_set"), nb::arg("queries"), nb::arg("targets"), nb::arg("query_ids"), nb::arg("firsts"),
        nb::arg("target_ids"), nb::arg("bound"), nb::arg("use_counts"), nb::arg("max_pairs"), nb::arg("cancel"),
        "Return the pairs of query_ids and target_ids within the bound; None if cancelled. Query query_ids[i] is compared with "
        "targets from record firsts[i] on. target_ids: int64, in ascending order of length. use_counts: compare letter counts. "
        "If there are more than `max_pairs` pairs, overflow is set.");
  m.def("count_survivors", &survivors, nb::arg("instruction_set"), nb::arg("queries"), nb::arg("targets"), nb::arg("query_ids"),
        nb::arg("firsts"), nb::arg("target_ids"), nb::arg("bound"), nb::arg("use_counts"),
        "Return the steps of near_tile (Found.steps) without computing distances.");
  m.def("within", &within, nb::arg("instruction_set"), nb::arg("queries"), nb::arg("targets"), nb::arg("query_ids"), nb::arg("target_ids"),
        nb::arg("bound"), nb::arg("cancel"),
        "Return int32[pairs]: the edit distance of each query and target if it is within the bound, else -1; None if cancelled. "
        "Record numbers are int64, in any order.");
  nb::class_<HeldColumnTargets>(
      m, "ColumnTargets",
      "Targets of column_tile in panels, which must be filled before. target_ids: int64, in ascending order of length; it is fastest "
      "if those of one length are in order of label, then of the letters compared first (comparison_order). labels: int32[records] or "
      "None.")
      .def(nb::init<Codes, Numbers, Numbers, std::optional<Labels>>(), nb::arg("codes"), nb::arg("offsets"), nb::arg("target_ids"),
           nb::arg("labels").none())
      .def_prop_ro("panel_count", &HeldColumnTargets::panel_count)
      .def(
          "fill",
          [](HeldColumnTargets& targets, int64_t panel) {
            if (panel < 0 || panel >= targets.panel_count()) throw nb::index_error("panel number out of range");
            targets.fill(panel);
          },
          nb::arg("panel"), nb::call_guard<nb::gil_scoped_release>(), "Fill a panel. Threads may fill different panels at the same time.");
  m.def("column_tile", &column_tile, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"), nb::arg("query_ids"),
        nb::arg("firsts"), nb::arg("targets"), nb::arg("costs"), nb::arg("weight"), nb::arg("gap_open"), nb::arg("gap_extend"),
        nb::arg("trim_start"), nb::arg("trim_end"), nb::arg("gap_is_free"), nb::arg("labels").none(), nb::arg("max_distance"),
        nb::arg("max_pairs"), nb::arg("cancel"),
        "Return the pairs of query_ids and targets whose distance along columns is at most max_distance, in any order; None if "
        "cancelled. Query query_ids[i] is compared with targets from record firsts[i] on. costs: uint8[32][32], symmetric, at most 64. "
        "distance = weight * (costs of the letters in the same column), and for a difference of k > 0 letters gap_open + (k - 1) * "
        "gap_extend. The gap has a fixed place, and the first trim_start letters and the last trim_end cost nothing. With gap_is_free "
        "(and no trimming), each letter of the shorter record costs the lower of two costs: with the letter as far from the start of "
        "the longer record, and with that as far from its end. labels: None, or (int32 label of each query, int32[labels][labels] "
        "distances of labels), which are added. If there are more than `max_pairs` pairs, overflow is set.");
  m.def(
      "comparison_order", [](int n) { return n < 0 ? std::vector<int32_t>() : comparison_order(n); }, nb::arg("n"),
      "Return the positions of a string of n letters in the order in which column_tile compares them.");
}
