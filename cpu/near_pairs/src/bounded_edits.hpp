// Edit distance of two short strings, up to a small bound.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace gpualign {

constexpr int kReadMargin = 8;  // bytes that must be readable before and after both strings
constexpr int kMaxEdits = 3;

// Returns the length of the longest common prefix of s and t, at most max_length.
inline int64_t common_prefix(const uint8_t* s, const uint8_t* t, int64_t max_length) {
  for (int64_t i = 0; i < max_length; i += 8) {
    uint64_t a, b;
    std::memcpy(&a, s + i, 8);
    std::memcpy(&b, t + i, 8);
    if (a == b) continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return std::min(i + __builtin_ctzll(a ^ b) / 8, max_length);
#else
    return std::min(i + __builtin_clzll(a ^ b) / 8, max_length);
#endif
  }
  return max_length;
}

// Returns the length of the longest common suffix, at most max_length, of two strings that end just before s and t.
inline int64_t common_suffix(const uint8_t* s, const uint8_t* t, int64_t max_length) {
  for (int64_t i = 0; i < max_length; i += 8) {
    uint64_t a, b;
    std::memcpy(&a, s - i - 8, 8);
    std::memcpy(&b, t - i - 8, 8);
    if (a == b) continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return std::min(i + __builtin_clzll(a ^ b) / 8, max_length);
#else
    return std::min(i + __builtin_ctzll(a ^ b) / 8, max_length);
#endif
  }
  return max_length;
}

// Returns whether the first `length` letters of s and t are equal.
inline bool equal(const uint8_t* s, const uint8_t* t, int64_t length) { return common_prefix(s, t, length) >= length; }

// Returns the edit distance of s and t if it is at most k <= kMaxEdits, else k + 1. The method is Ukkonen's (1985) in the form of Landau
// and Vishkin (1989). reach[d] is the largest i such that e edits turn s[:i] into t[:i + d]; e rises from 0 until s and t are reached
// completely. Takes O(k^2) steps, plus the letters that common_prefix reads.
inline int edits_by_diagonals(const uint8_t* s, int64_t m, const uint8_t* t, int64_t n, int k) {
  const int64_t goal = n - m;
  if (goal > k || goal < -k) return k + 1;
  constexpr int64_t kNone = -2;        // no such alignment, nor after one more edit
  int64_t rows[2][2 * kMaxEdits + 3];  // for e - 1 and e edits: diagonals -k-1 .. k+1
  int64_t *previous = rows[0] + kMaxEdits + 1, *reach = rows[1] + kMaxEdits + 1;
  std::fill_n(rows[0], 2 * (2 * kMaxEdits + 3), kNone);
  for (int e = 0; e <= k; e++) {
    // Skip diagonals from which the remaining edits cannot lead to the goal.
    const int64_t low = std::max<int64_t>(-e, goal - (k - e)), high = std::min<int64_t>(e, goal + (k - e));
    for (int64_t d = low; d <= high; d++) {
      int64_t i = e == 0 ? 0 : std::max({previous[d] + 1, previous[d - 1], previous[d + 1] + 1});
      i = std::min({i, m, n - d});
      if (i < 0 || i + d < 0) continue;
      reach[d] = i + common_prefix(s + i, t + i + d, std::min(m - i, n - d - i));
    }
    if (goal >= -e && goal <= e && reach[goal] == m) return e;
    std::swap(previous, reach);
  }
  return k + 1;
}

// Returns the edit distance of s and t if it is at most k <= kMaxEdits, else k + 1.
//
// A common prefix and a common suffix cost nothing and are removed. Then, with s no longer than t, the first letters differ and so do the
// last ones, so there is an edit at either end. If there are only two, the letters between them are equal, up to a shift that depends on
// which of the two are substitutions and which are gaps.
inline int edits_within(const uint8_t* s, int64_t m, const uint8_t* t, int64_t n, int k) {
  if (m > n) {
    std::swap(s, t);
    std::swap(m, n);
  }
  if (n - m > k) return k + 1;
  const int64_t prefix = common_prefix(s, t, m);
  if (prefix == m) return static_cast<int>(n - m);
  const int64_t suffix = common_suffix(s + m, t + n, m - prefix);
  s += prefix;
  t += prefix;
  m -= prefix + suffix;
  n -= prefix + suffix;
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
