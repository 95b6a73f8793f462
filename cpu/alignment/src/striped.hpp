// Local alignment (Smith-Waterman) score of one pair, with the rows of the query in the lanes.
//
// Recurrence, elements and bounds are those of local.hpp, where a target has one lane; here every lane has its own rows of the query.
//
// Layout (Farrar 2007). A strip has kSegments x lanes rows, of which lane k has kSegments consecutive ones; vector s holds row s of each
// lane. The letter of a column only selects a profile: the scores of the strip's rows with that letter. F that leaves the last row of a
// lane enters the first row of the next lane. It is carried there after the column is computed, while it exceeds what the rows open
// themselves. If it crosses a whole lane, the F that arrives at each lane is computed from the ends of all previous lanes, and then a
// second pass suffices. H and F of a strip's last row are stored for every column, and the next strip begins with them, so that the state
// of a strip stays in the cache however long the query is.
//
// After the last row come padding rows with negative scores, so H cannot rise there.
#pragma once
#include "kernels.hpp"
#include "saturating.hpp"

namespace gpualign::GPUALIGN_ISA {

// The kernel for signed elements E of 16 or 32 bits.
template <class E>
struct StripedKernel {
  using V = Vec<E>;
  static constexpr int kLanes = lanes_of<E>();
  static constexpr int kSegments = 64;
  static constexpr int64_t kRows = int64_t(kLanes) * kSegments;
  static constexpr E kZero = Range<E>::kZero;

  static void run(const LocalArgs& a) {
    E* boundary_h = static_cast<E*>(a.boundary);
    E* boundary_f = boundary_h + a.columns;
    for (int64_t j = 0; j < a.columns; j++) boundary_h[j] = boundary_f[j] = kZero;  // a gap that comes from outside is worth no more
    V best = broadcast<E>(kZero);
    for (int64_t row = 0; row < a.rows; row += kRows) {
      if (a.cancel->requested) return;
      strip(a, row, a.rows - row < kRows ? a.rows - row : kRows, boundary_h, boundary_f, best);
    }
    E largest = kZero;
    for (int k = 0; k < kLanes; k++) largest = best[k] > largest ? best[k] : largest;
    a.best[0] = static_cast<int64_t>(largest) - kZero;
  }

 private:
  // Returns v moved up by one lane, with `first` in lane 0.
  static inline V shifted(V v, E first) {
    alignas(64) E held[2 * kLanes];
    memcpy(held + kLanes, &v, sizeof v);
    held[kLanes - 1] = first;
    memcpy(&v, held + kLanes - 1, sizeof v);
    return v;
  }

  // Computes one strip of rows over all columns.
  static void strip(const LocalArgs& a, int64_t first_row, int64_t rows, E* boundary_h, E* boundary_f, V& best_io) {
    const int segments = static_cast<int>((rows + kLanes - 1) / kLanes);
    const V zero = broadcast<E>(kZero), open = broadcast<E>(static_cast<E>(a.open)), extend = broadcast<E>(static_cast<E>(a.extend));
    V profile[kLetters][kSegments];
    for (int l = 0; l < a.letters; l++) {
      E* out = reinterpret_cast<E*>(profile[l]);
      for (int s = 0; s < segments; s++)
        for (int k = 0; k < kLanes; k++) {
          const int64_t r = int64_t(k) * segments + s;
          out[s * kLanes + k] = r < rows ? static_cast<E>(a.table[a.query[first_row + r] * kLetters + l]) : E(-1);
        }
    }
    V h[kSegments], e[kSegments];
    for (int s = 0; s < segments; s++) h[s] = e[s] = zero;
    V best = best_io;
    E corner = kZero;  // H above and left of the first row
    for (int64_t j = 0; j < a.columns; j++) {
      const V* scores = profile[a.codes[j]];
      V diagonal = shifted(h[segments - 1], corner), f = zero;
      corner = boundary_h[j];
      f[0] = boundary_f[j];
      for (int s = 0; s < segments; s++) {
        V t = add(diagonal, scores[s]);
        if (!Range<E>::kSaturates) t = larger(t, zero);
        diagonal = h[s];
        const V now = larger(larger(t, e[s]), f);
        const V opened = subtract(now, open);
        h[s] = now;
        e[s] = larger(subtract(e[s], extend), opened);
        f = larger(subtract(f, extend), opened);
        best = larger(best, now);
      }
      const E below = carry(h, e, f, segments, open, extend);
      boundary_h[j] = h[segments - 1][kLanes - 1];
      boundary_f[j] = below;
    }
    best_io = best;
  }

  // Carries F of the last row of each lane carry_through_lane the following lanes. Returns F below the last row of the strip. The best
  // score cannot change, as F is less than the H it comes from.
  static inline __attribute__((always_inline)) E carry(V* h, V* e, V f, int segments, V open, V extend) {
    E below = f[kLanes - 1];
    f = shifted(f, kZero);
    if (!carry_through_lane(h, e, f, segments, open, extend)) return below;
    // F has crossed whole lanes: compute what each lane gets from all previous lanes.
    alignas(64) E held[kLanes];
    memcpy(held, &f, sizeof f);
    const int64_t crossing = segments * static_cast<int64_t>(extend[0]);
    int64_t incoming = kZero;
    for (int k = 0; k < kLanes; k++) {
      const int64_t end = held[k], passed = incoming - crossing;
      held[k] = static_cast<E>(incoming);
      incoming = end > passed ? end : passed;
      if (incoming < kZero) incoming = kZero;
    }
    below = incoming > below ? static_cast<E>(incoming) : below;
    memcpy(&f, held, sizeof f);
    carry_through_lane(h, e, f, segments, open, extend);
    return below;
  }

  // Carries F carry_through_lane the rows of its lane. Returns false if it ended there, because the rows open gaps that are as good.
  static inline __attribute__((always_inline)) bool carry_through_lane(V* h, V* e, V& f, int segments, V open, V extend) {
    for (int s = 0; s < segments; s++) {
      V opened = subtract(h[s], open);
      const V carried = subtract(f, extend);
      if (!Range<E>::kSaturates) opened = larger(opened, broadcast<E>(kZero));  // H is never less
      if (!any((Bytes)(carried > opened)) && !any((Bytes)(f > h[s]))) return false;
      h[s] = larger(h[s], f);
      e[s] = larger(e[s], subtract(h[s], open));
      f = carried;
    }
    return true;
  }
};

template <class E>
static void striped(const LocalArgs& a) {
  StripedKernel<E>::run(a);
}

}  // namespace gpualign::GPUALIGN_ISA
