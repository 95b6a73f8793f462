#include "expansion.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "core/common/src/threads.hpp"

namespace gpualign {
namespace {

constexpr size_t kRowsPerPart = 1024;     // queries that a thread expands at a time
constexpr size_t kItemsPerThread = 8192;  // pairs to add, or groups to forget, for which another thread is worth its start
constexpr size_t kGroupsTogether = 64;    // neighbouring groups that share a pool
constexpr size_t kMaxSpareItems = 64;     // longer lists are freed, because any group might take them, and their memory is not counted

// Calls act(start, stop) for ranges of rows, each in one of the threads.
template <class Act>
void share_rows(size_t count, int threads, const Act& act) {
  share((count + kRowsPerPart - 1) / kRowsPerPart, threads,
        [&](size_t part) { act(part * kRowsPerPart, std::min(count, (part + 1) * kRowsPerPart)); });
}

}  // namespace

size_t PairExpansion::pool_of(int64_t group) {
  const uint32_t spread = static_cast<uint32_t>(static_cast<size_t>(group) / kGroupsTogether) * 2654435769u;  // Knuth's multiplier
  return spread / (static_cast<size_t>(UINT32_MAX) / kPools + 1);
}

template <class Act>
void PairExpansion::deal_groups(size_t items, int threads, const Act& act) {
  const size_t parts = std::clamp<size_t>(items / kItemsPerThread, 1, std::min(static_cast<size_t>(threads), kPools));
  share(parts, threads, [&](size_t part) {
    std::array<bool, kPools> own;
    for (size_t pool = 0; pool < kPools; pool++) own[pool] = pool % parts == part;
    act([&](int64_t group) { return own[pool_of(group)]; });
  });
}

void PairExpansion::add(const GroupPairs& pairs, int threads) {
  std::atomic<size_t> added{0};
  deal_groups(pairs.count, threads, [&](const auto& is_own) {
    size_t held = 0;
    const auto hold = [&](int64_t query, int64_t target, int64_t distance) {
      NearList& near = near_[static_cast<size_t>(query)];
      auto& spare = spare_[pool_of(query)];
      if (near.capacity() == 0 && !spare.empty()) {
        near = std::move(spare.back());
        spare.pop_back();
      }
      near.push_back({target, distance});
      held++;
    };
    for (size_t k = 0; k < pairs.count; k++) {
      const int64_t query = pairs.queries[k], target = pairs.targets[k], distance = pairs.distances[k];
      if (is_own(query)) hold(query, target, distance);
      // The later group's records are queries of the earlier one's only if one of these follows, which is not the first of its group.
      if (offset_ >= 0 && targets_.size(query) > 1 && query != target && is_own(target) && static_cast<size_t>(target) < near_.size() &&
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
  // Pairs of some queries: targets and distances, those of each query sorted. They are found before it is known where they belong.
  struct Part {
    std::vector<std::pair<int64_t, int64_t>> found;
    size_t start;  // place of the first pair among all
  };
  std::vector<Part> parts((count + kRowsPerPart - 1) / kRowsPerPart);
  std::vector<size_t> ends(count);  // of the pairs of each query, among those of its part
  share_rows(count, threads, [&](size_t start, size_t stop) {
    auto& found = parts[start / kRowsPerPart].found;
    for (size_t row = start; row < stop; row++) {
      const size_t before = found.size();
      for (const Near& near : near_[static_cast<size_t>(groups[row])]) {
        const int64_t *target = targets_.begin(near.target), *const end = targets_.end(near.target);
        if (offset_ >= 0) target = std::lower_bound(target, end, first + static_cast<int64_t>(row) + offset_);
        for (; target < end; ++target) found.emplace_back(*target, near.distance);
      }
      std::sort(found.begin() + static_cast<std::ptrdiff_t>(before), found.end());
      ends[row] = found.size();
    }
  });
  size_t total = 0;
  for (Part& part : parts) part.start = std::exchange(total, total + part.found.size());
  RecordPairs out;
  for (auto* column : {&out.queries, &out.targets, &out.distances}) column->resize(total);
  share_rows(count, threads, [&](size_t start, size_t stop) {
    const Part& part = parts[start / kRowsPerPart];
    size_t from = 0, to = part.start;
    for (size_t row = start; row < stop; row++)
      for (; from < ends[row]; from++, to++) {
        const auto& [target, distance] = part.found[from];
        out.queries[to] = first + static_cast<int64_t>(row), out.targets[to] = target, out.distances[to] = distance;
      }
  });
  return out;
}

void PairExpansion::forget(const int64_t* groups, size_t count, int threads) {
  std::atomic<size_t> forgotten{0};
  deal_groups(count, threads, [&](const auto& is_own) {
    for (size_t k = 0; k < count; k++) {
      if (!is_own(groups[k])) continue;
      NearList near = std::exchange(near_[static_cast<size_t>(groups[k])], {});
      forgotten += near.size();
      near.clear();
      if (near.capacity() > 0 && near.capacity() <= kMaxSpareItems) spare_[pool_of(groups[k])].push_back(std::move(near));
    }
  });
  held_ -= forgotten;
}

}  // namespace gpualign
