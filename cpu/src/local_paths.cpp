#include "local_paths.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "lane_codes.hpp"
#include "pair_paths.hpp"

namespace gpualign {
namespace {

struct Place {
  int64_t row, column;  // of a pair of letters, from 0
};

class HitTracer {
 public:
  HitTracer(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe, const PathRecipe& path_recipe,
            PathSink& sink, const Cancel& cancel)
      : kernels_(kernels), queries_(queries), targets_(targets), recipe_(recipe), path_recipe_(path_recipe), sink_(sink), cancel_(cancel),
        pairs_(make_pair_paths(kernels, path_recipe, cancel)) {}

  // Hits first .. first + count - 1, all of one query.
  bool query(const LocalHit* hits, int64_t first, int64_t count) {
    // By width and length, so that lanes are filled with their like.
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), first);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const int wa = width_of(hits[a].score), wb = width_of(hits[b].score);
      return wa != wb ? wa < wb : targets_.length(hits[a].target) < targets_.length(hits[b].target);
    });
    for (size_t at = 0; at < order.size();) {
      const int width = width_of(hits[order[at]].score), lanes = kernels_.vector_bytes / width;
      size_t stop = at;
      while (stop < order.size() && stop - at < static_cast<size_t>(lanes) && width_of(hits[order[stop]].score) == width) stop++;
      if (!block(hits, order.data() + at, static_cast<int>(stop - at), width)) return false;
      at = stop;
    }
    return true;
  }

 private:
  // Elements that hold score + 1, and know it from what is larger.
  int width_of(int64_t score) const {
    const int needed = score < 254 ? 1 : score < 65534 ? 2 : score < INT32_MAX - 1 ? 4 : 8;
    return std::max(needed, recipe_.narrowest);
  }

  bool block(const LocalHit* hits, const int64_t* order, int count, int width) {
    const int64_t record = hits[order[0]].query, m = queries_.length(record);
    const uint8_t* query = queries_.codes + queries_.offsets[record];
    const int lanes = kernels_.vector_bytes / width;
    std::vector<LaneRecord> records(static_cast<size_t>(count));
    std::vector<int64_t> wanted(static_cast<size_t>(lanes), 0), seeds(static_cast<size_t>(lanes), 0);
    for (int k = 0; k < count; k++) {
      const LocalHit& hit = hits[order[k]];
      records[k] = {targets_.codes + targets_.offsets[hit.target], targets_.length(hit.target)};
      wanted[k] = hit.score;
    }
    const std::vector<Place> ends = find(query, m, records, false, width, wanted, nullptr);
    if (cancel_.requested) return false;

    std::vector<LaneRecord> prefixes = records;
    for (int k = 0; k < count; k++) {
      if (ends[k].column < 0) throw std::logic_error("a hit does not have its score");
      prefixes[k].length = ends[k].column + 1;
      seeds[k] = m - 1 - ends[k].row;
      wanted[k] += 1;
    }
    reversed_.assign(query, query + m);
    std::reverse(reversed_.begin(), reversed_.end());
    const std::vector<Place> starts = find(reversed_.data(), m, prefixes, true, width, wanted, seeds.data());
    if (cancel_.requested) return false;

    for (int k = 0; k < count; k++) {
      if (starts[k].column < 0) throw std::logic_error("a hit has an end but no beginning");
      const int64_t query_start = m - 1 - starts[k].row, target_start = ends[k].column - starts[k].column;
      const int64_t rows = ends[k].row + 1 - query_start, columns = ends[k].column + 1 - target_start;
      if (pairs_->least_bytes(rows, columns) > path_recipe_.worker_bytes) throw std::length_error("a pair does not fit the memory of a worker");
      const int64_t hit = order[k];
      pairs_->align(query + query_start, rows, records[k].codes + target_start, columns, hit, sink_);
      if (cancel_.requested) return false;
      if (sink_.scores[static_cast<size_t>(hit)] != hits[hit].score) throw std::logic_error("the path of a hit has another score");
      PathStatistics& s = sink_.statistics[static_cast<size_t>(hit)];
      s.query_start += static_cast<int32_t>(query_start), s.query_end += static_cast<int32_t>(query_start);
      s.target_start += static_cast<int32_t>(target_start), s.target_end += static_cast<int32_t>(target_start);
    }
    return true;
  }

  // The first cells that have the wanted scores, a lane each.
  std::vector<Place> find(const uint8_t* query, int64_t rows, const std::vector<LaneRecord>& records, bool reversed, int width,
                          const std::vector<int64_t>& wanted, const int64_t* seeds) {
    const int lanes = kernels_.vector_bytes / width;
    codes_.pack(records.data(), static_cast<int>(records.size()), lanes, recipe_.padding, reversed);
    std::vector<int64_t> end_rows(static_cast<size_t>(lanes)), end_columns(static_cast<size_t>(lanes));
    LocalArgs a = local_arguments(recipe_, cancel_);
    a.query = query;
    a.rows = rows;
    a.codes = codes_.codes();
    a.columns = codes_.columns();
    a.lengths = codes_.lengths();
    a.boundary = boundary_.reserve(static_cast<size_t>(2 * a.columns * kernels_.vector_bytes));
    a.wanted = wanted.data();
    a.seeds = seeds;
    a.end_rows = end_rows.data();
    a.end_columns = end_columns.data();
    kernels_.find_local[local_kernel(width)](a);
    std::vector<Place> out(records.size());
    for (size_t k = 0; k < out.size(); k++) out[k] = {end_rows[k], end_columns[k]};
    return out;
  }

  const Kernels& kernels_;
  const Sequences& queries_;
  const Sequences& targets_;
  const LocalRecipe& recipe_;
  const PathRecipe& path_recipe_;
  PathSink& sink_;
  const Cancel& cancel_;
  const std::unique_ptr<PairPaths> pairs_;
  LaneCodes codes_;
  Scratch boundary_;
  std::vector<uint8_t> reversed_;
};

}  // namespace

bool trace_local_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                      const PathRecipe& path_recipe, const LocalHit* hits, int64_t count, PathSink& sink, const Cancel& cancel) {
  HitTracer tracer(kernels, queries, targets, recipe, path_recipe, sink, cancel);
  for (int64_t first = 0; first < count;) {
    int64_t stop = first + 1;
    while (stop < count && hits[stop].query == hits[first].query) stop++;
    if (!tracer.query(hits, first, stop - first)) return false;
    first = stop;
  }
  return true;
}

}  // namespace gpualign
