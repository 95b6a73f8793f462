#include "hsps.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace gpualign {
namespace {

// Only the kernels of wider elements exclude cells.
PathRecipe with_wide_elements(PathRecipe recipe) {
  recipe.differences.width = std::max(recipe.differences.width, 16);
  return recipe;
}

}  // namespace

HspFinder::HspFinder(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                     const PathRecipe& path_recipe, const Cancel& cancel)
    : queries_(queries), targets_(targets), pairs_(kernels, recipe, cancel), path_recipe_(with_wide_elements(path_recipe)),
      paths_(make_pair_paths(kernels, path_recipe_, cancel)), cancel_(cancel) {}

bool HspFinder::add(const LocalHit& hit, int64_t number, const PathSink& firsts, size_t at, int64_t max_count, int64_t min_score,
                    Hsps& out) {
  const Record query = queries_.record(hit.query), target = targets_.record(hit.target);
  const auto begin = firsts.runs.begin() + firsts.starts[at];
  runs_.assign(begin, begin + firsts.sizes[at]);
  exclusions_ = {{}, hit.score};
  put(number, hit.score, firsts.statistics[at], out);
  for (int64_t k = 1; k < max_count; k++) {
    const int64_t score = pairs_.score(query, target, exclusions_);
    if (cancel_.requested) return false;
    if (score < std::max<int64_t>(min_score, 1)) break;
    const PathStatistics statistics = trace(query, target, score);
    if (cancel_.requested) return false;
    put(number, score, statistics, out);
  }
  return true;
}

void HspFinder::put(int64_t number, int64_t score, const PathStatistics& statistics, Hsps& out) {
  out.hits.push_back(number);
  out.paths.add(score, statistics, runs_);
  LetterPair at{statistics.query_start, statistics.target_start};
  for (const uint8_t run : runs_) {
    const int64_t length = (run >> 2) + 1;
    const int op = run & 3;
    if (op == kEqual || op == kDifferent)
      for (int64_t k = 0; k < length; k++) exclusions_.pairs.push_back({at.query + k, at.target + k});
    if (op != kDeletion) at.query += length;
    if (op != kInsertion) at.target += length;
  }
  exclusions_.max_score = score;
}

PathStatistics HspFinder::trace(Record query, Record target, int64_t score) {
  const LetterPair last = pairs_.find_end(query, target, score, false, &exclusions_);
  if (cancel_.requested) return {};
  if (last.query < 0) throw std::logic_error("a pair does not have its score");
  query.length = last.query + 1, target.length = last.target + 1;
  Exclusions back_exclusions{{}, score};
  for (const LetterPair& p : exclusions_.pairs)
    if (p.query <= last.query && p.target <= last.target) back_exclusions.pairs.push_back({last.query - p.query, last.target - p.target});
  const LetterPair back =
      pairs_.find_end(reversed(query, reversed_query_), reversed(target, reversed_target_), score + 1, true, &back_exclusions);
  if (cancel_.requested) return {};
  if (back.query < 0) throw std::logic_error("an alignment has an end but no beginning");

  const LetterPair first{last.query - back.query, last.target - back.target};
  const int64_t rows = back.query + 1, columns = back.target + 1;
  excluded_.set(exclusions_.pairs, rows, columns, [&](LetterPair p) { return LetterPair{p.query - first.query, p.target - first.target}; });
  PathSink path(1, true);
  paths_->align(query.codes + first.query, rows, target.codes + first.target, columns, 0, path, &excluded_);
  if (cancel_.requested) return {};
  if (path.scores[0] != score) throw std::logic_error("the path of an alignment has another score");
  runs_ = std::move(path.runs);
  PathStatistics s = path.statistics[0];
  s.query_start += static_cast<int32_t>(first.query), s.query_end += static_cast<int32_t>(first.query);
  s.target_start += static_cast<int32_t>(first.target), s.target_end += static_cast<int32_t>(first.target);
  return s;
}

bool trace_hsps(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                const PathRecipe& path_recipe, const LocalHit* hits, int64_t count, const HspLimits& limits, Hsps& out,
                const Cancel& cancel) {
  PathSink firsts(count, true);
  if (!trace_local_hits(kernels, queries, targets, recipe, path_recipe, hits, count, firsts, cancel)) return false;
  HspFinder finder(kernels, queries, targets, recipe, path_recipe, cancel);
  for (int64_t k = 0; k < count; k++)
    if (!finder.add(hits[k], k, firsts, static_cast<size_t>(k), limits.max_count, limits.min_scores[k], out)) return false;
  return true;
}

}  // namespace gpualign
