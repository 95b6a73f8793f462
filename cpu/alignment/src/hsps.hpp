// Several local alignments of a pair (high-scoring segment pairs, HSPs): those of Waterman and Eggert (1987).
//
// The first is the best local alignment. Each of the others is the best of those that share no pair of letters with the alignments before
// it, chosen among equally good ones as the first is (local_paths.hpp).
#pragma once
#include <memory>
#include <vector>

#include "local_pairs.hpp"
#include "local_paths.hpp"
#include "pair_paths.hpp"

namespace gpualign {

// Limits on the alignments of each hit.
struct HspLimits {
  int64_t max_count;          // >= 1
  const int64_t* min_scores;  // [hits] of the alignments after the first
};

// Alignments of hits: those of a hit are consecutive, best first.
struct Hsps {
  std::vector<int64_t> hits;  // number of the hit that each alignment belongs to
  PathSink paths{0, true};
};

// Finds the alignments of hits after the first.
class HspFinder {
 public:
  HspFinder(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
            const PathRecipe& path_recipe, const Cancel& cancel);

  // Appends the first alignment of a hit, path `at` of `firsts`, and those that follow, with at least min_score. number: of the hit.
  // Returns false if cancelled.
  bool add(const LocalHit& hit, int64_t number, const PathSink& firsts, size_t at, int64_t max_count, int64_t min_score, Hsps& out);

 private:
  // Appends an alignment whose path is in runs_, and excludes its pairs of letters from those that follow.
  void put(int64_t number, int64_t score, const PathStatistics& statistics, Hsps& out);
  // Finds the alignment with this score, and leaves its path in runs_.
  PathStatistics trace(Record query, Record target, int64_t score);

  const Sequences& queries_;
  const Sequences& targets_;
  LocalPairs pairs_;
  const PathRecipe path_recipe_;
  const std::unique_ptr<PairPaths> paths_;
  const Cancel& cancel_;
  Exclusions exclusions_{};  // of the hit
  ExcludedCells excluded_;
  std::vector<uint8_t> runs_, reversed_query_, reversed_target_;
};

// Traces the alignments of hits. Returns false if cancelled. Throws what trace_local_hits throws.
bool trace_hsps(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                const PathRecipe& path_recipe, const LocalHit* hits, int64_t count, const HspLimits& limits, Hsps& out,
                const Cancel& cancel);

}  // namespace gpualign
