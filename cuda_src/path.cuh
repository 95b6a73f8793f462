// Paths on the device: how one is walked backwards through directions, what is counted on the way, and how it is stored.
// The rules, and the form of what comes out, are those of the CPU engine (cpu/src/path.hpp, gpualign.core.engine.Runs).
#pragma once

#include "portable.cuh"

enum Direction { kDiagonal = 1, kUp = 2, kExtendLeft = 4, kExtendUp = 8 };
enum PathOp { kEqual = 0, kDifferent = 1, kInsertion = 2, kDeletion = 3 };

struct PathArgs {
  const uint8_t* target_codes;
  const int64_t* target_offsets;
  const int32_t* targets;         // [target_count] records
  const int32_t* target_numbers;  // [target_count] what first_targets counts
  const int32_t* first_targets;   // [query_count]
  const uint32_t* usable;         // [LETTERS] bit t: a path may pair this query letter with target letter t
  int32_t* statistics;            // [query_count][target_count][STATISTICS_NUMBERS]: STATISTICS of gpualign.core.engine
  int64_t* starts;                // [query_count][target_count] of runs
  int32_t* sizes;                 // [query_count][target_count]
  uint8_t* scratch;               // [pairs][capacity] runs of one pair
  uint8_t* runs;                  // those of all pairs, one after the other
  unsigned long long* cursor;     // bytes of runs in use
  uint32_t* directions;           // of one tile: [thread blocks][columns][words][threads]; or whole matrices
  int64_t capacity;               // at least the letters of any pair
  int64_t matrix_stride;          // words of a block's matrices
  int32_t detail;                 // 0: scores, 1: statistics, 2: runs too
};
SAME_AS_ON_HOST(PathArgs);

// The directions of row r in a word that append_sign made of `rows` rows of `bits` bits.
DEVICE int directions_of(uint32_t word, int r, int rows, int bits) {
  const uint32_t found = word >> (bits * (rows - 1 - r));
  return bits == 4 ? static_cast<int>((~found >> 3 & 1) | (~found >> 1 & 2) | (found << 1 & 4) | (found << 3 & 8))
                   : static_cast<int>((~found >> 1 & 1) | (~found << 1 & 2));
}

// The best end of a free alignment, by the rule of core/src/walk.hpp: it begins as the corner and is offered the lowest best cell of
// the last column, then the rightmost of the last row.
struct PathEnd {
  int64_t score;
  int i, j;
  DEVICE void prefer(int64_t other, int row, int column) {
    const int before = row < column ? row : column, least = i < j ? i : j;
    if (other > score || (other == score && before > least)) {
      score = other;
      i = row;
      j = column;
    }
  }
};

// A path on its way back.
struct Walk {
  int i, j;  // the cell that it has come to
  int gap, op, length;
  int matches, mismatches, gaps, gap_opens, end_gaps, since_pair, query_end, target_end;
  bool seen_pair;
  uint8_t* end;  // of its scratch, or null
  uint8_t* out;  // its runs so far

  DEVICE Walk(PathEnd from, uint8_t* scratch, int64_t capacity)
      : i(from.i), j(from.j), gap(kEqual), op(kEqual), length(0), matches(0), mismatches(0), gaps(0), gap_opens(0), end_gaps(0),
        since_pair(0), query_end(from.i), target_end(from.j), seen_pair(false), end(scratch ? scratch + capacity : nullptr), out(end) {}

  // Goes on while the path is below row `top` and right of column `left`. at(i, j): the directions of a cell.
  template <class Directions>
  DEVICE void run(const uint8_t* query, const uint8_t* target, const uint32_t* usable, int top, int left, Directions at) {
    while (i > top && j > left) {
      const int directions = at(i, j);
      if (gap == kInsertion && (directions & kExtendUp)) {
        insertion(1);
      } else if (gap == kDeletion && (directions & kExtendLeft)) {
        deletion(1);
      } else {
        const int a = query[i - 1], b = target[j - 1];
        if ((directions & kDiagonal) && (usable[a] >> b & 1))
          diagonal(a == b);
        else if (directions & kUp)
          insertion(1);
        else
          deletion(1);
      }
    }
  }

  DEVICE void diagonal(bool equal) {
    i--;
    j--;
    matches += equal;
    mismatches += !equal;
    if (!seen_pair) end_gaps = since_pair;
    seen_pair = true;
    since_pair = 0;
    gap = kEqual;
    put(equal ? kEqual : kDifferent, 1);
  }
  DEVICE void insertion(int letters) {
    in_gap(kInsertion, letters);
    i -= letters;
  }
  DEVICE void deletion(int letters) {
    in_gap(kDeletion, letters);
    j -= letters;
  }
  DEVICE void in_gap(int kind, int letters) {
    gap_opens += gap != kind;
    gaps += letters;
    since_pair += letters;
    gap = kind;
    put(kind, letters);
  }
  DEVICE void put(int kind, int letters) {
    if (kind != op) flush();
    op = kind;
    length += letters;
  }
  DEVICE void flush() {
    if (out)
      for (; length > 0; length -= 64) *--out = static_cast<uint8_t>(((length < 64 ? length : 64) - 1) << 2 | op);
    length = 0;
  }

  // The rest of a path that has come to the first row or column, and everything into its place.
  DEVICE void finish(const PathArgs& a, int64_t pair, bool free_query, bool free_target) {
    if (i > 0 && !free_target) insertion(i);
    if (j > 0 && !free_query) deletion(j);
    flush();
    end_gaps += since_pair;
    int32_t* const s = a.statistics + STATISTICS_NUMBERS * pair;
    s[0] = matches, s[1] = mismatches, s[2] = gaps, s[3] = gap_opens, s[4] = end_gaps;
    s[5] = i, s[6] = query_end, s[7] = j, s[8] = target_end;
    if (!out) return;
    const int size = static_cast<int>(end - out);
    const unsigned long long start = atomicAdd(a.cursor, static_cast<unsigned long long>(size));
    for (int k = 0; k < size; k++) a.runs[start + k] = out[k];
    a.starts[pair] = static_cast<int64_t>(start);
    a.sizes[pair] = size;
  }
};

DEVICE bool is_wanted(const PathArgs& a, int row, int target) { return a.target_numbers[target] >= a.first_targets[row]; }
