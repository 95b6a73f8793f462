// The directions of a box: the part of a pair of sequences between the first and the last pair of letters of a local alignment.
//
// Recurrence and directions are those of grid.hpp, in scores instead of differences:
//   H(i,j) = max(H(i-1,j-1) + s, E(i,j), F(i,j))
//   E(i,j+1) = max(E(i,j) - e, H(i,j) - g)      F(i+1,j) = max(F(i,j) - e, H(i,j) - g)
//   kDiagonal  H = H(i-1,j-1) + s       kUp  H = F       kExtendLeft  E - e > H - g       kExtendUp  F - e > H - g
//
// Bounds. No local alignment of the sequences exceeds the score S of the box. So along its best paths all H, E and F are from 0 to S: after
// a lower value, a path would score more without what came before, and before a higher one, without what follows. Scores below 0 are all
// stored as -1, which is the lower end of elements of 16 bits. A path from there to the last cell adds at most S, so it ends below S. This
// holds from any cell on the way, so no score that is too high equals one of a best path, and the directions along best paths are the true
// ones. Elements need the range from -1 to S; with 32 bits, E and F are at least -1 - g.
//
// Layout (striped_rows.hpp). The rows of the query are in the lanes. The first sweep over a column finds the F that leaves each lane if
// none enters it; the second begins with the F that enters it, and so has the final scores. This costs the same for all inputs. Carrying F
// on only as far as it matters, as in striped.hpp, would mean correcting directions.
//
// Cells of padding rows, which lie below all others, reach no cell that is used.
#pragma once
#include "striped_rows.hpp"

namespace gpualign::GPUALIGN_ISA {

template <class E>
static void box(const LocalArgs& a) {
  using V = Vec<E>;
  using Rows = StripedRows<E>;
  constexpr int kLanes = lanes_of<E>();
  constexpr E kBelow = Range<E>::kZero, kStart = kBelow + 1;  // scores -1 and 0
  // The values of Direction in core/alignment/src/walk.hpp.
  constexpr E kDiagonal = 1, kUp = 2, kExtendLeft = 4, kExtendUp = 8;

  const int64_t segments = box_segments(a.rows, kLanes);
  V* const profile = static_cast<V*>(a.scratch);
  V* const h = profile + box_state_start(a.letters, segments);  // of the column computed last
  V* const e = h + segments;                                    // that enters the column
  V* const paired = e + segments;                               // scores with the letters of the cell paired
  typedef uint8_t Narrow __attribute__((vector_size(kLanes)));
  uint8_t* directions = a.directions;
  const V below = broadcast<E>(kBelow), open = broadcast<E>(static_cast<E>(a.open)), extend = broadcast<E>(static_cast<E>(a.extend));
  if (!a.first_column) {
    Rows::set_profile(a, 0, a.rows, segments, segments, profile);
    for (int64_t s = 0; s < segments; s++) h[s] = e[s] = below;
  }
  for (int64_t j = a.first_column; j < a.columns; j++) {
    if (j % 256 == 0 && a.cancel->requested) return;
    const V* scores = profile + a.codes[j] * segments;
    V diagonal = Rows::lane_up(h[segments - 1], broadcast<E>(j ? kBelow : kStart)), f = below;
    for (int64_t s = 0; s < segments; s++) {
      const V t = larger(add(diagonal, scores[s]), below);
      diagonal = h[s];
      paired[s] = t;
      f = larger(subtract(f, extend), subtract(larger(t, e[s]), open));
    }
    f = larger(Rows::lane_up(f, below), below);
    Rows::add_passing(f, below, segments * a.extend);
    for (int64_t s = 0; s < segments; s++) {
      const V t = paired[s], left = e[s], now = larger(larger(t, left), f), opened = subtract(now, open);
      const V longer_left = subtract(left, extend), longer_up = subtract(f, extend);
      const V found = ((V)(t == now) & broadcast<E>(kDiagonal)) | ((V)(f == now) & broadcast<E>(kUp)) |
                      ((V)(longer_left > opened) & broadcast<E>(kExtendLeft)) | ((V)(longer_up > opened) & broadcast<E>(kExtendUp));
      const Narrow narrow = __builtin_convertvector(found, Narrow);
      memcpy(directions, &narrow, sizeof narrow);
      directions += kLanes;
      h[s] = now;
      e[s] = larger(longer_left, opened);
      f = larger(longer_up, opened);
    }
  }
  const int64_t last = a.rows - 1;
  a.best[0] = static_cast<int64_t>(h[last % segments][last / segments]) - kStart;
}

}  // namespace gpualign::GPUALIGN_ISA
