// Filters that compare one query with a panel of targets, for one instruction set: letter counts and sketches.
//
// A panel is kPanel targets side by side, one per lane, so sums need no reduction across a vector, and thresholds are compared lane by
// lane. Common bits of two sketches are counted in one of two ways.
//   Look-up  Each nibble x of the query selects a table of 16 bytes with popcount(x & y) for each nibble y of a target. A byte shuffle
//            looks up as many targets as a vector has bytes: one shuffle and one addition for four bits of each (the in-register tables of
//            Andre, Kermarrec, Le Scouarnec 2015, https://doi.org/10.14778/2856318.2856324). ANDing whole rows and counting their bits by
//            shuffles takes two shuffles and six additions for as many bits, and a reduction.
//   Words    AND, vector popcount and addition for a word of each target, where vectors count their bits (and where there is no shuffle).
// Sketches are cut into chunks of words: a chunk of a panel stays in the L1 cache while all queries of a task use it.
#pragma once
#include "cpu/distance/src/count_bits.hpp"
#include "cpu/src/simd.hpp"
#include "near.hpp"

namespace gpualign::GPUALIGN_ISA {

using Shorts = Vec<uint16_t>;
constexpr int kShorts = kVectorBytes / 2;

static inline Shorts load_shorts(const uint16_t* from) {
  Shorts out;
  memcpy(&out, from, sizeof out);
  return out;
}

static inline void store_shorts(uint16_t* to, Shorts v) { memcpy(to, &v, sizeof v); }

// Returns a mask whose bit k says whether lane k of the panel has values(k) <= limits[k].
template <class Values>
static inline PanelMask at_most(const uint16_t* limits, const Values& values) {
  PanelMask mask = {};
#if defined(GPUALIGN_AVX512)
  for (int k = 0; k < kPanel; k += kShorts) {
    const uint64_t bits = _mm512_cmple_epu16_mask((__m512i)values(k), (__m512i)load_shorts(limits + k));
    mask.bits[k / 64] |= bits << (k % 64);
  }
#elif defined(GPUALIGN_AVX2)
  for (int k = 0; k < kPanel; k += 2 * kShorts) {
    const auto within = [&](int at) { return (__m256i)(subtract_saturating(values(at), load_shorts(limits + at)) == Shorts{}); };
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(within(k), within(k + kShorts)), 0xD8);
    mask.bits[k / 64] |= static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(packed))) << (k % 64);
  }
#elif defined(GPUALIGN_SSE41)
  for (int k = 0; k < kPanel; k += 2 * kShorts) {
    const auto within = [&](int at) { return (__m128i)(subtract_saturating(values(at), load_shorts(limits + at)) == Shorts{}); };
    const uint64_t bits = static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(within(k), within(k + kShorts))));
    mask.bits[k / 64] |= bits << (k % 64);
  }
#else
  for (int k = 0; k < kPanel; k += kShorts) {
    const Shorts within = (Shorts)(subtract_saturating(values(k), load_shorts(limits + k)) == Shorts{});
    for (int lane = 0; lane < kShorts; lane++) mask.bits[k / 64] |= static_cast<uint64_t>(within[lane] & 1) << (k % 64 + lane);
  }
#endif
  return mask;
}

static inline Shorts add_saturating(Shorts a, Shorts b) { return ~subtract_saturating(~a, b); }

// Returns the lanes in which neither sum of surpluses nor sum of deficits of letter counts exceeds the limit. An edit changes either sum by
// at most one, so no pair within the limit is lost; saturation only makes sums smaller.
static PanelMask counts_allow(const uint16_t* query, const uint16_t* panel, int letters, const uint16_t* limits) {
  return at_most(limits, [&](int k) {
    Shorts surplus{}, deficit{};
    for (int letter = 0; letter < letters; letter++) {
      const Shorts query_count = broadcast<uint16_t>(query[letter]), target_count = load_shorts(panel + letter * kPanel + k);
      surplus = add_saturating(surplus, subtract_saturating(query_count, target_count));
      deficit = add_saturating(deficit, subtract_saturating(target_count, query_count));
    }
    return maximum(surplus, deficit);
  });
}

