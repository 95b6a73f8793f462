// Global alignment scores by the difference recurrence: one query against many targets, one target per vector lane.
//
// Recurrence (Gotoh 1982; differences as in Suzuki & Kasahara 2018). A gap of n letters costs g + (n-1) e; o = g - e >= 0.
// Rebasing H'(i,j) = H(i,j) + e (i+j) makes the extension of a gap free, with s' = s + 2e:
//   E'(i,j) = max(E'(i,j-1), H'(i,j-1) - o)      F'(i,j) = max(F'(i-1,j), H'(i-1,j) - o)
//   H'(i,j) = max(H'(i-1,j-1) + s', E'(i,j), F'(i,j))
// The kernel keeps differences; x and y are the gap scores that enter the right and the lower neighbour:
//   u = H'(i,j) - H'(i-1,j)      x = E'(i,j+1) - H'(i-1,j)
//   v = H'(i,j) - H'(i,j-1)      y = F'(i+1,j) - H'(i,j-1)
// One cell takes u, x from the left neighbour and v, y from the upper one, with s'' = max(s', -2o), as two gaps are also a path:
//   z = max(s'', x, y)                            (z = H'(i,j) - H'(i-1,j-1))
//   u <- z - v, v <- z - u, x <- max(x, z - o) - v, y <- max(y, z - o) - u      (all right-hand sides with the old values)
// With o = 0 (linear gaps) x = u and y = v, and the cell is z = max(s'', u, v), u <- z - v, v <- z - u.
//
// Bounds. With S = max(0, largest s'): -2o <= z <= S + o, -o <= u, v <= S + o, -2o <= x, y <= S + o, -3o <= z - o. So the element type
// depends on the scoring alone, not on the lengths: signed bytes if 3o <= 128 and S + o <= 127. With linear gaps nothing is negative, and
// bytes are unsigned: S <= 255 (core/scoring/recurrence_forms.py; tests/scoring/test_recurrence_forms.py checks every value that the
// recurrence forms). Elements lie in unsigned vectors, whose sums have the same bits; maxima and comparisons treat them as signed if gaps
// are affine. The score follows from H'(m,n) = -o + sum over j <= n of v(m,j).
//
// Layout: target codes [column][lane]. A strip of kRows query rows keeps u and x in L1; v, y of its last row are stored for every column
// between strips. Within a strip kColumns columns advance together, so that their dependency chains (three operations per row) overlap;
// with affine gaps each column is one row behind the one before. For each of these columns the shifted scores of every letter of the strip
// are looked up once; each row then loads its scores by its letter.
#pragma once
#include "columns.hpp"
#include "cpu/src/simd.hpp"
#include "kernels.hpp"
#include "letter_slots.hpp"
#include "saturating.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int kRows = 128;  // u, x of one strip: 16 KiB with 64-byte vectors, within any L1

// Looks up the shifted scores of one query letter against a column of targets. Args: DifferenceArgs or GridArgs.
template <class E>
struct ScoreLookup {
  // Elements wider than a byte: a plain loop, run once per strip and column.
  template <class Args>
  static inline Vec<E> of(const Args& a, const uint8_t*, const uint8_t* codes, int letter) {
    Vec<E> out;
    const uint32_t* row = a.table + letter * kLetters;
    for (int k = 0; k < lanes_of<E>(); k++) out[k] = static_cast<E>(row[codes[k]]);
    return out;
  }
};
template <>
struct ScoreLookup<uint8_t> {
  template <class Args>
  static inline Bytes of(const Args& a, const uint8_t* table, const uint8_t* codes, int letter) {
    Bytes c;
    memcpy(&c, codes, sizeof c);
    return a.letters <= 16 ? look_up_16(table + letter * kLetters, c) : look_up_32(table + letter * kLetters, c);
  }
};

template <class E>
using Signed = Vec<typename SignedOf<E>::type>;

// Returns the value of an element that holds a difference, or of a sum of differences: signed if gaps are affine.
template <bool kAffine, class E>
static inline int64_t step_of(E element) {
  return kAffine ? static_cast<int64_t>(static_cast<typename SignedOf<E>::type>(element)) : static_cast<int64_t>(element);
}

template <class E, bool kAffine>
struct DifferenceKernel {
  using V = Vec<E>;
  static constexpr int kLanes = lanes_of<E>();
  static constexpr int kColumns = kColumnsAtATime;

  // Computes the sum of v along the last row for every lane.
  static void run(const DifferenceArgs& a) {
    alignas(64) uint8_t table8[kLetters * kLetters];
    for (int i = 0; i < kLetters * kLetters; i++) table8[i] = static_cast<uint8_t>(a.table[i]);

    V* boundary_v = static_cast<V*>(a.boundary);
    V* boundary_y = boundary_v + a.columns;
    const V o = broadcast<E>(static_cast<E>(a.open_extra));
    // Row 0: H'(0,1) - H'(0,0) = -o, all later steps 0; a gap that enters row 1 opens there.
    for (int64_t j = 0; j < a.columns; j++) {
      boundary_v[j] = j ? V{} : V{} - o;
      if (kAffine) boundary_y[j] = boundary_v[j] - o;
    }
    for (int64_t row = 0; row < a.rows; row += kRows) {
      if (a.cancel->requested) return;
      const int rows = a.rows - row < kRows ? static_cast<int>(a.rows - row) : kRows;
      strip(a, table8, a.query + row, rows, row == 0, boundary_v, boundary_y, o);
    }
    sum_last_row(a, boundary_v);
  }

