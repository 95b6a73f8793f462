// Global and local scores: one thread per alignment, or per two alignments in 16 bits. For many pairs.
//
// pipeline.cuh has the glossary (item, strip, unit, carries, slot, flag, chunk). An item is one query with blockDim.x * PAIRS targets. A
// thread keeps a strip's H and E in registers and steps through the columns; H, and with affine gaps F, of the strip's last row are its
// carries, [column][thread], so that the accesses of a warp are contiguous; carry_ring.cuh copies them ahead. The substitution scores of a
// strip are a query profile in shared memory: the lanes of a warp read the same row at their own letters, at most 32 consecutive words, so
// banks never conflict.
//
// PAIRED (nucleotides): the scores of the two targets of a thread are one word of a table indexed by both letters, if both are among the
// first four; two rows per load, 16 entries of 8 bytes, which are all banks once. That saves the instruction that joins the two scores.
// Columns in which any lane of the warp has another letter use the profile.
//
// PATHS: every strip keeps its carries, and every TILE columns a checkpoint: H, with affine gaps also E, of its rows before that column.
// trace_threads.cu starts from there.
//
// Macros: those of threads.cuh, and BLOCKS (minimum blocks per multiprocessor: 6 or 8 for 16 bits, else 1), PAIRED (0 or 1),
// DOUBLED (0 or 1: the profile of the second target has twice the scores, score.cuh).
// Registers: 94 (S32 affine, 16 rows); 128 (U16x2 linear, 48 rows, PATHS); 140 (U16x2 affine local, 36 rows) on sm_90a (NVRTC 13.5). Shared
// memory: (ROWS / kWordRows) LETTERS sizeof(ProfileWord) (1 + DOUBLED) + 64 ROWS PAIRED bytes, and two rings of carries.
// Measured (one H200, 2026-11-28, benchmarks/results/nw_cuda.md), TCUPS of 16 bits: 16,000 x 1.5 kb linear 5/-4/6 14.9, affine 5/-4/10/1
// 8.6, local affine 6.6; 20 protein queries x 240,000 proteins, local BLOSUM62 12/1: 6.0. Half floats (H16x2) on an H100,
// 2026-11-25: 14.87, 8.62, 5.90 (benchmarks/results/older_cuda.md). 32 and 64 bits: not measured alone.
#include "carry_ring.cuh"
#include "threads.cuh"

// State of a strip between two columns.
struct Strip {
  Value h[ROWS];  // before column j: H(i,j-1)
  Value e[ROWS];  // before column j: E(i,j)
  Value corner;   // H of the row above the strip, in the column computed last
  Value best;     // local scores: the largest H so far
};

constexpr int kFrequent = 4, kPairs = kFrequent * kFrequent;
constexpr uint32_t kRareLetters = 0xf0f0f0f0;  // bits of four packed letters that are set only in letters from kFrequent on

// Scores of a pair of letters in two consecutive rows.
struct alignas(8) TwoRows {
  uint32_t upper, lower;
};

// A column of a strip that is being computed, between two rows.
struct Column {
  const char *a, *b;    // scores of the two targets' letters in their profiles
  const TwoRows* pair;  // and in the table of pairs
  Value diagonal;       // H(i-1,j-1) for the next row i; after the last row m, H(m,j-1)
  Value f;              // F(i,j) for the next row i
};

// Computes kWordRows rows (4 if FREQUENT) of a column, from row FIRST on. FREQUENT: both letters are among the first four.
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

// The columns of a word of letters are computed together, each kWordRows rows behind the column before it. A cell waits for the cell above
// it; cells of different columns do not wait for each other.
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

// Fills the table of pairs of the first four letters, [row / 2][letter b][letter a], of the strip whose first row is `first`. If there are
// fewer letters, the other entries are never read.
DEVICE void make_pairs(TwoRows* pairs, const ThreadArgs& a, const uint8_t* query, int64_t first) {
  for (int k = threadIdx.x; k < ROWS / 2 * kPairs; k += blockDim.x) {
    const int letter_a = k % kFrequent, letter_b = k / kFrequent % kFrequent;
    const auto of_letter = [&](int row, int letter) { return letter < LETTERS ? row_score(a, query, first, row, letter) : 0; };
    const auto score = [&](int row) { return U16x2::joined(of_letter(row, letter_a), of_letter(row, letter_b)); };
    const int row = k / kPairs * 2;
    pairs[k] = {score(row), score(row + 1)};
  }
}

