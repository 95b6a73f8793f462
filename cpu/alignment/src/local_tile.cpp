#include "local_tile.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "lane_codes.hpp"

namespace gpualign {
namespace {

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

// Returns the total number of columns of the blocks, of `lanes` records each.
double block_columns(const Side& side, const std::vector<int64_t>& order, int lanes) {
  double columns = 0;
  for (size_t first = 0; first < order.size(); first += static_cast<size_t>(lanes))
    columns += static_cast<double>(side.record(order[std::min(order.size(), first + static_cast<size_t>(lanes)) - 1]).length);
  return columns;
}

double letters(const Side& side) {
  double total = 0;
  for (int64_t i = 0; i < side.count; i++) total += static_cast<double>(side.record(i).length);
  return total;
}

std::vector<int64_t> slice(const std::vector<int64_t>& all, size_t first, size_t count) {
  const auto start = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {start, start + static_cast<std::ptrdiff_t>(std::min(count, all.size() - first))};
}

// Scores all pairs of `rows` and `lanes`, with a table by row letter, and calls store(row, lane, score). history: of the rows, or null.
template <class Store>
class LocalScorer {
 public:
  LocalScorer(const Kernels& kernels, const LocalRecipe& recipe, LocalHistory* history, const Cancel& cancel, const Side& rows,
              const Side& lanes, std::vector<int64_t> order, const int32_t* table, Store store)
      : kernels_(kernels), recipe_(recipe), history_(history), cancel_(cancel), rows_(rows), lanes_(lanes), order_(std::move(order)),
        store_(store) {
    arguments_ = local_arguments(recipe, cancel);
    arguments_.table = table;
  }

