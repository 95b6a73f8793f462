#include "band_paths.hpp"

#include <algorithm>

namespace gpualign {
namespace {

// Costs in steps of the block kernel: a vector of cells with directions, its look-up per letter, a step of the traceback; measured
// (benchmarks/log: C-012).
constexpr double kVectorCost = 2.5, kLetterCost = 0.3, kWalkCost = 1.5;
constexpr int64_t kFirstLanes = 64;  // minimum number of lanes of a first attempt

}  // namespace

BandPaths::BandPaths(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel)
    : kernels_(kernels), recipe_(recipe), cancel_(cancel), scores_(recipe.differences), bound_(recipe) {
  args_.letters = letters_;
  args_.padding = scores_.padding;
  args_.table = scores_.pairs, args_.rows_of_scores = scores_.rows;
  args_.open_extra = recipe.differences.open_extra;
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

int64_t BandPaths::forward(int64_t vectors) {
  const int64_t lanes = vectors * kernels_.vector_bytes, corner = columns_ - rows_, margin = lanes + kPlaneMargin;
  slack_ = (2 * lanes - 2 - std::abs(corner)) / 2;
  if ((std::max<int64_t>(0, corner) + slack_) % 2) slack_--;
  args_.lowest = std::min<int64_t>(0, corner) - slack_;
  args_.rows = rows_, args_.columns = columns_, args_.vectors = vectors;
  const int shift = args_.pairs ? kPairTableShift : 0;

  uint8_t* query = static_cast<uint8_t*>(packed_.reserve(static_cast<size_t>(rows_ + columns_ + 4 * margin)));
  uint8_t* target = query + rows_ + 2 * margin;
  std::fill_n(query, rows_ + 2 * margin, static_cast<uint8_t>(scores_.padding << shift));
  std::fill_n(target, columns_ + 2 * margin, static_cast<uint8_t>(scores_.padding));
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
  const LetterCounts query_letters = bound_.count_query({query, rows}), target_letters = bound_.count_target({target, columns});
  bound_.set_pair(query_letters, target_letters);
  args_.pairs = 2 * (query_letters.plain + target_letters.plain) > rows + columns;
  args_.letter_count = 0;
  for (const auto& amount : query_letters.amounts) letters_[args_.letter_count++] = static_cast<uint8_t>(amount.code);
  letters_[args_.letter_count++] = static_cast<uint8_t>(scores_.padding);
  double spent = cost(vectors);
  if (spent > max_cost) return false;
  int64_t score = forward(vectors);
  if (cancel_.requested) return false;
  if (!bound_.proven(slack_, score)) {
    vectors = min_vectors(bound_.sufficient_slack(slack_, score));
    spent += cost(vectors);
    if (spent > max_cost || bytes(vectors) > recipe_.worker_bytes) return false;
    score = forward(vectors);
    if (cancel_.requested || !bound_.proven(slack_, score)) return false;
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
