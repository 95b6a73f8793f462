// Lists the pairs of a rectangle that a screen does not exclude. near.cuh has the glossary.
//
// A pair is a candidate if its lengths are within the bound (the columns of its row) and if neither record has more q-grams that the other
// lacks than q k, with k of max_edits(), or than the coverage allows: |A \ B| = |A| - |A and B|, and |A and B| is the product of two
// sketches. Most pairs are excluded by the largest slack of their row, to which the column adds q per ambiguity letter; the others are
// checked again with their own.
#pragma once

#include "distance.cuh"
#include "near.cuh"

struct NearScreenArgs {
  DistanceArgs product;  // of sketches; samples are the rows, then the columns
  NearRecords queries, targets;
  NearBound bound;
  const int32_t* records;    // [rows + columns]
  const int32_t* sizes;      // [rows + columns]
  const int32_t* ambiguous;  // [rows + columns]
  const NearRow* rows;
  NearPair* candidates;
  NearCounters* counters;
  uint32_t capacity;  // of candidates
  int32_t q;
};
SAME_AS_ON_HOST(NearScreenArgs);

constexpr int32_t kNever = 0x7fffffff;  // more than any count

// Lists the candidates of a tile; called with the counts of common q-grams.
struct CandidateList {
  const NearScreenArgs& a;

  struct Row {
    int32_t number, min_count, slack;
  };
  struct Column {
    int32_t number, size, more_slack;
  };

  // Beyond the rectangle's edges no count is high enough.
  DEVICE Row row(int row) const {
    if (row >= a.product.row_count) return {row, kNever, 0};
    const int32_t slack = a.rows[row].slack;
    return {row, a.sizes[row] - slack, slack};
  }
  DEVICE Column column(int column) const {
    if (column >= a.product.column_count) return {column, kNever, 0};
    return {column, a.sizes[a.product.row_count + column], a.q * a.ambiguous[a.product.row_count + column]};
  }

  // Returns whether the largest slack of the row does not exclude a pair.
  DEVICE static bool may_keep(const Row& row, const Column& column, int32_t count) {
    const int32_t most = count + column.more_slack;
    return most >= row.min_count && most + row.slack >= column.size;
  }

  // Called by all lanes of a warp together.
  DEVICE void operator()(const Row& row, const Column& column, int32_t count) const {
    const bool may = may_keep(row, column, count);
    if (any_lane(may)) append(may, row, column, count);
  }

  // Appends the lane's pair if `keep` and if its own slack does not exclude it. Called by all lanes of a warp together.
  DEVICE void append(bool keep, const Row& row, const Column& column, int32_t count) const {
    NearPair pair{};
    if (keep) {
      const NearRow limits = a.rows[row.number];
      pair = {a.records[row.number], a.records[a.product.row_count + column.number]};
      const int32_t m = a.queries.lengths[pair.query], n = a.targets.lengths[pair.target], length_difference = m < n ? n - m : m - n;
      const int32_t ambiguous = a.ambiguous[row.number] + a.ambiguous[a.product.row_count + column.number];
      const int32_t edits = max_edits(a.bound, {m, n, ambiguous});
      const int64_t slack = static_cast<int64_t>(edits) * a.q;
      const int32_t row_only = a.sizes[row.number] - count, column_only = column.size - count;
      keep = column.number >= limits.first && column.number < limits.stop && pair.target >= limits.wanted && length_difference <= edits &&
             row_only <= slack && column_only <= slack;
      // A sketch has no more bits than its record has letters, so without a coverage this bound excludes nothing.
      if (keep && a.bound.coverage > 0)
        keep = (row_only <= 0 || row_only <= max_unshared_grams(a.bound, a.q, {m, n, ambiguous})) &&
               (column_only <= 0 || column_only <= max_unshared_grams(a.bound, a.q, {n, m, ambiguous}));
    }
    const uint32_t index = append_index(&a.counters->candidates, keep);
    if (keep && index < a.capacity) a.candidates[index] = pair;
  }
};
