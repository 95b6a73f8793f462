// gpualign.core.alignment._walks: Python bindings of the traceback through whole matrices, of directions or of scores, which a device has
// computed and copied back (Li 2013), and of the recount of path statistics.
//
// A unit is a block of threads with one pair each; its matrix is [strip][column][word][thread]. Strips have `rows` rows, and the last one
// ends with the last row of the query; a word holds 32 / bits rows, the last one lowest. The bits of a row, from the highest: H is not from
// the diagonal; H is not F; and, with four bits, the gaps that enter the right and the lower neighbour are longer than one letter.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/common/src/owned_array.hpp"
#include "core/common/src/threads.hpp"
#include "recount.hpp"
#include "walk.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

constexpr size_t kRecountedPairsPerPart = 1024;  // that a thread takes at a time

template <class T, int N>
using Array = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
using Codes = Array<uint8_t, 1>;
using Offsets = Array<int64_t, 1>;
using Usable = nb::ndarray<const bool, nb::shape<kWalkLetters, kWalkLetters>, nb::c_contig, nb::device::cpu>;
using Pairs = nb::ndarray<const uint8_t, nb::shape<kWalkLetters, kWalkLetters>, nb::c_contig, nb::device::cpu>;
using Scores = nb::ndarray<const int32_t, nb::shape<kWalkLetters, kWalkLetters>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

int directions_of(uint32_t word, int64_t row, int64_t rows, int bits) {
  const uint32_t flags = word >> (bits * (rows - 1 - row));
  if (bits == 2) return static_cast<int>((~flags >> 1 & 1) | (~flags << 1 & 2));
  return static_cast<int>((~flags >> 3 & 1) | (~flags >> 1 & 2) | (flags << 1 & 4) | (flags << 3 & 8));
}

// Traces every pair and fills its statistics [pairs][9]. trace(k, counts, runs) traces pair k with the statistics `counts` so far, and
// returns those of the path. Returns runs, and their starts and sizes.
template <class Trace>
nb::object walk_pairs(size_t count, bool fits, bool want_runs, Counts statistics, const Trace& trace) {
  constexpr size_t kFields = sizeof(PathStatistics) / sizeof(int32_t);
  if (!fits || statistics.shape(0) != count || statistics.shape(1) != kFields) throw nb::value_error("one row a pair is needed");
  PathSink sink(static_cast<int64_t>(count), want_runs);
  std::vector<uint8_t> backwards;
  {
    nb::gil_scoped_release unlocked;
    for (size_t k = 0; k < count; k++) {
      PathStatistics counts;
      std::memcpy(static_cast<void*>(&counts), &statistics(k, 0), sizeof counts);
      backwards.clear();
      counts = trace(k, counts, want_runs ? &backwards : nullptr);
      std::memcpy(&statistics(k, 0), &counts, sizeof counts);
      sink.put(static_cast<int64_t>(k), 0, counts, backwards);
    }
  }
  const size_t total = sink.runs.size(), path_count = sink.starts.size();
  return nb::make_tuple(owned_array(std::move(sink.runs), {total}), owned_array(std::move(sink.starts), {path_count}),
                        owned_array(std::move(sink.sizes), {path_count}));
}

// Traces paths through matrices of directions. matrices: words; pairs: [pairs][5] query record, target record, first word of the unit's
// matrix, thread, columns of the unit. statistics: query_end and target_end must be set.
nb::object walk_matrices(Codes query_codes, Offsets query_offsets, Codes target_codes, Offsets target_offsets, Array<uint32_t, 1> matrices,
                         Array<int64_t, 2> pairs, int64_t rows, int bits, int64_t threads, Usable usable, bool free_query, bool free_target,
                         bool want_runs, Counts statistics) {
  const int64_t rows_a_word = 32 / bits, words = (rows + rows_a_word - 1) / rows_a_word;
  const auto trace = [&](size_t k, const PathStatistics& counts, std::vector<uint8_t>* runs) {
    const int64_t* const pair = &pairs(k, 0);
    const uint8_t* const query = query_codes.data() + query_offsets(pair[0]);
    const int64_t m = query_offsets(pair[0] + 1) - query_offsets(pair[0]), strips = (m + rows - 1) / rows;
    const uint32_t* const matrix = matrices.data() + pair[2] + pair[3];
    Walk walk(query, target_codes.data() + target_offsets(pair[1]), {0, counts.query_end, counts.target_end}, runs);
    walk.run(usable.data(), 0, 0, [&](int64_t i, int64_t j) {
      const int64_t from = strips * rows - m + i - 1;  // rows before this one, including dummies
      const int64_t strip = from / rows, row = from % rows, word = row / rows_a_word;
      const int64_t held = std::min(rows - word * rows_a_word, rows_a_word);
      return directions_of(matrix[((strip * pair[4] + j - 1) * words + word) * threads], row % rows_a_word, held, bits);
    });
    walk.finish(free_query, free_target);
    return walk.counts;
  };
  return walk_pairs(pairs.shape(0), pairs.shape(1) == 5, want_runs, statistics, trace);
}

