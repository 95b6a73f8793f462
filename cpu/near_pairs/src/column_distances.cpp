#include "column_distances.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "column_tree.hpp"

namespace gpualign {

namespace {

constexpr int64_t kMaxPanelTargets = 1 << 15;   // their letters fit the second-level cache
constexpr uint8_t kLooksUpNothing = 128;        // for which a look-up yields 0
constexpr int32_t kGapStart = 6, kGapStop = 9;  // positions that most often lie in the gap

// A column of two strings: positions of its letters, and of those on the other side of a free gap. It costs the lower of the two costs.
struct Column {
  int32_t query, target;
  int32_t other_query = query, other_target = target;
};

// Returns the columns that cost something, in the order of `positions` of the target.
std::vector<Column> columns_of(int32_t m, int32_t n, const ColumnDistance& distance, const std::vector<int32_t>& positions) {
  const int32_t shorter = std::min(m, n);
  std::vector<Column> out;
  if (distance.gap_is_free && m != n) {
    for (const int32_t at : comparison_order(shorter)) out.push_back({at, at, at + m - shorter, at + n - shorter});
    return out;
  }
  const int32_t below = shorter < 5 ? (shorter - 6) / 2 : (shorter - 5) / 2;  // floor((s - 5) / 2)
  const int32_t gap = m == n ? m : std::min(6, 3 + below);
  for (const int32_t at : positions) {
    const int32_t from_end = n - 1 - at;
    if (at < gap) {
      if (at >= distance.trim_start && (m != n || from_end >= distance.trim_end)) out.push_back({at, at});
    } else if (from_end < shorter - gap) {
      if (from_end >= distance.trim_end) out.push_back({m - 1 - from_end, at});
    }
  }
  return out;
}

// The columns of strings of two lengths, and in them the query's position that is compared with each leading letter of a target. It is -1
// if the letter is in no column, or if it is in two because the gap is free.
struct Alignment {
  std::vector<Column> columns;
  bool has_others;
  int32_t leading[kTreeLetters];

  Alignment(int32_t m, int32_t n, const ColumnDistance& distance, const std::vector<int32_t>& positions)
      : columns(columns_of(m, n, distance, positions)), has_others(distance.gap_is_free && m != n) {
    std::fill_n(leading, kTreeLetters, -1);
    if (has_others) return;
    for (const Column& column : columns)
      for (size_t c = 0; c < kTreeLetters && c < positions.size(); c++)
        if (column.target == positions[c]) leading[c] = column.query;
  }
};

// Returns the positions of a tile's queries by their length, those of one length by label and by the letters that are compared first.
std::map<int32_t, std::vector<int64_t>> queries_by_length(const ColumnTile& tile) {
  std::map<int32_t, std::vector<int64_t>> groups;
  for (int64_t i = 0; i < tile.query_count; i++) groups[static_cast<int32_t>(tile.queries.length(tile.query_ids[i]))].push_back(i);
  for (auto& [length, group] : groups) {
    const std::vector<int32_t> positions = comparison_order(length);
    std::sort(group.begin(), group.end(), [&](int64_t i, int64_t j) {
      const int64_t a = tile.query_ids[i], b = tile.query_ids[j];
      if (tile.labels && tile.labels[a] != tile.labels[b]) return tile.labels[a] < tile.labels[b];
      const uint8_t *const one = tile.queries.record(a).codes, *const other = tile.queries.record(b).codes;
      for (const int32_t at : positions)
        if (one[at] != other[at]) return one[at] < other[at];
      return i < j;
    });
  }
  return groups;
}

}  // namespace

std::vector<int32_t> comparison_order(int32_t n) {
  std::vector<int32_t> positions(static_cast<size_t>(n));
  for (int32_t at = 0; at < n; at++) positions[static_cast<size_t>(at)] = at;
  const auto rank = [](int32_t at) { return at < kGapStart ? kGapStart - 1 - at : at >= kGapStop ? at - kGapStop : 2 + at; };
  std::stable_sort(positions.begin(), positions.end(), [&](int32_t a, int32_t b) { return rank(a) < rank(b); });
  return positions;
}

// Targets of one length.
struct ColumnPanel {
  int32_t length;
  std::vector<int32_t> positions;
  int64_t stride;
  std::vector<uint8_t> planes;  // letters by position, as in ColumnTask
  ColumnTree tree;

