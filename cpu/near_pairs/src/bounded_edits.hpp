// Edit distances up to a small bound, of a pair of short strings.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace gpualign {

constexpr int kReadAround = 8;  // bytes that can be read before and behind both strings
constexpr int kMostEdits = 3;

// Letters that s and t have in common from their begin on, at most `most`.
inline int64_t common_prefix(const uint8_t* s, const uint8_t* t, int64_t most) {
  for (int64_t i = 0; i < most; i += 8) {
    uint64_t a, b;
    std::memcpy(&a, s + i, 8);
    std::memcpy(&b, t + i, 8);
    if (a == b) continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return std::min(i + __builtin_ctzll(a ^ b) / 8, most);
#else
    return std::min(i + __builtin_clzll(a ^ b) / 8, most);
#endif
  }
  return most;
}

// Letters that s and t, which end before these pointers, have in common from their end on, at most `most`.
inline int64_t common_suffix(const uint8_t* s, const uint8_t* t, int64_t most) {
  for (int64_t i = 0; i < most; i += 8) {
    uint64_t a, b;
    std::memcpy(&a, s - i - 8, 8);
    std::memcpy(&b, t - i - 8, 8);
    if (a == b) continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return std::min(i + __builtin_clzll(a ^ b) / 8, most);
#else
    return std::min(i + __builtin_ctzll(a ^ b) / 8, most);
#endif
  }
  return most;
}

inline bool equal(const uint8_t* s, const uint8_t* t, int64_t length) { return common_prefix(s, t, length) >= length; }

// The edit distance of s and t if it is at most k <= kMostEdits, else k + 1: Ukkonen 1985 in the form of Landau and Vishkin 1989: reach[d]
// is how many letters of s the furthest alignment with e edits and d more letters of t than of s takes; e rises until one takes all. Time
// (k + 1)^2 and what common_prefix reads.
inline int edits_by_diagonals(const uint8_t* s, int64_t m, const uint8_t* t, int64_t n, int k) {
  const int64_t goal = n - m;
  if (goal > k || goal < -k) return k + 1;
  constexpr int64_t kNone = -2;         // no alignment, nor after one more edit
  int64_t rows[2][2 * kMostEdits + 3];  // diagonals -k-1 .. k+1
  int64_t *before = rows[0] + kMostEdits + 1, *reach = rows[1] + kMostEdits + 1;
  std::fill_n(rows[0], 2 * (2 * kMostEdits + 3), kNone);
  for (int e = 0; e <= k; e++) {
    // A diagonal from which the edits left do not lead to the goal is left out.
    const int64_t low = std::max<int64_t>(-e, goal - (k - e)), high = std::min<int64_t>(e, goal + (k - e));
    for (int64_t d = low; d <= high; d++) {
      int64_t i = e == 0 ? 0 : std::max({before[d] + 1, before[d - 1], before[d + 1] + 1});
      i = std::min({i, m, n - d});
      if (i < 0 || i + d < 0) continue;
      reach[d] = i + common_prefix(s + i, t + i + d, std::min(m - i, n - d - i));
    }
    if (goal >= -e && goal <= e && reach[goal] == m) return e;
    std::swap(before, reach);
  }
  return k + 1;
}

// The edit distance of s and t if it is at most k <= kMostEdits, else k + 1.
//
// What both have in common at their ends costs nothing. Of what is left, s no longer than t, both first and both last letters differ, so
// there is an edit at either end: two edits leave equal what is between, shifted as they are substitutions or gaps.
inline int edits_within(const uint8_t* s, int64_t m, const uint8_t* t, int64_t n, int k) {
  if (m > n) {
    std::swap(s, t);
    std::swap(m, n);
  }
  if (n - m > k) return k + 1;
  const int64_t before = common_prefix(s, t, m);
  if (before == m) return static_cast<int>(n - m);
  const int64_t behind = common_suffix(s + m, t + n, m - before);
  s += before;
  t += before;
  m -= before + behind;
  n -= before + behind;
  if (m == 0) return static_cast<int>(n);
  if (n == 1) return std::min(k + 1, 1);
  if (k < 2) return k + 1;
  const bool two = n - m == 0   ? equal(s + 1, t + 1, m - 2) || equal(s + 1, t, m - 1) || equal(s, t + 1, m - 1)
                   : n - m == 1 ? equal(s, t + 1, m - 1) || equal(s + 1, t + 1, m - 1)
                                : n - m == 2 && equal(s, t + 1, m);
  if (two || k == 2) return two ? 2 : 3;
  return edits_by_diagonals(s, m, t, n, k);
}

}  // namespace gpualign
