// Global and local scores, one thread an alignment (two, in 16 bits): the shape for many pairs.
//
// An item is one query with blockDim.x * PAIRS targets. The query's rows pass in strips of ROWS, in a pipeline of blocks
// (pipeline.cuh): a thread keeps a strip's H and E in registers and walks the columns; H and F of the strip's last row go
// through memory to the next strip, [column][thread], so that a warp's accesses are contiguous (carry_ring.cuh). The
// substitution scores of a strip are a profile in shared memory: the lanes of a warp read one row at their own letters, at most 32
// neighbouring words, so that banks never conflict.
//
// With PAIRED (nucleotides) the scores of the two targets of a thread come ready as one word, from a table by pairs of the first four
// letters, two rows a load: 16 pairs of 8 bytes are all banks once. That saves the instruction that joins scores. Columns of a word
// in which a lane of the warp has another letter take the profile.
//
// With PATHS every strip keeps its carries, and its H and E of every TILE columns: trace_threads.cu begins there.
//
// Macros: those of threads.cuh, BLOCKS (resident blocks at least), PAIRED and DOUBLED (0 or 1; score.cuh).
#include "carry_ring.cuh"
#include "threads.cuh"

struct Strip {
  Value h[ROWS];
  Value e[ROWS];
  Value corner;  // H of the row above, in the last column
  Value best;
};

constexpr int kFrequent = 4, kPairs = kFrequent * kFrequent;
constexpr uint32_t kRareLetters = 0xf0f0f0f0;  // the bits of a word of letters that only codes from kFrequent on have

// Scores of a pair of letters in two neighbouring rows.
struct alignas(8) TwoRows {
  uint32_t upper, lower;
};

// A column of a strip on its way down.
struct Column {
  const char *a, *b;    // its letters in the profiles
  const TwoRows* pair;  // and in the table by pairs
  Value diagonal;       // H above and left of the next row; in the end, H of the last row in the column before
  Value f;              // of the next row
};

template <int FIRST, bool FREQUENT>
DEVICE void rows(Strip& s, Column& column, uint32_t one) {
  auto row = [&](int r, Value t) {
    Rules::cell(t, column.diagonal, s.h[r], s.e[r], column.f, one);
    if (IS_LOCAL && r % 2 == 1) s.best = Cell::max3(s.best, s.h[r - 1], s.h[r]);
  };
  Value& diagonal = column.diagonal;
  if constexpr (FREQUENT) {
    const TwoRows *const table = column.pair + FIRST / 2 * kPairs, upper = table[0], lower = table[kPairs];
    row(FIRST, Cell::add(diagonal, upper.upper, one));
    row(FIRST + 1, Cell::add(diagonal, upper.lower, one));
    row(FIRST + 2, Cell::add(diagonal, lower.upper, one));
    row(FIRST + 3, Cell::add(diagonal, lower.lower, one));
    return;
  }
  constexpr int64_t kRowBytes = LETTERS * sizeof(Cell::ProfileWord);
  const auto a = *reinterpret_cast<const Cell::ProfileWord*>(column.a + FIRST / kWordRows * kRowBytes);
  const auto b = Cell::PAIRS == 2 ? *reinterpret_cast<const Cell::ProfileWord*>(column.b + FIRST / kWordRows * kRowBytes) : a;
  row(FIRST, Cell::with_score<0, DOUBLED>(diagonal, a, b, one));
  if constexpr (kWordRows == 4) {
    row(FIRST + 1, Cell::with_score<1, DOUBLED>(diagonal, a, b, one));
    row(FIRST + 2, Cell::with_score<2, DOUBLED>(diagonal, a, b, one));
    row(FIRST + 3, Cell::with_score<3, DOUBLED>(diagonal, a, b, one));
  }
}

