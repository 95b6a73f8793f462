// Edit distance of one pair: Myers' bit vectors, 64 rows per word, with the words of a strip in the lanes of vectors.
//
// Step of one word from column j - 1 to column j (Myers 1999; blocks as in Hyyro 2003). Bit r of every vector is a row of the word:
//   Eq      match mask: rows whose letter equals the letter of the column
//   VP, VN  rows i where D(i,j) - D(i-1,j) is +1, -1
//   D0      rows where D(i,j) = D(i-1,j-1)
//   HP, HN  rows where D(i,j) - D(i,j-1) is +1, -1
// With HP_in, HN_in the horizontal step of the row above the word, as one bit each:
//   D0 = (((X & VP) + VP) ^ VP) | X | VN, X = Eq | HN_in;  HP = VN | ~(D0 | VP);  HN = D0 & VP;  HP_out, HN_out = their top bits
//   HP = HP << 1 | HP_in;  HN = HN << 1 | HN_in;  VP = HN | ~(D0 | HP);  VN = D0 & HP
// The code uses two shorter forms of D0, with Myers' names.
//   Xh = (((X & VP) + VP) ^ VP) | X is D0 without VN. It gives the same HP and HN, as VN is OR-ed to HP anyway and VP & VN = 0.
//   Xv = Eq | VN. It gives the same new VP and VN: where D0 has a row that Xv lacks, the step above is -1, so there HN << 1 | HN_in is 1
//   and HP << 1 | HP_in is 0, and VP becomes 1 and VN 0 with either.
//
// Mapping. Word w of a strip is lane w % L of vector w / L and computes column t - w in step t. So the horizontal step that a word hands
// down is needed by the next word in the very next step: one shift by a lane, and no memory. kVectors vectors run side by side to hide the
// latency of the addition. Lanes that have not started or have ended keep their state (masked steps).
//
// Match mask without tables. Bit b of the query letters of a word is a plane Q_b, bit b of the target letter a mask T_b of all ones or
// zeros, and Eq = ~OR_b (Q_b ^ T_b). It needs no gather and serves any alphabet.
//
// Band (Ukkonen 1985). Only the diagonals j - i in [min(0, n-m) - width, max(0, n-m) + width] are computed, rounded out to strips. Steps
// that enter from outside are taken as +1, which no real path exceeds, so the result is an upper bound. A result of at most |n-m| + 2 width
// + 1 is exact, since every path of that cost stays inside the band.
#pragma once
#include "cpu/src/simd.hpp"
#include "kernels.hpp"

namespace gpualign::GPUALIGN_ISA {

// Returns [previous[last], a[0], ..., a[last-1]].
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

// Expands one byte per lane, 0 or 255, to a mask of the whole lane.
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

// The kernel for codes of kBits bits.
template <int kBits>
struct MyersKernel {
  static constexpr int kLanes = kVectorBytes / 8;
  static constexpr int kVectors = kVectorBytes == 64 ? 2 : 4;
  static constexpr int kWords = kLanes * kVectors;
  static constexpr int kStripRows = kWords * 64;

  struct Strip {
    Words vp[kVectors], vn[kVectors];          // of the last column that each word has computed
    Words query[kVectors][kBits];              // planes of the query letters
    Words hp_out[kVectors], hn_out[kVectors];  // horizontal step below each word in that column, in bit 0
  };

  // Returns an upper bound of the edit distance, exact if at most |n-m| + 2 width + 1; -1 if cancelled.
  static int64_t run(const MyersArgs& a) {
    const int64_t m = a.rows, n = a.columns, delta = n - m;
    const int64_t low = (delta < 0 ? delta : 0) - a.width, high = (delta > 0 ? delta : 0) + a.width;
    memset(a.boundary, 1, static_cast<size_t>(n));  // steps of +1 in row 0, and wherever the band has no row above
    int64_t corner = 0, start = 0;                  // D(row, start), at the upper left corner of the strip
    for (int64_t row = 0;; row += kStripRows) {
      if (a.cancel->requested) return -1;
      int64_t first = row + low < 0 ? 0 : row + low;
      for (int64_t c = start; c < first; c++) corner += step_of(a.boundary[c]);
      start = first;
      const int64_t stop = row + kStripRows + high < n ? row + kStripRows + high : n;
      const bool last = row + kStripRows >= m;
      int64_t right = corner;  // D(row, n), summed before the strip overwrites its upper boundary
      if (last)
        for (int64_t c = start; c < n; c++) right += step_of(a.boundary[c]);
      Strip strip;
      load(strip, a.query + row, last ? m - row : kStripRows);
      sweep(strip, a, start, stop);
      if (last) return right + sum_last_column(strip, m - row);
      corner += kStripRows;
    }
  }

 private:
  // Returns the step that a byte of the boundary holds: bit 0 is +1, bit 1 is -1.
  static int step_of(uint8_t bits) { return (bits & 1) - (bits >> 1); }

