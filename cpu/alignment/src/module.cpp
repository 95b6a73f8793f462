// gpualign.cpu.alignment._kernels: Python bindings of the CPU kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings.hpp"
#include "core/common/src/owned_array.hpp"
#include "cpu/src/dispatch.hpp"
#include "cpu/src/scratch.hpp"
#include "list_paths.hpp"
#include "local_tile.hpp"
#include "path_tile.hpp"
#include "tile.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

using Table = nb::ndarray<const uint32_t, nb::shape<kLetters, kLetters>, nb::c_contig, nb::device::cpu>;
template <class Score>
using Scores = nb::ndarray<Score, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Pairing pairing_named(const std::string& name) {
  if (name == "all") return Pairing::kAll;
  if (name == "above") return Pairing::kAbove;
  if (name == "above-or-equal") return Pairing::kAboveOrEqual;
  throw nb::value_error("pairing must be all, above or above-or-equal");
}

template <class Score>
bool score(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids, Codes target_codes,
           Numbers target_offsets, Numbers target_ids, const std::string& pairing, const Recipes& recipes, Scores<Score> scores,
           const Cancel& cancel) {
  const Kernels& kernels = kernels_named<Kernels>(instruction_set);
  const auto [queries, targets] = checked_sets(query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids);
  if (scores.shape(0) != query_ids.shape(0) || scores.shape(1) != target_ids.shape(0))
    throw nb::value_error("scores must have a row for each query and a column for each target");
  const Tile<Score> tile{query_ids.data(),       static_cast<int64_t>(query_ids.shape(0)),
                         target_ids.data(),      static_cast<int64_t>(target_ids.shape(0)),
                         pairing_named(pairing), scores.data()};
  nb::gil_scoped_release unlocked;
  return score_tile<Score>(kernels, queries, targets, recipes, tile, cancel);
}

using ScoreTable = nb::ndarray<const int32_t, nb::shape<kLetters, kLetters>, nb::c_contig, nb::device::cpu>;

template <class Score>
bool score_local(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids, Codes target_codes,
                 Numbers target_offsets, Numbers target_ids, const LocalRecipe& recipe, LocalHistory& history, Scores<Score> scores,
                 const Cancel& cancel) {
  const Kernels& kernels = kernels_named<Kernels>(instruction_set);
  const auto [queries, targets] = checked_sets(query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids);
  if (scores.shape(0) != query_ids.shape(0) || scores.shape(1) != target_ids.shape(0))
    throw nb::value_error("scores must have a row for each query and a column for each target");
  if (history.queries() + 1 != static_cast<int64_t>(query_offsets.shape(0)))
    throw nb::value_error("the history belongs to another set of queries");
  const Tile<Score> tile{query_ids.data(),  static_cast<int64_t>(query_ids.shape(0)),
                         target_ids.data(), static_cast<int64_t>(target_ids.shape(0)),
                         Pairing::kAll,     scores.data()};
  nb::gil_scoped_release unlocked;
  return score_local_tile<Score>(kernels, queries, targets, recipe, history, tile, cancel);
}

using Usable = nb::ndarray<const bool, nb::shape<kLetters, kLetters>, nb::c_contig, nb::device::cpu>;

nb::object align(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids, Codes target_codes,
                 Numbers target_offsets, Numbers target_ids, const std::string& pairing, const PathRecipe& recipe, bool want_runs,
                 const Cancel& cancel) {
  const Kernels& kernels = kernels_named<Kernels>(instruction_set);
  const auto [queries, targets] = checked_sets(query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids);
  const size_t rows = query_ids.shape(0), columns = target_ids.shape(0);
  const Pairing parsed_pairing = pairing_named(pairing);
  PathSink sink(static_cast<int64_t>(rows * columns), want_runs);
  bool done;
  {
    nb::gil_scoped_release unlocked;
    done = path_tile(kernels, queries, targets, recipe, query_ids.data(), static_cast<int64_t>(rows), target_ids.data(),
                     static_cast<int64_t>(columns), parsed_pairing, sink, cancel);
  }
  if (!done) return nb::none();
  return path_arrays(std::move(sink), {rows, columns});
}

