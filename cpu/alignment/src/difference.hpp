// Global alignment scores by the difference recurrence: one query against one target a vector lane.
//
// Recurrence (Gotoh 1982; differences as in Suzuki & Kasahara 2018). A gap of n letters costs g + (n-1) e, o = g - e >= 0.
// Rebasing H'(i,j) = H(i,j) + e (i+j) makes the extension of a gap free, with s' = s + 2e:
//   E'(i,j) = max(E'(i,j-1), H'(i,j-1) - o)      F'(i,j) = max(F'(i-1,j), H'(i-1,j) - o)
//   H'(i,j) = max(H'(i-1,j-1) + s', E'(i,j), F'(i,j))
// The kernel keeps differences, x and y those of what enters the neighbours:
//   u = H'(i,j) - H'(i-1,j)      x = E'(i,j+1) - H'(i-1,j)
//   v = H'(i,j) - H'(i,j-1)      y = F'(i+1,j) - H'(i,j-1)
// One cell, with u, x from the left neighbour, v, y from the upper one, and s'' = max(s', -2o), as two gaps are a path as well:
//   z = max(s'', x, y)                            (z = H'(i,j) - H'(i-1,j-1))
//   u <- z - v, v <- z - u, x <- max(x, z - o) - v, y <- max(y, z - o) - u
// With o = 0 (linear gaps) x = u, y = v, and the cell is z = max(s'', u, v), u <- z - v, v <- z - u.
//
// Bounds, with S = max(0, largest s'): -2o <= z <= S + o, -o <= u, v <= S + o, -2o <= x, y <= S + o, -3o <= z - o. So the element type is
// chosen by the scoring alone, whatever the lengths: signed bytes where 3o <= 128 and S + o <= 127. With linear gaps nothing is negative,
// and bytes are unsigned: S <= 255 (core/scoring/recurrence_forms.py; tests/test_bounds.py checks every value that the recurrence forms).
// Elements lie in unsigned vectors, whose sums are the same; maxima and comparisons take them as signed where gaps are affine.
// H'(m,n) = -o + sum over j <= n of v(m,j).
//
// Layout: target codes [column][lane]. A strip of kRows query rows keeps u and x in L1; the strip's lower boundary v, y is
// kept for every column between strips. Within a strip, kColumns columns advance together so that their dependency chains
// (three operations a row) overlap, with affine gaps each a row behind the one before. For each of those columns the shifted scores of
// every letter of the strip are looked up once, then a row is one load by its letter.
#pragma once
#include "columns.hpp"
#include "cpu/src/simd.hpp"
#include "kernels.hpp"
#include "letter_slots.hpp"
#include "saturating.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int kRows = 128;  // u, x of one strip: 16 KiB with 64-byte vectors, within any L1

// Shifted scores of one query letter against a column of targets. Args: DifferenceArgs or GridArgs.
template <class E>
struct ScoreLookup {
  // Wider than a byte: plain loop, once a strip and column.
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
struct SignedOf;
template <>
struct SignedOf<uint8_t> {
  using type = int8_t;
};
template <>
struct SignedOf<uint16_t> {
  using type = int16_t;
};
template <>
struct SignedOf<uint32_t> {
  using type = int32_t;
};
template <class E>
using Signed = Vec<typename SignedOf<E>::type>;

// A step, or a sum of steps, as it is meant.
template <bool kAffine, class E>
static inline int64_t step_of(E element) {
  return kAffine ? static_cast<int64_t>(static_cast<typename SignedOf<E>::type>(element)) : static_cast<int64_t>(element);
}

template <class E, bool kAffine>
struct DifferenceKernel {
  using V = Vec<E>;
  static constexpr int kLanes = lanes_of<E>();
  static constexpr int kColumns = kColumnsAtATime;

  static void run(const DifferenceArgs& a) {
    alignas(64) uint8_t table8[kLetters * kLetters];
    for (int i = 0; i < kLetters * kLetters; i++) table8[i] = static_cast<uint8_t>(a.table[i]);

    V* bound_v = static_cast<V*>(a.boundary);
    V* bound_y = bound_v + a.columns;
    const V o = broadcast<E>(static_cast<E>(a.open_extra));
    // Row 0: H'(0,1) - H'(0,0) = -o, all later steps 0; a gap that enters row 1 opens there.
    for (int64_t j = 0; j < a.columns; j++) {
      bound_v[j] = j ? V{} : V{} - o;
      if (kAffine) bound_y[j] = bound_v[j] - o;
    }
    for (int64_t row = 0; row < a.rows; row += kRows) {
      if (a.cancel->requested) return;
      const int rows = a.rows - row < kRows ? static_cast<int>(a.rows - row) : kRows;
      strip(a, table8, a.query + row, rows, row == 0, bound_v, bound_y, o);
    }
    sum_last_row(a, bound_v);
  }

