// Edit distances up to a limit, of whole records or with free ends, for many pairs at once: Myers' bit vectors along a diagonal band, one
// pair per vector lane.
//
// Glossary (the rows are the longer record, the columns the shorter one)
//   m, n    letters of the row record and of the column record, m >= n
//   d       m - n. The distance of the pair is D(m, n), a cell of diagonal i - j = d, here called the goal diagonal
//   k       limit of the pair: a distance above k is reported as -1
//   p       (k - d) / 2 rounded down: diagonals that the band has above diagonal 0, and below the goal diagonal
//   f       with free ends: letters of the column record that may be left out at either end, its overhang; that of the row record is f + d
//   base    row just above the band. Bit r of a lane is row base + 1 + r
//   shift   after every S = kColumnsPerShift columns the band moves down by S rows; between two shifts its rows are fixed
//   Eq      match mask: rows whose letter equals the letter of the column
//   VP, VN  rows i where D(i,j) - D(i-1,j) is +1, -1. Before a step they belong to column j - 1 (previous), after it to column j (next)
//   D0      rows where D(i,j) = D(i-1,j-1)
//   HP, HN  rows where D(i,j) - D(i,j-1) is +1, -1. Shifted by one bit they are the horizontal steps above each row
//
// Cells of the band (Ukkonen 1985). A path from diagonal 0 to diagonal d that visits diagonal d + x or -x has at least d + 2x
// insertions and deletions. So a path of cost at most k stays on the d + 2p + 1 <= k + 1 diagonals from -p to p + d.
//   In the S columns j0 < j <= j0 + S these diagonals meet the rows j0 - p < i <= j0 + S + p + d. These S + d + 2p <= k + S rows are
// the bits of a lane, in one word or several, and base = j0 - p.
//
// Step from column j - 1 to column j (Myers 1999; Hyyro 2003), where + adds within a lane:
//   D0 = (((Eq & VP) + VP) ^ VP) | Eq | VN;  HP = VN | ~(D0 | VP);  HN = D0 & VP
//   HP = HP << 1 | 1;  HN = HN << 1;  VP = HN | ~(D0 | HP);  VN = D0 & HP
// The code names Xh, as Myers does, the part ((Eq & VP) + VP) ^ VP | Eq of D0. It holds HP as the complement ~HP = ~VN & (Xh | VP), whose
// shift brings in a 0, the complement of the 1 above. Of several words, each takes the bits of HP and HN that the word above it shifts out,
// and adds that of HN to its Eq (Hyyro's block step).
//
// Invariant: every stored value is the cost of a real path, hence an upper bound of D(i,j), and it equals D(i,j) if some optimal path to
// the cell stays in the band.
//   The only steps that are assumed are those that enter the band: +1 into the top row of each column, and +1 in the rows that a shift
// adds, for the column before it. No true step exceeds +1, so the invariant survives them. Hence a distance of at most k comes out
// exactly, and any other one comes out above k.
//   Rows up to 0 (base starts at -p) have no letters: Eq = 0 there, and D = 0 in column 0. Then D(i,j) = j in column j, as it must be in
// row 0. While a lane has such rows, Eq is masked by `valid`, the bits of the rows from 1 on.
//
// When a lane stops. The value on the goal diagonal never falls, so a lane stops as soon as that value exceeds k. Another cell (i, j) of
// the column cannot stop it earlier: its value is at least that of the goal diagonal minus |i - j - d|, which are also the steps that the
// cell needs to come back. The value at base is j plus the vertical steps of all rows that have left the band at its top; `retired`
// collects them.
//
// Free ends. The least cost of a path from a cell of the start corner to a cell of the end corner: what is left of D if letters before the
// first pair and after the last pair of an alignment cost nothing. In the start corner i <= f + d and j <= f, and i or j is at most the
// depth of the pair, because an optimal alignment leaves out few letters of both records. The end corner is its mirror image.
//   All cells of the start corner are 0: there Eq = 1, and the row above the band has no horizontal step. In the end corner Eq = 1, too, so
// a path that has reached it continues along its diagonal at no cost, to column n. The distance is the least D(i, n) of the diagonals from
// -f to d + f, on which paths end: no path in between is shortened, since moving on from (i, j) by x rows or columns costs x, within the
// records or beyond.
//   Paths start and end on the same diagonals, -f to d + f. One that strays x diagonals beyond them has at least 2x insertions and
// deletions, so p = f + k / 2, and k may be less than d.
//   A lane stops as soon as all values of a column exceed k. They are bounded from below by eights of rows: no value is less than the one
// above the eight minus the number of its falling steps.
//
// Lanes need not end together. Bits of planes beyond the end of a record are 0, so past their ends both records continue with equal
// letters, which changes neither the distance nor d. A lane that has ended is given the next pair. Lanes are checked once in as many
// columns as a word has bits.
//
// Match mask. The planes of the row record are streams of words whose first bit is row 1 - p; a window over two consecutive words follows
// the shifts of the band. Bit b of the column's letter is spread over its lane, and Eq = AND over planes b of ~(row bit ^ column bit). It
// needs no tables and serves any alphabet.
//   There are kernels for 2, 3 and 5 planes. If one record has the codes 0 to 3 only, the planes from 2 on of the other one are replaced by
// their OR: a letter with any bit there matches none. So a pair of nucleotide sequences takes 3 planes if one of them has ambiguity codes.
#pragma once
#include "cpu/src/simd.hpp"
#include "near.hpp"

