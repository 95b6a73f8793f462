// Paths on the device: how one is walked backwards through directions, what is counted on the way, and how it is stored.
// The rules, and the form of what comes out, are those of the host (core/alignment/src/walk.hpp,
// gpualign.core.alignment.tile_results.Runs).
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
  int32_t* statistics;            // [query_count][target_count][STATISTICS_NUMBERS]: STATISTICS of gpualign.core.execution.engine
  int64_t* starts;                // [query_count][target_count] of runs
  int32_t* sizes;                 // [query_count][target_count]
  uint8_t* scratch;               // [pairs][capacity] runs of one pair
  uint8_t* runs;                  // those of all pairs, one after the other, with a gap of up to 15 bytes before each
  unsigned long long* cursor;     // bytes of runs in use
  uint32_t* directions;           // of one tile: [thread blocks][columns][words][threads]; or whole matrices
  int64_t capacity;               // at least the letters of any pair, and a multiple of 16
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

// The best end of a free alignment, by the rule of core/alignment/src/walk.hpp: it begins as the corner and is offered the lowest best cell
// of the last column, then the rightmost of the last row.
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

// A path on its way back. Its runs are written from their end backwards, by words, into scratch of its own; `finish` moves them behind
// other paths' runs.
struct Walk {
  int i, j;        // the cell that it has come to
  int op, length;  // of the run that it is in
  int matches, mismatches, gap_opens;
  int query_end, target_end;
  int first_pair, last_pair;  // i + j in front of the first pair of letters that it has met, and behind the last
  uint8_t* end;               // of its scratch, or null
  int size;                   // bytes of runs so far
  uint32_t held;              // the last four of them, or as many as make no word yet

  DEVICE Walk(PathEnd from, uint8_t* scratch, int64_t capacity)
      : i(from.i), j(from.j), op(kEqual), length(0), matches(0), mismatches(0), gap_opens(0), query_end(from.i), target_end(from.j),
        first_pair(-1), last_pair(from.i + from.j), end(scratch ? scratch + capacity : nullptr), size(0), held(0) {}

  // Goes on while the path is below row `top` and right of column `left`. at(i, j): the directions of a cell.
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

  // One cell.
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

  // The rest of a path that has come to the first row or column, and everything into its place.
  DEVICE void finish(const PathArgs& a, int64_t pair, bool free_query, bool free_target) {
    for (; i > 0 && !free_target; i--) put(kInsertion);
    for (; j > 0 && !free_query; j--) put(kDeletion);
    flush();
    const int gaps = query_end - i + target_end - j - 2 * (matches + mismatches);
    const int end_gaps = (first_pair < 0 ? 0 : query_end + target_end - first_pair) + last_pair - (i + j);
    int32_t* const s = a.statistics + STATISTICS_NUMBERS * pair;
    s[0] = matches, s[1] = mismatches, s[2] = gaps, s[3] = gap_opens, s[4] = end_gaps;
    s[5] = i, s[6] = query_end, s[7] = j, s[8] = target_end;
    if (!end) return;
    if (size % 4) store(held << (4 - size % 4) * 8, (size + 3) / 4 * 4);
    // To where other paths' runs end, by 16 bytes; the first few are no runs.
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
  DEVICE void put(int next) {
    if (next != op || length == 64) {
      flush();
      gap_opens += next != op && next >= kInsertion;
      op = next;
    }
    length++;
  }
  DEVICE void flush() {
    if (length > 0) {
      held = held << 8 | (length - 1) << 2 | op;
      if (++size % 4 == 0) store(held, size);
    }
    length = 0;
  }
  // A word that begins so many bytes before the end.
  DEVICE void store(uint32_t word, int before) {
    if (end) *reinterpret_cast<uint32_t*>(end - before) = word;
  }
};

DEVICE bool is_wanted(const PathArgs& a, int row, int target) { return a.target_numbers[target] >= a.first_targets[row]; }
