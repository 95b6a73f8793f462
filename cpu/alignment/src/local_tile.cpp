#include "local_tile.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "lane_codes.hpp"
#include "local_pairs.hpp"

namespace gpualign {
namespace {

// Expected share of the cells that lanes of wider elements compute (live_cells.hpp) for pairs whose scores are too large for narrower ones;
// measured with related sequences (benchmarks/log: C-033).
constexpr double kHighScoreShare = 0.5;

// The queries or the targets of a tile, numbered within the tile.
struct Side {
  const Sequences& sequences;
  const int64_t* ids;
  int64_t count;
  Record record(int64_t i) const { return sequences.record(ids[i]); }
  std::vector<int64_t> by_length() const {
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), int64_t(0));
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return record(a).length < record(b).length; });
    return order;
  }
};

std::vector<int64_t> slice(const std::vector<int64_t>& all, size_t first, size_t count) {
  const auto start = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {start, start + static_cast<std::ptrdiff_t>(std::min(count, all.size() - first))};
}

LocalBlock measured(const Side& side, const std::vector<int64_t>& records) {
  LocalBlock block;
  for (const int64_t i : records) block.add(side.record(i).length);
  return block;
}

// Returns the cost of all pairs, with the records of one side in blocks of `lanes`, in steps.
double tile_cost(const LocalRecipe& recipe, const Side& rows, const Side& columns, const std::vector<int64_t>& order, int lanes) {
  double cost = 0;
  for (size_t first = 0; first < order.size(); first += static_cast<size_t>(lanes)) {
    const LocalBlock block = measured(columns, slice(order, first, static_cast<size_t>(lanes)));
    for (int64_t r = 0; r < rows.count; r++) {
      const int64_t length = rows.record(r).length;
      cost += std::min(lanes_cost(recipe, length, block), pairs_cost(recipe, lanes, length, block));
    }
  }
  return cost;
}

// Scores all pairs of `rows` and `lanes`, with a table by row letter, and calls store(row, lane, score). history: of the rows, or null.
template <class Store>
class LocalScorer {
 public:
  LocalScorer(const Kernels& kernels, const LocalRecipe& recipe, LocalHistory* history, const Cancel& cancel, const Side& rows,
              const Side& lanes, std::vector<int64_t> order, const int32_t* table, bool swapped, Store store)
      : kernels_(kernels), recipe_(recipe), history_(history), cancel_(cancel), rows_(rows), lanes_(lanes), order_(std::move(order)),
        swapped_(swapped), store_(store), pairs_(kernels, recipe, cancel) {
    arguments_ = local_arguments(recipe, cancel);
    arguments_.table = table;
  }

  bool run() {
    const int first_width = recipe_.narrowest;
    std::vector<std::vector<int64_t>> exceeding(static_cast<size_t>(rows_.count));
    const size_t lanes = static_cast<size_t>(kernels_.vector_bytes / first_width);
    for (size_t first = 0; first < order_.size(); first += lanes) {
      const std::vector<int64_t> block = slice(order_, first, lanes);
      const LocalBlock size = measured(lanes_, block);
      bool packed = false;
      for (int64_t r = 0; r < rows_.count; r++) {
        auto& exceeding_lanes = exceeding[static_cast<size_t>(r)];
        if (first_width == 1 && !bytes_pay(r)) {
          exceeding_lanes.insert(exceeding_lanes.end(), block.begin(), block.end());
          continue;
        }
        if (is_faster_by_pairs(r, size, first_width, 1)) {
          if (!align_pairs(r, block, first_width, exceeding_lanes)) return false;
          continue;
        }
        if (!packed) pack(block, first_width);
        packed = true;
        if (!align(r, block, first_width, exceeding_lanes)) return false;
      }
    }
    for (int64_t r = 0; r < rows_.count; r++)
      for (int width = wider_local(recipe_, first_width); !exceeding[static_cast<size_t>(r)].empty(); width = wider_local(recipe_, width))
        if (!repeat_wider(r, exceeding[static_cast<size_t>(r)], width)) return false;
    return true;
  }

 private:
  void pack(const std::vector<int64_t>& block, int width) {
    std::vector<Record> records;
    for (const int64_t lane : block) records.push_back(lanes_.record(lane));
    codes_.pack(records, kernels_.vector_bytes / width, recipe_.padding);
  }

  bool bytes_pay(int64_t r) const { return !history_ || history_->bytes_pay(rows_.ids[r]); }

  // share: of the cells of lanes that are computed
  bool is_faster_by_pairs(int64_t r, const LocalBlock& block, int width, double share) const {
    const int64_t rows = rows_.record(r).length;
    return pairs_cost(recipe_, kernels_.vector_bytes / width, rows, block) < share * lanes_cost(recipe_, rows, block);
  }

  // Aligns a block one by one. If bytes turn out not to pay, the rest of it is added to `exceeding` instead.
  bool align_pairs(int64_t r, const std::vector<int64_t>& block, int width, std::vector<int64_t>& exceeding) {
    const Record row = rows_.record(r);
    for (const int64_t lane : block) {
      if (width == 1 && !bytes_pay(r)) {
        exceeding.push_back(lane);
        continue;
      }
      const Record column = lanes_.record(lane);
      const int64_t score = swapped_ ? pairs_.score(column, row, width) : pairs_.score(row, column, width);
      if (cancel_.requested) return false;
      store_(r, lane, score);
      if (width == 1 && history_) history_->add(rows_.ids[r], 1, score >= local_limit(recipe_, 1));
    }
    return true;
  }

