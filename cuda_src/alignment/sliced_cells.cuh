// A cell of 32 pairs of sequences, one bit each.
//
// Glossary
//   number      an unsigned number for each pair: word b holds bit b of all 32. Sums and differences are modulo 2^W, with W words
//   left, up    values from the cells (i,j-1) and (i-1,j)
//
// Recurrence: that of recurrence.cuh for global alignments, with only two scores, S for equal letters and X < S for others, both rebased
// (s' = s + 2 EXTEND), and o = OPEN - EXTEND. Only differences are kept (Suzuki & Kasahara 2018), which have few values:
//   u = H'(i,j) - H'(i-1,j),  v = H'(i,j) - H'(i,j-1)     both from -o to S + o
//   z = H'(i,j) - H'(i-1,j-1)                             from X to S; it is S if the letters are equal
//   e = E(i,j) - H'(i-1,j-1), f = F(i,j) - H'(i-1,j-1)    from -2o to S
// With u and e from the left, and v and f from above,
//   z = letters are equal ? S : max(X, e, f)
//   v(i,j) = z - u;  u(i,j) = z - v;  e(i,j+1) = max(z - o, e) - v;  f(i+1,j) = max(z - o, f) - u
// e and f are kept as e - X + TOP and f - X + TOP, with TOP = 2^(W-1): their highest bit tells whether they are X or more. They fit in W
// bits because TOP >= 2o + X and TOP > S - X; u and v are never compared.
//
// Edges. Outside of a band e and f are 0, which stands for -2o or less: never the largest term, as X >= -o. Cells in row 0, in column 0 and
// before these are virtual: a pair of letters scores Q = max(X, 0) there, so that H' = Q min(i,j), and o less on all diagonals except that
// of (0,0). Row 0 and column 0 then have the steps of a global alignment.
//
// Macros: EQUAL S     DIFFERENT X     OPENING o     BITS W
#pragma once

#include "portable.cuh"

constexpr int kTop = 1 << (BITS - 1), kVirtual = DIFFERENT > 0 ? DIFFERENT : 0;  // TOP and Q
static_assert(kTop >= 2 * OPENING + DIFFERENT && kTop > EQUAL - DIFFERENT && EQUAL > DIFFERENT && DIFFERENT >= -OPENING);

LOGIC3(borrow, 0x8E, (~a & (b | c)) | (b & c))
LOGIC3(select_bits, 0xCA, (a & b) | (~a & c))
LOGIC3(not_or_and, 0x8F, ~a | (b & c))

struct Number {
  uint32_t bit[BITS];
  // The same number for all pairs.
  static DEVICE Number of(int value) {
    Number n;
#pragma unroll
    for (int b = 0; b < BITS; b++) n.bit[b] = value >> b & 1 ? ~0u : 0u;
    return n;
  }
};

DEVICE Number operator-(const Number& x, const Number& y) {
  Number n;
  n.bit[0] = x.bit[0] ^ y.bit[0];
  uint32_t carry = ~x.bit[0] & y.bit[0];
#pragma unroll
  for (int b = 1; b < BITS; b++) {
    n.bit[b] = xor3(x.bit[b], y.bit[b], carry);
    if (b < BITS - 1) carry = borrow(x.bit[b], y.bit[b], carry);
  }
  return n;
}

// Returns the sum of a number and a constant.
DEVICE Number plus(const Number& x, int constant) {
  Number n;
  uint32_t carry = 0;
#pragma unroll
  for (int b = 0; b < BITS; b++) {
    const bool one = constant >> b & 1;
    n.bit[b] = one ? ~(x.bit[b] ^ carry) : x.bit[b] ^ carry;
    carry = one ? x.bit[b] | carry : x.bit[b] & carry;
  }
  return n;
}

// Returns the pairs in which x is less than y.
DEVICE uint32_t less(const Number& x, const Number& y) {
  uint32_t carry = ~x.bit[0] & y.bit[0];
#pragma unroll
  for (int b = 1; b < BITS; b++) carry = borrow(x.bit[b], y.bit[b], carry);
  return carry;
}

// Two bits of a letter, of 32 pairs.
struct alignas(8) Letter {
  uint32_t bit[2];
};

// Directions of a cell, of 32 pairs.
//   word[0]  H is the diagonal value     word[1]  if it is, the letters are equal; if not, H is F
//   word[2]  the gap E that enters the right neighbour is longer than one letter     word[3]  the gap F that enters the lower neighbour is
using CellDirections = SixteenBytes;

// What the next cells need of a cell.
struct Cell {
  Number u, v, e, f;  // e of the right neighbour, f of the lower one
};

// Computes a cell. a, b: its letters. EDGE: whether it may be virtual. is_virtual: all bits if it is, else 0
template <bool EDGE>
DEVICE CellDirections compute(Cell& cell, const Letter& a, const Letter& b, Number left_u, Number left_e, Number up_v, Number up_f,
                              uint32_t is_virtual) {
  const uint32_t differ = or_xor(a.bit[0] ^ b.bit[0], a.bit[1], b.bit[1]);
  const uint32_t f_is_less = less(up_f, left_e), gap = left_e.bit[BITS - 1] | up_f.bit[BITS - 1];
  Number z;  // z - X
  z.bit[BITS - 1] = 0;
  uint32_t above = 0;  // z > X
#pragma unroll
  for (int k = 0; k < BITS - 1; k++) {
    const uint32_t larger = select_bits(f_is_less, left_e.bit[k], up_f.bit[k]);
    z.bit[k] = (EQUAL - DIFFERENT) >> k & 1 ? not_or_and(differ, gap, larger) : and3(differ, gap, larger);
    if (EDGE) z.bit[k] = select_bits(is_virtual, (kVirtual - DIFFERENT) >> k & 1 ? ~0u : 0u, z.bit[k]);
    above |= z.bit[k];
  }
  CellDirections d;
  d.word[0] = ~(differ & above);
  d.word[1] = ~(differ & ~(above & ~f_is_less));
  const Number rise = plus(z, DIFFERENT), opened = plus(z, kTop - OPENING);
  Number e = opened, f = opened;
  d.word[2] = d.word[3] = 0;
  if (OPENING > 0) {
    d.word[2] = less(opened, left_e), d.word[3] = less(opened, up_f);
#pragma unroll
    for (int k = 0; k < BITS; k++) {
      e.bit[k] = select_bits(d.word[2], left_e.bit[k], opened.bit[k]);
      f.bit[k] = select_bits(d.word[3], up_f.bit[k], opened.bit[k]);
    }
  }
  cell.e = e - up_v, cell.f = f - left_u;
  cell.v = rise - left_u, cell.u = rise - up_v;
  return d;
}
