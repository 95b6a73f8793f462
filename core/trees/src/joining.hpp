// Neighbour joining (Saitou & Nei 1987) with the search of RapidNJ (Simonsen, Mailund & Pedersen 2008).
//
// Among r nodes with distances d, the pair with the smallest
//
//     q(i, j) = (r - 2) d(i, j) - s(i) - s(j),    s(i) = sum over k of d(i, k)    (Studier & Keppler 1988)
//
// becomes a node k. The branch to i has the length (d(i, j) + (s(i) - s(j)) / (r - 2)) / 2, the one to j the remainder of d(i, j), and the
// new distances are d(k, x) = (d(i, x) + d(j, x) - d(i, j)) / 2. The last three nodes meet in the root. Each row has its distances in
// ascending order. As s(j) <= S, the largest sum, no pair of a row can be better than `best` once (r - 2) d(i, j) - s(i) - S > best.
// Rounding is monotonic, so the bound holds for the numbers as computed. Of several pairs with the smallest q, the one with the smallest
// node numbers is taken, comparing the smaller number first; nodes are numbered in the order of their creation, records first. With integer
// distances all numbers are exact until nodes are about 50 joins deep, so equal q compare equal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace gpualign {

class Joining {
 public:
  // distances: [count][count], symmetric, finite; count >= 3.
  Joining(const double* distances, size_t count)
      : count_(count), d_(distances, distances + count * count), rows_(2 * count - 2), sums_(2 * count - 2), place_(2 * count - 2),
        parents_(2 * count - 2, -1), lengths_(2 * count - 2, 0.0), alive_(2 * count - 2, 0), next_(count), compacted_(count) {
    for (size_t i = 0; i < count; i++) {
      alive_[i] = 1;
      place_[i] = i;
      active_.push_back(i);
    }
    for (size_t i = 0; i < count; i++) {
      // A pair is in the row of its larger number.
      rows_[i].reserve(i);
      for (size_t j = 0; j < count; j++) {
        if (j < i) rows_[i].push_back({at(i, j), j});
        if (j != i) sums_[i] += at(i, j);
      }
      std::sort(rows_[i].begin(), rows_[i].end());
    }
  }

  // Does at most max_joins joins. Returns the number of joins that remain.
  size_t join(size_t max_joins) {
    for (; max_joins && active_.size() > 3; max_joins--) join_best();
    if (active_.size() > 3) return active_.size() - 3;
    if (active_.size() == 3) meet();
    return 0;
  }

  // Return for each node its parent (-1: the root, which is the last node), and the length of the branch to it.
  const std::vector<int64_t>& parents() const { return parents_; }
  const std::vector<double>& lengths() const { return lengths_; }

 private:
  struct Entry {
    double d;
    size_t node;
    bool operator<(const Entry& other) const { return d < other.d || (d == other.d && node < other.node); }
  };

  double& at(size_t i, size_t j) { return d_[place_[i] * count_ + place_[j]]; }

  void join_best() {
    const double others = double(active_.size() - 2);
    double max_sum = -std::numeric_limits<double>::infinity();
    for (size_t i : active_) max_sum = std::max(max_sum, sums_[i]);
    double best = std::numeric_limits<double>::infinity();
    size_t a = 0, b = 0;
    for (size_t i : active_) {
      for (const Entry& entry : rows_[i]) {
        const double d = others * entry.d - sums_[i];
        if (d - max_sum > best) break;
        if (!alive_[entry.node]) continue;
        const double q = d - sums_[entry.node];
        if (q > best) continue;
        const size_t low = std::min(i, entry.node), high = std::max(i, entry.node);
        if (q < best || low < a || (low == a && high < b)) best = q, a = low, b = high;
      }
    }
    merge(a, b, others);
  }

  void merge(size_t a, size_t b, double others) {
    const double d = at(a, b), difference = (sums_[a] - sums_[b]) / others;
    const size_t made = next_++;
    attach(a, made, (d + difference) / 2);
    attach(b, made, (d - difference) / 2);
    active_.erase(std::remove_if(active_.begin(), active_.end(), [&](size_t i) { return i == a || i == b; }), active_.end());
    // The new node takes the position of the first one.
    place_[made] = place_[a];
    std::vector<Entry>& row = rows_[made];
    row.reserve(active_.size());
    for (size_t x : active_) {
      const double to_a = at(a, x), to_b = at(b, x), distance = (to_a + to_b - d) / 2;
      at(made, x) = at(x, made) = distance;
      sums_[x] += distance - to_a - to_b;
      sums_[made] += distance;
      row.push_back({distance, x});
    }
    std::sort(row.begin(), row.end());
    alive_[made] = 1;
    active_.push_back(made);
    if (2 * active_.size() < compacted_) compact();
  }

  void attach(size_t node, size_t parent, double length) {
    alive_[node] = 0;
    rows_[node] = {};
    parents_[node] = int64_t(parent);
    lengths_[node] = length;
  }

  // Removes the entries of joined nodes, which the search would pass again and again.
  void compact() {
    compacted_ = active_.size();
    for (size_t i : active_)
      rows_[i].erase(std::remove_if(rows_[i].begin(), rows_[i].end(), [&](const Entry& entry) { return !alive_[entry.node]; }),
                     rows_[i].end());
  }

  void meet() {
    const size_t a = active_[0], b = active_[1], c = active_[2];
    const double ab = at(a, b), ac = at(a, c), bc = at(b, c);
    attach(a, next_, (ab + ac - bc) / 2);
    attach(b, next_, (ab + bc - ac) / 2);
    attach(c, next_, (ac + bc - ab) / 2);
    active_.clear();
  }

  const size_t count_;
  std::vector<double> d_;
  std::vector<std::vector<Entry>> rows_;
  std::vector<double> sums_;
  std::vector<size_t> place_, active_;
  std::vector<int64_t> parents_;
  std::vector<double> lengths_;
  std::vector<char> alive_;
  size_t next_, compacted_;
};

}  // namespace gpualign