namespace gpualign::GPUALIGN_ISA {

// Kinds of kernels. kOneWord: a lane has one word, so that all state stays in registers.
enum BandKind { kOneWord, kWide, kWideFreeEnds };

// The kernel of one task. Word: uint32_t or uint64_t, a word of the band.
template <class Word, int kPlanes, BandKind kKind>
class Band {
 public:
  static constexpr bool kFreeEnds = kKind == kWideFreeEnds;
  static constexpr int kBits = 8 * static_cast<int>(sizeof(Word));
  static constexpr int kVectors = 2;  // computed side by side, to hide the latency of a step
  static constexpr int kLanes = kVectors * lanes_of<Word>();
  static constexpr int kUnrolled = 4;                       // columns; more gain no time and cost much to compile
  static constexpr int kShifts = kBits / kColumnsPerShift;  // of the band, between checks of the lanes

  // Returns the bytes of scratch for lanes of `words` words. Every array is [..][kLanes]: VP and VN [words], retired VP and VN, column
  // planes [kPlanes], row planes [words + 1][kPlanes], their valid bits [words + 1], and windows of both [words]. With free ends also the
  // columns of either part of either corner, their rows [words + 1], and windows of these [words].
  static constexpr int64_t bytes(int64_t words) {
    const int64_t corners = kFreeEnds ? 2 * (2 + (words + 1) * 4) : 0;
    return static_cast<int64_t>(sizeof(Word)) * kLanes * (2 * words + 2 + kPlanes + (words + 1) * (2 * kPlanes + 2) + corners);
  }

  explicit Band(const BandTask& task) : task_(task), words_(kKind == kOneWord ? 1 : task.words) {
    Word* next = static_cast<Word*>(task.scratch);
    const auto take = [&](int64_t count) {
      Word* const array = next;
      next += count * kLanes;
      return array;
    };
    vp_ = take(words_), vn_ = take(words_), retired_vp_ = take(1), retired_vn_ = take(1), column_planes_ = take(kPlanes);
    row_planes_ = take((words_ + 1) * kPlanes), valid_ = take(words_ + 1);
    window_ = take(words_ * kPlanes), window_valid_ = take(words_);
    if (kFreeEnds)
      for (CornerPart& corner : corners_) corner.columns = take(1), corner.rows = take(words_ + 1), corner.window = take(words_);
  }

  // Computes all pairs of the task. Returns false if the task was cancelled.
  bool run() {
    for (int lane = 0; lane < kLanes; lane++) start_next_pair(lane);
    while (active_) {
      if (task_.cancel->requested) return false;
      int32_t max_remaining = 0;
      bool masked = false, corners = false;
      for (int lane = 0; lane < kLanes; lane++) {
        const Lane& a = lanes_[lane];
        const int32_t remaining = a.column_count - a.columns_done;
        max_remaining = remaining > max_remaining ? remaining : max_remaining;
        masked |= a.columns_done < a.rows_above;
        corners |= a.columns_done < a.overhang || a.columns_done + kBits > a.column_count - a.overhang;
      }
      const int shifts = max_remaining >= kBits ? kShifts : (max_remaining + kColumnsPerShift - 1) / kColumnsPerShift;
      if constexpr (kKind == kOneWord)
        masked ? sweep_single<true>(shifts) : sweep_single<false>(shifts);
      else if (kFreeEnds && corners)
        sweep<true, kFreeEnds>(shifts);
      else
        masked ? sweep<true, false>(shifts) : sweep<false, false>(shifts);
      for (int lane = 0; lane < kLanes; lane++)
        if (lanes_[lane].index >= 0) finish_columns(lane, shifts * kColumnsPerShift);
    }
    return true;
  }

