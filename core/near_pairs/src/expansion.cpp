#include "expansion.hpp"

#include <algorithm>
#include <utility>

#include "core/common/src/threads.hpp"

namespace gpualign {
namespace {

constexpr size_t kRowsPerPart = 1024;  // that a thread expands at a time

// The members of a group that are targets of a query.
struct Targets {
  const int64_t *first, *last;
};

Targets targets_of(const GroupMembers& groups, int64_t group, int64_t query, int64_t offset) {
  const int64_t *first = groups.members + groups.starts[group], *last = groups.members + groups.starts[group + 1];
  return {offset < 0 ? first : std::lower_bound(first, last, query + offset), last};
}

}  // namespace

PairColumns sort_by_query(const PairView& pairs, size_t groups, std::vector<int64_t>& starts) {
  starts.assign(groups + 1, 0);
  for (size_t k = 0; k < pairs.count; k++) starts[static_cast<size_t>(pairs.queries[k]) + 1]++;
  for (size_t g = 0; g < groups; g++) starts[g + 1] += starts[g];
  std::vector<int64_t> next(starts.begin(), starts.end() - 1);
  PairColumns out(pairs.count);
  for (size_t k = 0; k < pairs.count; k++) {
    const auto to = static_cast<size_t>(next[static_cast<size_t>(pairs.queries[k])]++);
    out.queries[to] = pairs.queries[k], out.targets[to] = pairs.targets[k], out.distances[to] = pairs.distances[k];
  }
  return out;
}

PairColumns expand_rows(const QueryRows& rows, const PairView& pairs, const int64_t* starts, const GroupMembers& targets, int64_t offset,
                        int threads) {
  const size_t parts = (rows.count + kRowsPerPart - 1) / kRowsPerPart;
  using Found = std::vector<std::pair<int64_t, int64_t>>;  // targets of a row, and distances
  const auto for_each_row = [&](const auto& act) {
    share(parts, threads, [&](size_t part) {
      Found scratch;
      for (size_t row = part * kRowsPerPart; row < std::min(rows.count, (part + 1) * kRowsPerPart); row++) act(row, scratch);
    });
  };
  const auto for_each_group = [&](size_t row, const auto& act) {
    const int64_t query = rows.first + static_cast<int64_t>(row), group = rows.groups[row];
    for (int64_t k = starts[group]; k < starts[group + 1]; k++) act(k, targets_of(targets, pairs.targets[k], query, offset));
  };
  std::vector<size_t> ends(rows.count + 1, 0);  // of the pairs of each row, one behind
  for_each_row([&](size_t row, Found&) {
    for_each_group(row, [&](int64_t, const Targets& some) { ends[row + 1] += static_cast<size_t>(some.last - some.first); });
  });
  for (size_t row = 0; row < rows.count; row++) ends[row + 1] += ends[row];
  PairColumns out(ends.back());
  for_each_row([&](size_t row, Found& found) {
    found.clear();
    for_each_group(row, [&](int64_t k, const Targets& some) {
      for (const int64_t* target = some.first; target < some.last; target++) found.emplace_back(*target, pairs.distances[k]);
    });
    std::sort(found.begin(), found.end());
    size_t to = ends[row];
    for (const auto& [target, distance] : found) {
      out.queries[to] = rows.first + static_cast<int64_t>(row), out.targets[to] = target, out.distances[to] = distance;
      to++;
    }
  });
  return out;
}

}  // namespace gpualign
