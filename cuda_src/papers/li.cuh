// What the kernels of Li et al. 2013 share ("A distributed CPU-GPU framework for pairwise alignments on large-scale sequence datasets"):
// global alignment with linear gaps. The whole matrix is copied to the host, which traces it.
//
// Equation 1:  M(i,j) = max(M(i-1,j-1) + S(x_i, y_j), M(i-1,j) + G, M(i,j-1) + G), G < 0, here `gap` = -G
//
// Matrices are row-major, (rows + 1) x (columns + 1) 32-bit integers, which hold every score: gpu/papers/li.py refuses other tasks. Row 0
// and column 0, which are gaps only, are filled on the device (section III.C names copying them as a cost of Rodinia's). Sequences may have
// different lengths.
#pragma once

#include "portable.cuh"

struct LiArgs {
  const uint8_t* queries;
  const uint8_t* targets;
  const int64_t* query_starts;   // [pairs] first letter of the query
  const int64_t* target_starts;  // [pairs] first letter of the target
  const int64_t* matrix_starts;  // [pairs] first element of the matrix
  const int32_t* rows;           // [pairs] letters of the query
  const int32_t* columns;        // [pairs] letters of the target
  const int32_t* table;          // [kLetters][kLetters]
  int32_t* matrices;
  int32_t gap;                // cost of a letter in a gap, 0 or more
  int32_t first_pair, pairs;  // of this launch
  int32_t diagonal;           // li_tiles.cu: the anti-diagonal of tiles of this launch
};
SAME_AS_ON_HOST(LiArgs);

constexpr int kLetters = 32;

struct LiPair {
  const uint8_t *query, *target;
  int32_t* matrix;
  int rows, columns, stride;
};

DEVICE LiPair li_pair(const LiArgs& a, int pair) {
  const int columns = a.columns[pair];
  return {a.queries + a.query_starts[pair],
          a.targets + a.target_starts[pair],
          a.matrices + a.matrix_starts[pair],
          a.rows[pair],
          columns,
          columns + 1};
}

DEVICE int larger(int a, int b) { return a > b ? a : b; }
