// Targets of one length as a tree by their labels and the letters that are compared first. It is searched with one query after another.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace gpualign {

constexpr int64_t kLanes = 64;  // bytes of the longest vector
constexpr int kTreeLetters = 6;
constexpr int kTreeLevels = 1 + kTreeLetters;  // labels, then letters

// A query as the tree compares it.
struct TreeKey {
  // Its label, then its letter in the column of each leading letter of the targets; kNone if that letter is in no column.
  int32_t values[kTreeLevels];
  const int32_t* label_distances;      // of the query's label and each other one; null without labels
  const uint8_t* costs[kTreeLetters];  // of the query's letters with each letter, 32 bytes; null for kNone

  static constexpr int32_t kNone = -1;
};

class ColumnTree {
 public:
  ColumnTree() = default;
  // values: [targets][levels] label and leading letters of sorted targets.
  ColumnTree(const std::vector<int32_t>& values, int levels);

 private:
  friend class TreeSearch;
  struct Node {
    int32_t start, stop;
    int32_t value;  // label or letter
    int32_t first_child, children;
  };
  std::vector<Node> nodes_;
};

// Searches trees for the targets that may be near one query after another.
class TreeSearch {
 public:
  // Some targets, in whole vectors, and the smallest distance of their labels to the query's.
  struct Range {
    int64_t start, stop;
    int64_t label_distance;
  };

  // Starts with a tree. Queries that follow have the same length.
  void begin(const ColumnTree& tree) {
    tree_ = &tree;
    known_levels_ = 0;
  }

  // Returns the ranges, in ascending order, with all targets whose label and leading letters alone are within a distance of the query.
  // Queries should be in the order of targets: levels at which a query equals the last one are not searched again.
  const std::vector<Range>& ranges_within(const TreeKey& query, int weight, int64_t max_distance);

 private:
  struct Candidate {
    int32_t node;
    int64_t label_distance, distance;
  };

  void search_level(int level, const TreeKey& query, int weight, int64_t max_distance);

  const ColumnTree* tree_ = nullptr;
  std::vector<Candidate> candidates_[kTreeLevels + 1];  // at each level, the nodes within the distance by what the levels above compare
  std::vector<Range> ranges_;
  TreeKey last_{};
  int known_levels_ = 0;  // levels whose candidates are those of last_
};

}  // namespace gpualign
