#include "tile.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "lane_codes.hpp"
#include "pairs.hpp"
#include "slice_masks.hpp"

namespace gpualign {
namespace {

template <class Score>
class TileScorer {
 public:
  TileScorer(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const Recipe& recipe, const Tile<Score>& tile,
             const Cancel& cancel)
      : kernels_(kernels), queries_(queries), targets_(targets), recipe_(recipe), tile_(tile), cancel_(cancel),
        pair_(make_pair_kernel(kernels, recipe, cancel)) {
    const bool bits = recipe.family == Family::kBitsliced;
    lanes_ = bits ? kernels.vector_bytes * 8 : kernels.vector_bytes * 8 / recipe.width;
    sums_.resize(static_cast<size_t>(lanes_));
  }

  // Scores the tile's targets from `first` on while at least `least` are left. Returns the first target left over.
  int64_t run(int64_t first, int64_t least) {
    for (; first < tile_.target_count && tile_.target_count - first >= least; first += lanes_) {
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
      for (int64_t q = 0; q < tile_.query_count; q++) {
        if (cancel_.requested) return first;
        score_query(q);
      }
    }
    return first;
  }

 private:
  int64_t target(int k) const { return tile_.target_ids[first_ + k]; }

  void score_query(int64_t q) {
    const int64_t id = tile_.query_ids[q];
    int live = 0;
    for (int k = 0; k < used_; k++) live += is_wanted(tile_.pairing, id, target(k));
    if (!live) return;
    const auto [query, rows] = queries_.record(id);
    if (pair_ && prefer_pairs(id, rows)) return score_pairs(q, id);
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
        static_cast<Score>(recipe_.sum_factor * sum + recipe_.per_letter * (rows + n) + recipe_.per_column * n + recipe_.constant);
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
    a.tight = recipe_.tight;
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

  // ---- single pairs
  // The rule: the kernel with fewer steps. A step of the block kernel serves all lanes, wanted or not.
  bool prefer_pairs(int64_t id, int64_t rows) const {
    if (recipe_.slice_columns && columns_ > recipe_.slice_columns) return true;
    double steps = 0;
    for (int k = 0; k < used_; k++)
      if (is_wanted(tile_.pairing, id, target(k))) steps += pair_->cost(rows, records_[k].length);
    return steps < static_cast<double>(rows) * static_cast<double>(columns_);
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
  // The block of targets in the lanes.
  int64_t first_ = 0, columns_ = 0;
  int used_ = 0;
  bool packed_ = false;  // in codes_, or in slices_
  std::vector<Record> records_;
  LaneCodes codes_;
  SliceMasks slices_;
  std::vector<int64_t> sums_;
  Scratch boundary_;
};

}  // namespace

template <class Score>
bool score_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const Recipes& recipes, const Tile<Score>& tile,
                const Cancel& cancel) {
  const int64_t left = TileScorer<Score>(kernels, queries, targets, recipes.main, tile, cancel).run(0, recipes.rest_below);
  if (!cancel.requested) TileScorer<Score>(kernels, queries, targets, recipes.rest, tile, cancel).run(left, 0);
  return !cancel.requested;
}

template bool score_tile(const Kernels&, const Sequences&, const Sequences&, const Recipes&, const Tile<int32_t>&, const Cancel&);
template bool score_tile(const Kernels&, const Sequences&, const Sequences&, const Recipes&, const Tile<int64_t>&, const Cancel&);

}  // namespace gpualign
