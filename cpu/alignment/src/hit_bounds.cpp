#include "hit_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "lane_codes.hpp"
#include "lane_profile.hpp"
#include "local_pairs.hpp"

namespace gpualign {
namespace {

// A cell of a pass in lanes, 0-based.
struct Position {
  int64_t row, column;
};

// The cost of passes for single pairs, relative to those of random sequences: gaps of high-scoring ones cross more lanes (striped.hpp).
constexpr double kCarriedCost = 1.5;

// Returns the best score of two letters.
int64_t best_score(const LocalRecipe& recipe, const std::vector<PairTable>* tables) {
  int32_t best = *std::max_element(std::begin(recipe.table), std::end(recipe.table));
  if (tables)
    for (const PairTable& table : *tables) best = std::max(best, *std::max_element(std::begin(table.scores), std::end(table.scores)));
  return best;
}

// Finds the bounds of hits in blocks that share a query, or a target. The shared record lies in the rows of a pass, the other records of
// the hits in its lanes. If hits have score tables of their own, the shared record is always the query.
class BoundsFinder {
 public:
  // tables: of the hits; null: all have the table of the recipe
  BoundsFinder(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe, const LocalHit* hits,
               const std::vector<PairTable>* tables, int64_t count, HitBounds* out, const Cancel& cancel)
      : kernels_(kernels), queries_(queries), targets_(targets), recipe_(recipe), hits_(hits), tables_(tables), out_(out), cancel_(cancel),
        order_(static_cast<size_t>(count)), best_(best_score(recipe, tables)) {
    recipe.transpose(transposed_);
  }

  // Returns false if cancelled.
  bool run() {
    const double unswapped = make_blocks(false);
    if (!tables_ && unswapped <= make_blocks(true)) make_blocks(false);
    for (const Block& block : blocks_) {
      const int64_t* order = order_.data() + block.first;
      const int count = static_cast<int>(block.stop - block.first);
      if (block.by_pairs)
        find_by_pairs(order, count);
      else
        find_in_lanes(order, count);
      if (cancel_.requested) return false;
    }
    return true;
  }

 private:
  const Sequences& rows() const { return swapped_ ? targets_ : queries_; }
  const Sequences& lanes() const { return swapped_ ? queries_ : targets_; }
  int64_t row_record(int64_t hit) const { return swapped_ ? hits_[hit].target : hits_[hit].query; }
  int64_t lane_record(int64_t hit) const { return swapped_ ? hits_[hit].query : hits_[hit].target; }

  // Hits [first, stop) of order_, whose passes run side by side or pair by pair.
  struct Block {
    size_t first, stop;
    bool by_pairs;
  };

  // Sorts the hits into blocks of lanes with one row record, one width, similar lengths, and similar scores, so that about the same
  // share of cells is live. Returns the cost of a pass over all of them.
  double make_blocks(bool swapped) {
    swapped_ = swapped;
    std::iota(order_.begin(), order_.end(), int64_t(0));
    auto key = [&](int64_t hit) {
      const int64_t score = hits_[hit].score, length = lanes().length(lane_record(hit));
      const int size = static_cast<int>(8 * std::log2(static_cast<double>(length)));  // equal within a tenth
      return std::make_tuple(row_record(hit), width_of(score), size, score, hit);
    };
    std::sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) { return key(a) < key(b); });
    blocks_.clear();
    double cost = 0;
    for (size_t at = 0; at < order_.size();) {
      const int64_t first = order_[at];
      const int width = width_of(hits_[first].score), max_lanes = kernels_.vector_bytes / width;
      size_t stop = at;
      while (stop < order_.size() && stop - at < static_cast<size_t>(max_lanes) && row_record(order_[stop]) == row_record(first) &&
             width_of(hits_[order_[stop]].score) == width)
        stop++;
      LocalBlock block;
      for (size_t k = at; k < stop; k++) block.add(lanes().length(lane_record(order_[k])));
      const int64_t length = rows().length(row_record(first));
      double share = 0;
      for (size_t k = at; k < stop; k++) share = std::max(share, live_share(order_[k]));
      const double by_lanes = share * lanes_cost(recipe_, length, block) + (tables_ ? profile_cost(recipe_, max_lanes, block) : 0),
                   by_pairs = kCarriedCost * pairs_cost(recipe_, max_lanes, length, block);
      blocks_.push_back({at, stop, by_pairs < by_lanes});
      cost += std::min(by_lanes, by_pairs);
      at = stop;
    }
    return cost;
  }

  // Returns the share of the cells that passes in lanes are expected to compute for a hit (live_cells.hpp): about the share of the best
  // possible score that the hit lacks (benchmarks/log: C-033). Only speed depends on it.
  double live_share(int64_t hit) const {
    const int64_t letters = std::min(queries_.length(hits_[hit].query), targets_.length(hits_[hit].target));
    constexpr double kAtLeast = 0.1;
    return std::min(1.0, kAtLeast + 1 - static_cast<double>(hits_[hit].score) / static_cast<double>(best_ * letters));
  }

  // Returns the smallest width (bytes) of elements that hold score + 1 and distinguish it from larger scores.
  int width_of(int64_t score) const {
    const int needed = score < max_local_score(recipe_, 1)   ? 1
                       : score < max_local_score(recipe_, 2) ? 2
                       : score < max_local_score(recipe_, 4) ? 4
                                                             : 8;
    return std::max(needed, recipe_.narrowest);
  }