constexpr int kMaxThreads = 64;
using Ring = CarryRing<Carry, kColumns>;

// Requests the carries of the row above a strip for the next batch, from `column` on. Beyond the last column the batch stays empty, but
// counts. columns_above: columns that the strip above hands down, 0 for strip 0, above which is row 0.
DEVICE void request(Ring& above, int strip, int column, int columns_above) {
  if (column < columns_above) {
    above.request();
    return;
  }
  Carry* const carry = above.put();
  if (strip > 0) return;
#pragma unroll
  for (int c = 0; c < kColumns; c++) Rules::top(column + c + 1, carry[c * kLanes].value);
}

KERNEL(kMaxThreads, BLOCKS) align_threads(const ThreadArgs a) {
  __shared__ Cell::ProfileWord profile[ROWS / kWordRows * LETTERS];
  __shared__ Cell::ProfileWord doubled[DOUBLED ? ROWS / kWordRows * LETTERS : 1];
  __shared__ TwoRows pairs[PAIRED ? ROWS / 2 * kPairs : 1];
  alignas(16) __shared__ Carry rings[kMaxThreads / kLanes * Ring::kCarries];
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
    // This strip's carries, and how many carries before them those of the strip above are: with PATHS all strips keep theirs, else a strip
    // overwrites the carries that it has read.
    const int64_t back = PATHS ? static_cast<int64_t>(columns) * threads : 0;
    Carry* const carries = static_cast<Carry*>(a.carries) + carry_start(a.pipeline, unit) / Rules::CARRIES + unit.strip * back + thread;
    Edge* checkpoint = PATHS ? static_cast<Edge*>(a.edges) + a.pipeline.slots[unit.item] * (a.edge_stride / Rules::CARRIES) +
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
    const int columns_above = unit.strip > 0 ? columns : 0;
    uint32_t next_letters = words[0];
    for (int chunk = 0; chunk < columns; chunk += kChunk) {
      const int end = chunk + kChunk < columns ? chunk + kChunk : columns;
      handover.wait_for(end + Ring::kAhead < columns ? end + Ring::kAhead : columns);
      if (chunk == 0)
        for (int j = 0; j < Ring::kAhead; j += kColumns) request(above, unit.strip, j, columns_above);
      for (int j = chunk; j < end; j += kColumns) {
        if (PATHS && j % TILE == 0) {
#pragma unroll
          for (int r = 0; r < ROWS; r++) {
            Edge checkpoint_value;
            checkpoint_value.value[0] = s.h[r];
            if (Rules::CARRIES == 2) checkpoint_value.value[Rules::CARRIES - 1] = s.e[r];
            checkpoint[r * threads] = checkpoint_value;
          }
          checkpoint += edge_tile();
        }
        uint32_t letters = next_letters;
        words += threads;
        next_letters = *words;
        const Carry* const carries_above = above.take();
        request(above, unit.strip, j + Ring::kAhead, columns_above);
        const bool frequent = PAIRED && !any_lane(letters & kRareLetters);
        Column columns_of_word[kColumns];
#pragma unroll
        for (int c = 0; c < kColumns; c++) {
          const uint32_t letter_a = letters & 0xff, letter_b = letters >> 8 & 0xff;
          letters >>= 8 * Cell::PAIRS;
          constexpr int kScale = sizeof(Cell::ProfileWord) / 4;
          const Carry up = carries_above[c * kLanes];
          columns_of_word[c] = {bytes + letter_a * kScale, bytes_of_b + letter_b * kScale, pairs + (letter_a / 4 + letter_b), s.corner,
                                Rules::f_above(up.value)};
          s.corner = up.value[0];
        }
        if (frequent)
          down<0, PAIRED>(s, columns_of_word, a.one);
        else
          down<0, false>(s, columns_of_word, a.one);
#pragma unroll
        for (int c = 0; c < kColumns; c++) {
          Carry below;
          below.value[0] = c + 1 < kColumns ? columns_of_word[c + 1].diagonal : s.h[ROWS - 1];
          if (Rules::CARRIES == 2) below.value[Rules::CARRIES - 1] = columns_of_word[c].f;
          store_shared_by_blocks(carry, below);
          carry += threads;
        }
      }
      if (!last) handover.hand_down(end);
    }

    if (PATHS) continue;  // trace_threads.cu writes the scores
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
