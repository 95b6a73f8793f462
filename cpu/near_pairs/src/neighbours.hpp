// Strings that share a deletion neighbour: a join for short strings and few edits that loses no pair.
//
// If ed(s, t) <= k, then s and t become equal after deleting at most k letters of each. Take an alignment with ed(s, t) columns that are
// not matches, and delete the letters of s and of t in these columns. A substitution deletes a letter of both, an insertion or deletion one
// letter of one of them, so neither loses more than ed(s, t) letters, and the matches remain of both. The converse does not hold (k
// deletions on each side may be 2k edits), so pairs that share a neighbour are compared (bounded_edits.hpp).
//
// Looking up the neighbours one by one in memory would dominate the run time. Instead, all neighbours of queries and targets are
// partitioned by their hashes. A part fits the cache, where neighbours without an equal (nine of ten) are dropped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/common/src/large_pages.hpp"
#include "cpu/alignment/src/kernels.hpp"
#include "cpu/src/work.hpp"
#include "partition.hpp"

namespace gpualign {

// Pairs within k edits, sorted by the position of the query and then by target, each once.
struct NearPairs {
  bool overflow = false;  // more than max_pairs: the rest is empty
  int64_t count = 0;
  std::unique_ptr<int64_t[]> queries, targets;
  std::unique_ptr<uint8_t[]> distances;
};

// A set of records.
struct Set {
  Sequences sequences;
  int64_t count;
};

// The neighbours that two or more strings share, of one set or of the queries and the targets of two.
class Neighbourhoods {
 public:
  // Builds the index. If cancelled it is not usable, and ready() is false. targets: null for pairs within one set.
  Neighbourhoods(const Set& queries, const Set* targets, int k, int threads, const Cancel* cancel);

  bool ready() const { return ready_; }
  size_t bytes() const;
  int threads() const { return threads_; }
  int64_t query_count() const { return count_ - base_; }

  // Finds the pairs of each query ids[q] and the targets from firsts[q] on. Returns false if cancelled. Several threads may call it.
  bool within(const int64_t* ids, const int64_t* firsts, int64_t queries, int64_t max_pairs, int threads, const Cancel* cancel,
              NearPairs& out) const;

 private:
  friend class NeighbourSearch;
  void append(const Set& set);
  void make_runs(Partition partition, const Cancel* cancel);
  void link_runs();
  int64_t target_count() const { return one_set_ ? count_ : base_; }
  Text text(int64_t record) const { return {codes_.data() + offsets_[record], offsets_[record + 1] - offsets_[record]}; }

  // Records are numbered consecutively: targets, then queries from base_ on; a single set has its own numbers.
  const int k_, threads_;
  const bool one_set_;
  int64_t base_ = 0, count_ = 0;
  std::vector<uint8_t> codes_;  // with kReadMargin bytes before the first and after the last record
  std::vector<int64_t> offsets_;
  // Runs of records that share a neighbour, in ascending order: record << 1 | (1 for the last one of a run).
  LargeArray<uint32_t> runs_;
  int64_t run_records_ = 0;
  // positions_[begins_[r]] .. positions_[begins_[r + 1] - 1]: the positions of record r in runs_, in any order.
  std::vector<uint32_t> begins_;
  LargeArray<uint32_t> positions_;
  bool ready_ = false;
};

}  // namespace gpualign
