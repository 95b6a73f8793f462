// Edit distances of listed pairs, of whole records or with free ends, exact up to a bound of each pair: Myers' bit vectors in a diagonal
// band, abandoned once the distance exceeds the bound (Myers 1999; Hyyro 2003; Ukkonen 1985). One thread per pair; a thread that has
// finished its pair takes the next one.
//
// Glossary
//   m, n     letters of the query (rows i) and of the target (columns j)
//   D(i,j)   edit distance of the first i and the first j letters
//   d        m - n. The distance of the pair, D(m,n), is on the diagonal i - j = d
//   k        bound of the pair, |d| <= k: a larger distance is not reported
//   p        (k - |d|) / 2 rounded down
//   below    rows of the window below row j in column j: min(m, p + max(0, d))
//   window   the B = 64 words rows that are stored of a column. In column j bit b is row j + below - B + 1 + b, bit B - 1 the lowest row.
//            It moves down a row with each column
//   PM       match mask: rows of the window whose letter equals the letter of the column
//   VP, VN   rows where D(i,j) - D(i-1,j) is +1, -1. Between two steps they are those of the last column (previous), and their bits are
//            the rows of the next column's window
//   D0       rows where D(i,j) = D(i-1,j-1)
//   HP, HN   rows where D(i,j) - D(i,j-1) is +1, -1
//   f, g     with free ends: the overhangs, letters of the query and of the target that may be left out at either end; f - g = d
//   depth    with free ends: letters of both that may be left out at one end (PairingGains in core/scoring/edit_bounds.py)
//
// 1. The band. A path raises i - j by one with each letter of the query that it leaves out, and lowers it by one with each letter of the
//    target. It leads from diagonal 0 to diagonal d, so one that visits diagonal max(0, d) + s or min(0, d) - s has at least |d| + 2 s
//    edits. Hence a path of at most k edits keeps to the diagonals from min(0, d) - p to max(0, d) + p, which are k + 1 at most.
// 2. The window. It holds the band, because B > k. The step from column j - 1 to column j:
//      D0 = (((PM & VP) + VP) ^ VP) | PM | VN
//      HP = VN | ~(D0 | VP);  HN = D0 & VP
//      VP = HN | ~((D0 >> 1) | HP);  VN = (D0 >> 1) & HP      a row down, for the window of the next column
//    Myers shifts HP and HN a row down instead. Here D0 is shifted up, and every bit of HP and HN keeps its row.
// 3. Invariant: every value is the cost of a real path, hence an upper bound of D(i,j), and equals D(i,j) if some optimal path stays in the
//    window. Two assumptions are made at its edges. No carry enters at bit 0, as if D did not fall along the row above: then the step from
//    there is no better than the diagonal one. And the row that enters at the bottom has D0 = 0: its value is one more than along the
//    diagonal, or than in the row above. Both are steps that a path can take.
// 4. The start. The highest below + 1 bits of VP are set: D(i,0) = i for i > 0. Rows 0 and above have no letters and D = 0 in column 0. So
//    D0 = 0 and D(i,j) = j there, as it must be in row 0.
// 5. The end. The last cell is on diagonal d, bit B - 1 - below + d of every column. Its value starts at D(d,0) = max(d, 0). It
//    rises by 1 with each column in which D0 is not set there, and never falls, so a pair is abandoned as soon as it exceeds k. Rows below
//    the query's end change nothing above them.
// 6. Free ends, if a coverage is required. The least cost of a path from a cell of the start corner (i <= f, j <= g, and either of them at
//    most the depth) to one of the end corner, its mirror image, as in cpu/near_pairs/src/near_band.hpp. In the start corner PM is set, so
//    that all its cells are 0. In the end corner it is set, too, so that a path continues along its diagonal to column n and beyond. Paths
//    start and end on the diagonals from -g to f, and stray at most k / 2 beyond. The distance is the least value on the diagonals from -g
//    to f, and a pair is abandoned as soon as all values of a column exceed k. Eight rows are checked at a time: none of their values is
//    less than the value above them minus the number of falls among them.
//
// Macros: PLANES (bits of a letter: 1 to 5), WORDS (words of 64 diagonals of a window, in registers: 1, 2, 4, 8, 12 or 16; 0: their number
// is an argument, and they are in global memory, 8 words (PLANES + 3) bytes per thread, or 8 words (PLANES + 2) with free ends),
// FREE_ENDS (0 or 1).
// Registers: 46 (2 planes, 1 word); 111 (2 planes, 4 words); 96 (5 planes, WORDS 0) on sm_90a (NVRTC 13.5).
// Shared memory: none.
// Measured (one H200, 2026-11-22, benchmarks/results/near_cuda.md), while other kernels may run beside it: 79 to 88 million pairs a second
// of genes of 1.5 kb at 97 %, 4 to 27 of reads of 100 letters within 3 edits.
// With free ends, in registers: not measured alone. In memory, bands of 11 words took 0.3 microseconds a pair of genes (one H100,
// 2026-11-26).
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
  NearDistance* found;      // out: pairs within the bound, in any order
  uint64_t* scratch;        // if WORDS is 0: [kKinds][words][threads of the grid]
  uint32_t capacity;        // of candidates; if there are more, nothing is computed
  uint32_t found_capacity;  // of found; pairs beyond it are counted, not written
  int32_t words;            // if WORDS is 0
};
SAME_AS_ON_HOST(NearVerifyArgs);

