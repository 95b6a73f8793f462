// Near pairs: the interface between the host and the variants of an instruction set.
#pragma once
#include "cpu/alignment/src/kernels.hpp"

namespace gpualign {

// ---- screening: one query against a panel of targets
constexpr int kPanel = 128;             // targets, one a lane
constexpr int kMostSketchBits = 32768;  // counts of them fit 16 bits

struct PanelMask {
  uint64_t bits[kPanel / 64];  // bit k: target k of the panel
};

// Common bits of the sketches of some queries and of a panel's targets. Both are in the variant's own form (pack_query, pack_panel).
struct CommonTask {
  const void* const* queries;  // [count]
  int count;
  const void* panel;
  int words;         // of a sketch, a power of two
  uint16_t* common;  // out [count][kPanel]
};

// ---- verification: the banded edit distance of many pairs, a pair a lane
constexpr int kBandJump = 16;   // columns until the band moves down by as many rows
constexpr int kMostPlanes = 5;  // bits of a code

// A record as bit planes: bit b of letter i is bit i % 64 of planes[b * words + i / 64]; bits beyond the last letter are 0.
struct Strand {
  const uint64_t* planes;
  int32_t length, words, count;  // letters; words of a plane; planes, further ones being 0
};

struct BandPair {
  Strand rows, columns;  // rows.length >= columns.length >= 1
  int32_t limit;         // rows.length - columns.length <= limit <= rows.length
};

struct BandTask {
  const BandPair* pairs;
  int64_t count;
  int planes;          // 2, 3 or 5: what band_planes() says of each pair, or more
  int words;           // of a lane, those of band_words() at least; kernels of one word do not look at it
  void* scratch;       // band_bytes(words), aligned for vectors
  int32_t* distances;  // out [count]: -1 above the pair's limit
  const Cancel* cancel;
};

// Words of `bits` bits that the band of a pair with this limit takes: at most limit + 1 diagonals and the rows of a jump.
static inline int64_t band_words(int64_t limit, int bits) { return (limit + kBandJump + bits - 1) / bits; }

// Planes that the kernel of a pair needs (near_band.hpp).
static inline int band_planes(const Strand& a, const Strand& b) {
  const int more = a.count > b.count ? a.count : b.count, fewer = a.count > b.count ? b.count : a.count;
  return more <= 2 ? 2 : more == 3 || fewer <= 2 ? 3 : kMostPlanes;
}

struct NearKernels {
  const char* name;
  int vector_bytes;
  bool counts_bits;  // vector popcount instructions
  // Lanes whose letter counts allow a distance of at most limits[lane]. query [letters], panel [letters][kPanel].
  PanelMask (*counts_allow)(const uint16_t* query, const uint16_t* panel, int letters, const uint16_t* limits);
  int64_t (*query_bytes)(int words);
  int64_t (*panel_bytes)(int words);
  void (*pack_query)(const uint64_t* sketch, int words, void* out);
  void (*pack_panel)(const uint64_t* const* sketches, int count, int words, void* out);
  void (*common)(const CommonTask& task);
  int (*common_of_pair)(const uint64_t* a, const uint64_t* b, int words);
  // Lanes where size - common[lane] <= ours[lane] and sizes[lane] - common[lane] <= theirs[lane]
  PanelMask (*sketches_allow)(const uint16_t* common, const uint16_t* sizes, uint16_t size, const uint16_t* ours, const uint16_t* theirs);
  int64_t (*band_bytes)(int words);
  // false if cancelled. For bands of one word of 32 bits, of one of 64, of several.
  bool (*band32)(const BandTask& task);
  bool (*band64)(const BandTask& task);
  bool (*band_wide)(const BandTask& task);
};

}  // namespace gpualign
