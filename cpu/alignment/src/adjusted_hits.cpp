#include "adjusted_hits.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "local_pairs.hpp"

namespace gpualign {
namespace {

static_assert(kTableLetters == kLetters);

// Expected share of the cells of hits in lanes that are computed (live_cells.hpp), since hits score high (benchmarks/log: C-035).
constexpr double kComputedShare = 0.3;

// Makes the score table of a hit. Returns false if its sequences have no scores.
bool make_pair_table(const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster, const LocalRecipe& recipe,
                     const LocalHit& hit, const HitBounds& window, PairTable& out) {
  const int64_t query_length = window.query_end - window.query_start, target_length = window.target_end - window.target_start;
  const Composition query = composition_of(queries.record(hit.query).codes + window.query_start, query_length),
                    target = composition_of(targets.record(hit.target).codes + window.target_start, target_length);
  std::copy(std::begin(recipe.table), std::end(recipe.table), out.scores);
  if (!adjuster.make_table(query, query_length, target, target_length, out.scores)) return false;
  const int32_t lowest = static_cast<int32_t>(-2 * recipe.open);  // no optimal path pairs letters that cost more than two gaps
  for (int at = 0; at < kLetters * kLetters; at++) {
    out.usable[at] = out.scores[at] >= lowest;
    out.scores[at] = std::max(out.scores[at], lowest);
  }
  return true;
}

// Makes the score tables of hits, all of which have scores.
std::vector<PairTable> make_pair_tables(const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster,
                                        const LocalRecipe& recipe, const LocalHit* hits, const HitBounds* windows, int64_t count) {
  std::vector<PairTable> tables(static_cast<size_t>(count));
  for (int64_t k = 0; k < count; k++)
    if (!make_pair_table(queries, targets, adjuster, recipe, hits[k], windows[k], tables[static_cast<size_t>(k)]))
      throw std::logic_error("a hit has no scores");
  return tables;
}

// Scores hits, those of a query side by side in lanes or one by one, whichever is faster.
class AdjustedScorer {
 public:
  AdjustedScorer(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                 const LocalHit* hits, int64_t* scores, const Cancel& cancel)
      : kernels_(kernels), queries_(queries), targets_(targets), recipe_(recipe), hits_(hits), scores_(scores), cancel_(cancel) {}

  // tables: of all hits. scored: numbers of the hits to score. Returns false if cancelled.
  bool run(const std::vector<PairTable>& tables, std::vector<int64_t> scored) {
    for (int width = recipe_.narrowest; !scored.empty(); width = wider_local(recipe_, width)) {
      const int64_t limit = local_limit(recipe_, width);
      // Adjusted scores differ little from those of the search. A wrong guess only costs time.
      const auto wider = std::partition(scored.begin(), scored.end(), [&](int64_t k) { return hits_[k].score * kUnitsPerPoint < limit; });
      std::vector<int64_t> left(wider, scored.end());
      scored.erase(wider, scored.end());
      std::sort(scored.begin(), scored.end(), [&](int64_t a, int64_t b) {
        return std::make_tuple(hits_[a].query, target(a).length, a) < std::make_tuple(hits_[b].query, target(b).length, b);
      });
      const int lanes = kernels_.vector_bytes / width;
      for (size_t first = 0, stop; first < scored.size(); first = stop) {
        LocalBlock block;
        for (stop = first;
             stop < scored.size() && stop < first + static_cast<size_t>(lanes) && hits_[scored[stop]].query == hits_[scored[first]].query;
             stop++)
          block.add(target(scored[stop]).length);
        const std::vector<int64_t> part(scored.begin() + static_cast<std::ptrdiff_t>(first),
                                        scored.begin() + static_cast<std::ptrdiff_t>(stop));
        const int64_t rows = queries_.length(hits_[part[0]].query);
        const double by_lanes = kComputedShare * lanes_cost(recipe_, rows, block) + profile_cost(recipe_, lanes, block);
        if (pairs_cost(recipe_, lanes, rows, block) < by_lanes)
          score_pairs(tables, part, width);
        else
          score_lanes(tables, part, width, left);
        if (cancel_.requested) return false;
      }
      scored = std::move(left);
    }
    return true;
  }

