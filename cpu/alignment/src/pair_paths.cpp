#include "pair_paths.hpp"

#include <algorithm>
#include <vector>

#include "cpu/src/scratch.hpp"
#include "pairs.hpp"
#include "wavefront_input.hpp"

namespace gpualign {
namespace {

constexpr int64_t kMinTile = 64, kMaxTile = 4096;  // rows and columns
constexpr double kCellCost = 2.5;                  // of a cell of a tile, in steps of the block kernel

// E: the element of the differences. Bytes are computed by the wavefront kernel, wider ones cell by cell.
template <class E>
class Pairs : public PairPaths {
 public:
  Pairs(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel)
      : kernels_(kernels), recipe_(recipe), cancel_(cancel), input_(kernels, recipe.differences, cancel) {}

  int64_t min_bytes(int64_t rows, int64_t columns) const override { return bytes(rows, columns, min_memory_tile(rows, columns)); }

  double cost(int64_t rows, int64_t columns) const override {
    const double traceback = static_cast<double>(rows + columns) * kMinTile * kCellCost;
    if (!kByWavefront) return traceback + kCellCost * static_cast<double>(rows) * static_cast<double>(columns);
    return traceback + 1.2 * wavefront_cost(kernels_, rows, columns);
  }

  void align(const uint8_t* query, int64_t rows, const uint8_t* target, int64_t columns, int64_t pair, PathSink& sink,
             const ExcludedCells* excluded) override {
    query_ = query, rows_ = rows, target_ = target, columns_ = columns, excluded_ = excluded;
    stride_ = padded(columns);
    const int64_t largest = min_memory_tile(rows, columns), needed = bytes(rows, columns, largest);
    if (needed > recipe_.worker_bytes) throw ScratchTooSmall(needed, recipe_.worker_bytes);
    tile_ = kMinTile;
    while (tile_ < largest && bytes(rows, columns, tile_) > recipe_.worker_bytes) tile_ *= 2;
    cut_rows();
    const size_t upper_edges = (row_starts_.size() + 1) * static_cast<size_t>(stride_),
                 left_edges = static_cast<size_t>(tiles(columns) * rows);
    row_v_.resize(upper_edges), row_y_.resize(upper_edges);
    column_u_.resize(left_edges), column_x_.resize(left_edges);
    const size_t max_height = static_cast<size_t>(max_height_);
    u_.resize(max_height), x_.resize(max_height);
    directions_.resize(max_height * static_cast<size_t>(tile_));
    if (kByWavefront)
      forward_by_wavefront();
    else
      forward_by_tiles();
    if (cancel_.requested) return;

    const PathEnd end = find_end();
    std::vector<uint8_t> runs;
    Walk walk(query, target, end, sink.want_runs() ? &runs : nullptr);
    while (!walk.at_edge()) {
      const int64_t t = static_cast<int64_t>(std::lower_bound(row_starts_.begin(), row_starts_.end(), walk.i) - row_starts_.begin()) - 1;
      const int64_t row = row_starts_[t], column = (walk.j - 1) / tile_ * tile_;
      const int64_t height = walk.i - row;
      compute(t, row, height, column, walk.j - column, true);
      walk.run(recipe_.usable, row, column,
               [&](int64_t i, int64_t j) { return directions_[static_cast<size_t>((j - 1 - column) * height + i - 1 - row)]; });
      if (cancel_.requested) return;
    }
    walk.finish(recipe_.free_query, recipe_.free_target);
    sink.put(pair, recipe_.negate ? -end.score : end.score, walk.counts, runs);
  }

 private:
  static constexpr bool kByWavefront = sizeof(E) == 1;

  int64_t tiles(int64_t columns) const { return (columns + tile_ - 1) / tile_; }

  int64_t bytes(int64_t rows, int64_t columns, int64_t tile) const {
    // A tile of the wavefront has at least half of the rows requested, unless that is less than the rows of a lane.
    const int64_t height = kByWavefront ? std::max<int64_t>(tile / 2, 1) : tile;
    const int64_t edges = (rows / height + 3) * padded(columns) + (columns / tile + 1) * rows;
    return 2 * edges * static_cast<int64_t>(sizeof(E)) + std::min(tile + kernels_.wavefront_depth, rows) * std::min(tile, columns);
  }