  // Sets the planes of `rows` query letters, and VP to +1 in every row, which is column 0 (or what enters the band from its left).
  static void load(Strip& s, const uint8_t* query, int64_t rows) {
    for (int g = 0; g < kVectors; g++) {
      s.vp[g] = ~Words{};
      s.vn[g] = s.hp_out[g] = s.hn_out[g] = Words{};
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

  // Returns the sum of the vertical steps of the strip's first `rows` rows in the last column.
  static int64_t sum_last_column(const Strip& s, int64_t rows) {
    int64_t sum = 0;
    for (int w = 0; w < kWords; w++) {
      const int64_t remaining = rows - static_cast<int64_t>(w) * 64;
      if (remaining <= 0) break;
      const uint64_t valid = remaining >= 64 ? ~uint64_t(0) : (uint64_t(1) << remaining) - 1;
      sum += __builtin_popcountll(s.vp[w / kLanes][w % kLanes] & valid) - __builtin_popcountll(s.vn[w / kLanes][w % kLanes] & valid);
    }
    return sum;
  }

  // Computes the columns start .. stop-1 of a strip. The boundary is read as the steps above it and left as those below it.
  static void sweep(Strip& strip, const MyersArgs& a, int64_t start, int64_t stop) {
    const int64_t columns = stop - start;
    const int64_t full = kWords - 1 < columns ? kWords - 1 : columns;  // from this step on, while t < columns, every word is at a column
    Strip s = strip;
    int64_t t = 0;
    for (; t < full; t++) step<true>(s, a, start, columns, t);
    for (; t < columns; t++) step<false>(s, a, start, columns, t);
    for (; t < columns + kWords - 1; t++) step<true>(s, a, start, columns, t);
    strip = s;
  }

  // Advances every word by one column, except for words at a column outside 0 .. columns-1. kMasked: there may be such words.
  template <bool kMasked>
  static inline __attribute__((always_inline)) void step(Strip& s, const MyersArgs& a, int64_t start, int64_t columns, int64_t t) {
    const uint8_t top = t < columns ? a.boundary[start + t] : 0;
    Words hp_above = broadcast<uint64_t>(top & 1), hn_above = broadcast<uint64_t>(top >> 1);
    const uint8_t* letters = a.target_bits + (a.columns - 1 - start - t);
#pragma GCC unroll 4
    for (int g = 0; g < kVectors; g++) {
      const Words hp_in = shift_lanes_up(s.hp_out[g], hp_above);
      const Words hn_in = shift_lanes_up(s.hn_out[g], hn_above);
      hp_above = s.hp_out[g];
      hn_above = s.hn_out[g];
      Words differ = s.query[g][0] ^ load_lane_masks(letters + g * kLanes);
#pragma GCC unroll 8
      for (int b = 1; b < kBits; b++) differ = xor_or(differ, s.query[g][b], load_lane_masks(letters + b * a.plane_bytes + g * kLanes));
      Words eq = ~differ;
      const Words vp = s.vp[g], vn = s.vn[g];
      const Words xv = eq | vn;
      eq |= hn_in;
      const Words xh = xor_and_or((eq & vp) + vp, eq, vp);
      Words hp = or_nor(vn, xh, vp), hn = vp & xh;
      Words hp_out = hp >> 63, hn_out = hn >> 63;
      hp = (hp + hp) | hp_in;
      hn = (hn + hn) | hn_in;
      Words vp_next = or_nor(hn, xv, hp), vn_next = hp & xv;
      if constexpr (kMasked) {
        Words inside;
        for (int k = 0; k < kLanes; k++) {
          const int64_t c = t - (g * kLanes + k);
          inside[k] = c >= 0 && c < columns ? ~uint64_t(0) : 0;
        }
        vp_next = (vp_next & inside) | (vp & ~inside);
        vn_next = (vn_next & inside) | (vn & ~inside);
        hp_out &= inside;
        hn_out &= inside;
      }
      s.vp[g] = vp_next;
      s.vn[g] = vn_next;
      s.hp_out[g] = hp_out;
      s.hn_out[g] = hn_out;
    }
    const int64_t finished = t - (kWords - 1);  // the column that the last word of the strip has just finished
    if (finished >= 0)
      a.boundary[start + finished] = static_cast<uint8_t>((s.hp_out[kVectors - 1] | (s.hn_out[kVectors - 1] << 1))[kLanes - 1]);
  }
};

// Runs the kernel for the bits of the codes: see MyersKernel::run.
static int64_t myers(const MyersArgs& a) {
  if (a.bits <= 2) return MyersKernel<2>::run(a);
  if (a.bits <= 4) return MyersKernel<4>::run(a);
  return MyersKernel<5>::run(a);
}

}  // namespace gpualign::GPUALIGN_ISA
