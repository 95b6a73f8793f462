// Global alignment score of one pair, in bytes: the difference recurrence with strips of query rows in the vector lanes.
//
// Glossary
//   cell         recurrence, bounds and constants of difference.hpp: u, x come from the left neighbour, v, y from the upper one
//   group        kColumnsAtATime consecutive columns of the target; the unit in which lanes advance
//   pass         lanes * depth query rows that are computed together, over all columns
//   strip        rows of one lane in a pass: lane k has rows first_row + k * depth + r, r = 0 .. depth-1
//   step t       lane k computes group t - k of its strip, so each lane runs one group behind the lane above it
//   boundary     v, y of the last row computed, for every column. Before a pass it belongs to the last row of the previous pass (row 0
//                of the matrix before the first pass), after it to the last row of this one
//   grid         matrix cut into tiles, whose upper and left edges are kept for a traceback (grid.hpp)
//
// State by its time. Before step t, in lane k, u[r], x[r] belong to the last column of group t - k - 1, and v, y to the last row of strip k
// in that group. A step begins by shifting v, y up by one lane: now lane k has those of strip k - 1 in group t - k, which the lane above
// has computed in step t - 1, and lane 0 those of the boundary. After the step, u, x belong to the last column of group t - k, and v, y to
// the last row of strip k in group t - k. One shift per step serves `depth` rows, so it may go through memory.
//
// Invariant: at the beginning of step t, every cell of strips 0 .. k-1 in groups up to t - k has been computed, for each lane k. So all
// inputs of lane k's cells exist: the left ones are its own from step t - 1, the upper ones were made by lane k - 1 in step t - 1.
//   No lane needs a mask. A lane that has not started sees padding letters, for which s'' = 0, and the flat state u = v = 0, x = y = -o. A
// cell maps this state to itself: z = 0, u = v = 0, x = y = -o. What lanes compute after the last column or below the last row is not used,
// and no used cell depends on it.
//   The group that leaves the last lane in step t is t - (lanes - 1). Its boundary was read in this step or an earlier one, so it can be
// overwritten for the next pass.
//
// Scores. Each lane has a query letter of its own in a row, so scores are looked up once for every letter of the pass and column (as in
// difference.hpp). A row then picks them by masks, one operation for each letter that occurs in the row: four for most DNA.
#pragma once
#include "difference.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int kWavefrontDepth = 48;  // rows per lane, at most: state and masks of a pass then fit L2 with 27 letters

template <bool kAffine>
struct WavefrontKernel {
  using Cell = DifferenceKernel<uint8_t, kAffine>;
  static constexpr int kLanes = kVectorBytes;
  static constexpr int kColumns = kColumnsAtATime;

  // The rows of a pass. Vectors have one element per lane.
  struct Pass {
    Bytes u[kWavefrontDepth], x[kWavefrontDepth];  // of the last column computed
    // Row r has the entries first[r] .. first[r+1]-1, one per letter: the lanes with this letter, and its slot. They are stored back to
    // back, since rows at a fixed distance of 2 KiB would share few sets of the L1 cache.
    Words mask[kWavefrontDepth * kLetters];
    uint8_t slot[kWavefrontDepth * kLetters];
    int first[kWavefrontDepth + 1];
    LetterSlots slots;  // for the letters of the pass
    int depth;
  };

  // Returns the sum of v along the last row, -1 if cancelled.
  static int64_t run(const WavefrontArgs& a) { return run<false>(a, nullptr); }

  // Does the same. With a grid it also stores the edges of its tiles, and takes the steps of row 0 and column 0 from it.
  template <bool kGrid>
  static int64_t run(const WavefrontArgs& a, const WavefrontGrid* grid) {
    const int64_t groups = (a.columns + kColumns - 1) / kColumns;
    alignas(64) uint8_t table[kLetters * kLetters];
    for (int i = 0; i < kLetters * kLetters; i++) table[i] = static_cast<uint8_t>(a.table[i]);
    uint8_t* boundary_v = a.boundary;
    uint8_t* boundary_y = boundary_v + groups * kColumns;
    const uint8_t o = static_cast<uint8_t>(a.open_extra);
    const uint8_t first_v = kGrid ? static_cast<uint8_t>(grid->first_v) : static_cast<uint8_t>(-o);
    const uint8_t later_v = kGrid ? static_cast<uint8_t>(grid->later_v) : 0;
    memset(boundary_v, later_v, static_cast<size_t>(groups * kColumns));
    memset(boundary_y, static_cast<uint8_t>(later_v - o), static_cast<size_t>(groups * kColumns));
    boundary_v[0] = first_v;
    boundary_y[0] = static_cast<uint8_t>(first_v - o);
    Edges edges{};
    if constexpr (kGrid) {
      memcpy(grid->row_v, boundary_v, static_cast<size_t>(groups * kColumns));
      memcpy(grid->row_y, boundary_y, static_cast<size_t>(groups * kColumns));
      edges = {grid, 1, 0, 0};
    }
    Pass& pass = *static_cast<Pass*>(a.scratch);
    for (int64_t first_row = 0;;) {
      if (a.cancel->requested) return -1;
      const int64_t remaining = a.rows - first_row;
      const WavefrontPass plan = wavefront_pass(remaining, kLanes, kWavefrontDepth, kGrid ? grid->tile_rows : 0);
      pass.depth = static_cast<int>(plan.depth);
      load(pass, a, first_row);
      edges.first_row = first_row;
      edges.tile_lanes = plan.tile_lanes;
      const int64_t covered = static_cast<int64_t>(pass.depth) * kLanes;
      const int64_t sum = sweep<kGrid>(pass, a, table, groups, boundary_v, boundary_y, remaining <= covered ? remaining - 1 : -1, edges);
      if (remaining <= covered) return sum;
      first_row += covered;
      edges.first_tile += (kLanes + plan.tile_lanes - 1) / plan.tile_lanes;
    }
  }