// The bit vectors of a window: VP, VN, the bit planes of its letters and, of whole records, the rows from 1 on.
enum Kind { kVP, kVN, kPlanes, kRows = kPlanes + PLANES, kKinds = kRows + !FREE_ENDS };

constexpr int kUnrolledColumns = WORDS > 8 ? 2 : 4;

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

// Returns 64 bits, those from `bit` on set, or those below it; `bit` may be any number.
DEVICE uint64_t ones_from(int bit) { return bit <= 0 ? ~uint64_t{0} : bit >= 64 ? 0 : ~uint64_t{0} << bit; }
DEVICE uint64_t ones_below(int bit) { return ~ones_from(bit); }

// A bit plane of a record. Bits before its first letter and after its last are 0.
struct Plane {
  const uint32_t* words;
  int32_t count;

  DEVICE Plane(const NearRecords& records, int record, int plane)
      : words(records.planes + records.starts[record] + plane), count((records.lengths[record] + 31) / 32) {}
  DEVICE uint32_t word(int w) const { return w >= 0 && w < count ? words[static_cast<int64_t>(w) * PLANES] : 0; }
  // 32 letters from `letter` on, which may be any number.
  DEVICE uint32_t from(int letter) const {
    const int w = letter >> 5;
    const uint64_t both = static_cast<uint64_t>(word(w + 1)) << 32 | word(w);
    return static_cast<uint32_t>(both >> (letter & 31));
  }
};

// A pair that is being computed.
struct Pair {
  NearPair records;
  int32_t bound;    // k
  int32_t below;    // rows of the window below the diagonal 0
  int32_t columns;  // n
  int32_t column;   // columns that have been computed
  int32_t value;    // D on the diagonal of end_bit in that column
  int32_t end_bit;  // bit of diagonal d in the window; with free ends, the lowest bit of all rows
#if FREE_ENDS
  int32_t end_diagonal;                     // d
  int32_t query_length;                     // m
  int32_t query_overhang, target_overhang;  // f, g
  int32_t start_depth, end_depth;