 private:
  using E = Vec<Word>;

  // The pair that a lane computes.
  struct Lane {
    RecordPlanes rows, columns;
    int64_t index;          // of the pair in the task; -1: the lane is idle
    int64_t first_word;     // word of a row plane in which the band's stream begins, negative if p > 0
    int32_t first_bit;      // bit of that word at which it begins: row 1 - p
    int32_t columns_done;   // columns computed; the band has moved down by as many rows
    int32_t column_count;   // n
    int32_t rows_above;     // p
    int32_t rows_to_goal;   // p + d: rows from base to the goal diagonal
    int32_t limit;          // k
    int32_t overhang;       // f
    int32_t depths[2];      // of the start corner, and of the end corner
    int32_t value_at_base;  // D(base, columns_done)
  };

  const BandTask& task_;
  const int words_;
  Word *vp_, *vn_, *retired_vp_, *retired_vn_, *column_planes_, *row_planes_, *valid_, *window_, *window_valid_;
  // All columns of a corner with the rows up to its depth, or all its rows with the columns up to its depth.
  struct CornerPart {
    Word *columns, *rows, *window;  // masks; the rows like row_planes_ and window_
  };
  CornerPart corners_[4];  // start: columns, rows; end: columns, rows
  Lane lanes_[kLanes];
  int64_t next_ = 0;
  int active_ = 0;

  // ---- lanes
  // Returns word `index` of a plane, 0 outside the record. With 3 planes, the last one is the OR of all planes from 2 on.
  static Word plane_word(const RecordPlanes& record, int plane, int64_t index) {
    const int64_t count = static_cast<int64_t>(record.words) * (64 / kBits);
    if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(count)) return 0;
    Word combined = 0;
    const int stop = kPlanes == 3 && plane == 2 ? record.count : plane < record.count ? plane + 1 : plane;
    for (int p = plane; p < stop; p++) {
      Word word;
      memcpy(
          &word,
          reinterpret_cast<const char*>(record.planes + static_cast<int64_t>(p) * record.words) + index * static_cast<int64_t>(sizeof word),
          sizeof word);
      combined |= word;
    }
    return combined;
  }

  // Loads word `word` of the streams of row planes, and its valid bits, into word `place` of the band.
  void load_row_word(int lane, int64_t word, int place) {
    const Lane& a = lanes_[lane];
    for (int p = 0; p < kPlanes; p++) {
      const Word low = plane_word(a.rows, p, a.first_word + word), high = plane_word(a.rows, p, a.first_word + word + 1);
      row_planes_[(place * kPlanes + p) * kLanes + lane] = (low >> a.first_bit) | ((high << 1) << (kBits - 1 - a.first_bit));
    }
    const int64_t row0 = a.rows_above - word * kBits;  // bit of row 1
    valid_[place * kLanes + lane] = bits_from(row0);
    if constexpr (kFreeEnds) {
      const int32_t overhang = a.overhang + a.rows.length - a.columns.length, letters = a.rows.length;
      corners_[0].rows[place * kLanes + lane] = bits_below(row0 + a.depths[0]);
      corners_[1].rows[place * kLanes + lane] = bits_below(row0 + overhang);
      corners_[2].rows[place * kLanes + lane] = bits_from(row0 + letters - a.depths[1]);
      corners_[3].rows[place * kLanes + lane] = bits_from(row0 + letters - overhang);
    }
  }

  // Loads the letters of the next columns, and forgets the rows that have left the band.
  void load_columns(int lane) {
    const Lane& a = lanes_[lane];
    for (int p = 0; p < kPlanes; p++) column_planes_[p * kLanes + lane] = plane_word(a.columns, p, a.columns_done / kBits);
    retired_vp_[lane] = retired_vn_[lane] = 0;
    if constexpr (kFreeEnds) {
      const int32_t left = a.column_count - a.columns_done;
      corners_[0].columns[lane] = bits_below(a.overhang - a.columns_done);
      corners_[1].columns[lane] = bits_below(a.depths[0] - a.columns_done);
      corners_[2].columns[lane] = bits_from(left - a.overhang);
      corners_[3].columns[lane] = bits_from(left - a.depths[1]);
    }
  }

