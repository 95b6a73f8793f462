// gpualign.cpu.near_pairs._neighbours: Python bindings of the join by deletion neighbourhoods.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>
#include <utility>

#include "neighbour_hashes.hpp"
#include "neighbours.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

using Codes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr int64_t kMaxRecords = 0x7fffffff;  // a record number and a flag share 32 bits
constexpr int kMaxThreads = 1024;

void check_deletions(int k) {
  if (k < 0 || k > kMaxDeletions) throw nb::value_error(("k must be 0 to " + std::to_string(kMaxDeletions)).c_str());
}

void check_threads(int threads) {
  if (threads < 1 || threads > kMaxThreads) throw nb::value_error(("threads must be 1 to " + std::to_string(kMaxThreads)).c_str());
}

Set checked_set(const Codes& codes, const Numbers& offsets) {
  const int64_t records = static_cast<int64_t>(offsets.shape(0)) - 1;
  if (records < 0 || offsets(0) != 0 || offsets(records) > static_cast<int64_t>(codes.shape(0)))
    throw nb::value_error("offsets do not fit the codes");
  for (int64_t i = 0; i < records; i++)
    if (offsets(i + 1) < offsets(i)) throw nb::value_error("offsets do not ascend");
  return {{codes.data(), offsets.data()}, records};
}

int64_t count_neighbours(Numbers lengths, int k) {
  check_deletions(k);
  int64_t sum = 0;
  for (size_t i = 0; i < lengths.shape(0); i++) {
    if (lengths(i) < 0) throw nb::value_error("a length is negative");
    const int64_t more = max_neighbours(lengths(i), k);
    if (more < 0 || __builtin_add_overflow(sum, more, &sum)) throw nb::value_error("more than 2^62 deletion neighbours");
  }
  return sum;
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> array(std::unique_ptr<T[]> values, int64_t count) {
  T* const data = values.get();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  values.release();
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {static_cast<size_t>(count)}, owner);
}

struct Candidates {
  bool overflow;
  nb::ndarray<nb::numpy, int64_t, nb::ndim<1>> queries, targets;
  nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> distances;
};

std::optional<Candidates> candidates(const Neighbourhoods& index, Numbers query_ids, Numbers firsts, int64_t max_pairs,
                                     const Cancel& cancel, std::optional<int> threads) {
  if (query_ids.shape(0) != firsts.shape(0)) throw nb::value_error("firsts must have one entry per query");
  for (size_t q = 0; q < query_ids.shape(0); q++)
    if (query_ids(q) < 0 || query_ids(q) >= index.query_count()) throw nb::index_error("record number out of range");
  const int workers = threads.value_or(index.threads());
  check_threads(workers);
  NearPairs pairs;
  {
    nb::gil_scoped_release unlocked;
    if (!index.within(query_ids.data(), firsts.data(), static_cast<int64_t>(query_ids.shape(0)), max_pairs, workers, &cancel, pairs))
      return std::nullopt;
  }
  return Candidates{pairs.overflow, array(std::move(pairs.queries), pairs.count), array(std::move(pairs.targets), pairs.count),
                    array(std::move(pairs.distances), pairs.count)};
}

}  // namespace

NB_MODULE(_neighbours, m) {
  nb::set_leak_warnings(false);  // an error's traceback still holds objects when the process ends
  m.doc() = "Finds near pairs of short strings by deletion neighbourhoods.";
  nb::module_::import_("gpualign.cpu.alignment._kernels");  // has Cancel
  m.attr("MAX_DELETIONS") = kMaxDeletions;
  m.def("max_neighbours", &count_neighbours, nb::arg("lengths"), nb::arg("k"),
        "Return an upper bound of the deletion neighbours of strings of these lengths: for each the sum of binomial(length, x), "
        "x = 0 .. k. Strings with runs of equal letters have fewer. Raises ValueError if the bound exceeds 2^62.");
  nb::class_<Candidates>(m, "Candidates",
                         "Pairs within k edits, sorted by the position of the query in query_ids and by target, each once.")
      .def_ro("overflow", &Candidates::overflow, "There are more than `max_pairs` pairs; the arrays are empty.")
      .def_ro("queries", &Candidates::queries, nb::rv_policy::reference, "int64[pairs] record numbers of the queries in their set.")
      .def_ro("targets", &Candidates::targets, nb::rv_policy::reference, "int64[pairs] record numbers of the targets in theirs.")
      .def_ro("distances", &Candidates::distances, nb::rv_policy::reference, "uint8[pairs] edit distances, 0 .. k.");
  nb::class_<Neighbourhoods>(
      m, "Neighbourhoods",
      "The deletion neighbourhoods of one set of strings, or of queries and targets: the strings that result from deleting at "
      "most k letters of each string, and the records that share them. Building takes 8 bytes per deletion neighbour "
      "(`max_neighbours`) of both sets; afterwards 8 bytes remain for each one shared by several records, about one in ten, and a copy "
      "of the strings.")
      .def(
          "__init__",
          [](Neighbourhoods* self, Codes codes, Numbers offsets, int k, int threads, const Cancel* cancel,
             std::optional<Codes> target_codes, std::optional<Numbers> target_offsets) {
            check_deletions(k);
            check_threads(threads);
            if (target_codes.has_value() != target_offsets.has_value()) throw nb::value_error("targets are codes and offsets");
            const Set queries = checked_set(codes, offsets);
            const Set targets = target_codes ? checked_set(*target_codes, *target_offsets) : Set{{nullptr, nullptr}, 0};
            if (queries.count + targets.count > kMaxRecords) throw nb::value_error("more than 2^31 - 1 records");
            nb::gil_scoped_release unlocked;
            new (self) Neighbourhoods(queries, target_codes ? &targets : nullptr, k, threads, cancel);
          },
          nb::arg("codes"), nb::arg("offsets"), nb::arg("k"), nb::arg("threads"), nb::arg("cancel") = nb::none(),
          nb::arg("target_codes") = nb::none(), nb::arg("target_offsets") = nb::none(),
          "Records are codes[offsets[i] : offsets[i + 1]], 0 <= k <= MAX_DELETIONS. They are both queries and targets unless "
          "separate targets are given. If cancelled, the index is empty and `candidates` returns None. Raises MemoryError if the "
          "entries do not fit.")
      .def_prop_ro("nbytes", &Neighbourhoods::bytes, "Bytes of memory held after building.")
      .def("candidates", &candidates, nb::arg("query_ids"), nb::arg("firsts"), nb::arg("max_pairs"), nb::arg("cancel"),
           nb::arg("threads") = nb::none(),
           "Return every pair of a query i of `query_ids` and a target j >= its entry in `firsts` within k edits, including i = j. "
           "None if cancelled. threads: by default those used for building. Several threads may call it. Memory: 25 bytes per "
           "pair.");
}
