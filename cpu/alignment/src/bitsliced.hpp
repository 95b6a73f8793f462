// Linear-gap global alignment with small weights, and edit distance, with one bit per target.
//
// Recurrence: that of difference.hpp with o = 0 and weights divided by their common factor. With S the shifted match score and X < S the
// shifted mismatch score, u, v and z lie in 0 .. S. Each is kept in unary: bit plane k (1 <= k <= S) holds [value >= k], and bit p of a
// plane belongs to target p of the block.
//   z_k = s'_k | u_k | v_k,          s'_k = 1 for k <= X, Eq for k > X, with Eq the match mask
//   (z - u)_k = OR over a = 0 .. S-k of z_{a+k} & ~u_{a+1}        (u <= z: take a = u)
// The planes of a step are nested: u_{k+1} implies u_k. Hence in all terms but the last, z_S & ~u_{S-k+1}, the parts Eq and u_{a+k} of z
// add nothing, and v_{a+k} is enough; by symmetry u_{a+k} is enough in (z - v)_k.
//   Edit distance is S = 2, X = 1 (match 0, mismatch -1, gap -1; the score is the negated distance): the five-operation form of Myers'
//   cell.
//
// u, and z in a cell, are kept complemented. Then no cell needs a negation, given and-not, which instruction sets have, but not or-not.
// Kernels exist for S = 1 .. 4 and every X without a common factor with S; no others occur (core/scoring/recurrence_forms.py). Operations
// per cell for S = 2, 3, 4 with X = 1: 5, 11, 19 of three inputs, or 8, 18, 32 of two.
//
// Layout: match masks [column][letter slot], one vector each. A strip of kSliceRows rows keeps its planes in L1; the boundary keeps S
// planes per column, those of the last row computed. kSliceColumns columns advance together. The sum along the last row is taken by
// vertical counters: bit plane b of the counters holds bit b of the sum of every lane.
#pragma once
#include "columns.hpp"
#include "cpu/src/simd.hpp"
#include "kernels.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int kSliceRows = 64;

template <int S, int X>
struct BitslicedKernel {
  // Columns that advance together. With few planes, reloading what does not fit the registers costs less than waiting
  // (benchmarks/log: C-006).
  static constexpr int kSliceColumns = S <= 2 ? 4 : 2;

  // One step, u or v, of every target.
  struct Steps {
    Words plane[S];
  };

  // Computes the sum of v along the last row for every target.
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

  // Computes one cell: u of the left neighbour and v of the upper one become those of the cell. Planes of u, and not_z here, are
  // complements.
  static inline __attribute__((always_inline)) void cell(Words eq, Steps& u, Steps& v) {
    const Words not_z = and_nor(u.plane[S - 1], eq, v.plane[S - 1]);  // of plane S
    Steps next_u, next_v;
#pragma GCC unroll 8
    for (int k = 1; k <= S; k++) {
#pragma GCC unroll 8
      for (int a = 0; a <= S - k; a++) {
        Words &to_v = next_v.plane[k - 1], &to_u = next_u.plane[k - 1];
        const Words not_u = u.plane[a], v_a = v.plane[a];
        if (a + k <= X) {  // z_{a+k} = 1
          to_v = a == 0 ? not_u : to_v | not_u;
          to_u = a == 0 ? v_a : to_u & v_a;
        } else if (a + k < S) {
          to_v = a == 0 ? not_u & v.plane[k - 1] : or_and(to_v, not_u, v.plane[a + k - 1]);
          to_u = a == 0 ? v_a | u.plane[k - 1] : and_or(to_u, v_a, u.plane[a + k - 1]);
        } else {
          to_v = a == 0 ? and_not(not_u, not_z) : or_and_not(to_v, not_u, not_z);
          to_u = a == 0 ? v_a | not_z : and_or(to_u, v_a, not_z);
        }
      }
    }
    u = next_u;
    v = next_v;
  }

  // Computes kSliceColumns columns of a strip. u: of its rows, left of the columns in, of the last one out. above, below: v of the columns.
  // match(r, c): the match mask of a cell.
  template <class Match>
  static inline __attribute__((always_inline)) void pass_columns(int rows, Steps* u, const Steps* above, Steps* below, Match match) {
    Steps v[kSliceColumns], between[kSliceColumns];  // [c]: u that column c - 1 has left for column c, in the row c takes next
    for (int c = 0; c < kSliceColumns; c++) v[c] = above[c];
    skew_columns<kSliceColumns>(rows, [&](int r, auto column) __attribute__((always_inline)) {
      constexpr int c = decltype(column)::number;
      Steps ur = c > 0 ? between[c] : u[r];
      cell(match(r, c), ur, v[c]);
      if constexpr (c + 1 < kSliceColumns)
        between[c + 1] = ur;
      else
        u[r] = ur;
    });
    for (int c = 0; c < kSliceColumns; c++) below[c] = v[c];
  }

  // Does the same with match masks from memory: those of the first column, and the slots of the strip's rows.
  static inline __attribute__((always_inline)) void pass_masks(int rows, Steps* u, const Steps* above, Steps* below, const char* masks,
                                                               int64_t column_bytes, const uint32_t* slots) {
    pass_columns(rows, u, above, below, [&](int r, int c) __attribute__((always_inline)) {
      return *reinterpret_cast<const Words*>(masks + slots[r] + c * column_bytes);
    });
  }

  // Writes to sums[lane] the sum of v over those columns j in which the lane's bit of live(j) is set.
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
  // Computes one strip of rows over all columns.
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

// Calls Kernel<S, X>::run(a) for the S and X in `a`, which have no common factor.
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
