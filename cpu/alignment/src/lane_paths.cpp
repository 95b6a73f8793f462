#include "lane_paths.hpp"

#include <algorithm>
#include <numeric>

namespace gpualign {
namespace {

int64_t tiles(int64_t columns) { return (columns + kTileColumns - 1) / kTileColumns; }
int64_t strips(int64_t rows) { return (rows + kGridRows - 1) / kGridRows; }

}  // namespace

int64_t LanePaths::bytes(int64_t rows, int64_t columns) const {
  const int64_t edges = (strips(rows) + 1) * padded(columns) + tiles(columns) * rows;
  const int64_t vectors = (recipe_.differences.open_extra ? 2 : 1) * edges + kTileColumns * kGridRows / recipe_.packed();
  return vectors * kernels_.vector_bytes + padded(columns) * lanes();
}

void LanePaths::set_targets(const std::vector<Record>& targets) {
  targets_ = targets;
  codes_.pack(targets, lanes(), 0);
  end_lanes_.resize(static_cast<size_t>(lanes()));
  std::iota(end_lanes_.begin(), end_lanes_.end(), 0);
  const int64_t* lengths = codes_.lengths();
  std::stable_sort(end_lanes_.begin(), end_lanes_.end(), [&](int64_t a, int64_t b) { return lengths[a] < lengths[b]; });
}

void LanePaths::align(const uint8_t* query, int64_t rows, const int64_t* pairs, PathSink& sink) {
  switch (recipe_.differences.width) {
    case 8: return align_as<uint8_t>(query, rows, pairs, sink);
    case 16: return align_as<uint16_t>(query, rows, pairs, sink);
    default: return align_as<uint32_t>(query, rows, pairs, sink);
  }
}

void LanePaths::reserve(GridArgs& a) {
  const auto vector = static_cast<size_t>(kernels_.vector_bytes);
  const size_t upper_edges = static_cast<size_t>((strips(a.rows) + 1) * a.columns) * vector;
  const size_t left_edges = static_cast<size_t>(tiles(a.columns) * a.rows) * vector;
  const bool affine = recipe_.differences.open_extra;
  a.row_v = row_v_.reserve(upper_edges);
  a.row_y = affine ? row_y_.reserve(upper_edges) : nullptr;
  a.column_u = column_u_.reserve(left_edges);
  a.column_x = affine ? column_x_.reserve(left_edges) : nullptr;
  directions_.reserve(static_cast<size_t>(kTileColumns * kGridRows / recipe_.packed()) * vector);
}

template <class E>
void LanePaths::align_as(const uint8_t* query, int64_t rows, const int64_t* pairs, PathSink& sink) {
  const int lanes = this->lanes();
  ends_.resize(static_cast<size_t>(lanes));
  for (int k = 0; k < lanes; k++) {
    const int64_t top = recipe_.top(codes_.lengths()[k]);
    ends_[k] = {top, top, 0};
  }
  GridArgs a{};
  a.query = query;
  a.rows = rows;
  a.codes = codes_.codes();
  a.columns = codes_.columns();
  a.lengths = codes_.lengths();
  a.table = recipe_.differences.table;
  a.letters = recipe_.differences.letters;
  a.open_extra = recipe_.differences.open_extra;
  a.extend = recipe_.extend;
  a.first_u = recipe_.first_u(), a.later_u = recipe_.later_u();
  a.first_v = recipe_.first_v(), a.later_v = recipe_.later_v();
  a.tile_columns = kTileColumns;
  a.end_lanes = recipe_.free_target ? end_lanes_.data() : nullptr;
  a.ends = ends_.data();
  a.cancel = &cancel_;
  reserve(a);
  (sizeof(E) == 1 ? kernels_.grid8 : sizeof(E) == 2 ? kernels_.grid16 : kernels_.grid32)(a);
  if (cancel_.requested) return;

  struct Lane {
    int number;
    int64_t score;
    Walk walk;
  };
  std::vector<Lane> lanes_to_trace;
  const E* last_row = static_cast<const E*>(a.row_v) + strips(rows) * a.columns * lanes;
  if (sink.want_runs()) runs_.resize(static_cast<size_t>(lanes));
  for (int k = 0; k < static_cast<int>(targets_.size()); k++) {
    if (pairs[k] < 0) continue;
    const int64_t columns = a.lengths[k];
    const PathEnd end = choose_end(recipe_, rows, columns, last_row + k, lanes, {ends_[k].best, ends_[k].row, columns});
    std::vector<uint8_t>* runs = nullptr;
    if (sink.want_runs()) {
      runs = &runs_[k];
      runs->clear();
    }
    lanes_to_trace.push_back({k, end.score, Walk(query, targets_[k].codes, end, runs)});
  }

  // Trace strips from the last to the first, and in each the tiles that a path reaches, from right to left.
  const auto grid_tile = sizeof(E) == 1 ? kernels_.grid_tile8 : sizeof(E) == 2 ? kernels_.grid_tile16 : kernels_.grid_tile32;
  const E* directions = static_cast<const E*>(directions_.reserve(0));
  const int packed = recipe_.packed(), bits = 8 / packed, mask = (1 << bits) - 1;
  for (int64_t row = (strips(rows) - 1) * kGridRows; row >= 0; row -= kGridRows) {
    for (;;) {
      int64_t max_column = 0;
      for (const Lane& lane : lanes_to_trace)
        if (lane.walk.i > row) max_column = std::max(max_column, lane.walk.j);
      if (max_column == 0) break;
      const int64_t column = (max_column - 1) / kTileColumns * kTileColumns;
      grid_tile(a, row, column, (max_column - column + 1) / 2 * 2, const_cast<E*>(directions));
      for (Lane& lane : lanes_to_trace) {
        if (lane.walk.i <= row || lane.walk.j <= column) continue;
        const E* lane_directions = directions + lane.number;
        auto at = [&](int64_t i, int64_t j) {
          const int64_t r = i - 1 - row;
          return static_cast<int>(lane_directions[((j - 1 - column) * (kGridRows / packed) + r / packed) * lanes] >> (r % packed * bits)) &
                 mask;
        };
        lane.walk.run(recipe_.usable, row, column, at);
      }
    }
  }
  for (Lane& lane : lanes_to_trace) {
    lane.walk.finish(recipe_.free_query, recipe_.free_target);
    sink.put(pairs[lane.number], recipe_.negate ? -lane.score : lane.score, lane.walk.counts,
             sink.want_runs() ? runs_[lane.number] : no_runs_);
  }
}

}  // namespace gpualign
