// Filtering and verification of near pairs: the interface between the host and the kernels of an instruction set.
#pragma once
#include "cpu/alignment/src/kernels.hpp"

namespace gpualign {

// ---- screening: one query against a panel of targets
constexpr int kPanel = 128;            // targets, one per lane
constexpr int kMaxSketchBits = 32768;  // so that counts of them fit 16 bits

struct PanelMask {
  uint64_t bits[kPanel / 64];  // bit k: target k of the panel
};

// Counts the bits that the sketches of some queries share with those of a panel's targets. Both are in the variant's own form, as made
// by pack_query and pack_panel.
struct CommonTask {
  const void* const* queries;  // [count]
  int count;
  const void* panel;
  int words;         // 64-bit words of a sketch, a power of two
  uint16_t* common;  // out [count][kPanel]
};

// ---- verification: banded edit distances of many pairs, one pair per lane
constexpr int kColumnsPerShift = 16;  // columns after which the band moves down by as many rows
constexpr int kMaxCodePlanes = 5;     // bits of a code

// The bit planes of a record: bit b of letter i is bit i % 64 of planes[b * words + i / 64]. Bits beyond the last letter are 0.
struct RecordPlanes {
  const uint64_t* planes;
  int32_t length, words, count;  // letters; 64-bit words of a plane; planes stored (further ones are 0)
};

struct BandPair {
  RecordPlanes rows, columns;  // rows.length >= columns.length >= 1
  int32_t limit;               // at most rows.length. If whole records are compared, at least rows.length - columns.length
  int32_t overhang;            // letters of `columns` that may be left out at either end, if ends are free (near_band.hpp), else unused
  int32_t depths[2];           // letters of both records that may be left out at the start, and at the end, if ends are free
};

struct BandTask {
  const BandPair* pairs;
  int64_t count;
  int planes;          // 2, 3 or 5: at least band_planes() of each pair
  int words;           // of a lane, at least band_words() of each pair; ignored by kernels of one word
  void* scratch;       // band_bytes(words) bytes, aligned for vectors
  int32_t* distances;  // out [count]: edit distances (with free ends), -1 if above the limit of the pair
  const Cancel* cancel;
};

// Returns the words of `bits` bits that a band of at most diagonals + 1 diagonals takes, with the rows of a shift.
static inline int64_t band_words(int64_t diagonals, int bits) { return (diagonals + kColumnsPerShift + bits - 1) / bits; }

// Returns the planes that the kernel for a pair must have: 2, 3 or 5 (near_band.hpp).
static inline int band_planes(const RecordPlanes& a, const RecordPlanes& b) {
  const int larger = a.count > b.count ? a.count : b.count, smaller = a.count > b.count ? b.count : a.count;
  return larger <= 2 ? 2 : larger == 3 || smaller <= 2 ? 3 : kMaxCodePlanes;
}

// ---- distances along columns: substitution costs of one query and many targets (column_costs.hpp)
struct ColumnTask {
  const uint8_t* planes;          // [planes][2][stride]: letters of a position of all targets, first those below 16 (else 128), then the
                                  // others, less 16 (else 128)
  const int32_t* plane_of;        // [columns] plane of a column's letters
  const uint8_t* const* rows;     // [columns] costs of the query's letter with each letter, 32 bytes
  const int32_t* other_plane_of;  // [columns] the same of other letters, null: none. The lower of both costs is that of the column
  const uint8_t* const* other_rows;
  int columns;
  uint8_t limit;   // at most 253 - 2 times the largest cost
  int64_t count;   // targets, with padding a multiple of the bytes of any vector
  int64_t stride;  // at least count
};

struct NearKernels {
  const char* name;
  int vector_bytes;
  bool counts_bits;  // has vector popcount instructions
  // Returns the lanes whose letter counts allow a distance of at most limits[lane]. Shapes: query [letters], panel [letters][kPanel].
  PanelMask (*counts_allow)(const uint16_t* query, const uint16_t* panel, int letters, const uint16_t* limits);
  int64_t (*query_bytes)(int words);
  int64_t (*panel_bytes)(int words);
  void (*pack_query)(const uint64_t* sketch, int words, void* out);
  void (*pack_panel)(const uint64_t* const* sketches, int count, int words, void* out);
  void (*common)(const CommonTask& task);
  int (*common_of_pair)(const uint64_t* a, const uint64_t* b, int words);
  // Returns the lanes where size - common[lane] <= query_limits[lane] and sizes[lane] - common[lane] <= target_limits[lane].
  PanelMask (*sketches_allow)(const uint16_t* common, const uint16_t* sizes, uint16_t size, const uint16_t* query_limits,
                              const uint16_t* target_limits);
  int64_t (*band_bytes)(int words);
  // Run a task with bands of one word of 32 bits, one of 64, or several of 64. Return false if cancelled.
  bool (*band32)(const BandTask& task);
  bool (*band64)(const BandTask& task);
  bool (*band_wide)(const BandTask& task);
  bool (*band_free_ends)(const BandTask& task);  // one or several words of 64 bits
  // Stores the targets whose sum of costs is at most the limit, and these sums; returns their number. There is room for all targets.
  int64_t (*sum_columns)(const ColumnTask& task, uint32_t* lanes, uint8_t* sums);
};

}  // namespace gpualign
