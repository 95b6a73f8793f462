// Counts for pairs of samples from bit planes, for one instruction set. See core/distance/count_recipe.py for what is counted.
//
// A vector holds 64 * kWords sites. For each pair and vector an operation computes one vector of bits to count:
//   Differ      OR over planes of (x ^ y), AND the calls of both: 1 or 2 logic operations per plane
//   DifferMany  the same, plane by plane for a block of pairs: for more planes than registers hold, and for few words, where its lower
//               start-up cost matters
//   Both        x & y
// Samples with few words are left to lane_kernels.hpp.
// Counting dominates the cost. With vector popcounts, a block of kRows x kColumns pairs keeps a vector of sums for each pair in registers,
// so that a loaded vector serves several pairs. Without them, a carry-save adder tree (Harley and Seal; Mula, Kurz, Lemire 2018,
// https://doi.org/10.1093/comjnl/bxx046) reduces eight vectors to one to be counted: 7 adders of 5 operations, or 2 with ternary logic.
//
// Sites are cut into chunks, so that the planes of a few columns stay in the L1 cache and those of a block of rows in L2. Sums of a chunk
// are far below 2^31; the host ensures that totals are, too.
//
// If pairs may be skipped (DistanceTile), a block is skipped as soon as all of its pairs may be. Chunks then begin short, as unrelated
// pairs exceed a threshold after few sites, and soon become long for the other pairs, for which sums of long chunks cost less.
#pragma once
#include "count_bits.hpp"
#include "cpu/src/simd.hpp"
#include "distance.hpp"
#include "lane_kernels.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int64_t kChunkWords = 256;   // 16,384 sites: 2 KB per plane and sample
constexpr int64_t kLineWords = 8;      // words of a cache line; sample_words is a multiple
constexpr int64_t kFirstWords = 64;    // first chunk of a tile whose pairs may be skipped
constexpr int64_t kCachedColumns = 4;  // fit L1: 24 KB of three planes
constexpr int64_t kCachedRows = 64;    // fit L2: 384 KB of three planes

static inline int32_t sum(Words v) {
#if defined(GPUALIGN_AVX512)
  return static_cast<int32_t>(_mm512_reduce_add_epi64((__m512i)v));
#endif
  uint64_t out = 0;
  for (int k = 0; k < kWords; k++) out += v[k];
  return static_cast<int32_t>(out);
}

// Adds three bits at each position: high:low = a + b + c.
static inline void add_bits(Words& high, Words& low, Words a, Words b, Words c) {
#if defined(GPUALIGN_AVX512)
  high = (Words)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, 0xE8);
  low = (Words)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, 0x96);
#else
  const Words half = a ^ b;
  high = (a & b) | (half & c);
  low = half ^ c;
#endif
}

constexpr int kFewPlanes = 4;  // Differ serves up to this many planes, and is faster than DifferMany beyond kShortWords
constexpr int64_t kShortWords = 64;
// Blocks of pairs share loads; 4 x 4 sums leave half of the 32 registers to operands.
constexpr int kBlock = kCountsBits ? 4 : 1;

// ---- operations: the vectors of a row and of a column, and the bits of their pair
template <int Planes, bool Masked>
struct Differ {
  static constexpr int kRows = kBlock, kColumns = kBlock;
  static constexpr int64_t chunk() { return kChunkWords; }
  int64_t at[Planes], mask;  // offsets of planes
  struct Sample {
    Words bits[Planes], calls;
  };
  Sample row(const uint64_t* from) const {
    Sample out;
    for (int p = 0; p < Planes; p++) out.bits[p] = load(from + at[p]);
    if (Masked) out.calls = load(from + mask);
    return out;
  }
  Sample column(const uint64_t* from) const { return row(from); }
  static Words bits(const Sample& x, const Sample& y) {
    Words out = x.bits[0] ^ y.bits[0];
    for (int p = 1; p < Planes; p++) out = xor_or(out, x.bits[p], y.bits[p]);
    if (Masked) out = and3(out, x.calls, y.calls);
    return out;
  }
};

// mask: as in Differ. All planes of a chunk take as much of the caches as three planes of kChunkWords.
template <bool Masked>
struct DifferMany {
  static constexpr int kRows = kCountsBits ? 4 : 2, kColumns = 2;
  int64_t chunk() const {
    const int64_t lines = 3 * kChunkWords / (count + 1) / kLineWords;
    return kLineWords * (lines ? lines : 1);
  }
  int64_t at[kMaxPlanes], mask;
  int count;
};