  static inline __attribute__((always_inline)) void cell(V s, V& u, V& x, V& v, V& y, V o) {
    if constexpr (!kAffine) {
      const V z = maximum(maximum(s, u), v);
      const V left = u;
      u = opaque(z - v);
      v = opaque(z - left);
    } else {
      const V z = signed_maximum(signed_maximum(s, x), y);
      const V opened = opaque(z - o);
      x = opaque(signed_maximum(x, opened) - v);
      y = opaque(signed_maximum(y, opened) - u);
      const V left = u;
      u = opaque(z - v);
      v = opaque(z - left);
    }
  }

  static inline V signed_maximum(V a, V b) { return (V)larger((Signed<E>)a, (Signed<E>)b); }

 private:
  static void strip(const DifferenceArgs& a, const uint8_t* table8, const uint8_t* query, int rows, bool first, V* bound_v, V* bound_y,
                    V o) {
    V u[kRows], x[kRows];
    uint32_t slot[kRows];  // byte offset of the row's letter in `scores`
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
        v[c] = bound_v[j + c];
        if (kAffine) y[c] = bound_y[j + c];
      }
      auto scores_of = [&](int r) __attribute__((always_inline)) {
        return reinterpret_cast<const V*>(reinterpret_cast<const char*>(scores) + slot[r]);
      };
      if constexpr (kAffine) {
        V between_u[kColumns], between_x[kColumns];  // of the row that column c takes next, as the column before it has left them
        pass_behind<kColumns>(rows, [&](int r, auto column) __attribute__((always_inline)) {
          constexpr int c = decltype(column)::number;
          V ur = c > 0 ? between_u[c] : u[r], xr = c > 0 ? between_x[c] : x[r];
          cell(scores_of(r)[c], ur, xr, v[c], y[c], o);
          if constexpr (c + 1 < kColumns)
            between_u[c + 1] = ur, between_x[c + 1] = xr;
          else
            u[r] = ur, x[r] = xr;
        });
      } else {
        // Three operations a cell wait for each other less than what the columns leave each other costs to keep.
        for (int r = 0; r < rows; r++) {
          const V* s = scores_of(r);
          V ur = u[r], xr{};
#pragma GCC unroll 8
          for (int c = 0; c < kColumns; c++) cell(s[c], ur, xr, v[c], y[c], o);
          u[r] = ur;
        }
      }
      for (int c = 0; c < kColumns; c++) {
        bound_v[j + c] = v[c];
        if (kAffine) bound_y[j + c] = y[c];
      }
    }
  }

  static void sum_last_row(const DifferenceArgs& a, const V* bound_v) {
    for (int k = 0; k < kLanes; k++) a.sums[k] = 0;
    const E* v = reinterpret_cast<const E*>(bound_v);
    int64_t j = 0;
    // Partial sums fit 32 bits: 2^15 columns of bytes or 16-bit steps; 32-bit steps are added one column at a time.
    constexpr int64_t kChunk = sizeof(E) == 4 ? 1 : 1 << 15;
    while (j < a.columns) {
      const int64_t stop = j + kChunk < a.columns ? j + kChunk : a.columns;
      uint32_t part[kLanes];
      int32_t reach[kLanes];
      for (int k = 0; k < kLanes; k++) {
        const int64_t left = a.lengths[k] - j;
        part[k] = 0;
        reach[k] = static_cast<int32_t>(left < 0 ? 0 : left > kChunk ? kChunk : left);
      }
      for (int32_t c = 0; c < stop - j; c++)
        for (int k = 0; k < kLanes; k++) part[k] += c < reach[k] ? static_cast<uint32_t>(step_of<kAffine>(v[(j + c) * kLanes + k])) : 0u;
      for (int k = 0; k < kLanes; k++) a.sums[k] += step_of<kAffine>(part[k]);
      j = stop;
    }
  }
};

template <class E>
static void difference(const DifferenceArgs& a) {
  a.open_extra == 0 ? DifferenceKernel<E, false>::run(a) : DifferenceKernel<E, true>::run(a);
}

}  // namespace gpualign::GPUALIGN_ISA
