// Counts for pairs of samples with few words, such as the rows of a protein alignment, for one instruction set.
//
// The kernels of distance_kernels.hpp hold 64 * kWords sites of one pair in a vector, and add up its elements at the end. With few words,
// this sum, and padding to whole vectors, cost more than the counts. Here each element of a vector belongs to another pair: a word of a row
// is compared with the same word of kWords columns. Nothing is added up, and no word without sites is read. The words of a block of columns
// are first gathered into the L1 cache, where all rows of a tile use them.
//
// If pairs may be skipped (DistanceTile), the rest of a row is skipped as soon as its pairs with a block of columns all may be: unrelated
// rows exceed a threshold after one or two hundred sites.
#pragma once
#include "count_bits.hpp"
#include "distance.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int kBlockVectors = 4;                                  // vectors of columns in a block: share the loaded words of a row
constexpr int kBlockColumns = kBlockVectors * kWords;             // columns in a block
constexpr int64_t kGatheredBytes = 24 << 10;                      // words of a block of columns, at most: fit L1
constexpr int64_t kMaxLaneWords = 32;                             // beyond, vectors along the sites are as fast
constexpr int64_t kWordsPerCheck = 2;                             // words between two tests whether pairs may be skipped
typedef int32_t Counts __attribute__((vector_size(4 * kWords)));  // a count for each element of a vector

struct ColumnWords {
  const uint64_t* at;
  Words vector(int number, int v) const { return load(at + (number * kBlockVectors + v) * kWords); }
};

// ---- operations: the planes of a column, and the bits of a word of a row with that of each column
template <bool Masked>
struct DifferLanes {
  const int64_t* at;  // offsets of planes; if Masked, the last plane marks calls
  int planes;
  int64_t column_plane(int p) const { return at[p]; }
  void bits(const uint64_t* row, ColumnWords columns, Words* out) const {
    for (int v = 0; v < kBlockVectors; v++) out[v] = Words{};
    for (int p = 0; p < planes - Masked; p++) {
      const Words word = broadcast(row[at[p]]);
#pragma GCC unroll 4
      for (int v = 0; v < kBlockVectors; v++) out[v] = xor_or(out[v], word, columns.vector(p, v));
    }
    if (!Masked) return;
    const Words word = broadcast(row[at[planes - 1]]);
#pragma GCC unroll 4
    for (int v = 0; v < kBlockVectors; v++) out[v] = and3(out[v], word, columns.vector(planes - 1, v));
  }
};

struct BothLanes {
  int64_t left, right;
  static constexpr int planes = 1;
  int64_t column_plane(int) const { return right; }
  void bits(const uint64_t* row, ColumnWords columns, Words* out) const {
    const Words word = broadcast(row[left]);
#pragma GCC unroll 4
    for (int v = 0; v < kBlockVectors; v++) out[v] = word & columns.vector(0, v);
  }
};

// Returns whether an operation on this many planes is faster here.
static inline bool suits_lanes(const DistanceTile& tile, int planes) {
  return tile.words <= kMaxLaneWords && tile.words * planes * kBlockColumns * 8 <= kGatheredBytes;
}

// Returns whether all elements of a comparison's result are true.
static inline bool all_true(Words comparison) {
#if defined(GPUALIGN_AVX512)
  return _mm512_movepi64_mask((__m512i)comparison) == 0xFF;
#elif defined(GPUALIGN_AVX2)
  return _mm256_movemask_pd((__m256d)comparison) == 0xF;
#elif defined(GPUALIGN_SSE41)
  return _mm_movemask_pd((__m128d)comparison) == 3;
#else
  uint64_t all = ~uint64_t{0};
  for (int k = 0; k < kWords; k++) all &= comparison[k];
  return all;
#endif
}

// Returns whether all counts exceed a limit.
static inline bool all_exceed(const int32_t* counts, int64_t count, int32_t limit) {
  int32_t within = 0;
  for (int64_t k = 0; k < count; k++) within |= counts[k] <= limit;
  return !within;
}

// The limits of one row with a block of columns.
struct LaneLimits {
  bool skips;                 // whether all pairs may be skipped before anything is counted
  bool checks;                // whether all may be skipped once they exceed the limit of the counts that are added to
  Words room[kBlockVectors];  // what may be added to each count, as signed numbers
};