  ColumnPanel(const Sequences& records, const int64_t* ids, int64_t count, const int32_t* labels)
      : length(static_cast<int32_t>(records.length(ids[0]))), positions(comparison_order(length)),
        stride((count + kLanes - 1) / kLanes * kLanes + kLanes),  // no power of 2, so that planes do not share cache sets
        planes(static_cast<size_t>(2 * length * stride), kLooksUpNothing) {
    const int levels = 1 + std::min(kTreeLetters, length);
    std::vector<int32_t> values(static_cast<size_t>(count * levels));  // what the tree compares, target by target
    for (int64_t k = 0; k < count; k++) {
      const uint8_t* const codes = records.record(ids[k]).codes;
      for (int32_t at = 0; at < length; at++) planes[static_cast<size_t>((2 * at + (codes[at] >= 16)) * stride + k)] = codes[at] & 15;
      int32_t* const own = values.data() + k * levels;
      own[0] = labels ? labels[ids[k]] : 0;
      for (int c = 1; c < levels; c++) own[c] = codes[positions[static_cast<size_t>(c - 1)]];
    }
    tree = ColumnTree(values, levels);
  }
};

ColumnTargets::ColumnTargets(const Sequences& records, const int64_t* ids, int64_t count, const int32_t* labels)
    : records_(records), ids_(ids), labels_(labels), starts_(1, 0) {
  for (int64_t k = 1; k <= count; k++)
    if (k == count || k - starts_.back() == kMaxPanelTargets || records.length(ids[k]) != records.length(ids[starts_.back()]))
      starts_.push_back(k);
  panels_.resize(starts_.size() - 1);
}

ColumnTargets::ColumnTargets(ColumnTargets&&) noexcept = default;
ColumnTargets::~ColumnTargets() = default;

void ColumnTargets::fill(int64_t panel) {
  const size_t p = static_cast<size_t>(panel);
  panels_[p] = std::make_unique<ColumnPanel>(records_, ids_ + starts_[p], starts_[p + 1] - starts_[p], labels_);
}

bool ColumnTargets::is_filled() const {
  return std::all_of(panels_.begin(), panels_.end(), [](const auto& panel) { return panel != nullptr; });
}

bool column_pairs(const NearKernels& kernels, const ColumnTile& tile, const ColumnDistance& distance, const Cancel& cancel,
                  NearTileResult& result) {
  const int64_t most_sum = kMaxColumnSum(distance.largest_cost);
  const auto queries = queries_by_length(tile);
  TreeSearch search;
  std::vector<uint32_t> lanes(kMaxPanelTargets);
  std::vector<uint8_t> sums(kMaxPanelTargets);
  std::vector<int32_t> plane_of, other_plane_of;
  std::vector<const uint8_t*> rows, other_rows;
  result.steps.assign(1, 0);
  for (size_t p = 0; p < tile.targets.panels_.size(); p++) {
    const ColumnPanel& panel = *tile.targets.panels_[p];
    const int64_t* const ids = tile.targets.ids_ + tile.targets.starts_[p];
    const int64_t count = tile.targets.starts_[p + 1] - tile.targets.starts_[p];
    for (const auto& [m, group] : queries) {
      const int64_t gap = distance.gap(std::abs(m - panel.length));
      if (gap > tile.max_distance) continue;
      const int64_t max_distance = tile.max_distance - gap;
      const Alignment alignment(m, panel.length, distance, panel.positions);
      plane_of.clear();
      other_plane_of.clear();
      for (const Column& column : alignment.columns) {
        plane_of.push_back(column.target);
        other_plane_of.push_back(column.other_target);
      }
      search.begin(panel.tree);
      for (const int64_t i : group) {
        if (cancel.requested) return false;
        const int64_t query = tile.query_ids[i];
        const uint8_t* const codes = tile.queries.record(query).codes;
        rows.clear();
        other_rows.clear();
        for (const Column& column : alignment.columns) {
          rows.push_back(distance.costs + 32 * codes[column.query]);
          other_rows.push_back(distance.costs + 32 * codes[column.other_query]);
        }
        TreeKey key{};
        if (tile.labels) {
          key.values[0] = tile.labels[query];
          key.label_distances = tile.label_distances + key.values[0] * tile.label_count;
        }
        for (int c = 0; c < kTreeLetters; c++) {
          const int32_t at = alignment.leading[c];
          key.values[1 + c] = at < 0 ? TreeKey::kNone : codes[at];
          key.costs[c] = at < 0 ? nullptr : distance.costs + 32 * codes[at];
        }
        for (const TreeSearch::Range& range : search.ranges_within(key, distance.weight, max_distance)) {
          const ColumnTask task{panel.planes.data() + range.start,
                                plane_of.data(),
                                rows.data(),
                                alignment.has_others ? other_plane_of.data() : nullptr,
                                other_rows.data(),
                                static_cast<int>(plane_of.size()),
                                static_cast<uint8_t>(std::min(most_sum, (max_distance - range.label_distance) / distance.weight)),
                                range.stop - range.start,
                                panel.stride};
          const int64_t found = kernels.sum_columns(task, lanes.data(), sums.data());
          for (int64_t k = 0; k < found; k++) {
            const int64_t lane = range.start + lanes[static_cast<size_t>(k)];
            if (lane >= count) break;  // padding
            const int64_t target = ids[lane];
            if (target < tile.firsts[i]) continue;
            int64_t sum = distance.weight * sums[static_cast<size_t>(k)];
            if (tile.labels) sum += key.label_distances[tile.targets.labels_[target]];
            if (sum > max_distance) continue;
            result.queries.push_back(query);
            result.targets.push_back(target);
            result.distances.push_back(static_cast<int32_t>(sum + gap));
          }
        }
        if (static_cast<int64_t>(result.queries.size()) > tile.max_pairs) {
          result = NearTileResult();
          result.steps.assign(1, 0);
          result.overflow = true;
          return true;
        }
      }
    }
  }
  return true;
}

}  // namespace gpualign
