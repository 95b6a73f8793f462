#include "column_tree.hpp"

#include <cstddef>

namespace gpualign {

ColumnTree::ColumnTree(const std::vector<int32_t>& values, int levels) {
  nodes_.push_back({0, static_cast<int32_t>(values.size()) / levels, 0, 0, 0});
  size_t first = 0;
  for (int level = 0; level < levels; level++) {
    const size_t stop = nodes_.size();
    for (size_t n = first; n < stop; n++) {
      if (level > 0 && nodes_[n].stop - nodes_[n].start <= kLanes) continue;  // one vector
      nodes_[n].first_child = static_cast<int32_t>(nodes_.size());
      for (int32_t k = nodes_[n].start; k < nodes_[n].stop; k++) {
        const int32_t value = values[static_cast<size_t>(k) * static_cast<size_t>(levels) + static_cast<size_t>(level)];
        if (nodes_[n].children && nodes_.back().value == value) {
          nodes_.back().stop = k + 1;
        } else {
          nodes_.push_back({k, k + 1, value, 0, 0});
          nodes_[n].children++;
        }
      }
    }
    first = stop;
  }
  nodes_.shrink_to_fit();
}

void TreeSearch::search_level(int level, const TreeKey& query, int weight, int64_t max_distance) {
  std::vector<Candidate>& within = candidates_[level + 1];
  within.clear();
  for (const Candidate& parent : candidates_[level]) {
    const ColumnTree::Node& node = tree_->nodes_[static_cast<size_t>(parent.node)];
    if (!node.children) within.push_back(parent);
    for (int32_t child = node.first_child; child < node.first_child + node.children; child++) {
      Candidate next = parent;
      next.node = child;
      const int32_t value = tree_->nodes_[static_cast<size_t>(child)].value;
      if (level == 0) {
        if (query.label_distances) next.label_distance = query.label_distances[value];
        next.distance = next.label_distance;
      } else if (const uint8_t* const costs = query.costs[level - 1]) {
        next.distance += weight * costs[value];
      }
      if (next.distance <= max_distance) within.push_back(next);
    }
  }
}

const std::vector<TreeSearch::Range>& TreeSearch::ranges_within(const TreeKey& query, int weight, int64_t max_distance) {
  int level = 0;
  while (level < known_levels_ && query.values[level] == last_.values[level]) level++;
  candidates_[0].assign(1, Candidate{0, 0, 0});
  for (; level < kTreeLevels; level++) search_level(level, query, weight, max_distance);
  known_levels_ = kTreeLevels;
  last_ = query;
  ranges_.clear();
  for (const Candidate& leaf : candidates_[kTreeLevels]) {
    const ColumnTree::Node& node = tree_->nodes_[static_cast<size_t>(leaf.node)];
    const int64_t start = node.start / kLanes * kLanes, stop = (node.stop + kLanes - 1) / kLanes * kLanes;
    if (ranges_.empty() || start > ranges_.back().stop) {
      ranges_.push_back({start, stop, leaf.label_distance});
    } else {
      ranges_.back().stop = stop;
      if (leaf.label_distance < ranges_.back().label_distance) ranges_.back().label_distance = leaf.label_distance;
    }
  }
  return ranges_;
}

}  // namespace gpualign
