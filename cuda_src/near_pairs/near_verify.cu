// Edit distances of listed pairs, as far as they are within the bound: a band of Myers' words that is given up when the distance exceeds it
// (Myers 1999; Hyyro 2003; Ukkonen 1985). A thread a pair; it takes the next one when it has done with one.
//
// Rows are the m letters of the query, columns the n letters of the target, D(i, j) the distance of the first i and the first j letters,
// d = m - n, k the bound, and |d| <= k.
//
// 1. The band. Letters that a path leaves out of the query move it a diagonal (i - j) up, those of the target a diagonal down, and
//    it moves from 0 to d. A path that comes to diagonal d + s or, for d < 0, to diagonal s > 0 goes s further than it must, and comes
//    back: |d| + 2 s edits. So one of k edits at most keeps to the diagonals from -(p + max(0, -d)) to p + max(0, d) with
//    p = (k - |d|) / 2, k + 1 of them at most.
// 2. The window. Of column j it is the rows from j + below - B + 1 (bit 0) to j + below (bit B - 1), B = 64 * words > k, with
//    below = min(m, p + max(0, d)): it holds the band, and moves a row down with each column. VP, VN say where D rises, falls from
//    the row above to a row of the window, in the column before. Eq: where the letters are equal. The recurrence:
//      D0 = (((Eq & VP) + VP) ^ VP) | Eq | VN     D(i, j) = D(i - 1, j - 1); it is one more where the bit is not set
//      HP = VN | ~(D0 | VP),  HN = D0 & VP         D(i, j) - D(i, j - 1) = 1, -1
//      VP' = HN | ~((D0 >> 1) | HP),  VN' = (D0 >> 1) & HP     of column j, in the window of the next one: a row down
//    Myers' words move HP and HN a row down instead; here D0 moves up, and rows keep their place.
// 3. The edges. No carry comes in at bit 0, as if D did not fall along the row above: the step from there is then no better than the one
//    along the diagonal. In at the top comes a row whose D0 is taken for 0: D is one more than along the diagonal, or than
//    in the row above, which are steps that a path can take. So no value is less than D, and where the best path keeps to the window
//    it is D.
// 4. The beginning. VP has its below + 1 highest bits set: D(i, 0) = i for i > 0. Rows of 0 and less are there without letters, with D = 0
// in
//    column 0; there D0 is 0 and D(i, j) = j, as it should be of row 0.
// 5. The end. The last cell is on diagonal d, bit B - 1 - below + d of every column. The value there begins at max(d, 0) (d rows below
//    row 0, or in one without letters, with -d columns to row 0) and rises by 1 for every column where D0 is not set: it never
//    falls, so a pair whose value exceeds k is done with. Rows behind the query's end change nothing above them.
#include "near.cuh"

struct NearDistance {
  int32_t query, target, distance;
};
SAME_AS_ON_HOST(NearDistance);

struct NearVerifyArgs {
  NearRecords queries, targets;
  NearBound bound;
  const NearPair* candidates;
  NearCounters* counters;
  NearDistance* found;
  uint64_t* scratch;        // of WORDS 0: [kKinds][words][threads of the grid]
  uint32_t capacity;        // of candidates; where they are more, nothing is done
  uint32_t found_capacity;  // of found
  int32_t words;            // of WORDS 0
};
SAME_AS_ON_HOST(NearVerifyArgs);

// PLANES: bits of a letter. WORDS: of 64 diagonals, in registers; 0 for as many as the host says, in memory.
enum Kind { kRises, kFalls, kRows, kPlanes, kKinds = kPlanes + PLANES };  // VP, VN, rows from 1 on, planes of the window

constexpr int kTogether = 4;  // columns that are written out

#if WORDS
struct Band {
  static constexpr int words = WORDS;
  uint64_t at[kKinds][WORDS];

  DEVICE explicit Band(const NearVerifyArgs&) {}
  DEVICE uint64_t& word(int kind, int w) { return at[kind][w]; }
};
#else
struct Band {
  const int words;
  uint64_t* const own;
  const int64_t threads;

  DEVICE explicit Band(const NearVerifyArgs& a)
      : words(a.words), own(a.scratch + static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x),
        threads(static_cast<int64_t>(gridDim.x) * blockDim.x) {}
  DEVICE uint64_t& word(int kind, int w) { return own[(static_cast<int64_t>(kind) * words + w) * threads]; }
};
#endif

// 64 bits of which those from `bit` on are set; bit may be any number.
DEVICE uint64_t ones_from(int bit) { return bit <= 0 ? ~uint64_t{0} : bit >= 64 ? 0 : ~uint64_t{0} << bit; }

// A plane of a record; bits before its beginning and behind its end are 0.
struct Plane {
  const uint32_t* words;
  int32_t count;

  DEVICE Plane(const NearRecords& records, int record, int plane)
      : words(records.planes + records.starts[record] + plane), count((records.lengths[record] + 31) / 32) {}
  DEVICE uint32_t word(int w) const { return w >= 0 && w < count ? words[static_cast<int64_t>(w) * PLANES] : 0; }
  // 32 letters from any letter on
  DEVICE uint32_t from(int letter) const {
    const int w = letter >> 5;
    const uint64_t both = static_cast<uint64_t>(word(w + 1)) << 32 | word(w);
    return static_cast<uint32_t>(both >> (letter & 31));
  }
};

// One pair on its way.
struct Pair {
  NearPair records;
  int32_t most, below, columns, column, value;
  int32_t place;  // the last cell's bit of the window

