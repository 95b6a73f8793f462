// What threads.cu (forward pass) and trace_threads.cu (traceback) share.
//
// Macros
//   CELL     U16x2, H16x2, S32 or S64 (score.cuh)    IS_LOCAL, IS_AFFINE  true or false
//   ROWS     rows of a strip, a multiple of 4, 8 .. 60  LETTERS  letters with one for padding
//   PATHS    1: keep checkpoints and carries         TILE     columns between two checkpoints, 32
//   RESULT   integer type of a score                 OPEN, EXTEND, LIFT, LEVEL, FREE_QUERY, FREE_TARGET  see recurrence.cuh
#pragma once

#include "pipeline.cuh"
#include "recurrence.cuh"

struct ThreadArgs {
  const uint8_t* query_codes;
  const int64_t* query_offsets;   // [queries of the set + 1]
  const int32_t* queries;         // [query_count] records
  const int32_t* rows;            // [query_count] rows of `scores`
  const int32_t* items;           // [items] block * query_count + query, the most expensive first
  const uint32_t* letters;        // pack.cu: bytes 4 * code, [block][column / kColumns][thread][column % kColumns][pair]
  const int64_t* block_letters;   // [target_blocks] first word
  const int32_t* block_columns;   // [target_blocks] columns, a multiple of kColumns
  const int32_t* target_lengths;  // [target_count]
  const int32_t* table;           // [LETTERS][LETTERS] s' (recurrence.cuh), by query letter; the last one is that of dummy rows
  void* carries;                  // Carry [slots][column][thread], with PATHS [slots][strip][column][thread]
  void* edges;                    // with PATHS: checkpoints, Edge [slots][strip][column / TILE][row][thread]
  RESULT* scores;                 // [query_count][target_count]; local scores: 0 at first
  PipelineArgs pipeline;
  int64_t edge_stride;  // values of one slot
  int32_t query_count;
  int32_t target_count;
  uint32_t one;  // 1, but unknown to the compiler (multiply_add in portable.cuh)
};
SAME_AS_ON_HOST(ThreadArgs);

using Rules = Recurrence<CELL, IS_LOCAL, IS_AFFINE>;
using Cell = Rules::Cell;
using Value = Rules::Value;
constexpr int kWordRows = Cell::ROWS_A_WORD;  // rows of a word of the profile
constexpr int kColumns = 4 / Cell::PAIRS;     // columns of a word of letters

// Carry: what a strip passes to the next one for a column, H and with affine gaps F. Edge: what a checkpoint has for a row, H and with
// affine gaps E.
struct alignas(Rules::CARRIES * sizeof(Value)) Carry {
  Value value[Rules::CARRIES];
};
using Edge = Carry;

// Returns the score of a target letter in row `row` of the strip whose first row is `first`.
DEVICE int32_t row_score(const ThreadArgs& a, const uint8_t* query, int64_t first, int row, int letter) {
  const int64_t i = first + row;
  const int code = i < 1 ? LETTERS - 1 : query[i - 1];
  return a.table[code * LETTERS + letter];
}

// Fills the profile of the strip whose first row is `first` with `times` times the scores: [row / kWordRows][letter].
DEVICE void make_profile(Cell::ProfileWord* profile, const ThreadArgs& a, const uint8_t* query, int64_t first, int32_t times = 1) {
  for (int k = threadIdx.x; k < ROWS / kWordRows * LETTERS; k += blockDim.x) {
    const int word = k / LETTERS, letter = k % LETTERS;
    Cell::ProfileWord out = 0;
    for (int r = 0; r < kWordRows; r++) {
      const int32_t score = times * row_score(a, query, first, word * kWordRows + r, letter);
      out |= kWordRows == 1 ? static_cast<Cell::ProfileWord>(score) : static_cast<Cell::ProfileWord>(score & 0xff) << (8 * r);
    }
    profile[k] = out;
  }
}

// Values of a checkpoint (Edge), and checkpoints of a strip of `columns` columns.
DEVICE int64_t edge_tile() { return static_cast<int64_t>(ROWS) * blockDim.x; }
DEVICE int64_t edge_tiles(int columns) { return (columns + TILE - 1) / TILE; }
