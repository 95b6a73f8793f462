// What kernels for global alignments of listed pairs share, each pair within a band of diagonals: trace_bands.cu and trace_sliced_bands.cu.
//
// Paths stay within the band. The host decides whether a path outside it could be better (cpu/alignment/src/band_bound.hpp).
//
// Macros: RESULT  type of a score     SIGN  -1 for distances, else 1
#pragma once

#include "path.cuh"

struct BandPair {
  int32_t query, target;  // records
  int32_t lowest;         // first diagonal, at most min(0, n - m); n - m is in the band as well
};
SAME_AS_ON_HOST(BandPair);

struct TraceBandArgs {
  const uint8_t* query_codes;
  const int64_t* query_offsets;  // [queries of the set + 1]
  const BandPair* pairs;         // [pair_count]
  const int32_t* table;          // [LETTERS][LETTERS] s' (recurrence.cuh), by query letter; the last letter is padding
  uint32_t* next;                // 0 at first: what warps have taken
  RESULT* scores;                // [pair_count]
  PathArgs path;                 // targets, target_numbers and first_targets are not read; matrix_stride: words of a team
  int32_t pair_count;
  uint32_t one;  // 1, but unknown to the compiler (multiply_add in portable.cuh)
};
SAME_AS_ON_HOST(TraceBandArgs);
