// Python bindings of the kernels for lists of local alignments.
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "adjusted_hits.hpp"
#include "bindings.hpp"
#include "core/common/src/owned_array.hpp"
#include "cpu/src/dispatch.hpp"
#include "hsps.hpp"
#include "local_pairs.hpp"
#include "local_paths.hpp"

namespace gpualign {
namespace {

nb::object score_pairs(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids, Codes target_codes,
                       Numbers target_offsets, Numbers target_ids, const LocalRecipe& recipe, const Cancel& cancel) {
  const Kernels& kernels = kernels_named<Kernels>(instruction_set);
  const auto [queries, targets] = checked_sets(query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids);
  if (query_ids.shape(0) != target_ids.shape(0)) throw nb::value_error("a pair is a query and a target");
  std::vector<int64_t> scores(query_ids.shape(0));
  {
    nb::gil_scoped_release unlocked;
    LocalPairs pairs(kernels, recipe, cancel);
    for (size_t k = 0; k < scores.size() && !cancel.requested; k++)
      scores[k] = pairs.score(queries.record(query_ids(k)), targets.record(target_ids(k)), recipe.narrowest);
  }
  if (cancel.requested) return nb::none();
  const size_t count = scores.size();
  return nb::cast(owned_array(std::move(scores), {count}));
}

std::vector<LocalHit> hits_of(const Numbers& query_ids, const Numbers& target_ids, const Numbers& scores) {
  const size_t count = scores.shape(0);
  if (query_ids.shape(0) != count || target_ids.shape(0) != count) throw nb::value_error("a hit is a query, a target and a score");
  std::vector<LocalHit> hits(count);
  for (size_t k = 0; k < count; k++) {
    if (scores(k) <= 0) throw nb::value_error("a hit has a score above 0");
    hits[k] = {query_ids(k), target_ids(k), scores(k)};
  }
  return hits;
}

nb::object trace_hits(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids, Codes target_codes,
                      Numbers target_offsets, Numbers target_ids, Numbers scores, const LocalRecipe& recipe, const PathRecipe& path_recipe,
                      const Cancel& cancel) {
  const Kernels& kernels = kernels_named<Kernels>(instruction_set);
  const auto [queries, targets] = checked_sets(query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids);
  const std::vector<LocalHit> hits = hits_of(query_ids, target_ids, scores);
  const auto count = static_cast<int64_t>(hits.size());
  PathSink sink(count, true);
  bool done;
  {
    nb::gil_scoped_release unlocked;
    done = trace_local_hits(kernels, queries, targets, recipe, path_recipe, hits.data(), count, sink, cancel);
  }
  if (!done) return nb::none();
  return path_arrays(std::move(sink), {hits.size()});
}

nb::object bounds_of_hits(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids,
                          Codes target_codes, Numbers target_offsets, Numbers target_ids, Numbers scores, const LocalRecipe& recipe,
                          const Cancel& cancel) {
  const Kernels& kernels = kernels_named<Kernels>(instruction_set);
  const auto [queries, targets] = checked_sets(query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids);
  const std::vector<LocalHit> hits = hits_of(query_ids, target_ids, scores);
  std::vector<HitBounds> bounds(hits.size());
  bool done;
  {
    nb::gil_scoped_release unlocked;
    done = find_hit_bounds(kernels, queries, targets, recipe, hits.data(), static_cast<int64_t>(hits.size()), bounds.data(), cancel);
  }
  if (!done) return nb::none();
  std::vector<int64_t> flat;
  for (const HitBounds& b : bounds) flat.insert(flat.end(), {b.query_start, b.query_end, b.target_start, b.target_end});
  return nb::cast(owned_array(std::move(flat), {hits.size(), 4}));
}

// Returns the alignments of hits as NumPy arrays: (hit of each, scores, statistics, runs, starts, sizes).
nb::object hsp_arrays(Hsps&& hsps) {
  const size_t count = hsps.hits.size();
  return nb::make_tuple(owned_array(std::move(hsps.hits), {count}), path_arrays(std::move(hsps.paths), {count}));
}

HspLimits hsp_limits(int64_t max_count, const Numbers& min_scores, size_t hit_count) {
  if (max_count < 1) throw nb::value_error("a hit has at least one alignment");
  if (min_scores.shape(0) != hit_count) throw nb::value_error("a hit has a least score");
  return {max_count, min_scores.data()};
}

nb::object trace_all_hsps(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids,
                          Codes target_codes, Numbers target_offsets, Numbers target_ids, Numbers scores, const LocalRecipe& recipe,
                          const PathRecipe& path_recipe, int64_t max_count, Numbers min_scores, const Cancel& cancel) {
  const Kernels& kernels = kernels_named<Kernels>(instruction_set);
  const auto [queries, targets] = checked_sets(query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids);
  const std::vector<LocalHit> hits = hits_of(query_ids, target_ids, scores);
  const HspLimits limits = hsp_limits(max_count, min_scores, hits.size());
  Hsps out;
  bool done;
  {
    nb::gil_scoped_release unlocked;
    done = trace_hsps(kernels, queries, targets, recipe, path_recipe, hits.data(), static_cast<int64_t>(hits.size()), limits, out, cancel);
  }
  if (!done) return nb::none();
  return hsp_arrays(std::move(out));
}

using Windows = nb::ndarray<const int64_t, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;

std::vector<HitBounds> windows_of(const Windows& windows, const std::vector<LocalHit>& hits, const Sequences& queries,
                                  const Sequences& targets) {
  if (windows.shape(0) != hits.size()) throw nb::value_error("a hit has a window");
  const auto is_part = [](int64_t start, int64_t stop, int64_t length) { return 0 <= start && start <= stop && stop <= length; };
  std::vector<HitBounds> out(hits.size());
  for (size_t k = 0; k < out.size(); k++) {
    out[k] = {windows(k, 0), windows(k, 1), windows(k, 2), windows(k, 3)};
    if (!is_part(out[k].query_start, out[k].query_end, queries.length(hits[k].query)) ||
        !is_part(out[k].target_start, out[k].target_end, targets.length(hits[k].target)))
      throw nb::index_error("a window is not part of its sequences");
  }
  return out;
}

nb::object score_adjusted(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids,
                          Codes target_codes, Numbers target_offsets, Numbers target_ids, Numbers unadjusted, Windows windows,
                          const MatrixAdjuster& adjuster, const LocalRecipe& recipe, const Cancel& cancel) {
  const Kernels& kernels = kernels_named<Kernels>(instruction_set);
  const auto [queries, targets] = checked_sets(query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids);
  const std::vector<LocalHit> hits = hits_of(query_ids, target_ids, unadjusted);
  const std::vector<HitBounds> parts = windows_of(windows, hits, queries, targets);
  std::vector<int64_t> scores(hits.size());
  bool done;
  {
    nb::gil_scoped_release unlocked;
    done = score_adjusted_hits(kernels, queries, targets, adjuster, recipe, hits.data(), parts.data(), static_cast<int64_t>(hits.size()),
                               scores.data(), cancel);
  }
  if (!done) return nb::none();
  return nb::cast(owned_array(std::move(scores), {hits.size()}));
}

nb::object trace_adjusted(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids,
                          Codes target_codes, Numbers target_offsets, Numbers target_ids, Numbers scores, Windows windows,
                          const MatrixAdjuster& adjuster, const LocalRecipe& recipe, const PathRecipe& path_recipe, const Cancel& cancel) {
  const Kernels& kernels = kernels_named<Kernels>(instruction_set);
  const auto [queries, targets] = checked_sets(query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids);
  const std::vector<LocalHit> hits = hits_of(query_ids, target_ids, scores);
  const std::vector<HitBounds> parts = windows_of(windows, hits, queries, targets);
  const auto count = static_cast<int64_t>(hits.size());
  PathSink sink(count, true);
  bool done;
  {
    nb::gil_scoped_release unlocked;
    done = trace_adjusted_hits(kernels, queries, targets, adjuster, recipe, path_recipe, hits.data(), parts.data(), count, sink, cancel);
  }
  if (!done) return nb::none();
  return path_arrays(std::move(sink), {hits.size()});
}

nb::object trace_all_adjusted_hsps(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids,
                                   Codes target_codes, Numbers target_offsets, Numbers target_ids, Numbers scores, Windows windows,
                                   const MatrixAdjuster& adjuster, const LocalRecipe& recipe, const PathRecipe& path_recipe,
                                   int64_t max_count, Numbers min_scores, const Cancel& cancel) {
  const Kernels& kernels = kernels_named<Kernels>(instruction_set);
  const auto [queries, targets] = checked_sets(query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids);
  const std::vector<LocalHit> hits = hits_of(query_ids, target_ids, scores);
  const HspLimits limits = hsp_limits(max_count, min_scores, hits.size());
  const std::vector<HitBounds> parts = windows_of(windows, hits, queries, targets);
  Hsps out;
  bool done;
  {
    nb::gil_scoped_release unlocked;
    done = trace_adjusted_hsps(kernels, queries, targets, adjuster, recipe, path_recipe, hits.data(), parts.data(),
                               static_cast<int64_t>(hits.size()), limits, out, cancel);
  }
  if (!done) return nb::none();
  return hsp_arrays(std::move(out));
}

using TargetFrequencies = nb::ndarray<const double, nb::shape<kAminoAcids, kAminoAcids>, nb::c_contig, nb::device::cpu>;

MatrixModel matrix_model(const TargetFrequencies& frequencies, double lambda, int stop, int stop_stop) {
  MatrixModel model{{}, lambda, stop, stop_stop};
  for (int i = 0; i < kAminoAcids; i++)
    for (int j = 0; j < kAminoAcids; j++) model.targets[i][j] = frequencies(i, j);
  return model;
}

nb::object adjusted_scores(const MatrixAdjuster& adjuster, Codes query, Codes target) {
  std::vector<int32_t> table(kTableLetters * kTableLetters);
  const auto m = static_cast<int64_t>(query.shape(0)), n = static_cast<int64_t>(target.shape(0));
  if (!adjuster.make_table(composition_of(query.data(), m), m, composition_of(target.data(), n), n, table.data())) return nb::none();
  return nb::cast(owned_array(std::move(table), {kTableLetters, kTableLetters}));
}

}  // namespace

void bind_local_hits(nb::module_& m) {
  m.def("score_local_pairs", &score_pairs, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"),
        nb::arg("query_ids"), nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("recipe"),
        nb::arg("cancel"), "Return the local scores of pairs, int64[pairs]; None if cancelled.");
  m.def("trace_local_hits", &trace_hits, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"), nb::arg("query_ids"),
        nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("scores"), nb::arg("recipe"),
        nb::arg("path_recipe"), nb::arg("cancel"),
        "Trace local alignments with known scores. Returns (int64 scores, int32 statistics[hits, 9], runs, starts, sizes); None "
        "if cancelled.");
  m.def("find_hit_bounds", &bounds_of_hits, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"),
        nb::arg("query_ids"), nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("scores"),
        nb::arg("recipe"), nb::arg("cancel"),
        "Return the bounds of the alignments that trace_local_hits traces, int64[hits][4] (query start, end, target start, end); None if "
        "cancelled.");
  m.def("trace_hsps", &trace_all_hsps, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"), nb::arg("query_ids"),
        nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("scores"), nb::arg("recipe"),
        nb::arg("path_recipe"), nb::arg("max_count"), nb::arg("min_scores"), nb::arg("cancel"),
        "Trace up to max_count local alignments of each hit that share no pair of letters, the first with its known score, the others with "
        "at least min_scores, int64[hits]. Returns (int64 hit of each, the same as trace_local_hits); None if cancelled.");
  nb::class_<MatrixAdjuster>(m, "MatrixAdjuster", "Makes the scores of pairs of proteins; see core/scoring/src/composition.hpp.")
      .def(
          "__init__",
          [](MatrixAdjuster* self, TargetFrequencies frequencies, double lambda, int stop, int stop_stop, bool only_scales) {
            new (self)
                MatrixAdjuster(matrix_model(frequencies, lambda, stop, stop_stop), only_scales ? Adjustment::kScale : Adjustment::kAdjust);
          },
          nb::arg("target_frequencies"), nb::arg("ungapped_lambda"), nb::arg("stop_score"), nb::arg("stop_stop_score"),
          nb::arg("only_scales"))
      .def("scores", &adjusted_scores, nb::arg("query"), nb::arg("target"),
           "Return the scores of two encoded proteins in units of 1/32, int32[32][32], row = query letter; None if one of them has no "
           "amino acids.");
  m.def("score_adjusted_hits", &score_adjusted, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"),
        nb::arg("query_ids"), nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("scores"),
        nb::arg("windows"), nb::arg("adjuster"), nb::arg("recipe"), nb::arg("cancel"),
        "Return the scores of hits with matrices adjusted to the composition of windows, int64[hits][4] (query start, end, target start, "
        "end): int64[hits], in units of 1/32; None if cancelled.");
  m.def("trace_adjusted_hits", &trace_adjusted, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"),
        nb::arg("query_ids"), nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("scores"),
        nb::arg("windows"), nb::arg("adjuster"), nb::arg("recipe"), nb::arg("path_recipe"), nb::arg("cancel"),
        "Trace hits with scores from score_adjusted_hits. Returns the same as trace_local_hits.");
  m.def("trace_adjusted_hsps", &trace_all_adjusted_hsps, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"),
        nb::arg("query_ids"), nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("scores"),
        nb::arg("windows"), nb::arg("adjuster"), nb::arg("recipe"), nb::arg("path_recipe"), nb::arg("max_count"), nb::arg("min_scores"),
        nb::arg("cancel"), "Trace the same hits as trace_hsps does. Returns the same.");
}

}  // namespace gpualign
