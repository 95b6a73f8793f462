#include "tile.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "lane_codes.hpp"
#include "pairs.hpp"
#include "slice_masks.hpp"
#include "slice_tables.hpp"

namespace gpualign {
namespace {

// A step of several queries at once in steps of one query with a block, by the tables of a column: one more operation a cell, or three.
constexpr double kTogetherStep[] = {1.25, 1.5};
constexpr double kNever = 1e30;  // the cost of what does not exist

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
    for (int64_t q = 0; q < tile.query_count; q++) last_query_ = std::max(last_query_, tile.query_ids[q]);
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
      if (prefer_queries_together()) {
        for (int from = 0; from < used_; from += kTargetsTogether) score_queries_together(from);
        if (cancel_.requested) return first;
        continue;
      }
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

  // ---- bit-sliced kernels of several queries at once, each with kTargetsTogether targets
  int queries_together() const { return kernels_.vector_bytes / 4; }

  // Queries, by their numbers in the tile, that want one of the targets from `from` on, the shortest first.
  std::vector<int64_t> queries_of(int from) const {
    std::vector<int64_t> found;
    const int to = std::min(from + kTargetsTogether, used_);
    for (int64_t q = 0; q < tile_.query_count; q++)
      for (int k = from; k < to; k++)
        if (is_wanted(tile_.pairing, tile_.query_ids[q], target(k))) {
          found.push_back(q);
          break;
        }
    std::stable_sort(found.begin(), found.end(), [&](int64_t x, int64_t y) { return length_of(x) < length_of(y); });
    return found;
  }
  int64_t length_of(int64_t q) const { return queries_.length(tile_.query_ids[q]); }

  int64_t columns_from(int from) const {
    int64_t longest = 0;
    for (int k = from; k < std::min(from + kTargetsTogether, used_); k++) longest = std::max(longest, padded(records_[k].length));
    return longest;
  }

  bool all_wanted() const {
    for (int k = 0; k < used_; k++)
      if (!is_wanted(tile_.pairing, last_query_, target(k))) return false;
    return true;
  }

  // The rule: the kernel with fewer steps. Memory: tables and letters of a row take no more than masks of the block would.
  bool prefer_queries_together() const {
    if (recipe_.family != Family::kBitsliced || !kernels_.query_slices) return false;
    if (recipe_.slice_columns && columns_ > recipe_.slice_columns) return false;
    if (used_ * kTogetherStep[0] >= lanes_ && all_wanted()) return false;  // most blocks: without a look at letters and lengths
    std::array<bool, kLetters> used{};
    for (const auto& [codes, length] : records_)
      for (int64_t j = 0; j < length; j++) used[codes[j]] = true;
    const int letters = static_cast<int>(std::count(used.begin(), used.end(), true));
    if (letters > SliceTables::most_letters(kernels_.vector_bytes)) return false;
    const double step = kTogetherStep[SliceTables::tables(letters, kernels_.vector_bytes) - 1];
    double alone = 0, together = 0;
    for (int64_t q = 0; q < tile_.query_count; q++) alone += cost_alone(tile_.query_ids[q]);
    for (int from = 0; from < used_; from += kTargetsTogether) {
      const std::vector<int64_t> found = queries_of(from);
      for (size_t g = 0; g < found.size(); g += static_cast<size_t>(queries_together())) {
        const int64_t rows = length_of(found[std::min(g + static_cast<size_t>(queries_together()), found.size()) - 1]);
        if (rows > 2 * columns_) return false;
        together += step * static_cast<double>(rows) * static_cast<double>(columns_from(from));
      }
    }
    return together < alone;
  }

  void score_queries_together(int from) {
    const std::vector<int64_t> found = queries_of(from);
    if (found.empty()) return;
    const int count = std::min(kTargetsTogether, used_ - from);
    tables_.pack(records_.data() + from, count, kernels_.vector_bytes, columns_from(from));
    std::vector<Record> group;
    for (size_t g = 0; g < found.size(); g += group.size()) {
      group.clear();
      for (size_t q = g; q < std::min(g + static_cast<size_t>(queries_together()), found.size()); q++)
        group.push_back(queries_.record(tile_.query_ids[found[q]]));
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
        for (int k = 0; k < count; k++)
          if (is_wanted(tile_.pairing, tile_.query_ids[found[g + q]], target(from + k)))
            store(found[g + q], from + k, sums_[q * kTargetsTogether + static_cast<size_t>(k)], group[q].length);
    }
  }

  // ---- single pairs
  // Steps of the block kernel for one query with the block, or of single pairs if that is fewer; 0 where it wants none.
  double cost_alone(int64_t id) const {
    const int64_t rows = queries_.length(id);
    double pairs = 0;
    for (int k = 0; k < used_; k++)
      if (is_wanted(tile_.pairing, id, target(k))) pairs += pair_ ? pair_->cost(rows, records_[k].length) : kNever;
    return std::min(pairs, static_cast<double>(rows) * static_cast<double>(columns_));
  }

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
  const int64_t left = TileScorer<Score>(kernels, queries, targets, recipes.main, tile, cancel).run(0, recipes.rest_below);
  if (!cancel.requested) TileScorer<Score>(kernels, queries, targets, recipes.rest, tile, cancel).run(left, 0);
  return !cancel.requested;
}

template bool score_tile(const Kernels&, const Sequences&, const Sequences&, const Recipes&, const Tile<int32_t>&, const Cancel&);
template bool score_tile(const Kernels&, const Sequences&, const Sequences&, const Recipes&, const Tile<int64_t>&, const Cancel&);

}  // namespace gpualign
