#include "sliced_paths.hpp"

#include <algorithm>
#include <cstring>

namespace gpualign {
namespace {

// Costs in the steps of BlockPaths::cost.
constexpr double kCellCost = 1.4;  // of a cell of the block
constexpr double kLetterCost = 3;  // of a letter of a pair in the traceback

int64_t tiles(int64_t letters) { return (letters + kWordRows - 1) / kWordRows; }

}  // namespace

int64_t SlicedPaths::bytes(int64_t rows, int64_t columns) const {
  const int64_t edges = (tiles(rows) + 1) * padded(columns) + tiles(columns) * rows;
  const int64_t masks = padded(columns) * (recipe_.differences.letters + 2);
  return (2 * edges + masks + 4 * kWordRows + 2 * kWordRows) * kernels_.vector_bytes;
}

double SlicedPaths::cost(int64_t rows, int64_t columns, int pair_count) const {
  return kCellCost * static_cast<double>(rows) * static_cast<double>(columns) +
         kLetterCost * pair_count * static_cast<double>(rows + columns);
}

void SlicedPaths::set_targets(const std::vector<Record>& targets) {
  targets_ = targets;
  columns_ = 0;
  for (const Record& target : targets) columns_ = std::max(columns_, padded(target.length));
  slices_.pack(targets, kernels_.vector_bytes, columns_);
}

void SlicedPaths::align(const uint8_t* query, int64_t rows, const int64_t* pairs, PathSink& sink) {
  const auto vector = static_cast<size_t>(kernels_.vector_bytes);
  SlicedGridArgs a{};
  a.slots = slices_.slots(query, rows);
  a.rows = rows;
  a.masks = slices_.masks();
  a.column_bytes = slices_.column_bytes();
  a.columns = columns_;
  a.row_v = row_v_.reserve(static_cast<size_t>(2 * (tiles(rows) + 1) * columns_) * vector);
  a.column_u = column_u_.reserve(static_cast<size_t>(2 * tiles(columns_) * rows) * vector);
  a.cancel = &cancel_;
  kernels_.sliced_grid(a);
  if (cancel_.requested) return;

  lanes_to_trace_.clear();
  if (sink.want_runs()) runs_.resize(static_cast<size_t>(lanes()));
  for (int k = 0; k < static_cast<int>(targets_.size()); k++) {
    if (pairs[k] < 0) continue;
    std::vector<uint8_t>* runs = nullptr;
    if (sink.want_runs()) {
      runs = &runs_[k];
      runs->clear();
    }
    lanes_to_trace_.push_back({k, Walk(query, targets_[k].codes, {0, rows, targets_[k].length}, runs)});
  }
  edges_.reserve(4 * kWordRows * vector);
  directions_.reserve(2 * kWordRows * vector);
  for (int64_t row = (tiles(rows) - 1) * kWordRows; row >= 0; row -= kWordRows) trace_strip(a, query, row);
  for (Lane& lane : lanes_to_trace_) {
    lane.walk.finish(false, false);
    const int64_t distance = lane.walk.counts.mismatches + lane.walk.counts.gaps;
    sink.put(pairs[lane.number], distance, lane.walk.counts, sink.want_runs() ? runs_[lane.number] : no_runs_);
  }
}

void SlicedPaths::trace_strip(const SlicedGridArgs& a, const uint8_t* query, int64_t row) {
  std::fill(std::begin(eq_), std::end(eq_), 0);
  for (int64_t i = row; i < std::min(a.rows, row + kWordRows); i++) eq_[query[i]] |= uint64_t(1) << (i - row);
  uint8_t* planes = static_cast<uint8_t*>(edges_.reserve(0));
  const int64_t plane = kWordRows * kernels_.vector_bytes;
  const SlicedEdges edges{planes, planes + plane, planes + 2 * plane, planes + 3 * plane};
  std::vector<Lane*> batch;
  // Visit the tiles from right to left, each once.
  for (;;) {
    int64_t max_column = 0;
    for (Lane& lane : lanes_to_trace_) {
      lane.walk.take_equal_letters();
      if (lane.walk.i > row) max_column = std::max(max_column, lane.walk.j);
    }
    if (max_column == 0) return;
    const int64_t column = (max_column - 1) / kWordRows * kWordRows;
    kernels_.sliced_edges(a, row, column, edges);
    for (Lane& lane : lanes_to_trace_) {
      if (lane.walk.i <= row || lane.walk.j <= column) continue;
      batch.push_back(&lane);
      if (static_cast<int>(batch.size()) < words()) continue;
      trace_tile(row, column, batch);
      batch.clear();
    }
    if (!batch.empty()) trace_tile(row, column, batch);
    batch.clear();
  }
}

void SlicedPaths::trace_tile(int64_t row, int64_t column, const std::vector<Lane*>& batch) {
  const uint64_t* edges = static_cast<const uint64_t*>(edges_.reserve(0));
  uint64_t* directions = static_cast<uint64_t*>(directions_.reserve(0));
  uint8_t letters[kMaxWordLanes][kWordRows] = {};
  WordTileArgs tile{};
  tile.eq = eq_;
  tile.letters = letters;
  tile.diagonal = directions;
  tile.up = directions + kWordRows * words();
  for (size_t k = 0; k < batch.size(); k++) {
    const Lane& lane = *batch[k];
    const int64_t width = lane.walk.j - column;
    tile.columns = std::max(tile.columns, width);
    std::memcpy(letters[k], targets_[lane.number].codes + column, static_cast<size_t>(width));
    const uint64_t* lane_edges = edges + lane.number % 64 * words() + lane.number / 64;
    const int plane = kWordRows * words();
    tile.hp_above[k] = lane_edges[0];
    tile.hn_above[k] = lane_edges[plane];
    tile.vp_left[k] = lane_edges[2 * plane];
    tile.vn_left[k] = lane_edges[3 * plane];
  }
  kernels_.word_tiles(tile);
  for (size_t k = 0; k < batch.size(); k++) {
    auto bit = [&](const uint64_t* words, int64_t i, int64_t j) {
      return words[(j - 1 - column) * this->words() + static_cast<int64_t>(k)] >> (i - 1 - row) & 1;
    };
    batch[k]->walk.run_unit_costs(row, column, [&](int64_t i, int64_t j) {
      return bit(tile.diagonal, i, j) ? kDiagonal : bit(tile.up, i, j) ? kUp : 0;
    });
  }
}

}  // namespace gpualign