  // Returns a mask of the bits from `bit` on, or of those below it.
  static Word bits_from(int64_t bit) { return bit <= 0 ? ~Word(0) : bit >= kBits ? Word(0) : static_cast<Word>(~Word(0) << bit); }
  static Word bits_below(int64_t bit) { return static_cast<Word>(~bits_from(bit)); }

  static int32_t popcount(Word word) { return __builtin_popcountll(word); }

  // Gives the lane the next pair of the task, or leaves it idle. In column 0, VP is 1 in the rows from 1 on, or below the start corner.
  void start_next_pair(int lane) {
    Lane& a = lanes_[lane];
    if (next_ == task_.count) {
      a = Lane{};
      a.index = -1;
      for (int w = 0; w <= words_; w++) load_row_word(lane, w, w);
      for (int w = 0; w < words_; w++) vp_[w * kLanes + lane] = vn_[w * kLanes + lane] = 0;
      load_columns(lane);
      return;
    }
    const BandPair& pair = task_.pairs[next_];
    if (next_ + kLanes < task_.count) {
      __builtin_prefetch(task_.pairs[next_ + kLanes].rows.planes);
      __builtin_prefetch(task_.pairs[next_ + kLanes].columns.planes);
    }
    active_++;
    a.rows = pair.rows;
    a.columns = pair.columns;
    a.index = next_++;
    const int32_t d = pair.rows.length - pair.columns.length;
    a.overhang = pair.overhang;
    for (int end = 0; end < 2; end++) a.depths[end] = pair.depths[end];
    a.rows_above = kFreeEnds ? pair.overhang + pair.limit / 2 : (pair.limit - d) / 2;
    a.rows_to_goal = a.rows_above + d;
    a.limit = pair.limit;
    a.column_count = pair.columns.length;
    a.columns_done = a.value_at_base = 0;
    a.first_word = -((a.rows_above + kBits - 1) / kBits);
    a.first_bit = static_cast<int32_t>(-a.rows_above - a.first_word * kBits);
    for (int w = 0; w <= words_; w++) load_row_word(lane, w, w);
    for (int w = 0; w < words_; w++) {
      vp_[w * kLanes + lane] = valid_[w * kLanes + lane];
      if (kFreeEnds) vp_[w * kLanes + lane] &= ~corners_[1].rows[w * kLanes + lane];
      vn_[w * kLanes + lane] = 0;
    }
    load_columns(lane);
  }

  // Accounts for `columns` further columns: reports the pair and starts the next one if it is decided, else loads the next words.
  void finish_columns(int lane, int columns) {
    Lane& a = lanes_[lane];
    if (kFreeEnds) a.value_at_base -= popcount(corners_[0].columns[lane] & bits_below(columns));  // no steps above the start corner
    a.columns_done += columns;
    a.value_at_base += columns + popcount(retired_vp_[lane]) - popcount(retired_vn_[lane]);
    const int32_t value = kFreeEnds ? free_end_value(lane) : goal_value(lane);
    if (value > a.limit || a.columns_done >= a.column_count) {
      task_.distances[a.index] = value > a.limit ? -1 : value;
      active_--;
      start_next_pair(lane);
      return;
    }
    for (int w = 0; w < words_; w++) {
      for (int p = 0; p < kPlanes; p++)
        row_planes_[(w * kPlanes + p) * kLanes + lane] = row_planes_[((w + 1) * kPlanes + p) * kLanes + lane];
      valid_[w * kLanes + lane] = valid_[(w + 1) * kLanes + lane];
      if (kFreeEnds)
        for (const CornerPart& corner : corners_) corner.rows[w * kLanes + lane] = corner.rows[(w + 1) * kLanes + lane];
    }
    load_row_word(lane, a.columns_done / kBits + words_, words_);
    load_columns(lane);
  }

  // Returns D on the goal diagonal in the last column computed.
  int32_t goal_value(int lane) const {
    const Lane& a = lanes_[lane];
    int32_t value = a.value_at_base;
    for (int w = 0; w * kBits < a.rows_to_goal; w++) {
      const Word above_goal = bits_below(a.rows_to_goal - w * kBits);
      value += popcount(vp_[w * kLanes + lane] & above_goal) - popcount(vn_[w * kLanes + lane] & above_goal);
    }
    return value;
  }

