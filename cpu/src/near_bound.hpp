// Which pairs are wanted.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace gpualign {

// Pairs of m and n letters whose edit distance is at most floor(per_letter * (m + n) + per_shorter * min(m, n) + constant).
class Bound {
 public:
  Bound(double per_letter, double per_shorter, double constant) : per_letter_(per_letter), per_shorter_(per_shorter), constant_(constant) {
    if (!std::isfinite(per_letter) || !std::isfinite(per_shorter) || !std::isfinite(constant))
      throw std::invalid_argument("a bound is of finite numbers");
  }

  // The greatest distance wanted, -1 if none is. No distance is above max(m, n), so that this is the most.
  int64_t at(int64_t m, int64_t n) const {
    const double bound = per_letter_ * static_cast<double>(m + n) + per_shorter_ * static_cast<double>(std::min(m, n)) + constant_;
    const int64_t most = std::max(m, n);
    if (!(bound >= 0)) return -1;
    return bound >= static_cast<double>(most) ? most : static_cast<int64_t>(bound);
  }

 private:
  double per_letter_, per_shorter_, constant_;
};

}  // namespace gpualign