  // Returns the depth of a corner.
  DEVICE int32_t depth_of(const NearVerifyArgs& a, bool at_end) const {
    const int32_t most = query_overhang < target_overhang ? query_overhang : target_overhang;
    int64_t sum = 0;  // of scores, which may be large
    int32_t depth = 0;
    for (int32_t done = 0; done < most; done += 32) {
      if (a.bound.other_gain <= a.bound.equal_gain && sum + static_cast<int64_t>(a.bound.other_gain) * (most - done) > 0)
        break;  // it stays above 0
      const int32_t row = at_end ? query_length - done - 32 : done, column = at_end ? columns - done - 32 : done;
      uint32_t equal = ~0u, below = 0, as_limit = ~0u;  // below, as_limit: the highest bits of the ranks are, of a.bound.ordinary
#pragma unroll
      for (int p = PLANES - 1; p >= 0; p--) {
        const uint32_t bits = Plane(a.queries, records.query, p).from(row);
        equal &= ~(bits ^ Plane(a.targets, records.target, p).from(column));
        if (a.bound.ordinary >> p & 1)
          below |= as_limit & ~bits, as_limit &= bits;
        else
          as_limit &= ~bits;
      }
      if (a.bound.ordinary < 1 << PLANES) equal &= below;
      for (int k = 0; k < 32 && done + k < most; k++) {
        sum += equal >> (at_end ? 31 - k : k) & 1 ? a.bound.equal_gain : a.bound.other_gain;
        if (sum <= 0) depth = done + k + 1;
      }
    }
    return depth;
  }
#endif

  DEVICE void start(const NearVerifyArgs& a, const NearPair& pair, Band& band) {
    records = pair;
    const int32_t m = a.queries.lengths[pair.query], d = m - a.targets.lengths[pair.target];
    const int32_t positive_d = d > 0 ? d : 0;
    columns = m - d;
    const NearLengths lengths{m, columns, a.queries.ambiguous[pair.query] + a.targets.ambiguous[pair.target]};
#if FREE_ENDS
    query_length = m;
    end_diagonal = d;
    const int64_t edits = max_edits_inside(a.bound, lengths), longer = positive_d + columns;
    bound = static_cast<int32_t>(edits < longer ? edits : longer);
    target_overhang = static_cast<int32_t>(max_overhang(a.bound, columns, m));
    if (target_overhang > columns) target_overhang = columns;
    query_overhang = target_overhang + d;
    if (query_overhang < 0 || target_overhang < 0) bound = -1;
    start_depth = depth_of(a, false), end_depth = depth_of(a, true);
    const int32_t band_below = query_overhang + bound / 2;
#else
    bound = max_edits(a.bound, lengths);
    const int32_t band_below = (bound - (d < 0 ? -d : d)) / 2 + positive_d;
#endif
    below = m < band_below ? m : band_below;
    column = 0;
#if FREE_ENDS
    end_bit = 64 * band.words - 1;
    value = below > query_overhang ? below - query_overhang : 0;
#else
    end_bit = 64 * band.words - 1 - below + d;
    value = positive_d;
#endif
#pragma unroll
    for (int w = 0; w < band.words; w++) {
      const int first = 64 * (band.words - w) - below;  // bit of row 1 in this word, before the window moves to column 1
#if FREE_ENDS
      band.word(kVP, w) = ones_from(first - 1 + query_overhang);
#else
      band.word(kVP, w) = ones_from(first - 1);
      band.word(kRows, w) = ones_from(first);
#endif
      band.word(kVN, w) = 0;
#pragma unroll
      for (int p = 0; p < PLANES; p++) {
        const Plane plane(a.queries, pair.query, p);
        band.word(kPlanes + p, w) = static_cast<uint64_t>(plane.from(32 - first)) << 32 | plane.from(-first);
      }
    }
  }

