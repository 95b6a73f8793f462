// Bit-sliced edit distance for tracebacks: checkpoints on the way forward, directions of one tile on the way back.
//
// Forward, the recurrence and the planes are those of bitsliced.hpp with S = 2, X = 1. The matrix of a block of targets is cut into tiles
// of kWordRows x kWordRows cells. The planes of v above every tile and of u on its left are stored. With D the edit distance:
//   D(i,j) - D(i-1,j) = 1 - u: +1 if u = 0, which is plane 0 of u; -1 if u = 2, the complement of plane 1 (planes of u are complements)
//   D(i,j) - D(i,j-1) = 1 - v: +1 if v = 0, the complement of plane 0 of v; -1 if v = 2, which is plane 1
//
// Backward, a tile is computed again for those lanes whose path reaches it. Its edges are transposed, so that the 64 bits of a lane on an
// edge lie in one word. Each pair then continues by itself with 64 rows per word (Myers 1999 in the form of Hyyro 2003), and as many pairs
// side by side as a vector has words. Step from column j - 1 to column j, with HP_in, HN_in the horizontal step above the tile:
//   D0 = (((X & VP) + VP) ^ VP) | X | VN,  X = Eq | HN_in     rows where D(i,j) = D(i-1,j-1)
//   HP = VN | ~(D0 | VP);            HN = VP & D0             horizontal steps of +1, -1
//   HP = HP << 1 | HP_in;            HN = HN << 1 | HN_in     those of the row above
//   VP = HN | ~(D0 | HP);            VN = HP & D0             vertical steps of column j
// The diagonal neighbour is a best predecessor where Eq | ~D0, the upper one where the new VP is 1. Rows below the query are the last bits
// of a word, and no bit of the rows above depends on them.
#pragma once
#include "bitsliced.hpp"

namespace gpualign::GPUALIGN_ISA {

struct SlicedGrid {
  using Kernel = BitslicedKernel<2, 1>;
  using Steps = Kernel::Steps;
  static constexpr int kColumns = Kernel::kSliceColumns;
  static_assert(kWordRows % kColumns == 0);

  // ---- forward
  // Computes all strips and stores v above every strip and u left of every tile.
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
  // Returns where u of the strip at `row` is stored, left of the tile at `column`.
  static Steps* left_edge(const SlicedGridArgs& a, int64_t row, int64_t column) {
    return static_cast<Steps*>(a.column_u) + column / kWordRows * a.rows + row;
  }

  // Extracts the steps on the upper and left edge of the tile at (row, column), one word per lane and kind.
  static void edges(const SlicedGridArgs& a, int64_t row, int64_t column, const SlicedEdges& out) {
    const int64_t rows = a.rows - row < kWordRows ? a.rows - row : kWordRows;
    const int64_t columns = a.columns - column < kWordRows ? a.columns - column : kWordRows;
    const Steps* above = static_cast<const Steps*>(a.row_v) + row / kWordRows * a.columns + column;
    const Steps* left = left_edge(a, row, column);
    gather(static_cast<Words*>(out.hp_above), columns, [&](int64_t k) { return ~above[k].plane[0]; });
    gather(static_cast<Words*>(out.hn_above), columns, [&](int64_t k) { return above[k].plane[1]; });
    gather(static_cast<Words*>(out.vp_left), rows, [&](int64_t k) { return left[k].plane[0]; });
    gather(static_cast<Words*>(out.vn_left), rows, [&](int64_t k) { return ~left[k].plane[1]; });
  }

  // Transposes plane(0) .. plane(count-1): bit k of word p of `out` becomes the bit of lane p in plane(k), and 0 from `count` on.
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

  // Does one step of the transposition of 64 x 64 bits in every element: exchanges the blocks of kBlock x kBlock bits off the diagonal.
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
  // Computes one tile of several pairs, one per element of a vector: for each column, the rows where the diagonal or upper neighbour is
  // best.
  static void word_tiles(const WordTileArgs& a) {
    constexpr int kPairs = lanes_of<uint64_t>();
    Words hp_above, hn_above, vp, vn;
    memcpy(&hp_above, a.hp_above, sizeof(Words));
    memcpy(&hn_above, a.hn_above, sizeof(Words));
    memcpy(&vp, a.vp_left, sizeof(Words));
    memcpy(&vn, a.vn_left, sizeof(Words));
    Words* diagonal = reinterpret_cast<Words*>(a.diagonal);
    Words* up = reinterpret_cast<Words*>(a.up);
    const Words one = broadcast<uint64_t>(1);
    for (int64_t j = 0; j < a.columns; j++) {
      Words eq;
      for (int k = 0; k < kPairs; k++) eq[k] = a.eq[a.letters[k][j]];
      const Words hp_in = hp_above & one, hn_in = hn_above & one;
      hp_above >>= 1;
      hn_above >>= 1;
      const Words x = eq | hn_in;
      const Words d0 = or3(((x & vp) + vp) ^ vp, x, vn);
      const Words hp = (or_nor(vn, d0, vp) << 1) | hp_in;
      const Words hn = ((vp & d0) << 1) | hn_in;
      vp = or_nor(hn, d0, hp);
      vn = hp & d0;
      diagonal[j] = eq | ~d0;
      up[j] = vp;
    }
  }
};

static void sliced_grid(const SlicedGridArgs& a) { SlicedGrid::forward(a); }
static void sliced_edges(const SlicedGridArgs& a, int64_t row, int64_t column, const SlicedEdges& out) {
  SlicedGrid::edges(a, row, column, out);
}
static void word_tiles(const WordTileArgs& a) { SlicedGrid::word_tiles(a); }

}  // namespace gpualign::GPUALIGN_ISA
