// gpualign.core._placing: values of bands in whole matrices.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "placing.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

using Matrix = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Array>
Elements elements_of(const Array& array) {
  // Values are only read: the struct serves both.
  return {static_cast<uint8_t*>(const_cast<void*>(static_cast<const void*>(array.data()))), array.shape(0), array.shape(1),
          array.itemsize()};
}

void copy(const Matrix& out, const Values& values, size_t row, size_t column, int threads) {
  if (out.dtype() != values.dtype()) throw nb::value_error("the elements are not of one type");
  const size_t rows = out.shape(0), columns = out.shape(1);
  if (row > rows || values.shape(0) > rows - row || column > columns || values.shape(1) > columns - column)
    throw nb::value_error("the values do not fit in the matrix");
  nb::gil_scoped_release unlocked;
  copy_rows(elements_of(out), elements_of(values), row, column, threads);
}

void mirror(const Matrix& out, size_t first, size_t stop, int threads) {
  if (out.shape(0) != out.shape(1)) throw nb::value_error("the matrix is not square");
  if (first > stop || stop > out.shape(0)) throw nb::value_error("there are no such rows");
  const size_t size = out.itemsize();
  if (size != 1 && size != 2 && size != 4 && size != 8) throw nb::value_error("elements are of 1, 2, 4 or 8 bytes");
  nb::gil_scoped_release unlocked;
  mirror_rows(elements_of(out), first, stop, threads);
}

}  // namespace

NB_MODULE(_placing, m) {
  m.doc() = "Values of bands in whole matrices, by several threads.";
  m.def("copy_rows", &copy, nb::arg("out"), nb::arg("values"), nb::arg("row"), nb::arg("column"), nb::arg("threads"),
        nb::sig("def copy_rows(out: numpy.typing.NDArray[typing.Any], values: numpy.typing.NDArray[typing.Any], row: int, column: int, "
                "threads: int) -> None"),
        "Copy `values` into `out`, of the same dtype, from element [row][column] on.");
  m.def("mirror_rows", &mirror, nb::arg("out"), nb::arg("first"), nb::arg("stop"), nb::arg("threads"),
        nb::sig("def mirror_rows(out: numpy.typing.NDArray[typing.Any], first: int, stop: int, threads: int) -> None"),
        "Make element [i][j] of a square matrix, where j < i, what [j][i] is, in rows first .. stop - 1. Elements of 1, 2, 4 or 8 bytes.");
}
