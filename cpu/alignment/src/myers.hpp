// Edit distance of one pair: Myers' bit vectors, 64 rows a word, the words of a strip in the lanes of vectors, skewed.
//
// Recurrence (Myers 1999, blocks as in Hyyro 2003). For 64 rows of one column, Pv/Mv hold the rows where the vertical step
// is +1/-1, hin is the horizontal step entering at the top, Eq the rows whose letter equals the target's:
//   Xv = Eq | Mv;  Eq |= [hin < 0];  Xh = (((Eq & Pv) + Pv) ^ Pv) | Eq
//   Ph = Mv | ~(Xh | Pv);  Mh = Pv & Xh;  hout = top bits of Ph, Mh
//   Ph = Ph << 1 | [hin > 0];  Mh = Mh << 1 | [hin < 0];  Pv = Mh | ~(Xv | Ph);  Mv = Ph & Xv
//
// Mapping: word w of a strip is lane w % L of vector w / L and is at column t - w in step t, so the step that a word hands
// down is wanted by its neighbour in the very next step: one lane shift, no memory. kVectors vectors run side by side to
// hide the latency of the addition. Lanes that have not started or have ended keep their state (the masked steps).
//
// Eq without tables: bit b of every query letter is a word plane Q_b, bit b of the target letter a mask T_b of all ones or
// zeros, and Eq = ~OR_b (Q_b ^ T_b). It needs no gather and serves any alphabet.
//
// Band (Ukkonen 1985): only diagonals d = j - i in [min(0, n-m) - w, max(0, n-m) + w] are computed, rounded out to strips.
// Steps entering from outside are taken as +1, which any real path attains or beats, so the result is an upper bound; a
// result of at most |n-m| + 2w + 1 is exact, since every path of that cost stays inside the band.
#pragma once
#include "cpu/src/simd.hpp"
#include "kernels.hpp"

namespace gpualign::GPUALIGN_ISA {

// [previous[last], a[0], ..., a[last-1]]
static inline Words shift_lanes_up(Words a, Words previous) {
#if defined(GPUALIGN_AVX512)
  return (Words)_mm512_alignr_epi64((__m512i)a, (__m512i)previous, 7);
#elif defined(GPUALIGN_AVX2)
  return (Words)_mm256_alignr_epi8((__m256i)a, _mm256_permute2x128_si256((__m256i)previous, (__m256i)a, 0x21), 8);
#elif defined(GPUALIGN_SSE41)
  return (Words)_mm_alignr_epi8((__m128i)a, (__m128i)previous, 8);
#elif defined(GPUALIGN_NEON)
  return (Words)vextq_u64((uint64x2_t)previous, (uint64x2_t)a, 1);
#else
  return Words{previous[1], a[0]};
#endif
}

// One byte a lane, 0 or 255, to a mask of the whole lane.
static inline Words load_lane_masks(const uint8_t* bytes) {
#if defined(GPUALIGN_AVX512)
  return (Words)_mm512_cvtepi8_epi64(_mm_loadl_epi64((const __m128i*)bytes));
#elif defined(GPUALIGN_AVX2)
  int32_t four;
  memcpy(&four, bytes, sizeof four);
  return (Words)_mm256_cvtepi8_epi64(_mm_cvtsi32_si128(four));
#else
  return Words{uint64_t(0) - (bytes[0] & 1), uint64_t(0) - (bytes[1] & 1)};
#endif
}

template <int kBits>
struct MyersKernel {
  static constexpr int kLanes = kVectorBytes / 8;
  static constexpr int kVectors = kVectorBytes == 64 ? 2 : 4;
  static constexpr int kWords = kLanes * kVectors;
  static constexpr int kStripRows = kWords * 64;

  struct Strip {
    Words pv[kVectors], mv[kVectors], query[kVectors][kBits];
    Words out_plus[kVectors], out_minus[kVectors];  // steps handed down by the previous column step, in bit 0
  };

  static int64_t run(const MyersArgs& a) {
    const int64_t m = a.rows, n = a.columns, delta = n - m;
    const int64_t low = (delta < 0 ? delta : 0) - a.width, high = (delta > 0 ? delta : 0) + a.width;
    memset(a.boundary, 1, static_cast<size_t>(n));  // row 0, and whatever lies right of the band: steps of +1
    int64_t corner = 0, start = 0;                  // distance at (row, start), the strip's upper left corner
    for (int64_t row = 0;; row += kStripRows) {
      if (a.cancel->requested) return -1;
      int64_t first = row + low < 0 ? 0 : row + low;
      for (int64_t c = start; c < first; c++) corner += step_of(a.boundary[c]);
      start = first;
      const int64_t stop = row + kStripRows + high < n ? row + kStripRows + high : n;
      const bool last = row + kStripRows >= m;
      int64_t right = corner;  // distance at (row, n), read before the strip overwrites its upper boundary
      if (last)
        for (int64_t c = start; c < n; c++) right += step_of(a.boundary[c]);
      Strip strip;
      load(strip, a.query + row, last ? m - row : kStripRows);
      sweep(strip, a, start, stop);
      if (last) return right + climb(strip, m - row);
      corner += kStripRows;
    }
  }

