#include "path_tile.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "band_paths.hpp"
#include "lane_paths.hpp"
#include "pair_paths.hpp"
#include "sliced_paths.hpp"

namespace gpualign {
namespace {

std::unique_ptr<BlockPaths> make_block_paths(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel, bool sliced) {
  if (sliced) return std::make_unique<SlicedPaths>(kernels, recipe, cancel);
  return std::make_unique<LanePaths>(kernels, recipe, cancel);
}

// Takes the next targets that fit a block into `records`. Returns the length of the longest one.
int64_t take_records(const Sequences& targets, const int64_t* ids, int64_t count, int lanes, std::vector<Record>& records) {
  records.clear();
  int64_t columns = 0;
  for (int k = 0; k < std::min<int64_t>(lanes, count); k++) {
    records.push_back(targets.record(ids[k]));
    columns = std::max(columns, records.back().length);
  }
  return columns;
}

}  // namespace

std::pair<int64_t, int64_t> path_bytes(const Kernels& kernels, const PathRecipe& recipe, int64_t rows, int64_t columns) {
  const Cancel never;
  return {make_block_paths(kernels, recipe, never, recipe.sliced)->bytes(rows, columns),
          make_pair_paths(kernels, recipe, never)->min_bytes(rows, columns)};
}

bool path_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const PathRecipe& recipe,
               const int64_t* query_ids, int64_t query_count, const int64_t* target_ids, int64_t target_count, Pairing pairing,
               PathSink& sink, const Cancel& cancel) {
  const std::unique_ptr<PairPaths> single = make_pair_paths(kernels, recipe, cancel);
  std::optional<BandPaths> band;
  if (recipe.banded) band.emplace(kernels, recipe, cancel);
  int64_t longest = 0;
  for (int64_t q = 0; q < query_count; q++) longest = std::max(longest, queries.length(query_ids[q]));
  std::vector<Record> records;
  std::vector<int64_t> pairs;
  for (int64_t first = 0, used = 0; first < target_count; first += used) {
    std::unique_ptr<BlockPaths> block = make_block_paths(kernels, recipe, cancel, recipe.sliced);
    int64_t columns = take_records(targets, target_ids + first, target_count - first, block->lanes(), records);
    if (recipe.sliced && block->bytes(longest, columns) > recipe.worker_bytes) {  // fewer targets take less memory
      block = make_block_paths(kernels, recipe, cancel, false);
      columns = take_records(targets, target_ids + first, target_count - first, block->lanes(), records);
    }
    used = static_cast<int64_t>(records.size());
    pairs.resize(records.size());
    bool targets_set = false;
    for (int64_t q = 0; q < query_count; q++) {
      const int64_t id = query_ids[q];
      const auto [query, rows] = queries.record(id);
      double steps = 0;  // of single pairs
      int pair_count = 0;
      for (int k = 0; k < used; k++) {
        pairs[k] = is_included(pairing, id, target_ids[first + k]) ? q * target_count + first + k : -1;
        if (pairs[k] < 0) continue;
        steps += single->cost(rows, records[k].length);
        pair_count++;
      }
      const bool fits = block->bytes(rows, columns) <= recipe.worker_bytes;
      const double block_steps = block->cost(rows, columns, pair_count);
      if (band) {
        // Similar pairs come in families: bands are tried as long as at least half of them are proven.
        const double max_cost = (fits ? std::min(steps, block_steps) : steps) / std::max(pair_count, 1);
        for (int k = 0, tried = 0, proven = 0; k < used && tried <= 2 * proven + 1; k++) {
          if (pairs[k] < 0) continue;
          tried++;
          if (!band->align(query, rows, records[k].codes, records[k].length, pairs[k], max_cost, sink)) continue;
          proven++;
          steps -= single->cost(rows, records[k].length);
          pairs[k] = -1;
          pair_count--;
        }
        if (cancel.requested) return false;
      }
      if (pair_count == 0) continue;
      if (fits && steps >= block_steps) {
        if (!targets_set) block->set_targets(records);
        targets_set = true;
        block->align(query, rows, pairs.data(), sink);
      } else {
        for (int k = 0; k < used; k++)
          if (pairs[k] >= 0) single->align(query, rows, records[k].codes, records[k].length, pairs[k], sink);
      }
      if (cancel.requested) return false;
    }
  }
  return true;
}

}  // namespace gpualign
