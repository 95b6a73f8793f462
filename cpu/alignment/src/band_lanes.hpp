// Global alignments of many pairs with the directions of every cell: one pair per lane, each within a band of diagonals of its own.
//
// Recurrence, bounds and constants are those of difference.hpp, in bytes. Diagonal c of a lane holds the cells (i, i + c + lowest). Rows
// are computed one after the other, from the lowest diagonal on: the left neighbour of a cell is the one before it, the upper neighbour is
// that of diagonal c + 1 in the row before. Beyond the band, u = -o, x = -2o enter from the left and v = -o, y = -2o from above, as in
// banded.hpp. A path may therefore leave the band, but no score in it exceeds the true one.
//
// Before its first column a lane sees padding, with s'' = 0 and the flat state u = v = 0, x = y = -o. Cell (1, 0) is to pass on
// u = H'(1,0) - H'(0,0) = -o and x = -2o, so it gets v = o from above. What lanes compute below the last row or after the last column
// reaches no cell that is used.
//
// Scores. Where all lanes have letters with codes below 4, scores are looked up in one table by both codes; those of other letters, which
// should be few, are looked up letter by letter. In an alphabet of many letters each lane has a profile instead, the scores of its target
// with every letter: row i of the lane reads the profile of its letter from column i + lowest on, and 16 columns of all lanes are
// interleaved at a time.
#pragma once
#include "grid.hpp"

namespace gpualign::GPUALIGN_ISA {

template <bool kAffine>
struct BandLanesKernel {
  using V = Bytes;
  static constexpr int kLanes = kVectorBytes;
  static constexpr int kColumns = 16;  // interleaved at a time

  static int64_t state_bytes(const BandLanesArgs& a) { return 2 * (a.diagonals + 1) * kVectorBytes; }

  // Returns the bytes of scratch memory: v and y of a row, and the interleaved codes or the profiles.
  static int64_t bytes(const BandLanesArgs& a) {
    const int64_t codes = a.pairs ? (a.columns() + a.rows + kColumns) * kVectorBytes + a.columns() : kLanes * a.padding * a.columns();
    return state_bytes(a) + codes;
  }

  static void run(const BandLanesArgs& a) {
    V* v = reinterpret_cast<V*>(a.scratch);
    V* y = v + a.diagonals + 1;
    set_first_row(a, v, y);
    a.pairs ? run_pairs(a, v, y) : run_profiles(a, v, y);
  }

 private:
  static void set_first_row(const BandLanesArgs& a, V* v, V* y) {
    const V o = broadcast<uint8_t>(static_cast<uint8_t>(a.open_extra));
    for (int64_t c = 0; c <= a.diagonals; c++) {
      v[c] = V{};
      y[c] = V{} - o;
    }
    const auto put = [](V* at, int64_t c, int lane, uint32_t value) {
      reinterpret_cast<uint8_t*>(at + c)[lane] = static_cast<uint8_t>(value);
    };
    for (int k = 0; k < kLanes; k++) {
      const int64_t column_0 = -a.lowest[k];
      put(v, column_0, k, a.open_extra);
      if (column_0 + 1 > a.diagonals) continue;
      put(v, column_0 + 1, k, 0 - a.open_extra);
      put(y, column_0 + 1, k, 0 - 2 * a.open_extra);
    }
  }

  // Computes the cells of two diagonals from c on, and stores their directions.
  // first, second: their shifted scores
  static inline __attribute__((always_inline)) void two_cells(V first, V second, int64_t c, V& u, V& x, V* v, V* y, V o, uint8_t* out) {
    V first_v = v[c + 1], second_v = v[c + 2], first_y = kAffine ? y[c + 1] : V{}, second_y = kAffine ? y[c + 2] : V{};
    V directions = GridKernel<uint8_t, kAffine>::cell(first, u, x, first_v, first_y, o, 0);
    directions |= GridKernel<uint8_t, kAffine>::cell(second, u, x, second_v, second_y, o, 4);
    v[c] = first_v, v[c + 1] = second_v;
    if constexpr (kAffine) y[c] = first_y, y[c + 1] = second_y;
    memcpy(out + c / 2 * kVectorBytes, &directions, sizeof directions);
  }

  // Sets what enters a row from outside the band.
  static inline void begin_row(const BandLanesArgs& a, V& u, V& x, V* v, V* y, V o) {
    u = v[a.diagonals] = V{} - o;
    x = y[a.diagonals] = u - o;
  }

