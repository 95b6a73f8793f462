// A stand-alone check of near pairs against plain loops, every variant of the build; see check_kernels.cpp for why it stands alone.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "cpu/near_pairs/src/column_distances.hpp"
#include "cpu/near_pairs/src/near_bound.hpp"
#include "cpu/near_pairs/src/near_records.hpp"
#include "cpu/near_pairs/src/near_tile.hpp"
#include "cpu/near_pairs/src/near_verify.hpp"
#include "cpu/src/dispatch.hpp"

using namespace gpualign;

namespace {

std::mt19937_64 random_engine(2468);
int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_engine); }
int failures = 0;

using Codes = std::vector<uint8_t>;

// From the row of distances above to the next one, without the sanitizers, under which this would take most of the time.
__attribute__((no_sanitize("address", "undefined"))) void next_row(uint8_t letter, const uint8_t* target, size_t columns, int64_t* row) {
  int64_t corner = row[0]++;
  for (size_t j = 1; j <= columns; j++) {
    const int64_t above = row[j], gap = (above < row[j - 1] ? above : row[j - 1]) + 1, pair = corner + (letter != target[j - 1]);
    row[j] = gap < pair ? gap : pair;
    corner = above;
  }
}

int64_t distance(const Codes& a, const Codes& b) {
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (const uint8_t letter : a) next_row(letter, b.data(), b.size(), row.data());
  return row.back();
}

// Records in ascending order of length, some of them near each other, in arrays with nothing behind their ends.
struct Set {
  std::vector<Codes> records;
  Codes codes;
  std::vector<int64_t> offsets{0};

  Set(int64_t count, int64_t longest, int letters) {
    Codes parent;
    for (int64_t i = 0; i < count; i++) {
      if (i % 6 == 0) {
        parent.resize(static_cast<size_t>(pick(0, longest)));
        for (auto& c : parent) c = static_cast<uint8_t>(pick(0, letters - 1));
      }
      Codes record = parent;
      for (int64_t k = pick(0, 9); k > 0 && !record.empty(); k--) {
        const auto at = record.begin() + pick(0, static_cast<int64_t>(record.size()) - 1);
        if (k % 3)
          *at = static_cast<uint8_t>(pick(0, letters - 1));
        else if (k % 2)
          record.erase(at);
        else
          record.insert(at, 0);
      }
      records.push_back(record);
    }
    std::stable_sort(records.begin(), records.end(), [](const Codes& a, const Codes& b) { return a.size() < b.size(); });
    for (const auto& record : records) {
      codes.insert(codes.end(), record.begin(), record.end());
      offsets.push_back(static_cast<int64_t>(codes.size()));
    }
    codes.shrink_to_fit();
  }

  int64_t count() const { return static_cast<int64_t>(records.size()); }
};

