// Which pairs are wanted.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>

namespace gpualign {

// Pairs of m and n letters whose edit distance is at most floor(per_letter * (m + n) + per_shorter * min(m, n) + constant); and of which,
// where coverage is above 0, either has coverage * max(m, n) letters in a part that is inside * min(m, n) edits from one of the other.
// core/scoring/edit_bounds.py has the proofs.
class Bound {
 public:
  Bound(double per_letter, double per_shorter, double constant, double inside, double coverage)
      : per_letter_(per_letter), per_shorter_(per_shorter), constant_(constant), inside_(inside), coverage_(coverage) {
    for (const double number : {per_letter, per_shorter, constant, inside, coverage})
      if (!std::isfinite(number)) throw std::invalid_argument("a bound is of finite numbers");
  }

  // The greatest distance wanted, -1 if none is. No distance is above max(m, n), so that this is the most.
  int64_t at(int64_t m, int64_t n) const {
    const double bound = per_letter_ * static_cast<double>(m + n) + per_shorter_ * static_cast<double>(std::min(m, n)) + constant_;
    const int64_t most = std::max(m, n);
    if (!(bound >= 0)) return -1;
    return bound >= static_cast<double>(most) ? most : static_cast<int64_t>(bound);
  }

  // The different q-grams, at most, that a record of `own` letters has and its partner has not; of q = 1, each letter as often as it
  // comes. 0 where no such pair is wanted.
  int64_t grams(int q, int64_t own, int64_t other) const {
    const double inside = std::floor(inside_ * static_cast<double>(std::min(own, other)) + kRounding);
    const double beyond = std::floor(static_cast<double>(own) - coverage_ * static_cast<double>(std::max(own, other)) + kRounding);
    const double most = std::min(static_cast<double>(q) * static_cast<double>(at(own, other)), q * inside + beyond);
    return most > 0 ? static_cast<int64_t>(most) : 0;
  }

 private:
  static constexpr double kRounding = 1e-6;  // more than is lost to it with records of 10^8 letters

  double per_letter_, per_shorter_, constant_, inside_, coverage_;
};

}  // namespace gpualign
