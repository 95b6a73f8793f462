// Global alignment score of one pair in bytes: the difference recurrence, with strips of the query in the vector lanes.
//
// Recurrence, bounds and constants are those of difference.hpp. Here lane k owns `depth` consecutive query rows,
// row + k * depth + r for r in 0 .. depth-1, and runs one group of kColumnsAtATime columns behind lane k-1: what lane k-1 hands
// down at the end of a step (v, y of its last row) is what lane k takes in at the next. One shift by a lane a step serves
// `depth` rows, so it may go through memory. A pass covers lanes * depth rows; its lower boundary is kept between passes.
//
// A lane that has not started sees padding letters with s'' = 0 and the flat state u = v = 0, x = y = -o, of which a cell
// makes the same flat state: z = 0, u = v = 0, x = y = -o. So no lane needs a mask. What lanes compute behind the last column
// or below the last row is not used.
//
// Each lane has its own query letter in a row, so a score is looked up once for every letter of the pass and column
// (as in difference.hpp) and picked by the masks of the lanes that hold the letter in this row: an operation a letter
// that occurs in the row, four for most DNA.
#pragma once
#include "difference.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int kWavefrontDepth = 48;  // rows a lane, at most: state and masks of a pass stay within L2 with 27 letters

template <bool kAffine>
struct WavefrontKernel {
  using Cell = DifferenceKernel<uint8_t, kAffine>;
  static constexpr int kLanes = kVectorBytes;
  static constexpr int kColumns = kColumnsAtATime;

  struct Pass {
    Bytes u[kWavefrontDepth], x[kWavefrontDepth];
    // The letters of row r are entries first[r] .. first[r+1]: the lanes that hold it, its slot. Back to back, since rows at a
    // fixed distance of 2 KiB would share few sets of the L1 cache.
    Words mask[kWavefrontDepth * kLetters];
    uint8_t slot[kWavefrontDepth * kLetters];
    int first[kWavefrontDepth + 1];
    LetterSlots slots;  // of the letters of the pass
    int depth;
  };

  // With a grid, keeps its checkpoints; first rows and columns are those of the grid.
  static int64_t run(const WavefrontArgs& a) { return run<false>(a, nullptr); }

  template <bool kGrid>
  static int64_t run(const WavefrontArgs& a, const WavefrontGrid* grid) {
    const int64_t groups = (a.columns + kColumns - 1) / kColumns;
    alignas(64) uint8_t table[kLetters * kLetters];
    for (int i = 0; i < kLetters * kLetters; i++) table[i] = static_cast<uint8_t>(a.table[i]);
    uint8_t* bound_v = a.boundary;
    uint8_t* bound_y = bound_v + groups * kColumns;
    const uint8_t o = static_cast<uint8_t>(a.open_extra);
    const uint8_t first_v = kGrid ? static_cast<uint8_t>(grid->first_v) : static_cast<uint8_t>(-o);
    const uint8_t later_v = kGrid ? static_cast<uint8_t>(grid->later_v) : 0;
    memset(bound_v, later_v, static_cast<size_t>(groups * kColumns));
    memset(bound_y, static_cast<uint8_t>(later_v - o), static_cast<size_t>(groups * kColumns));
    bound_v[0] = first_v;
    bound_y[0] = static_cast<uint8_t>(first_v - o);
    Edges edges{};
    if constexpr (kGrid) {
      memcpy(grid->row_v, bound_v, static_cast<size_t>(groups * kColumns));
      memcpy(grid->row_y, bound_y, static_cast<size_t>(groups * kColumns));
      edges = {grid, 1, 0, 0};
    }
    Pass& pass = *static_cast<Pass*>(a.scratch);
    for (int64_t row = 0;;) {
      if (a.cancel->requested) return -1;
      const int64_t left = a.rows - row;
      const WavefrontPass plan = wavefront_pass(left, kLanes, kWavefrontDepth, kGrid ? grid->tile_rows : 0);
      pass.depth = static_cast<int>(plan.depth);
      load(pass, a, row);
      edges.row = row;
      edges.tile_lanes = plan.tile_lanes;
      const int64_t covered = static_cast<int64_t>(pass.depth) * kLanes;
      const int64_t sum = sweep<kGrid>(pass, a, table, groups, bound_v, bound_y, left <= covered ? left - 1 : -1, edges);
      if (left <= covered) return sum;
      row += covered;
      edges.first_tile += (kLanes + plan.tile_lanes - 1) / plan.tile_lanes;
    }
  }