  // Returns the least value of the last column computed on any diagonal, or past the end of the columns on those where paths end. Returns
  // k + 1 if all exceed k; before the end, any value of at most k.
  int32_t free_end_value(int lane) const {
    const Lane& a = lanes_[lane];
    const bool at_end = a.columns_done >= a.column_count;
    const int32_t first = at_end ? a.rows_above - a.overhang - 1 : -1;  // bits; -1 is the row above the band
    const int32_t last = at_end ? a.rows_to_goal + a.overhang - 1 : words_ * kBits - 1;
    int32_t value = a.value_at_base, least = first < 0 ? value : a.limit + 1;
    for (int32_t bit = 0; bit <= last && (at_end || least > a.limit); bit += 8) {
      const int at = bit / kBits * kLanes + lane;
      const unsigned rising = (vp_[at] >> bit % kBits) & 255, falling = (vn_[at] >> bit % kBits) & 255;
      if (value - popcount(falling) < least && bit + 7 >= first) {
        int32_t next = value;
        for (int32_t b = 0; b < 8 && bit + b <= last; b++) {
          next += static_cast<int32_t>(rising >> b & 1) - static_cast<int32_t>(falling >> b & 1);
          if (bit + b >= first && next < least) least = next;
        }
      }
      value += popcount(rising) - popcount(falling);
    }
    return least > a.limit ? a.limit + 1 : least;
  }

  // ---- vectors
  static E load_vector(const Word* from, int vector) {
    E out;
    memcpy(&out, from + vector * lanes_of<Word>(), sizeof out);
    return out;
  }
  static void store_vector(Word* to, int vector, E v) { memcpy(to + vector * lanes_of<Word>(), &v, sizeof v); }

  // Returns bit `bit` of each lane, copied to all bits of the lane.
  static inline E spread(E v, int bit) {
#if defined(GPUALIGN_AVX512)
    return kBits == 64 ? (E)_mm512_srai_epi64((__m512i)(v << (kBits - 1 - bit)), 63)
                       : (E)_mm512_srai_epi32((__m512i)(v << (kBits - 1 - bit)), 31);
#else
    const E one = broadcast<Word>(static_cast<Word>(Word(1) << bit));
    return (E)((v & one) == one);
#endif
  }

  // Returns the match mask, the AND over planes of ~(row ^ column) = ~row ^ column.
  static inline Words match_mask(const E* not_rows, const E* columns) {
    Words out = (Words)(not_rows[0] ^ columns[0]);
#pragma GCC unroll 8
    for (int p = 1; p < kPlanes; p++) out = and_xor(out, (Words)not_rows[p], (Words)columns[p]);
    return out;
  }

