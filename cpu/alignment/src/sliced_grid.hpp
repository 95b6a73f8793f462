// Bit-sliced edit distance with what a traceback needs: checkpoints on the way forward, directions of one tile on the way back.
//
// Forward, the recurrence and planes are those of bitsliced.hpp with S = 2, X = 1. The matrix of a block is cut into tiles of
// kWordRows x kWordRows cells. Kept are the planes of v above every tile and of u on its left. In terms of D, the distance itself:
//   D(i,j) - D(i-1,j) = 1 - u     u = 0: + 1, plane 0 of u     u = 2: - 1, the complement of plane 1; u's planes are complements
//   D(i,j) - D(i,j-1) = 1 - v     v = 0: + 1, the complement of plane 0 of v          v = 2: - 1, plane 1
//
// Backward, a tile is computed again for the lanes whose path comes to it. Its edges are transposed, so that a lane's 64 bits of an edge
// lie in one word, and a pair goes on by itself with 64 rows in a word (Myers 1999 in the form of Hyyro 2003), as many pairs side
// by side as a vector has words. For a column with letters equal E, steps down P and M of the column before, steps across h on top:
//   D0 = (((X & P) + P) ^ P) | X | M,  X = E | [h = -1]       rows where D(i,j) = D(i-1,j-1)
//   H+ = M | ~(D0 | P)     H- = P & D0                        steps across; moved up a row, h at the bottom
//   P' = H- | ~(D0 | H+)   M' = H+ & D0                       steps down of this column
// A best predecessor is the diagonal one where E | ~D0, the upper one where P'. Rows below the query come last in a word; no bit of
// the rows above depends on them.
#pragma once
#include "bitsliced.hpp"

namespace gpualign::GPUALIGN_ISA {

struct SlicedGrid {
  using Kernel = BitslicedKernel<2, 1>;
  using Steps = Kernel::Steps;
  static constexpr int kColumns = Kernel::kSliceColumns;
  static_assert(kWordRows % kColumns == 0);

  // ---- forward
  static void forward(const SlicedGridArgs& a) {
    Steps* v = static_cast<Steps*>(a.row_v);
    memset(v, 0, sizeof(Steps) * static_cast<size_t>(a.columns));
    for (int64_t row = 0; row < a.rows; row += kWordRows, v += a.columns) {
      if (a.cancel->requested) return;
      strip(a, row, a.rows - row < kWordRows ? static_cast<int>(a.rows - row) : kWordRows, v);
    }
  }

  static void strip(const SlicedGridArgs& a, int64_t row, int rows, const Steps* above) {
    Steps u[kWordRows];
    for (int r = 0; r < rows; r++) {
      u[r].plane[0] = u[r].plane[1] = ~Words{};
    }
    const uint32_t* slots = a.slots + row;
    const char* masks = static_cast<const char*>(a.masks);
    Steps* below = const_cast<Steps*>(above) + a.columns;
    for (int64_t j = 0; j < a.columns; j += kColumns) {
      if (j % kWordRows == 0) memcpy(left_edge(a, row, j), u, sizeof(Steps) * static_cast<size_t>(rows));
      Kernel::pass_masks(rows, u, above + j, below + j, masks + j * a.column_bytes, a.column_bytes, slots);
    }
  }

  // ---- edges of one tile
  static Steps* left_edge(const SlicedGridArgs& a, int64_t row, int64_t column) {
    return static_cast<Steps*>(a.column_u) + column / kWordRows * a.rows + row;
  }

  static void edges(const SlicedGridArgs& a, int64_t row, int64_t column, const SlicedEdges& out) {
    const int64_t rows = a.rows - row < kWordRows ? a.rows - row : kWordRows;
    const int64_t columns = a.columns - column < kWordRows ? a.columns - column : kWordRows;
    const Steps* above = static_cast<const Steps*>(a.row_v) + row / kWordRows * a.columns + column;
    const Steps* left = left_edge(a, row, column);
    gather(static_cast<Words*>(out.plus_above), columns, [&](int64_t k) { return ~above[k].plane[0]; });
    gather(static_cast<Words*>(out.minus_above), columns, [&](int64_t k) { return above[k].plane[1]; });
    gather(static_cast<Words*>(out.plus_left), rows, [&](int64_t k) { return left[k].plane[0]; });
    gather(static_cast<Words*>(out.minus_left), rows, [&](int64_t k) { return ~left[k].plane[1]; });
  }

  // Bit k of a word of `out` is the lane's of vector k, 0 from `count` on.
  template <class Plane>
  static inline void gather(Words* out, int64_t count, Plane plane) {
    for (int64_t k = 0; k < count; k++) out[k] = plane(k);
    for (int64_t k = count; k < kWordRows; k++) out[k] = Words{};
    transpose<32>(out, 0x00000000FFFFFFFFu);
    transpose<16>(out, 0x0000FFFF0000FFFFu);
    transpose<8>(out, 0x00FF00FF00FF00FFu);
    transpose<4>(out, 0x0F0F0F0F0F0F0F0Fu);
    transpose<2>(out, 0x3333333333333333u);
    transpose<1>(out, 0x5555555555555555u);
  }

  // One step of a transposition of 64 x 64 bits in every word: exchanges blocks of kBlock x kBlock bits beside the diagonal.
  template <int kBlock>
  static inline void transpose(Words* rows, uint64_t low) {
    const Words mask = broadcast(low);
    for (int k = 0; k < kWordRows; k += 2 * kBlock)
      for (int r = k; r < k + kBlock; r++) {
        const Words moved = ((rows[r] >> kBlock) ^ rows[r + kBlock]) & mask;
        rows[r + kBlock] ^= moved;
        rows[r] ^= moved << kBlock;
      }
  }

  // ---- tiles again, with directions
  static void word_tiles(const WordTileArgs& a) {
    constexpr int kPairs = lanes_of<uint64_t>();
    Words above_plus, above_minus, plus, minus;
    memcpy(&above_plus, a.plus_above, sizeof(Words));
    memcpy(&above_minus, a.minus_above, sizeof(Words));
    memcpy(&plus, a.plus_left, sizeof(Words));
    memcpy(&minus, a.minus_left, sizeof(Words));
    Words* diagonal = reinterpret_cast<Words*>(a.diagonal);
    Words* up = reinterpret_cast<Words*>(a.up);
    const Words one = broadcast<uint64_t>(1);
    for (int64_t j = 0; j < a.columns; j++) {
      Words equal;
      for (int k = 0; k < kPairs; k++) equal[k] = a.equal[a.letters[k][j]];
      const Words top_plus = above_plus & one, top_minus = above_minus & one;
      above_plus >>= 1;
      above_minus >>= 1;
      const Words x = equal | top_minus;
      const Words d0 = or3(((x & plus) + plus) ^ plus, x, minus);
      const Words across_plus = (or_nor(minus, d0, plus) << 1) | top_plus;
      const Words across_minus = ((plus & d0) << 1) | top_minus;
      plus = or_nor(across_minus, d0, across_plus);
      minus = across_plus & d0;
      diagonal[j] = equal | ~d0;
      up[j] = plus;
    }
  }
};

static void sliced_grid(const SlicedGridArgs& a) { SlicedGrid::forward(a); }
static void sliced_edges(const SlicedGridArgs& a, int64_t row, int64_t column, const SlicedEdges& out) {
  SlicedGrid::edges(a, row, column, out);
}
static void word_tiles(const WordTileArgs& a) { SlicedGrid::word_tiles(a); }

}  // namespace gpualign::GPUALIGN_ISA
