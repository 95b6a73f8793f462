#include "composition.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace gpualign {
namespace {

constexpr double kEntropy = 0.44;  // relative entropy of adjusted matrices, in nats
constexpr double kPseudocounts = 20;
constexpr double kMinRatio = 0.5;         // of a scaled matrix
constexpr double kMaxUnknownScore = -1;   // of X, in units
constexpr double kMinScore = -(1 << 28);  // in units; of letters whose joint frequency is 0, because it is too small for a double
constexpr double kTolerance = 1e-9;       // relative, of marginals and of entropies
constexpr int kMaxScalings = 2000, kMaxPowers = 60;

// The first powers only need to lead to the last one, so their marginals may be rough: relative tolerance of the first, and of the
// following ones relative to the square of the error of the last entropy, which is about the error that the next one will have.
constexpr int kRoughPowers = 3;
constexpr double kRoughTolerance = 1e-2, kToleranceByError = 0.1;

// The rule for the choice between adjusting and scaling.
constexpr double kMinDistance = 0.16, kMinLengthRatio = 3, kMinDegrees = 70, kMaxTwoLetters = 0.4;
constexpr int64_t kMinTwoLetterLength = 50;

// Returns the square root of the Jensen-Shannon divergence of two distributions.
double distance(const Frequencies& a, const Frequencies& b) {
  double sum = 0;
  for (int i = 0; i < kAminoAcids; i++) {
    const double mean = (a[i] + b[i]) / 2;
    if (a[i] > 0) sum += a[i] * std::log(a[i] / mean) / 2;
    if (b[i] > 0) sum += b[i] * std::log(b[i] / mean) / 2;
  }
  return std::sqrt(std::max(sum, 0.0));
}

// Returns whether two amino acids make up much of a sequence.
bool is_dominated_by_two(const Composition& one, int64_t length) {
  if (length <= kMinTwoLetterLength) return false;
  Frequencies sorted = one.frequencies;
  std::partial_sort(sorted.begin(), sorted.begin() + 2, sorted.end(), std::greater<double>());
  return sorted[0] + sorted[1] > kMaxTwoLetters;
}

Frequencies with_pseudocounts(const Composition& one, const Frequencies& background) {
  const double weight = kPseudocounts / (static_cast<double>(one.count) + kPseudocounts);
  Frequencies out;
  for (int i = 0; i < kAminoAcids; i++) out[i] = (1 - weight) * one.frequencies[i] + weight * background[i];
  return out;
}

// Scales u and v until x_ij = u_i v_j k_ij has these marginals, within a relative tolerance. k: symmetric; u, v: a first guess. Returns
// false if they do not converge.
bool scale_to_marginals(const PairFrequencies& k, const Frequencies& rows, const Frequencies& columns, double tolerance, Frequencies& u,
                        Frequencies& v) {
  const auto weighted_sums = [&k](const Frequencies& weights) {
    Frequencies sums{};
    for (int j = 0; j < kAminoAcids; j++)
      for (int i = 0; i < kAminoAcids; i++) sums[i] += k[j][i] * weights[j];
    return sums;
  };
  for (int round = 0; round < kMaxScalings; round++) {
    const Frequencies row_sums = weighted_sums(v);
    double error = 0;
    for (int i = 0; i < kAminoAcids; i++) {
      error = std::max(error, std::abs(u[i] * row_sums[i] / rows[i] - 1));
      u[i] = rows[i] / row_sums[i];
    }
    if (round && error < tolerance) return true;
    const Frequencies column_sums = weighted_sums(u);
    for (int j = 0; j < kAminoAcids; j++) v[j] = columns[j] / column_sums[j];
  }
  return false;
}

// The amino acids that a letter stands for.
struct Members {
  int first, second;  // second: -1 if there is one only
};

Members members_of(int letter) {
  switch (letter) {
    case kB: return {2, 3};   // N, D
    case kZ: return {5, 6};   // Q, E
    case kJ: return {9, 10};  // I, L
    case kU: return {4, -1};  // C
    default: return {letter, -1};
  }
}

double sum_over(const Frequencies& values, Members members) {
  return values[members.first] + (members.second < 0 ? 0 : values[members.second]);
}

// Returns the nearest integer (the larger in magnitude of two), at least kMinScore.
int32_t rounded(double score) { return static_cast<int32_t>(std::max(score < 0 ? score - 0.5 : score + 0.5, kMinScore)); }

// Writes the scores ln (x / (r c)) / lambda to a table. nats: ln (x / (r c)); lambda: nats per unit; rows, columns: r and c; x_rows,
// x_columns: frequencies for the scores of X.
void write_scores(const PairFrequencies& x, const PairFrequencies& nats, const Frequencies& rows, const Frequencies& columns,
                  const Frequencies& x_rows, const Frequencies& x_columns, double lambda, int32_t* table) {
  const auto is_unknown = [](int letter) { return letter == kX || letter == kO; };
  double scores[kProteinLetters][kProteinLetters] = {};
  for (int a = 0; a < kStop; a++) {
    if (is_unknown(a)) continue;
    const Members in_row = members_of(a);
    Frequencies joint = x[in_row.first];
    if (in_row.second >= 0)
      for (int j = 0; j < kAminoAcids; j++) joint[j] += x[in_row.second][j];
    for (int b = 0; b < kStop; b++) {
      if (is_unknown(b)) continue;
      const Members in_column = members_of(b);
      const bool are_single = in_row.second < 0 && in_column.second < 0;
      const double score = are_single ? nats[in_row.first][in_column.first]
                                      : std::log(sum_over(joint, in_column) / (sum_over(rows, in_row) * sum_over(columns, in_column)));
      scores[a][b] = score / lambda;
    }
  }
  double both = 0;
  for (int a = 0; a < kStop; a++) {
    if (is_unknown(a)) continue;
    double in_row = 0, in_column = 0;
    for (int j = 0; j < kAminoAcids; j++) {
      in_row += scores[a][j] * x_columns[j];
      in_column += scores[j][a] * x_rows[j];
    }
    if (a < kAminoAcids) both += in_row * x_rows[a];
    for (const int unknown : {kX, kO}) {
      scores[a][unknown] = std::min(in_row, kMaxUnknownScore);
      scores[unknown][a] = std::min(in_column, kMaxUnknownScore);
    }
  }
  for (const int a : {kX, kO})
    for (const int b : {kX, kO}) scores[a][b] = std::min(both, kMaxUnknownScore);
  for (int a = 0; a < kStop; a++)
    for (int b = 0; b < kStop; b++) table[a * kTableLetters + b] = rounded(scores[a][b]);
}

}  // namespace

