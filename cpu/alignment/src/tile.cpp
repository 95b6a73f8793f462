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

// What a step takes, in steps of a query with a block of bits, by the steps S of a match; measured.
// Several queries at once, by the tables of a column: a permutation or three operations more than a mask, and the loads of letters.
constexpr double kTogetherStep[kMaxMatchSteps][2] = {{1.3, 1.6}, {1.25, 1.5}, {1.15, 1.3}, {1.15, 1.3}};

// Bytes, of a block: some 6 operations beside those of a cell (bitsliced.hpp), or 4 where logic has three inputs. A single pair looks its
// scores up by the row.
double byte_step(int match_steps, bool ternary_logic) {
  constexpr double kOperations[] = {3, 8, 20, 36}, kTernary[] = {2, 5, 12, 21};
  return ternary_logic ? 4 / kTernary[match_steps - 1] : 6 / kOperations[match_steps - 1];
}
constexpr double kPairBytes = 1.7;  // steps of a block

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

  // Scores the tile's targets from `first` on; fewer than `rest_below` only where `rest` would take longer. Returns the first target left
  // over.
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
      const bool few = used_ < rest_below;
      if (const std::vector<Chunk> chunks = chunks_together(few ? &rest : nullptr); !chunks.empty()) {
        for (const Chunk& chunk : chunks) score_together(chunk);
        if (cancel_.requested) return first;
        continue;
      }
      if (few) return first;
      for (int64_t q = 0; q < tile_.query_count; q++) {
        if (cancel_.requested) return first;
        score_query(q);
      }
    }
    return first;
  }

 private:
  int64_t target(int k) const { return tile_.target_ids[first_ + k]; }

  // Whether a query wants one of the block's targets from .. to - 1.
  bool wants(int64_t id, int from, int to) const {
    for (int k = from; k < to; k++)
      if (is_wanted(tile_.pairing, id, target(k))) return true;
    return false;
  }

  void score_query(int64_t q) {
    const int64_t id = tile_.query_ids[q];
    if (!wants(id, 0, used_)) return;
    const auto [query, rows] = queries_.record(id);
    if (pair_ && prefer_pairs(id)) return score_pairs(q, id);
    if (recipe_.family == Family::kBitsliced)
      run_bitsliced(query, rows);
    else
      run_difference(query, rows);
    if (cancel_.requested) return;
    for (int k = 0; k < used_; k++)
      if (is_wanted(tile_.pairing, id, target(k))) store(q, k, sums_[k], rows);
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

  // ---- bit-sliced kernels of several queries at once
  struct Chunk {
    int from, count;  // targets of the block
    int64_t columns;
    std::vector<int64_t> queries;  // that want one of them, by their numbers in the tile, the shortest first
  };

  int queries_together() const { return SliceTables::queries(kernels_.slice_shape, kernels_.vector_bytes); }
  int targets_together() const { return kernels_.slice_shape.bits; }
  int64_t length_of(int64_t q) const { return queries_.length(tile_.query_ids[q]); }

  Chunk chunk_of(int from) const {
    Chunk chunk{from, std::min(targets_together(), used_ - from), 0, {}};
    for (int k = from; k < from + chunk.count; k++) chunk.columns = std::max(chunk.columns, padded(records_[k].length));
    for (int64_t q = 0; q < tile_.query_count; q++)
      if (wants(tile_.query_ids[q], from, from + chunk.count)) chunk.queries.push_back(q);
    std::stable_sort(chunk.queries.begin(), chunk.queries.end(), [&](int64_t x, int64_t y) { return length_of(x) < length_of(y); });
    return chunk;
  }

  bool all_wanted() const {
    for (int k = 0; k < used_; k++)
      if (!is_wanted(tile_.pairing, last_query_, target(k))) return false;
    return true;
  }

  // The block, where that takes fewer steps than each query with all of it, alone or by `rest`, and less memory for tables and letters than
  // masks take; else none.
  std::vector<Chunk> chunks_together(const Recipe* rest) const {
    if (recipe_.family != Family::kBitsliced || !kernels_.query_slices) return {};
    if (recipe_.slice_columns && columns_ > recipe_.slice_columns) return {};
    if (used_ * kTogetherStep[recipe_.match_steps - 1][0] >= lanes_ && all_wanted())
      return {};  // most blocks: without a look at letters and lengths
    const auto letters = letters_of(records_.data(), used_);
    const int count = static_cast<int>(std::count(letters.begin(), letters.end(), true));
    if (count > SliceTables::most_letters(kernels_.slice_shape)) return {};
    const double step = kTogetherStep[recipe_.match_steps - 1][SliceTables::tables(count, kernels_.slice_shape) - 1];
    double alone = 0, together = 0;
    for (int64_t q = 0; q < tile_.query_count; q++)
      alone += rest ? steps_of_rest(tile_.query_ids[q], *rest) : steps_alone(tile_.query_ids[q]);
    std::vector<Chunk> chunks;
    for (int from = 0; from < used_; from += targets_together()) {
      chunks.push_back(chunk_of(from));
      const std::vector<int64_t>& queries = chunks.back().queries;
      for (size_t g = 0; g < queries.size(); g += static_cast<size_t>(queries_together())) {
        const int64_t rows = length_of(queries[std::min(g + static_cast<size_t>(queries_together()), queries.size()) - 1]);
        if (rows > 2 * columns_) return {};
        together += step * static_cast<double>(rows) * static_cast<double>(chunks.back().columns);
      }
    }
    if (together >= alone) return {};
    return chunks;
  }

  void score_together(const Chunk& chunk) {
    if (chunk.queries.empty()) return;
    tables_.pack(records_.data() + chunk.from, chunk.count, chunk.columns);
    std::vector<Record> group;
    for (size_t g = 0; g < chunk.queries.size(); g += group.size()) {
      group.clear();
      for (size_t q = g; q < std::min(g + static_cast<size_t>(queries_together()), chunk.queries.size()); q++)
        group.push_back(queries_.record(tile_.query_ids[chunk.queries[q]]));
      QuerySlicesArgs a;
      tables_.place(group, a);
      a.match_steps = recipe_.match_steps;
      a.mismatch_steps = recipe_.mismatch_steps;
      a.boundary = boundary_.reserve(static_cast<size_t>(a.columns) * recipe_.match_steps * kernels_.vector_bytes);
      a.sums = sums_.data();
      a.cancel = &cancel_;
      kernels_.query_slices(a);
      if (cancel_.requested) return;
      for (size_t q = 0; q < group.size(); q++)
        for (int k = 0; k < chunk.count; k++)
          if (is_wanted(tile_.pairing, tile_.query_ids[chunk.queries[g + q]], target(chunk.from + k)))
            store(chunk.queries[g + q], chunk.from + k, sums_[q * static_cast<size_t>(targets_together()) + static_cast<size_t>(k)],
                  group[q].length);
    }
  }

  // ---- single pairs
  // Steps of a query: of the block kernel, one of which serves all lanes, wanted or not; of single pairs; of what is fewer.
  double steps_of_block(int64_t id) const { return static_cast<double>(queries_.length(id)) * static_cast<double>(columns_); }
  double steps_of_pairs(int64_t id) const {
    double steps = 0;
    for (int k = 0; k < used_; k++)
      if (is_wanted(tile_.pairing, id, target(k))) steps += pair_->cost(queries_.length(id), records_[k].length);
    return steps;
  }
  double steps_alone(int64_t id) const {
    if (!wants(id, 0, used_)) return 0;
    return pair_ ? std::min(steps_of_pairs(id), steps_of_block(id)) : steps_of_block(id);
  }

  // Of bytes, or wider differences, in steps of this kernel.
  double steps_of_rest(int64_t id, const Recipe& rest) const {
    if (!wants(id, 0, used_)) return 0;
    const int lanes = kernels_.vector_bytes * 8 / rest.width;
    const double blocks = (used_ + lanes - 1) / lanes, pairs = kPairBytes * used_ / lanes;
    return steps_of_block(id) * std::min(blocks, pairs) * byte_step(recipe_.match_steps, kernels_.ternary_logic);
  }

  // The rule: the kernel with fewer steps.
  bool prefer_pairs(int64_t id) const {
    return (recipe_.slice_columns && columns_ > recipe_.slice_columns) || steps_of_pairs(id) < steps_of_block(id);
  }

  void score_pairs(int64_t q, int64_t id) {
    const auto [query, rows] = queries_.record(id);
    for (int k = 0; k < used_; k++) {
      if (!is_wanted(tile_.pairing, id, target(k))) continue;
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
  int64_t last_query_ = 0;  // the highest number of the tile's queries, which wants fewest targets
  // The block of targets in the lanes.
  int64_t first_ = 0, columns_ = 0;
  int used_ = 0;
  bool packed_ = false;  // in codes_, or in slices_
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
  const int64_t left = TileScorer<Score>(kernels, queries, targets, recipes.main, tile, cancel).run(0, recipes.rest_below, recipes.rest);
  if (!cancel.requested) TileScorer<Score>(kernels, queries, targets, recipes.rest, tile, cancel).run(left, 0, recipes.rest);
  return !cancel.requested;
}

template bool score_tile(const Kernels&, const Sequences&, const Sequences&, const Recipes&, const Tile<int32_t>&, const Cancel&);
template bool score_tile(const Kernels&, const Sequences&, const Sequences&, const Recipes&, const Tile<int64_t>&, const Cancel&);

}  // namespace gpualign
