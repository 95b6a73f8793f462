// gpualign.gpu.alignment._schedule: the order in which the blocks of a device take the strips of the items of a batch
// (gpu/alignment/strip_schedule.py).
//
// A batch of a search has a million strips, and no kernel starts before they are ordered; hence C++ and a linear-time sort.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "core/common/src/owned_array.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

using Numbers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Start times are rounded to numbers below this for sorting. Ties keep the order of items, and of strips within an item.
constexpr int64_t kLevels = 1 << 16;

// The start time of an item, and its carry buffer.
struct Assigned {
  int64_t start;
  int32_t slot;
};

// Assigns items by greedy list scheduling: each item in turn goes to the lane that is free first, on ties the lowest. A lane alternates
// between two buffers.
std::vector<Assigned> assign(const int64_t* strips, const int64_t* columns, size_t count, int32_t lanes) {
  std::vector<Assigned> items(count);
  bool equal = true;  // all items are equal, as for batches of short reads: then lanes take turns
  for (size_t k = 1; k < count && equal; k++) equal = strips[k] * columns[k] == strips[0] * columns[0];
  for (size_t k = 0; equal && k < count; k++) {
    const int64_t round = static_cast<int64_t>(k) / lanes, lane = static_cast<int64_t>(k) % lanes;
    items[k] = {round * strips[0] * columns[0], static_cast<int32_t>(2 * lane + (round & 1))};
  }
  if (equal) return items;

  using Free = std::pair<int64_t, int32_t>;  // (time from which it is free, lane)
  std::priority_queue<Free, std::vector<Free>, std::greater<Free>> free;
  for (int32_t lane = 0; lane < lanes; lane++) free.emplace(0, lane);
  std::vector<int32_t> taken(static_cast<size_t>(lanes), 0);
  for (size_t k = 0; k < count; k++) {
    const auto [start, lane] = free.top();
    free.pop();
    free.emplace(start + strips[k] * columns[k], lane);
    items[k] = {start, 2 * lane + (taken[static_cast<size_t>(lane)]++ & 1)};
  }
  return items;
}

// Returns the fields of gpualign.gpu.alignment.strip_schedule.Schedule, without the number of slots. strips, columns: int64[items], strips
// >= 1.
nb::object make_schedule(Numbers strips_of, Numbers columns_of, int32_t lanes) {
  const size_t count = strips_of.shape(0);
  if (columns_of.shape(0) != count || lanes < 1) throw nb::value_error("items with strips and columns, and a lane, are needed");
  const int64_t *const strips = strips_of.data(), *const columns = columns_of.data();
  size_t total = 0;
  for (size_t k = 0; k < count; k++) {
    if (strips[k] < 1 || columns[k] < 0) throw nb::value_error("an item has a strip at least, and no fewer columns than none");
    total += static_cast<size_t>(strips[k]);
  }
  std::vector<int32_t> units(2 * total), slots(count), before(count);
  {
    nb::gil_scoped_release unlocked;
    const std::vector<Assigned> items = assign(strips, columns, count, lanes);
    std::vector<int32_t> last(2 * static_cast<size_t>(lanes), -1);
    int64_t latest = 1;
    for (size_t k = 0; k < count; k++) {
      slots[k] = items[k].slot;
      before[k] = std::exchange(last[static_cast<size_t>(items[k].slot)], static_cast<int32_t>(k));
      latest = std::max(latest, items[k].start + (strips[k] - 1) * columns[k]);
    }
    // Rounded down, so no strip of an item precedes the one above it.
    const double scale = std::min(1.0, static_cast<double>(kLevels - 1) / static_cast<double>(latest));
    std::vector<uint16_t> levels(total);
    std::vector<size_t> next(kLevels + 1, 0);  // [level] position of its next unit
    size_t unit = 0;
    for (size_t k = 0; k < count; k++) {
      for (int64_t strip = 0; strip < strips[k]; strip++, unit++) {
        levels[unit] = static_cast<uint16_t>(static_cast<double>(items[k].start + strip * columns[k]) * scale);
        next[levels[unit] + 1u]++;
      }
    }
    for (size_t level = 0; level < kLevels; level++) next[level + 1] += next[level];
    unit = 0;
    for (size_t k = 0; k < count; k++) {
      for (int64_t strip = 0; strip < strips[k]; strip++, unit++) {
        const size_t at = 2 * next[levels[unit]]++;
        units[at] = static_cast<int32_t>(k);
        units[at + 1] = static_cast<int32_t>(strip);
      }
    }
  }
  return nb::make_tuple(owned_array(std::move(units), {total, 2}), owned_array(std::move(slots), {count}),
                        owned_array(std::move(before), {count}));
}

}  // namespace

NB_MODULE(_schedule, m) {
  m.doc() = "The order in which the blocks of a device take the strips of the items of a batch.";
  m.def("make_schedule", &make_schedule, nb::arg("strips"), nb::arg("columns"), nb::arg("lanes"),
        "Return units int32[units][2] (item, strip), slots int32[items] and before int32[items]: see "
        "gpualign.gpu.alignment.strip_schedule.Schedule.");
}
