// What bitsliced.cu (forward pass) and trace_slices.cu (traceback) share. bitsliced.cu has the glossary.
//
// Macros
//   STEPS     S, the largest step, 1 .. 4        MISMATCH  X, the shifted score of different letters, 0 .. S - 1
//   ROWS      rows of a strip, 12 .. 48          COLUMNS   columns computed together, 1 (S <= 2) or 2
//   PLANES    bits of a letter                   LETTERS   letters
//   THREADS   threads of a block, 64             PATHS     1: keep checkpoints and the carries of every strip
//   TILE      columns between checkpoints, 32    FREE_QUERY, FREE_TARGET  1: end gaps in the query, or target, are free; with PATHS
//   RESULT    integer type of a score
#pragma once

#include "pipeline.cuh"

struct SliceArgs {
  const uint8_t* query_codes;
  const int64_t* query_offsets;
  const int32_t* queries;         // [query_count] records
  const int32_t* rows;            // [query_count] rows of `scores`
  const int32_t* item_lanes;      // [items] see lane_of()
  const int32_t* listed_lanes;    // [][THREADS]
  const uint32_t* planes;         // the letters' bits, as pack.cu makes them
  const int64_t* group_planes;    // [groups] first word
  const int32_t* group_columns;   // [groups] columns, a multiple of COLUMNS
  const int32_t* item_strips;     // [items]
  const int32_t* target_lengths;  // [target_count]
  uint32_t* carries;              // [slots][carry_stride]: [column][plane of v][thread]; with PATHS [strip][column]...
  uint32_t* edges;                // with PATHS: checkpoints, [slots][edge_stride]: [strip][column / TILE][row][plane of u][thread]
  RESULT* scores;                 // [query_count][target_count]
  PipelineArgs pipeline;
  int64_t edge_stride;  // words of one slot
  int32_t query_count;
  int32_t target_count;
  int32_t sum_factor;  // score = sum_factor * (sum of v) + per_letter * (m + n)
  int32_t per_letter;
};
SAME_AS_ON_HOST(SliceArgs);

// Returns the lane of a thread of an item, group * query_count + query; -1: none. The lanes of most items are consecutive and descending;
// the others are listed. The first thread has the longest targets.
DEVICE int lane_of(const SliceArgs& a, int64_t item, int thread) {
  const int first = a.item_lanes[item];
  return first >= 0 ? first - thread : a.listed_lanes[static_cast<int64_t>(-1 - first) * THREADS + thread];
}

constexpr int kFurther = PLANES > 2 ? PLANES - 2 : 0;  // planes of letters from the fifth on

// What most columns need of the letters of 32 targets. Words 0 and 1: their two low bits. If there are further planes also word 2: the
// targets with a letter from the fifth on, and word 3: not 0 if there are any in this column or COLUMNS columns before it. One load takes
// all of it, except that with COLUMNS 2 columns of two words are faster word by word (benchmarks/log: G-041).
struct alignas(kFurther ? 16 : COLUMNS == 1 ? 4 * PLANES : 4) PackedColumn {
  uint32_t word[kFurther ? 4 : PLANES];
};
constexpr int kNoLetter = LETTERS;  // the slot of dummy rows, which no target matches

// Words of a checkpoint, and checkpoints of a strip of `columns` columns.
DEVICE int64_t edge_tile() { return static_cast<int64_t>(ROWS) * STEPS * THREADS; }
DEVICE int64_t edge_tiles(int columns) { return (columns + TILE - 1) / TILE; }