 private:
  struct Edges {
    const WavefrontGrid* grid;
    int64_t first_tile;  // the tile of rows below the first edge of this pass
    int64_t row;         // the pass's first
    int64_t tile_lanes;
  };

  // At step t lane k begins group t - k. A lane at its first group gets the first column's steps; one at the left edge of a tile
  // keeps its own.
  static void keep_columns(Pass& p, const WavefrontArgs& a, const Edges& e, int64_t t, int64_t groups) {
    if (t < kLanes)
      for (int r = 0; r < p.depth; r++) {
        p.u[r][t] = static_cast<uint8_t>(e.row + t + r ? e.grid->later_u : e.grid->first_u);
        if (kAffine) p.x[r][t] = static_cast<uint8_t>(p.u[r][t] - a.open_extra);
      }
    const int64_t tile_groups = e.grid->tile_columns / kColumns;
    for (int64_t k = t % tile_groups; k < kLanes; k += tile_groups) {
      const int64_t g = t - k, first = e.row + k * p.depth;
      if (g < 0 || g >= groups) continue;
      const int64_t at = g / tile_groups * a.rows + first;
      for (int r = 0; r < p.depth && first + r < a.rows; r++) {
        e.grid->column_u[at + r] = p.u[r][k];
        if (kAffine) e.grid->column_x[at + r] = p.x[r][k];
      }
    }
  }

  static void keep_row(const Edges& e, int64_t tile, int64_t g, int64_t groups, const Bytes* v, const Bytes* y, int lane) {
    const int64_t at = (tile * groups + g) * kColumns;
    for (int c = 0; c < kColumns; c++) {
      e.grid->row_v[at + c] = v[c][lane];
      if (kAffine) e.grid->row_y[at + c] = y[c][lane];
    }
  }

  static void load(Pass& p, const WavefrontArgs& a, int64_t row) {
    p.slots.clear();
    p.first[0] = 0;
    const Bytes o = broadcast<uint8_t>(static_cast<uint8_t>(a.open_extra));
    for (int r = 0; r < p.depth; r++) {
      p.u[r] = Bytes{};
      p.x[r] = Bytes{} - o;
      int next = p.first[r], place[kLetters];
      for (int l = 0; l < kLetters; l++) place[l] = -1;
      for (int k = 0; k < kLanes; k++) {
        const int64_t i = row + static_cast<int64_t>(k) * p.depth + r;
        if (i >= a.rows) break;
        const int letter = a.query[i];
        if (place[letter] < 0) {
          place[letter] = next++;
          p.mask[place[letter]] = Words{};
          p.slot[place[letter]] = static_cast<uint8_t>(p.slots.of(letter));
        }
        p.mask[place[letter]][k / 8] |= uint64_t(255) << (k % 8 * 8);
      }
      p.first[r + 1] = next;
    }
    if (row == 0) {
      p.u[0][0] = static_cast<uint8_t>(-a.open_extra);
      p.x[0][0] = static_cast<uint8_t>(-2 * a.open_extra);
    }
  }

  // [first, a[0], ..., a[last-1]]
  static inline Bytes shift_up(Bytes a, uint8_t first) {
    alignas(64) uint8_t moved[kVectorBytes + 1];
    memcpy(moved + 1, &a, sizeof a);
    moved[0] = first;
    Bytes out;
    memcpy(&out, moved, sizeof out);
    return out;
  }

