// Alignment paths on the host: traceback through directions, statistics, and storage.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpualign {

constexpr int kWalkLetters = 32;  // codes that a table has room for

// The best predecessors of a cell, as flags (cpu/alignment/src/grid.hpp).
enum Direction { kDiagonal = 1, kUp = 2, kExtendLeft = 4, kExtendUp = 8 };

// One column of an alignment; the low two bits of a run.
enum PathOp : uint8_t { kEqual = 0, kDifferent = 1, kInsertion = 2, kDeletion = 3 };

// The fields of STATISTICS in core/alignment/tile_results.py, in its order.
struct PathStatistics {
  int32_t matches = 0, mismatches = 0;
  int32_t gaps = 0, gap_opens = 0;  // letters in gaps; number of gaps
  int32_t end_gaps = 0;             // letters in gaps before the first or after the last pair of letters
  int32_t query_start = 0, query_end = 0, target_start = 0, target_end = 0;
};
constexpr size_t kStatistics = sizeof(PathStatistics) / sizeof(int32_t);

// The cell in which the best alignment ends, and its score. Of several best ends, the one with the largest min(row, column) is taken:
// without gaps this is the longest alignment, and an empty one only if no other is as good. On further ties an end in the last column
// precedes one in the last row, and then the furthest is taken. So the best end of a column is its lowest one, that of a row its rightmost
// one, and the corner is taken whenever it is among the best.
struct PathEnd {
  int64_t score, row, column;

  // Takes another end if it is better. Call it in this order: corner, end of the last column, end of the last row.
  void prefer(const PathEnd& other) {
    if (other.score > score || (other.score == score && std::min(other.row, other.column) > std::min(row, column))) *this = other;
  }
};

// The traceback of a path. Runs are bytes, (length - 1) << 2 | op; runs of more than 64 letters take several. They are written last first.
class Walk {
 public:
  Walk(const uint8_t* query, const uint8_t* target, PathEnd end, std::vector<uint8_t>* runs)
      : i(end.row), j(end.column), query_(query), target_(target), runs_(runs) {
    counts.query_end = static_cast<int32_t>(end.row);
    counts.target_end = static_cast<int32_t>(end.column);
  }

  int64_t i, j;  // the current cell
  PathStatistics counts;

  // Continues while the path is below row `top` and right of column `left`. at(i, j): the directions of a cell.
  // usable: [kWalkLetters][kWalkLetters] pairs of letters that a path may contain.
  template <class Directions>
  void run(const bool* usable, int64_t top, int64_t left, Directions at) {
    while (i > top && j > left) {
      const int directions = at(i, j);
      if (gap_ == kInsertion && (directions & kExtendUp)) {
        insertion(1);
      } else if (gap_ == kDeletion && (directions & kExtendLeft)) {
        deletion(1);
      } else if ((directions & kDiagonal) && usable[query_[i - 1] * kWalkLetters + target_[j - 1]]) {
        diagonal();
      } else if (directions & kUp) {
        insertion(1);
      } else {
        deletion(1);
      }
    }
  }

  // Does the same for unit costs. Then a best path may take every pair of equal letters that it meets, since no cell below or right of the
  // diagonal predecessor is better than that by more than 1. So the path may continue beyond `top` and `left`.
  template <class Directions>
  void run_unit_costs(int64_t top, int64_t left, Directions at) {
    for (;;) {
      take_equal_letters();
      if (i <= top || j <= left) return;
      const int directions = at(i, j);
      if (directions & kDiagonal)
        diagonal();
      else if (directions & kUp)
        insertion(1);
      else
        deletion(1);
    }
  }

  void take_equal_letters() {
    const int64_t max_letters = std::min(i, j);
    int64_t n = 0;
    while (n < max_letters && query_[i - 1 - n] == target_[j - 1 - n]) n++;
    if (n > 0) pairs(n, true);
  }

  bool at_edge() const { return i == 0 || j == 0; }

  // Completes a path that has reached row 0 or column 0.
  void finish(bool free_query, bool free_target) {
    if (i > 0 && !free_target) insertion(i);
    if (j > 0 && !free_query) deletion(j);
    put(op_, 0);
    flush();
    counts.end_gaps += since_pair_;  // all of them, if there is no pair of letters
    counts.query_start = static_cast<int32_t>(i);
    counts.target_start = static_cast<int32_t>(j);
  }

 private:
  void diagonal() { pairs(1, query_[i - 1] == target_[j - 1]); }
  void pairs(int64_t letters, bool equal) {
    i -= letters;
    j -= letters;
    (equal ? counts.matches : counts.mismatches) += static_cast<int32_t>(letters);
    if (!seen_pair_) counts.end_gaps = since_pair_;
    seen_pair_ = true;
    since_pair_ = 0;
    gap_ = kEqual;
    put(equal ? kEqual : kDifferent, letters);
  }
  void insertion(int64_t letters) {
    gap(kInsertion, letters);
    i -= letters;
  }
  void deletion(int64_t letters) {
    gap(kDeletion, letters);
    j -= letters;
  }
  void gap(PathOp op, int64_t letters) {
    counts.gap_opens += gap_ != op;
    counts.gaps += static_cast<int32_t>(letters);
    since_pair_ += static_cast<int32_t>(letters);
    gap_ = op;
    put(op, letters);
  }
  void put(PathOp op, int64_t letters) {
    if (op != op_) {
      flush();
      op_ = op;
    }
    length_ += letters;
  }
  void flush() {
    if (runs_)
      for (; length_ > 0; length_ -= 64) runs_->push_back(static_cast<uint8_t>((std::min<int64_t>(length_, 64) - 1) << 2 | op_));
    length_ = 0;
  }

  const uint8_t* query_;
  const uint8_t* target_;
  std::vector<uint8_t>* runs_;  // or null
  PathOp op_ = kEqual, gap_ = kEqual;
  int64_t length_ = 0;
  int32_t since_pair_ = 0;  // letters in gaps since the last pair of letters
  bool seen_pair_ = false;
};

// Collects the paths of a tile, in any order.
class PathSink {
 public:
  PathSink(int64_t pairs, bool want_runs) : statistics(static_cast<size_t>(pairs)), scores(static_cast<size_t>(pairs)) {
    if (want_runs) {
      starts.resize(static_cast<size_t>(pairs));
      sizes.resize(static_cast<size_t>(pairs));
    }
  }
  bool want_runs() const { return !starts.empty(); }
  // Stores a path. backwards: the runs of a Walk.
  void put(int64_t pair, int64_t score, const PathStatistics& counts, const std::vector<uint8_t>& backwards) {
    scores[static_cast<size_t>(pair)] = score;
    statistics[static_cast<size_t>(pair)] = counts;
    if (!want_runs()) return;
    starts[static_cast<size_t>(pair)] = static_cast<int64_t>(runs.size());
    sizes[static_cast<size_t>(pair)] = static_cast<int32_t>(backwards.size());
    runs.insert(runs.end(), backwards.rbegin(), backwards.rend());
  }

  // Appends a path of one more pair.
  void add(int64_t score, const PathStatistics& counts, const std::vector<uint8_t>& forwards) {
    starts.push_back(static_cast<int64_t>(runs.size()));
    sizes.push_back(static_cast<int32_t>(forwards.size()));
    scores.push_back(score);
    statistics.push_back(counts);
    runs.insert(runs.end(), forwards.begin(), forwards.end());
  }

  std::vector<PathStatistics> statistics;
  std::vector<int64_t> scores;
  std::vector<int64_t> starts;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> runs;
};

}  // namespace gpualign
