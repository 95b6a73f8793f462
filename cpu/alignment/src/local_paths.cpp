#include "local_paths.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "band_paths.hpp"
#include "lane_codes.hpp"
#include "pair_paths.hpp"

namespace gpualign {
namespace {

// A pair of letters.
struct Position {
  int64_t row, column;  // 0-based
};

// Traces hits in blocks that share a query, or a target. The shared record has the rows of a pass, the other records of the hits the lanes.
class HitTracer {
 public:
  HitTracer(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
            const PathRecipe& path_recipe, const LocalHit* hits, int64_t count, PathSink& sink, const Cancel& cancel)
      : kernels_(kernels), queries_(queries), targets_(targets), recipe_(recipe), hits_(hits), sink_(sink), cancel_(cancel),
        pairs_(make_pair_paths(kernels, path_recipe, cancel)), order_(static_cast<size_t>(count)) {
    recipe.transpose(transposed_);
    if (path_recipe.banded) band_.emplace(kernels, path_recipe, cancel);
  }

  bool run() {
    const double unswapped = make_blocks(false), swapped = make_blocks(true);
    int64_t longest_query = 0, longest_target = 0;
    for (const int64_t hit : order_) {
      longest_query = std::max(longest_query, queries_.length(hits_[hit].query));
      longest_target = std::max(longest_target, targets_.length(hits_[hit].target));
    }
    if (!prefer_swapped(recipe_, unswapped, longest_target, swapped, longest_query)) make_blocks(false);
    for (const auto& [first, stop] : blocks_)
      if (!trace_block(order_.data() + first, static_cast<int>(stop - first))) return false;
    return true;
  }

 private:
  const Sequences& rows() const { return swapped_ ? targets_ : queries_; }
  const Sequences& lanes() const { return swapped_ ? queries_ : targets_; }
  int64_t row_record(int64_t hit) const { return swapped_ ? hits_[hit].target : hits_[hit].query; }
  int64_t lane_record(int64_t hit) const { return swapped_ ? hits_[hit].query : hits_[hit].target; }

  // Sorts the hits into blocks of lanes with one row record, one width and similar lengths. Returns the steps that their passes take.
  double make_blocks(bool swapped) {
    swapped_ = swapped;
    std::iota(order_.begin(), order_.end(), int64_t(0));
    auto key = [&](int64_t hit) {
      return std::make_tuple(row_record(hit), width_of(hits_[hit].score), lanes().length(lane_record(hit)), hit);
    };
    std::sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) { return key(a) < key(b); });
    blocks_.clear();
    double steps = 0;
    for (size_t at = 0; at < order_.size();) {
      const int64_t first = order_[at];
      const int width = width_of(hits_[first].score), max_lanes = kernels_.vector_bytes / width;
      size_t stop = at;
      while (stop < order_.size() && stop - at < static_cast<size_t>(max_lanes) && row_record(order_[stop]) == row_record(first) &&
             width_of(hits_[order_[stop]].score) == width)
        stop++;
      blocks_.emplace_back(at, stop);
      steps += static_cast<double>(rows().length(row_record(first))) * static_cast<double>(lanes().length(lane_record(order_[stop - 1])));
      at = stop;
    }
    return steps;
  }

  // Returns the smallest width (bytes) of elements that hold score + 1 and distinguish it from larger scores.
  int width_of(int64_t score) const {
    const int needed = score < 254 ? 1 : score < 65534 ? 2 : score < INT32_MAX - 1 ? 4 : 8;
    return std::max(needed, recipe_.narrowest);
  }