  bool run() {
    const int first_width = recipe_.narrowest;
    std::vector<std::vector<int64_t>> exceeding(static_cast<size_t>(rows_.count));
    const size_t lanes = static_cast<size_t>(kernels_.vector_bytes / first_width);
    for (size_t first = 0; first < order_.size(); first += lanes) {
      const std::vector<int64_t> block = slice(order_, first, lanes);
      bool packed = false;
      for (int64_t r = 0; r < rows_.count; r++) {
        auto& exceeding_lanes = exceeding[static_cast<size_t>(r)];
        if (is_striped(r, block)) {
          for (const int64_t lane : block)
            if (!align_alone(r, lane, exceeding_lanes)) return false;
          continue;
        }
        if (first_width == 1 && !bytes_pay(r)) {
          exceeding_lanes.insert(exceeding_lanes.end(), block.begin(), block.end());
          continue;
        }
        if (!packed) pack(block, first_width);
        packed = true;
        if (!align(r, block, first_width, exceeding_lanes)) return false;
      }
    }
    for (int64_t r = 0; r < rows_.count; r++)
      for (int width = wider(first_width); !exceeding[static_cast<size_t>(r)].empty(); width = wider(width))
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

  // Returns whether the records are so few and so long that the rows of one pair fill the lanes better.
  bool is_striped(int64_t r, const std::vector<int64_t>& block) const {
    return first_striped() <= 4 && block.size() <= static_cast<size_t>(recipe_.few_lanes) &&
           rows_.record(r).length >= recipe_.long_letters && lanes_.record(block.front()).length >= recipe_.long_letters;
  }

  int first_striped() const { return std::max(recipe_.narrowest, 2); }

  bool align_alone(int64_t r, int64_t lane, std::vector<int64_t>& exceeding) {
    const Record row = rows_.record(r), column = lanes_.record(lane);
    int64_t best = 0;
    LocalArgs a = arguments_;
    a.query = row.codes;
    a.rows = row.length;
    a.codes = column.codes;
    a.columns = column.length;
    a.boundary = boundary_.reserve(static_cast<size_t>(2 * a.columns) * sizeof(int32_t));
    a.best = &best;
    if (first_striped() == 2) {
      kernels_.striped16(a);
      if (cancel_.requested) return false;
      if (recipe_.widest <= 2 || best < UINT16_MAX) {
        store_(r, lane, best);
        return true;
      }
    }
    if (recipe_.widest > 4) {
      exceeding.push_back(lane);
      return true;
    }
    kernels_.striped32(a);
    if (cancel_.requested) return false;
    store_(r, lane, best);
    return true;
  }

  int wider(int width) const { return width == 1 ? 2 : recipe_.widest; }

  // Repeats the records whose scores were too large, with elements of `width` bytes. `lanes` is left with those that still are.
  bool repeat_wider(int64_t r, std::vector<int64_t>& lanes, int width) {
    std::vector<int64_t> todo;
    todo.swap(lanes);
    const size_t step = static_cast<size_t>(kernels_.vector_bytes / width);
    for (size_t first = 0; first < todo.size(); first += step) {
      const std::vector<int64_t> block = slice(todo, first, step);
      pack(block, width);
      if (!align(r, block, width, lanes)) return false;
    }
    return true;
  }

  bool align(int64_t r, const std::vector<int64_t>& block, int width, std::vector<int64_t>& exceeding) {
    const Record row = rows_.record(r);
    best_.resize(static_cast<size_t>(kernels_.vector_bytes));
    LocalArgs a = arguments_;
    a.query = row.codes;
    a.rows = row.length;
    a.codes = codes_.codes();
    a.columns = codes_.columns();
    a.lengths = codes_.lengths();
    a.boundary = boundary_.reserve(static_cast<size_t>(2 * a.columns * kernels_.vector_bytes));
    a.best = best_.data();
    kernels_.local[local_kernel(width)](a);
    if (cancel_.requested) return false;
    const int64_t limit = width < recipe_.widest && width <= 2 ? (int64_t(1) << (8 * width)) - 1 : INT64_MAX;
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
  Store store_;
  LocalArgs arguments_{};
  LaneCodes codes_;
  Scratch boundary_;
  std::vector<int64_t> best_;
};

}  // namespace

bool prefer_swapped(const LocalRecipe& recipe, double unswapped, int64_t longest_target, double swapped, int64_t longest_query) {
  if (longest_target > recipe.most_columns || longest_query > recipe.most_columns) return longest_query < longest_target;
  return swapped < unswapped;
}

LocalArgs local_arguments(const LocalRecipe& recipe, const Cancel& cancel) {
  LocalArgs a{};
  a.table = recipe.table;
  a.letters = recipe.letters;
  a.byte_scores = recipe.byte_scores;
  a.open = recipe.open;
  a.extend = recipe.extend;
  a.cancel = &cancel;
  return a;
}

template <class Score>
bool score_local_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                      LocalHistory& history, const Tile<Score>& tile, const Cancel& cancel) {
  const Side query_side{queries, tile.query_ids, tile.query_count}, target_side{targets, tile.target_ids, tile.target_count};
  const int lanes = kernels.vector_bytes / recipe.narrowest;
  std::vector<int64_t> by_target = target_side.by_length(), by_query = query_side.by_length();
  // Swapping query and target transposes the matrix, so either side may have the lanes: choose the one that fills them better.
  const double unswapped = letters(query_side) * block_columns(target_side, by_target, lanes);
  const double swapped = letters(target_side) * block_columns(query_side, by_query, lanes);
  const int64_t longest_target = target_side.record(by_target.back()).length, longest_query = query_side.record(by_query.back()).length;
  if (!prefer_swapped(recipe, unswapped, longest_target, swapped, longest_query)) {
    auto store = [&](int64_t q, int64_t t, int64_t score) { tile.scores[q * tile.target_count + t] = static_cast<Score>(score); };
    return LocalScorer(kernels, recipe, &history, cancel, query_side, target_side, std::move(by_target), recipe.table, store).run();
  }
  int32_t transposed[kLetters * kLetters];
  recipe.transpose(transposed);
  auto store = [&](int64_t t, int64_t q, int64_t score) { tile.scores[q * tile.target_count + t] = static_cast<Score>(score); };
  return LocalScorer(kernels, recipe, nullptr, cancel, target_side, query_side, std::move(by_query), transposed, store).run();
}

template bool score_local_tile(const Kernels&, const Sequences&, const Sequences&, const LocalRecipe&, LocalHistory&, const Tile<int32_t>&,
                               const Cancel&);
template bool score_local_tile(const Kernels&, const Sequences&, const Sequences&, const LocalRecipe&, LocalHistory&, const Tile<int64_t>&,
                               const Cancel&);

}  // namespace gpualign