  static void run_pairs(const BandLanesArgs& a, V* v, V* y) {
    const V o = broadcast<uint8_t>(static_cast<uint8_t>(a.open_extra));
    V* targets = reinterpret_cast<V*>(a.scratch + state_bytes(a));
    V* queries = targets + a.columns();
    uint8_t* has_others = reinterpret_cast<uint8_t*>(queries + a.rows + kColumns);  // [columns] letters with codes of 4 or more
    for (int64_t j = 0; j < a.rows + a.diagonals; j += kColumns) {
      interleave_rows(a.targets, j, targets + j);
      for (int64_t k = j; k < j + kColumns; k++) has_others[k] = !all_zero(targets[k] & broadcast<uint8_t>(0xfc & ~kNoLetter));
    }
    for (int64_t i = 0; i < a.rows; i += kColumns) interleave_rows(a.queries, i, queries + i);
    uint8_t* out = a.directions;
    for (int64_t i = 0; i < a.rows; i++, out += a.diagonals / 2 * kVectorBytes) {
      if ((i & 63) == 0 && a.cancel->requested) return;
      const V query = queries[i], shifted = query << kPairTableShift;
      const bool query_has_others = !all_zero(query & broadcast<uint8_t>(0xfc));
      const V* target = targets + i;
      const uint8_t* others = has_others + i;
      const auto scores = [&](int64_t c) __attribute__((always_inline)) {
        if (__builtin_expect(query_has_others | others[c], 0)) return scores_of_letters(a, query, target[c]);
        return look_up_16_or_0(a.table, shifted | target[c]);
      };
      V u, x;
      begin_row(a, u, x, v, y, o);
      for (int64_t c = 0; c < a.diagonals; c += 2) two_cells(scores(c), scores(c + 1), c, u, x, v, y, o, out);
    }
  }

  // Returns the scores of letters with any codes below 16.
  static __attribute__((noinline)) V scores_of_letters(const BandLanesArgs& a, V query, V target) {
    V out{};
    for (int letter = 0; letter < a.padding; letter++)
      out |= (V)(query == broadcast<uint8_t>(static_cast<uint8_t>(letter))) & look_up_16_or_0(a.rows_of_scores + letter * kLetters, target);
    return out;
  }

  static void run_profiles(const BandLanesArgs& a, V* v, V* y) {
    const V o = broadcast<uint8_t>(static_cast<uint8_t>(a.open_extra));
    const int64_t profile_columns = a.columns();
    uint8_t* profiles = a.scratch + state_bytes(a);
    for (int k = 0; k < kLanes; k++) set_profile(a, a.targets[k], profiles + k * a.padding * profile_columns);
    uint8_t* out = a.directions;
    const uint8_t* rows[kLanes];
    V scores[kColumns];
    for (int64_t i = 0; i < a.rows; i++, out += a.diagonals / 2 * kVectorBytes) {
      if ((i & 63) == 0 && a.cancel->requested) return;
      for (int k = 0; k < kLanes; k++) rows[k] = profiles + (k * a.padding + a.queries[k][i]) * profile_columns + i;
      V u, x;
      begin_row(a, u, x, v, y, o);
      for (int64_t first = 0; first < a.diagonals; first += kColumns) {
        interleave_rows(rows, first, scores);
        const int64_t count = a.diagonals - first < kColumns ? a.diagonals - first : kColumns;
        for (int64_t c = 0; c < count; c += 2) two_cells(scores[c], scores[c + 1], first + c, u, x, v, y, o, out);
      }
    }
  }

  // Writes the scores of a target with every letter.
  static void set_profile(const BandLanesArgs& a, const uint8_t* target, uint8_t* profile) {
    const int64_t profile_columns = a.columns();
    for (int letter = 0; letter < a.padding; letter++, profile += profile_columns) {
      const uint8_t* row = a.rows_of_scores + letter * kLetters;
      int64_t j = 0;
      for (; j + kVectorBytes <= profile_columns; j += kVectorBytes) {
        V codes;
        memcpy(&codes, target + j, sizeof codes);
        const V scores = a.padding < 16 ? look_up_16(row, codes) : look_up_32(row, codes);
        memcpy(profile + j, &scores, sizeof scores);
      }
      for (; j < profile_columns; j++) profile[j] = row[target[j]];
    }
  }
};

static void band_lanes(const BandLanesArgs& a) { a.open_extra == 0 ? BandLanesKernel<false>::run(a) : BandLanesKernel<true>::run(a); }
static int64_t band_lanes_bytes(const BandLanesArgs& a) { return BandLanesKernel<true>::bytes(a); }

}  // namespace gpualign::GPUALIGN_ISA
