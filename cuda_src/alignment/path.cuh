// Paths on the device: how a path is walked backwards along the directions, what is counted on the way, and how it is stored. The rules,
// and the format of the output, are those of the host (core/alignment/src/walk.hpp, gpualign.core.alignment.tile_results.Runs).
//
// A run is a sequence of equal operations of a path (PathOp), 1 to 64 of them, in one byte: length - 1 in the upper six bits, the operation
// in the lower two.
#pragma once

#include "portable.cuh"

enum Direction { kDiagonal = 1, kUp = 2, kExtendLeft = 4, kExtendUp = 8 };
enum PathOp { kEqual = 0, kDifferent = 1, kInsertion = 2, kDeletion = 3 };

struct PathArgs {
  const uint8_t* target_codes;
  const int64_t* target_offsets;
  const int32_t* targets;         // [target_count] records
  const int32_t* target_numbers;  // [target_count] compared with first_targets
  const int32_t* first_targets;   // [query_count] targets with a smaller target_numbers are skipped
  const uint32_t* usable;         // [LETTERS] by query letter, bit t: a path may pair it with target letter t
  int32_t* statistics;            // [query_count][target_count][STATISTICS_NUMBERS]: as in gpualign.core.alignment.tile_results
  int64_t* starts;                // [query_count][target_count] first byte of a pair's runs in `runs`
  int32_t* sizes;                 // [query_count][target_count] bytes of a pair's runs
  uint8_t* scratch;               // [pairs][capacity] the runs of one pair while it is walked
  uint8_t* runs;                  // the runs of all pairs, one pair after the other, each after a gap of up to 15 bytes
  unsigned long long* cursor;     // bytes of `runs` in use
  uint32_t* directions;           // of one tile: [thread blocks][columns][words][threads]; or of whole matrices
  int64_t capacity;               // at least the letters of any pair, and a multiple of 16
  int64_t matrix_stride;          // words of a block's matrices
  int32_t detail;                 // 0: scores alone, 1: also statistics, 2: also runs
};
SAME_AS_ON_HOST(PathArgs);

// Returns the directions (Direction) of row r, from a word to which directed_cell has appended `rows` rows of `bits` bits (2 or 4).
DEVICE int directions_of(uint32_t word, int r, int rows, int bits) {
  const uint32_t found = word >> (bits * (rows - 1 - r));
  return bits == 4 ? static_cast<int>((~found >> 3 & 1) | (~found >> 1 & 2) | (found << 1 & 4) | (found << 3 & 8))
                   : static_cast<int>((~found >> 1 & 1) | (~found << 1 & 2));
}

// The cell where a path with free end gaps ends, by the rule of core/alignment/src/walk.hpp. It starts as the corner; prefer() is called
// with the lowest of the best cells of the last column, then with the rightmost of the last row's.
struct PathEnd {
  int64_t score;
  int i, j;
  DEVICE void prefer(int64_t other, int row, int column) {
    const int other_shorter = row < column ? row : column, shorter = i < j ? i : j;
    if (other > score || (other == score && other_shorter > shorter)) {
      score = other;
      i = row;
      j = column;
    }
  }
};

// A path that is walked backwards. Its runs are written from the last to the first, by words of four, into its scratch from the end on;
// finish() appends them to the runs of other pairs.
struct Walk {
  int i, j;        // the cell that it has reached
  int op, length;  // of the current run
  int matches, mismatches, gap_opens;
  int query_end, target_end;
  // In walking order: i + j at the first aligned pair of letters, and i + j after the last one.
  int first_pair, last_pair;
  uint8_t* end;   // of its scratch, or null if runs are not stored
  int size;       // bytes of runs so far
  uint32_t held;  // the latest of them, up to four; a full word is stored

  DEVICE Walk(PathEnd from, uint8_t* scratch, int64_t capacity)
      : i(from.i), j(from.j), op(kEqual), length(0), matches(0), mismatches(0), gap_opens(0), query_end(from.i), target_end(from.j),
        first_pair(-1), last_pair(from.i + from.j), end(scratch ? scratch + capacity : nullptr), size(0), held(0) {}

  // Walks while the path is below row `top` and right of column `left`. at(i, j) returns the directions of a cell.
  template <class Directions>
  DEVICE void run(const uint8_t* query, const uint8_t* target, const uint32_t* usable, int top, int left, Directions at) {
    while (i > top && j > left) {
      const int directions = at(i, j);
      if (op == kInsertion && (directions & kExtendUp)) {
        step(kInsertion);
      } else if (op == kDeletion && (directions & kExtendLeft)) {
        step(kDeletion);
      } else {
        const int a = query[i - 1], b = target[j - 1];
        const bool diagonal = (directions & kDiagonal) && (usable[a] >> b & 1);
        step(diagonal ? a == b ? kEqual : kDifferent : directions & kUp ? kInsertion : kDeletion);
      }
    }
  }