// The columns of a word of letters go down together, each a few rows behind the one before it: a cell waits for the one above it, and
// what the columns have to wait for differs.
template <int FIRST, int NUMBER, bool FREQUENT>
DEVICE void across(Strip& s, Column* columns, uint32_t one) {
  if constexpr (NUMBER < kColumns) {
    constexpr int kFirst = FIRST - NUMBER * kWordRows;
    if constexpr (kFirst >= 0 && kFirst < ROWS) rows<kFirst, FREQUENT>(s, columns[NUMBER], one);
    across<FIRST, NUMBER + 1, FREQUENT>(s, columns, one);
  }
}
template <int FIRST, bool FREQUENT>
DEVICE void down(Strip& s, Column* columns, uint32_t one) {
  if constexpr (FIRST < ROWS + (kColumns - 1) * kWordRows) {
    across<FIRST, 0, FREQUENT>(s, columns, one);
    down<FIRST + kWordRows, FREQUENT>(s, columns, one);
  }
}

// Fills the tables by pairs of frequent letters, [row / 2][letter b][letter a], of the strip whose first row is `first`. Where there are
// fewer letters, nobody reads the others' scores.
DEVICE void make_pairs(TwoRows* pairs, const ThreadArgs& a, const uint8_t* query, int64_t first) {
  for (int k = threadIdx.x; k < ROWS / 2 * kPairs; k += blockDim.x) {
    const int letter_a = k % kFrequent, letter_b = k / kFrequent % kFrequent;
    const auto of_letter = [&](int row, int letter) { return letter < LETTERS ? row_score(a, query, first, row, letter) : 0; };
    const auto score = [&](int row) { return U16x2::joined(of_letter(row, letter_a), of_letter(row, letter_b)); };
    const int row = k / kPairs * 2;
    pairs[k] = {score(row), score(row + 1)};
  }
}

constexpr int kMostThreads = 64;
using Ring = CarryRing<Carry, kColumns>;

// Asks for the next batch, from `column` on, of what is above a strip. Past the last column it stays empty: batches are counted.
DEVICE void ask(Ring& above, int strip, int column, int handed_down) {
  if (column < handed_down) {
    above.ask();
    return;
  }
  Carry* const carry = above.put();
  if (strip > 0) return;
#pragma unroll
  for (int c = 0; c < kColumns; c++) Rules::top(column + c + 1, carry[c * kLanes].value);
}

