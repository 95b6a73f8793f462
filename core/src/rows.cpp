// gpualign.core._rows: results as text rows, many millions a second.
//
// A block is a rectangle of the pair matrix: queries first_query .. first_query + rows, every target from first_target[r] on.
// A column of the table takes its cell from the query, from the target or from the pair.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace {

using Text = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pairs32 = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Pairs64 = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Keep = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

enum class Axis { kQuery, kTarget, kPair };

struct Column {
  Axis axis;
  // Exactly one of these holds the values: text records, or integers.
  std::optional<Text> text;
  std::optional<Numbers> numbers;  // with text: offsets of the records
  std::optional<Pairs32> pairs32;
  std::optional<Pairs64> pairs64;

  size_t width(size_t i) const { return text ? static_cast<size_t>((*numbers)(i + 1) - (*numbers)(i)) : 20; }
  size_t size() const { return text ? numbers->shape(0) - 1 : numbers->shape(0); }
};

char* put_number(char* out, int64_t value) { return std::to_chars(out, out + 24, value).ptr; }

char* put_indexed(char* out, const Column& c, size_t i) {
  if (!c.text) return put_number(out, (*c.numbers)(i));
  const size_t width = c.width(i);
  std::memcpy(out, c.text->data() + (*c.numbers)(i), width);
  return out + width;
}

nb::bytes format_block(const std::vector<Column>& columns, size_t first_query, size_t rows, size_t targets, const std::vector<size_t>& first_target,
                       const std::optional<Keep>& keep, char separator) {
  if (first_target.size() != rows) throw nb::value_error("one first target a row is needed");
  if (keep && (keep->shape(0) != rows || keep->shape(1) != targets)) throw nb::value_error("keep does not fit the block");
  size_t query_width = 0, target_width = 0;  // the most that one row can need
  for (const Column& c : columns) {
    if (c.axis == Axis::kPair) {
      const size_t r = c.pairs32 ? c.pairs32->shape(0) : c.pairs64->shape(0), t = c.pairs32 ? c.pairs32->shape(1) : c.pairs64->shape(1);
      if (r != rows || t != targets) throw nb::value_error("a column of pairs does not fit the block");
      target_width += 20;
      continue;
    }
    const bool query = c.axis == Axis::kQuery;
    const size_t first = query ? first_query : 0, last = query ? first_query + rows : targets;
    if (last > c.size()) throw nb::value_error("a column is shorter than the block");
    size_t widest = 0;
    for (size_t i = first; i < last; i++) widest = std::max(widest, c.width(i));
    (query ? query_width : target_width) += widest;
  }
  const size_t row_width = query_width + target_width + columns.size();

  std::string out;
  {
    nb::gil_scoped_release unlocked;
    for (size_t r = 0; r < rows; r++) {
      size_t count = targets > first_target[r] ? targets - first_target[r] : 0;
      if (keep) {
        count = 0;
        for (size_t t = first_target[r]; t < targets; t++) count += (*keep)(r, t);
      }
      const size_t start = out.size();
      out.resize(start + count * row_width);
      char* p = out.data() + start;
      for (size_t t = first_target[r]; t < targets; t++) {
        if (keep && !(*keep)(r, t)) continue;
        for (const Column& c : columns) {
          switch (c.axis) {
            case Axis::kQuery: p = put_indexed(p, c, first_query + r); break;
            case Axis::kTarget: p = put_indexed(p, c, t); break;
            case Axis::kPair: p = put_number(p, c.pairs32 ? (*c.pairs32)(r, t) : (*c.pairs64)(r, t)); break;
          }
          *p++ = separator;
        }
        p[-1] = '\n';
      }
      out.resize(static_cast<size_t>(p - out.data()));
    }
  }
  return nb::bytes(out.data(), out.size());
}

template <class Pairs>
nb::bytes format_matrix_rows(Text names, Numbers offsets, Pairs values) {
  const size_t rows = values.shape(0), columns = values.shape(1);
  if (offsets.shape(0) != rows + 1) throw nb::value_error("one name a row is needed");
  std::string out;
  {
    nb::gil_scoped_release unlocked;
    for (size_t r = 0; r < rows; r++) {
      const size_t start = out.size(), width = static_cast<size_t>(offsets(r + 1) - offsets(r));
      out.resize(start + width + columns * 21 + 1);
      char* p = out.data() + start;
      std::memcpy(p, names.data() + offsets(r), width);
      p += width;
      for (size_t c = 0; c < columns; c++) {
        *p++ = '\t';
        p = put_number(p, values(r, c));
      }
      *p++ = '\n';
      out.resize(static_cast<size_t>(p - out.data()));
    }
  }
  return nb::bytes(out.data(), out.size());
}

}  // namespace

NB_MODULE(_rows, m) {
  m.doc() = "Formats blocks of results as rows of text.";
  nb::class_<Column>(m, "Column", "Where a column of the table takes its cells from.")
      .def_static("query_text", [](Text text, Numbers offsets) { return Column{Axis::kQuery, text, offsets, {}, {}}; })
      .def_static("target_text", [](Text text, Numbers offsets) { return Column{Axis::kTarget, text, offsets, {}, {}}; })
      .def_static("query_numbers", [](Numbers values) { return Column{Axis::kQuery, {}, values, {}, {}}; })
      .def_static("target_numbers", [](Numbers values) { return Column{Axis::kTarget, {}, values, {}, {}}; })
      .def_static("pair_numbers", [](Pairs32 values) { return Column{Axis::kPair, {}, {}, values, {}}; })
      .def_static("pair_numbers", [](Pairs64 values) { return Column{Axis::kPair, {}, {}, {}, values}; });
  m.def("format_block", &format_block, nb::arg("columns"), nb::arg("first_query"), nb::arg("rows"), nb::arg("targets"), nb::arg("first_target"),
        nb::arg("keep").none(), nb::arg("separator") = '\t', "The rows of one block as bytes.");
  m.def("format_matrix_rows", &format_matrix_rows<Pairs32>, "Rows of a matrix: a name, then its values, tab-separated.");
  m.def("format_matrix_rows", &format_matrix_rows<Pairs64>);
}
