// Edit distances of many pairs that are wanted up to a limit each: Myers' words along a band, a pair a lane, for one instruction set.
//
// Band (Ukkonen 1985). Let the rows be the longer record, m >= n, d = m - n, k >= d the limit, p = (k - d) / 2 rounded down. A path that
// leaves diagonal i - j = 0 and ends on d takes d + 2x insertions and deletions at least if it visits diagonal d + x or -x. So a path of
// at most k keeps to the d + 2p + 1 <= k + 1 diagonals from -p to p + d.
//
// Words (Myers 1999; Hyyro 2003). In S = kBandJump columns j0 < j <= j0 + S those diagonals meet the rows j0 - p < i <= j0 + S + p + d:
// S + d + 2p <= k + S of them, and they are the bits of a lane, one word of it or several. Between jumps the rows stand still; then
// they move down by S. With base = j0 - p bit r is row base + 1 + r. A column computes, + being addition within a lane:
//   D0 = (((Eq & VP) + VP) ^ VP) | Eq | VN;  HP = VN | ~(D0 | VP);  HN = D0 & VP
//   HP = HP << 1 | 1;  HN = HN << 1;  VP = HN | ~(D0 | HP);  VN = D0 & HP
// HP is kept as its complement, whose shift brings the 1 in by itself. A further word takes in what the one above it shifts out: HN
// also into Eq (Hyyro's block step); only the first word has +1 for it.
//   What enters the band is a step of +1: at the top row in each column, and in the first column of the rows that a jump adds. A step is
// +1 at most in truth, so every value is that of a real path, an upper bound, and exact on paths that keep to the band: a distance of
// at most k comes out exactly, any other one comes out above k.
//   Rows up to 0 (base is -p at first) have no letters, Eq = 0, and are 0 in column 0: j in column j, and row 0 is what it should be.
// Columns in which some lane still has such rows are computed with a mask on Eq ("valid").
//
// Value followed: that of diagonal d. It never falls along the diagonal, so a lane ends as soon as it is above k. Any other cell (i, j) of
// the column is no less than it minus |i - j - d|, and as far from the end: no test of whole columns ends earlier.
//   At base it is j plus the vertical steps of the rows that have left at the top (they are gathered in `left`).
//
// Ends: bits of planes beyond a record are 0. Both records then go on with the same letters, which changes neither the distance nor d; so
// lanes need not end together, and one that ends is given the next pair. That is looked at once in as many columns as a word has bits.
//
// Eq: planes of the rows are streams of words that begin at row -p; a window on two of them moves with the jumps. Bit b of the column's
// letter is spread over its lane, and Eq = AND over planes of ~(row bit ^ column bit), without tables, for any alphabet.
//   Kernels are of 2, 3 or 5 planes. Where one record has the codes 0 to 3 alone, the other one's further planes are one, their OR: its
// letters with a bit there match none. So pairs of nucleotides of which one has ambiguity codes take 3.
#pragma once
#include "cpu/src/simd.hpp"
#include "near.hpp"

namespace gpualign::GPUALIGN_ISA {

// Word: uint32_t or uint64_t, of the band. kSingle: of one word a lane.
template <class Word, int kPlanes, bool kSingle>
class Band {
 public:
  static constexpr int kBits = 8 * static_cast<int>(sizeof(Word));
  static constexpr int kVectors = 2;  // side by side, to hide latencies
  static constexpr int kLanes = kVectors * lanes_of<Word>();
  static constexpr int kUnrolled = 4;               // columns: what is gained by more is lost in compiling
  static constexpr int kJumps = kBits / kBandJump;  // between looks at the lanes

  // Scratch: vp, vn, row planes and validity of words and one more, left_plus, left_minus, column planes: [..][kLanes].
  static constexpr int64_t bytes(int64_t words) {
    return static_cast<int64_t>(sizeof(Word)) * kLanes * (2 * words + 2 + kPlanes + (words + 1) * (2 * kPlanes + 2));
  }

  explicit Band(const BandTask& task) : task_(task), words_(kSingle ? 1 : task.words) {
    Word* at = static_cast<Word*>(task.scratch);
    const auto take = [&](int64_t count) {
      Word* const taken = at;
      at += count * kLanes;
      return taken;
    };
    vp_ = take(words_), vn_ = take(words_), left_plus_ = take(1), left_minus_ = take(1), columns_ = take(kPlanes);
    rows_ = take((words_ + 1) * kPlanes), valid_ = take(words_ + 1);
    window_ = take(words_ * kPlanes), window_valid_ = take(words_);
  }

