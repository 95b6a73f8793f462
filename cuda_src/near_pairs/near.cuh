// What the kernels of near pairs share: records as they keep them, the bound on their edit distance, lists that many threads append to.
//
// Pairs are found in rectangles of queries and targets: near_gather.cu brings the sketches of their records together, near_screen.cu
// compares all pairs by lengths and sketches, near_verify.cu computes the distances of those that are left.
// core/near_pairs/filter_cascade.py says why no step loses a pair within the bound.
#pragma once

#include "portable.cuh"

// A set of records, made by near_records.cu.
struct NearRecords {
  uint32_t* planes;  // record r from starts[r] on: [(length + 31) / 32][plane], bit i of word w is of letter 32 w + i
  int64_t* starts;
  int32_t* lengths;
  uint32_t* sketches;  // [records][words of a sketch]
  int32_t* sizes;      // bits that are set
};
SAME_AS_ON_HOST(NearRecords);

// EditBound of core/scoring/edit_bounds.py
struct NearBound {
  double per_letter, per_shorter, constant;
  double inside, coverage;
};
SAME_AS_ON_HOST(NearBound);

// As core/scoring/edit_bounds.py rounds it. A distance is never more than the longer length.
DEVICE int32_t most_edits(const NearBound& bound, int32_t m, int32_t n) {
  const int32_t shorter = m < n ? m : n, longer = m < n ? n : m;
  const double letters = double_product(bound.per_letter, static_cast<double>(m) + n);
  const int64_t most = floor_of(double_sum(double_sum(letters, double_product(bound.per_shorter, shorter)), bound.constant));
  return most < longer ? static_cast<int32_t>(most < -1 ? -1 : most) : longer;
}

// Different q-grams, at most, that a record of `own` letters has and its partner has not; as core/scoring/edit_bounds.py, but for q k.
DEVICE int64_t grams_beside(const NearBound& bound, int32_t q, int32_t own, int32_t other) {
  constexpr double kRounding = 1e-6;  // as there
  const int32_t shorter = own < other ? own : other, longer = own < other ? other : own;
  const int64_t inside = floor_of(double_sum(double_product(bound.inside, shorter), kRounding));
  return q * inside + floor_of(double_sum(double_sum(own, -double_product(bound.coverage, longer)), kRounding));
}

// A query of a rectangle.
struct NearRow {
  int32_t first, stop;  // columns whose lengths fit
  int32_t wanted;       // targets before this one are not wanted
  int32_t slack;        // q-grams that one of the two may have, and the other not, whatever column it is
};
SAME_AS_ON_HOST(NearRow);

struct NearPair {
  int32_t query, target;
};
SAME_AS_ON_HOST(NearPair);

// Of one rectangle; all 0 before it begins.
struct NearCounters {
  uint32_t next;  // candidate that nobody has taken; first, so that the host can make the list look empty (gpu/runtime/stream_buffers.py)
  uint32_t candidates;  // pairs that the screen has left, also those beyond the capacity of their list
  uint32_t found;       // pairs within the bound, likewise
  uint32_t unwanted;    // pairs of lengths that fit, which nobody wants
};
SAME_AS_ON_HOST(NearCounters);

DEVICE int lane_of() { return static_cast<int>(threadIdx.x) % kLanes; }

// The place of this lane's entry at the end of a list, for lanes that have one; all lanes of a warp call it together. One atomic a warp.
DEVICE uint32_t places(uint32_t* length, bool has) {
  const unsigned having = __ballot_sync(kAllLanes, has);
  if (having == 0) return 0;
  const int first = __ffs(static_cast<int>(having)) - 1;
  uint32_t place = 0;
  if (lane_of() == first) place = atomicAdd(length, static_cast<uint32_t>(count_bits(having)));
  return __shfl_sync(kAllLanes, place, first) + count_bits(having & ((1u << lane_of()) - 1));
}
