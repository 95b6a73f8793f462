#include "tile.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "lane_codes.hpp"
#include "pairs.hpp"
#include "slice_masks.hpp"
#include "slice_tables.hpp"

namespace gpualign {
namespace {

// Costs of a step, in steps of one query with a block of bits, by the match steps S; measured.
// Several queries at once, with 1 or 2 tables per column: a permutation or three operations more than a mask, and the loads of letters.
constexpr double kSharedStep[kMaxMatchSteps][2] = {{1.3, 1.6}, {1.25, 1.5}, {1.15, 1.3}, {1.15, 1.3}};

// Returns the cost of a cell in bytes relative to that of a bit-sliced cell: about 6 operations, or 4 with three-input logic, divided by
// those of the recurrence in bitsliced.hpp.
double byte_step(int match_steps, bool ternary_logic) {
  constexpr double kOperations[] = {3, 8, 20, 36}, kTernary[] = {2, 5, 12, 21};
  return ternary_logic ? 4 / kTernary[match_steps - 1] : 6 / kOperations[match_steps - 1];
}
constexpr double kPairBytes = 1.7;  // cost of a single pair in bytes, which looks up scores by row, in steps of a block

template <class Score>
class TileScorer {
 public:
  TileScorer(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const Recipe& recipe, const Tile<Score>& tile,
             const Cancel& cancel)
      : kernels_(kernels), queries_(queries), targets_(targets), recipe_(recipe), tile_(tile), cancel_(cancel),
        pair_(make_pair_kernel(kernels, recipe, cancel)), tables_(kernels.slice_shape, kernels.vector_bytes) {
    const bool bits = recipe.family == Family::kBitsliced;
    lanes_ = bits ? kernels.vector_bytes * 8 : kernels.vector_bytes * 8 / recipe.width;
    sums_.resize(static_cast<size_t>(lanes_));
    for (int64_t q = 0; q < tile.query_count; q++) last_query_ = std::max(last_query_, tile.query_ids[q]);
  }

  // Scores the targets of the tile from `first` on; fewer than rest_below of them only if `rest` would take longer. Returns the first
  // target that is not scored.
  int64_t run(int64_t first, int64_t rest_below, const Recipe& rest) {
    for (; first < tile_.target_count; first += lanes_) {
      first_ = first;
      used_ = static_cast<int>(std::min<int64_t>(lanes_, tile_.target_count - first));
      records_.clear();
      columns_ = 0;
      int64_t letters = 0;
      for (int k = 0; k < used_; k++) {
        records_.push_back(targets_.record(target(k)));
        columns_ = std::max(columns_, padded(records_[k].length));
        letters += records_[k].length;
      }
      packed_ = false;
      if (pair_) pair_->begin_block(used_, letters);
      const bool too_few = used_ < rest_below;
      if (const std::vector<Chunk> chunks = shared_chunks(too_few ? &rest : nullptr); !chunks.empty()) {
        for (const Chunk& chunk : chunks) score_shared(chunk);
        if (cancel_.requested) return first;
        continue;
      }
      if (too_few) return first;
      for (int64_t q = 0; q < tile_.query_count; q++) {
        if (cancel_.requested) return first;
        score_query(q);
      }
    }
    return first;
  }

 private:
  int64_t target(int k) const { return tile_.target_ids[first_ + k]; }

  // Returns whether the tile pairs this query with any of the targets from .. to - 1 of the block.
  bool is_needed(int64_t id, int from, int to) const {
    for (int k = from; k < to; k++)
      if (is_included(tile_.pairing, id, target(k))) return true;
    return false;
  }

  void score_query(int64_t q) {
    const int64_t id = tile_.query_ids[q];
    if (!is_needed(id, 0, used_)) return;
    const auto [query, rows] = queries_.record(id);
    if (pair_ && prefer_pairs(id)) return score_pairs(q, id);
    if (recipe_.family == Family::kBitsliced)
      run_bitsliced(query, rows);
    else
      run_difference(query, rows);
    if (cancel_.requested) return;
    for (int k = 0; k < used_; k++)
      if (is_included(tile_.pairing, id, target(k))) store(q, k, sums_[k], rows);
  }

  void store(int64_t q, int k, int64_t sum, int64_t rows) {
    const int64_t n = records_[k].length;
    tile_.scores[q * tile_.target_count + first_ + k] =
        static_cast<Score>(recipe_.sum_factor * sum + recipe_.per_letter * (rows + n) + recipe_.constant);
  }

