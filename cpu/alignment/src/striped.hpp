// Local alignment (Smith-Waterman) of one pair: scores, with the query's rows in the lanes.
//
// The recurrence, elements and bounds are those of local.hpp. There a lane is a target, so that one target uses one lane; here
// every lane has its own rows of the query.
//
// Layout (Farrar 2007): a strip has kSegments x lanes rows, of which lane k has kSegments, one behind the other; vector s holds
// row s of each lane. A column needs of the other letter only which profile it reads: the scores of the strip's rows with that
// letter. F that leaves a lane's last row enters the first row of the next lane; it is carried there after the column is done, as
// long as it is more than what the rows open themselves. Where it crosses a whole lane, what arrives at each lane is computed from
// the ends of all lanes before it, and a second pass is the last. H and F of a strip's last row are kept for every column, and the
// next strip begins with them, so that a strip's state stays in the cache however long the query is.
//
// Behind the last row stand rows whose scores are negative: H cannot rise there.
#pragma once
#include "kernels.hpp"
#include "saturating.hpp"

namespace gpualign::GPUALIGN_ISA {

template <class E>
struct StripedKernel {
  using V = Vec<E>;
  static constexpr int kLanes = lanes_of<E>();
  static constexpr int kSegments = 64;
  static constexpr int64_t kRows = int64_t(kLanes) * kSegments;
  static constexpr E kZero = Range<E>::kZero;

  static void run(const LocalArgs& a) {
    E* bound_h = static_cast<E*>(a.boundary);
    E* bound_f = bound_h + a.columns;
    for (int64_t j = 0; j < a.columns; j++) bound_h[j] = bound_f[j] = kZero;  // no gap is worth more at an edge
    V best = broadcast<E>(kZero);
    for (int64_t row = 0; row < a.rows; row += kRows) {
      if (a.cancel->requested) return;
      strip(a, row, a.rows - row < kRows ? a.rows - row : kRows, bound_h, bound_f, best);
    }
    E largest = kZero;
    for (int k = 0; k < kLanes; k++) largest = best[k] > largest ? best[k] : largest;
    a.best[0] = static_cast<int64_t>(largest) - kZero;
  }

 private:
  // Each lane has what the lane before it had, the first one `first`.
  static inline V shifted(V v, E first) {
    alignas(64) E held[2 * kLanes];
    memcpy(held + kLanes, &v, sizeof v);
    held[kLanes - 1] = first;
    memcpy(&v, held + kLanes - 1, sizeof v);
    return v;
  }

  static void strip(const LocalArgs& a, int64_t first_row, int64_t rows, E* bound_h, E* bound_f, V& best_so_far) {
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
    V best = best_so_far;
    E corner = kZero;  // H above and left of the first row
    for (int64_t j = 0; j < a.columns; j++) {
      const V* scores = profile[a.codes[j]];
      V diagonal = shifted(h[segments - 1], corner), f = zero;
      corner = bound_h[j];
      f[0] = bound_f[j];
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
      bound_h[j] = h[segments - 1][kLanes - 1];
      bound_f[j] = below;
    }
    best_so_far = best;
  }

  // Take F of the lanes' last rows through the lanes behind them. Returns F below the strip's last row. The best score stays: what is
  // carried is less than the H that it comes from.
  static inline __attribute__((always_inline)) E carry(V* h, V* e, V f, int segments, V open, V extend) {
    E below = f[kLanes - 1];
    f = shifted(f, kZero);
    if (!through(h, e, f, segments, open, extend)) return below;
    // It has crossed whole lanes: what each lane gets from all lanes before it.
    alignas(64) E held[kLanes];
    memcpy(held, &f, sizeof f);
    const int64_t crossing = segments * static_cast<int64_t>(extend[0]);
    int64_t coming = kZero;
    for (int k = 0; k < kLanes; k++) {
      const int64_t end = held[k], passed = coming - crossing;
      held[k] = static_cast<E>(coming);
      coming = end > passed ? end : passed;
      if (coming < kZero) coming = kZero;
    }
    below = coming > below ? static_cast<E>(coming) : below;
    memcpy(&f, held, sizeof f);
    through(h, e, f, segments, open, extend);
    return below;
  }

  // F through the rows of its lane. False if it has come to an end there, because the rows open gaps that are as good.
  static inline __attribute__((always_inline)) bool through(V* h, V* e, V& f, int segments, V open, V extend) {
    for (int s = 0; s < segments; s++) {
      V opened = subtract(h[s], open);
      const V carried = subtract(f, extend);
      if (!Range<E>::kSaturates) opened = larger(opened, broadcast<E>(kZero));  // no H is less
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