  // Computes the next column. Bit k of `letters` is its letter, bit k of `entering` the letter of the row that enters the window. Returns a
  // negative number if D0 is set at end_bit, i.e. if `value` stays. kEdges: with free ends, the window may have rows above row 1, and the
  // column may be one of a corner; `number` is its number.
  template <bool kEdges>
  DEVICE int32_t step(Band& band, const uint32_t (&letters)[PLANES], const uint32_t (&entering)[PLANES], int k, int32_t number) const {
    bool carry = false;  // of the addition, from word to word
    // Of word w - 1, whose new VP and VN need D0 of word w.
    uint64_t previous_d0 = 0, previous_hp = 0, previous_hn = 0;
    uint32_t end_d0 = 0;  // the half word of D0 that has end_bit
#pragma unroll
    for (int w = 0; w < band.words; w++) {
      // The window moves down a row: rows, and their letters, move to the bit below.
      const bool lowest = w + 1 == band.words;  // the word of the lowest rows
#if FREE_ENDS
      uint64_t pm = ~uint64_t{0};
#else
      const uint64_t rows = shift_in(band.word(kRows, w), lowest ? 1 : static_cast<uint32_t>(band.word(kRows, w + 1)));
      band.word(kRows, w) = rows;
      uint64_t pm = rows;
#endif
#pragma unroll
      for (int p = 0; p < PLANES; p++) {
        const uint32_t next = lowest ? entering[p] >> k : static_cast<uint32_t>(band.word(kPlanes + p, w + 1));
        const uint64_t window = shift_in(band.word(kPlanes + p, w), next);
        band.word(kPlanes + p, w) = window;
        const int32_t letter = static_cast<int32_t>(letters[p] << (31 - k)) >> 31;  // the bit, 32 times
        pm &= ~(window ^ static_cast<uint64_t>(static_cast<int64_t>(letter)));
      }
#if FREE_ENDS
      if (kEdges) {
        const int32_t row0 = 64 * (band.words - w) - 1 - below - number;  // bit of row 0
        pm &= ones_from(row0 + 1);
        if (number <= target_overhang) pm |= ones_below(row0 + (number <= start_depth ? query_overhang : start_depth) + 1);
        if (number > columns - target_overhang)
          pm |= ones_from(row0 + query_length - (number > columns - end_depth ? query_overhang : end_depth) + 1);
      }
#endif
      const uint64_t vp = band.word(kVP, w), vn = band.word(kVN, w);
      const uint64_t equal = pm & vp, sum = equal + vp + carry;
      carry = (equal | (vp & ~sum)) >> 63;  // as equal is part of vp
      const uint64_t d0 = (sum ^ vp) | pm | vn;
      const uint64_t hp = vn | ~(d0 | vp), hn = d0 & vp;
      if (w > 0) set_vertical(band, w - 1, shift_in(previous_d0, static_cast<uint32_t>(d0)), previous_hp, previous_hn);
      if (!FREE_ENDS && end_bit >> 5 == 2 * w) end_d0 = static_cast<uint32_t>(d0);
      if (FREE_ENDS ? lowest : end_bit >> 5 == 2 * w + 1) end_d0 = static_cast<uint32_t>(d0 >> 32);
      previous_d0 = d0, previous_hp = hp, previous_hn = hn;
    }
    set_vertical(band, band.words - 1, shift_in(previous_d0, 0), previous_hp, previous_hn);
    return static_cast<int32_t>(FREE_ENDS ? end_d0 : end_d0 << (31 - (end_bit & 31)));
  }

  // Sets VP and VN of word w for the next column; shifted_d0: D0 >> 1.
  DEVICE static void set_vertical(Band& band, int w, uint64_t shifted_d0, uint64_t hp, uint64_t hn) {
    band.word(kVP, w) = hn | ~(shifted_d0 | hp);
    band.word(kVN, w) = shifted_d0 & hp;
  }

#if FREE_ENDS
  // Returns whether the next 32 columns have rows above row 1 in their windows, or are columns of a corner.
  DEVICE bool has_edges(const Band& band) const {
    return column + 1 < 64 * band.words - below || column < target_overhang || column + 32 > columns - target_overhang;
  }
#endif