  // Computes kColumnsPerShift columns and moves the band down, `shifts` times, with all state in registers. kMasked: some lane has rows up
  // to 0.
  template <bool kMasked>
  void sweep_single(int shifts) {
    E vp[kVectors], vn[kVectors], retired_vp[kVectors], retired_vn[kVectors], columns[kVectors][kPlanes];
    E not_rows[kVectors][kPlanes], not_rows_below[kVectors][kPlanes], valid[kVectors];
    for (int u = 0; u < kVectors; u++) {
      vp[u] = load_vector(vp_, u), vn[u] = load_vector(vn_, u), retired_vp[u] = retired_vn[u] = E{};
      valid[u] = load_vector(valid_, u);
      for (int p = 0; p < kPlanes; p++) {
        columns[u][p] = load_vector(column_planes_ + p * kLanes, u);
        not_rows[u][p] = ~load_vector(row_planes_ + p * kLanes, u);
        not_rows_below[u][p] = ~load_vector(row_planes_ + (kPlanes + p) * kLanes, u);
      }
    }
    for (int shift = 0; shift < shifts; shift++) {
      for (int c = 0; c < kColumnsPerShift; c += kUnrolled) {
#pragma GCC unroll 8
        for (int k = 0; k < kUnrolled * kVectors; k++) {
          const int u = k % kVectors;
          E letter[kPlanes];
#pragma GCC unroll 8
          for (int p = 0; p < kPlanes; p++) {
            letter[p] = spread(columns[u][p], k / kVectors);
            if (k / kVectors == kUnrolled - 1) columns[u][p] = columns[u][p] >> kUnrolled;
          }
          Words eq = match_mask(not_rows[u], letter);
          if (kMasked) eq &= (Words)valid[u];
          const Words vp_previous = (Words)vp[u], vn_previous = (Words)vn[u];
          const Words xh = xor_and_or((Words)((E)(eq & vp_previous) + vp[u]), eq, vp_previous);
          const Words d0 = xh | vn_previous;
          const E not_hp = (E)and_not_or(vn_previous, xh, vp_previous), hn = (E)(d0 & vp_previous);
          const Words not_hp_above = (Words)(not_hp + not_hp), hn_above = (Words)(hn + hn);
          vp[u] = (E)or_and_not(hn_above, not_hp_above, d0);
          vn[u] = (E)(d0 & ~not_hp_above);
        }
      }
#pragma GCC unroll 2
      for (int u = 0; u < kVectors; u++) {
        retired_vp[u] = (retired_vp[u] >> kColumnsPerShift) | (vp[u] << (kBits - kColumnsPerShift));
        retired_vn[u] = (retired_vn[u] >> kColumnsPerShift) | (vn[u] << (kBits - kColumnsPerShift));
        vp[u] = (vp[u] >> kColumnsPerShift) | broadcast<Word>(static_cast<Word>(~Word(0) << (kBits - kColumnsPerShift)));
        vn[u] = vn[u] >> kColumnsPerShift;
        // The rows that enter are valid: p is at most half of the band, so rows up to 0 are in its first word only.
        if (kMasked) valid[u] = (valid[u] >> kColumnsPerShift) | broadcast<Word>(static_cast<Word>(~Word(0) << (kBits - kColumnsPerShift)));
#pragma GCC unroll 8
        for (int p = 0; p < kPlanes; p++) {
          not_rows[u][p] = (not_rows[u][p] >> kColumnsPerShift) | (not_rows_below[u][p] << (kBits - kColumnsPerShift));
          not_rows_below[u][p] = not_rows_below[u][p] >> kColumnsPerShift;
        }
      }
    }
    for (int u = 0; u < kVectors; u++) {
      store_vector(vp_, u, vp[u]), store_vector(vn_, u, vn[u]);
      store_vector(retired_vp_, u, retired_vp[u]), store_vector(retired_vn_, u, retired_vn[u]);
    }
  }

