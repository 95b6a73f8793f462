// Arguments of the kernels, and the table of kernels that each instruction-set variant exports.
// Plain structs and function pointers only: this header crosses the boundary between differently compiled files.
#pragma once
#include <cstdint>

namespace gpualign {

// A request to stop early, set by another thread. Kernels check it once per strip of rows.
struct Cancel {
  volatile int requested = 0;
};

constexpr int kLetters = 32;        // codes that a score table has room for
constexpr int kColumnsAtATime = 4;  // packed targets are padded to a multiple of this many columns

// Functions of this header are static: variants compile them with instructions that other machines may lack, and the linker must not share
// such a copy.

// Returns the number of columns, rounded up to a multiple of kColumnsAtATime.
static inline int64_t padded(int64_t columns) { return (columns + kColumnsAtATime - 1) / kColumnsAtATime * kColumnsAtATime; }

// One query against the lanes of one block of targets, by the difference recurrence (difference.hpp).
struct DifferenceArgs {
  const uint8_t* query;    // [rows] codes
  int64_t rows;            // m >= 1
  const uint8_t* codes;    // [columns][lanes] target codes; any code after the end of a target, whose cells are not counted
  int64_t columns;         // multiple of kColumnsAtATime, at least the longest target
  const int64_t* lengths;  // [lanes] target lengths, 0 for an unused lane
  const uint32_t* table;   // [kLetters][kLetters] shifted scores s'', row = query letter; negative ones as two's complement
  int letters;             // number of codes in use; at most 16 allow the shorter look-up
  uint32_t open_extra;     // o = gap open - gap extend; 0 selects the linear recurrence
  void* boundary;          // scratch, boundary_bytes() of the variant
  int64_t* sums;           // out [lanes]: sum of the horizontal differences along the last row
  const Cancel* cancel;
};

// One query against many targets, one bit per target (bitsliced.hpp).
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

// Several queries against the same targets: query q is element q of a vector, with one bit per target (query_slices.hpp). E: an element.
struct QuerySlicesArgs {
  const void* letters;  // E[rows][queries]: the element of a column's tables for the letter, named as in SliceShape; all queries end in the
                        // same row
  const uint32_t* dummies;  // [queries] rows before the first letter of the query, which is shorter than others
  int64_t rows;
  const void* tables;  // [columns][tables_per_column] tables: the targets that have each letter; at least one element is 0, for dummy rows
  int tables_per_column;  // 1 or 2
  const uint32_t* live;   // [columns] targets that reach this column
  int64_t columns;        // multiple of kColumnsAtATime
  int match_steps, mismatch_steps;
  void* boundary;  // scratch: columns * S vectors
  int64_t* sums;   // out [queries][targets], as in BitslicedArgs
  const Cancel* cancel;
};

// How several queries share a vector. bits: of an element, hence targets. table_elements: elements of one table of a column, from which the
// queries' elements are picked. by_bytes: an element of a table is named by the positions of its bytes, else by its number.
struct SliceShape {
  int bits, table_elements;
  bool by_bytes;
};

// One query against many targets, one bit per target, for tracebacks of edit distances (sliced_grid.hpp). V: a vector of bits.
struct SlicedGridArgs {
  const uint32_t* slots;  // these five as in BitslicedArgs
  int64_t rows;
  const void* masks;
  int64_t column_bytes;
  int64_t columns;
  void* row_v;     // V[strips + 1][columns][2]: planes of v above each strip of kWordRows rows; those below the last strip are not read
  void* column_u;  // V[tiles of kWordRows columns][rows][2]: planes of u left of each tile
  const Cancel* cancel;
};

constexpr int kWordRows = 64;  // rows, and also columns, of a tile: one bit of a word each

// Steps of D on the edges of one tile for every lane, V[kWordRows] each: lane 64 w + b has word w of entry b. The names are those of Myers'
// cell.
struct SlicedEdges {
  void* hp_above;  // bit j: D(i,j) - D(i,j-1) = +1 in the row above the tile
  void* hn_above;  // the same for -1
  void* vp_left;   // bit i: D(i,j) - D(i-1,j) = +1 in the column left of the tile
  void* vn_left;   // the same for -1
};

constexpr int kMaxWordLanes = 8;  // 64-bit words of the widest vector

// Tiles of as many pairs as a vector has words, computed from their edges together with directions. All have the same number of rows.
struct WordTileArgs {
  const uint64_t* eq;                                         // [kLetters] match masks: rows with this letter
  const uint8_t (*letters)[kWordRows];                        // [pairs][columns] target codes; any codes after their ends
  int64_t columns;                                            // 1 .. kWordRows
  uint64_t hp_above[kMaxWordLanes], hn_above[kMaxWordLanes];  // [pairs] words of SlicedEdges
  uint64_t vp_left[kMaxWordLanes], vn_left[kMaxWordLanes];
  uint64_t* diagonal;  // out [columns][pairs]: rows whose best predecessors include the diagonal one; aligned for vectors
  uint64_t* up;        // the same for the upper one
};

// One pair by Myers' bit vectors along a wavefront (myers.hpp).
struct MyersArgs {
  const uint8_t* query;        // [rows] codes
  int64_t rows;                // m >= 1
  const uint8_t* target_bits;  // [bits][plane_bytes] the target reversed: 255 where bit b of the code is set, else 0; points at the first
                               // byte, with kPlaneMargin readable bytes on either side of each plane
  int64_t plane_bytes;
  int bits;           // 2, 4 or 5: enough for every code of the pair
  int64_t columns;    // n >= 1
  int64_t width;      // diagonals computed on either side beyond those of the corners
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
  const uint32_t* table;  // as in DifferenceArgs; the column of the padding code is 0
  int letters;            // number of codes in use, including the padding code
  uint32_t open_extra;
  uint8_t* boundary;  // scratch: 2 * columns bytes, columns rounded up to kColumnsAtATime
  void* scratch;      // wavefront_bytes of the variant
  const Cancel* cancel;
};

// Checkpoints of one pair for a traceback, stored by the wavefront kernel. Edges of tiles lie at the ends of lanes (WavefrontPass).
struct WavefrontGrid {
  uint32_t first_u, later_u, first_v, later_v;  // as in GridArgs
  int64_t tile_rows;                            // requested; a tile has the rows of at least one lane
  int64_t tile_columns;                         // multiple of kColumnsAtATime
  uint8_t* row_v;                               // [tiles of rows + 1][padded columns]: v above each tile, and of the last row
  uint8_t* row_y;
  uint8_t* column_u;  // [tiles of columns][rows]
  uint8_t* column_x;
};

// How the wavefront kernel divides a query: passes of `lanes` strips of `depth` rows each. Readers of its grid use the same division.
struct WavefrontPass {
  int64_t depth;       // rows per lane
  int64_t tile_lanes;  // lanes that cover the rows of a tile
};

// Returns the division of the next pass, of at most max_depth rows per lane, where `remaining_rows` rows are left.
static inline WavefrontPass wavefront_pass(int64_t remaining_rows, int lanes, int max_depth, int64_t tile_rows) {
  const int64_t depth = (remaining_rows + lanes - 1) / lanes;
  WavefrontPass pass;
  pass.depth = depth < max_depth ? depth : max_depth;
  pass.tile_lanes = tile_rows > pass.depth ? tile_rows / pass.depth : 1;
  return pass;
}

constexpr int kPairTableShift = 2;  // index of a table of pairs of letters 0 .. 3: query << kPairTableShift | target

// One pair within a band of diagonals, by the difference recurrence in bytes (banded.hpp).
struct BandArgs {
  const uint8_t* query;    // [rows] codes in reverse order, shifted left by kPairTableShift if `pairs`; with lanes + kPlaneMargin bytes of
                           // the padding code, shifted likewise, on either side
  int64_t rows;            // m >= 1
  const uint8_t* target;   // [columns] codes, with as many bytes of the padding code on either side
  int64_t columns;         // n >= 1
  int64_t lowest;          // the first diagonal j - i: at most min(0, n - m), of the parity of n - m
  int64_t vectors;         // number of vectors of lanes: diagonals lowest .. lowest + 2 * lanes - 2 are complete, and include 0 and n - m
  bool pairs;              // look up scores in `table` where no letter of a vector is above 3
  const uint8_t* table;    // [16] shifted scores by query << kPairTableShift | target
  const uint8_t* letters;  // [letter_count] codes that occur in the query, and the padding code
  int letter_count;
  int padding;                    // the padding code, below 16 if every code is
  const uint8_t* rows_of_scores;  // [kLetters][kLetters] shifted scores; 0 for the padding code
  uint32_t open_extra;
  void* scratch;        // 4 * vectors vectors, aligned
  uint8_t* directions;  // out [rows + columns - 1][lanes], from antidiagonal 2 on (grid.hpp)
  const Cancel* cancel;
};

constexpr int kBandLanesMargin = 64;  // columns that may be read beyond the last one

// As many pairs as a vector of bytes has lanes, each within a band of diagonals of its own (band_lanes.hpp).
struct BandLanesArgs {
  int64_t rows;                   // of the longest query
  int64_t diagonals;              // of each band; a multiple of kBandLanesStep
  const int64_t* lowest;          // [lanes] the first diagonal j - i of each pair: at most min(0, n - m)
  const uint8_t* const* queries;  // [lanes] codes [rows] of each query, with any codes of letters beyond its end
  const uint8_t* const* targets;  // [lanes] codes [rows + diagonals + kBandLanesMargin] of each target from column lowest + 1 on, with
                                  // padding before its first and after its last letter
  bool pairs;                     // nearly all letters have codes below 4, all have codes below 16, and padding is kNoLetter
  const uint8_t* table;           // [16] shifted scores by query << kPairTableShift | target
  const uint8_t* rows_of_scores;  // [kLetters][kLetters] shifted scores; 0 for the padding code
  int padding;                    // the padding code unless `pairs`: the first one above all letters
  uint32_t open_extra;
  uint8_t* scratch;     // band_lanes_bytes, aligned
  uint8_t* directions;  // out [rows][diagonals / 2][lanes]: two diagonals per byte, the lower one in the low bits (grid.hpp); aligned
  const Cancel* cancel;

