#include "column_distances.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace gpualign {

namespace {

constexpr int64_t kTargetsAtATime = 8192;       // their letters fit the second-level cache
constexpr int64_t kLanes = 64;                  // bytes of the longest vector
constexpr uint8_t kNoLetter = 128;              // for which a look-up yields 0
constexpr int32_t kGapStart = 6, kGapStop = 9;  // positions that most often lie in the gap
constexpr int kLeading = 2;                     // letters by which runs of targets are left out

// A column of two strings: positions of its letters, and of those with which it costs as much if that is less.
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

// Neighbouring targets with the same letters at the positions that are compared first.
struct Run {
  int64_t start, stop;
  uint8_t letters[kLeading];
};

// Targets of one length: their letters by position, as in ColumnTask, and the runs of those that share leading letters.
struct Panel {
  std::vector<uint8_t> planes;
  std::vector<Run> runs;
  int64_t count = 0, stride = 0;

  void fill(const Sequences& targets, const int64_t* ids, int64_t targets_here, const std::vector<int32_t>& positions) {
    const int32_t length = static_cast<int32_t>(positions.size());
    runs.clear();
    count = targets_here;
    stride = (count + kLanes - 1) / kLanes * kLanes;
    planes.assign(static_cast<size_t>(2 * length * stride), kNoLetter);
    for (int64_t k = 0; k < count; k++) {
      const uint8_t* const codes = targets.record(ids[k]).codes;
      for (int32_t at = 0; at < length; at++) planes[static_cast<size_t>((2 * at + (codes[at] >= 16)) * stride + k)] = codes[at] & 15;
      Run run{k, k + 1, {}};
      for (int c = 0; c < kLeading && c < length; c++) run.letters[c] = codes[positions[static_cast<size_t>(c)]];
      if (!runs.empty() && std::equal(run.letters, run.letters + kLeading, runs.back().letters))
        runs.back().stop = k + 1;
      else
        runs.push_back(run);
    }
  }

  // Stores ranges [start, stop) of whole vectors that hold every target whose leading letters cost at most the limit. rows: costs of the
  // query's letter in the column of each leading letter, null if that is in no column.
  void ranges_within(const uint8_t* const* rows, int limit, std::vector<std::pair<int64_t, int64_t>>& ranges) const {
    ranges.clear();
    for (const Run& run : runs) {
      int cost = 0;
      for (int c = 0; c < kLeading; c++)
        if (rows[c]) cost += rows[c][run.letters[c]];
      if (cost > limit) continue;
      const int64_t start = run.start / kLanes * kLanes, stop = (run.stop + kLanes - 1) / kLanes * kLanes;
      if (!ranges.empty() && start <= ranges.back().second)
        ranges.back().second = stop;
      else
        ranges.emplace_back(start, stop);
    }
  }
};

}  // namespace

std::vector<int32_t> comparison_order(int32_t n) {
  std::vector<int32_t> positions(static_cast<size_t>(n));
  for (int32_t at = 0; at < n; at++) positions[static_cast<size_t>(at)] = at;
  const auto rank = [](int32_t at) { return at < kGapStart ? kGapStart - 1 - at : at >= kGapStop ? at - kGapStop : 2 + at; };
  std::stable_sort(positions.begin(), positions.end(), [&](int32_t a, int32_t b) { return rank(a) < rank(b); });
  return positions;
}

bool column_pairs(const NearKernels& kernels, const ColumnTile& tile, const ColumnDistance& distance, const Cancel& cancel,
                  NearTileResult& result) {
  const int64_t most_sum = kMaxColumnSum(distance.largest_cost);
  Panel panel;
  std::vector<uint32_t> lanes(kTargetsAtATime);
  std::vector<uint8_t> sums(kTargetsAtATime);
  std::vector<int32_t> plane_of, other_plane_of;
  std::vector<const uint8_t*> rows, other_rows;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  result.steps.assign(1, 0);
  for (int64_t start = 0; start < tile.target_count;) {
    const int32_t n = static_cast<int32_t>(tile.targets.length(tile.target_ids[start]));
    int64_t stop = start;
    while (stop < tile.target_count && stop - start < kTargetsAtATime && tile.targets.length(tile.target_ids[stop]) == n) stop++;
    const std::vector<int32_t> positions = comparison_order(n);
    panel.fill(tile.targets, tile.target_ids + start, stop - start, positions);
    std::map<int32_t, std::vector<Column>> columns_by_length;
    for (int64_t i = 0; i < tile.query_count; i++) {
      if (cancel.requested) return false;
      const Record query = tile.queries.record(tile.query_ids[i]);
      const int32_t m = static_cast<int32_t>(query.length);
      const int64_t gap = distance.gap(std::abs(m - n));
      if (gap > tile.max_distance) continue;
      auto known = columns_by_length.find(m);
      if (known == columns_by_length.end()) known = columns_by_length.emplace(m, columns_of(m, n, distance, positions)).first;
      plane_of.clear();
      rows.clear();
      other_plane_of.clear();
      other_rows.clear();
      const bool has_others = distance.gap_is_free && m != n;
      const uint8_t* leading[kLeading] = {};
      for (const Column& column : known->second) {
        plane_of.push_back(column.target);
        rows.push_back(distance.costs + 32 * query.codes[column.query]);
        if (has_others) {  // a target's letter may then be in two columns, and runs of leading letters tell nothing
          other_plane_of.push_back(column.other_target);
          other_rows.push_back(distance.costs + 32 * query.codes[column.other_query]);
          continue;
        }
        for (int c = 0; c < kLeading && c < n; c++)
          if (column.target == positions[static_cast<size_t>(c)]) leading[c] = rows.back();
      }
      const uint8_t limit = static_cast<uint8_t>(std::min(most_sum, (tile.max_distance - gap) / distance.weight));
      panel.ranges_within(leading, limit, ranges);
      for (const auto& [first, last] : ranges) {
        const ColumnTask task{panel.planes.data() + first,
                              plane_of.data(),
                              rows.data(),
                              has_others ? other_plane_of.data() : nullptr,
                              other_rows.data(),
                              static_cast<int>(plane_of.size()),
                              limit,
                              last - first,
                              panel.stride};
        const int64_t found = kernels.sum_columns(task, lanes.data(), sums.data());
        for (int64_t k = 0; k < found; k++) {
          const int64_t lane = first + lanes[static_cast<size_t>(k)];
          if (lane >= panel.count) break;  // padding
          const int64_t target = tile.target_ids[start + lane];
          if (target < tile.firsts[i]) continue;
          result.queries.push_back(tile.query_ids[i]);
          result.targets.push_back(target);
          result.distances.push_back(static_cast<int32_t>(distance.weight * sums[static_cast<size_t>(k)] + gap));
        }
      }
    }
    if (static_cast<int64_t>(result.queries.size()) > tile.max_pairs) {
      result = NearTileResult();
      result.steps.assign(1, 0);
      result.overflow = true;
      return true;
    }
    start = stop;
  }
  return true;
}

}  // namespace gpualign
