// Near pairs of a rectangle of pairs: filters by length, letter counts and sketches, then edit distances.
#pragma once
#include <cstdint>
#include <vector>

#include "near_bound.hpp"
#include "near_records.hpp"

namespace gpualign {

struct NearTile {
  const int64_t* query_ids;  // [query_count]
  const int64_t* firsts;     // [query_count] smallest target record that each query is compared with
  int64_t query_count;
  const int64_t* target_ids;  // [target_count], in ascending order of length
  int64_t target_count;
  bool use_counts;    // filter by letter counts
  int64_t max_pairs;  // near pairs that the result may hold
};

struct NearTileResult {
  std::vector<int64_t> queries, targets;  // record numbers, sorted by query, then target
  std::vector<int32_t> distances;
  std::vector<int64_t> steps;  // pairs requested, and pairs remaining after lengths, after counts, after sketches
  bool overflow = false;       // more than max_pairs are near: the lists are empty
};

// Finds the near pairs of a tile. Returns false if cancelled. Compares sketches if the records have them.
bool near_tile(const NearKernels& kernels, const Records& queries, const Records& targets, const NearTile& tile, const Bound& bound,
               const Cancel& cancel, NearTileResult& result);

// Returns NearTileResult::steps of a tile without computing distances.
std::vector<int64_t> count_survivors(const NearKernels& kernels, const Records& queries, const Records& targets, const NearTile& tile,
                                     const Bound& bound);

}  // namespace gpualign