  DEVICE void begin(const NearVerifyArgs& a, const NearPair& pair, Band& band) {
    records = pair;
    const int32_t m = a.queries.lengths[pair.query], d = m - a.targets.lengths[pair.target];
    const int32_t behind = d > 0 ? d : 0, apart = d < 0 ? -d : d;
    columns = m - d;
    most = most_edits(a.bound, m, columns);
    const int32_t reach = (most - apart) / 2 + behind;
    below = m < reach ? m : reach;
    place = 64 * band.words - 1 - below + d;
    column = 0;
    value = behind;
#pragma unroll
    for (int w = 0; w < band.words; w++) {
      const int first = 64 * (band.words - w) - below;  // bit of row 1
      band.word(kRises, w) = ones_from(first - 1);
      band.word(kFalls, w) = 0;
      band.word(kRows, w) = ones_from(first);
#pragma unroll
      for (int p = 0; p < PLANES; p++) {
        const Plane plane(a.queries, pair.query, p);
        band.word(kPlanes + p, w) = static_cast<uint64_t>(plane.from(32 - first)) << 32 | plane.from(-first);
      }
    }
  }

  // One column, whose letter, and the row that enters the window, are bits k of these planes. Negative where the value stays.
  DEVICE int32_t step(Band& band, const uint32_t (&letters)[PLANES], const uint32_t (&entering)[PLANES], int k) const {
    bool carry = false;
    uint64_t d0_above = 0, rising_above = 0, falling_above = 0;
    uint32_t last = 0;
#pragma unroll
    for (int w = 0; w < band.words; w++) {
      const bool top = w + 1 == band.words;
      const uint64_t rows = shift_in(band.word(kRows, w), top ? 1 : static_cast<uint32_t>(band.word(kRows, w + 1)));
      band.word(kRows, w) = rows;
      uint64_t equal = rows;
#pragma unroll
      for (int p = 0; p < PLANES; p++) {
        const uint32_t next = top ? entering[p] >> k : static_cast<uint32_t>(band.word(kPlanes + p, w + 1));
        const uint64_t window = shift_in(band.word(kPlanes + p, w), next);
        band.word(kPlanes + p, w) = window;
        const int32_t letter = static_cast<int32_t>(letters[p] << (31 - k)) >> 31;  // the bit, 32 times
        equal &= ~(window ^ static_cast<uint64_t>(static_cast<int64_t>(letter)));
      }
      const uint64_t rises = band.word(kRises, w), falls = band.word(kFalls, w);
      const uint64_t half = (equal & rises) + rises, whole = half + carry;
      carry = half < rises || whole < half;
      const uint64_t d0 = (whole ^ rises) | equal | falls;
      const uint64_t rising = falls | ~(d0 | rises), falling = d0 & rises;
      if (w > 0) slide(band, w - 1, shift_in(d0_above, static_cast<uint32_t>(d0)), rising_above, falling_above);
      if (place >> 5 == 2 * w) last = static_cast<uint32_t>(d0);
      if (place >> 5 == 2 * w + 1) last = static_cast<uint32_t>(d0 >> 32);
      d0_above = d0, rising_above = rising, falling_above = falling;
    }
    slide(band, band.words - 1, shift_in(d0_above, 0), rising_above, falling_above);
    return static_cast<int32_t>(last << (31 - (place & 31)));
  }

  // VP' and VN', with D0 a row up.
  DEVICE static void slide(Band& band, int w, uint64_t up, uint64_t rising, uint64_t falling) {
    band.word(kRises, w) = falling | ~(up | rising);
    band.word(kFalls, w) = up & rising;
  }

  // 32 columns, or as many as there are.
  DEVICE void advance(const NearVerifyArgs& a, Band& band) {
    uint32_t letters[PLANES], entering[PLANES], equal_steps = 0;
#pragma unroll
    for (int p = 0; p < PLANES; p++) {
      letters[p] = Plane(a.targets, records.target, p).word(column / 32);
      entering[p] = Plane(a.queries, records.query, p).from(column + below);
    }
#pragma unroll 1
    for (int c = 0; c < 32; c += kTogether) {
#pragma unroll
      for (int k = 0; k < kTogether; k++) equal_steps = append_sign(equal_steps, step(band, letters, entering, k));
#pragma unroll
      for (int p = 0; p < PLANES; p++) letters[p] >>= kTogether, entering[p] >>= kTogether;
    }
    const int32_t left = columns - column, taken = left < 32 ? left : 32;
    column += taken;
    value += taken - count_bits(equal_steps >> (32 - taken));  // the first column's step is the highest bit
  }

  DEVICE bool done() const { return column == columns || value > most; }
};

KERNEL(128, 1) near_verify(const NearVerifyArgs a) {
  const uint32_t count = a.counters->candidates;
  if (count > a.capacity) return;
  Band band(a);
  Pair pair{};
  bool busy = false, more = true;
  for (;;) {
    const uint32_t next = places(&a.counters->next, !busy && more);
    if (!busy && more) {
      more = busy = next < count;
      if (busy) pair.begin(a, a.candidates[next], band);
    }
    if (__ballot_sync(kAllLanes, busy) == 0) return;
    if (busy) pair.advance(a, band);
    const bool done = busy && pair.done(), near = done && pair.value <= pair.most;
    const uint32_t place = places(&a.counters->found, near);
    if (near && place < a.found_capacity) a.found[place] = {pair.records.query, pair.records.target, pair.value};
    if (done) busy = false;
  }
}