 private:
  static int step_of(uint8_t bits) { return (bits & 1) - (bits >> 1); }

  static void load(Strip& s, const uint8_t* query, int64_t rows) {
    for (int g = 0; g < kVectors; g++) {
      s.pv[g] = ~Words{};
      s.mv[g] = s.out_plus[g] = s.out_minus[g] = Words{};
      for (int b = 0; b < kBits; b++) {
        for (int k = 0; k < kLanes; k++) {
          const int64_t from = static_cast<int64_t>(g * kLanes + k) * 64;
          uint64_t word = 0;
          for (int64_t r = from; r < from + 64 && r < rows; r++) word |= static_cast<uint64_t>((query[r] >> b) & 1) << (r - from);
          s.query[g][b][k] = word;
        }
      }
    }
  }

  // Sum of the vertical steps of the strip's first `rows` rows in the last column.
  static int64_t climb(const Strip& s, int64_t rows) {
    int64_t sum = 0;
    for (int w = 0; w < kWords; w++) {
      const int64_t left = rows - static_cast<int64_t>(w) * 64;
      if (left <= 0) break;
      const uint64_t valid = left >= 64 ? ~uint64_t(0) : (uint64_t(1) << left) - 1;
      sum += __builtin_popcountll(s.pv[w / kLanes][w % kLanes] & valid) - __builtin_popcountll(s.mv[w / kLanes][w % kLanes] & valid);
    }
    return sum;
  }

  static void sweep(Strip& strip, const MyersArgs& a, int64_t start, int64_t stop) {
    const int64_t columns = stop - start;
    const int64_t full = kWords - 1 < columns ? kWords - 1 : columns;  // from here every word is inside, while t < columns
    Strip s = strip;
    int64_t t = 0;
    for (; t < full; t++) step<true>(s, a, start, columns, t);
    for (; t < columns; t++) step<false>(s, a, start, columns, t);
    for (; t < columns + kWords - 1; t++) step<true>(s, a, start, columns, t);
    strip = s;
  }

  template <bool kMasked>
  static inline __attribute__((always_inline)) void step(Strip& s, const MyersArgs& a, int64_t start, int64_t columns, int64_t t) {
    const uint8_t top = t < columns ? a.boundary[start + t] : 0;
    Words above_plus = broadcast<uint64_t>(top & 1), above_minus = broadcast<uint64_t>(top >> 1);
    const uint8_t* letters = a.target_bits + (a.columns - 1 - start - t);
#pragma GCC unroll 4
    for (int g = 0; g < kVectors; g++) {
      const Words in_plus = shift_lanes_up(s.out_plus[g], above_plus);
      const Words in_minus = shift_lanes_up(s.out_minus[g], above_minus);
      above_plus = s.out_plus[g];
      above_minus = s.out_minus[g];
      Words differ = s.query[g][0] ^ load_lane_masks(letters + g * kLanes);
#pragma GCC unroll 8
      for (int b = 1; b < kBits; b++) differ = xor_or(differ, s.query[g][b], load_lane_masks(letters + b * a.plane_bytes + g * kLanes));
      Words equal = ~differ;
      const Words pv = s.pv[g], mv = s.mv[g];
      const Words xv = equal | mv;
      equal |= in_minus;
      const Words xh = xor_and_or((equal & pv) + pv, equal, pv);
      Words ph = or_nor(mv, xh, pv), mh = pv & xh;
      Words out_plus = ph >> 63, out_minus = mh >> 63;
      ph = (ph + ph) | in_plus;
      mh = (mh + mh) | in_minus;
      Words pv_new = or_nor(mh, xv, ph), mv_new = ph & xv;
      if constexpr (kMasked) {
        Words inside;
        for (int k = 0; k < kLanes; k++) {
          const int64_t c = t - (g * kLanes + k);
          inside[k] = c >= 0 && c < columns ? ~uint64_t(0) : 0;
        }
        pv_new = (pv_new & inside) | (pv & ~inside);
        mv_new = (mv_new & inside) | (mv & ~inside);
        out_plus &= inside;
        out_minus &= inside;
      }
      s.pv[g] = pv_new;
      s.mv[g] = mv_new;
      s.out_plus[g] = out_plus;
      s.out_minus[g] = out_minus;
    }
    const int64_t done = t - (kWords - 1);  // the column that the strip's last word has just finished
    if (done >= 0)
      a.boundary[start + done] = static_cast<uint8_t>((s.out_plus[kVectors - 1] | (s.out_minus[kVectors - 1] << 1))[kLanes - 1]);
  }
};

static int64_t myers(const MyersArgs& a) {
  if (a.bits <= 2) return MyersKernel<2>::run(a);
  if (a.bits <= 4) return MyersKernel<4>::run(a);
  return MyersKernel<5>::run(a);
}

}  // namespace gpualign::GPUALIGN_ISA
