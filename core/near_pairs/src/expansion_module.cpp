// gpualign.core.near_pairs._expansion: Python bindings that expand near pairs of groups of equal records.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include "core/common/src/owned_array.hpp"
#include "expansion.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

using Numbers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Column = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>;

template <class Values>
Column column(Values&& values) {
  const size_t count = values.size();
  return owned_array<nb::ndim<1>>(std::move(values), {count});
}

// Throws an error unless 0 <= numbers < limit. May run without the GIL.
void check_below(const Numbers& numbers, size_t limit, const char* what) {
  const int64_t* const values = numbers.data();
  bool valid = true;
  for (size_t k = 0; k < numbers.shape(0); k++) valid &= static_cast<uint64_t>(values[k]) < limit;
  if (!valid) throw nb::index_error(what);
}

Groups checked_groups(const Numbers& members, const Numbers& starts) {
  const size_t count = starts.shape(0);
  bool valid = count > 0 && starts(0) == 0 && static_cast<size_t>(starts(count - 1)) == members.shape(0);
  for (size_t k = 0; valid && k + 1 < count; k++) valid = starts(k) < starts(k + 1);
  if (!valid) throw nb::value_error("the starts do not fit the members of groups");
  return {members.data(), starts.data(), count - 1};
}

void check_threads(int threads) {
  if (threads < 1) throw nb::value_error("at least one thread is needed");
}

// Arrays that live as long as the expansion that reads them.
struct HeldArrays {
  Numbers members, starts;
};

struct HeldExpansion : HeldArrays, PairExpansion {
  HeldExpansion(size_t queries, const Numbers& m, const Numbers& s, int64_t offset)
      : HeldArrays{m, s}, PairExpansion(queries, checked_groups(m, s), offset) {
    if (offset >= 0 && queries > targets().count) throw nb::value_error("there are more groups of queries than of targets");
  }
};

}  // namespace

NB_MODULE(_expansion, m) {
  nb::set_leak_warnings(false);  // an error's traceback still holds objects when the process ends
  m.doc() = "Expands near pairs of groups of equal records.";
  nb::class_<HeldExpansion>(
      m, "PairExpansion",
      "Near pairs of groups, as pairs of records. Records of target group g are members[starts[g]:starts[g + 1]], ascending, one at "
      "least. queries: number of groups that have queries. offset: targets are the records from query + offset on, and a pair of "
      "groups, given once with the earlier group first, is one of either group's records; negative: all records are targets.")
      .def(nb::init<size_t, const Numbers&, const Numbers&, int64_t>(), nb::arg("queries"), nb::arg("members"), nb::arg("starts"),
           nb::arg("offset"))
      .def(
          "add",
          [](HeldExpansion& self, const Numbers& queries, const Numbers& targets, const Numbers& distances, int threads) {
            if (targets.shape(0) != queries.shape(0) || distances.shape(0) != queries.shape(0))
              throw nb::value_error("a pair is a query, a target and a distance");
            check_threads(threads);
            nb::gil_scoped_release unlocked;
            check_below(queries, self.groups(), "a query's group is out of range");
            check_below(targets, self.targets().count, "a target's group is out of range");
            self.add({queries.data(), targets.data(), distances.data(), queries.shape(0)}, threads);
          },
          nb::arg("queries"), nb::arg("targets"), nb::arg("distances"), nb::arg("threads"), "Hold near pairs of groups.")
      .def(
          "max_pairs",
          [](const HeldExpansion& self, const Numbers& groups, int threads) {
            check_threads(threads);
            std::vector<int64_t> most;
            {
              nb::gil_scoped_release unlocked;
              check_below(groups, self.groups(), "a query's group is out of range");
              most = self.max_pairs(groups.data(), groups.shape(0), threads);
            }
            return column(std::move(most));
          },
          nb::arg("groups"), nb::arg("threads"),
          "Return an upper bound of the number of pairs of each query, int64. groups: of consecutive queries.")
      .def(
          "expand",
          [](const HeldExpansion& self, int64_t first, const Numbers& groups, int threads) {
            check_threads(threads);
            RecordPairs found;
            {
              nb::gil_scoped_release unlocked;
              check_below(groups, self.groups(), "a query's group is out of range");
              found = self.expand(first, groups.data(), groups.shape(0), threads);
            }
            return std::make_tuple(column(std::move(found.queries)), column(std::move(found.targets)), column(std::move(found.distances)));
          },
          nb::arg("first"), nb::arg("groups"), nb::arg("threads"),
          "Return the pairs (queries, targets, distances), sorted by query, then target, of the records from `first` on that belong to "
          "these groups.")
      .def(
          "forget",
          [](HeldExpansion& self, const Numbers& groups, int threads) {
            check_threads(threads);
            nb::gil_scoped_release unlocked;
            check_below(groups, self.groups(), "a query's group is out of range");
            self.forget(groups.data(), groups.shape(0), threads);
          },
          nb::arg("groups"), nb::arg("threads"), "Forget the pairs of groups that have no more queries.")
      .def_static("nbytes", &PairExpansion::bytes, nb::arg("queries"), "Return the bytes of memory that an expansion without pairs takes.")
      .def_prop_ro("held", [](const HeldExpansion& self) { return self.held(); }, "Number of pairs of groups that are held.");
}