  // Computes one cell: u, x of the left neighbour and v, y of the upper one become those of the cell.
  static inline __attribute__((always_inline)) void cell(V s, V& u, V& x, V& v, V& y, V o) {
    if constexpr (!kAffine) {
      const V z = maximum(maximum(s, u), v);
      const V left_u = u;
      u = opaque(z - v);
      v = opaque(z - left_u);
    } else {
      const V z = signed_maximum(signed_maximum(s, x), y);
      const V opened = opaque(z - o);
      x = opaque(signed_maximum(x, opened) - v);
      y = opaque(signed_maximum(y, opened) - u);
      const V left_u = u;
      u = opaque(z - v);
      v = opaque(z - left_u);
    }
  }

  static inline V signed_maximum(V a, V b) { return (V)larger((Signed<E>)a, (Signed<E>)b); }

 private:
  // Computes one strip of rows over all columns.
  static void strip(const DifferenceArgs& a, const uint8_t* table8, const uint8_t* query, int rows, bool first, V* boundary_v,
                    V* boundary_y, V o) {
    V u[kRows], x[kRows];
    uint32_t slot[kRows];  // [row] byte offset of its letter in `scores`
    LetterSlots slots;
    slots.clear();
    for (int r = 0; r < rows; r++) {
      slot[r] = static_cast<uint32_t>(slots.of(query[r]) * kColumns * sizeof(V));
      u[r] = first && r == 0 ? V{} - o : V{};  // column 0: the first step down costs the opening, later ones nothing
      if (kAffine) x[r] = u[r] - o;
    }
    const int count = slots.count;
    V scores[kLetters][kColumns];
    for (int64_t j = 0; j < a.columns; j += kColumns) {
      V v[kColumns], y[kColumns];
      for (int c = 0; c < kColumns; c++) {
        const uint8_t* codes = a.codes + (j + c) * kLanes;
        for (int l = 0; l < count; l++) scores[l][c] = ScoreLookup<E>::of(a, table8, codes, slots.letters[l]);
        v[c] = boundary_v[j + c];
        if (kAffine) y[c] = boundary_y[j + c];
      }
      auto scores_of = [&](int r) __attribute__((always_inline)) {
        return reinterpret_cast<const V*>(reinterpret_cast<const char*>(scores) + slot[r]);
      };
      if constexpr (kAffine) {
        V between_u[kColumns], between_x[kColumns];  // [c]: u, x that column c - 1 has left for column c, in the row c takes next
        skew_columns<kColumns>(rows, [&](int r, auto column) __attribute__((always_inline)) {
          constexpr int c = decltype(column)::number;
          V ur = c > 0 ? between_u[c] : u[r], xr = c > 0 ? between_x[c] : x[r];
          cell(scores_of(r)[c], ur, xr, v[c], y[c], o);
          if constexpr (c + 1 < kColumns)
            between_u[c + 1] = ur, between_x[c + 1] = xr;
          else
            u[r] = ur, x[r] = xr;
        });
      } else {
        // The latency of three operations per cell costs less than keeping what the columns leave for each other.
        for (int r = 0; r < rows; r++) {
          const V* s = scores_of(r);
          V ur = u[r], xr{};
#pragma GCC unroll 8
          for (int c = 0; c < kColumns; c++) cell(s[c], ur, xr, v[c], y[c], o);
          u[r] = ur;
        }
      }
      for (int c = 0; c < kColumns; c++) {
        boundary_v[j + c] = v[c];
        if (kAffine) boundary_y[j + c] = y[c];
      }
    }
  }

  // Writes the sum of v along the last row of every lane, up to the end of its target.
  static void sum_last_row(const DifferenceArgs& a, const V* boundary_v) {
    for (int k = 0; k < kLanes; k++) a.sums[k] = 0;
    const E* v = reinterpret_cast<const E*>(boundary_v);
    int64_t j = 0;
    // Partial sums fit 32 bits: 2^15 columns of 8-bit or 16-bit differences; 32-bit ones are added one column at a time.
    constexpr int64_t kChunk = sizeof(E) == 4 ? 1 : 1 << 15;
    while (j < a.columns) {
      const int64_t stop = j + kChunk < a.columns ? j + kChunk : a.columns;
      uint32_t partial[kLanes];
      int32_t counted[kLanes];  // columns of this chunk that belong to the target
      for (int k = 0; k < kLanes; k++) {
        const int64_t remaining = a.lengths[k] - j;
        partial[k] = 0;
        counted[k] = static_cast<int32_t>(remaining < 0 ? 0 : remaining > kChunk ? kChunk : remaining);
      }
      for (int32_t c = 0; c < stop - j; c++)
        for (int k = 0; k < kLanes; k++)
          partial[k] += c < counted[k] ? static_cast<uint32_t>(step_of<kAffine>(v[(j + c) * kLanes + k])) : 0u;
      for (int k = 0; k < kLanes; k++) a.sums[k] += step_of<kAffine>(partial[k]);
      j = stop;
    }
  }
};

template <class E>
static void difference(const DifferenceArgs& a) {
  a.open_extra == 0 ? DifferenceKernel<E, false>::run(a) : DifferenceKernel<E, true>::run(a);
}

}  // namespace gpualign::GPUALIGN_ISA