struct Both {
  static constexpr int kRows = kBlock, kColumns = kBlock;
  static constexpr int64_t chunk() { return kChunkWords; }
  int64_t left, right;
  using Sample = Words;
  Words row(const uint64_t* from) const { return load(from + left); }
  Words column(const uint64_t* from) const { return load(from + right); }
  static Words bits(Words x, Words y) { return x & y; }
};

// ---- pairs of a block over a chunk of words
template <class Operation>
static inline void count_block(const Operation& operation, const uint64_t* const* x, const uint64_t* const* y, int64_t words,
                               int32_t* counts) {
#if defined(__AVX512VPOPCNTDQ__) && defined(GPUALIGN_AVX512)
  constexpr int kRows = Operation::kRows, kColumns = Operation::kColumns;
  Words sums[kRows][kColumns] = {};
  for (int64_t w = 0; w < words; w += kWords) {
    typename Operation::Sample rows[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++) rows[r] = operation.row(x[r] + w);
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; c++) {
      const typename Operation::Sample column = operation.column(y[c] + w);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; r++) sums[r][c] += count_bits(Operation::bits(rows[r], column));
    }
  }
  for (int r = 0; r < kRows; r++)
    for (int c = 0; c < kColumns; c++) counts[r * kColumns + c] = sum(sums[r][c]);
#else
  const uint64_t *a = x[0], *b = y[0];
  Words ones{}, twos{}, fours{}, total{};
  int64_t w = 0;
  for (; w + 8 * kWords <= words; w += 8 * kWords) {
    const auto at = [&](int k) { return Operation::bits(operation.row(a + w + k * kWords), operation.column(b + w + k * kWords)); };
    Words two_a, two_b, four_a, four_b, eight;
    // The carried vector is the last operand: it waits for one operation of each adder only.
    add_bits(two_a, ones, at(0), at(1), ones);
    add_bits(two_b, ones, at(2), at(3), ones);
    add_bits(four_a, twos, two_a, two_b, twos);
    add_bits(two_a, ones, at(4), at(5), ones);
    add_bits(two_b, ones, at(6), at(7), ones);
    add_bits(four_b, twos, two_a, two_b, twos);
    add_bits(eight, fours, four_a, four_b, fours);
    total += count_bits(eight);
  }
  total = total * 8;
  if (w) total += 4 * count_bits(fours) + 2 * count_bits(twos) + count_bits(ones);
  for (; w < words; w += kWords) total += count_bits(Operation::bits(operation.row(a + w), operation.column(b + w)));
  counts[0] = sum(total);
#endif
}

// Counts the pairs of a block over a chunk, combining bits plane by plane: two rows and two columns share the loaded vectors between four
// pairs.
template <bool Masked>
static inline void count_block(const DifferMany<Masked>& operation, const uint64_t* const* x, const uint64_t* const* y, int64_t words,
                               int32_t* counts) {
  constexpr int kRows = DifferMany<Masked>::kRows, kColumns = DifferMany<Masked>::kColumns;
  Words sums[kRows][kColumns] = {};
  for (int64_t w = 0; w < words; w += kWords) {
    Words bits[kRows][kColumns] = {}, rows[kRows];
    for (int p = 0; p < operation.count; p++) {
      const int64_t at = operation.at[p] + w;
#pragma GCC unroll 4
      for (int r = 0; r < kRows; r++) rows[r] = load(x[r] + at);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; c++) {
        const Words column = load(y[c] + at);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) bits[r][c] = xor_or(bits[r][c], rows[r], column);
      }
    }
    if (Masked) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; r++) rows[r] = load(x[r] + operation.mask + w);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; c++) {
        const Words column = load(y[c] + operation.mask + w);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) bits[r][c] = and3(bits[r][c], rows[r], column);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; c++) sums[r][c] += count_bits(bits[r][c]);
  }
  for (int r = 0; r < kRows; r++)
    for (int c = 0; c < kColumns; c++) counts[r * kColumns + c] = sum(sums[r][c]);
}

