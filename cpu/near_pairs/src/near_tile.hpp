// The near pairs of a rectangle: length, letter counts, sketches, then distances.
#pragma once
#include <cstdint>
#include <vector>

#include "near_bound.hpp"
#include "near_records.hpp"

namespace gpualign {

struct NearTile {
  const int64_t* query_ids;  // [query_count]
  const int64_t* firsts;     // [query_count]: targets with smaller numbers are not wanted
  int64_t query_count;
  const int64_t* target_ids;  // [target_count], in ascending order of length
  int64_t target_count;
  bool use_counts;
  int64_t most;  // pairs that may be found
};

struct NearFound {
  std::vector<int64_t> queries, targets;  // record numbers, sorted
  std::vector<int32_t> distances;
  std::vector<int64_t> steps;  // pairs asked for, left after lengths, after counts, after sketches
  bool overflow = false;       // more than `most`: nothing is kept
};

// False if cancelled. Sketches are looked at where both sets have them.
bool near_tile(const NearKernels& kernels, const Records& queries, const Records& targets, const NearTile& tile, const Bound& bound,
               const Cancel& cancel, NearFound& found);

}  // namespace gpualign