std::vector<ListedPair> listed_pairs(const Numbers& query_ids, const Numbers& target_ids, const Numbers& edits) {
  const size_t count = edits.shape(0);
  if (query_ids.shape(0) != count || target_ids.shape(0) != count)
    throw nb::value_error("a pair is a query, a target and a number of edits");
  std::vector<ListedPair> pairs(count);
  for (size_t k = 0; k < count; k++) pairs[k] = {query_ids(k), target_ids(k), edits(k)};
  return pairs;
}

nb::object align_listed(const std::string& instruction_set, Codes query_codes, Numbers query_offsets, Numbers query_ids, Codes target_codes,
                        Numbers target_offsets, Numbers target_ids, Numbers edits, const PathRecipe& recipe, bool want_runs,
                        const Cancel& cancel) {
  const Kernels& kernels = kernels_named<Kernels>(instruction_set);
  const auto [queries, targets] = checked_sets(query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids);
  const std::vector<ListedPair> pairs = listed_pairs(query_ids, target_ids, edits);
  const auto count = static_cast<int64_t>(pairs.size());
  PathSink sink(count, want_runs);
  bool done;
  {
    nb::gil_scoped_release unlocked;
    done = list_paths(kernels, queries, targets, recipe, pairs.data(), nullptr, count, sink, cancel);
  }
  if (!done) return nb::none();
  return path_arrays(std::move(sink), {pairs.size()});
}

using LetterNumbers = nb::ndarray<const uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

LetterTable letter_table(const LetterNumbers& counts, const Codes& codes, const Numbers& ids) {
  if (counts.shape(1) != codes.shape(0)) throw nb::value_error("a code has one column");
  for (size_t c = 0; c < codes.shape(0); c++)
    if (codes(c) >= kLetters) throw nb::value_error("a code is beyond the letters");
  for (size_t k = 0; k < ids.shape(0); k++)
    if (ids(k) < 0 || static_cast<size_t>(ids(k)) >= counts.shape(0)) throw nb::index_error("a record does not exist");
  return {counts.data(), codes.data(), codes.shape(0)};
}

nb::object slacks(LetterNumbers query_counts, Codes query_codes, Numbers query_ids, LetterNumbers target_counts, Codes target_codes,
                  Numbers target_ids, Numbers edits, const PathRecipe& recipe, std::optional<Numbers> scores, int threads) {
  const LetterTable queries = letter_table(query_counts, query_codes, query_ids);
  const LetterTable targets = letter_table(target_counts, target_codes, target_ids);
  const std::vector<ListedPair> pairs = listed_pairs(query_ids, target_ids, edits);
  if (!recipe.banded) throw nb::value_error("the recipe has no bands");
  if (threads < 1) throw nb::value_error("at least one thread is needed");
  if (scores && scores->shape(0) != pairs.size()) throw nb::value_error("a pair has one score");
  std::vector<int64_t> out(pairs.size());
  {
    nb::gil_scoped_release unlocked;
    list_slacks(queries, targets, recipe, pairs.data(), scores ? scores->data() : nullptr, static_cast<int64_t>(pairs.size()), out.data(),
                threads);
  }
  const size_t count = out.size();
  return nb::cast(owned_array(std::move(out), {count}));
}

}  // namespace