  // Returns the tile size with which a pair takes the least memory.
  int64_t min_memory_tile(int64_t rows, int64_t columns) const {
    int64_t tile = kMinTile;
    while (tile < kMaxTile && bytes(rows, columns, 2 * tile) < bytes(rows, columns, tile)) tile *= 2;
    return tile;
  }

  // Sets the first row of each row of tiles.
  void cut_rows() {
    row_starts_.clear();
    max_height_ = 0;
    auto cut = [&](int64_t from, int64_t to) {
      row_starts_.push_back(from);
      max_height_ = std::max(max_height_, to - from);
    };
    if (!kByWavefront) {
      for (int64_t row = 0; row < rows_; row += tile_) cut(row, std::min(rows_, row + tile_));
      return;
    }
    const int lanes = kernels_.vector_bytes;
    for (int64_t row = 0; row < rows_;) {
      const WavefrontPass pass = wavefront_pass(rows_ - row, lanes, kernels_.wavefront_depth, tile_);
      const int64_t stop = std::min(rows_, row + pass.depth * lanes);
      for (int64_t k = 0; k < lanes && row + k * pass.depth < stop; k += pass.tile_lanes)
        cut(row + k * pass.depth, std::min(stop, row + (k + pass.tile_lanes) * pass.depth));
      row = stop;
    }
  }

  void forward_by_wavefront() {
    input_.pack(packed_, target_, columns_);
    WavefrontGrid grid;
    grid.first_u = recipe_.first_u(), grid.later_u = recipe_.later_u();
    grid.first_v = recipe_.first_v(), grid.later_v = recipe_.later_v();
    grid.tile_rows = grid.tile_columns = tile_;
    grid.row_v = reinterpret_cast<uint8_t*>(row_v_.data()), grid.row_y = reinterpret_cast<uint8_t*>(row_y_.data());
    grid.column_u = reinterpret_cast<uint8_t*>(column_u_.data()), grid.column_x = reinterpret_cast<uint8_t*>(column_x_.data());
    kernels_.wavefront_grid(input_.arguments(query_, rows_, packed_, columns_), grid);
  }

  void forward_by_tiles() {
    std::fill_n(row_v_.begin(), stride_, static_cast<E>(recipe_.later_v()));
    row_v_[0] = static_cast<E>(recipe_.first_v());
    const auto gap = [&](E step) { return static_cast<E>(step - recipe_.differences.open_extra); };  // x or y of a gap that opens there
    std::transform(row_v_.begin(), row_v_.begin() + stride_, row_y_.begin(), gap);
    std::fill_n(column_u_.begin(), rows_, static_cast<E>(recipe_.later_u()));
    column_u_[0] = static_cast<E>(recipe_.first_u());
    std::transform(column_u_.begin(), column_u_.begin() + rows_, column_x_.begin(), gap);
    for (size_t t = 0; t < row_starts_.size(); t++)
      for (int64_t column = 0; column < columns_; column += tile_) {
        if (cancel_.requested) return;
        const int64_t row = row_starts_[t], height = std::min(rows_ - row, tile_);
        compute(static_cast<int64_t>(t), row, height, column, std::min(columns_ - column, tile_), false);
        if (column + tile_ >= columns_) continue;
        std::copy_n(u_.begin(), height, column_u_.begin() + (column / tile_ + 1) * rows_ + row);
        std::copy_n(x_.begin(), height, column_x_.begin() + (column / tile_ + 1) * rows_ + row);
      }
  }

  // Computes a tile from its edges. Leaves u, x of its right edge in u_, x_. Stores its directions, or else v, y of its lower edge.
  void compute(int64_t t, int64_t row, int64_t height, int64_t column, int64_t width, bool directions) {
    if (excluded_)
      compute<true>(t, row, height, column, width, directions);
    else
      compute<false>(t, row, height, column, width, directions);
  }

