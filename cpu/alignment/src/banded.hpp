// Global alignment of one pair within a band of diagonals, with the directions of every cell.
//
// Recurrence, bounds and constants are those of difference.hpp, in bytes. The band has the diagonals d = j - i from `lowest` on. The kernel
// proceeds by antidiagonals a = i + j, whose cells do not depend on each other. The diagonals of an antidiagonal have the parity of a,
// so lane p has d = lowest + 2p if a - lowest is even, and d = lowest + 2p + 1 if it is odd. The neighbours of its cell on the previous
// antidiagonal are
//   a - lowest even:  the left one (d - 1) in lane p - 1, the upper one (d + 1) in lane p
//   a - lowest odd:   the left one in lane p, the upper one in lane p + 1.
// Shifts by a lane bring u = -o, x = -2o into the first lane from the left, or v = -o, y = -2o into the last one from above. They say
// that the neighbour outside the band is reached by a gap that opens at its own neighbour inside. This is a real path, so no score in the
// band exceeds the true one. And u <= S + o needs no more than such a step, so the bounds hold.
//
// Before its first cell a lane sees padding, with s'' = 0 and the flat state u = v = 0, x = y = -o, as in wavefront.hpp. What lanes compute
// after the last row or column reaches no cell that is used.
//
// Sum of steps: from row 0 or column 0 along the diagonal n - m, alternating one cell down and one cell right. The lane of these cells is
// always the same if n - m - lowest is even, which the caller ensures.
#pragma once
#include "grid.hpp"

namespace gpualign::GPUALIGN_ISA {

template <bool kAffine>
struct BandKernel {
  using V = Bytes;

  static int64_t run(const BandArgs& a) { return a.pairs ? run<true>(a) : run<false>(a); }

 private:
  template <bool kPairs>
  static int64_t run(const BandArgs& a) {
    if (a.vectors == 1) return Band<kPairs, 1>(a).run();
    if (a.vectors == 2) return Band<kPairs, 2>(a).run();
    return Band<kPairs, 0>(a).run();
  }

  // kVectors: vectors of lanes, which then lie in registers; 0: any number, in memory.
  template <bool kPairs, int kVectors>
  class Band {
   public:
    explicit Band(const BandArgs& args) : a(args), o(broadcast<uint8_t>(static_cast<uint8_t>(args.open_extra))) {}

    int64_t run() {
      V registers[4 * (kVectors ? kVectors : 1)];
      V* u = kVectors ? registers : static_cast<V*>(a.scratch);
      V *x = u + vectors(), *v = x + vectors(), *y = v + vectors();
      set_first_antidiagonal(u, x, v, y);
      const int64_t corner = a.columns - a.rows, last = a.rows + a.columns;
      lane = (corner - a.lowest) / 2;
      // The sum begins at row 0 or column 0, where H' is -o.
      summed_from = corner == 0 ? 1 : corner < 0 ? -corner : corner;
      int64_t d = 2;
      if ((d - a.lowest) & 1) step<true>(d++, u, x, v, y);
      for (; d < last; d += 2) {
        if ((d & 4094) == 0 && a.cancel->requested) return -1;
        step<false>(d, u, x, v, y);
        step<true>(d + 1, u, x, v, y);
      }
      if (d == last) step<false>(d, u, x, v, y);
      return sum;
    }

   private:
    int64_t vectors() const { return kVectors ? kVectors : a.vectors; }

    // Sets antidiagonal 1, whose cells (0,1) and (1,0) are a step of -o from (0,0).
    void set_first_antidiagonal(V* u, V* x, V* v, V* y) const {
      const int64_t lanes = a.vectors * kVectorBytes, upper = (1 - a.lowest) >> 1, lower = upper - 1;
      for (int64_t k = 0; k < vectors(); k++) {
        u[k] = v[k] = V{};
        x[k] = y[k] = V{} - o;
      }
      const auto put = [&](V* step, V* gap, int64_t at) {
        reinterpret_cast<uint8_t*>(step)[at] = static_cast<uint8_t>(-a.open_extra);
        reinterpret_cast<uint8_t*>(gap)[at] = static_cast<uint8_t>(-2 * a.open_extra);
      };
      if (upper < lanes) put(v, y, upper);
      if (lower >= 0 && lower < lanes) put(u, x, lower);
    }

