#include "band_bound.hpp"

#include <algorithm>
#include <cstdlib>

namespace gpualign {

BandScores::BandScores(const Recipe& differences) : padding(differences.letters) {
  for (int q = 0; q < kLetters; q++)
    for (int t = 0; t < kLetters; t++)
      rows[q * kLetters + t] = static_cast<uint8_t>(q == padding || t == padding ? 0 : differences.table[q * kLetters + t]);
  for (int q = 0; q < 4; q++)
    for (int t = 0; t < 4; t++) pairs[q << kPairTableShift | t] = rows[q * kLetters + t];
}

BandBound::BandBound(const PathRecipe& recipe) : open_extra_(recipe.differences.open_extra), extend_(recipe.extend) {
  const Recipe& d = recipe.differences;
  for (int q = 0; q < d.letters; q++)
    for (int t = 0; t < d.letters; t++) {
      const int64_t score = static_cast<int32_t>(d.table[q * kLetters + t]) - 2 * extend_;
      best_of_query_[q] = std::max(best_of_query_[q], score);
      best_of_target_[t] = std::max(best_of_target_[t], score);
      table_[q * kLetters + t] = score;
    }
  for (int l = 0; l < d.letters; l++) {
    query_order_.push_back(l);
    target_order_.push_back(l);
  }
  std::stable_sort(query_order_.begin(), query_order_.end(), [&](int a, int b) { return best_of_query_[a] < best_of_query_[b]; });
  std::stable_sort(target_order_.begin(), target_order_.end(), [&](int a, int b) { return best_of_target_[a] < best_of_target_[b]; });
}

void BandBound::set_pair(const LetterCounts& query, const LetterCounts& target) {
  query_ = &query, target_ = &target;
  surplus_ = target.length - query.length;
  sufficient_ = std::min(query.length, target.length);
}

std::array<int64_t, kLetters> BandBound::numbers_of_letters(Record record) {
  std::array<int64_t, kLetters> letters{}, others{};  // of even and odd places: equal neighbours need not wait for each other
  int64_t k = 0;
  for (; k + 1 < record.length; k += 2) {
    letters[record.codes[k]]++;
    others[record.codes[k + 1]]++;
  }
  if (k < record.length) letters[record.codes[k]]++;
  for (int l = 0; l < kLetters; l++) letters[l] += others[l];
  return letters;
}

LetterCounts BandBound::counts(const int64_t* numbers, const std::vector<int>& order, const int64_t* best) {
  LetterCounts counts;
  counts.plain = numbers[0] + numbers[1] + numbers[2] + numbers[3];
  for (const int l : order)
    if (numbers[l]) {
      counts.length += numbers[l];
      counts.sum += numbers[l] * best[l];
      counts.amounts.push_back({l, best[l], numbers[l]});
    }
  return counts;
}

int64_t LetterCounts::max_sum(int64_t unpaired) const {
  int64_t remaining_sum = sum;
  for (const Amount& amount : amounts) {
    const int64_t taken = std::min(amount.letters, unpaired);
    remaining_sum -= taken * amount.best;
    unpaired -= taken;
  }
  return remaining_sum;
}

int64_t BandBound::bound_outside(int64_t slack) const {
  const int64_t inserted = slack + 1 + std::max<int64_t>(0, surplus_), deleted = slack + 1 + std::max<int64_t>(0, -surplus_);
  const int64_t pairs = std::min(query_->max_sum(deleted), target_->max_sum(inserted));
  return pairs - 2 * open_extra_ - extend_ * (inserted + deleted);
}

int64_t BandBound::sufficient_slack(int64_t low, int64_t score) const {
  int64_t slack = sufficient_;  // the result is above `low` and at most `slack`
  while (slack - low > 1) {
    const int64_t middle = low + (slack - low) / 2;
    (proven(middle, score) ? slack : low) = middle;
  }
  return slack;
}

int64_t BandBound::expected_score(int64_t edits) const {
  const int64_t best = std::min(query_->sum, target_->sum), gap = std::abs(surplus_);
  double unequal = 0, pairs = 0;  // sum of the scores of random pairs of unequal letters, and their number
  for (const auto& q : query_->amounts)
    for (const auto& t : target_->amounts) {
      if (q.code == t.code) continue;
      const auto number = static_cast<double>(q.letters * t.letters);
      unequal += number * static_cast<double>(table_[q.code * kLetters + t.code]);
      pairs += number;
    }
  const double letters = static_cast<double>(sufficient_), cost = static_cast<double>(best) / letters - (pairs > 0 ? unequal / pairs : 0);
  return best - static_cast<int64_t>(cost * static_cast<double>(edits)) - (gap ? open_extra_ + extend_ * gap : 0);
}

const LetterCounts& ListedLetters::query(int64_t record) {
  const auto found = query_counts_.find(record);
  if (found != query_counts_.end()) return found->second;
  return query_counts_.emplace(record, bound_.count_query(queries_.record(record))).first->second;
}

const LetterCounts& ListedLetters::target(int64_t record) {
  const auto found = target_counts_.find(record);
  if (found != target_counts_.end()) return found->second;
  return target_counts_.emplace(record, bound_.count_target(targets_.record(record))).first->second;
}

}  // namespace gpualign
