// The difference recurrence for tracebacks: checkpoints on the way forward, directions of one tile on the way back.
//
// Recurrence, bounds and constants are those of difference.hpp. The matrix of a block of lanes is cut into tiles of kRows rows by
// tile_columns columns. The forward pass stores v, y on the upper edge of every tile and u, x on its left edge. When a path reaches a
// tile, it is computed again from these, this time with the directions of each cell (traceback in path.hpp):
//   kDiagonal    s'' = z                     kUp      y = z, with linear gaps v = z        (a letter of the query against a gap)
//   kExtendLeft  x > z - o: the gap that enters the right neighbour is longer than one letter
//   kExtendUp    y > z - o: the same for the lower neighbour
// Directions are packed: 4 bits per cell and 2 rows per element, or 2 bits and 4 rows with linear gaps, which have only the first two.
//
// Free end gaps only change row 0 and column 0: H(i,0) = 0 makes every step of H' there e. Steps then are at most max(S + o, e):
// H'(i,j) - H'(i,j-1) is one of row 0, or at most S, or o more where a gap closes.
#pragma once
#include "difference.hpp"

namespace gpualign::GPUALIGN_ISA {

// The same values as in core/alignment/src/walk.hpp, which a variant must not include.
constexpr int kDiagonal = 1, kUp = 2, kExtendLeft = 4, kExtendUp = 8;

template <class E, bool kAffine>
struct GridKernel {
  using V = Vec<E>;
  using Plain = DifferenceKernel<E, kAffine>;
  static constexpr int kLanes = lanes_of<E>();
  static constexpr int kColumns = kColumnsAtATime;
  static constexpr int kPacked = kAffine ? 2 : 4;  // rows per element of directions
  static_assert(kRows == kGridRows);

  // The rows of a strip. u, x: of the last column computed. slot: byte offset of the row's letter in the looked-up scores.
  struct Strip {
    V u[kRows], x[kRows];
    uint32_t slot[kRows];
    LetterSlots slots;
    int rows;
  };

  // Sets the letters of the strip that begins at `row`.
  static void load(Strip& s, const GridArgs& a, int64_t row) {
    s.slots.clear();
    s.rows = a.rows - row < kRows ? static_cast<int>(a.rows - row) : kRows;
    // Rows are computed in groups of kPacked; rows below the query repeat the first letter of the strip and are not used.
    for (int r = 0; r < kRows; r++) {
      const int letter = a.query[r < s.rows ? row + r : row];
      s.slot[r] = static_cast<uint32_t>(s.slots.of(letter) * kColumns * sizeof(V));
    }
  }

  // Looks up the scores of all letters of a strip in N columns.
  template <int N>
  static inline void look_up(const GridArgs& a, const uint8_t* table8, const Strip& s, int64_t j, V (*scores)[kColumns]) {
    for (int c = 0; c < N; c++) {
      const uint8_t* codes = a.codes + (j + c) * kLanes;
      for (int l = 0; l < s.slots.count; l++) scores[l][c] = ScoreLookup<E>::of(a, table8, codes, s.slots.letters[l]);
    }
  }
  static void narrow(const GridArgs& a, uint8_t* table8) {
    for (int i = 0; i < kLetters * kLetters; i++) table8[i] = static_cast<uint8_t>(a.table[i]);
  }

  // ---- forward
  // Computes all strips and stores the edges of the tiles, and the best end in the last column if there are end_lanes.
  static void forward(const GridArgs& a) {
    alignas(64) uint8_t table8[kLetters * kLetters];
    narrow(a, table8);
    V* v = static_cast<V*>(a.row_v);
    V* y = static_cast<V*>(a.row_y);
    const V o = broadcast<E>(static_cast<E>(a.open_extra));
    for (int64_t j = 0; j < a.columns; j++) {
      v[j] = broadcast<E>(static_cast<E>(j ? a.later_v : a.first_v));
      if (kAffine) y[j] = v[j] - o;
    }
    Strip s;
    for (int64_t row = 0; row < a.rows; row += kRows, v += a.columns, y += a.columns) {
      if (a.cancel->requested) return;
      load(s, a, row);
      for (int r = 0; r < s.rows; r++) {
        s.u[r] = broadcast<E>(static_cast<E>(row + r ? a.later_u : a.first_u));
        if (kAffine) s.x[r] = s.u[r] - o;
      }
      int64_t next_end = 0;  // index in end_lanes
      for (int64_t j = 0; j < a.columns; j += kColumns) {
        if (j % a.tile_columns == 0) store_left_edge(a, s, row, j / a.tile_columns);
        const bool ends = a.end_lanes && next_end < kLanes && a.lengths[a.end_lanes[next_end]] <= j + kColumns;
        if (!ends) {
          columns<kColumns>(a, table8, s, j, v, y);
          continue;
        }
        for (int c = 0; c < kColumns; c++) {
          columns<1>(a, table8, s, j + c, v, y);
          for (; next_end < kLanes && a.lengths[a.end_lanes[next_end]] <= j + c + 1; next_end++)
            if (a.lengths[a.end_lanes[next_end]] == j + c + 1) update_end(a, s, row, static_cast<int>(a.end_lanes[next_end]));
        }
      }
    }
  }