// Returns the lanes in which both records lack few enough of the other's sketch bits: see NearKernels.
static PanelMask sketches_allow(const uint16_t* common, const uint16_t* sizes, uint16_t size, const uint16_t* query_limits,
                                const uint16_t* target_limits) {
  const Shorts query_size = broadcast<uint16_t>(size);
  PanelMask mask = at_most(query_limits, [&](int k) { return query_size - load_shorts(common + k); });
  const PanelMask target_mask = at_most(target_limits, [&](int k) { return load_shorts(sizes + k) - load_shorts(common + k); });
  for (int w = 0; w < kPanel / 64; w++) mask.bits[w] &= target_mask.bits[w];
  return mask;
}

// Returns the number of common bits of two sketches.
static int common_of_pair(const uint64_t* a, const uint64_t* b, int words) {
  int w = 0;
  uint64_t sum = 0;
  if (kCountsBits) {
    Words sums{};
    for (; w + kWords <= words; w += kWords) sums += count_bits(load(a + w) & load(b + w));
    for (int k = 0; k < kWords; k++) sum += sums[k];
  }
  for (; w < words; w++) sum += static_cast<uint64_t>(__builtin_popcountll(a[w] & b[w]));
  return static_cast<int>(sum);
}

#if defined(GPUALIGN_AVX2) || defined(GPUALIGN_SSE41) || defined(GPUALIGN_NEON) || \
    (defined(GPUALIGN_AVX512) && !defined(__AVX512VPOPCNTDQ__))

// Packed query: each nibble times 16, in a byte. Packed panel: [nibble][kPanel] bytes. In each vector of bytes the targets of the first
// half have the even bytes, those of the second half the odd ones: sums of 16 bits then come out in order.
constexpr int kNibbles = 16;        // nibbles of a word
constexpr int kChunkNibbles = 128;  // 16 KB of a panel
constexpr int kRunNibbles = 32;     // their sum fits a byte
constexpr int kGroups = kPanel / kVectorBytes;

// popcount(x & y) at [16 x + y].
struct NibbleTables {
  alignas(64) uint8_t rows[256];
  constexpr NibbleTables() : rows() {
    for (int x = 0; x < 16; x++)
      for (int y = 0; y < 16; y++)
        rows[16 * x + y] = static_cast<uint8_t>((x & y & 1) + (x & y & 2) / 2 + (x & y & 4) / 4 + (x & y & 8) / 8);
  }
};
static constexpr NibbleTables kNibbleTables;

static int64_t query_bytes(int words) { return static_cast<int64_t>(words) * kNibbles; }
static int64_t panel_bytes(int words) { return static_cast<int64_t>(words) * kNibbles * kPanel; }

static void pack_query(const uint64_t* sketch, int words, void* out) {
  uint8_t* to = static_cast<uint8_t*>(out);
  for (int w = 0; w < words; w++)
    for (int k = 0; k < kNibbles; k++) *to++ = static_cast<uint8_t>((sketch[w] >> (4 * k) & 15) << 4);
}

static void pack_panel(const uint64_t* const* sketches, int count, int words, void* out) {
  uint8_t* const panel = static_cast<uint8_t*>(out);
  for (int lane = 0; lane < kPanel; lane++) {
    const int target = lane % kVectorBytes, half = kVectorBytes / 2;
    uint8_t* to = panel + lane / kVectorBytes * kVectorBytes + (target < half ? 2 * target : 2 * (target - half) + 1);
    for (int w = 0; w < words; w++) {
      uint64_t word = lane < count ? sketches[lane][w] : 0;
      for (int k = 0; k < kNibbles; k++, to += kPanel, word >>= 4) *to = word & 15;
    }
  }
}

