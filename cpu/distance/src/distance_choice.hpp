// Selection of pairs of a tile by their counts: see core/distance/pair_selection.py.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include "core/common/src/owned_array.hpp"

namespace gpualign {

using TileCounts = nanobind::ndarray<const int32_t, nanobind::ndim<3>, nanobind::c_contig, nanobind::device::cpu>;
using LongNumbers = nanobind::ndarray<const int64_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Indices = nanobind::ndarray<nanobind::numpy, int32_t, nanobind::ndim<1>>;
using ChosenCounts = nanobind::ndarray<nanobind::numpy, int32_t, nanobind::ndim<2>>;

// Returns rows, columns and counts of the selected pairs, and the number of pairs with fewer than min_count: see `choose` of the module.
inline std::tuple<Indices, Indices, ChosenCounts, int64_t> choose(TileCounts counts, LongNumbers weights, LongNumbers row_offsets,
                                                                  LongNumbers column_offsets, int64_t max_sum, int min_kind,
                                                                  int32_t min_count, int64_t diagonal) {
  const int64_t kinds = static_cast<int64_t>(counts.shape(0)), rows = static_cast<int64_t>(counts.shape(1)),
                columns = static_cast<int64_t>(counts.shape(2));
  if (static_cast<int64_t>(weights.shape(0)) != kinds || static_cast<int64_t>(row_offsets.shape(0)) != rows ||
      static_cast<int64_t>(column_offsets.shape(0)) != columns || min_kind >= kinds)
    throw nanobind::value_error("the shapes do not fit");
  std::vector<int32_t> chosen_rows, chosen_columns, chosen;
  int64_t too_few = 0;
  {
    nanobind::gil_scoped_release unlocked;
    const int64_t pairs = rows * columns;
    const int32_t* const of = counts.data();
    std::vector<int64_t> sums(static_cast<size_t>(columns));
    for (int64_t r = 0; r < rows; r++) {
      const int64_t first = r + diagonal + 1 > 0 ? r + diagonal + 1 : 0;
      for (int64_t c = first; c < columns; c++) sums[static_cast<size_t>(c)] = row_offsets(r) + column_offsets(c);
      for (int64_t k = 0; k < kinds; k++) {
        const int32_t* const row = of + k * pairs + r * columns;
        for (int64_t c = first; c < columns; c++) sums[static_cast<size_t>(c)] += weights(k) * row[c];
      }
      const int32_t* const compared = min_kind < 0 ? nullptr : of + min_kind * pairs + r * columns;
      for (int64_t c = first; c < columns; c++) {
        if (compared && compared[c] < min_count) {
          too_few++;
        } else if (sums[static_cast<size_t>(c)] <= max_sum) {
          chosen_rows.push_back(static_cast<int32_t>(r));
          chosen_columns.push_back(static_cast<int32_t>(c));
        }
      }
    }
    chosen.resize(static_cast<size_t>(kinds) * chosen_rows.size());
    size_t next = 0;
    for (int64_t k = 0; k < kinds; k++)
      for (size_t p = 0; p < chosen_rows.size(); p++) chosen[next++] = of[k * pairs + chosen_rows[p] * columns + chosen_columns[p]];
  }
  const size_t pair_count = chosen_rows.size();
  return {owned_array<nanobind::ndim<1>>(std::move(chosen_rows), {pair_count}),
          owned_array<nanobind::ndim<1>>(std::move(chosen_columns), {pair_count}),
          owned_array<nanobind::ndim<2>>(std::move(chosen), {static_cast<size_t>(kinds), pair_count}), too_few};
}

}  // namespace gpualign