  // ---- difference kernels
  void run_difference(const uint8_t* query, int64_t rows) {
    if (!packed_) codes_.pack(records_, lanes_, 0);
    packed_ = true;
    DifferenceArgs a;
    a.query = query;
    a.rows = rows;
    a.codes = codes_.codes();
    a.columns = columns_;
    a.lengths = codes_.lengths();
    a.table = recipe_.table;
    a.letters = recipe_.letters;
    a.open_extra = recipe_.open_extra;
    a.boundary = boundary_.reserve(static_cast<size_t>(columns_) * 2 * kernels_.vector_bytes);
    a.sums = sums_.data();
    a.cancel = &cancel_;
    (recipe_.width == 8 ? kernels_.difference8 : recipe_.width == 16 ? kernels_.difference16 : kernels_.difference32)(a);
  }

  // ---- bit-sliced kernels
  void run_bitsliced(const uint8_t* query, int64_t rows) {
    if (!packed_) slices_.pack(records_, kernels_.vector_bytes, columns_);
    packed_ = true;
    BitslicedArgs a;
    a.slots = slices_.slots(query, rows);
    a.rows = rows;
    a.masks = slices_.masks();
    a.column_bytes = slices_.column_bytes();
    a.columns = columns_;
    a.live = slices_.live();
    a.match_steps = recipe_.match_steps;
    a.mismatch_steps = recipe_.mismatch_steps;
    a.boundary = boundary_.reserve(static_cast<size_t>(columns_) * recipe_.match_steps * kernels_.vector_bytes);
    a.sums = sums_.data();
    a.cancel = &cancel_;
    kernels_.bitsliced(a);
  }

  // ---- bit-sliced kernels for several queries at once
  struct Chunk {
    int from, count;  // targets of the block
    int64_t columns;
    std::vector<int64_t> queries;  // numbers in the tile of the queries that are paired with any of them, shortest first
  };

  int queries_per_vector() const { return SliceTables::queries(kernels_.slice_shape, kernels_.vector_bytes); }
  int targets_per_chunk() const { return kernels_.slice_shape.bits; }
  int64_t length_of(int64_t q) const { return queries_.length(tile_.query_ids[q]); }

  Chunk chunk_of(int from) const {
    Chunk chunk{from, std::min(targets_per_chunk(), used_ - from), 0, {}};
    for (int k = from; k < from + chunk.count; k++) chunk.columns = std::max(chunk.columns, padded(records_[k].length));
    for (int64_t q = 0; q < tile_.query_count; q++)
      if (is_needed(tile_.query_ids[q], from, from + chunk.count)) chunk.queries.push_back(q);
    std::stable_sort(chunk.queries.begin(), chunk.queries.end(), [&](int64_t x, int64_t y) { return length_of(x) < length_of(y); });
    return chunk;
  }

  bool all_included() const {
    for (int k = 0; k < used_; k++)
      if (!is_included(tile_.pairing, last_query_, target(k))) return false;
    return true;
  }

  // Returns the chunks of the block if several queries at once take fewer steps than each query alone or by `rest`, and tables and letters
  // less memory than masks; else none.
  std::vector<Chunk> shared_chunks(const Recipe* rest) const {
    if (recipe_.family != Family::kBitsliced || !kernels_.query_slices) return {};
    if (recipe_.slice_columns && columns_ > recipe_.slice_columns) return {};
    if (used_ * kSharedStep[recipe_.match_steps - 1][0] >= lanes_ && all_included())
      return {};  // true of most blocks, and saves reading letters and lengths
    const auto letters = letters_of(records_.data(), used_);
    const int count = static_cast<int>(std::count(letters.begin(), letters.end(), true));
    if (count > SliceTables::max_letters(kernels_.slice_shape)) return {};
    const double step = kSharedStep[recipe_.match_steps - 1][SliceTables::tables(count, kernels_.slice_shape) - 1];
    double alone = 0, shared = 0;
    for (int64_t q = 0; q < tile_.query_count; q++)
      alone += rest ? steps_of_rest(tile_.query_ids[q], *rest) : steps_alone(tile_.query_ids[q]);
    std::vector<Chunk> chunks;
    for (int from = 0; from < used_; from += targets_per_chunk()) {
      chunks.push_back(chunk_of(from));
      const std::vector<int64_t>& queries = chunks.back().queries;
      for (size_t g = 0; g < queries.size(); g += static_cast<size_t>(queries_per_vector())) {
        const int64_t rows = length_of(queries[std::min(g + static_cast<size_t>(queries_per_vector()), queries.size()) - 1]);
        if (rows > 2 * columns_) return {};
        shared += step * static_cast<double>(rows) * static_cast<double>(chunks.back().columns);
      }
    }
    if (shared >= alone) return {};
    return chunks;
  }