  bool trace_block(const int64_t* order, int count) {
    const auto [row, m] = rows().record(row_record(order[0]));
    const int width = width_of(hits_[order[0]].score), lane_count = kernels_.vector_bytes / width;
    std::vector<Record> records;
    std::vector<int64_t> goals(static_cast<size_t>(lane_count), 0), seeds(static_cast<size_t>(lane_count), 0);
    for (int k = 0; k < count; k++) {
      records.push_back(lanes().record(lane_record(order[k])));
      goals[k] = hits_[order[k]].score;
    }
    const std::vector<Position> ends = find(row, m, records, false, width, goals, nullptr);
    if (cancel_.requested) return false;

    std::vector<Record> prefixes = records;
    for (int k = 0; k < count; k++) {
      if (ends[k].column < 0) throw std::logic_error("a hit does not have its score");
      prefixes[k].length = ends[k].column + 1;
      seeds[k] = m - 1 - ends[k].row;
      goals[k] += 1;
    }
    reversed_.assign(row, row + m);
    std::reverse(reversed_.begin(), reversed_.end());
    const std::vector<Position> starts = find(reversed_.data(), m, prefixes, true, width, goals, seeds.data());
    if (cancel_.requested) return false;

    for (int k = 0; k < count; k++) {
      if (starts[k].column < 0) throw std::logic_error("a hit has an end but no beginning");
      const Position first{m - 1 - starts[k].row, ends[k].column - starts[k].column};
      if (!trace(order[k], swapped_ ? Position{first.column, first.row} : first,
                 swapped_ ? Position{ends[k].column, ends[k].row} : ends[k]))
        return false;
    }
    return true;
  }

  // Traces the path from one pair of letters to another; rows are those of the query.
  bool trace(int64_t hit, Position first, Position last) {
    const int64_t rows = last.row + 1 - first.row, columns = last.column + 1 - first.column;
    const uint8_t* query = queries_.record(hits_[hit].query).codes + first.row;
    const uint8_t* target = targets_.record(hits_[hit].target).codes + first.column;
    const double pair_cost = pairs_->cost(rows, columns);
    if (!band_ || !band_->align(query, rows, target, columns, hit, pair_cost, sink_))
      pairs_->align(query, rows, target, columns, hit, sink_);
    if (cancel_.requested) return false;
    if (sink_.scores[static_cast<size_t>(hit)] != hits_[hit].score) throw std::logic_error("the path of a hit has another score");
    PathStatistics& s = sink_.statistics[static_cast<size_t>(hit)];
    s.query_start += static_cast<int32_t>(first.row), s.query_end += static_cast<int32_t>(first.row);
    s.target_start += static_cast<int32_t>(first.column), s.target_end += static_cast<int32_t>(first.column);
    return true;
  }

  // Returns for each lane the first cell with the score in goals[lane]: first along the target, then along the query.
  std::vector<Position> find(const uint8_t* row, int64_t length, const std::vector<Record>& records, bool reversed, int width,
                             const std::vector<int64_t>& goals, const int64_t* seeds) {
    const int lane_count = kernels_.vector_bytes / width;
    codes_.pack(records, lane_count, recipe_.padding, reversed);
    std::vector<int64_t> end_rows(static_cast<size_t>(lane_count)), end_columns(static_cast<size_t>(lane_count));
    LocalArgs a = local_arguments(recipe_, cancel_);
    if (swapped_) a.table = transposed_;
    a.rows_first = swapped_;
    a.query = row;
    a.rows = length;
    a.codes = codes_.codes();
    a.columns = codes_.columns();
    a.lengths = codes_.lengths();
    a.boundary = boundary_.reserve(static_cast<size_t>(2 * a.columns * kernels_.vector_bytes));
    a.goals = goals.data();
    a.seeds = seeds;
    a.end_rows = end_rows.data();
    a.end_columns = end_columns.data();
    kernels_.find_local[local_kernel(width)](a);
    std::vector<Position> out(records.size());
    for (size_t k = 0; k < out.size(); k++) out[k] = {end_rows[k], end_columns[k]};
    return out;
  }

  const Kernels& kernels_;
  const Sequences& queries_;
  const Sequences& targets_;
  const LocalRecipe& recipe_;
  const LocalHit* const hits_;
  PathSink& sink_;
  const Cancel& cancel_;
  const std::unique_ptr<PairPaths> pairs_;
  std::optional<BandPaths> band_;
  std::vector<int64_t> order_;
  std::vector<std::pair<size_t, size_t>> blocks_;  // [first, stop) of each block in order_
  bool swapped_ = false;
  int32_t transposed_[kLetters * kLetters];
  LaneCodes codes_;
  Scratch boundary_;
  std::vector<uint8_t> reversed_;
};

}  // namespace

bool trace_local_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                      const PathRecipe& path_recipe, const LocalHit* hits, int64_t count, PathSink& sink, const Cancel& cancel) {
  return count == 0 || HitTracer(kernels, queries, targets, recipe, path_recipe, hits, count, sink, cancel).run();
}

}  // namespace gpualign