  // Computes the next 32 columns, or those that are left.
  template <bool kEdges>
  DEVICE void advance(const NearVerifyArgs& a, Band& band) {
    uint32_t letters[PLANES], entering[PLANES], d0_bits = 0;  // D0 at end_bit, the latest column's in bit 0
#pragma unroll
    for (int p = 0; p < PLANES; p++) {
      letters[p] = Plane(a.targets, records.target, p).word(column / 32);
      entering[p] = Plane(a.queries, records.query, p).from(column + below);
    }
#pragma unroll 1
    for (int c = 0; c < 32; c += kUnrolledColumns) {
#pragma unroll
      for (int k = 0; k < kUnrolledColumns; k++)
        d0_bits = append_sign(d0_bits, step<kEdges>(band, letters, entering, k, column + c + k + 1));
#pragma unroll
      for (int p = 0; p < PLANES; p++) letters[p] >>= kUnrolledColumns, entering[p] >>= kUnrolledColumns;
    }
#if FREE_ENDS
    column += 32;  // columns beyond the last belong to the end corner
    value += 32 - count_bits(d0_bits);
#else
    const int32_t left = columns - column, taken = left < 32 ? left : 32;  // columns beyond the last were computed, too, and do not count
    column += taken;
    value += taken - count_bits(d0_bits >> (32 - taken));
#endif
  }

#if FREE_ENDS
  // Returns whether the pair is decided. At the end, `value` becomes the least value on the diagonals where paths end; before it, k + 1 if
  // no value of the column is at most k.
  DEVICE bool done(Band& band) {
    const bool at_end = column >= columns;
    // VP and VN are those of the next column's window, in which diagonal d is at this bit.
    const int32_t goal_bit = 64 * band.words - 2 - below + end_diagonal;
    const int32_t first = at_end ? goal_bit - query_overhang : 0, last = at_end ? goal_bit + target_overhang : 64 * band.words - 1;
    int32_t d_value = value, least = bound + 1;
#pragma unroll
    for (int w = 0; w < band.words; w++) {
      const uint64_t above = ones_below(end_bit - 64 * w);
      const uint64_t rises = band.word(kVP, w) & above, falls = band.word(kVN, w) & above;
      d_value -= count_bits(static_cast<uint32_t>(rises)) + count_bits(static_cast<uint32_t>(rises >> 32));
      d_value += count_bits(static_cast<uint32_t>(falls)) + count_bits(static_cast<uint32_t>(falls >> 32));
    }
#pragma unroll
    for (int w = 0; w < band.words; w++) {
      uint64_t rising = band.word(kVP, w), falling = band.word(kVN, w);
#pragma unroll 1
      for (int bit = 64 * w; bit < 64 * w + 64; bit += 8, rising >>= 8, falling >>= 8) {
        const uint32_t rises = rising & 255, falls = falling & 255;
        if (d_value - count_bits(falls) < least && bit + 7 >= first && bit <= last) {
          int32_t next = d_value;
          for (int b = 0; b < 8 && bit + b <= last; b++) {
            next += static_cast<int32_t>(rises >> b & 1) - static_cast<int32_t>(falls >> b & 1);
            if (bit + b >= first && next < least) least = next;
          }
        }
        d_value += count_bits(rises) - count_bits(falls);
      }
    }
    if (at_end || least > bound) value = least;
    return at_end || least > bound;
  }
#else
  DEVICE bool done(Band&) const { return column == columns || value > bound; }
#endif
};

KERNEL(128, 1) near_verify(const NearVerifyArgs a) {
  const uint32_t count = a.counters->candidates;
  if (count > a.capacity) return;
  Band band(a);
  Pair pair{};
  bool busy = false, more = true;  // busy: this thread has a pair; more: the list may have another one
  // append_index() is called by all lanes of a warp together, hence the loop ends for all of them at once.
  for (;;) {
    const uint32_t next = append_index(&a.counters->next, !busy && more);
    if (!busy && more) {
      more = busy = next < count;
      if (busy) pair.start(a, a.candidates[next], band);
    }
    if (__ballot_sync(kAllLanes, busy) == 0) return;
#if FREE_ENDS
    const bool edges = busy && pair.has_edges(band);
    if (__ballot_sync(kAllLanes, edges) != 0) {
      if (busy) pair.template advance<true>(a, band);
    } else {
      if (busy) pair.template advance<false>(a, band);
    }
#else
    if (busy) pair.template advance<false>(a, band);
#endif
    const bool done = busy && pair.done(band), near = done && pair.value <= pair.bound;
    const uint32_t index = append_index(&a.counters->found, near);
    if (near && index < a.found_capacity) a.found[index] = {pair.records.query, pair.records.target, pair.value};
    if (done) busy = false;
  }
}