KERNEL(kMostThreads, BLOCKS) align_threads(const ThreadArgs a) {
  __shared__ Cell::ProfileWord profile[ROWS / kWordRows * LETTERS];
  __shared__ Cell::ProfileWord doubled[DOUBLED ? ROWS / kWordRows * LETTERS : 1];
  __shared__ TwoRows pairs[PAIRED ? ROWS / 2 * kPairs : 1];
  alignas(16) __shared__ Carry rings[kMostThreads / kLanes * Ring::kCarries];
  const int threads = blockDim.x, thread = threadIdx.x;

  for (;;) {
    const Unit unit = take_unit(a.pipeline);
    if (unit.item < 0) return;
    const int block = a.items[unit.item] / a.query_count, row = a.items[unit.item] % a.query_count;
    const int64_t query_start = a.query_offsets[a.queries[row]];
    const int64_t m = a.query_offsets[a.queries[row] + 1] - query_start;
    const int strips = static_cast<int>((m + ROWS - 1) / ROWS);
    const bool last = unit.strip == strips - 1;
    const int64_t first = m - static_cast<int64_t>(strips - unit.strip) * ROWS + 1;
    const int columns = a.block_columns[block];
    // Where this strip's carries are, and how far before them those of the strip above.
    const int64_t back = PATHS ? static_cast<int64_t>(columns) * threads : 0;
    Carry* const carries = static_cast<Carry*>(a.carries) + carry_start(a.pipeline, unit) / Rules::CARRIES + unit.strip * back + thread;
    Edge* edge = PATHS ? static_cast<Edge*>(a.edges) + a.pipeline.slots[unit.item] * (a.edge_stride / Rules::CARRIES) +
                             unit.strip * edge_tiles(columns) * edge_tile() + thread
                       : nullptr;
    Handover handover(a.pipeline, unit);

    make_profile(profile, a, a.query_codes + query_start, first);
    if (DOUBLED) make_profile(doubled, a, a.query_codes + query_start, first, 2);
    if (PAIRED) make_pairs(pairs, a, a.query_codes + query_start, first);
    __syncthreads();
    Strip s;
    s.best = Cell::of(LEVEL);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      s.h[r] = Rules::left_h(first + r);
      s.e[r] = Rules::left_e(first + r);
    }
    s.corner = Rules::left_h(first - 1);
    const char* const bytes = reinterpret_cast<const char*>(profile);
    const char* const bytes_of_b = DOUBLED ? reinterpret_cast<const char*>(doubled) : bytes;
    const uint32_t* words = a.letters + a.block_letters[block] + thread;
    Carry* carry = carries;
    Ring above(rings, carries - thread - back);
    const int handed_down = unit.strip > 0 ? columns : 0;
    uint32_t next_letters = words[0];
    for (int chunk = 0; chunk < columns; chunk += kChunk) {
      const int end = chunk + kChunk < columns ? chunk + kChunk : columns;
      handover.wait_for(end + Ring::kAhead < columns ? end + Ring::kAhead : columns);
      if (chunk == 0)
        for (int j = 0; j < Ring::kAhead; j += kColumns) ask(above, unit.strip, j, handed_down);
      for (int j = chunk; j < end; j += kColumns) {
        if (PATHS && j % TILE == 0) {
#pragma unroll
          for (int r = 0; r < ROWS; r++) {
            Edge kept;
            kept.value[0] = s.h[r];
            if (Rules::CARRIES == 2) kept.value[Rules::CARRIES - 1] = s.e[r];
            edge[r * threads] = kept;
          }
          edge += edge_tile();
        }
        uint32_t letters = next_letters;
        words += threads;
        next_letters = *words;
        const Carry* const entering = above.take();
        ask(above, unit.strip, j + Ring::kAhead, handed_down);
        const bool frequent = PAIRED && !any_lane(letters & kRareLetters);
        Column passing[kColumns];
#pragma unroll
        for (int c = 0; c < kColumns; c++) {
          const uint32_t letter_a = letters & 0xff, letter_b = letters >> 8 & 0xff;
          letters >>= 8 * Cell::PAIRS;
          constexpr int kScale = sizeof(Cell::ProfileWord) / 4;
          const Carry up = entering[c * kLanes];
          passing[c] = {bytes + letter_a * kScale, bytes_of_b + letter_b * kScale, pairs + (letter_a / 4 + letter_b), s.corner,
                        Rules::f_above(up.value)};
          s.corner = up.value[0];
        }
        if (frequent)
          down<0, PAIRED>(s, passing, a.one);
        else
          down<0, false>(s, passing, a.one);
#pragma unroll
        for (int c = 0; c < kColumns; c++) {
          Carry below;
          below.value[0] = c + 1 < kColumns ? passing[c + 1].diagonal : s.h[ROWS - 1];
          if (Rules::CARRIES == 2) below.value[Rules::CARRIES - 1] = passing[c].f;
          store_shared_by_blocks(carry, below);
          carry += threads;
        }
      }
      if (!last) handover.hand_down(end);
    }

    if (PATHS) continue;  // the way back writes scores
#pragma unroll
    for (int pair = 0; pair < Cell::PAIRS; pair++) {
      const int target = (block * Cell::PAIRS + pair) * threads + thread;
      if (target >= a.target_count) continue;
      const int64_t n = a.target_lengths[target];
      RESULT* const score = a.scores + static_cast<int64_t>(a.rows[row]) * a.target_count + target;
      if (IS_LOCAL)
        Rules::write(score, Cell::get(s.best, pair), m, n);
      else if (last)
        Rules::write(score, Cell::get(load_shared_by_blocks(carries + (n - 1) * threads).value[0], pair), m, n);
    }
    if (last) handover.finish();
  }
}