  // Returns the H with which the pass back from the ends begins. The larger it is, the sooner paths are ruled out that begin elsewhere,
  // with H = 0; if it is all that pairs of letters can add, none of them can reach the goal. goal: the largest score of a hit.
  int64_t seed_score(int width, int64_t goal, int64_t pairs) const {
    return std::max<int64_t>(1, std::min(max_local_score(recipe_, width) - goal, best_ * pairs));
  }

  // Finds the ends and starts of hits one by one.
  void find_by_pairs(const int64_t* order, int count) {
    std::optional<LocalPairs> pairs;
    for (int k = 0; k < count && !cancel_.requested; k++) {
      const int64_t hit = order[k];
      select_table(hit);
      if (tables_ || !pairs) pairs.emplace(kernels_, recipe_, cancel_);
      Record query = queries_.record(hits_[hit].query), target = targets_.record(hits_[hit].target);
      const LetterPair last = pairs->find_end(query, target, hits_[hit].score, false);
      if (cancel_.requested) return;
      if (last.query < 0) throw std::logic_error("a hit does not have its score");
      query.length = last.query + 1, target.length = last.target + 1;
      const LetterPair first = pairs->find_end(reversed(query, reversed_), reversed(target, reversed_target_), hits_[hit].score + 1, true);
      if (cancel_.requested) return;
      if (first.query < 0) throw std::logic_error("a hit has an end but no beginning");
      set(hit, {last.query - first.query, last.target - first.target}, last);
    }
  }

  // Finds the ends and starts of a block of hits side by side.
  void find_in_lanes(const int64_t* order, int count) {
    const auto [row, m] = rows().record(row_record(order[0]));
    const int width = width_of(hits_[order[0]].score), lane_count = kernels_.vector_bytes / width;
    std::vector<Record> records;
    std::vector<int64_t> goals(static_cast<size_t>(lane_count), 0), seeds(static_cast<size_t>(lane_count), 0);
    lane_tables_.clear();
    for (int k = 0; k < count; k++) {
      if (tables_) lane_tables_.push_back(&(*tables_)[static_cast<size_t>(order[k])]);
      records.push_back(lanes().record(lane_record(order[k])));
      goals[k] = hits_[order[k]].score;
    }
    const std::vector<Position> ends = find(row, m, records, false, width, goals, nullptr, 0);
    if (cancel_.requested) return;

    std::vector<Record> prefixes = records;
    const int64_t seed = seed_score(width, *std::max_element(goals.begin(), goals.end()), std::min(m, codes_.columns()));
    for (int k = 0; k < count; k++) {
      if (ends[k].column < 0) throw std::logic_error("a hit does not have its score");
      prefixes[k].length = ends[k].column + 1;
      seeds[k] = m - 1 - ends[k].row;
      goals[k] += seed;
    }
    const std::vector<Position> starts = find(reversed({row, m}, reversed_).codes, m, prefixes, true, width, goals, seeds.data(), seed);
    if (cancel_.requested) return;

    for (int k = 0; k < count; k++) {
      if (starts[k].column < 0) throw std::logic_error("a hit has an end but no beginning");
      const Position first{m - 1 - starts[k].row, ends[k].column - starts[k].column};
      set(order[k], letter_pair(first), letter_pair(ends[k]));
    }
  }

  LetterPair letter_pair(Position p) const { return swapped_ ? LetterPair{p.column, p.row} : LetterPair{p.row, p.column}; }

  void set(int64_t hit, LetterPair first, LetterPair last) { out_[hit] = {first.query, last.query + 1, first.target, last.target + 1}; }

  // Gives the recipe the score table of the hit, if hits have their own.
  void select_table(int64_t hit) {
    if (tables_) std::copy(std::begin(table_of(hit).scores), std::end(table_of(hit).scores), recipe_.table);
  }

  const PairTable& table_of(int64_t hit) const { return (*tables_)[static_cast<size_t>(hit)]; }

  // Returns for each lane the first cell with the score in goals[lane]: first along the target, then along the query.
  std::vector<Position> find(const uint8_t* row, int64_t length, const std::vector<Record>& records, bool reversed, int width,
                             const std::vector<int64_t>& goals, const int64_t* seeds, int64_t seed_score) {
    const int lane_count = kernels_.vector_bytes / width;
    codes_.pack(records, lane_count, recipe_.padding, reversed);
    std::vector<int64_t> end_rows(static_cast<size_t>(lane_count)), end_columns(static_cast<size_t>(lane_count));
    LocalArgs a = local_arguments(recipe_, cancel_);
    if (swapped_) a.table = transposed_;
    a.rows_first = swapped_;
    set_lanes(a, kernels_, {row, length}, codes_, boundary_);
    if (tables_) profile_.set(lane_tables_, width, lane_count, a);
    a.goals = goals.data();
    a.seeds = seeds;
    a.seed_score = seed_score;
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
  LocalRecipe recipe_;
  const LocalHit* const hits_;
  const std::vector<PairTable>* const tables_;
  HitBounds* const out_;
  const Cancel& cancel_;
  std::vector<int64_t> order_;
  std::vector<Block> blocks_;
  const int64_t best_;  // score of two letters
  bool swapped_ = false;
  int32_t transposed_[kLetters * kLetters];
  LaneCodes codes_;
  LaneProfile profile_;
  std::vector<const PairTable*> lane_tables_;
  Scratch boundary_;
  std::vector<uint8_t> reversed_, reversed_target_;
};

}  // namespace

bool find_hit_bounds(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                     const LocalHit* hits, int64_t count, HitBounds* out, const Cancel& cancel, const std::vector<PairTable>* tables) {
  return count == 0 || BoundsFinder(kernels, queries, targets, recipe, hits, tables, count, out, cancel).run();
}

}  // namespace gpualign