Composition composition_of(const uint8_t* codes, int64_t length) {
  std::array<int64_t, 256> counts{};
  for (int64_t i = 0; i < length; i++) counts[codes[i]]++;
  counts[4] += counts[kU];
  Composition out;
  for (int i = 0; i < kAminoAcids; i++) out.count += counts[i];
  for (int i = 0; i < kAminoAcids && out.count; i++) out.frequencies[i] = static_cast<double>(counts[i]) / static_cast<double>(out.count);
  return out;
}

MatrixAdjuster::MatrixAdjuster(const MatrixModel& model, Adjustment adjustment) : model_(model), adjustment_(adjustment) {
  for (int i = 0; i < kAminoAcids; i++)
    for (int j = 0; j < kAminoAcids; j++) background_[i] += model.targets[i][j];
  for (int i = 0; i < kAminoAcids; i++)
    for (int j = 0; j < kAminoAcids; j++) nats_[i][j] = std::log(model.targets[i][j] / (background_[i] * background_[j]));
  first_kernel_ = powers_of_ratios(first_power_);
  AdjustedFrequencies adjusted;
  if (adjust_targets(background_, background_, adjusted)) {
    first_power_ = adjusted.power;
    first_kernel_ = powers_of_ratios(first_power_);
  }
}

bool MatrixAdjuster::make_table(const Composition& query, int64_t query_length, const Composition& target, int64_t target_length,
                                int32_t* table) const {
  if (!query.count || !target.count) return false;
  const double lambda = model_.lambda / kUnitsPerPoint;
  for (int a = 0; a < kProteinLetters; a++)
    table[a * kTableLetters + kStop] = table[kStop * kTableLetters + a] = model_.stop * kUnitsPerPoint;
  table[kStop * kTableLetters + kStop] = model_.stop_stop * kUnitsPerPoint;
  if (adjustment_ == Adjustment::kAdjust && !prefers_scaling(query, query_length, target, target_length)) {
    const Frequencies rows = with_pseudocounts(query, background_), columns = with_pseudocounts(target, background_);
    AdjustedFrequencies adjusted;
    if (adjust_targets(rows, columns, adjusted)) {
      write_scores(adjusted.targets, adjusted.nats, rows, columns, rows, columns, lambda, table);
      return true;
    }
  }
  const double ratio = scale_ratio(query.frequencies, target.frequencies);
  write_scores(model_.targets, nats_, background_, background_, query.frequencies, target.frequencies, lambda / ratio, table);
  return true;
}

