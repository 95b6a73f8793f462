// What the host hands to a kernel, and the table of kernels that each instruction-set variant exports.
// Plain structs and function pointers only: this header crosses the boundary between differently compiled files.
#pragma once
#include <cstdint>

namespace gpualign {

// A request to stop early, set by another thread. Kernels look at it once a strip of rows.
struct Cancel {
  volatile int requested = 0;
};

constexpr int kLetters = 32;        // codes a table has room for
constexpr int kColumnsAtATime = 4;  // packed targets are padded to a multiple of this many columns

// Functions of this header are static: variants compile them with instructions that others may lack, and the linker must not
// hand out such a copy.
static inline int64_t padded(int64_t columns) { return (columns + kColumnsAtATime - 1) / kColumnsAtATime * kColumnsAtATime; }

// One query against the lanes of one block of targets, by the difference recurrence (difference.hpp).
struct DifferenceArgs {
  const uint8_t* query;    // [rows] codes
  int64_t rows;            // m >= 1
  const uint8_t* codes;    // [columns][lanes] target codes; behind a target's end any code, its cells are not counted
  int64_t columns;         // multiple of kColumnsAtATime, at least the longest target
  const int64_t* lengths;  // [lanes] target lengths, 0 for an unused lane
  const uint32_t* table;   // [kLetters][kLetters] shifted scores s'', row = query letter; negative ones as two's complement
  int letters;             // codes in use: at most 16 allow the shorter look-up
  uint32_t open_extra;     // o = gap_open - gap_extend; 0 selects the linear recurrence
  void* boundary;          // scratch, boundary_bytes() of the variant
  int64_t* sums;           // out [lanes]: sum of the horizontal differences along the last row
  const Cancel* cancel;
};

// One query against one bit a target (bitsliced.hpp).
struct BitslicedArgs {
  const uint32_t* slots;  // [rows] byte offset of the row's letter within a column of masks
  int64_t rows;
  const void* masks;     // [columns][slots] one vector each: lanes whose target has that letter in this column
  int64_t column_bytes;  // bytes from a column of masks to the next
  int64_t columns;       // multiple of kColumnsAtATime
  const void* live;      // [columns] one vector each: lanes whose target reaches this column
  int match_steps;       // S: shifted match score
  int mismatch_steps;    // X: shifted mismatch score, X < S
  void* boundary;        // scratch: columns * S vectors
  int64_t* sums;         // out [lanes]: sum of the horizontal differences along the last row
  const Cancel* cancel;
};

// Several queries, each with the same targets: query q is element q, a bit a target (query_slices.hpp). E: an element.
struct QuerySlicesArgs {
  const void* letters;      // E[rows][queries] which element of a column's tables, as SliceShape has it; rows end together
  const uint32_t* dummies;  // [queries] first rows that are none of the query's
  int64_t rows;
  const void* tables;    // [columns][tables_a_column] tables: which targets have that letter; at least one element of none
  int tables_a_column;   // 1 or 2
  const uint32_t* live;  // [columns] targets that reach this column
  int64_t columns;       // multiple of kColumnsAtATime
  int match_steps, mismatch_steps;
  void* boundary;  // scratch: columns * S vectors
  int64_t* sums;   // out [queries][targets], as in BitslicedArgs
  const Cancel* cancel;
};

// How several queries share a vector: elements of so many bits, for as many targets, and a column's tables of so many elements, of which
// the queries' elements are picked. by_bytes: an element of a table is named by the places of its bytes, or else by its number.
struct SliceShape {
  int bits, table_elements;
  bool by_bytes;
};

// One query against one bit a target, for tracebacks of edit distances (sliced_grid.hpp). V: a vector of bits.
struct SlicedGridArgs {
  const uint32_t* slots;  // these five as in BitslicedArgs
  int64_t rows;
  const void* masks;
  int64_t column_bytes;
  int64_t columns;
  void* row_v;     // V[strips + 1][columns][2]: planes of v above each strip of kWordRows rows; the last ones are not read
  void* column_u;  // V[tiles of kWordRows columns][rows][2]: planes of u left of each tile
  const Cancel* cancel;
};

constexpr int kWordRows = 64;  // and columns of a tile: one bit of a word each

// Differences of D on the edges of one tile, of every lane: V[kWordRows] each, lane 64 w + b in word w of entry b.
struct SlicedEdges {
  void* plus_above;   // bit j: D(i,j) - D(i,j-1) is 1
  void* minus_above;  // -1
  void* plus_left;    // bit i: D(i,j) - D(i-1,j) is 1
  void* minus_left;   // -1
};

constexpr int kMostWordLanes = 8;  // 64-bit words of the widest vector

// Tiles of as many pairs as a vector has words, computed from their edges with directions. All have the same rows.
struct WordTileArgs {
  const uint64_t* equal;                                             // [kLetters] rows that hold the letter
  const uint8_t (*letters)[kWordRows];                               // [pairs][columns] of the targets; any codes behind their ends
  int64_t columns;                                                   // 1 .. kWordRows
  uint64_t plus_above[kMostWordLanes], minus_above[kMostWordLanes];  // each pair's words of SlicedEdges
  uint64_t plus_left[kMostWordLanes], minus_left[kMostWordLanes];
  uint64_t* diagonal;  // out [columns][pairs] rows whose best predecessors include the diagonal one; aligned
  uint64_t* up;        // likewise the upper one
};

// One pair, by Myers' words along a wavefront (myers.hpp).
struct MyersArgs {
  const uint8_t* query;        // [rows] codes
  int64_t rows;                // m >= 1
  const uint8_t* target_bits;  // [bits][plane_bytes] the target reversed, 0 or 255 by bit b of the code; points at its first
                               // letter, with kPlaneMargin readable bytes on either side of each plane
  int64_t plane_bytes;
  int bits;           // 2, 4 or 5: enough for every code of the pair
  int64_t columns;    // n >= 1
  int64_t width;      // diagonals beyond those of the corners that are computed on either side
  uint8_t* boundary;  // scratch: columns bytes
  const Cancel* cancel;
};

// One pair by the difference recurrence in bytes, along a wavefront (wavefront.hpp).
struct WavefrontArgs {
  const uint8_t* query;   // [rows] codes
  int64_t rows;           // m >= 1
  const uint8_t* target;  // [kColumnsAtATime][plane_bytes]: plane c holds the codes of columns c, c + kColumnsAtATime, ...
                          // in reverse order, padded to the same number of groups; points at the first plane's first
                          // code, with kPlaneMargin bytes of the padding code on either side of each plane
  int64_t plane_bytes;
  int64_t columns;        // n >= 1
  const uint32_t* table;  // as in DifferenceArgs; the padding code's column is 0
  int letters;            // codes in use, the padding code among them
  uint32_t open_extra;
  uint8_t* boundary;  // scratch: 2 * columns bytes, columns rounded up to kColumnsAtATime
  void* scratch;      // wavefront_bytes of the variant
  const Cancel* cancel;
};

// Checkpoints of one pair for a traceback, kept by the wavefront. Edges of tiles lie where the plan of the passes has lanes end
// (WavefrontPasses).
struct WavefrontGrid {
  uint32_t first_u, later_u, first_v, later_v;  // as in GridArgs
  int64_t tile_rows;                            // wanted; at least one lane's rows make a tile
  int64_t tile_columns;                         // multiple of kColumnsAtATime
  uint8_t* row_v;  // [tiles of rows + 1][padded columns]: v above each tile; the last ones are those of the last row
  uint8_t* row_y;
  uint8_t* column_u;  // [tiles of columns][rows]
  uint8_t* column_x;
};

// How the wavefront divides a query: passes of `lanes` strips of `depth` rows, the same for who runs it and who reads its grid.
struct WavefrontPass {
  int64_t depth;       // rows a lane
  int64_t tile_lanes;  // lanes whose rows make a tile
};
static inline WavefrontPass wavefront_pass(int64_t rows_left, int lanes, int most_depth, int64_t tile_rows) {
  const int64_t depth = (rows_left + lanes - 1) / lanes;
  WavefrontPass pass;
  pass.depth = depth < most_depth ? depth : most_depth;
  pass.tile_lanes = tile_rows > pass.depth ? tile_rows / pass.depth : 1;
  return pass;
}

constexpr int kBandShift = 2;  // bits of a target's letter beside which a query's letter stands, where nearly all are 0 .. 3

// One pair within a band of diagonals, by the difference recurrence in bytes (banded.hpp).
struct BandArgs {
  const uint8_t* query;    // [rows] codes in reverse order, moved up by kBandShift where `pairs`; lanes + kPlaneMargin bytes of the padding
                           // code, moved likewise, on either side
  int64_t rows;            // m >= 1
  const uint8_t* target;   // [columns] codes, with as many bytes of the padding code
  int64_t columns;         // n >= 1
  int64_t lowest;          // the first diagonal j - i: at most min(0, n - m), of the parity of n - m
  int64_t vectors;         // of lanes: diagonals lowest .. lowest + 2 * lanes - 2 are whole; they hold 0 and n - m
  bool pairs;              // scores are looked up by `table` where no letter of a vector is above 3
  const uint8_t* table;    // [16] shifted scores by query << kBandShift | target
  const uint8_t* letters;  // [letter_count] the query's codes, and the padding code
  int letter_count;
  int padding;                    // the padding code; below 16 where every code is
  const uint8_t* rows_of_scores;  // [kLetters][kLetters] shifted scores; 0 for the padding code
  uint32_t open_extra;
  void* scratch;        // 4 * vectors vectors, aligned
  uint8_t* directions;  // out [rows + columns - 1][lanes], from antidiagonal 2 on (grid.hpp)
  const Cancel* cancel;
};

constexpr int kGridRows = 128;  // of a tile

// The best score along a lane's last column, while rows pass. Starts as the score of row 0.
struct GridEnd {
  int64_t sum;  // H(i,n) of the last row that passed
  int64_t best;
  int64_t row;
};

// One query against the lanes of a block of targets, for a traceback (grid.hpp). E: the element, V: a vector of them.
struct GridArgs {
  const uint8_t* query;  // [rows] codes
  int64_t rows;
  const uint8_t* codes;    // [columns][lanes] target codes
  int64_t columns;         // multiple of kColumnsAtATime
  const int64_t* lengths;  // [lanes]
  const uint32_t* table;   // as in DifferenceArgs
  int letters;
  uint32_t open_extra, extend;
  uint32_t first_u, later_u;  // steps of the first column: of row 1, of later rows
  uint32_t first_v, later_v;  // steps of the first row
  int64_t tile_columns;       // multiple of kColumnsAtATime
  void* row_v;                // V[strips + 1][columns]: v above each strip; the last ones are those of the last row
  void* row_y;                // likewise y; not used with linear gaps
  void* column_u;             // V[tiles of columns][rows]: u left of each tile
  void* column_x;
  const int64_t* end_lanes;  // [lanes] in order of length, to look for the best cell of the last column; or null
  GridEnd* ends;             // [lanes]
  const Cancel* cancel;
};

// One query against the lanes of one block of targets, locally (local.hpp).
struct LocalArgs {
  const uint8_t* query;    // [rows] codes
  int64_t rows;            // m >= 1
  const uint8_t* codes;    // [columns][lanes] target codes, behind a target's end the padding code
  int64_t columns;         // multiple of kColumnsAtATime, at least the longest target
  const int64_t* lengths;  // [lanes] target lengths, 0 for an unused lane
  const int32_t* table;    // [kLetters][kLetters] scores, row = query letter; those of the padding code are negative
  int letters;             // codes in use, the padding code among them: at most 16 allow the shorter look-up
  bool byte_scores;        // every score fits a signed byte
  int64_t open, extend;    // equal ones select the linear recurrence
  void* boundary;          // scratch: 2 * columns vectors
  int64_t* best;           // out [lanes]: scores; in 8 and 16 bits the largest possible value stands for itself and all above
  // To find where scores are reached:
  const int64_t* wanted;  // [lanes] a score, or 0 in lanes that do not matter
  const int64_t* seeds;   // [lanes] row of the pair of letters that paths begin with, in column 0; or null
  bool rows_first;        // of several cells the one in the first row is taken, then in the first column; else the other way round
  int64_t* end_rows;      // out [lanes]: from 0, or -1 where the score is not reached
  int64_t* end_columns;
  const Cancel* cancel;
};

constexpr int kPlaneMargin = 64;  // bytes that a kernel of single pairs may read before and behind a plane

struct Kernels {
  const char* name;  // "avx512bw", "avx2", "sse41", "neon", "baseline"
  int vector_bytes;
  bool ternary_logic;
  int myers_rows;  // rows of one strip of the Myers kernel
  void (*difference8)(const DifferenceArgs&);
  void (*difference16)(const DifferenceArgs&);
  void (*difference32)(const DifferenceArgs&);
  void (*bitsliced)(const BitslicedArgs&);
  void (*query_slices)(const QuerySlicesArgs&);  // or null, and then there is no shape
  SliceShape slice_shape;
  // Single pairs. myers: an upper bound of the distance, exact if at most |n - m| + 2 * width + 1. wavefront: the sum of
  // the horizontal differences along the last row. Both -1 if cancelled.
  int64_t (*myers)(const MyersArgs&);
  int64_t (*wavefront)(const WavefrontArgs&);
  int64_t wavefront_bytes;
  // For tracebacks. grid_tile: the directions of `count` columns (even) from `column`, a multiple of tile_columns, of the strip
  // that begins at `row`: E[count][kGridRows / p][lanes], p = 2 rows an element (4 with linear gaps).
  void (*grid8)(const GridArgs&);
  void (*grid16)(const GridArgs&);
  void (*grid32)(const GridArgs&);
  void (*grid_tile8)(const GridArgs&, int64_t row, int64_t column, int64_t count, void* directions);
  void (*grid_tile16)(const GridArgs&, int64_t row, int64_t column, int64_t count, void* directions);
  void (*grid_tile32)(const GridArgs&, int64_t row, int64_t column, int64_t count, void* directions);
  // For tracebacks of edit distances: forward; the edges of the tile that begins at (row, column); tiles again.
  void (*sliced_grid)(const SlicedGridArgs&);
  void (*sliced_edges)(const SlicedGridArgs&, int64_t row, int64_t column, const SlicedEdges&);
  void (*word_tiles)(const WordTileArgs&);
  void (*wavefront_grid)(const WavefrontArgs&, const WavefrontGrid&);
  int wavefront_depth;  // rows a lane at most
  // The sum of u and v along the diagonal n - m (banded.hpp), or -1 if cancelled.
  int64_t (*banded)(const BandArgs&);
  // Elements of 1, 2, 4 and 8 bytes: scores, and where they are reached.
  void (*local[4])(const LocalArgs&);
  void (*find_local[4])(const LocalArgs&);
  void (*striped16)(const LocalArgs&);  // of one target: codes are [columns], best is one score
  void (*striped32)(const LocalArgs&);
};

constexpr int kMaxMatchSteps = 4;  // bit-sliced kernels exist for S = 1 .. 4 and every X < S that has no factor in common with S

}  // namespace gpualign
