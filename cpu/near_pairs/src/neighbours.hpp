// Which strings share a deletion neighbour: a join for short strings and few edits that loses no pair.
//
// ed(s, t) <= k implies that s and t become equal when at most k letters of each are deleted: take an alignment of ed(s, t) columns that
// are no matches and delete from s its letters in those columns, from t likewise. A substitution deletes a letter of both, an insertion
// or a deletion one of one side, so neither side loses more than ed(s, t) letters, and the matches are left of both. The converse
// fails (k deletions of each side may be 2k edits), so pairs that share a neighbour are compared (bounded_edits.hpp).
//
// Looking up one neighbour after the other in memory would take longer than all else. All neighbours, of queries and of targets, are
// partitioned by their hashes instead; a part lies in the cache, where those that have no equal (nine of ten) are dropped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/alignment/src/kernels.hpp"
#include "cpu/src/large_array.hpp"
#include "cpu/src/work.hpp"
#include "partition.hpp"

namespace gpualign {

// Pairs within k, sorted by the place of the query and then by target, each once.
struct NearPairs {
  bool overflow = false;  // more than wanted: nothing else is told
  int64_t count = 0;
  std::unique_ptr<int64_t[]> queries, targets;
  std::unique_ptr<uint8_t[]> distances;
};

// A set and how many records it has.
struct Set {
  Sequences sequences;
  int64_t count;
};

// The neighbours that two or more strings share, of one set or of the queries and the targets of two.
class Neighbourhoods {
 public:
  // Not usable (ready() is false) if cancelled. targets may be null: pairs of one set.
  Neighbourhoods(const Set& queries, const Set* targets, int k, int threads, const Cancel* cancel);

  bool ready() const { return ready_; }
  size_t bytes() const;
  int threads() const { return threads_; }
  int64_t query_count() const { return count_ - base_; }

  // Pairs of a query ids[q] and a target from firsts[q] on; false if cancelled. Safe to call from several threads.
  bool within(const int64_t* ids, const int64_t* firsts, int64_t queries, int64_t most, int threads, const Cancel* cancel,
              NearPairs& out) const;

 private:
  friend class NeighbourSearch;
  void append(const Set& set);
  void make_runs(Partition partition, const Cancel* cancel);
  void link_runs();
  int64_t target_count() const { return one_set_ ? count_ : base_; }
  Text text(int64_t record) const { return {codes_.data() + offsets_[record], offsets_[record + 1] - offsets_[record]}; }

  // Records are numbered through: targets, then queries from base_ on; one set has its own numbers.
  const int k_, threads_;
  const bool one_set_;
  int64_t base_ = 0, count_ = 0;
  std::vector<uint8_t> codes_;  // kReadAround more before the first and behind the last
  std::vector<int64_t> offsets_;
  // Runs of records that share a neighbour, each ascending: record << 1 | whether it is the last of its run.
  LargeArray<uint32_t> runs_;
  int64_t run_records_ = 0;
  // places_[begins_[r] .. begins_[r + 1]): where record r lies in runs_, in any order.
  std::vector<uint32_t> begins_;
  LargeArray<uint32_t> places_;
  bool ready_ = false;
};

}  // namespace gpualign
