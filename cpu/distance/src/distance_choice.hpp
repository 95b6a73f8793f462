// Of the counts of a tile those of the pairs that are wanted: see core/distance/pair_selection.py.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <tuple>
#include <vector>

namespace gpualign {

template <class T, class Shape>
using ChosenArray = nanobind::ndarray<nanobind::numpy, T, Shape>;

// Hands the elements over to an array of Python's.
template <class T, class Shape>
ChosenArray<T, Shape> as_array(std::vector<T>&& elements, std::initializer_list<size_t> shape) {
  auto* kept = new std::vector<T>(std::move(elements));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return ChosenArray<T, Shape>(kept->data(), shape, owner);
}

using TileCounts = nanobind::ndarray<const int32_t, nanobind::ndim<3>, nanobind::c_contig, nanobind::device::cpu>;
using LongNumbers = nanobind::ndarray<const int64_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Places = ChosenArray<int32_t, nanobind::ndim<1>>;
using ChosenCounts = ChosenArray<int32_t, nanobind::ndim<2>>;

inline std::tuple<Places, Places, ChosenCounts, int64_t> choose(TileCounts counts, LongNumbers weights, LongNumbers row_offsets,
                                                                LongNumbers column_offsets, int64_t most, int least_of, int32_t least,
                                                                int64_t diagonal) {
  const int64_t kinds = static_cast<int64_t>(counts.shape(0)), rows = static_cast<int64_t>(counts.shape(1)),
                columns = static_cast<int64_t>(counts.shape(2));
  if (static_cast<int64_t>(weights.shape(0)) != kinds || static_cast<int64_t>(row_offsets.shape(0)) != rows ||
      static_cast<int64_t>(column_offsets.shape(0)) != columns || least_of >= kinds)
    throw nanobind::value_error("the shapes do not fit");
  std::vector<int32_t> chosen_rows, chosen_columns, chosen;
  int64_t lacking = 0;
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
      const int32_t* const compared = least_of < 0 ? nullptr : of + least_of * pairs + r * columns;
      for (int64_t c = first; c < columns; c++) {
        if (compared && compared[c] < least) {
          lacking++;
        } else if (sums[static_cast<size_t>(c)] <= most) {
          chosen_rows.push_back(static_cast<int32_t>(r));
          chosen_columns.push_back(static_cast<int32_t>(c));
        }
      }
    }
    chosen.resize(static_cast<size_t>(kinds) * chosen_rows.size());
    size_t place = 0;
    for (int64_t k = 0; k < kinds; k++)
      for (size_t p = 0; p < chosen_rows.size(); p++) chosen[place++] = of[k * pairs + chosen_rows[p] * columns + chosen_columns[p]];
  }
  const size_t found = chosen_rows.size();
  return {as_array<int32_t, nanobind::ndim<1>>(std::move(chosen_rows), {found}),
          as_array<int32_t, nanobind::ndim<1>>(std::move(chosen_columns), {found}),
          as_array<int32_t, nanobind::ndim<2>>(std::move(chosen), {static_cast<size_t>(kinds), found}), lacking};
}

}  // namespace gpualign
