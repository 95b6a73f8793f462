// A stand-alone check of near pairs against plain loops, every variant of the build; see check_kernels.cpp for why it stands alone.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

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

}  // namespace

int main() {
  for (const auto& variant : variants<NearKernels>()) {
    if (!variant.supported) continue;
    const NearKernels& kernels = *variant.kernels;
    check(kernels, 150, 40, 4, 2, 64, {0, 3, 1000});
    check(kernels, 40, 300, 4, 0, 0, {5, 16, 17, 48, 49, 120, 1000});
    check(kernels, 40, 150, 15, 5, 512, {5, 16, 48, 60});
    check(kernels, 40, 150, 32, 3, 4096, {5, 20, 60});
    std::printf("%s: checked\n", kernels.name);
  }
  std::printf("%d failures\n", failures);
  return failures != 0;
}