static void common(const CommonTask& task) {
  const int nibbles = task.words * kNibbles;
  const uint8_t* const panel = static_cast<const uint8_t*>(task.panel);
  for (int first = 0; first < nibbles; first += kChunkNibbles) {
    const int stop = first + kChunkNibbles < nibbles ? first + kChunkNibbles : nibbles;
    for (int q = 0; q < task.count; q++) {
      const uint8_t* const query = static_cast<const uint8_t*>(task.queries[q]);
      uint16_t* const out = task.common + static_cast<int64_t>(q) * kPanel;
      Shorts even[kGroups], odd[kGroups];
#pragma GCC unroll 8
      for (int g = 0; g < kGroups; g++) {
        even[g] = first ? load_shorts(out + g * kVectorBytes) : Shorts{};
        odd[g] = first ? load_shorts(out + g * kVectorBytes + kShorts) : Shorts{};
      }
      for (int run = first; run < stop; run += kRunNibbles) {
        Bytes sums[kGroups] = {};
        const int end = run + kRunNibbles < stop ? run + kRunNibbles : stop;
#pragma GCC unroll 4
        for (int n = run; n < end; n++) {
#pragma GCC unroll 8
          for (int g = 0; g < kGroups; g++) {
            Bytes target;
            memcpy(&target, panel + static_cast<int64_t>(n) * kPanel + g * kVectorBytes, sizeof target);
            sums[g] += look_up_16(kNibbleTables.rows + query[n], target);
          }
        }
#pragma GCC unroll 8
        for (int g = 0; g < kGroups; g++) {
          even[g] += (Shorts)sums[g] & broadcast<uint16_t>(255);
          odd[g] += (Shorts)sums[g] >> 8;
        }
      }
#pragma GCC unroll 8
      for (int g = 0; g < kGroups; g++) {
        store_shorts(out + g * kVectorBytes, even[g]);
        store_shorts(out + g * kVectorBytes + kShorts, odd[g]);
      }
    }
  }
}

#else

// Packed query: its words. Packed panel: [word][kPanel].
constexpr int kChunkWords = 16;                     // 16 KB of a panel
constexpr int kSums = kVectorBytes == 64 ? 16 : 4;  // vectors of sums in registers
constexpr int kSumLanes = kSums * kWords;

static int64_t query_bytes(int words) { return static_cast<int64_t>(words) * 8; }
static int64_t panel_bytes(int words) { return static_cast<int64_t>(words) * 8 * kPanel; }

static void pack_query(const uint64_t* sketch, int words, void* out) { memcpy(out, sketch, static_cast<size_t>(words) * 8); }

static void pack_panel(const uint64_t* const* sketches, int count, int words, void* out) {
  uint64_t* const panel = static_cast<uint64_t*>(out);
  for (int lane = 0; lane < kPanel; lane++)
    for (int w = 0; w < words; w++) panel[static_cast<int64_t>(w) * kPanel + lane] = lane < count ? sketches[lane][w] : 0;
}

static void common(const CommonTask& task) {
  const uint64_t* const panel = static_cast<const uint64_t*>(task.panel);
  for (int first = 0; first < task.words; first += kChunkWords) {
    const int stop = first + kChunkWords < task.words ? first + kChunkWords : task.words;
    for (int q = 0; q < task.count; q++) {
      const uint64_t* const query = static_cast<const uint64_t*>(task.queries[q]);
      for (int lane = 0; lane < kPanel; lane += kSumLanes) {
        Words sums[kSums] = {};
        for (int w = first; w < stop; w++) {
          const Words word = broadcast<uint64_t>(query[w]);
#pragma GCC unroll 16
          for (int k = 0; k < kSums; k++) sums[k] += count_bits(word & load(panel + static_cast<int64_t>(w) * kPanel + lane + k * kWords));
        }
        uint16_t* const out = task.common + static_cast<int64_t>(q) * kPanel + lane;
        for (int k = 0; k < kSums; k++) {
#if defined(GPUALIGN_AVX512)
          __m128i* const at = (__m128i*)(out + k * kWords);
          const __m128i counts = _mm512_cvtepi64_epi16((__m512i)sums[k]);
          _mm_storeu_si128(at, first ? _mm_add_epi16(_mm_loadu_si128(at), counts) : counts);
#else
          for (int i = 0; i < kWords; i++) out[k * kWords + i] = static_cast<uint16_t>((first ? out[k * kWords + i] : 0) + sums[k][i]);
#endif
        }
      }
    }
  }
}

#endif

}  // namespace gpualign::GPUALIGN_ISA
