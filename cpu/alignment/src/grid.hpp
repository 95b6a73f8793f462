// The difference recurrence with what a traceback needs: checkpoints on the way forward, directions of one tile on the way back.
//
// Recurrence, bounds and constants are those of difference.hpp. The matrix of a block of lanes is cut into tiles of kRows rows by
// tile_columns columns. The forward pass keeps v, y on the upper edge of every tile and u, x on its left edge; from these a tile
// is computed again when a path comes to it, this time with the directions of each cell (traceback in path.hpp):
//   kDiagonal   s'' = z                      kUp      y = z, with linear gaps v = z        (a letter of the query against a gap)
//   kExtendLeft the gap that enters the right neighbour is longer than one: x > z - o
//   kExtendUp   likewise for the lower neighbour: y > z - o
// Directions are packed: 4 bits a cell, 2 rows an element; 2 bits and 4 rows for linear gaps, which know the first two only.
//
// Free end gaps only change the first row and column: H(i,0) = 0 makes every step of H' there e. A step then is at
// most max(S + o, e): H'(i,j) - H'(i,j-1) is one of the first row or at most S, or o more where a gap closes.
#pragma once
#include "difference.hpp"

namespace gpualign::GPUALIGN_ISA {

// As core/alignment/src/walk.hpp has them, which a variant may not include.
constexpr int kDiagonal = 1, kUp = 2, kExtendLeft = 4, kExtendUp = 8;

template <class E, bool kAffine>
struct GridKernel {
  using V = Vec<E>;
  using Plain = DifferenceKernel<E, kAffine>;
  static constexpr int kLanes = lanes_of<E>();
  static constexpr int kColumns = kColumnsAtATime;
  static constexpr int kPacked = kAffine ? 2 : 4;  // rows an element of directions holds
  static_assert(kRows == kGridRows);

  // One strip's rows: the differences that enter the next column, and where each row's scores are.
  struct Strip {
    V u[kRows], x[kRows];
    uint32_t slot[kRows];
    LetterSlots slots;
    int rows;
  };

  static void load(Strip& s, const GridArgs& a, int64_t row) {
    s.slots.clear();
    s.rows = a.rows - row < kRows ? static_cast<int>(a.rows - row) : kRows;
    // Rows are computed in groups of kPacked; those below the query repeat its first letter and are not used.
    for (int r = 0; r < kRows; r++) {
      const int letter = a.query[r < s.rows ? row + r : row];
      s.slot[r] = static_cast<uint32_t>(s.slots.of(letter) * kColumns * sizeof(V));
    }
  }

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
      int64_t next_end = 0;  // of the lanes in order of length
      for (int64_t j = 0; j < a.columns; j += kColumns) {
        if (j % a.tile_columns == 0) keep(a, s, row, j / a.tile_columns);
        const bool ends = a.end_lanes && next_end < kLanes && a.lengths[a.end_lanes[next_end]] <= j + kColumns;
        if (!ends) {
          columns<kColumns>(a, table8, s, j, v, y);
          continue;
        }
        for (int c = 0; c < kColumns; c++) {
          columns<1>(a, table8, s, j + c, v, y);
          for (; next_end < kLanes && a.lengths[a.end_lanes[next_end]] <= j + c + 1; next_end++)
            if (a.lengths[a.end_lanes[next_end]] == j + c + 1) look_for_end(a, s, row, static_cast<int>(a.end_lanes[next_end]));
        }
      }
    }
  }

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

  static void keep(const GridArgs& a, const Strip& s, int64_t row, int64_t tile) {
    V* u = static_cast<V*>(a.column_u) + tile * a.rows + row;
    memcpy(u, s.u, sizeof(V) * static_cast<size_t>(s.rows));
    if (kAffine) memcpy(static_cast<V*>(a.column_x) + tile * a.rows + row, s.x, sizeof(V) * static_cast<size_t>(s.rows));
  }

  // H' along the lane's last column, of which the largest is wanted, the lowest row where several are.
  static void look_for_end(const GridArgs& a, const Strip& s, int64_t row, int lane) {
    GridEnd& end = a.ends[lane];
    for (int r = 0; r < s.rows; r++) {
      // H'(i,n) grows by u; H is smaller by e a row, which is taken off at once.
      end.sum += step_of<kAffine>(reinterpret_cast<const E*>(&s.u[r])[lane]) - a.extend;
      if (end.sum >= end.best) {
        end.best = end.sum;
        end.row = row + r + 1;
      }
    }
  }

  // ---- one tile again, with directions
  static void tile(const GridArgs& a, int64_t row, int64_t column, int64_t count, void* directions) {
    alignas(64) uint8_t table8[kLetters * kLetters];
    narrow(a, table8);
    const V o = broadcast<E>(static_cast<E>(a.open_extra));
    Strip strip;
    load(strip, a, row);
    const int64_t at = column / a.tile_columns * a.rows + row;
    for (int r = 0; r < kRows; r++) {
      strip.u[r] = r < strip.rows ? static_cast<const V*>(a.column_u)[at + r] : V{};
      if (kAffine) strip.x[r] = r < strip.rows ? static_cast<const V*>(a.column_x)[at + r] : V{};
    }
    const V* above_v = static_cast<const V*>(a.row_v) + row / kRows * a.columns + column;
    const V* above_y = static_cast<const V*>(a.row_y) + row / kRows * a.columns + column;
    V* out = static_cast<V*>(directions);
    constexpr int kElements = kRows / kPacked;
    V scores[kLetters][kColumns];
    constexpr int N = 2;  // columns side by side: directions take registers too
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

  static inline __attribute__((always_inline)) V cell(V s, V& u, V& x, V& v, V& y, V o, int shift) {
    const V across = x, down = kAffine ? y : v, left = u;
    Plain::cell(s, u, x, v, y, o);
    const V z = v + left;  // the cell made v = z - u
    V out = (V)(s == z) & broadcast<E>(static_cast<E>(kDiagonal << shift));
    out |= (V)(down == z) & broadcast<E>(static_cast<E>(kUp << shift));
    if constexpr (kAffine) {
      const Signed<E> opened = (Signed<E>)(z - o);
      out |= (V)((Signed<E>)across > opened) & broadcast<E>(static_cast<E>(kExtendLeft << shift));
      out |= (V)((Signed<E>)down > opened) & broadcast<E>(static_cast<E>(kExtendUp << shift));
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
