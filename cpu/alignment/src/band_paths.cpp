#include "band_paths.hpp"

#include <algorithm>

namespace gpualign {
namespace {

// Costs in steps of the block kernel: a vector of cells with directions, its look-up per letter, a step of the traceback; measured
// (benchmarks/LOG.md).
constexpr double kVectorCost = 2.5, kLetterCost = 0.3, kWalkCost = 1.5;
constexpr int64_t kFirstLanes = 64;  // of a first attempt, at least

}  // namespace

BandPaths::BandPaths(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel)
    : kernels_(kernels), recipe_(recipe), cancel_(cancel), padding_(recipe.differences.letters) {
  const Recipe& d = recipe.differences;
  for (int q = 0; q < kLetters; q++)
    for (int t = 0; t < kLetters; t++)
      rows_of_scores_[q * kLetters + t] = static_cast<uint8_t>(q == padding_ || t == padding_ ? 0 : d.table[q * kLetters + t]);
  for (int q = 0; q < 4; q++)
    for (int t = 0; t < 4; t++) table_[q << kPairTableShift | t] = rows_of_scores_[q * kLetters + t];
  for (int q = 0; q < padding_; q++)
    for (int t = 0; t < padding_; t++) {
      const int64_t score = static_cast<int32_t>(d.table[q * kLetters + t]) - 2 * static_cast<int64_t>(recipe.extend);
      best_of_query_[q] = std::max(best_of_query_[q], score);
      best_of_target_[t] = std::max(best_of_target_[t], score);
    }
  for (int l = 0; l < padding_; l++) {
    query_order_.push_back(l);
    target_order_.push_back(l);
  }
  std::stable_sort(query_order_.begin(), query_order_.end(), [&](int a, int b) { return best_of_query_[a] < best_of_query_[b]; });
  std::stable_sort(target_order_.begin(), target_order_.end(), [&](int a, int b) { return best_of_target_[a] < best_of_target_[b]; });
  args_.letters = letters_;
  args_.padding = padding_;
  args_.table = table_, args_.rows_of_scores = rows_of_scores_;
  args_.open_extra = d.open_extra;
  args_.cancel = &cancel;
}

double BandPaths::cost(int64_t vectors) const {
  const double letters = args_.pairs ? 0 : args_.letter_count;
  return static_cast<double>(rows_ + columns_) * (static_cast<double>(vectors) * (kVectorCost + kLetterCost * letters) + kWalkCost);
}

int64_t BandPaths::min_vectors(int64_t slack) const {
  const int64_t diagonals = std::abs(columns_ - rows_) + 2 * slack + 4;  // two more for parity, two for the cells outside
  const int64_t lanes = std::max(kFirstLanes, diagonals / 2 + 1);
  return (lanes + kernels_.vector_bytes - 1) / kernels_.vector_bytes;
}

int64_t BandPaths::bytes(int64_t vectors) const {
  const int64_t lanes = vectors * kernels_.vector_bytes;
  return (rows_ + columns_) * (lanes + 1) + 8 * lanes + 4 * kPlaneMargin;
}

void BandPaths::LetterCounts::count(const uint8_t* codes, int64_t length, const std::vector<int>& order, const int64_t* best) {
  int64_t counts[kLetters] = {};
  for (int64_t k = 0; k < length; k++) counts[codes[k]]++;
  plain = counts[0] + counts[1] + counts[2] + counts[3];
  sum = 0;
  amounts.clear();
  for (const int l : order)
    if (counts[l]) {
      sum += counts[l] * best[l];
      amounts.push_back({l, best[l], counts[l]});
    }
}

int64_t BandPaths::LetterCounts::max_sum(int64_t unpaired) const {
  int64_t remaining_sum = sum;
  for (const Amount& amount : amounts) {
    const int64_t taken = std::min(amount.letters, unpaired);
    remaining_sum -= taken * amount.best;
    unpaired -= taken;
  }
  return remaining_sum;
}

int64_t BandPaths::bound_outside(int64_t slack) const {
  const int64_t inserted = slack + 1 + std::max<int64_t>(0, columns_ - rows_), deleted = slack + 1 + std::max<int64_t>(0, rows_ - columns_);
  const int64_t pairs = std::min(query_letters_.max_sum(deleted), target_letters_.max_sum(inserted));
  return pairs - 2 * static_cast<int64_t>(recipe_.differences.open_extra) - recipe_.extend * (inserted + deleted);
}

bool BandPaths::proven(int64_t slack, int64_t score) const { return slack >= std::min(rows_, columns_) || bound_outside(slack) < score; }

int64_t BandPaths::forward(int64_t vectors) {
  const int64_t lanes = vectors * kernels_.vector_bytes, corner = columns_ - rows_, margin = lanes + kPlaneMargin;
  slack_ = (2 * lanes - 2 - std::abs(corner)) / 2;
  if ((std::max<int64_t>(0, corner) + slack_) % 2) slack_--;
  args_.lowest = std::min<int64_t>(0, corner) - slack_;
  args_.rows = rows_, args_.columns = columns_, args_.vectors = vectors;
  const int shift = args_.pairs ? kPairTableShift : 0;

  uint8_t* query = static_cast<uint8_t*>(packed_.reserve(static_cast<size_t>(rows_ + columns_ + 4 * margin)));
  uint8_t* target = query + rows_ + 2 * margin;
  std::fill_n(query, rows_ + 2 * margin, static_cast<uint8_t>(padding_ << shift));
  std::fill_n(target, columns_ + 2 * margin, static_cast<uint8_t>(padding_));
  for (int64_t i = 0; i < rows_; i++) query[margin + rows_ - 1 - i] = static_cast<uint8_t>(query_[i] << shift);
  std::copy_n(target_, columns_, target + margin);
  args_.query = query + margin, args_.target = target + margin;

  args_.scratch = state_.reserve(static_cast<size_t>(4 * lanes));
  args_.directions = static_cast<uint8_t*>(directions_.reserve(static_cast<size_t>((rows_ + columns_) * lanes)));
  return kernels_.banded(args_) - recipe_.differences.open_extra - recipe_.extend * (rows_ + columns_);
}

bool BandPaths::align(const uint8_t* query, int64_t rows, const uint8_t* target, int64_t columns, int64_t pair, double max_cost,
                      PathSink& sink) {
  query_ = query, rows_ = rows, target_ = target, columns_ = columns;
  int64_t vectors = min_vectors(0);
  if (bytes(vectors) > recipe_.worker_bytes) return false;
  query_letters_.count(query, rows, query_order_, best_of_query_);
  target_letters_.count(target, columns, target_order_, best_of_target_);
  args_.pairs = 2 * (query_letters_.plain + target_letters_.plain) > rows + columns;
  args_.letter_count = 0;
  for (const auto& amount : query_letters_.amounts) letters_[args_.letter_count++] = static_cast<uint8_t>(amount.code);
  letters_[args_.letter_count++] = static_cast<uint8_t>(padding_);
  double spent = cost(vectors);
  if (spent > max_cost) return false;
  int64_t score = forward(vectors);
  if (cancel_.requested) return false;
  if (!proven(slack_, score)) {
    const int64_t sufficient = std::min(rows, columns);
    int64_t low = slack_, slack = sufficient;  // the smallest sufficient slack is above `low` and at most `slack`
    while (slack - low > 1) {
      const int64_t middle = low + (slack - low) / 2;
      (proven(middle, score) ? slack : low) = middle;
    }
    vectors = min_vectors(slack);
    spent += cost(vectors);
    if (spent > max_cost || bytes(vectors) > recipe_.worker_bytes) return false;
    score = forward(vectors);
    if (cancel_.requested || !proven(slack_, score)) return false;
  }
  runs_.clear();
  Walk walk(query, target, {score, rows, columns}, sink.want_runs() ? &runs_ : nullptr);
  const int64_t lanes = args_.vectors * kernels_.vector_bytes, lowest = args_.lowest;
  const uint8_t* directions = args_.directions;
  walk.run(recipe_.usable, 0, 0, [=](int64_t i, int64_t j) { return directions[(i + j - 2) * lanes + ((j - i - lowest) >> 1)]; });
  walk.finish(false, false);
  sink.put(pair, recipe_.negate ? -score : score, walk.counts, runs_);
  return true;
}

}  // namespace gpualign