  void score_shared(const Chunk& chunk) {
    if (chunk.queries.empty()) return;
    tables_.pack(records_.data() + chunk.from, chunk.count, chunk.columns);
    std::vector<Record> group;
    for (size_t g = 0; g < chunk.queries.size(); g += group.size()) {
      group.clear();
      for (size_t q = g; q < std::min(g + static_cast<size_t>(queries_per_vector()), chunk.queries.size()); q++)
        group.push_back(queries_.record(tile_.query_ids[chunk.queries[q]]));
      QuerySlicesArgs a;
      tables_.set_queries(group, a);
      a.match_steps = recipe_.match_steps;
      a.mismatch_steps = recipe_.mismatch_steps;
      a.boundary = boundary_.reserve(static_cast<size_t>(a.columns) * recipe_.match_steps * kernels_.vector_bytes);
      a.sums = sums_.data();
      a.cancel = &cancel_;
      kernels_.query_slices(a);
      if (cancel_.requested) return;
      for (size_t q = 0; q < group.size(); q++)
        for (int k = 0; k < chunk.count; k++)
          if (is_included(tile_.pairing, tile_.query_ids[chunk.queries[g + q]], target(chunk.from + k)))
            store(chunk.queries[g + q], chunk.from + k, sums_[q * static_cast<size_t>(targets_per_chunk()) + static_cast<size_t>(k)],
                  group[q].length);
    }
  }

  // ---- single pairs
  // Return the steps for a query: by the block kernel, which computes all lanes, needed or not; by single pairs; by the better of the two.
  double steps_of_block(int64_t id) const { return static_cast<double>(queries_.length(id)) * static_cast<double>(columns_); }
  double steps_of_pairs(int64_t id) const {
    double steps = 0;
    for (int k = 0; k < used_; k++)
      if (is_included(tile_.pairing, id, target(k))) steps += pair_->cost(queries_.length(id), records_[k].length);
    return steps;
  }
  double steps_alone(int64_t id) const {
    if (!is_needed(id, 0, used_)) return 0;
    return pair_ ? std::min(steps_of_pairs(id), steps_of_block(id)) : steps_of_block(id);
  }

  // Returns the steps of a query by `rest`, in bytes or wider differences, in steps of this kernel.
  double steps_of_rest(int64_t id, const Recipe& rest) const {
    if (!is_needed(id, 0, used_)) return 0;
    const int lanes = kernels_.vector_bytes * 8 / rest.width;
    const double blocks = (used_ + lanes - 1) / lanes, pairs = kPairBytes * used_ / lanes;
    return steps_of_block(id) * std::min(blocks, pairs) * byte_step(recipe_.match_steps, kernels_.ternary_logic);
  }

  // Returns whether single pairs take fewer steps.
  bool prefer_pairs(int64_t id) const {
    return (recipe_.slice_columns && columns_ > recipe_.slice_columns) || steps_of_pairs(id) < steps_of_block(id);
  }

  void score_pairs(int64_t q, int64_t id) {
    const auto [query, rows] = queries_.record(id);
    for (int k = 0; k < used_; k++) {
      if (!is_included(tile_.pairing, id, target(k))) continue;
      const int64_t sum = pair_->sum(query, rows, k, records_[k].codes, records_[k].length);
      if (cancel_.requested) return;
      store(q, k, sum, rows);
    }
  }

  const Kernels& kernels_;
  const Sequences& queries_;
  const Sequences& targets_;
  const Recipe& recipe_;
  const Tile<Score>& tile_;
  const Cancel& cancel_;
  const std::unique_ptr<PairKernel> pair_;

  int lanes_ = 0;
  int64_t last_query_ = 0;  // the highest record number of the queries, which has the fewest targets
  // The block of targets in the lanes:
  int64_t first_ = 0, columns_ = 0;
  int used_ = 0;
  bool packed_ = false;  // packed in codes_ or slices_
  std::vector<Record> records_;
  LaneCodes codes_;
  SliceMasks slices_;
  SliceTables tables_;
  std::vector<int64_t> sums_;
  Scratch boundary_;
};

}  // namespace

template <class Score>
bool score_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const Recipes& recipes, const Tile<Score>& tile,
                const Cancel& cancel) {
  const int64_t next_target =
      TileScorer<Score>(kernels, queries, targets, recipes.main, tile, cancel).run(0, recipes.rest_below, recipes.rest);
  if (!cancel.requested) TileScorer<Score>(kernels, queries, targets, recipes.rest, tile, cancel).run(next_target, 0, recipes.rest);
  return !cancel.requested;
}

template bool score_tile(const Kernels&, const Sequences&, const Sequences&, const Recipes&, const Tile<int32_t>&, const Cancel&);
template bool score_tile(const Kernels&, const Sequences&, const Sequences&, const Recipes&, const Tile<int64_t>&, const Cancel&);

}  // namespace gpualign