 private:
  // Positions of the tile edges in a pass.
  struct Edges {
    const WavefrontGrid* grid;
    int64_t first_tile;  // row of tiles below the first horizontal edge in this pass
    int64_t first_row;   // of the pass
    int64_t tile_lanes;  // lanes that cover the rows of a tile
  };

  // Before step t: sets u, x of the lane that begins its first group to those of column 0, and stores u, x of every lane whose group
  // begins at the left edge of a tile.
  static void store_left_edges(Pass& p, const WavefrontArgs& a, const Edges& e, int64_t t, int64_t groups) {
    if (t < kLanes)
      for (int r = 0; r < p.depth; r++) {
        p.u[r][t] = static_cast<uint8_t>(e.first_row + t + r ? e.grid->later_u : e.grid->first_u);
        if (kAffine) p.x[r][t] = static_cast<uint8_t>(p.u[r][t] - a.open_extra);
      }
    const int64_t tile_groups = e.grid->tile_columns / kColumns;
    for (int64_t k = t % tile_groups; k < kLanes; k += tile_groups) {
      const int64_t group = t - k, first = e.first_row + k * p.depth;
      if (group < 0 || group >= groups) continue;
      const int64_t offset = group / tile_groups * a.rows + first;
      for (int r = 0; r < p.depth && first + r < a.rows; r++) {
        e.grid->column_u[offset + r] = p.u[r][k];
        if (kAffine) e.grid->column_x[offset + r] = p.x[r][k];
      }
    }
  }

  // Stores v, y of a lane's last row in `group`, which is the upper edge of the tiles in row `tile`.
  static void store_lower_edge(const Edges& e, int64_t tile, int64_t group, int64_t groups, const Bytes* v, const Bytes* y, int lane) {
    const int64_t offset = (tile * groups + group) * kColumns;
    for (int c = 0; c < kColumns; c++) {
      e.grid->row_v[offset + c] = v[c][lane];
      if (kAffine) e.grid->row_y[offset + c] = y[c][lane];
    }
  }

  // Fills the masks and slots of a pass, and sets u, x to column 0: H'(1,0) - H'(0,0) = -o, and later steps 0.
  static void load(Pass& p, const WavefrontArgs& a, int64_t first_row) {
    p.slots.clear();
    p.first[0] = 0;
    const Bytes o = broadcast<uint8_t>(static_cast<uint8_t>(a.open_extra));
    for (int r = 0; r < p.depth; r++) {
      p.u[r] = Bytes{};
      p.x[r] = Bytes{} - o;
      int next = p.first[r], entry[kLetters];
      for (int l = 0; l < kLetters; l++) entry[l] = -1;
      for (int k = 0; k < kLanes; k++) {
        const int64_t i = first_row + static_cast<int64_t>(k) * p.depth + r;
        if (i >= a.rows) break;
        const int letter = a.query[i];
        if (entry[letter] < 0) {
          entry[letter] = next++;
          p.mask[entry[letter]] = Words{};
          p.slot[entry[letter]] = static_cast<uint8_t>(p.slots.of(letter));
        }
        p.mask[entry[letter]][k / 8] |= uint64_t(255) << (k % 8 * 8);
      }
      p.first[r + 1] = next;
    }
    if (first_row == 0) {
      p.u[0][0] = static_cast<uint8_t>(-a.open_extra);
      p.x[0][0] = static_cast<uint8_t>(-2 * a.open_extra);
    }
  }

  // Returns [first, a[0], ..., a[kLanes-2]].
  static inline Bytes shift_up(Bytes a, uint8_t first) {
    alignas(64) uint8_t shifted[kVectorBytes + 1];
    memcpy(shifted + 1, &a, sizeof a);
    shifted[0] = first;
    Bytes out;
    memcpy(&out, shifted, sizeof out);
    return out;
  }