 private:
  Record target(int64_t hit) const { return targets_.record(hits_[hit].target); }

  void score_pairs(const std::vector<PairTable>& tables, const std::vector<int64_t>& part, int width) {
    for (const int64_t k : part) {
      const PairTable& table = tables[static_cast<size_t>(k)];
      std::copy(std::begin(table.scores), std::end(table.scores), recipe_.table);
      scores_[k] = LocalPairs(kernels_, recipe_, cancel_).score(queries_.record(hits_[k].query), target(k), width);
      if (cancel_.requested) return;
    }
  }

  // Hits whose scores are too large for this width are added to `left`.
  void score_lanes(const std::vector<PairTable>& tables, const std::vector<int64_t>& part, int width, std::vector<int64_t>& left) {
    const int lanes = kernels_.vector_bytes / width;
    std::vector<Record> records;
    std::vector<const PairTable*> lane_tables;
    for (const int64_t k : part) {
      records.push_back(target(k));
      lane_tables.push_back(&tables[static_cast<size_t>(k)]);
    }
    codes_.pack(records, lanes, recipe_.padding);
    best_.resize(static_cast<size_t>(lanes));
    LocalArgs a = local_arguments(recipe_, cancel_);
    set_lanes(a, kernels_, queries_.record(hits_[part[0]].query), codes_, boundary_);
    a.best = best_.data();
    profile_.set(lane_tables, width, lanes, a);
    kernels_.local[local_kernel(width)](a);
    for (size_t k = 0; k < part.size(); k++) {
      if (best_[k] < local_limit(recipe_, width))
        scores_[part[k]] = best_[k];
      else
        left.push_back(part[k]);
    }
  }

  const Kernels& kernels_;
  const Sequences& queries_;
  const Sequences& targets_;
  LocalRecipe recipe_;
  const LocalHit* const hits_;
  int64_t* const scores_;
  const Cancel& cancel_;
  LaneCodes codes_;
  LaneProfile profile_;
  Scratch boundary_;
  std::vector<int64_t> best_;
};

}  // namespace

bool score_adjusted_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster,
                         const LocalRecipe& recipe, const LocalHit* hits, const HitBounds* windows, int64_t count, int64_t* scores,
                         const Cancel& cancel) {
  std::vector<PairTable> tables(static_cast<size_t>(count));
  std::vector<int64_t> scored;
  for (int64_t k = 0; k < count; k++) {
    scores[k] = 0;
    if (make_pair_table(queries, targets, adjuster, recipe, hits[k], windows[k], tables[static_cast<size_t>(k)])) scored.push_back(k);
  }
  return AdjustedScorer(kernels, queries, targets, recipe, hits, scores, cancel).run(tables, std::move(scored));
}

bool trace_adjusted_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster,
                         const LocalRecipe& recipe, const PathRecipe& path_recipe, const LocalHit* hits, const HitBounds* windows,
                         int64_t count, PathSink& sink, const Cancel& cancel) {
  const std::vector<PairTable> tables = make_pair_tables(queries, targets, adjuster, recipe, hits, windows, count);
  return trace_local_hits(kernels, queries, targets, recipe, path_recipe, hits, count, sink, cancel, &tables);
}

bool trace_adjusted_hsps(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster,
                         const LocalRecipe& recipe, const PathRecipe& path_recipe, const LocalHit* hits, const HitBounds* windows,
                         int64_t count, const HspLimits& limits, Hsps& out, const Cancel& cancel) {
  const std::vector<PairTable> tables = make_pair_tables(queries, targets, adjuster, recipe, hits, windows, count);
  PathSink firsts(count, true);
  if (!trace_local_hits(kernels, queries, targets, recipe, path_recipe, hits, count, firsts, cancel, &tables)) return false;
  LocalRecipe local = recipe;
  PathRecipe path = path_recipe;
  for (int64_t k = 0; k < count; k++) {
    set_table(tables[static_cast<size_t>(k)], local, path);
    HspFinder finder(kernels, queries, targets, local, path, cancel);
    if (!finder.add(hits[k], k, firsts, static_cast<size_t>(k), limits.max_count, limits.min_scores[k], out)) return false;
  }
  return true;
}

}  // namespace gpualign