  bool run() {
    for (int lane = 0; lane < kLanes; lane++) begin(lane);
    while (active_) {
      if (task_.cancel->requested) return false;
      int32_t most = 0;
      bool masked = false;
      for (int lane = 0; lane < kLanes; lane++) {
        const Lane& a = lanes_[lane];
        const int32_t left = a.length - a.done;
        most = left > most ? left : most;
        masked |= a.done < a.above;
      }
      const int jumps = most >= kBits ? kJumps : (most + kBandJump - 1) / kBandJump;
      if constexpr (kSingle)
        masked ? sweep_single<true>(jumps) : sweep_single<false>(jumps);
      else
        masked ? sweep<true>(jumps) : sweep<false>(jumps);
      for (int lane = 0; lane < kLanes; lane++)
        if (lanes_[lane].index >= 0) look(lane, jumps * kBandJump);
    }
    return true;
  }

 private:
  using E = Vec<Word>;

  struct Lane {
    Strand rows, columns;
    int64_t index;            // of the pair, -1: none
    int64_t piece;            // of a plane of the rows, where word 0 of its stream begins at bit `shift`
    int32_t shift;            //
    int32_t done, length;     // columns
    int32_t above, diagonal;  // p; p + d, the rows from base to the diagonal followed
    int32_t limit, top;       // k; the value at base
  };

  const BandTask& task_;
  const int words_;
  Word *vp_, *vn_, *left_plus_, *left_minus_, *columns_, *rows_, *valid_, *window_, *window_valid_;
  Lane lanes_[kLanes];
  int64_t next_ = 0;
  int active_ = 0;

  // ---- lanes
  static Word piece(const Strand& s, int plane, int64_t at) {
    const int64_t pieces = static_cast<int64_t>(s.words) * (64 / kBits);
    if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(pieces)) return 0;
    Word all = 0;
    const int stop = kPlanes == 3 && plane == 2 ? s.count : plane < s.count ? plane + 1 : plane;
    for (int p = plane; p < stop; p++) {
      Word one;
      memcpy(&one, reinterpret_cast<const char*>(s.planes + static_cast<int64_t>(p) * s.words) + at * static_cast<int64_t>(sizeof one),
             sizeof one);
      all |= one;
    }
    return all;
  }

  // Word `word` of the rows' streams and their validity, into place `place` of the band.
  void feed(int lane, int64_t word, int place) {
    const Lane& a = lanes_[lane];
    for (int p = 0; p < kPlanes; p++) {
      const Word low = piece(a.rows, p, a.piece + word), high = piece(a.rows, p, a.piece + word + 1);
      rows_[(place * kPlanes + p) * kLanes + lane] = (low >> a.shift) | ((high << 1) << (kBits - 1 - a.shift));
    }
    valid_[place * kLanes + lane] = from(a.above - word * kBits);
  }

  void feed_columns(int lane) {
    const Lane& a = lanes_[lane];
    for (int p = 0; p < kPlanes; p++) columns_[p * kLanes + lane] = piece(a.columns, p, a.done / kBits);
    left_plus_[lane] = left_minus_[lane] = 0;
  }

  // The bits from `bit` on, and those below it.
  static Word from(int64_t bit) { return bit <= 0 ? ~Word(0) : bit >= kBits ? Word(0) : static_cast<Word>(~Word(0) << bit); }
  static Word below(int64_t bit) { return static_cast<Word>(~from(bit)); }

  static int32_t count(Word word) { return __builtin_popcountll(word); }

