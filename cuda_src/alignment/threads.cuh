// What a thread an alignment shares between the way forward (threads.cu) and the way back (trace_threads.cu).
//
// Macros: CELL (U16x2, H16x2, S32, S64), IS_LOCAL, IS_AFFINE, ROWS (a multiple of 4), LETTERS (with one for padding), PATHS (whether
// checkpoints are kept), TILE (columns between two of them), RESULT and the constants of recurrence.cuh.
#pragma once

#include "pipeline.cuh"
#include "recurrence.cuh"

struct ThreadArgs {
  const uint8_t* query_codes;
  const int64_t* query_offsets;   // [queries of the set + 1]
  const int32_t* queries;         // [query_count] records
  const int32_t* rows;            // [query_count] where their scores go
  const int32_t* items;           // [items] block * query_count + query, those that cost most first
  const uint32_t* letters;        // pack.cu: a byte of 4 * code each: [block][column / COLUMNS][thread] of COLUMNS * PAIRS
  const int64_t* block_letters;   // [target_blocks] first word
  const int32_t* block_columns;   // [target_blocks] columns, a multiple of COLUMNS
  const int32_t* target_lengths;  // [target_count]
  const int32_t* table;           // [LETTERS][LETTERS] s' (recurrence.cuh), by query letter; the last query letter is the dummy row's
  void* carries;                  // [slots][carry_stride]: [column][thread] of Carry; with PATHS [strip] in front
  void* edges;                    // with PATHS: [slots][edge_stride]: [strip][column / TILE][row][thread] of Edge
  RESULT* scores;                 // [query_count][target_count]; 0 at first where scores are local
  PipelineArgs pipeline;
  int64_t edge_stride;  // of one slot, in values
  int32_t query_count;
  int32_t target_count;
  uint32_t one;  // 1
};
SAME_AS_ON_HOST(ThreadArgs);

using Rules = Recurrence<CELL, IS_LOCAL, IS_AFFINE>;
using Cell = Rules::Cell;
using Value = Rules::Value;
constexpr int kWordRows = Cell::ROWS_A_WORD;
constexpr int kColumns = 4 / Cell::PAIRS;  // in a word of letters

// What a column hands down to the next strip: H, and with affine gaps F. At the left edge of a tile, of a row: H, and E.
struct alignas(Rules::CARRIES * sizeof(Value)) Carry {
  Value value[Rules::CARRIES];
};
using Edge = Carry;

// The score of a letter in a strip's row. first: the strip's first row.
DEVICE int32_t row_score(const ThreadArgs& a, const uint8_t* query, int64_t first, int row, int letter) {
  const int64_t i = first + row;
  const int code = i < 1 ? LETTERS - 1 : query[i - 1];
  return a.table[code * LETTERS + letter];
}

// Fills the profile of the strip whose first row is `first`, with so many times the scores.
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

// From one tile of an item's checkpoints to the next.
DEVICE int64_t edge_tile() { return static_cast<int64_t>(ROWS) * blockDim.x; }
DEVICE int64_t edge_tiles(int columns) { return (columns + TILE - 1) / TILE; }