  // Computes N columns of a strip. above_v, above_y: row of the edge above; the row below it is written.
  template <int N>
  static inline void columns(const GridArgs& a, const uint8_t* table8, Strip& strip, int64_t j, const V* above_v, const V* above_y) {
    const V o = broadcast<E>(static_cast<E>(a.open_extra));
    V scores[kLetters][kColumns];
    look_up<N>(a, table8, strip, j, scores);
    V v[N], y[N];
    for (int c = 0; c < N; c++) {
      v[c] = above_v[j + c];
      y[c] = kAffine ? above_y[j + c] : V{};
    }
    for (int r = 0; r < strip.rows; r++) {
      const V* s = reinterpret_cast<const V*>(reinterpret_cast<const char*>(scores) + strip.slot[r]);
      V u = strip.u[r], x = kAffine ? strip.x[r] : V{};
#pragma GCC unroll 8
      for (int c = 0; c < N; c++) Plain::cell(s[c], u, x, v[c], y[c], o);
      strip.u[r] = u;
      if (kAffine) strip.x[r] = x;
    }
    V* below_v = const_cast<V*>(above_v) + a.columns;
    V* below_y = const_cast<V*>(above_y) + a.columns;
    for (int c = 0; c < N; c++) {
      below_v[j + c] = v[c];
      if (kAffine) below_y[j + c] = y[c];
    }
  }

  // Stores u, x on the left edge of a tile.
  static void store_left_edge(const GridArgs& a, const Strip& s, int64_t row, int64_t tile) {
    V* u = static_cast<V*>(a.column_u) + tile * a.rows + row;
    memcpy(u, s.u, sizeof(V) * static_cast<size_t>(s.rows));
    if (kAffine) memcpy(static_cast<V*>(a.column_x) + tile * a.rows + row, s.x, sizeof(V) * static_cast<size_t>(s.rows));
  }

  // Follows H along the last column of a lane, and keeps the largest value, on ties that of the lowest row.
  static void update_end(const GridArgs& a, const Strip& s, int64_t row, int lane) {
    GridEnd& end = a.ends[lane];
    for (int r = 0; r < s.rows; r++) {
      // H' changes by u, so H by u - e.
      end.sum += step_of<kAffine>(reinterpret_cast<const E*>(&s.u[r])[lane]) - a.extend;
      if (end.sum >= end.best) {
        end.best = end.sum;
        end.row = row + r + 1;
      }
    }
  }

  // ---- one tile again, with directions
  // Computes `count` columns of the strip at `row` from the edges of the tile that begins at `column`.
  static void tile(const GridArgs& a, int64_t row, int64_t column, int64_t count, void* directions) {
    alignas(64) uint8_t table8[kLetters * kLetters];
    narrow(a, table8);
    const V o = broadcast<E>(static_cast<E>(a.open_extra));
    Strip strip;
    load(strip, a, row);
    const int64_t edge = column / a.tile_columns * a.rows + row;
    for (int r = 0; r < kRows; r++) {
      strip.u[r] = r < strip.rows ? static_cast<const V*>(a.column_u)[edge + r] : V{};
      if (kAffine) strip.x[r] = r < strip.rows ? static_cast<const V*>(a.column_x)[edge + r] : V{};
    }
    const V* above_v = static_cast<const V*>(a.row_v) + row / kRows * a.columns + column;
    const V* above_y = static_cast<const V*>(a.row_y) + row / kRows * a.columns + column;
    V* out = static_cast<V*>(directions);
    constexpr int kElements = kRows / kPacked;
    V scores[kLetters][kColumns];
    constexpr int N = 2;  // columns that advance together; directions also take registers
    for (int64_t j = 0; j < count; j += N, out += N * kElements) {
      look_up<N>(a, table8, strip, column + j, scores);
      V v[N], y[N];
      for (int c = 0; c < N; c++) {
        v[c] = above_v[j + c];
        y[c] = kAffine ? above_y[j + c] : V{};
      }
      for (int r = 0; r < strip.rows; r += kPacked) {
        V packed[N];
        for (int c = 0; c < N; c++) packed[c] = V{};
#pragma GCC unroll 4
        for (int p = 0; p < kPacked; p++) {
          const V* s = reinterpret_cast<const V*>(reinterpret_cast<const char*>(scores) + strip.slot[r + p]);
          V u = strip.u[r + p], x = kAffine ? strip.x[r + p] : V{};
#pragma GCC unroll 4
          for (int c = 0; c < N; c++) packed[c] |= cell(s[c], u, x, v[c], y[c], o, p * (8 / kPacked));
          strip.u[r + p] = u;
          if (kAffine) strip.x[r + p] = x;
        }
        for (int c = 0; c < N; c++) out[c * kElements + r / kPacked] = packed[c];
      }
    }
  }

  // Computes one cell like DifferenceKernel::cell. Returns its directions, shifted left by `shift` bits.
  static inline __attribute__((always_inline)) V cell(V s, V& u, V& x, V& v, V& y, V o, int shift) {
    const V left_x = x, upper_y = kAffine ? y : v, left_u = u;
    Plain::cell(s, u, x, v, y, o);
    const V z = v + left_u;  // as the cell set v = z - left_u
    const auto flag = [=](int direction) { return static_cast<E>(direction << shift); };
    V out = add_where_equal<E>(V{}, s, z, flag(kDiagonal));
    out = add_where_equal<E>(out, upper_y, z, flag(kUp));
    if constexpr (kAffine) {
      out = add_where_greater<E>(out, left_x, z - o, flag(kExtendLeft));
      out = add_where_greater<E>(out, upper_y, z - o, flag(kExtendUp));
    }
    return out;
  }
};

template <class E>
static void grid_forward(const GridArgs& a) {
  a.open_extra == 0 ? GridKernel<E, false>::forward(a) : GridKernel<E, true>::forward(a);
}

template <class E>
static void grid_tile(const GridArgs& a, int64_t row, int64_t column, int64_t count, void* directions) {
  a.open_extra == 0 ? GridKernel<E, false>::tile(a, row, column, count, directions)
                    : GridKernel<E, true>::tile(a, row, column, count, directions);
}

}  // namespace gpualign::GPUALIGN_ISA