  void begin(int lane) {
    Lane& a = lanes_[lane];
    if (next_ == task_.count) {
      a = Lane{};
      a.index = -1;
      for (int w = 0; w <= words_; w++) feed(lane, w, w);
      for (int w = 0; w < words_; w++) vp_[w * kLanes + lane] = vn_[w * kLanes + lane] = 0;
      feed_columns(lane);
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
    a.above = (pair.limit - d) / 2;
    a.diagonal = a.above + d;
    a.limit = pair.limit;
    a.length = pair.columns.length;
    a.done = a.top = 0;
    a.piece = -((a.above + kBits - 1) / kBits);
    a.shift = static_cast<int32_t>(-a.above - a.piece * kBits);
    for (int w = 0; w <= words_; w++) feed(lane, w, w);
    for (int w = 0; w < words_; w++) {
      vp_[w * kLanes + lane] = valid_[w * kLanes + lane];
      vn_[w * kLanes + lane] = 0;
    }
    feed_columns(lane);
  }

  // After further columns: ends the lane's pair and begins the next, or feeds what the columns to come read.
  void look(int lane, int columns) {
    Lane& a = lanes_[lane];
    a.done += columns;
    a.top += columns + count(left_plus_[lane]) - count(left_minus_[lane]);
    int32_t value = a.top;
    for (int w = 0; w * kBits < a.diagonal; w++) {
      const Word inside = below(a.diagonal - w * kBits);
      value += count(vp_[w * kLanes + lane] & inside) - count(vn_[w * kLanes + lane] & inside);
    }
    if (value > a.limit || a.done >= a.length) {
      task_.distances[a.index] = value > a.limit ? -1 : value;
      active_--;
      begin(lane);
      return;
    }
    for (int w = 0; w < words_; w++) {
      for (int p = 0; p < kPlanes; p++) rows_[(w * kPlanes + p) * kLanes + lane] = rows_[((w + 1) * kPlanes + p) * kLanes + lane];
      valid_[w * kLanes + lane] = valid_[(w + 1) * kLanes + lane];
    }
    feed(lane, a.done / kBits + words_, words_);
    feed_columns(lane);
  }

  // ---- vectors
  static E at(const Word* from, int vector) {
    E out;
    memcpy(&out, from + vector * lanes_of<Word>(), sizeof out);
    return out;
  }
  static void put(Word* to, int vector, E v) { memcpy(to + vector * lanes_of<Word>(), &v, sizeof v); }

  // Bit `bit` of each lane, all over it.
  static inline E spread(E v, int bit) {
#if defined(GPUALIGN_AVX512)
    return kBits == 64 ? (E)_mm512_srai_epi64((__m512i)(v << (kBits - 1 - bit)), 63)
                       : (E)_mm512_srai_epi32((__m512i)(v << (kBits - 1 - bit)), 31);
#else
    const E one = broadcast<Word>(static_cast<Word>(Word(1) << bit));
    return (E)((v & one) == one);
#endif
  }

  // AND over planes of ~(row ^ column), the rows' complements given.
  static inline Words equal(const E* rows, const E* columns) {
    Words out = (Words)(rows[0] ^ columns[0]);
#pragma GCC unroll 8
    for (int p = 1; p < kPlanes; p++) out = and_xor(out, (Words)rows[p], (Words)columns[p]);
    return out;
  }

  template <bool kMasked>
  void sweep_single(int jumps) {
    E vp[kVectors], vn[kVectors], plus[kVectors], minus[kVectors], columns[kVectors][kPlanes];
    E low[kVectors][kPlanes], high[kVectors][kPlanes], valid[kVectors];
    for (int u = 0; u < kVectors; u++) {
      vp[u] = at(vp_, u), vn[u] = at(vn_, u), plus[u] = minus[u] = E{};
      valid[u] = at(valid_, u);
      for (int p = 0; p < kPlanes; p++) {
        columns[u][p] = at(columns_ + p * kLanes, u);
        low[u][p] = ~at(rows_ + p * kLanes, u);
        high[u][p] = ~at(rows_ + (kPlanes + p) * kLanes, u);
      }
    }
    for (int jump = 0; jump < jumps; jump++) {
      for (int c = 0; c < kBandJump; c += kUnrolled) {
#pragma GCC unroll 8
        for (int k = 0; k < kUnrolled * kVectors; k++) {
          const int u = k % kVectors;
          E letter[kPlanes];
#pragma GCC unroll 8
          for (int p = 0; p < kPlanes; p++) {
            letter[p] = spread(columns[u][p], k / kVectors);
            if (k / kVectors == kUnrolled - 1) columns[u][p] = columns[u][p] >> kUnrolled;
          }
          Words eq = equal(low[u], letter);
          if (kMasked) eq &= (Words)valid[u];
          const Words v = (Words)vp[u], n = (Words)vn[u];
          const Words x = xor_and_or((Words)((E)(eq & v) + vp[u]), eq, v);
          const Words d0 = x | n;
          const E no_plus = (E)and_not_or(n, x, v), negative = (E)(d0 & v);
          const Words no_plus_below = (Words)(no_plus + no_plus), minus_below = (Words)(negative + negative);
          vp[u] = (E)or_and_not(minus_below, no_plus_below, d0);
          vn[u] = (E)(d0 & ~no_plus_below);
        }
      }
#pragma GCC unroll 2
      for (int u = 0; u < kVectors; u++) {
        plus[u] = (plus[u] >> kBandJump) | (vp[u] << (kBits - kBandJump));
        minus[u] = (minus[u] >> kBandJump) | (vn[u] << (kBits - kBandJump));
        vp[u] = (vp[u] >> kBandJump) | broadcast<Word>(static_cast<Word>(~Word(0) << (kBits - kBandJump)));
        vn[u] = vn[u] >> kBandJump;
        // The words after the first are valid: a band's p is at most half of it.
        if (kMasked) valid[u] = (valid[u] >> kBandJump) | broadcast<Word>(static_cast<Word>(~Word(0) << (kBits - kBandJump)));
#pragma GCC unroll 8
        for (int p = 0; p < kPlanes; p++) {
          low[u][p] = (low[u][p] >> kBandJump) | (high[u][p] << (kBits - kBandJump));
          high[u][p] = high[u][p] >> kBandJump;
        }
      }
    }
    for (int u = 0; u < kVectors; u++) {
      put(vp_, u, vp[u]), put(vn_, u, vn[u]);
      put(left_plus_, u, plus[u]), put(left_minus_, u, minus[u]);
    }
  }

  template <bool kMasked>
  void sweep(int jumps) {
    E plus[kVectors] = {}, minus[kVectors] = {}, columns[kVectors][kPlanes];
    for (int u = 0; u < kVectors; u++)
      for (int p = 0; p < kPlanes; p++) columns[u][p] = at(columns_ + p * kLanes, u);
    for (int jump = 0; jump < jumps; jump++) {
      const int moved = jump * kBandJump;
      const auto window = [&](const Word* word, int next, int u) {  // (high << 1) << ..: a shift by all bits is undefined
        return (at(word, u) >> moved) | ((at(word + next, u) << 1) << (kBits - 1 - moved));
      };
      for (int w = 0; w < words_; w++)
        for (int u = 0; u < kVectors; u++) {
          for (int p = 0; p < kPlanes; p++)
            put(window_ + (w * kPlanes + p) * kLanes, u, ~window(rows_ + (w * kPlanes + p) * kLanes, kPlanes * kLanes, u));
          if (kMasked) put(window_valid_ + w * kLanes, u, window(valid_ + w * kLanes, kLanes, u));
        }
      for (int c = 0; c < kBandJump; c++) {
        E letter[kVectors][kPlanes], no_plus_in[kVectors], minus_in[kVectors];
        for (int u = 0; u < kVectors; u++) {
          for (int p = 0; p < kPlanes; p++) {
            letter[u][p] = spread(columns[u][p], 0);
            columns[u][p] = columns[u][p] >> 1;
          }
          no_plus_in[u] = minus_in[u] = E{};
        }
        for (int w = 0; w < words_; w++) {
#pragma GCC unroll 2
          for (int u = 0; u < kVectors; u++) {
            E rows[kPlanes];
            for (int p = 0; p < kPlanes; p++) rows[p] = at(window_ + (w * kPlanes + p) * kLanes, u);
            Words eq = equal(rows, letter[u]);
            if (kMasked) eq &= (Words)at(window_valid_ + w * kLanes, u);
            eq |= (Words)minus_in[u];
            const E vp = at(vp_ + w * kLanes, u);
            const Words v = (Words)vp, n = (Words)at(vn_ + w * kLanes, u);
            const Words x = xor_and_or((Words)((E)(eq & v) + vp), eq, v);
            const Words d0 = x | n;
            const E no_plus = (E)and_not_or(n, x, v), negative = (E)(d0 & v);
            const Words no_plus_below = (Words)((no_plus + no_plus) | no_plus_in[u]);
            const Words minus_below = (Words)((negative + negative) | minus_in[u]);
            no_plus_in[u] = no_plus >> (kBits - 1);
            minus_in[u] = negative >> (kBits - 1);
            put(vp_ + w * kLanes, u, (E)or_and_not(minus_below, no_plus_below, d0));
            put(vn_ + w * kLanes, u, (E)(d0 & ~no_plus_below));
          }
        }
      }
      for (int u = 0; u < kVectors; u++) {
        plus[u] = (plus[u] >> kBandJump) | (at(vp_, u) << (kBits - kBandJump));
        minus[u] = (minus[u] >> kBandJump) | (at(vn_, u) << (kBits - kBandJump));
      }
      for (int w = 0; w < words_; w++)
        for (int u = 0; u < kVectors; u++) {
          const bool last = w + 1 == words_;
          const E next_plus = last ? ~E{} : at(vp_ + (w + 1) * kLanes, u), next_minus = last ? E{} : at(vn_ + (w + 1) * kLanes, u);
          put(vp_ + w * kLanes, u, (at(vp_ + w * kLanes, u) >> kBandJump) | (next_plus << (kBits - kBandJump)));
          put(vn_ + w * kLanes, u, (at(vn_ + w * kLanes, u) >> kBandJump) | (next_minus << (kBits - kBandJump)));
        }
    }
    for (int u = 0; u < kVectors; u++) put(left_plus_, u, plus[u]), put(left_minus_, u, minus[u]);
  }
};

template <class Word, bool kSingle>
static bool band_of(const BandTask& task) {
  if (task.planes == 2) return Band<Word, 2, kSingle>(task).run();
  if (task.planes == 3) return Band<Word, 3, kSingle>(task).run();
  return Band<Word, kMostPlanes, kSingle>(task).run();
}

static int64_t band_bytes(int words) {
  const int64_t narrow = Band<uint32_t, kMostPlanes, true>::bytes(1), wide = Band<uint64_t, kMostPlanes, false>::bytes(words);
  return narrow > wide ? narrow : wide;
}

}  // namespace gpualign::GPUALIGN_ISA