bool MatrixAdjuster::prefers_scaling(const Composition& query, int64_t query_length, const Composition& target,
                                     int64_t target_length) const {
  const auto [shorter, longer] = std::minmax(query_length, target_length);
  if (static_cast<double>(longer) <= kMinLengthRatio * static_cast<double>(shorter)) return false;
  if (is_dominated_by_two(query, query_length) || is_dominated_by_two(target, target_length)) return false;
  const double apart = distance(query.frequencies, target.frequencies), of_query = distance(query.frequencies, background_),
               of_target = distance(target.frequencies, background_);
  if (apart <= kMinDistance) return false;
  const double cosine = (of_query * of_query + of_target * of_target - apart * apart) / (2 * of_query * of_target);
  return std::acos(cosine) * 180 / std::acos(-1.0) > kMinDegrees;
}

PairFrequencies MatrixAdjuster::powers_of_ratios(double power) const {
  PairFrequencies k;
  for (int i = 0; i < kAminoAcids; i++)
    for (int j = 0; j <= i; j++) k[i][j] = k[j][i] = std::exp(power * nats_[i][j]);
  return k;
}

bool MatrixAdjuster::adjust_targets(const Frequencies& rows, const Frequencies& columns, AdjustedFrequencies& adjusted) const {
  Frequencies u = rows, v = columns;
  PairFrequencies k = first_kernel_;
  double power = first_power_, tolerance = kRoughTolerance;
  double low = 0, high = 0;                // high: 0 until a power with too high an entropy is known
  double slope = 2;                        // of the logarithm of the entropy by that of the power
  double last_power = 0, last_excess = 0;  // last_excess: logarithm of entropy / kEntropy
  for (int round = 0; round < kMaxPowers; round++) {
    if (!scale_to_marginals(k, rows, columns, tolerance, u, v)) return false;
    Frequencies log_u, log_v;
    for (int i = 0; i < kAminoAcids; i++) log_u[i] = std::log(u[i] / rows[i]), log_v[i] = std::log(v[i] / columns[i]);
    double entropy = 0;
    for (int i = 0; i < kAminoAcids; i++)
      for (int j = 0; j < kAminoAcids; j++) {
        adjusted.targets[i][j] = u[i] * v[j] * k[i][j];
        adjusted.nats[i][j] = log_u[i] + log_v[j] + power * nats_[i][j];
        entropy += adjusted.targets[i][j] * adjusted.nats[i][j];
      }
    const double excess = std::log(entropy / kEntropy);
    const bool is_rough = tolerance > kTolerance;
    if (!is_rough && !(std::abs(excess) > kTolerance)) {
      adjusted.power = power;
      return entropy > 0;
    }
    if (!is_rough) (excess > 0 ? high : low) = power;
    if (last_power && power != last_power) slope = (excess - last_excess) / (std::log(power) - std::log(last_power));
    if (!(slope > 0)) slope = 2;  // of entropies too rough to compare
    last_power = power, last_excess = excess;
    power *= std::clamp(std::exp(-excess / slope), 0.5, 2.0);
    if (!(power > low) || (high && power >= high)) power = high ? (low + high) / 2 : 2 * low;
    tolerance = round + 1 < kRoughPowers ? std::clamp(kToleranceByError * excess * excess, kTolerance, kRoughTolerance) : kTolerance;
    k = powers_of_ratios(power);
  }
  return false;
}

double MatrixAdjuster::scale_ratio(const Frequencies& rows, const Frequencies& columns) const {
  // f(t) = sum r c exp(t nats) - 1 is convex and 0 at 0 and at the ratio, if that is positive: Newton's method from above decreases to it.
  double ratio = 1;
  for (int round = 0; round < kMaxPowers; round++) {
    double f = -1, slope = 0;
    for (int i = 0; i < kAminoAcids; i++)
      for (int j = 0; j < kAminoAcids; j++) {
        const double term = rows[i] * columns[j] * std::exp(ratio * nats_[i][j]);
        f += term;
        slope += term * nats_[i][j];
      }
    if (f <= 0) return ratio;
    const double step = f / slope;
    ratio -= step;
    if (ratio <= kMinRatio) return kMinRatio;
    if (step < kTolerance) return ratio;
  }
  return ratio;
}

}  // namespace gpualign
