// Linear-gap global alignment with small weights, and edit distance, with one bit a target.
//
// Recurrence: that of difference.hpp with o = 0, weights divided by their common factor. The shifted match score is S, the
// shifted mismatch score X < S, and u, v, z lie in 0 .. S. Each is kept in unary: bit plane k (1 <= k <= S) holds [value >= k],
// and bit p of a plane belongs to target p of the block.
//   z_k = s'_k | u_k | v_k,          s'_k = 1 for k <= X, [letters equal] for k > X
//   (z - u)_k = OR over a = 0 .. S-k of z_{a+k} & ~u_{a+1}        (u <= z: take a = u)
// A step's planes are nested, u_{k+1} in u_k. So in the terms before the last, z_S & ~u_{S-k+1}, [letters equal] and u_{a+k} add nothing,
// and v_{a+k} is enough; likewise u_{a+k} in (z - v)_k.
// Edit distance is S = 2, X = 1 (match 0, mismatch -1, gap 1, the score negated): the five-operation form of Myers' cell.
//
// u and z are kept complemented: then no cell needs a negation, where instruction sets have and-not, but no or-not.
// S = 1 .. 4 exist, with every X that has no factor in common with S: others do not come up (core/scoring/recurrence_forms.py). Three-input
// operations a cell of S = 2, 3, 4 with X = 1: 5, 11, 19; two-input ones: 8, 18, 32.
//
// Layout: masks [column][letter slot], one vector each. A strip of kSliceRows rows keeps its planes in L1; the boundary keeps
// S planes a column. kSliceColumns columns advance together. The sum along the last row is taken by vertical counters:
// bit plane b of the counters holds bit b of every lane's sum.
#pragma once
#include "columns.hpp"
#include "cpu/src/simd.hpp"
#include "kernels.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int kSliceRows = 64;

template <int S, int X>
struct BitslicedKernel {
  // Columns in flight; with few planes it is cheaper to load what does not fit the registers than to wait (benchmarks/LOG.md).
  static constexpr int kSliceColumns = S <= 2 ? 4 : 2;

  struct Steps {
    Words plane[S];
  };

  static void run(const BitslicedArgs& a) {
    Steps* bound = static_cast<Steps*>(a.boundary);
    memset(bound, 0, sizeof(Steps) * static_cast<size_t>(a.columns));  // row 0 is flat after rebasing
    for (int64_t row = 0; row < a.rows; row += kSliceRows) {
      if (a.cancel->requested) return;
      const int rows = a.rows - row < kSliceRows ? static_cast<int>(a.rows - row) : kSliceRows;
      strip(a, a.slots + row, rows, bound);
    }
    const Words* live = static_cast<const Words*>(a.live);
    count_last_row(bound, a.columns, a.sums, [&](int64_t j) { return live[j]; });
  }

  // In u, and in z_S here, every plane is the complement.
  static inline __attribute__((always_inline)) void cell(Words equal, Steps& u, Steps& v) {
    const Words top = and_nor(u.plane[S - 1], equal, v.plane[S - 1]);
    Steps nu, nv;
#pragma GCC unroll 8
    for (int k = 1; k <= S; k++) {
#pragma GCC unroll 8
      for (int a = 0; a <= S - k; a++) {
        Words &right = nv.plane[k - 1], &down = nu.plane[k - 1];
        const Words not_u = u.plane[a], v_a = v.plane[a];
        if (a + k <= X) {  // z_{a+k} = 1
          right = a == 0 ? not_u : right | not_u;
          down = a == 0 ? v_a : down & v_a;
        } else if (a + k < S) {
          right = a == 0 ? not_u & v.plane[k - 1] : or_and(right, not_u, v.plane[a + k - 1]);
          down = a == 0 ? v_a | u.plane[k - 1] : and_or(down, v_a, u.plane[a + k - 1]);
        } else {
          right = a == 0 ? and_not(not_u, top) : or_and_not(right, not_u, top);
          down = a == 0 ? v_a | top : and_or(down, v_a, top);
        }
      }
    }
    u = nu;
    v = nv;
  }