  // Runs all columns. `last` is the offset of the query's last row in this pass, or -1; returns the sum of v along that row.
  template <bool kGrid>
  static int64_t sweep(Pass& p, const WavefrontArgs& a, const uint8_t* table, int64_t groups, uint8_t* bound_v, uint8_t* bound_y,
                       int64_t last, const Edges& edges) {
    const Bytes o = broadcast<uint8_t>(static_cast<uint8_t>(a.open_extra));
    const int last_lane = last < 0 ? -1 : static_cast<int>(last / p.depth);
    const int last_row = last < 0 ? p.depth - 1 : static_cast<int>(last % p.depth);
    int64_t sum = 0;
    Bytes v[kColumns], y[kColumns];
    Words scores[kLetters][kColumns];
    for (int c = 0; c < kColumns; c++) {
      v[c] = Bytes{};
      y[c] = Bytes{} - o;
    }
    // Later steps only move lanes below the last row.
    const int64_t steps = groups + (last < 0 ? kLanes - 1 : last_lane);
    for (int64_t t = 0; t < steps; t++) {
      const bool entering = t < groups;
      for (int c = 0; c < kColumns; c++) {
        v[c] = shift_up(v[c], entering ? bound_v[t * kColumns + c] : 0);
        y[c] = shift_up(y[c], entering ? bound_y[t * kColumns + c] : static_cast<uint8_t>(-a.open_extra));
        Bytes codes;
        memcpy(&codes, a.target + c * a.plane_bytes + (groups - 1 - t), sizeof codes);
        for (int l = 0; l < p.slots.count; l++) {
          const uint8_t* row = table + p.slots.letters[l] * kLetters;
          scores[l][c] = (Words)(a.letters <= 16 ? look_up_16(row, codes) : look_up_32(row, codes));
        }
      }
      if constexpr (kGrid) keep_columns(p, a, edges, t, groups);
      rows(p, scores, 0, last_row + 1, v, y, o);
      const int64_t g = t - last_lane;
      if constexpr (kGrid)
        if (last >= 0 && g >= 0 && g < groups) keep_row(edges, edges.first_tile + last_lane / edges.tile_lanes, g, groups, v, y, last_lane);
      if (last >= 0 && g >= 0 && g < groups)
        for (int c = 0; c < kColumns && g * kColumns + c < a.columns; c++) sum += step_of<kAffine>(static_cast<uint8_t>(v[c][last_lane]));
      if (last >= 0) rows(p, scores, last_row + 1, p.depth, v, y, o);
      if constexpr (kGrid)
        for (int64_t k = edges.tile_lanes - 1, tile = edges.first_tile;; k += edges.tile_lanes, tile++) {
          const int64_t lane = k < kLanes - 1 ? k : kLanes - 1;
          if (last >= 0 && lane >= last_lane) break;  // the last row's edge is kept above
          if (t - lane >= 0 && t - lane < groups) keep_row(edges, tile, t - lane, groups, v, y, static_cast<int>(lane));
          if (lane == kLanes - 1) break;
        }
      const int64_t done = t - (kLanes - 1);
      if (last < 0 && done >= 0)
        for (int c = 0; c < kColumns; c++) {
          bound_v[done * kColumns + c] = v[c][kLanes - 1];
          bound_y[done * kColumns + c] = y[c][kLanes - 1];
        }
      if ((t & 1023) == 0 && a.cancel->requested) return -1;
    }
    return sum;
  }

  static inline void rows(Pass& p, const Words (*scores)[kColumns], int from, int to, Bytes* v_io, Bytes* y_io, Bytes o) {
    // Four columns written out: GCC keeps arrays in memory across the loop over letters, which halves the rate.
    static_assert(kColumns == 4);
    Bytes v0 = v_io[0], v1 = v_io[1], v2 = v_io[2], v3 = v_io[3], y0 = y_io[0], y1 = y_io[1], y2 = y_io[2], y3 = y_io[3];
    for (int r = from; r < to; r++) {
      Words s0{}, s1{}, s2{}, s3{};
      for (int k = p.first[r]; k < p.first[r + 1]; k++) {
        const Words mask = p.mask[k];
        const Words* letter = scores[p.slot[k]];
        s0 = or_and(s0, mask, letter[0]);
        s1 = or_and(s1, mask, letter[1]);
        s2 = or_and(s2, mask, letter[2]);
        s3 = or_and(s3, mask, letter[3]);
      }
      Bytes u = p.u[r], x = kAffine ? p.x[r] : Bytes{};
      Cell::cell((Bytes)s0, u, x, v0, y0, o);
      Cell::cell((Bytes)s1, u, x, v1, y1, o);
      Cell::cell((Bytes)s2, u, x, v2, y2, o);
      Cell::cell((Bytes)s3, u, x, v3, y3, o);
      p.u[r] = u;
      if (kAffine) p.x[r] = x;
    }
    v_io[0] = v0, v_io[1] = v1, v_io[2] = v2, v_io[3] = v3;
    y_io[0] = y0, y_io[1] = y1, y_io[2] = y2, y_io[3] = y3;
  }
};

static int64_t wavefront(const WavefrontArgs& a) {
  return a.open_extra == 0 ? WavefrontKernel<false>::run(a) : WavefrontKernel<true>::run(a);
}

static void wavefront_grid(const WavefrontArgs& a, const WavefrontGrid& grid) {
  a.open_extra == 0 ? WavefrontKernel<false>::run<true>(a, &grid) : WavefrontKernel<true>::run<true>(a, &grid);
}

}  // namespace gpualign::GPUALIGN_ISA
