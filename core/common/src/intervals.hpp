// Disjoint intervals of letters in ascending order.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace gpualign {

struct Interval {
  int64_t begin, end;  // half-open
};

// Joins intervals that overlap or touch, from index `first` on.
inline void join(std::vector<Interval>& intervals, size_t first) {
  const auto from = intervals.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(from, intervals.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  size_t last = first;
  for (size_t k = first; k < intervals.size(); k++) {
    if (last > first && intervals[k].begin <= intervals[last - 1].end)
      intervals[last - 1].end = std::max(intervals[last - 1].end, intervals[k].end);
    else
      intervals[last++] = intervals[k];
  }
  intervals.resize(last);
}

}  // namespace gpualign