  // kSliceColumns columns of a strip: u of its rows, v of the columns, in from above and out below. equal(r, c): the mask of a cell.
  template <class Equal>
  static inline __attribute__((always_inline)) void pass_columns(int rows, Steps* u, const Steps* above, Steps* below, Equal equal) {
    Steps v[kSliceColumns], between[kSliceColumns];  // u of the row that column c takes next, as the column before it has left it
    for (int c = 0; c < kSliceColumns; c++) v[c] = above[c];
    pass_behind<kSliceColumns>(rows, [&](int r, auto column) __attribute__((always_inline)) {
      constexpr int c = decltype(column)::number;
      Steps ur = c > 0 ? between[c] : u[r];
      cell(equal(r, c), ur, v[c]);
      if constexpr (c + 1 < kSliceColumns)
        between[c + 1] = ur;
      else
        u[r] = ur;
    });
    for (int c = 0; c < kSliceColumns; c++) below[c] = v[c];
  }

  // The same with the masks of a block: masks of the first column, slots of the strip's rows.
  static inline __attribute__((always_inline)) void pass_masks(int rows, Steps* u, const Steps* above, Steps* below, const char* masks,
                                                               int64_t column_bytes, const uint32_t* slots) {
    pass_columns(rows, u, above, below, [&](int r, int c) __attribute__((always_inline)) {
      return *reinterpret_cast<const Words*>(masks + slots[r] + c * column_bytes);
    });
  }

  // sums: of each lane, over the columns that live(j) has it in.
  template <class Live>
  static void count_last_row(const Steps* bound, int64_t columns, int64_t* sums, Live live) {
    int planes = 1;
    while ((static_cast<int64_t>(S) * columns) >> planes) planes++;
    Words counter[40];
    for (int p = 0; p < planes; p++) counter[p] = Words{};
    for (int64_t j = 0; j < columns; j++) {
      const Words counted = live(j);
      for (int k = 0; k < S; k++) {
        Words carry = bound[j].plane[k] & counted;
        for (int p = 0; p < planes; p++) {
          const Words sum = counter[p] ^ carry;
          carry &= counter[p];
          counter[p] = sum;
        }
      }
    }
    for (int w = 0; w < kVectorBytes / 8; w++)
      for (int b = 0; b < 64; b++) {
        uint64_t sum = 0;
        for (int p = 0; p < planes; p++) sum |= ((counter[p][w] >> b) & 1) << p;
        sums[w * 64 + b] = static_cast<int64_t>(sum);
      }
  }

 private:
  static void strip(const BitslicedArgs& a, const uint32_t* slots, int rows, Steps* bound) {
    Steps u[kSliceRows];
    for (int r = 0; r < rows; r++) {
      for (int k = 0; k < S; k++) u[r].plane[k] = ~Words{};
    }
    const char* masks = static_cast<const char*>(a.masks);
    for (int64_t j = 0; j < a.columns; j += kSliceColumns)
      pass_masks(rows, u, bound + j, bound + j, masks + j * a.column_bytes, a.column_bytes, slots);
  }
};

// Kernel<S, X>::run(a) for the steps in `a`, which have no common factor.
template <template <int, int> class Kernel, class Args>
static void run_steps(const Args& a) {
  switch (a.match_steps * 8 + a.mismatch_steps) {
    case 1 * 8 + 0: return Kernel<1, 0>::run(a);
    case 2 * 8 + 1: return Kernel<2, 1>::run(a);
    case 3 * 8 + 1: return Kernel<3, 1>::run(a);
    case 3 * 8 + 2: return Kernel<3, 2>::run(a);
    case 4 * 8 + 1: return Kernel<4, 1>::run(a);
    case 4 * 8 + 3: return Kernel<4, 3>::run(a);
  }
}

static void bitsliced(const BitslicedArgs& a) { run_steps<BitslicedKernel>(a); }

}  // namespace gpualign::GPUALIGN_ISA