void check(const NearKernels& kernels, int64_t count, int64_t longest, int letters, int q, int bits, const std::vector<int64_t>& limits) {
  const Set set(count, longest, letters);
  Records records(set.codes.data(), static_cast<int64_t>(set.codes.size()), set.offsets.data(), set.count(), letters, q, bits);
  records.build(0, count / 2);
  records.build(count / 2, count);
  std::vector<int64_t> ids(static_cast<size_t>(count)), firsts(ids.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::iota(firsts.begin(), firsts.end(), 1);
  std::vector<std::vector<int64_t>> truth;
  for (const auto& a : set.records) {
    truth.emplace_back();
    for (const auto& b : set.records) truth.back().push_back(distance(a, b));
  }
  const Cancel cancel;
  for (const int64_t limit : limits) {
    const Bound bound(0, 0, static_cast<double>(limit), 0, 0, false, 0, {0, 0, 0});
    NearTileResult found;
    const NearTile tile{ids.data(), firsts.data(), count, ids.data(), count, q % 2 == 0, count * count};
    bool equal = near_tile(kernels, records, records, tile, bound, cancel, found);
    size_t next = 0;
    for (int64_t i = 0; i < count; i++)
      for (int64_t j = i + 1; j < count; j++) {
        const int64_t d = truth[static_cast<size_t>(i)][static_cast<size_t>(j)];
        if (d > limit) continue;
        equal = equal && next < found.queries.size() && found.queries[next] == i && found.targets[next] == j && found.distances[next] == d;
        next++;
      }
    if (equal && next == found.queries.size()) continue;
    failures++;
    std::printf("FAILED %d letters, q = %d, limit %d on %s\n", letters, q, static_cast<int>(limit), kernels.name);
  }
}

// Distances along columns, letter by letter.
int64_t column_distance(const Codes& a, const Codes& b, const ColumnDistance& of) {
  const int64_t m = static_cast<int64_t>(a.size()), n = static_cast<int64_t>(b.size()), shorter = std::min(m, n);
  const int64_t gap = m == n ? m : std::min<int64_t>(6, 3 + (shorter + 1) / 2 - 3);  // floor((s - 5) / 2) = (s + 1) / 2 - 3
  const auto cost = [&](int64_t i, int64_t j) { return of.costs[32 * a[static_cast<size_t>(i)] + b[static_cast<size_t>(j)]]; };
  int64_t sum = 0;
  for (int64_t i = of.trim_start; i < gap - (m == n ? of.trim_end : 0); i++) sum += cost(i, i);
  for (int64_t i = of.trim_end; i < shorter - gap; i++) sum += cost(m - 1 - i, n - 1 - i);
  return of.weight * sum + of.gap(std::abs(m - n));
}

// with_labels: whether records have one of five labels, which have distances.
void check_columns(const NearKernels& kernels, int64_t count, int64_t longest, int letters, bool with_labels,
                   const std::vector<int64_t>& limits) {
  const Set set(count, longest, letters);
  std::vector<int64_t> ids(static_cast<size_t>(count)), firsts(ids.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<int32_t> labels(ids.size()), label_distances(25);
  for (auto& label : labels) label = with_labels ? static_cast<int32_t>(pick(0, 4)) : 0;
  for (size_t k = 0; k < 25; k++)
    label_distances[k] = with_labels ? static_cast<int32_t>(7 * (k / 5 > k % 5 ? k / 5 - k % 5 : k % 5 - k / 5)) : 0;
  const auto letters_of = [&](int64_t i) {
    Codes sorted;
    for (const int32_t at : comparison_order(static_cast<int32_t>(set.records[static_cast<size_t>(i)].size())))
      sorted.push_back(set.records[static_cast<size_t>(i)][static_cast<size_t>(at)]);
    return sorted;
  };
  std::vector<int64_t> order = ids;
  std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const size_t m = set.records[static_cast<size_t>(i)].size(), n = set.records[static_cast<size_t>(j)].size();
    const int32_t one = labels[static_cast<size_t>(i)], other = labels[static_cast<size_t>(j)];
    return m != n ? m < n : one != other ? one < other : letters_of(i) < letters_of(j);
  });
  std::iota(firsts.begin(), firsts.end(), 1);
  std::vector<uint8_t> costs(32 * 32);
  for (size_t a = 0; a < 32; a++)
    for (size_t b = 0; b < 32; b++) costs[32 * a + b] = static_cast<uint8_t>(a == b ? 0 : 1 + (a + b) % 4);
  const ColumnDistance distance{costs.data(), 4, 3, 12, 12, 3, 2, false};
  const Sequences sequences{set.codes.data(), set.offsets.data()};
  const Cancel cancel;
  ColumnTargets targets(sequences, order.data(), count, with_labels ? labels.data() : nullptr);
  for (int64_t panel = 0; panel < targets.panel_count(); panel++) targets.fill(panel);
  for (const int64_t limit : limits) {
    NearTileResult found;
    const ColumnTile tile{sequences,
                          ids.data(),
                          firsts.data(),
                          count,
                          targets,
                          with_labels ? labels.data() : nullptr,
                          with_labels ? label_distances.data() : nullptr,
                          5,
                          limit,
                          count * count};
    bool equal = column_pairs(kernels, tile, distance, cancel, found);
    std::vector<std::vector<int64_t>> pairs, truth;
    for (size_t k = 0; k < found.queries.size(); k++) pairs.push_back({found.queries[k], found.targets[k], found.distances[k]});
    std::sort(pairs.begin(), pairs.end());
    for (int64_t i = 0; i < count; i++)
      for (int64_t j = i + 1; j < count; j++) {
        const int64_t d = column_distance(set.records[static_cast<size_t>(i)], set.records[static_cast<size_t>(j)], distance) +
                          label_distances[static_cast<size_t>(5 * labels[static_cast<size_t>(i)] + labels[static_cast<size_t>(j)])];
        if (d <= limit) truth.push_back({i, j, d});
      }
    if (equal && pairs == truth) continue;
    failures++;
    std::printf("FAILED columns of %d letters, limit %d on %s\n", letters, static_cast<int>(limit), kernels.name);
  }
}

}  // namespace

int main() {
  for (const auto& variant : variants<NearKernels>()) {
    if (!variant.supported) continue;
    const NearKernels& kernels = *variant.kernels;
    check(kernels, 150, 40, 4, 2, 64, {0, 3, 1000});
    check(kernels, 40, 300, 4, 0, 0, {5, 16, 17, 48, 49, 120, 1000});
    check(kernels, 40, 150, 15, 5, 512, {5, 16, 48, 60});
    check(kernels, 40, 150, 32, 3, 4096, {5, 20, 60});
    check_columns(kernels, 300, 16, 4, false, {0, 9, 30, 600});
    check_columns(kernels, 600, 12, 4, true, {0, 9, 30, 600});
    check_columns(kernels, 100, 130, 32, true, {15, 300, 600});
    std::printf("%s: checked\n", kernels.name);
  }
  std::printf("%d failures\n", failures);
  return failures != 0;
}
