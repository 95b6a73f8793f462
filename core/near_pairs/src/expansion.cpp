#include "expansion.hpp"

#include <algorithm>
#include <atomic>

#include "core/common/src/threads.hpp"

namespace gpualign {
namespace {

constexpr size_t kRowsPerPart = 1024;     // queries that a thread expands at a time
constexpr size_t kItemsPerThread = 8192;  // pairs that are added, or groups that are forgotten, for each thread, at least
constexpr size_t kGroupsTogether = 64;    // groups whose lists one thread changes, so that no two threads write beside each other

// Calls act(start, stop) for ranges of rows, each in one of the threads.
template <class Act>
void share_rows(size_t count, int threads, const Act& act) {
  share((count + kRowsPerPart - 1) / kRowsPerPart, threads,
        [&](size_t part) { act(part * kRowsPerPart, std::min(count, (part + 1) * kRowsPerPart)); });
}

}  // namespace

template <class Act>
void PairExpansion::deal_groups(size_t items, int threads, const Act& act) {
  const size_t parts = std::clamp<size_t>(items / kItemsPerThread, 1, static_cast<size_t>(threads));
  share(parts, threads,
        [&](size_t part) { act([=](int64_t group) { return static_cast<size_t>(group) / kGroupsTogether % parts == part; }); });
}

void PairExpansion::add(const GroupPairs& pairs, int threads) {
  std::atomic<size_t> added{0};
  deal_groups(pairs.count, threads, [&](const auto& is_own) {
    size_t held = 0;
    const auto hold = [&](int64_t query, int64_t target, int64_t distance) {
      near_[static_cast<size_t>(query)].push_back({target, distance});
      held++;
    };
    for (size_t k = 0; k < pairs.count; k++) {
      const int64_t query = pairs.queries[k], target = pairs.targets[k], distance = pairs.distances[k];
      if (is_own(query)) hold(query, target, distance);
      // The later group's records are queries of the earlier one's only if one of these follows.
      if (offset_ >= 0 && query != target && is_own(target) && static_cast<size_t>(target) < near_.size() &&
          targets_.end(query)[-1] > *targets_.begin(target))
        hold(target, query, distance);
    }
    added += held;
  });
  held_ += added;
}

std::vector<int64_t> PairExpansion::max_pairs(const int64_t* groups, size_t count, int threads) const {
  std::vector<int64_t> most(count, 0);
  share_rows(count, threads, [&](size_t start, size_t stop) {
    for (size_t row = start; row < stop; row++)
      for (const Near& near : near_[static_cast<size_t>(groups[row])]) most[row] += targets_.size(near.target);
  });
  return most;
}

RecordPairs PairExpansion::expand(int64_t first, const int64_t* groups, size_t count, int threads) const {
  const auto near_of = [&](size_t row) -> const std::vector<Near>& { return near_[static_cast<size_t>(groups[row])]; };
  // Returns the first record of a near group that is a target of the query.
  const auto first_target = [&](size_t row, int64_t group) {
    const int64_t* const begin = targets_.begin(group);
    return offset_ < 0 ? begin : std::lower_bound(begin, targets_.end(group), first + static_cast<int64_t>(row) + offset_);
  };
  std::vector<size_t> ends(count + 1, 0);  // of the pairs of each query, one behind
  share_rows(count, threads, [&](size_t start, size_t stop) {
    for (size_t row = start; row < stop; row++)
      for (const Near& near : near_of(row))
        ends[row + 1] += static_cast<size_t>(targets_.end(near.target) - first_target(row, near.target));
  });
  for (size_t row = 0; row < count; row++) ends[row + 1] += ends[row];
  RecordPairs out;
  for (auto* column : {&out.queries, &out.targets, &out.distances}) column->resize(ends.back());
  share_rows(count, threads, [&](size_t start, size_t stop) {
    std::vector<std::pair<int64_t, int64_t>> found;  // targets of a query, and distances
    for (size_t row = start; row < stop; row++) {
      found.clear();
      for (const Near& near : near_of(row))
        for (auto target = first_target(row, near.target); target < targets_.end(near.target); ++target)
          found.emplace_back(*target, near.distance);
      std::sort(found.begin(), found.end());
      size_t to = ends[row];
      for (const auto& [target, distance] : found) {
        out.queries[to] = first + static_cast<int64_t>(row), out.targets[to] = target, out.distances[to] = distance;
        to++;
      }
    }
  });
  return out;
}

void PairExpansion::forget(const int64_t* groups, size_t count, int threads) {
  std::atomic<size_t> forgotten{0};
  deal_groups(count, threads, [&](const auto& is_own) {
    for (size_t k = 0; k < count; k++) {
      if (!is_own(groups[k])) continue;
      std::vector<Near> none;
      near_[static_cast<size_t>(groups[k])].swap(none);
      forgotten += none.size();
    }
  });
  held_ -= forgotten;
}

}  // namespace gpualign