// Traces paths through whole matrices of linear global scores, row-major with row and column 0. pairs: [pairs][3] query record, target
// record, first number of the matrix. The directions of a cell are derived from the scores.
nb::object walk_scores(Codes query_codes, Offsets query_offsets, Codes target_codes, Offsets target_offsets, Array<int32_t, 1> matrices,
                       Array<int64_t, 2> pairs, Scores substitution, int32_t gap, Usable usable, bool want_runs, Counts statistics) {
  const auto trace = [&](size_t k, const PathStatistics&, std::vector<uint8_t>* runs) {
    const int64_t* const pair = &pairs(k, 0);
    const uint8_t* const query = query_codes.data() + query_offsets(pair[0]);
    const uint8_t* const target = target_codes.data() + target_offsets(pair[1]);
    const int64_t rows = query_offsets(pair[0] + 1) - query_offsets(pair[0]);
    const int64_t columns = target_offsets(pair[1] + 1) - target_offsets(pair[1]);
    const int32_t* const matrix = matrices.data() + pair[2];
    Walk walk(query, target, {0, rows, columns}, runs);
    walk.run(usable.data(), 0, 0, [&](int64_t i, int64_t j) {
      const int32_t* const cell = matrix + i * (columns + 1) + j;
      const int32_t score = substitution(query[i - 1], target[j - 1]);
      const bool diagonal = cell[0] == cell[-columns - 2] + score, up = cell[0] == cell[-columns - 1] - gap;
      return (diagonal ? kDiagonal : 0) | (up ? kUp : 0);
    });
    walk.finish(false, false);
    return walk.counts;
  };
  return walk_pairs(pairs.shape(0), pairs.shape(1) == 3, want_runs, statistics, trace);
}

// Recounts statistics [pairs][9] in place. records: [pairs][2] query and target; paths: [pairs][2] the buffer in which each path lies, and
// its offset there.
nb::object recount(Codes query_codes, Offsets query_offsets, Codes target_codes, Offsets target_offsets, Array<int64_t, 2> records,
                   std::vector<Codes> pieces, Array<int64_t, 2> paths, Array<int32_t, 1> sizes, Pairs counts_as, bool want_runs,
                   Counts statistics, int threads) {
  const size_t count = records.shape(0);
  const bool fits = records.shape(1) == 2 && paths.shape(0) == count && paths.shape(1) == 2 && sizes.shape(0) == count;
  if (!fits || statistics.shape(0) != count || statistics.shape(1) != kStatistics) throw nb::value_error("one row a pair is needed");
  std::vector<uint8_t> runs;
  std::vector<int64_t> starts(want_runs ? count : 0);
  std::vector<int32_t> lengths(want_runs ? count : 0);
  {
    nb::gil_scoped_release unlocked;
    const size_t part_pairs = want_runs ? count : kRecountedPairsPerPart;  // one part, if new paths are appended to one buffer
    const size_t parts = count ? (count + part_pairs - 1) / part_pairs : 0;
    share(parts, static_cast<int>(std::min(parts, static_cast<size_t>(std::max(threads, 1)))), [&](size_t part) {
      Recount again(counts_as.data(), want_runs ? &runs : nullptr);
      for (size_t k = part * part_pairs; k < std::min(count, (part + 1) * part_pairs); k++) {
        PathStatistics original;
        std::memcpy(static_cast<void*>(&original), &statistics(k, 0), sizeof original);
        const uint8_t* const query = query_codes.data() + query_offsets(records(k, 0)) + original.query_start;
        const uint8_t* const target = target_codes.data() + target_offsets(records(k, 1)) + original.target_start;
        const uint8_t* const run = pieces[static_cast<size_t>(paths(k, 0))].data() + paths(k, 1);
        const size_t start = runs.size();
        const PathStatistics counts = again.count(run, run + sizes(k), query, target, original);
        std::memcpy(&statistics(k, 0), &counts, sizeof counts);
        if (want_runs) starts[k] = static_cast<int64_t>(start), lengths[k] = static_cast<int32_t>(runs.size() - start);
      }
    });
  }
  const size_t total = runs.size(), path_count = starts.size();
  return nb::make_tuple(owned_array(std::move(runs), {total}), owned_array(std::move(starts), {path_count}),
                        owned_array(std::move(lengths), {path_count}));
}

}  // namespace

NB_MODULE(_walks, m) {
  m.doc() = "Traceback through whole matrices, of directions or of scores, and statistics of paths.";
  m.def("walk_matrices", &walk_matrices, nb::arg("query_codes"), nb::arg("query_offsets"), nb::arg("target_codes"),
        nb::arg("target_offsets"), nb::arg("matrices"), nb::arg("pairs"), nb::arg("rows"), nb::arg("bits"), nb::arg("threads"),
        nb::arg("usable"), nb::arg("free_query"), nb::arg("free_target"), nb::arg("want_runs"), nb::arg("statistics"),
        "Trace pairs and fill their statistics, in which the ends must be set. Returns (runs, starts, sizes).");
  m.def("walk_scores", &walk_scores, nb::arg("query_codes"), nb::arg("query_offsets"), nb::arg("target_codes"), nb::arg("target_offsets"),
        nb::arg("matrices"), nb::arg("pairs"), nb::arg("substitution"), nb::arg("gap"), nb::arg("usable"), nb::arg("want_runs"),
        nb::arg("statistics"),
        "Trace pairs through whole matrices of linear global scores, and fill their statistics. Returns (runs, starts, sizes).");
  m.def("recount", &recount, nb::arg("query_codes"), nb::arg("query_offsets"), nb::arg("target_codes"), nb::arg("target_offsets"),
        nb::arg("records"), nb::arg("pieces"), nb::arg("paths"), nb::arg("sizes"), nb::arg("counts_as"), nb::arg("want_runs"),
        nb::arg("statistics"), nb::arg("threads"),
        "Recount statistics of paths in place. counts_as [32][32]: whether a pair of letters is a match (0), a mismatch (1) or "
        "does not count at all (2). Returns (runs, starts, sizes) of the paths in which identical letters are equal, empty "
        "unless want_runs.");
}