  // Moves by one operation.
  DEVICE void step(int next) {
    const bool pair = next <= kDifferent;
    put(next);
    if (pair && first_pair < 0) first_pair = i + j;
    matches += next == kEqual;
    mismatches += next == kDifferent;
    i -= next != kDeletion;
    j -= next != kInsertion;
    if (pair) last_pair = i + j;
  }

  // Moves by `count` pairs of letters, at most 32. Bit k of `equal` tells whether the letters of pair k, from 0, are equal.
  DEVICE void extend(int count, uint32_t equal) {
    if (count > 0 && first_pair < 0) first_pair = i + j;
    i -= count;
    j -= count;
    if (count > 0) last_pair = i + j;
    while (count > 0) {
      const bool equals = equal & 1;
      const int rest = lowest_bit(static_cast<uint64_t>(equals ? ~equal : equal) | 1ull << 32), pairs = rest < count ? rest : count;
      put(equals ? kEqual : kDifferent, pairs);
      (equals ? matches : mismatches) += pairs;
      equal = static_cast<uint32_t>(static_cast<uint64_t>(equal) >> pairs);
      count -= pairs;
    }
  }

  // Ends a path that has reached row 0 or column 0: adds the gap that is left.
  DEVICE void close(bool free_query, bool free_target) {
    for (; i > 0 && !free_target; i--) put(kInsertion);
    for (; j > 0 && !free_query; j--) put(kDeletion);
    flush();
  }

  // Closes a path, writes its statistics, and appends its runs to `runs`.
  DEVICE void finish(const PathArgs& a, int64_t pair, bool free_query, bool free_target) {
    close(free_query, free_target);
    const int gaps = query_end - i + target_end - j - 2 * (matches + mismatches);
    const int end_gaps = (first_pair < 0 ? 0 : query_end + target_end - first_pair) + last_pair - (i + j);
    int32_t* const s = a.statistics + STATISTICS_NUMBERS * pair;
    s[0] = matches, s[1] = mismatches, s[2] = gaps, s[3] = gap_opens, s[4] = end_gaps;
    s[5] = i, s[6] = query_end, s[7] = j, s[8] = target_end;
    if (!end) return;
    if (size % 4) store(held << (4 - size % 4) * 8, (size + 3) / 4 * 4);
    // Appended by pieces of 16 bytes; the first bytes of the first piece are the gap.
    constexpr int kPiece = sizeof(SixteenBytes);
    const int pieces = (size + kPiece - 1) / kPiece;
    const unsigned long long start = atomicAdd(a.cursor, static_cast<unsigned long long>(pieces) * kPiece);
    const SixteenBytes* const from = reinterpret_cast<const SixteenBytes*>(end) - pieces;
    SixteenBytes* const to = reinterpret_cast<SixteenBytes*>(a.runs + start);
    for (int k = 0; k < pieces; k += 4) {
      SixteenBytes moved[4];
      for (int p = 0; p < 4; p++)
        if (k + p < pieces) moved[p] = from[k + p];
      for (int p = 0; p < 4; p++)
        if (k + p < pieces) to[k + p] = moved[p];
    }
    a.starts[pair] = static_cast<int64_t>(start) + pieces * kPiece - size;
    a.sizes[pair] = size;
  }

 private:
  // Appends `count` operations, at most 64.
  DEVICE void put(int next, int count = 1) {
    if (next != op) {
      flush();
      gap_opens += next >= kInsertion;
      op = next;
    }
    length += count;
    if (length > 64) {
      const int rest = length - 64;
      length = 64;
      flush();
      length = rest;
    }
  }
  DEVICE void flush() {
    if (length > 0) {
      held = held << 8 | (length - 1) << 2 | op;
      if (++size % 4 == 0) store(held, size);
    }
    length = 0;
  }
  // Stores a word that begins `before` bytes before the end.
  DEVICE void store(uint32_t word, int before) {
    if (end) *reinterpret_cast<uint32_t*>(end - before) = word;
  }
};

// Returns whether the path, or score, of a pair is requested.
DEVICE bool is_requested(const PathArgs& a, int row, int target) { return a.target_numbers[target] >= a.first_targets[row]; }
