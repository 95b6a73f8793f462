// Counts of pairs of samples from bit planes: the interface between the host and the variants of an instruction set.
#pragma once
#include <cstdint>

namespace gpualign {

constexpr int kMaxPlanes = 32;  // of one sample in an operation: the bits of a code
constexpr int kMaxLimits = 2;

// Counts of the tile's pairs, laid out as `out` is (which they may be), and the most that still matters: see DistanceTile.
struct CountLimit {
  const int32_t* counts;
  int32_t most;
};

// A rectangle of pairs, and where the planes of both samples lie: plane p of sample s is base + p * plane_words + s * sample_words.
struct DistanceTile {
  const uint64_t* base;
  int64_t plane_words, sample_words;  // sample_words: a multiple of 8, zero beyond the sites
  int64_t row_start, row_stop, column_start, column_stop;
  int32_t* out;  // of the first row and column
  int64_t out_stride;
  int32_t weight;
  bool upper;  // counts of a row with earlier columns are not wanted
  // Pairs that are beyond all of so many limits may be left, with counts that are too small; limit_count 0: none may.
  CountLimit limits[kMaxLimits];
  int limit_count;

  // Whether pair r, c of the tile may be left.
  bool left(int64_t r, int64_t c) const {
    for (int k = 0; k < limit_count; k++)
      if (limits[k].counts[r * out_stride + c] <= limits[k].most) return false;
    return limit_count > 0;
  }
};

// A rectangle of pairs, the planes of one sample behind those of the one before, and what pairs of genotypes add to their sums.
struct RelationshipTile {
  const uint64_t *one, *two, *called;  // one and two second alleles; called: calls, nullptr: there are no others
  int64_t sample_words, words;         // words: that have sites
  int64_t row_start, row_stop, column_start, column_stop;
  const int64_t* terms;  // [3 x + y][64 sample_words]: of x and y second alleles
  int64_t* out;          // of the first row and column
  int64_t out_stride;
  bool upper;  // sums of a row with earlier columns are not wanted
};

struct DistanceKernels {
  const char* name;
  int vector_bytes;
  bool counts_bits;  // vector popcount instructions
  // out += weight * popcount(((x0 ^ y0) | (x1 ^ y1) | ...) & mx & my); mask < 0: none.
  void (*differ)(const DistanceTile& tile, const int* planes, int count, int mask);
  // out += weight * (popcount(l0 & r0) + popcount(l1 & r1) + ...)
  void (*both)(const DistanceTile& tile, const int* left, const int* right, int count);
  // out += the terms of the sites at which both have calls.
  void (*relate)(const RelationshipTile& tile);
};

}  // namespace gpualign
