// gpualign.core._places: results of tiles at their places in a band.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <type_traits>

namespace nb = nanobind;

namespace {

using Band = nb::ndarray<uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Tile = nb::ndarray<const uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// item: bytes of a value, a constant of the type where that is known, so that a copy is a move or two.
template <class Size>
void put_rows(uint8_t* band, size_t stride, const uint8_t* values, size_t rows, const Columns& columns, Size item) {
  const size_t count = columns.shape(0);
  const int64_t* const place = columns.data();
  for (size_t r = 0; r < rows; r++, band += stride)
    for (size_t c = 0; c < count; c++, values += item) std::memcpy(band + static_cast<size_t>(place[c]) * item, values, item);
}

template <size_t kBytes>
using Bytes = std::integral_constant<size_t, kBytes>;

void put_columns(Band band, size_t first_row, Columns columns, Tile values) {
  const size_t rows = values.shape(0), item = values.shape(2);
  if (values.shape(1) != columns.shape(0) || item != band.shape(2)) throw nb::value_error("values do not fit the columns");
  if (first_row > band.shape(0) || rows > band.shape(0) - first_row) throw nb::index_error("there are no such rows");
  for (size_t c = 0; c < columns.shape(0); c++)
    if (columns(c) < 0 || static_cast<size_t>(columns(c)) >= band.shape(1)) throw nb::index_error("there is no such column");
  const size_t stride = band.shape(1) * item;
  nb::gil_scoped_release unlocked;
  uint8_t* const first = band.data() + first_row * stride;
  switch (item) {
    case 4: return put_rows(first, stride, values.data(), rows, columns, Bytes<4>());
    case 8: return put_rows(first, stride, values.data(), rows, columns, Bytes<8>());
    case 36: return put_rows(first, stride, values.data(), rows, columns, Bytes<36>());
    default: return put_rows(first, stride, values.data(), rows, columns, item);
  }
}

}  // namespace

NB_MODULE(_places, m) {
  m.doc() = "Puts results of tiles at their places in a band.";
  m.def("put_columns", &put_columns, nb::arg("band"), nb::arg("first_row"), nb::arg("columns"), nb::arg("values"),
        "band[first_row + r, columns[c]] = values[r, c] for all r and c; the last axis is the bytes of a value.");
}
