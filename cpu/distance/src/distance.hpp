// Counts for pairs of samples from bit planes: the interface between the host and the kernels of an instruction set.
#pragma once
#include <cstdint>

namespace gpualign {

constexpr int kMaxPlanes = 32;  // planes of one sample in an operation: bits of a code
constexpr int kMaxLimits = 2;

// A limit on counts of the pairs of a tile, which have the layout of `out` and may be the same array: see DistanceTile.
struct CountLimit {
  const int32_t* counts;
  int32_t max_count;
};

// Planes of samples: plane p of sample s begins at sample(s) + p * plane_words.
struct SamplePlanes {
  const uint64_t* base;               // samples one after the other, `sample_words` apart, unless
  const uint64_t* const* samples;     // this says where each begins
  int64_t plane_words, sample_words;  // sample_words: a multiple of 8; bits beyond the sites are 0

  inline __attribute__((always_inline)) const uint64_t* sample(int64_t s) const { return samples ? samples[s] : base + s * sample_words; }
};

// A rectangle of pairs, and the planes of both samples.
struct DistanceTile {
  SamplePlanes planes;
  int64_t words;  // those that have sites
  int64_t row_start, row_stop, column_start, column_stop;
  int32_t* out;  // count of the first row and column
  int64_t out_stride;
  int32_t weight;
  bool upper;  // upper triangle only: counts of a row with earlier columns are not needed
  // A pair that exceeds all limits may be skipped, which leaves its counts too small. limit_count = 0: no pair may be skipped.
  CountLimit limits[kMaxLimits];
  int limit_count;

  // Returns whether pair r, c of the tile may be skipped. Inlined, because a copy with a variant's instructions must not serve the others.
  inline __attribute__((always_inline)) bool may_skip(int64_t r, int64_t c) const {
    for (int k = 0; k < limit_count; k++)
      if (limits[k].counts[r * out_stride + c] <= limits[k].max_count) return false;
    return limit_count > 0;
  }
};

// A rectangle of pairs, the planes of their samples, and the terms that pairs of genotypes add to their sums.
struct RelationshipTile {
  const uint64_t *one, *two, *called;  // [sample][word] sites with one and with two second alleles, and with a call (nullptr: all)
  int64_t sample_words, words;         // words: those that have sites
  int64_t row_start, row_stop, column_start, column_stop;
  const int64_t* terms;  // [3 x + y][64 sample_words]: term of a site for x and y second alleles
  int64_t* out;          // sum of the first row and column
  int64_t out_stride;
  bool upper;  // upper triangle only: sums of a row with earlier columns are not needed
};

struct DistanceKernels {
  const char* name;
  int vector_bytes;
  bool counts_bits;  // has vector popcount instructions
  // Adds weight * popcount(((x0 ^ y0) | (x1 ^ y1) | ...) & mx & my) to out; mask < 0: without mx and my.
  void (*differ)(const DistanceTile& tile, const int* planes, int count, int mask);
  // Adds weight * (popcount(l0 & r0) + popcount(l1 & r1) + ...) to out.
  void (*both)(const DistanceTile& tile, const int* left, const int* right, int count);
  // Adds the terms of the sites at which both samples have calls to out.
  void (*relate)(const RelationshipTile& tile);
};

}  // namespace gpualign