  // Does the same for lanes of several words, whose state lies in memory. kCorners: some lane has columns of a corner.
  template <bool kMasked, bool kCorners>
  void sweep(int shifts) {
    E retired_vp[kVectors] = {}, retired_vn[kVectors] = {}, columns[kVectors][kPlanes];
    E corner_columns[kVectors][4] = {};
    for (int u = 0; u < kVectors; u++) {
      for (int p = 0; p < kPlanes; p++) columns[u][p] = load_vector(column_planes_ + p * kLanes, u);
      if (kCorners)
        for (int part = 0; part < 4; part++) corner_columns[u][part] = load_vector(corners_[part].columns, u);
    }
    for (int shift = 0; shift < shifts; shift++) {
      const int moved = shift * kColumnsPerShift;
      const auto shifted = [&](const Word* word, int next, int u) {  // (.. << 1) << ..: a shift by all bits of a word is undefined
        return (load_vector(word, u) >> moved) | ((load_vector(word + next, u) << 1) << (kBits - 1 - moved));
      };
      for (int w = 0; w < words_; w++)
        for (int u = 0; u < kVectors; u++) {
          for (int p = 0; p < kPlanes; p++)
            store_vector(window_ + (w * kPlanes + p) * kLanes, u, ~shifted(row_planes_ + (w * kPlanes + p) * kLanes, kPlanes * kLanes, u));
          if (kMasked) store_vector(window_valid_ + w * kLanes, u, shifted(valid_ + w * kLanes, kLanes, u));
          if (kCorners)
            for (const CornerPart& corner : corners_)
              store_vector(corner.window + w * kLanes, u, shifted(corner.rows + w * kLanes, kLanes, u));
        }
      for (int c = 0; c < kColumnsPerShift; c++) {
        E letter[kVectors][kPlanes], not_hp_in[kVectors], hn_in[kVectors], in_part[kVectors][4];
        for (int u = 0; u < kVectors; u++) {
          for (int p = 0; p < kPlanes; p++) {
            letter[u][p] = spread(columns[u][p], 0);
            columns[u][p] = columns[u][p] >> 1;
          }
          not_hp_in[u] = hn_in[u] = E{};
          if (kCorners) {
            for (int part = 0; part < 4; part++) {
              in_part[u][part] = spread(corner_columns[u][part], 0);
              corner_columns[u][part] = corner_columns[u][part] >> 1;
            }
            not_hp_in[u] = in_part[u][0] >> (kBits - 1);
          }
        }
        for (int w = 0; w < words_; w++) {
#pragma GCC unroll 2
          for (int u = 0; u < kVectors; u++) {
            E not_rows[kPlanes];
            for (int p = 0; p < kPlanes; p++) not_rows[p] = load_vector(window_ + (w * kPlanes + p) * kLanes, u);
            Words eq = match_mask(not_rows, letter[u]);
            if (kMasked) eq &= (Words)load_vector(window_valid_ + w * kLanes, u);
            if (kCorners)
              for (int part = 0; part < 4; part++)
                eq |= (Words)in_part[u][part] & (Words)load_vector(corners_[part].window + w * kLanes, u);
            eq |= (Words)hn_in[u];
            const E vp = load_vector(vp_ + w * kLanes, u);
            const Words vp_previous = (Words)vp, vn_previous = (Words)load_vector(vn_ + w * kLanes, u);
            const Words xh = xor_and_or((Words)((E)(eq & vp_previous) + vp), eq, vp_previous);
            const Words d0 = xh | vn_previous;
            const E not_hp = (E)and_not_or(vn_previous, xh, vp_previous), hn = (E)(d0 & vp_previous);
            const Words not_hp_above = (Words)((not_hp + not_hp) | not_hp_in[u]);
            const Words hn_above = (Words)((hn + hn) | hn_in[u]);
            not_hp_in[u] = not_hp >> (kBits - 1);
            hn_in[u] = hn >> (kBits - 1);
            store_vector(vp_ + w * kLanes, u, (E)or_and_not(hn_above, not_hp_above, d0));
            store_vector(vn_ + w * kLanes, u, (E)(d0 & ~not_hp_above));
          }
        }
      }
      for (int u = 0; u < kVectors; u++) {
        retired_vp[u] = (retired_vp[u] >> kColumnsPerShift) | (load_vector(vp_, u) << (kBits - kColumnsPerShift));
        retired_vn[u] = (retired_vn[u] >> kColumnsPerShift) | (load_vector(vn_, u) << (kBits - kColumnsPerShift));
      }
      for (int w = 0; w < words_; w++)
        for (int u = 0; u < kVectors; u++) {
          const bool last = w + 1 == words_;
          const E entering_vp = last ? ~E{} : load_vector(vp_ + (w + 1) * kLanes, u),
                  entering_vn = last ? E{} : load_vector(vn_ + (w + 1) * kLanes, u);
          store_vector(vp_ + w * kLanes, u,
                       (load_vector(vp_ + w * kLanes, u) >> kColumnsPerShift) | (entering_vp << (kBits - kColumnsPerShift)));
          store_vector(vn_ + w * kLanes, u,
                       (load_vector(vn_ + w * kLanes, u) >> kColumnsPerShift) | (entering_vn << (kBits - kColumnsPerShift)));
        }
    }
    for (int u = 0; u < kVectors; u++) store_vector(retired_vp_, u, retired_vp[u]), store_vector(retired_vn_, u, retired_vn[u]);
  }
};

// Runs the kernel for the planes of the task. Returns false if it was cancelled.
template <class Word, BandKind kKind>
static bool run_band(const BandTask& task) {
  if (task.planes == 2) return Band<Word, 2, kKind>(task).run();
  if (task.planes == 3) return Band<Word, 3, kKind>(task).run();
  return Band<Word, kMaxCodePlanes, kKind>(task).run();
}

// Returns the bytes of scratch for any task with lanes of `words` words, whichever kernel runs it.
static int64_t band_bytes(int words) {
  const int64_t narrow = Band<uint32_t, kMaxCodePlanes, kOneWord>::bytes(1),
                wide = Band<uint64_t, kMaxCodePlanes, kWideFreeEnds>::bytes(words);
  return narrow > wide ? narrow : wide;
}

}  // namespace gpualign::GPUALIGN_ISA