  // Returns the columns of a target that may be read. Inlined, because a copy with a variant's instructions must not serve the others.
  inline __attribute__((always_inline)) int64_t columns() const { return rows + diagonals + kBandLanesMargin; }
};

constexpr int kBandLanesStep = 8;    // diagonals
constexpr uint8_t kNoLetter = 0x80;  // pairs with this code have score 0 in a look-up of pairs

constexpr int kGridRows = 128;  // rows of a tile

// The best score found so far in the last column of a lane. Starts as the score of row 0.
struct GridEnd {
  int64_t sum;  // H(i,n) of the last row computed
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
  uint32_t first_u, later_u;  // steps in column 0: in row 1, in later rows
  uint32_t first_v, later_v;  // steps in row 0: in column 1, in later columns
  int64_t tile_columns;       // multiple of kColumnsAtATime
  void* row_v;                // V[strips + 1][columns]: v above each strip, and of the last row
  void* row_y;                // the same for y; not used with linear gaps
  void* column_u;             // V[tiles of columns][rows]: u left of each tile
  void* column_x;
  const int64_t* end_lanes;  // [lanes] lanes in order of length, to find the best cell of the last column; or null
  GridEnd* ends;             // [lanes]
  const Cancel* cancel;
};

// One query against the lanes of one block of targets, local alignment (local.hpp).
struct LocalArgs {
  const uint8_t* query;    // [rows] codes
  int64_t rows;            // m >= 1
  const uint8_t* codes;    // [columns][lanes] target codes, the padding code after the end of a target
  int64_t columns;         // multiple of kColumnsAtATime, at least the longest target
  const int64_t* lengths;  // [lanes] target lengths, 0 for an unused lane
  const int32_t* table;    // [kLetters][kLetters] scores, row = query letter; those of the padding code are negative
  int letters;             // number of codes in use, including the padding code; at most 16 allow the shorter look-up
  uint8_t padding;         // the padding code
  bool byte_scores;        // every score fits a signed byte
  int64_t open, extend;    // equal ones select the linear recurrence
  void* boundary;          // scratch: 3 * columns vectors
  void* scratch;           // of the kernels for one target: (letters + 2) * striped_segments vectors
  int64_t* best;           // out [lanes]: scores; with 8 and 16 bits the largest possible value means that or more
  // The scores of all columns, if each lane has a table of its own; `table` then has the best of the lanes. Elements
  // [columns / kColumnsAtATime][letters][kColumnsAtATime][lanes], by the letter of the query. Null: all lanes have `table`.
  const void* profile;
  // To find the cells in which given scores are reached:
  const int64_t* goals;  // [lanes] the score to find, 0 in unused lanes
  const int64_t* seeds;  // [lanes] row of the first pair of letters of the path, which is in column 0; or null: paths begin anywhere
  int64_t seed_score;    // H above and left of that pair, above 0; goals include it
  bool rows_first;       // of several cells, take that in the first row, then in the first column; else the other way round
  int64_t* end_rows;     // out [lanes]: 0-based, or -1 if the score is not reached
  int64_t* end_columns;
  // Cells that no path of the one target of a pair contains: excluded_rows[k] for k from excluded_bounds[j] to excluded_bounds[j + 1] - 1
  // are the rows of column j. Null: none. No score may exceed half of the range of an element.
  const int64_t* excluded_bounds;  // [columns + 1]
  const int64_t* excluded_rows;
  // For the kernels for boxes: the first column to compute. Unless it is 0, scratch is as the call for the columns before it left it, and
  // its H and E, from box_state_start on, are those before this column.
  int64_t first_column;
  uint8_t* directions;  // out: [columns - first_column][box_segments][lanes]
  const Cancel* cancel;
};

constexpr int kStripedSegments = 256;  // vectors of rows in a strip of the kernels for one target, at most

// Returns the vectors of rows in the first strip, which is the largest, of the kernels for one target.
static inline int64_t striped_segments(int64_t rows, int lanes) {
  const int64_t needed = (rows + lanes - 1) / lanes;
  return needed < kStripedSegments ? needed : kStripedSegments;
}

// Returns the vectors of rows of a box.
static inline int64_t box_segments(int64_t rows, int lanes) { return (rows + lanes - 1) / lanes; }

// Returns the vectors of the scratch of a box before its H and E, which take box_segments vectors each, and of all of it.
static inline int64_t box_state_start(int letters, int64_t segments) { return letters * segments; }
static inline int64_t box_scratch_vectors(int letters, int64_t segments) { return (letters + 3) * segments; }

constexpr int kPlaneMargin = 64;  // bytes that a kernel for single pairs may read before and after a plane

struct Kernels {
  const char* name;  // "avx512bw", "avx2", "sse41", "neon", "baseline"
  int vector_bytes;
  bool ternary_logic;
  int myers_rows;  // rows of one strip of the Myers kernel
  void (*difference8)(const DifferenceArgs&);
  void (*difference16)(const DifferenceArgs&);
  void (*difference32)(const DifferenceArgs&);
  void (*bitsliced)(const BitslicedArgs&);
  void (*query_slices)(const QuerySlicesArgs&);  // null if the instruction set has no such kernel; slice_shape then is empty
  SliceShape slice_shape;
  // Single pairs. myers returns an upper bound of the distance, exact if at most |n - m| + 2 * width + 1. wavefront returns the sum of the
  // horizontal differences along the last row. Both return -1 if cancelled.
  int64_t (*myers)(const MyersArgs&);
  int64_t (*wavefront)(const WavefrontArgs&);
  int64_t wavefront_bytes;
  // For tracebacks. grid_tile computes the directions of `count` columns (even) from `column`, a multiple of tile_columns, in the strip
  // that begins at `row`: E[count][kGridRows / p][lanes], with p = 2 rows per element (4 with linear gaps).
  void (*grid8)(const GridArgs&);
  void (*grid16)(const GridArgs&);
  void (*grid32)(const GridArgs&);
  void (*grid_tile8)(const GridArgs&, int64_t row, int64_t column, int64_t count, void* directions);
  void (*grid_tile16)(const GridArgs&, int64_t row, int64_t column, int64_t count, void* directions);
  void (*grid_tile32)(const GridArgs&, int64_t row, int64_t column, int64_t count, void* directions);
  // For tracebacks of edit distances: the forward pass; the edges of the tile at (row, column); tiles with directions.
  void (*sliced_grid)(const SlicedGridArgs&);
  void (*sliced_edges)(const SlicedGridArgs&, int64_t row, int64_t column, const SlicedEdges&);
  void (*word_tiles)(const WordTileArgs&);
  void (*wavefront_grid)(const WavefrontArgs&, const WavefrontGrid&);
  int wavefront_depth;  // rows per lane, at most
  // Returns the sum of u and v along the diagonal n - m (banded.hpp), or -1 if cancelled.
  int64_t (*banded)(const BandArgs&);
  void (*band_lanes)(const BandLanesArgs&);
  int64_t (*band_lanes_bytes)(const BandLanesArgs&);
  // With elements of 1, 2, 4 and 8 bytes: the scores, and the cells in which they are reached.
  void (*local[4])(const LocalArgs&);
  void (*find_local[4])(const LocalArgs&);
  // The same for one target: codes are [columns], and the boundary has 2 * columns elements.
  void (*striped[4])(const LocalArgs&);
  void (*find_striped[4])(const LocalArgs&);
  // The directions of the box of one local alignment, and its score, with elements of 2 and 4 bytes (box.hpp). The scratch has
  // (letters + 3) * box_segments vectors.
  void (*box[2])(const LocalArgs&);
};

constexpr int kMaxMatchSteps = 4;  // bit-sliced kernels exist for S = 1 .. 4 and every X < S that has no factor in common with S

}  // namespace gpualign