  template <bool kExcludes>
  void compute(int64_t t, int64_t row, int64_t height, int64_t column, int64_t width, bool directions) {
    const int64_t o = recipe_.differences.open_extra;
    const auto value = [&](E element) { return recipe_.value(element); };
    std::copy_n(column_u_.begin() + column / tile_ * rows_ + row, height, u_.begin());
    std::copy_n(column_x_.begin() + column / tile_ * rows_ + row, height, x_.begin());
    const uint32_t* table = recipe_.differences.table;
    for (int64_t j = 0; j < width; j++) {
      int64_t v = value(row_v_[t * stride_ + column + j]), y = o ? value(row_y_[t * stride_ + column + j]) : v;
      const uint32_t* scores = table + target_[column + j];
      uint8_t* out = directions ? directions_.data() + j * height : nullptr;
      if (kExcludes) mark_excluded(row, height, column + j);
      for (int64_t r = 0; r < height; r++) {
        const bool usable = !kExcludes || !is_excluded_[static_cast<size_t>(r)];
        const int64_t s = usable ? value(static_cast<E>(scores[query_[row + r] * kLetters])) : -2 * o, u = value(u_[r]),
                      x = o ? value(x_[r]) : u;
        const int64_t z = std::max(s, std::max(x, y)), opened = z - o;
        if (directions)
          out[r] =
              static_cast<uint8_t>((s == z && usable) * kDiagonal | (y == z) * kUp | (x > opened) * kExtendLeft | (y > opened) * kExtendUp);
        x_[r] = static_cast<E>(std::max(x, opened) - v);
        y = std::max(y, opened) - u;
        u_[r] = static_cast<E>(z - v);
        v = z - u;
      }
      if (directions) continue;
      row_v_[(t + 1) * stride_ + column + j] = static_cast<E>(v);
      row_y_[(t + 1) * stride_ + column + j] = static_cast<E>(y);
    }
  }

  // Marks the rows of a tile that are excluded in a column.
  void mark_excluded(int64_t row, int64_t height, int64_t column) {
    is_excluded_.assign(static_cast<size_t>(height), 0);
    const size_t at = static_cast<size_t>(column);
    for (int64_t k = excluded_->bounds[at]; k < excluded_->bounds[at + 1]; k++) {
      const int64_t r = excluded_->rows[static_cast<size_t>(k)] - row;
      if (r >= 0 && r < height) is_excluded_[static_cast<size_t>(r)] = 1;
    }
  }

  // Returns the end of the best path.
  PathEnd find_end() {
    PathEnd last_column{recipe_.top(columns_), 0, columns_};
    if (recipe_.free_target) {
      const int64_t column = (columns_ - 1) / tile_ * tile_;
      int64_t score = last_column.score;
      for (size_t t = 0; t < row_starts_.size(); t++) {
        const int64_t row = row_starts_[t], height = (t + 1 < row_starts_.size() ? row_starts_[t + 1] : rows_) - row;
        compute(static_cast<int64_t>(t), row, height, column, columns_ - column, true);
        for (int64_t r = 0; r < height; r++) {
          score += recipe_.step(u_[r]);
          if (score >= last_column.score) {
            last_column.score = score;
            last_column.row = row + r + 1;
          }
        }
      }
    }
    const E* v = row_v_.data() + static_cast<int64_t>(row_starts_.size()) * stride_;
    return choose_end(recipe_, rows_, columns_, v, 1, last_column);
  }

  const Kernels& kernels_;
  const PathRecipe& recipe_;
  const Cancel& cancel_;
  WavefrontInput input_;
  WavefrontTarget packed_;
  const uint8_t* query_ = nullptr;
  const uint8_t* target_ = nullptr;
  int64_t rows_ = 0, columns_ = 0, stride_ = 0, tile_ = 0, max_height_ = 0;
  std::vector<int64_t> row_starts_;
  std::vector<E> row_v_, row_y_, column_u_, column_x_;  // edges of tiles; with linear gaps x = u and y = v
  std::vector<E> u_, x_;
  std::vector<uint8_t> directions_;
  const ExcludedCells* excluded_ = nullptr;
  std::vector<uint8_t> is_excluded_;  // rows of a tile, in one column
};

}  // namespace

std::unique_ptr<PairPaths> make_pair_paths(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel) {
  switch (recipe.differences.width) {
    case 8: return std::make_unique<Pairs<uint8_t>>(kernels, recipe, cancel);
    case 16: return std::make_unique<Pairs<uint16_t>>(kernels, recipe, cancel);
    default: return std::make_unique<Pairs<uint32_t>>(kernels, recipe, cancel);
  }
}

}  // namespace gpualign