  // Aligns the records whose scores were too large again, with elements of `width` bytes. Leaves those that still are too large in `lanes`.
  bool repeat_wider(int64_t r, std::vector<int64_t>& lanes, int width) {
    std::vector<int64_t> todo;
    todo.swap(lanes);
    const size_t step = static_cast<size_t>(kernels_.vector_bytes / width);
    for (size_t first = 0; first < todo.size(); first += step) {
      const std::vector<int64_t> block = slice(todo, first, step);
      if (is_faster_by_pairs(r, measured(lanes_, block), width, kHighScoreShare)) {
        if (!align_pairs(r, block, width, lanes)) return false;
        continue;
      }
      pack(block, width);
      if (!align(r, block, width, lanes)) return false;
    }
    return true;
  }

  bool align(int64_t r, const std::vector<int64_t>& block, int width, std::vector<int64_t>& exceeding) {
    const Record row = rows_.record(r);
    best_.resize(static_cast<size_t>(kernels_.vector_bytes));
    LocalArgs a = arguments_;
    set_lanes(a, kernels_, row, codes_, boundary_);
    a.best = best_.data();
    kernels_.local[local_kernel(width)](a);
    if (cancel_.requested) return false;
    const int64_t limit = local_limit(recipe_, width);
    int exceeded = 0;
    for (size_t k = 0; k < block.size(); k++) {
      if (best_[k] < limit) {
        store_(r, block[k], best_[k]);
      } else {
        exceeding.push_back(block[k]);
        exceeded++;
      }
    }
    if (width == 1 && history_) history_->add(rows_.ids[r], static_cast<int>(block.size()), exceeded);
    return true;
  }

  const Kernels& kernels_;
  const LocalRecipe& recipe_;
  LocalHistory* const history_;
  const Cancel& cancel_;
  const Side rows_, lanes_;
  const std::vector<int64_t> order_;  // records of the lanes, by length
  const bool swapped_;                // the rows are targets
  Store store_;
  LocalPairs pairs_;
  LocalArgs arguments_{};
  LaneCodes codes_;
  Scratch boundary_;
  std::vector<int64_t> best_;
};

}  // namespace

double lanes_cost(const LocalRecipe& recipe, int64_t rows, const LocalBlock& block) {
  if (block.longest > recipe.most_columns) return std::numeric_limits<double>::infinity();
  return static_cast<double>(rows) * static_cast<double>(block.longest);
}

double pairs_cost(const LocalRecipe& recipe, int lanes, int64_t rows, const LocalBlock& block) {
  const double all = static_cast<double>(block.letters), row_letters = static_cast<double>(rows) * static_cast<double>(block.count);
  // The longer record of a pair lies in the lanes. On average, half of one vector is empty.
  const double columns = std::min(all, row_letters), letters = std::max(all, row_letters);
  constexpr double kLetterSteps = 0.5;  // for the profile
  return static_cast<double>(rows) * all / lanes + columns * (recipe.column_steps + 0.5) + kLetterSteps * letters;
}

LocalArgs local_arguments(const LocalRecipe& recipe, const Cancel& cancel) {
  LocalArgs a{};
  a.table = recipe.table;
  a.letters = recipe.letters;
  a.padding = recipe.padding;
  a.byte_scores = recipe.byte_scores;
  a.open = recipe.open;
  a.extend = recipe.extend;
  a.cancel = &cancel;
  return a;
}

void set_lanes(LocalArgs& a, const Kernels& kernels, Record rows, LaneCodes& lanes, Scratch& boundary) {
  a.query = rows.codes;
  a.rows = rows.length;
  a.codes = lanes.codes();
  a.columns = lanes.columns();
  a.lengths = lanes.lengths();
  a.boundary = boundary.reserve(static_cast<size_t>(3 * a.columns * kernels.vector_bytes));
}

template <class Score>
bool score_local_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                      LocalHistory& history, const Tile<Score>& tile, const Cancel& cancel) {
  const Side query_side{queries, tile.query_ids, tile.query_count}, target_side{targets, tile.target_ids, tile.target_count};
  const int lanes = kernels.vector_bytes / recipe.narrowest;
  std::vector<int64_t> by_target = target_side.by_length(), by_query = query_side.by_length();
  // Swapping query and target transposes the matrix, so either side may have the lanes: choose the one that fills them better.
  const double unswapped = tile_cost(recipe, query_side, target_side, by_target, lanes);
  const double swapped = tile_cost(recipe, target_side, query_side, by_query, lanes);
  if (unswapped <= swapped) {
    auto store = [&](int64_t q, int64_t t, int64_t score) { tile.scores[q * tile.target_count + t] = static_cast<Score>(score); };
    return LocalScorer(kernels, recipe, &history, cancel, query_side, target_side, std::move(by_target), recipe.table, false, store).run();
  }
  int32_t transposed[kLetters * kLetters];
  recipe.transpose(transposed);
  auto store = [&](int64_t t, int64_t q, int64_t score) { tile.scores[q * tile.target_count + t] = static_cast<Score>(score); };
  return LocalScorer(kernels, recipe, nullptr, cancel, target_side, query_side, std::move(by_query), transposed, true, store).run();
}

template bool score_local_tile(const Kernels&, const Sequences&, const Sequences&, const LocalRecipe&, LocalHistory&, const Tile<int32_t>&,
                               const Cancel&);
template bool score_local_tile(const Kernels&, const Sequences&, const Sequences&, const LocalRecipe&, LocalHistory&, const Tile<int64_t>&,
                               const Cancel&);

}  // namespace gpualign
