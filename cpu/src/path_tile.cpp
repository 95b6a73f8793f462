#include "path_tile.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "band_paths.hpp"
#include "lane_paths.hpp"
#include "pair_paths.hpp"

namespace gpualign {

std::pair<int64_t, int64_t> path_bytes(const Kernels& kernels, const PathRecipe& recipe, int64_t rows, int64_t columns) {
  const Cancel never;
  return {LanePaths(kernels, recipe, never).bytes(rows, columns), make_pair_paths(kernels, recipe, never)->least_bytes(rows, columns)};
}

bool path_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const PathRecipe& recipe,
               const int64_t* query_ids, int64_t query_count, const int64_t* target_ids, int64_t target_count, Pairing pairing,
               PathSink& sink, const Cancel& cancel) {
  LanePaths block(kernels, recipe, cancel);
  const std::unique_ptr<PairPaths> single = make_pair_paths(kernels, recipe, cancel);
  std::optional<BandPaths> band;
  if (recipe.banded) band.emplace(kernels, recipe, cancel);
  const int lanes = block.lanes();
  std::vector<Record> records;
  std::vector<int64_t> pairs(static_cast<size_t>(lanes));
  for (int64_t first = 0; first < target_count; first += lanes) {
    const int used = static_cast<int>(std::min<int64_t>(lanes, target_count - first));
    records.clear();
    int64_t columns = 0;
    for (int k = 0; k < used; k++) {
      records.push_back(targets.record(target_ids[first + k]));
      columns = std::max(columns, records.back().length);
    }
    bool begun = false;
    for (int64_t q = 0; q < query_count; q++) {
      const int64_t id = query_ids[q];
      const auto [query, rows] = queries.record(id);
      double steps = 0;  // of single pairs
      int wanted = 0;
      for (int k = 0; k < used; k++) {
        pairs[k] = is_wanted(pairing, id, target_ids[first + k]) ? q * target_count + first + k : -1;
        if (pairs[k] < 0) continue;
        steps += single->cost(rows, records[k].length);
        wanted++;
      }
      const bool fits = block.bytes(rows, columns) <= recipe.worker_bytes;
      const double block_steps = static_cast<double>(rows) * static_cast<double>(columns);
      if (band) {
        // Near pairs come in families: bands are tried while at least half of them prove themselves.
        const double worth = (fits ? std::min(steps, block_steps) : steps) / std::max(wanted, 1);
        for (int k = 0, tried = 0, proven = 0; k < used && tried <= 2 * proven + 1; k++) {
          if (pairs[k] < 0) continue;
          tried++;
          if (!band->align(query, rows, records[k].codes, records[k].length, pairs[k], worth, sink)) continue;
          proven++;
          steps -= single->cost(rows, records[k].length);
          pairs[k] = -1;
          wanted--;
        }
        if (cancel.requested) return false;
      }
      if (wanted == 0) continue;
      if (fits && steps >= block_steps) {
        if (!begun) block.begin_block(records);
        begun = true;
        block.align(query, rows, pairs.data(), sink);
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
