#include "local_paths.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "box_paths.hpp"
#include "list_paths.hpp"

namespace gpualign {
namespace {

// Traces hits whose bounds are known.
class HitTracer {
 public:
  // tables: of the hits; null: all have the table of the recipes
  HitTracer(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
            const PathRecipe& path_recipe, const LocalHit* hits, const std::vector<PairTable>* tables, PathSink& sink, const Cancel& cancel)
      : kernels_(kernels), queries_(queries), targets_(targets), recipe_(recipe), path_recipe_(path_recipe), hits_(hits), tables_(tables),
        sink_(sink), cancel_(cancel) {}

  // Traces the global alignments between the bounds of all hits: as boxes one by one where bands do not apply, and otherwise as a list.
  bool run(const std::vector<HitBounds>& bounds) {
    const size_t count = bounds.size();
    std::vector<int64_t> query_offsets, target_offsets;  // [hit][2]: of the first letter of its alignment and after the last one
    for (size_t k = 0; k < count; k++) {
      const int64_t query = queries_.offsets[hits_[k].query], target = targets_.offsets[hits_[k].target];
      query_offsets.insert(query_offsets.end(), {query + bounds[k].query_start, query + bounds[k].query_end});
      target_offsets.insert(target_offsets.end(), {target + bounds[k].target_start, target + bounds[k].target_end});
    }
    std::vector<ListedPair> parts;
    std::vector<int64_t> scores, hits;  // of the parts
    const Sequences queries{queries_.codes, query_offsets.data()}, targets{targets_.codes, target_offsets.data()};
    BoxPaths boxes(kernels_, recipe_, path_recipe_, cancel_);
    for (size_t k = 0; k < count; k++) {
      const int64_t hit = static_cast<int64_t>(k), record = 2 * hit;  // records between those of two hits are not used
      select_table(hit);
      if (!path_recipe_.banded && boxes.align(queries.record(record), targets.record(record), hits_[k].score, hit, sink_)) continue;
      if (cancel_.requested) return false;
      parts.push_back({record, record, 0});
      scores.push_back(hits_[k].score);
      hits.push_back(hit);
      if (!tables_) continue;  // all hits have the scores of one recipe, and can be one list
      if (!trace_list(queries, targets, parts, scores, hits)) return false;
      parts.clear(), scores.clear(), hits.clear();
    }
    if (!trace_list(queries, targets, parts, scores, hits)) return false;
    for (size_t k = 0; k < count; k++) {
      if (sink_.scores[k] != hits_[k].score) throw std::logic_error("the path of a hit has another score");
      PathStatistics& s = sink_.statistics[k];
      const auto query = static_cast<int32_t>(bounds[k].query_start), target = static_cast<int32_t>(bounds[k].target_start);
      s.query_start += query, s.query_end += query;
      s.target_start += target, s.target_end += target;
    }
    return true;
  }

 private:
  // Sets the score tables of the recipes to that of the hit, if hits have their own.
  void select_table(int64_t hit) {
    if (tables_) set_table((*tables_)[static_cast<size_t>(hit)], recipe_, path_recipe_);
  }

  // Traces parts of hits, which are pairs of the sink.
  bool trace_list(const Sequences& queries, const Sequences& targets, const std::vector<ListedPair>& parts,
                  const std::vector<int64_t>& scores, const std::vector<int64_t>& hits) {
    if (parts.empty()) return true;
    const auto count = static_cast<int64_t>(parts.size());
    PathSink list(count, sink_.want_runs());
    if (!list_paths(kernels_, queries, targets, path_recipe_, parts.data(), scores.data(), count, list, cancel_)) return false;
    std::vector<uint8_t> backwards;
    for (size_t k = 0; k < parts.size(); k++) {
      backwards.clear();
      if (list.want_runs()) {
        const auto begin = list.runs.begin() + list.starts[k];
        backwards.assign(std::make_reverse_iterator(begin + list.sizes[k]), std::make_reverse_iterator(begin));
      }
      sink_.put(hits[k], list.scores[k], list.statistics[k], backwards);
    }
    return true;
  }

  const Kernels& kernels_;
  const Sequences& queries_;
  const Sequences& targets_;
  LocalRecipe recipe_;
  PathRecipe path_recipe_;
  const LocalHit* const hits_;
  const std::vector<PairTable>* const tables_;
  PathSink& sink_;
  const Cancel& cancel_;
};

}  // namespace

void set_table(const PairTable& table, LocalRecipe& recipe, PathRecipe& path_recipe) {
  std::copy(std::begin(table.scores), std::end(table.scores), recipe.table);
  for (int i = 0; i < recipe.padding; i++)
    for (int j = 0; j < recipe.padding; j++) {
      const int at = i * kLetters + j;
      path_recipe.usable[at] = table.usable[at];
      path_recipe.differences.table[at] = static_cast<uint32_t>(table.scores[at]) + 2 * path_recipe.extend;
    }
}

bool trace_local_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                      const PathRecipe& path_recipe, const LocalHit* hits, int64_t count, PathSink& sink, const Cancel& cancel,
                      const std::vector<PairTable>* tables) {
  std::vector<HitBounds> bounds(static_cast<size_t>(count));
  return find_hit_bounds(kernels, queries, targets, recipe, hits, count, bounds.data(), cancel, tables) &&
         HitTracer(kernels, queries, targets, recipe, path_recipe, hits, tables, sink, cancel).run(bounds);
}

}  // namespace gpualign
