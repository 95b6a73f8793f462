// What bit-sliced alignments share between the way forward (bitsliced.cu) and the way back (trace_slices.cu).
//
// Macros: STEPS (S, 1 .. 4), MISMATCH (X), ROWS, COLUMNS (that are passed together), PLANES (bits of a letter), LETTERS, THREADS, PATHS
// (whether checkpoints are kept), TILE (columns between two of them), FREE_QUERY, FREE_TARGET (whether gaps at the ends of one are free;
// with PATHS), RESULT.
#pragma once

#include "pipeline.cuh"

struct SliceArgs {
  const uint8_t* query_codes;
  const int64_t* query_offsets;
  const int32_t* queries;         // [query_count] records
  const int32_t* rows;            // [query_count] where their scores go
  const int32_t* item_lanes;      // [items] see lane_of
  const int32_t* listed_lanes;    // [][THREADS]
  const uint32_t* planes;         // the letters' bits, as pack.cu makes them
  const int64_t* group_planes;    // [groups] first word
  const int32_t* group_columns;   // [groups] columns, a multiple of COLUMNS
  const int32_t* item_strips;     // [items]
  const int32_t* target_lengths;  // [target_count]
  uint32_t* carries;              // [slots][carry_stride]: [column][plane of v][thread]; with PATHS [strip] in front
  uint32_t* edges;                // with PATHS: [slots][edge_stride]: [strip][column / TILE][row][plane of u][thread]
  RESULT* scores;                 // [query_count][target_count]
  PipelineArgs pipeline;
  int64_t edge_stride;  // of one slot, in words
  int32_t query_count;
  int32_t target_count;
  int32_t sum_factor;  // score = sum_factor * (sum of v) + per_letter * (m + n)
  int32_t per_letter;
};
SAME_AS_ON_HOST(SliceArgs);

// group * query_count + query of a thread of an item, -1: none. Of most items the lanes follow each other downwards; the others' are
// listed. The first thread has the longest targets.
DEVICE int lane_of(const SliceArgs& a, int64_t item, int thread) {
  const int first = a.item_lanes[item];
  return first >= 0 ? first - thread : a.listed_lanes[static_cast<int64_t>(-1 - first) * THREADS + thread];
}

constexpr int kFurther = PLANES > 2 ? PLANES - 2 : 0;  // planes of letters from the fifth on

// What most columns need of 32 targets' letters: two bits; with further planes, which targets have a letter from the fifth on, and whether
// any has, or had COLUMNS before. A load takes all of it; two words of two columns are faster one by one (likewise registers).
struct alignas(kFurther ? 16 : COLUMNS == 1 ? 4 * PLANES : 4) PackedColumn {
  uint32_t word[kFurther ? 4 : PLANES];
};
constexpr int kNoLetter = LETTERS;  // the slot that no target's letter equals

// Words of an item's checkpoints from one tile to the next.
DEVICE int64_t edge_tile() { return static_cast<int64_t>(ROWS) * STEPS * THREADS; }
DEVICE int64_t edge_tiles(int columns) { return (columns + TILE - 1) / TILE; }