NB_MODULE(_kernels, m) {
  nb::set_leak_warnings(false);  // an error's traceback still holds objects when the process ends
  m.doc() = "Vectorised alignment kernels for the CPU.";

  nb::exception<ScratchTooSmall>(m, "ScratchTooSmall").doc() = "A pair needs more scratch memory than its recipe allows for a worker.";

  nb::class_<Cancel>(m, "Cancel", "A request to stop, shared by the calls that receive it.")
      .def(nb::init<>())
      .def("request", [](Cancel& c) { c.requested = 1; }, "Make every call that holds this object return soon.");

  nb::class_<Recipe>(m, "Recipe", "A scoring in the form the kernels compute; see gpualign.cpu.alignment.recipe.")
      .def(nb::init<>())
      .def_prop_rw(
          "bitsliced", [](const Recipe& r) { return r.family == Family::kBitsliced; },
          [](Recipe& r, bool on) { r.family = on ? Family::kBitsliced : Family::kDifference; })
      .def_rw("width", &Recipe::width)
      .def_rw("letters", &Recipe::letters)
      .def_rw("open_extra", &Recipe::open_extra)
      .def_rw("match_steps", &Recipe::match_steps)
      .def_rw("mismatch_steps", &Recipe::mismatch_steps)
      .def_prop_rw(
          "pairs",
          [](const Recipe& r) {
            using Pairs = Recipe::Pairs;
            return std::string(r.pairs == Pairs::kMyers ? "myers" : r.pairs == Pairs::kWavefront ? "wavefront" : "");
          },
          [](Recipe& r, const std::string& name) {
            if (name == "myers")
              r.pairs = Recipe::Pairs::kMyers;
            else if (name == "wavefront")
              r.pairs = Recipe::Pairs::kWavefront;
            else if (name.empty())
              r.pairs = Recipe::Pairs::kNone;
            else
              throw nb::value_error("pairs must be myers, wavefront or empty");
          },
          "The kernel for single pairs, or empty.")
      .def_rw("slice_columns", &Recipe::slice_columns)
      .def_rw("sum_factor", &Recipe::sum_factor)
      .def_rw("per_letter", &Recipe::per_letter)
      .def_rw("constant", &Recipe::constant)
      .def(
          "set_table", [](Recipe& r, Table table) { std::memcpy(r.table, table.data(), sizeof r.table); },
          "Set the shifted scores, row = query letter.");

  nb::class_<Recipes>(m, "Recipes", "The recipe of a task, and one for the last targets of a tile if fewer than rest_below are left.")
      .def(nb::init<Recipe, Recipe, int64_t>(), nb::arg("main"), nb::arg("rest"), nb::arg("rest_below"));

  nb::class_<PathRecipe>(m, "PathRecipe", "A scoring and the kind of end gaps for `align_tile`; see gpualign.cpu.alignment.path_recipe.")
      .def(nb::init<>())
      .def_rw("differences", &PathRecipe::differences)
      .def_rw("extend", &PathRecipe::extend)
      .def_rw("free_query", &PathRecipe::free_query)
      .def_rw("free_target", &PathRecipe::free_target)
      .def_rw("negate", &PathRecipe::negate)
      .def_rw("sliced", &PathRecipe::sliced)
      .def_rw("banded", &PathRecipe::banded)
      .def_rw("worker_bytes", &PathRecipe::worker_bytes)
      .def(
          "set_usable", [](PathRecipe& r, Usable usable) { std::memcpy(r.usable, usable.data(), sizeof r.usable); },
          "Set the pairs of letters that paths may contain, bool[letters][letters].");

  nb::class_<LocalHistory>(m, "LocalHistory", "Statistics of the width that the scores of each query need, shared by the tiles of a task.")
      .def(nb::init<int64_t>(), nb::arg("queries"));

  nb::class_<LocalRecipe>(m, "LocalRecipe", "A scoring for local alignments; see gpualign.cpu.alignment.local_recipe.")
      .def(nb::init<>())
      .def_rw("letters", &LocalRecipe::letters)
      .def_rw("padding", &LocalRecipe::padding)
      .def_rw("open", &LocalRecipe::open)
      .def_rw("extend", &LocalRecipe::extend)
      .def_rw("byte_scores", &LocalRecipe::byte_scores)
      .def_rw("narrowest", &LocalRecipe::narrowest)
      .def_rw("widest", &LocalRecipe::widest)
      .def_rw("column_steps", &LocalRecipe::column_steps)
      .def_rw("most_columns", &LocalRecipe::most_columns)
      .def(
          "set_table", [](LocalRecipe& r, ScoreTable table) { std::memcpy(r.table, table.data(), sizeof r.table); },
          "Set the scores, row = query letter.");

  m.def(
      "instruction_sets",
      [] {
        std::vector<std::tuple<std::string, int, bool, bool>> out;
        for (const auto& v : variants<Kernels>())
          out.emplace_back(v.kernels->name, v.kernels->vector_bytes, v.kernels->ternary_logic, v.supported);
        return out;
      },
      "(name, bytes of a vector, has three-input logic, runs on this machine) of each variant in this build, fastest first.");
  m.def("score_tile_32", &score<int32_t>, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"),
        nb::arg("query_ids"), nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("pairing"),
        nb::arg("recipes"), nb::arg("scores"), nb::arg("cancel"), "Fill int32 scores of a tile; False if cancelled.");
  m.def("score_tile_64", &score<int64_t>, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"),
        nb::arg("query_ids"), nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("pairing"),
        nb::arg("recipes"), nb::arg("scores"), nb::arg("cancel"), "Fill int64 scores of a tile; False if cancelled.");
  m.def("score_local_tile_32", &score_local<int32_t>, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"),
        nb::arg("query_ids"), nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("recipe"),
        nb::arg("history"), nb::arg("scores"), nb::arg("cancel"), "Fill int32 local scores of all pairs of a tile; False if cancelled.");
  m.def("score_local_tile_64", &score_local<int64_t>, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"),
        nb::arg("query_ids"), nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("recipe"),
        nb::arg("history"), nb::arg("scores"), nb::arg("cancel"), "Fill int64 local scores of all pairs of a tile; False if cancelled.");
  bind_local_hits(m);
  m.def("align_tile", &align, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"), nb::arg("query_ids"),
        nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("pairing"), nb::arg("recipe"),
        nb::arg("want_runs"), nb::arg("cancel"),
        "Trace the pairs of a tile. Returns (int64 scores, int32 statistics[rows, columns, 9], runs, starts, sizes), the last "
        "three None unless want_runs; None if cancelled.");
  m.def("align_listed", &align_listed, nb::arg("instruction_set"), nb::arg("query_codes"), nb::arg("query_offsets"), nb::arg("query_ids"),
        nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("target_ids"), nb::arg("edits"), nb::arg("recipe"),
        nb::arg("want_runs"), nb::arg("cancel"),
        "Trace listed pairs, with the numbers of edits that are expected. Returns the same as align_tile, for an array of pairs.");
  m.def("listed_slacks", &slacks, nb::arg("query_counts"), nb::arg("query_codes"), nb::arg("query_ids"), nb::arg("target_counts"),
        nb::arg("target_codes"), nb::arg("target_ids"), nb::arg("edits"), nb::arg("recipe"), nb::arg("scores").none(), nb::arg("threads"),
        "Return the slack of the band that each pair needs, int64: the smallest with which its score proves that the band holds every best "
        "path. counts: uint32[records][codes], the letters of each record by code. scores: None for those that are expected with these "
        "numbers of edits.");
  m.def(
      "path_bytes",
      [](const std::string& instruction_set, const PathRecipe& recipe, int64_t rows, int64_t columns) {
        const auto [block, pair] = path_bytes(kernels_named<Kernels>(instruction_set), recipe, rows, columns);
        return std::make_tuple(block, pair);
      },
      nb::arg("instruction_set"), nb::arg("recipe"), nb::arg("rows"), nb::arg("columns"),
      "Return the scratch memory for tracing up to these lengths: of a block of lanes, and the minimum of a single pair "
      "(bytes).");
  m.attr("MAX_MATCH_STEPS") = kMaxMatchSteps;
}
