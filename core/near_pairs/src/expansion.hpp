// From near pairs of groups of equal records to near pairs of records.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpualign {

// Near pairs of groups, or of records, as columns.
struct PairColumns {
  std::vector<int64_t> queries, targets, distances;

  explicit PairColumns(size_t count) : queries(count), targets(count), distances(count) {}
};

// Near pairs, as columns of others' memory.
struct PairView {
  const int64_t *queries, *targets, *distances;
  size_t count;
};

// The records of groups: those of group g are members[starts[g]] .. members[starts[g + 1] - 1], ascending.
struct GroupMembers {
  const int64_t *members, *starts;
};

// Returns the pairs in ascending order of their queries, pairs of one query in the order given. starts, of `groups` + 1 numbers: those of
// query g begin at starts[g]. Queries are below `groups`.
PairColumns sort_by_query(const PairView& pairs, size_t groups, std::vector<int64_t>& starts);

// Consecutive records that are queries.
struct QueryRows {
  int64_t first;          // number of the first record
  const int64_t* groups;  // [count], of each record
  size_t count;
};

// Returns the pairs of the records with all records of the near groups of their groups, sorted by query, then target.
// pairs, starts: as sort_by_query returns them. offset: targets are the records from query + offset on; negative: all.
PairColumns expand_rows(const QueryRows& rows, const PairView& pairs, const int64_t* starts, const GroupMembers& targets, int64_t offset,
                        int threads);

}  // namespace gpualign
