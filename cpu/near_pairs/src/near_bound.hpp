// The threshold that decides which pairs are near.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>

namespace gpualign {

// Least increase of a score if two letters in gaps are paired: of two equal letters with codes below `ordinary`, and of any two
// (PairingGains in core/scoring/edit_bounds.py). 0, 0: unknown.
struct PairingGains {
  int64_t equal, other;
  int ordinary;
};

// A bound on the edit distance of a pair of m and n letters: floor(per_letter * (m + n) + per_shorter * min(m, n) + constant). If coverage
// is above 0, either record also has a part of at least coverage * max(m, n) letters, or coverage * min(m, n) if it is that of the shorter
// record, and at most inside edits per letter of a part, plus `ambiguous`, turn one part into the other. core/scoring/edit_bounds.py has
// the proofs.
class Bound {
 public:
  Bound(double per_letter, double per_shorter, double constant, double inside, double coverage, bool coverage_of_shorter, int64_t ambiguous,
        PairingGains pairing)
      : per_letter_(per_letter), per_shorter_(per_shorter), constant_(constant), inside_(inside), coverage_(coverage),
        coverage_of_shorter_(coverage_of_shorter), ambiguous_(ambiguous), pairing_(pairing) {
    for (const double number : {per_letter, per_shorter, constant, inside, coverage})
      if (!std::isfinite(number)) throw std::invalid_argument("a bound is of finite numbers");
  }

  // Returns the largest allowed distance, -1 if there is none. It is at most max(m, n), which no distance exceeds.
  int64_t at(int64_t m, int64_t n) const {
    const double bound = per_letter_ * static_cast<double>(m + n) + per_shorter_ * static_cast<double>(std::min(m, n)) + constant_;
    const int64_t longer = std::max(m, n);
    if (!(bound >= 0)) return -1;
    return bound >= static_cast<double>(longer) ? longer : static_cast<int64_t>(bound);
  }

  bool has_coverage() const { return coverage_ > 0; }

  // Returns the largest allowed number of edits between the parts that a coverage requires.
  int64_t edits_inside(int64_t m, int64_t n) const {
    return static_cast<int64_t>(std::floor(inside_ * static_cast<double>(std::min(m, n)) + kRounding)) + ambiguous_;
  }

  // Returns the largest number of letters that a coverage leaves out of a record of `own` letters, whose partner has `other` letters; below
  // 0, no such pair is allowed.
  int64_t overhang(int64_t own, int64_t other) const {
    const int64_t covered = coverage_of_shorter_ ? std::min(own, other) : std::max(own, other);
    return static_cast<int64_t>(std::floor(static_cast<double>(own) - coverage_ * static_cast<double>(covered) + kRounding));
  }

  const PairingGains& pairing() const { return pairing_; }

  // Returns the largest number of different q-grams that a record of `own` letters may have and its partner of `other` letters may lack.
  // For q = 1, letters count as often as they occur. Returns 0 if no such pair is allowed.
  int64_t grams(int q, int64_t own, int64_t other) const {
    const int64_t shorter = std::min(own, other), outside = overhang(shorter, std::max(own, other));
    if (outside < 0) return 0;
    const double per_letter = q * inside_;
    const double lost = std::max(per_letter * static_cast<double>(shorter),
                                 static_cast<double>(outside) + per_letter * static_cast<double>(shorter - outside));
    const int64_t together = own - shorter + static_cast<int64_t>(std::floor(lost + static_cast<double>(q * ambiguous_) + kRounding));
    return std::max<int64_t>(0, std::min({q * at(own, other), q * edits_inside(own, other) + overhang(own, other), together}));
  }

 private:
  static constexpr double kRounding = 1e-6;  // exceeds the rounding error for records of up to 10^8 letters

  double per_letter_, per_shorter_, constant_, inside_, coverage_;
  bool coverage_of_shorter_;
  int64_t ambiguous_;
  PairingGains pairing_;
};

}  // namespace gpualign