// Adds the counts of an operation for all pairs of a tile.
template <class Operation>
static void count_tile(const DistanceTile& tile, const Operation& operation) {
  constexpr int kRows = Operation::kRows, kColumns = Operation::kColumns;
  const auto smaller = [](int64_t a, int64_t b) { return a < b ? a : b; };
  const int64_t max_words = operation.chunk();
  int64_t longest = tile.limit_count ? smaller(kFirstWords, max_words) : max_words;
  for (int64_t first = 0, words; first < tile.planes.sample_words; first += words, longest = smaller(2 * longest, max_words)) {
    words = smaller(tile.planes.sample_words - first, longest);
    const auto sample = [&](int64_t s) { return tile.planes.sample(s) + first; };
    const auto may_skip = [&](int64_t row, int64_t column) {
      if (!tile.limit_count) return false;
      for (int64_t r = row; r < smaller(row + kRows, tile.row_stop); r++)
        for (int64_t c = column; c < smaller(column + kColumns, tile.column_stop); c++)
          if (!tile.may_skip(r - tile.row_start, c - tile.column_start)) return false;
      return true;
    };
    const auto count = [&](int64_t row, int64_t column) {
      const uint64_t *x[kRows], *y[kColumns];
      // Beyond the edge the last sample takes the place of missing ones, and its counts are discarded.
      for (int r = 0; r < kRows; r++) x[r] = sample(smaller(row + r, tile.row_stop - 1));
      for (int c = 0; c < kColumns; c++) y[c] = sample(smaller(column + c, tile.column_stop - 1));
      int32_t counts[kRows * kColumns];
      count_block(operation, x, y, words, counts);
      for (int r = 0; r < kRows && row + r < tile.row_stop; r++)
        for (int c = 0; c < kColumns && column + c < tile.column_stop; c++)
          tile.out[(row + r - tile.row_start) * tile.out_stride + column + c - tile.column_start] += tile.weight * counts[r * kColumns + c];
    };
    for (int64_t rows = tile.row_start; rows < tile.row_stop; rows += kCachedRows)
      for (int64_t columns = tile.column_start; columns < tile.column_stop; columns += kCachedColumns)
        for (int64_t row = rows; row < smaller(rows + kCachedRows, tile.row_stop); row += kRows)
          for (int64_t column = columns; column < smaller(columns + kCachedColumns, tile.column_stop); column += kColumns)
            if ((!tile.upper || column + kColumns > row) && !may_skip(row, column)) count(row, column);
  }
}

template <int Planes, bool Masked>
static void differ_of(const DistanceTile& tile, const int* planes, int mask) {
  Differ<Planes, Masked> operation;
  for (int p = 0; p < Planes; p++) operation.at[p] = planes[p] * tile.planes.plane_words;
  operation.mask = mask * tile.planes.plane_words;
  count_tile(tile, operation);
}

template <bool Masked>
static void differ_many(const DistanceTile& tile, const int* planes, int count, int mask) {
  DifferMany<Masked> operation;
  for (int p = 0; p < count; p++) operation.at[p] = planes[p] * tile.planes.plane_words;
  operation.mask = mask * tile.planes.plane_words;
  operation.count = count;
  count_tile(tile, operation);
}

template <int Planes>
static void differ_planes(const DistanceTile& tile, const int* planes, int count, int mask) {
  if constexpr (Planes <= kFewPlanes) {
    if (count != Planes) return differ_planes<Planes + 1>(tile, planes, count, mask);
    return mask < 0 ? differ_of<Planes, false>(tile, planes, mask) : differ_of<Planes, true>(tile, planes, mask);
  }
}

static void differ(const DistanceTile& tile, const int* planes, int count, int mask) {
  if (suits_lanes(tile, count + (mask >= 0))) {
    int64_t at[kMaxPlanes + 1];
    for (int p = 0; p < count; p++) at[p] = planes[p] * tile.planes.plane_words;
    at[count] = mask * tile.planes.plane_words;
    return mask < 0 ? count_lanes(tile, DifferLanes<false>{at, count}) : count_lanes(tile, DifferLanes<true>{at, count + 1});
  }
  if (count == 1 || (count <= kFewPlanes && tile.planes.sample_words > kShortWords)) return differ_planes<1>(tile, planes, count, mask);
  return mask < 0 ? differ_many<false>(tile, planes, count, mask) : differ_many<true>(tile, planes, count, mask);
}

static void both(const DistanceTile& tile, const int* left, const int* right, int count) {
  for (int k = 0; k < count; k++) {
    const int64_t of_row = left[k] * tile.planes.plane_words, of_column = right[k] * tile.planes.plane_words;
    if (suits_lanes(tile, 1)) {
      count_lanes(tile, BothLanes{of_row, of_column});
    } else {
      count_tile(tile, Both{of_row, of_column});
    }
  }
}

}  // namespace gpualign::GPUALIGN_ISA
