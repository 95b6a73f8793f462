// Edit distances up to a small bound, of a pair of short strings.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace gpualign {

constexpr int kReadAhead = 8;  // bytes that can be read behind both strings
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

// The edit distance of s and t if it is at most k <= kMostEdits, else k + 1.
//
// Ukkonen 1985 in the form of Landau and Vishkin 1989: reach[d] is how many letters of s the furthest alignment with e edits and d more
// letters of t than of s takes; e rises until one takes all. Time (k + 1)^2 and what common_prefix reads.
inline int edits_within(const uint8_t* s, int64_t m, const uint8_t* t, int64_t n, int k) {
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

}  // namespace gpualign