static inline LaneLimits lane_limits(const DistanceTile& tile, const int32_t* out, int64_t columns) {
  LaneLimits limits;
  limits.skips = limits.checks = tile.limit_count > 0;
  const int32_t* own = nullptr;
  int32_t max_count = 0;
  for (int k = 0; k < tile.limit_count; k++) {
    const int32_t* const counts = tile.limits[k].counts + (out - tile.out);
    const bool beyond = all_exceed(counts, columns, tile.limits[k].max_count);
    limits.skips &= beyond;
    if (counts == out) {
      own = out;
      max_count = tile.limits[k].max_count;
    } else {
      limits.checks &= beyond;
    }
  }
  limits.checks &= own && tile.weight > 0;
  if (!limits.checks) return limits;
  int64_t room[kBlockColumns];
  for (int64_t c = 0; c < kBlockColumns; c++) room[c] = c < columns ? int64_t{max_count} - own[c] : -1;
  std::memcpy(limits.room, room, sizeof room);
  return limits;
}

// Returns whether every pair's sum of bits, times the weight, exceeds its room.
static inline bool all_beyond(const LaneLimits& limits, const Words* sums, int32_t weight) {
  Words beyond = ~Words{};
#pragma GCC unroll 4
  for (int v = 0; v < kBlockVectors; v++) {
    const auto added = (Vec<int64_t>)(sums[v] * static_cast<uint64_t>(weight));
    beyond &= (Words)(added > (Vec<int64_t>)limits.room[v]);
  }
  return all_true(beyond);
}

// Adds the sums of a row's pairs with a block of columns to their counts.
static inline void add_sums(const Words* sums, int32_t weight, int32_t* out, int64_t columns) {
  int32_t added[kBlockColumns];
  for (int v = 0; v < kBlockVectors; v++) {
    const Counts counts = __builtin_convertvector(sums[v], Counts) * weight;
    std::memcpy(added + v * kWords, &counts, sizeof counts);
  }
  if (columns == kBlockColumns) {
    for (int c = 0; c < kBlockColumns; c++) out[c] += added[c];
  } else {
    for (int64_t c = 0; c < columns; c++) out[c] += added[c];
  }
}

// Adds the counts of an operation for all pairs of a tile for which `suits_lanes` is true.
template <class Operation>
static void count_lanes(const DistanceTile& tile, const Operation& operation) {
  alignas(64) uint64_t gathered[kGatheredBytes / 8];
  const auto smaller = [](int64_t a, int64_t b) { return a < b ? a : b; };
  for (int64_t first = tile.column_start; first < tile.column_stop; first += kBlockColumns) {
    const int64_t columns = smaller(kBlockColumns, tile.column_stop - first);
    // Beyond the edge the last column takes the place of missing ones, and its counts are discarded.
    for (int64_t c = 0; c < kBlockColumns; c++) {
      const uint64_t* const column = tile.planes.sample(first + smaller(c, columns - 1));
      for (int p = 0; p < operation.planes; p++)
        for (int64_t w = 0; w < tile.words; w++)
          gathered[(w * operation.planes + p) * kBlockColumns + c] = column[operation.column_plane(p) + w];
    }
    const int64_t row_stop = tile.upper ? smaller(tile.row_stop, first + columns) : tile.row_stop;
    for (int64_t row = tile.row_start; row < row_stop; row++) {
      int32_t* const out = tile.out + (row - tile.row_start) * tile.out_stride + first - tile.column_start;
      const LaneLimits limits = lane_limits(tile, out, columns);
      if (limits.skips) continue;
      const uint64_t* const words = tile.planes.sample(row);
      Words sums[kBlockVectors] = {};
      for (int64_t w = 0; w < tile.words; w++) {
        Words bits[kBlockVectors];
        operation.bits(words + w, {gathered + w * operation.planes * kBlockColumns}, bits);
#pragma GCC unroll 4
        for (int v = 0; v < kBlockVectors; v++) sums[v] += count_bits(bits[v]);
        if (limits.checks && w % kWordsPerCheck == kWordsPerCheck - 1 && all_beyond(limits, sums, tile.weight)) break;
      }
      add_sums(sums, tile.weight, out, columns);
    }
  }
}

}  // namespace gpualign::GPUALIGN_ISA
