#include "adjusted_hits.hpp"

#include <algorithm>
#include <stdexcept>

#include "local_pairs.hpp"

namespace gpualign {
namespace {

// Makes the recipes of pairs: those of the search, with the scores of the pair.
class PairRecipes {
 public:
  PairRecipes(const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster, const LocalRecipe& recipe)
      : queries_(queries), targets_(targets), adjuster_(adjuster), local_(recipe), lowest_(static_cast<int32_t>(-2 * recipe.open)) {}

  // Selects a pair. Returns false if its sequences have no scores.
  bool select(const LocalHit& hit, const CompositionWindow& window) {
    const int64_t query_length = window.query_end - window.query_start, target_length = window.target_end - window.target_start;
    const Composition query = composition_of(queries_.record(hit.query).codes + window.query_start, query_length),
                      target = composition_of(targets_.record(hit.target).codes + window.target_start, target_length);
    if (!adjuster_.make_table(query, query_length, target, target_length, scores_)) return false;
    each_pair_of_letters([&](int at) { local_.table[at] = std::max(scores_[at], lowest_); });
    return true;
  }

  const LocalRecipe& local() const { return local_; }

  // Sets the score table of a path recipe to that of the pair.
  void set_table(PathRecipe& path) const {
    const int32_t extend = static_cast<int32_t>(path.extend), lowest = -2 * static_cast<int32_t>(path.differences.open_extra);
    each_pair_of_letters([&](int at) {
      path.differences.table[at] = static_cast<uint32_t>(std::max(scores_[at] + 2 * extend, lowest));
      path.usable[at] = scores_[at] >= lowest_;
    });
  }

 private:
  template <class Function>
  static void each_pair_of_letters(Function function) {
    for (int a = 0; a < kProteinLetters; a++)
      for (int b = 0; b < kProteinLetters; b++) function(a * kTableLetters + b);
  }

  const Sequences& queries_;
  const Sequences& targets_;
  const MatrixAdjuster& adjuster_;
  LocalRecipe local_;
  const int32_t lowest_;  // no optimal path pairs letters that cost more than two gaps
  int32_t scores_[kTableLetters * kTableLetters] = {};
};

}  // namespace

static_assert(kTableLetters == kLetters);

bool score_adjusted_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster,
                         const LocalRecipe& recipe, const LocalHit* hits, const CompositionWindow* windows, int64_t count, int64_t* scores,
                         const Cancel& cancel) {
  PairRecipes recipes(queries, targets, adjuster, recipe);
  for (int64_t k = 0; k < count; k++) {
    scores[k] = 0;
    if (!recipes.select(hits[k], windows[k])) continue;
    LocalPairs pairs(kernels, recipes.local(), cancel);
    scores[k] = pairs.score(queries.record(hits[k].query), targets.record(hits[k].target), recipe.narrowest);
    if (cancel.requested) return false;
  }
  return true;
}

bool trace_adjusted_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster,
                         const LocalRecipe& recipe, const PathRecipe& path_recipe, const LocalHit* hits, const CompositionWindow* windows,
                         int64_t count, PathSink& sink, const Cancel& cancel) {
  PairRecipes recipes(queries, targets, adjuster, recipe);
  PathRecipe path = path_recipe;
  for (int64_t k = 0; k < count; k++) {
    if (!recipes.select(hits[k], windows[k])) throw std::logic_error("a hit has no scores");
    recipes.set_table(path);
    PathSink one(1, true);
    if (!trace_local_hits(kernels, queries, targets, recipes.local(), path, hits + k, 1, one, cancel)) return false;
    std::reverse(one.runs.begin(), one.runs.end());
    sink.put(k, one.scores[0], one.statistics[0], one.runs);
  }
  return true;
}

bool trace_adjusted_hsps(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster,
                         const LocalRecipe& recipe, const PathRecipe& path_recipe, const LocalHit* hits, const CompositionWindow* windows,
                         int64_t count, const HspLimits& limits, Hsps& out, const Cancel& cancel) {
  PathSink firsts(count, true);
  if (!trace_adjusted_hits(kernels, queries, targets, adjuster, recipe, path_recipe, hits, windows, count, firsts, cancel)) return false;
  PairRecipes recipes(queries, targets, adjuster, recipe);
  PathRecipe path = path_recipe;
  for (int64_t k = 0; k < count; k++) {
    if (!recipes.select(hits[k], windows[k])) throw std::logic_error("a hit has no scores");
    recipes.set_table(path);
    HspFinder finder(kernels, queries, targets, recipes.local(), path, cancel);
    if (!finder.add(hits[k], k, firsts, static_cast<size_t>(k), limits.max_count, limits.min_scores[k], out)) return false;
  }
  return true;
}

}  // namespace gpualign
