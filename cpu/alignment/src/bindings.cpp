#include "bindings.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "core/common/src/owned_array.hpp"

namespace gpualign {
namespace {

void check_set(const Codes& codes, const Numbers& offsets, const Numbers& ids, const char* what) {
  const auto records = static_cast<int64_t>(offsets.shape(0)) - 1;
  if (records < 0 || offsets(0) != 0 || offsets(records) > static_cast<int64_t>(codes.shape(0)))
    throw nb::value_error((std::string(what) + ": offsets do not fit the codes").c_str());
  for (size_t i = 0; i < ids.shape(0); i++) {
    const int64_t id = ids(i);
    if (id < 0 || id >= records) throw nb::index_error((std::string(what) + ": record number out of range").c_str());
    if (offsets(id + 1) <= offsets(id)) throw nb::value_error((std::string(what) + ": empty record").c_str());
  }
}

}  // namespace

PairSets checked_sets(const Codes& query_codes, const Numbers& query_offsets, const Numbers& query_ids, const Codes& target_codes,
                      const Numbers& target_offsets, const Numbers& target_ids) {
  check_set(query_codes, query_offsets, query_ids, "queries");
  check_set(target_codes, target_offsets, target_ids, "targets");
  return {{query_codes.data(), query_offsets.data()}, {target_codes.data(), target_offsets.data()}};
}

nb::object path_arrays(PathSink&& sink, const std::vector<size_t>& shape) {
  static_assert(sizeof(PathStatistics) % sizeof(int32_t) == 0);
  constexpr size_t kFields = sizeof(PathStatistics) / sizeof(int32_t);
  std::vector<int32_t> counts(sink.statistics.size() * kFields);
  if (!counts.empty()) std::memcpy(counts.data(), sink.statistics.data(), counts.size() * sizeof(int32_t));
  std::vector<size_t> counts_shape = shape;
  counts_shape.push_back(kFields);
  nb::object starts = nb::none(), sizes = nb::none(), runs = nb::none();
  if (sink.want_runs()) {
    starts = nb::cast(owned_array(std::move(sink.starts), shape));
    sizes = nb::cast(owned_array(std::move(sink.sizes), shape));
    const size_t total = sink.runs.size();
    runs = nb::cast(owned_array(std::move(sink.runs), {total}));
  }
  return nb::make_tuple(owned_array(std::move(sink.scores), shape), owned_array(std::move(counts), counts_shape), runs, starts, sizes);
}

}  // namespace gpualign
