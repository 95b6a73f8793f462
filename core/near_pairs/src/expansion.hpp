// From near pairs of groups of equal records to near pairs of records.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/common/src/unset_vector.hpp"

namespace gpualign {

// Near pairs of groups, as columns in memory of the caller.
struct GroupPairs {
  const int64_t *queries, *targets, *distances;
  size_t count;
};

// Near pairs of records, as columns.
struct RecordPairs {
  UnsetVector<int64_t> queries, targets, distances;
};

// Groups of equal records, in memory of the caller. The records of group g are members[starts[g]] .. members[starts[g + 1] - 1], ascending.
struct Groups {
  const int64_t *members, *starts;
  size_t count;

  const int64_t* begin(int64_t group) const { return members + starts[group]; }
  const int64_t* end(int64_t group) const { return members + starts[group + 1]; }
  int64_t size(int64_t group) const { return starts[group + 1] - starts[group]; }
};

// Near pairs of groups, held for as long as records of the query's group follow as queries.
class PairExpansion {
 public:
  // queries: number of groups that have queries. offset: targets are the records from query + offset on, and pairs of groups, which are
  // given once, with the earlier group first, are pairs of either group's records; negative: all records are targets.
  // The caller keeps the memory of the targets alive.
  PairExpansion(size_t queries, const Groups& targets, int64_t offset) : near_(queries), targets_(targets), offset_(offset) {}

  void add(const GroupPairs& pairs, int threads);
  // Returns, for each of these consecutive queries, an upper bound of the number of its pairs. groups: of each query.
  std::vector<int64_t> max_pairs(const int64_t* groups, size_t count, int threads) const;
  // Returns the pairs of the queries first .. first + count - 1, sorted by query, then target.
  RecordPairs expand(int64_t first, const int64_t* groups, size_t count, int threads) const;
  // Forgets the near groups of these groups.
  void forget(const int64_t* groups, size_t count, int threads);

  // Returns the memory, in bytes, for groups that have queries but no near pairs yet.
  static size_t bytes(size_t queries) { return queries * sizeof(NearList); }

  size_t groups() const { return near_.size(); }
  const Groups& targets() const { return targets_; }
  size_t held() const { return held_; }  // pairs of groups

 private:
  struct Near {
    int64_t target, distance;
  };

  using NearList = std::vector<Near>;

  static constexpr size_t kPools = 64;  // a power of two

  // Returns the number of the pool of a group. Neighbours share a pool, so that no two threads write beside each other.
  static size_t pool_of(int64_t group);

  // Calls act(is_own) in each thread, where is_own(group) tells whether a group, and with it its pool, belongs to this thread. All threads
  // look at every pair or group, which is quick: finding the lists of groups in memory is what takes time. items: number of pairs or
  // groups.
  template <class Act>
  static void deal_groups(size_t items, int threads, const Act& act);

  std::vector<NearList> near_;  // [group] for groups with queries
  // [pool] empty lists of groups that have been forgotten. Their memory is used again, because a band has about as many lists as the one
  // before, and the system would take back and clear their pages each time.
  std::array<std::vector<NearList>, kPools> spare_;
  Groups targets_;
  int64_t offset_;
  size_t held_ = 0;
};

}  // namespace gpualign
