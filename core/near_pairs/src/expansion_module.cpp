// gpualign.core.near_pairs._expansion: Python bindings that expand near pairs of groups of equal records.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "core/common/src/owned_array.hpp"
#include "expansion.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

using Numbers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object column(std::vector<int64_t>&& values) {
  const size_t count = values.size();
  return nb::cast(owned_array(std::move(values), {count}));
}

nb::object columns(PairColumns&& pairs) {
  return nb::make_tuple(column(std::move(pairs.queries)), column(std::move(pairs.targets)), column(std::move(pairs.distances)));
}

PairView view(const Numbers& queries, const Numbers& targets, const Numbers& distances) {
  if (targets.shape(0) != queries.shape(0) || distances.shape(0) != queries.shape(0))
    throw nb::value_error("a pair is a query, a target and a distance");
  return {queries.data(), targets.data(), distances.data(), queries.shape(0)};
}

// Throws an error unless 0 <= numbers < limit.
void check_below(const Numbers& numbers, size_t limit, const char* what) {
  for (size_t k = 0; k < numbers.shape(0); k++)
    if (numbers(k) < 0 || static_cast<size_t>(numbers(k)) >= limit) throw nb::index_error(what);
}

// Throws an error unless the numbers ascend from 0 to `last`.
void check_starts(const Numbers& starts, size_t last, const char* what) {
  const size_t count = starts.shape(0);
  bool valid = count > 0 && starts(0) == 0 && static_cast<size_t>(starts(count - 1)) == last;
  for (size_t k = 0; valid && k + 1 < count; k++) valid = starts(k) <= starts(k + 1);
  if (!valid) throw nb::value_error(what);
}

nb::object sort(Numbers queries, Numbers targets, Numbers distances, size_t groups) {
  const PairView pairs = view(queries, targets, distances);
  check_below(queries, groups, "a query's group is out of range");
  std::vector<int64_t> starts;
  PairColumns sorted(0);
  {
    nb::gil_scoped_release unlocked;
    sorted = sort_by_query(pairs, groups, starts);
  }
  return nb::make_tuple(columns(std::move(sorted)), column(std::move(starts)));
}

nb::object expand(int64_t first, Numbers row_groups, Numbers queries, Numbers targets, Numbers distances, Numbers starts, Numbers members,
                  Numbers member_starts, int64_t offset, int threads) {
  const PairView pairs = view(queries, targets, distances);
  if (threads < 1) throw nb::value_error("at least one thread is needed");
  check_starts(starts, pairs.count, "the starts do not fit the pairs");
  check_starts(member_starts, members.shape(0), "the starts do not fit the members of groups");
  check_below(row_groups, starts.shape(0) - 1, "a row's group is out of range");
  check_below(targets, member_starts.shape(0) - 1, "a target's group is out of range");
  PairColumns found(0);
  {
    nb::gil_scoped_release unlocked;
    found = expand_rows({first, row_groups.data(), row_groups.shape(0)}, pairs, starts.data(), {members.data(), member_starts.data()},
                        offset, threads);
  }
  return columns(std::move(found));
}

}  // namespace

NB_MODULE(_expansion, m) {
  nb::set_leak_warnings(false);  // an error's traceback still holds objects when the process ends
  m.doc() = "Expands near pairs of groups of equal records.";
  m.def("sort_by_query", &sort, nb::arg("queries"), nb::arg("targets"), nb::arg("distances"), nb::arg("groups"),
        "Return ((queries, targets, distances) in ascending order of the queries, pairs of one query in the order given; "
        "int64[groups + 1]: the pairs of query g begin at its element g).");
  m.def(
      "expand", &expand, nb::arg("first"), nb::arg("row_groups"), nb::arg("queries"), nb::arg("targets"), nb::arg("distances"),
      nb::arg("starts"), nb::arg("members"), nb::arg("member_starts"), nb::arg("offset"), nb::arg("threads"),
      "Return the pairs of records (queries, targets, distances), sorted by query, then target, of the records `first`, first + 1, .. "
      "that belong to row_groups. pairs and starts: of groups, as sort_by_query returns them. Records of group g are "
      "members[member_starts[g]:member_starts[g + 1]], ascending. offset: targets are the records from query + offset on; negative: all.");
}