  // Computes all columns of a pass. last: offset of the query's last row in this pass, -1 if it comes later. Returns the sum of v along
  // that row (0 without it), or -1 if cancelled.
  template <bool kGrid>
  static int64_t sweep(Pass& p, const WavefrontArgs& a, const uint8_t* table, int64_t groups, uint8_t* boundary_v, uint8_t* boundary_y,
                       int64_t last, const Edges& edges) {
    const Bytes o = broadcast<uint8_t>(static_cast<uint8_t>(a.open_extra));
    const int last_lane = last < 0 ? -1 : static_cast<int>(last / p.depth);
    const int last_r = last < 0 ? p.depth - 1 : static_cast<int>(last % p.depth);
    int64_t sum = 0;
    Bytes v[kColumns], y[kColumns];
    Words scores[kLetters][kColumns];
    for (int c = 0; c < kColumns; c++) {
      v[c] = Bytes{};
      y[c] = Bytes{} - o;
    }
    // Further steps would only compute rows below the last one.
    const int64_t steps = groups + (last < 0 ? kLanes - 1 : last_lane);
    for (int64_t t = 0; t < steps; t++) {
      const bool lane_0_active = t < groups;
      for (int c = 0; c < kColumns; c++) {
        v[c] = shift_up(v[c], lane_0_active ? boundary_v[t * kColumns + c] : 0);
        y[c] = shift_up(y[c], lane_0_active ? boundary_y[t * kColumns + c] : static_cast<uint8_t>(-a.open_extra));
        Bytes codes;
        memcpy(&codes, a.target + c * a.plane_bytes + (groups - 1 - t), sizeof codes);
        for (int l = 0; l < p.slots.count; l++) {
          const uint8_t* letter_scores = table + p.slots.letters[l] * kLetters;
          scores[l][c] = (Words)(a.letters <= 16 ? look_up_16(letter_scores, codes) : look_up_32(letter_scores, codes));
        }
      }
      if constexpr (kGrid) store_left_edges(p, a, edges, t, groups);
      compute_rows(p, scores, 0, last_r + 1, v, y, o);
      // v, y are now those of the query's last row, in the lane that has it.
      const int64_t last_group = t - last_lane;
      if constexpr (kGrid)
        if (last >= 0 && last_group >= 0 && last_group < groups)
          store_lower_edge(edges, edges.first_tile + last_lane / edges.tile_lanes, last_group, groups, v, y, last_lane);
      if (last >= 0 && last_group >= 0 && last_group < groups)
        for (int c = 0; c < kColumns && last_group * kColumns + c < a.columns; c++)
          sum += step_of<kAffine>(static_cast<uint8_t>(v[c][last_lane]));
      if (last >= 0) compute_rows(p, scores, last_r + 1, p.depth, v, y, o);
      if constexpr (kGrid)
        for (int64_t k = edges.tile_lanes - 1, tile = edges.first_tile;; k += edges.tile_lanes, tile++) {
          const int64_t lane = k < kLanes - 1 ? k : kLanes - 1;
          if (last >= 0 && lane >= last_lane) break;  // the edge of the last row has been stored above
          if (t - lane >= 0 && t - lane < groups) store_lower_edge(edges, tile, t - lane, groups, v, y, static_cast<int>(lane));
          if (lane == kLanes - 1) break;
        }
      const int64_t finished = t - (kLanes - 1);  // group that has left the last lane
      if (last < 0 && finished >= 0)
        for (int c = 0; c < kColumns; c++) {
          boundary_v[finished * kColumns + c] = v[c][kLanes - 1];
          boundary_y[finished * kColumns + c] = y[c][kLanes - 1];
        }
      if ((t & 1023) == 0 && a.cancel->requested) return -1;
    }
    return sum;
  }

  // Computes the rows from .. to-1 of every strip for one group. v_io, y_io: of the row above in, of the last row out.
  static inline void compute_rows(Pass& p, const Words (*scores)[kColumns], int from, int to, Bytes* v_io, Bytes* y_io, Bytes o) {
    // The four columns are written out, because GCC keeps arrays in memory across the loop over letters, which halves the speed.
    static_assert(kColumns == 4);
    Bytes v0 = v_io[0], v1 = v_io[1], v2 = v_io[2], v3 = v_io[3], y0 = y_io[0], y1 = y_io[1], y2 = y_io[2], y3 = y_io[3];
    for (int r = from; r < to; r++) {
      Words s0{}, s1{}, s2{}, s3{};
      for (int e = p.first[r]; e < p.first[r + 1]; e++) {
        const Words mask = p.mask[e];
        const Words* letter = scores[p.slot[e]];
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

// Returns the sum of v along the last row, -1 if cancelled.
static int64_t wavefront(const WavefrontArgs& a) {
  return a.open_extra == 0 ? WavefrontKernel<false>::run(a) : WavefrontKernel<true>::run(a);
}

// Stores the edges of the tiles of `grid`.
static void wavefront_grid(const WavefrontArgs& a, const WavefrontGrid& grid) {
  a.open_extra == 0 ? WavefrontKernel<false>::run<true>(a, &grid) : WavefrontKernel<true>::run<true>(a, &grid);
}

}  // namespace gpualign::GPUALIGN_ISA
