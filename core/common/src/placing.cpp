// gpualign.core.common._placing: Python bindings that write results of tiles into bands, and values of bands into whole matrices.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <type_traits>

#include "placing.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

// ---- matrices
using Matrix = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Array>
Elements elements_of(const Array& array) {
  // Values are only read; the struct is used for both.
  return {static_cast<uint8_t*>(const_cast<void*>(static_cast<const void*>(array.data()))), array.shape(0), array.shape(1),
          array.itemsize()};
}

using Place = void (*)(const Elements&, const Elements&, size_t, size_t, int);

// Returns the function that copies values of one type to another, which must hold them all.
Place place_as(nb::dlpack::dtype to, nb::dlpack::dtype from) {
  if (to == from) return copy_rows;
  if (to == nb::dtype<int32_t>()) {
    if (from == nb::dtype<uint8_t>()) return widen_rows<int32_t, uint8_t>;
    if (from == nb::dtype<int16_t>()) return widen_rows<int32_t, int16_t>;
  }
  throw nb::value_error("the elements are neither of one type, nor small integers among int32");
}

void copy(const Matrix& out, const Values& values, size_t row, size_t column, int threads) {
  const Place place = place_as(out.dtype(), values.dtype());
  const size_t rows = out.shape(0), columns = out.shape(1);
  if (row > rows || values.shape(0) > rows - row || column > columns || values.shape(1) > columns - column)
    throw nb::value_error("the values do not fit in the matrix");
  nb::gil_scoped_release unlocked;
  place(elements_of(out), elements_of(values), row, column, threads);
}

void mirror(const Matrix& out, size_t first, size_t stop, int threads) {
  if (out.shape(0) != out.shape(1)) throw nb::value_error("the matrix is not square");
  if (first > stop || stop > out.shape(0)) throw nb::value_error("there are no such rows");
  const size_t size = out.itemsize();
  if (size != 1 && size != 2 && size != 4 && size != 8) throw nb::value_error("elements are of 1, 2, 4 or 8 bytes");
  nb::gil_scoped_release unlocked;
  mirror_rows(elements_of(out), first, stop, threads);
}

// ---- bands
using Band = nb::ndarray<uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Tile = nb::ndarray<const uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// item: bytes of a value, as a compile-time constant if it is known, so that a copy takes one or two instructions.
template <class Size>
void put_rows(uint8_t* band, size_t stride, const uint8_t* values, size_t rows, const Columns& columns, Size item) {
  const size_t count = columns.shape(0);
  const int64_t* const place = columns.data();
  for (size_t r = 0; r < rows; r++, band += stride)
    for (size_t c = 0; c < count; c++, values += item) std::memcpy(band + static_cast<size_t>(place[c]) * item, values, item);
}

template <size_t kBytes>
using Bytes = std::integral_constant<size_t, kBytes>;

void put_columns(Band band, size_t first_row, Columns columns, Tile values, int threads) {
  const size_t rows = values.shape(0), item = values.shape(2);
  if (values.shape(1) != columns.shape(0) || item != band.shape(2)) throw nb::value_error("values do not fit the columns");
  if (first_row > band.shape(0) || rows > band.shape(0) - first_row) throw nb::index_error("there are no such rows");
  for (size_t c = 0; c < columns.shape(0); c++)
    if (columns(c) < 0 || static_cast<size_t>(columns(c)) >= band.shape(1)) throw nb::index_error("there is no such column");
  const size_t stride = band.shape(1) * item, bytes = values.shape(1) * item;
  nb::gil_scoped_release unlocked;
  uint8_t* const first = band.data() + first_row * stride;
  const size_t together = std::max<size_t>(1, kBytesPerThread / std::max<size_t>(1, bytes)), parts = (rows + together - 1) / together;
  share(parts, threads_for(rows * bytes, threads), [&](size_t part) {
    const size_t row = part * together, count = std::min(together, rows - row);
    uint8_t* const to = first + row * stride;
    const uint8_t* const from = values.data() + row * bytes;
    switch (item) {
      case 4: return put_rows(to, stride, from, count, columns, Bytes<4>());
      case 8: return put_rows(to, stride, from, count, columns, Bytes<8>());
      case 36: return put_rows(to, stride, from, count, columns, Bytes<36>());
      default: return put_rows(to, stride, from, count, columns, item);
    }
  });
}

}  // namespace

NB_MODULE(_placing, m) {
  m.doc() = "Writes results of tiles into bands, and values of bands into whole matrices.";
  m.def("copy_rows", &copy, nb::arg("out").noconvert(), nb::arg("values"), nb::arg("row"), nb::arg("column"), nb::arg("threads"),
        nb::sig("def copy_rows(out: numpy.typing.NDArray[typing.Any], values: numpy.typing.NDArray[typing.Any], row: int, column: int, "
                "threads: int) -> None"),
        "Copy `values` to `out` from element [row][column] on. Both have the same dtype, or values are uint8 or int16 and out "
        "is int32.");
  m.def("mirror_rows", &mirror, nb::arg("out").noconvert(), nb::arg("first"), nb::arg("stop"), nb::arg("threads"),
        nb::sig("def mirror_rows(out: numpy.typing.NDArray[typing.Any], first: int, stop: int, threads: int) -> None"),
        "Copy element [j][i] of a square matrix to [i][j] for all j < i, in the rows first .. stop - 1. Elements have 1, 2, 4 "
        "or 8 bytes.");
  m.def("put_columns", &put_columns, nb::arg("band").noconvert(), nb::arg("first_row"), nb::arg("columns"), nb::arg("values"),
        nb::arg("threads"), "Set band[first_row + r, columns[c]] = values[r, c] for all r and c; the last axis is the bytes of a value.");
}