    // Computes antidiagonal d and stores its directions. kOdd: d - lowest is odd.
    template <bool kOdd>
    inline __attribute__((always_inline)) void step(int64_t d, V* us, V* xs, V* vs, V* ys) {
      const uint8_t* target = a.target + (d + a.lowest + kOdd) / 2 - 1;
      const uint8_t* query = a.query + a.rows - (d - a.lowest - kOdd) / 2;
      uint8_t* out = a.directions + (d - 2) * vectors() * kVectorBytes;
      const V outside_step = V{} - o, outside_gap = outside_step - o;
      V previous_u = outside_step, previous_x = outside_gap;  // of the vector before
      for (int64_t k = 0; k < vectors(); k++, target += kVectorBytes, query += kVectorBytes, out += kVectorBytes) {
        const V s = scores<kPairs>(a, load(query), load(target));
        V u = us[k], x{}, v = vs[k], y{};
        if constexpr (kAffine) x = xs[k], y = ys[k];
        if constexpr (kOdd) {
          const bool more = k + 1 < vectors();
          v = shift_down(v, more ? vs[k + 1] : outside_step);
          if constexpr (kAffine) y = shift_down(y, more ? ys[k + 1] : outside_gap);
        } else {
          const V next_u = u, next_x = x;
          u = shift_up(u, previous_u);
          if constexpr (kAffine) x = shift_up(x, previous_x);
          previous_u = next_u, previous_x = next_x;
        }
        const V directions = GridKernel<uint8_t, kAffine>::cell(s, u, x, v, y, o, 0);
        us[k] = u, vs[k] = v;
        if constexpr (kAffine) xs[k] = x, ys[k] = y;
        memcpy(out, &directions, sizeof directions);
        memcpy(steps + (kVectors ? k * kVectorBytes : 0), kOdd ? &v : &u, sizeof v);
        if (!kVectors && lane / kVectorBytes == k && d > summed_from) sum += step_of<kAffine>(steps[lane % kVectorBytes]);
      }
      if (kVectors && d > summed_from) sum += step_of<kAffine>(steps[lane]);
    }

    const BandArgs& a;
    const V o;
    int64_t lane = 0, summed_from = 0, sum = 0;
    alignas(64) uint8_t steps[(kVectors ? kVectors : 1) * kVectorBytes];
  };

  static inline V load(const uint8_t* from) {
    V out;
    memcpy(&out, from, sizeof out);
    return out;
  }

  // Returns s'' for the letters of the query and the target.
  template <bool kPairs>
  static inline V scores(const BandArgs& a, V query, V target) {
    if constexpr (kPairs) {
      const V others = (query & broadcast<uint8_t>(0xf0)) | (target & broadcast<uint8_t>(0xfc));
      if (all_zero(others)) return look_up_16(a.table, query | target);
    }
    V out{};
    for (int l = 0; l < a.letter_count; l++) {
      const uint8_t* row = a.rows_of_scores + a.letters[l] * kLetters;
      const V letter_scores = a.padding < 16 ? look_up_16(row, target) : look_up_32(row, target);
      out |= (V)(query == broadcast<uint8_t>(static_cast<uint8_t>(a.letters[l] << (kPairs ? kPairTableShift : 0)))) & letter_scores;
    }
    return out;
  }
};

static int64_t banded(const BandArgs& a) { return a.open_extra == 0 ? BandKernel<false>::run(a) : BandKernel<true>::run(a); }

}  // namespace gpualign::GPUALIGN_ISA
