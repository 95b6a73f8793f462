// Intervals of letters that do not touch, in order.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace gpualign {

struct Interval {
  int64_t begin, end;  // half-open
};

// Joins those that overlap or touch, from number `first` on.
inline void join(std::vector<Interval>& intervals, size_t first) {
  const auto from = intervals.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(from, intervals.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  size_t kept = first;
  for (size_t k = first; k < intervals.size(); k++) {
    if (kept > first && intervals[k].begin <= intervals[kept - 1].end)
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, intervals[k].end);
    else
      intervals[kept++] = intervals[k];
  }
  intervals.resize(kept);
}

}  // namespace gpualign
