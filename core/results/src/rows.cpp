// gpualign.core.results._rows: Python bindings that format results as rows of text, many millions per second.
//
// A block is a rectangle of the pair matrix: queries first_query .. first_query + rows - 1, with the targets from first_target[r] on. A
// column of the table takes its cells from the query, the target or the pair.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "alignments.hpp"
#include "core/alignment/src/walk.hpp"
#include "core/common/src/threads.hpp"
#include "numbers.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

template <class T, int N>
using Array = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
using Text = Array<uint8_t, 1>;
using Numbers = Array<int64_t, 1>;

enum class Axis { kQuery, kTarget, kPair, kConstant };

// Sources of the cells of a column.
struct Strings {
  Text text;
  Numbers offsets;
  std::optional<Numbers> listed = {};  // record i is string listed[i]; if absent, string i

  size_t records() const { return listed ? listed->shape(0) : offsets.shape(0) - 1; }
  size_t string(size_t i) const { return listed ? static_cast<size_t>((*listed)(i)) : i; }
  // Prefetches the offset of string i + 32 and the text of string i + 16, because listed strings come in any order. Must be inlined: GCC
  // removes calls of functions that do nothing but prefetch.
  __attribute__((always_inline)) void prefetch(size_t i) const {
    if (i + 32 < listed->shape(0)) __builtin_prefetch(&offsets(string(i + 32)));
    if (i + 16 < listed->shape(0)) __builtin_prefetch(text.data() + offsets(string(i + 16)));
  }
  size_t length(size_t i) const { return static_cast<size_t>(offsets(string(i) + 1) - offsets(string(i))); }
};
struct Ratio {  // factor * num / den as a double, rounded to decimals; 0 if den is 0
  Array<int64_t, 2> num, den;
  int64_t factor;
  Decimals decimals;
};
struct Fixed {  // rounded to decimals; "nan" if undefined
  Array<double, 2> values;
  Decimals decimals;
};
struct Path {
  std::shared_ptr<Alignments> alignments;
  const PairText* text;
};
using Content = std::variant<std::string, Strings, Numbers, Array<int32_t, 2>, Array<int64_t, 2>, Ratio, Fixed, Path>;

struct Column {
  Axis axis;
  Content content;
  std::string prefix;
  char end = '\t';  // character after the cell; the last column ends the line instead

  bool has_paths() const { return std::holds_alternative<Path>(content); }
};

// Returns the number of records of a column along its own axis.
size_t records(const Column& c) {
  if (const auto* s = std::get_if<Strings>(&c.content)) return s->records();
  return std::get<Numbers>(c.content).shape(0);
}

// Returns the length of the longest cell of the records [first, last).
size_t widest(const Column& c, size_t first, size_t last) {
  const auto* s = std::get_if<Strings>(&c.content);
  if (!s) return kNumberWidth;
  size_t width = 0;
  for (size_t i = first; i < last; i++) {
    if (s->listed) s->prefetch(i);
    width = std::max(width, s->length(i));
  }
  return width;
}

// Returns whether a column of pairs has one value for each pair of a block.
bool fits(const Column& c, size_t rows, size_t targets) {
  auto shape = [&](const auto& a) { return a.shape(0) == rows && a.shape(1) == targets; };
  if (const auto* n = std::get_if<Array<int32_t, 2>>(&c.content)) return shape(*n);
  if (const auto* n = std::get_if<Array<int64_t, 2>>(&c.content)) return shape(*n);
  if (const auto* n = std::get_if<Ratio>(&c.content)) return shape(n->num) && shape(n->den);
  if (const auto* n = std::get_if<Fixed>(&c.content)) return shape(n->values);
  const Alignments& a = *std::get<Path>(c.content).alignments;
  return a.rows() == rows && a.columns() == targets && shape(a.sizes) && a.statistics.shape(0) == rows &&
         a.statistics.shape(1) == targets && a.statistics.shape(2) == kStatistics;
}

// Bytes that may be written after a string, before the text that follows it: every piece of text has this much spare room.
constexpr size_t kSlack = 32;

// Writes a string. last: end of the memory that contains it. Short strings are copied together with the bytes that follow, without a call.
char* put_string(char* out, const void* text, size_t length, const void* last) {
  const auto* from = static_cast<const char*>(text);
  if (length <= kSlack && static_cast<size_t>(static_cast<const char*>(last) - from) >= kSlack)
    std::memcpy(out, from, kSlack);
  else
    std::memcpy(out, from, length);
  return out + length;
}
char* put_string(char* out, const std::string& text) { return put_string(out, text.data(), text.size(), text.data() + text.size()); }

char* put_record(char* out, const Column& c, size_t i) {
  if (const auto* n = std::get_if<Numbers>(&c.content)) return put_integer(out, (*n)(i));
  const Strings& s = std::get<Strings>(c.content);
  return put_string(out, s.text.data() + s.offsets(s.string(i)), s.length(i), s.text.data() + s.text.size());
}

char* put_pair(char* out, const Column& c, size_t r, size_t t) {
  if (const auto* n = std::get_if<Array<int32_t, 2>>(&c.content)) return put_integer(out, (*n)(r, t));
  if (const auto* n = std::get_if<Array<int64_t, 2>>(&c.content)) return put_integer(out, (*n)(r, t));
  if (const auto* n = std::get_if<Ratio>(&c.content)) {
    const int64_t num = n->num(r, t), den = n->den(r, t);
    return put_double(out, den > 0 ? static_cast<double>(n->factor * num) / static_cast<double>(den) : 0, n->decimals);
  }
  if (const auto* n = std::get_if<Fixed>(&c.content)) return put_double(out, n->values(r, t), n->decimals);
  const Path& p = std::get<Path>(c.content);
  return p.text->put(out, *p.alignments, r, t);
}

// Numbers the pairs of a block row by row, each row from its first target to its last. span(r): the half-open range of targets of a row.
class PairOrder {
 public:
  template <class Span>
  PairOrder(size_t rows, const Span& span) : stops_(rows), before_(rows + 1, 0) {
    for (size_t r = 0; r < rows; r++) {
      const auto [first, stop] = span(r);
      stops_[r] = stop;
      before_[r + 1] = before_[r] + stop - std::min(stop, first);
    }
  }
  size_t pairs() const { return before_.back(); }

  // Calls use(r, from, to) with the targets [from, to) of every row that has pairs with numbers in [start, stop).
  template <class Use>
  void each_row(size_t start, size_t stop, const Use& use) const {
    auto r = static_cast<size_t>(std::upper_bound(before_.begin(), before_.end(), start) - before_.begin()) - 1;
    for (size_t pair = start; pair < stop; pair = before_[++r]) {
      const size_t from = stops_[r] - (before_[r + 1] - pair);
      use(r, from, std::min(stops_[r], from + stop - pair));
    }
  }

 private:
  std::vector<size_t> stops_;
  std::vector<size_t> before_;  // [row] number of pairs in earlier rows
};

// Formats the rows of a block.
class RowMaker {
 public:
  RowMaker(const std::vector<Column>& columns, size_t first_query, size_t rows, size_t targets, const std::optional<Array<bool, 2>>& keep)
      : columns_(columns), keep_(keep), first_query_(first_query) {
    for (const Column& c : columns) {
      width_ += c.prefix.size() + 1;
      if (c.axis == Axis::kPair) {
        if (!fits(c, rows, targets)) throw nb::value_error("a column of pairs does not fit the block");
        width_ += kNumberWidth + 2;
        if (c.has_paths()) paths_.push_back(&std::get<Path>(c.content));
      } else if (c.axis != Axis::kConstant) {
        const bool query = c.axis == Axis::kQuery;
        const size_t first = query ? first_query : 0, last = query ? first_query + rows : targets;
        if (last > records(c)) throw nb::value_error("a column is shorter than the block");
        width_ += widest(c, first, last);
        if (const auto* s = std::get_if<Strings>(&c.content); s && s->listed) listed_.push_back(s);
      } else {
        width_ += std::get<std::string>(c.content).size();
      }
    }
    while (constant_columns_ + 1 < columns.size() &&
           (columns[constant_columns_].axis == Axis::kQuery || columns[constant_columns_].axis == Axis::kConstant))
      constant_columns_++;
  }

  // Returns an upper bound of the bytes of the rows of query r with the targets [from, to).
  size_t room(size_t r, size_t from, size_t to) const {
    if (!keep_ && paths_.empty()) return (to - from) * width_;
    size_t bytes = 0;
    for (size_t t = from; t < to; t++) {
      if (!is_selected(r, t)) continue;
      bytes += width_;
      for (const Path* path : paths_) bytes += path->text->width(*path->alignments, r, t);
    }
    return bytes;
  }

  char* put(char* p, size_t r, size_t from, size_t to) const {
    const size_t first = to > from + 1 ? constant_columns_ : 0;
    std::string prefix(first ? width_ + kSlack : 0, '\0');  // the common beginning of all text rows of a matrix row
    const auto prefix_size = static_cast<size_t>(put_cells(prefix.data(), 0, first, r, from) - prefix.data());
    for (size_t t = from; t < to; t++) {
      if (!is_selected(r, t)) continue;
      for (const Strings* strings : listed_) strings->prefetch(t);
      if (first) p = put_string(p, prefix.data(), prefix_size, prefix.data() + prefix.size());
      p = put_cells(p, first, columns_.size(), r, t);
      p[-1] = '\n';
    }
    return p;
  }

 private:
  bool is_selected(size_t r, size_t t) const { return !keep_ || (*keep_)(r, t); }

  char* put_cells(char* p, size_t first, size_t last, size_t r, size_t t) const {
    for (const Column* c = columns_.data() + first; c != columns_.data() + last; c++) {
      if (!c->prefix.empty()) p = put_string(p, c->prefix);
      switch (c->axis) {
        case Axis::kQuery: p = put_record(p, *c, first_query_ + r); break;
        case Axis::kTarget: p = put_record(p, *c, t); break;
        case Axis::kPair: p = put_pair(p, *c, r, t); break;
        case Axis::kConstant: p = put_string(p, std::get<std::string>(c->content));
      }
      *p++ = c->end;
    }
    return p;
  }

  const std::vector<Column>& columns_;
  const std::optional<Array<bool, 2>>& keep_;
  size_t first_query_;
  size_t width_ = 0;             // upper bound of the bytes of a row, without its paths
  size_t constant_columns_ = 0;  // leading columns that are constant along a row of the matrix, never including the last column
  std::vector<const Path*> paths_;
  std::vector<const Strings*> listed_;  // to be prefetched
};

// A piece of text, in a Python bytearray, which can shrink, so that nothing is copied in the end.
struct Piece {
  size_t start, stop, room = 0;  // pairs [start, stop); upper bound of the bytes
  PyObject* bytes = nullptr;
  char* letters = nullptr;
  size_t size = 0;

  explicit Piece(size_t first) : start(first), stop(first) {}
  Piece(const Piece&) = delete;
  ~Piece() { Py_XDECREF(bytes); }

  void allocate() {
    bytes = PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(room + kSlack));
    if (!bytes) throw nb::python_error();
    letters = PyByteArray_AsString(bytes);
  }
  nb::bytearray take() {
    if (PyByteArray_Resize(bytes, static_cast<Py_ssize_t>(size))) throw nb::python_error();
    return nb::steal<nb::bytearray>(std::exchange(bytes, nullptr));
  }
};

using Pieces = nb::typed<nb::list, nb::bytearray>;

// Approximate size of a piece: it fits the cache of a thread, and there are few pieces to write. A piece grows by kPairsPerStep pairs.
constexpr size_t kPieceRoom = size_t{1} << 20, kPairsPerStep = 64;

// Returns the text of these pairs, formatted by `maker` in native threads: Python's threads would wait for each other longer than they
// work.
template <class Maker>
Pieces in_pieces(const PairOrder& order, const Maker& maker, size_t piece_room, int threads) {
  if (threads < 1) throw nb::value_error("a thread is needed");
  std::deque<Piece> pieces;
  {
    nb::gil_scoped_release unlocked;
    for (size_t start = 0; start < order.pairs(); start += kPairsPerStep) {
      if (pieces.empty() || pieces.back().room >= piece_room) pieces.emplace_back(start);
      Piece& piece = pieces.back();
      piece.stop = std::min(order.pairs(), start + kPairsPerStep);
      order.each_row(start, piece.stop, [&](size_t r, size_t from, size_t to) { piece.room += maker.room(r, from, to); });
    }
  }
  for (Piece& piece : pieces) piece.allocate();
  {
    nb::gil_scoped_release unlocked;
    share(pieces.size(), static_cast<int>(std::min(pieces.size(), static_cast<size_t>(threads))), [&](size_t k) {
      Piece& piece = pieces[k];
      char* p = piece.letters;
      order.each_row(piece.start, piece.stop, [&](size_t r, size_t from, size_t to) { p = maker.put(p, r, from, to); });
      piece.size = static_cast<size_t>(p - piece.letters);
    });
  }
  Pieces texts;
  for (Piece& piece : pieces) texts.append(piece.take());
  return texts;
}

Pieces format_block(const std::vector<Column>& columns, size_t first_query, size_t rows, size_t targets,
                    const std::vector<size_t>& first_target, const std::optional<Array<bool, 2>>& keep, int threads) {
  if (columns.empty()) throw nb::value_error("a block needs a column");
  if (first_target.size() != rows) throw nb::value_error("one first target a row is needed");
  if (keep && (keep->shape(0) != rows || keep->shape(1) != targets)) throw nb::value_error("keep does not fit the block");
  const RowMaker maker(columns, first_query, rows, targets, keep);
  return in_pieces(PairOrder(rows, [&](size_t r) { return std::pair(first_target[r], targets); }), maker, kPieceRoom, threads);
}

// Formats the lines of a matrix. Cell 0 of a row is its name, cell c + 1 its value c.
template <class T>
class MatrixMaker {
 public:
  MatrixMaker(Text names, Numbers offsets, Array<T, 2> values, char separator, int decimals, std::string undefined,
              std::optional<size_t> triangle)
      : names_(names), offsets_(offsets), values_(values), separator_(separator), decimals_(decimals), undefined_(std::move(undefined)),
        triangle_(triangle) {
    if (offsets.shape(0) != values.shape(0) + 1) throw nb::value_error("one name a row is needed");
    if (undefined_.size() > kNumberWidth) throw nb::value_error("what stands for an undefined value is too long");
  }

  size_t cells(size_t r) const { return 1 + (triangle_ ? std::min(values_.shape(1), *triangle_ + r) : values_.shape(1)); }

  size_t room(size_t r, size_t from, size_t to) const { return (to - from) * kWidth + (from ? 0 : width(r)); }

  char* put(char* p, size_t r, size_t from, size_t to) const {
    const T* row = values_.data() + r * values_.shape(1);
    if (!from) p = put_string(p, names_.data() + offsets_(r), width(r), names_.data() + names_.size());
    for (size_t c = std::max<size_t>(from, 1); c < to; c++) {
      *p++ = separator_;
      if constexpr (std::is_floating_point_v<T>)
        p = put_double(p, row[c - 1], decimals_, undefined_);
      else
        p = put_integer(p, row[c - 1]);
    }
    if (to == cells(r)) *p++ = '\n';
    return p;
  }

 private:
  // Upper bound of the bytes of a value and the separator before it; a name has the end of its line instead of the separator.
  static constexpr size_t kWidth = (std::is_same_v<T, int32_t> ? 11 : kNumberWidth + 2) + 1;

  size_t width(size_t r) const { return static_cast<size_t>(offsets_(r + 1) - offsets_(r)); }

  Text names_;
  Numbers offsets_;
  Array<T, 2> values_;
  char separator_;
  Decimals decimals_;
  std::string undefined_;
  std::optional<size_t> triangle_;
};

// Numbers of a matrix are usually much shorter than their bound, so pieces get more room.
constexpr size_t kMatrixPieceRoom = 2 * kPieceRoom;

template <class T>
void define_format_matrix_rows(nb::module_& m) {
  m.def(
      "format_matrix_rows",
      [](Text names, Numbers offsets, Array<T, 2> values, char separator, int decimals, const std::string& undefined,
         std::optional<size_t> triangle, int threads) {
        const MatrixMaker<T> maker(names, offsets, values, separator, decimals, undefined, triangle);
        const PairOrder order(values.shape(0), [&](size_t r) { return std::pair(size_t{0}, maker.cells(r)); });
        return in_pieces(order, maker, kMatrixPieceRoom, threads);
      },
      nb::arg("names"), nb::arg("offsets"), nb::arg("values"), nb::arg("separator") = '\t', nb::arg("decimals") = 6,
      nb::arg("undefined") = "nan", nb::arg("triangle") = nb::none(), nb::arg("threads") = 1,
      "Return the rows of a matrix, in pieces: a name, then its values.\n\n"
      "decimals: number of decimals of floats\n"
      "undefined: text for NaN\n"
      "triangle: number of values in the first row; each later row has one more; None: rows have all values");
}

Column listed_column(Text text, Numbers offsets, Numbers records) {
  const int64_t strings = static_cast<int64_t>(offsets.shape(0)) - 1;
  for (size_t i = 0; i < records.shape(0); i++)
    if (records(i) < 0 || records(i) >= strings) throw nb::value_error("a listed record is not one of the strings");
  return Column{Axis::kTarget, Strings{text, offsets, records}, {}};
}

Column path_column(std::shared_ptr<Alignments> alignments, const std::string& kind) {
  const PairText* text = pair_text(kind);
  if (!text) throw nb::value_error(("there is no text of this kind: " + kind).c_str());
  return {Axis::kPair, Path{std::move(alignments), text}, {}};
}

nb::bytes pair_string(const Alignments& a, size_t r, size_t t, const std::string& kind) {
  const PairText* text = pair_text(kind);
  if (!text) throw nb::value_error(("there is no text of this kind: " + kind).c_str());
  if (r >= a.rows() || t >= a.columns()) throw nb::index_error("no such pair");
  std::string out(text->width(a, r, t), '\0');
  return nb::bytes(out.data(), static_cast<size_t>(text->put(out.data(), a, r, t) - out.data()));
}

}  // namespace

NB_MODULE(_rows, m) {
  nb::set_leak_warnings(false);  // an error's traceback still holds objects when the process ends
  m.doc() = "Formats blocks of results as rows of text.";
  nb::class_<Alignments>(m, "Alignments", "The paths of a block of pairs, as a source of text columns.")
      .def(
          "__init__",
          [](Alignments* self, Text query_codes, Numbers query_offsets, size_t first_query, Text target_codes, Numbers target_offsets,
             size_t first_target, const std::string& letters, std::vector<Text> pieces, Array<int64_t, 2> starts, Array<int32_t, 2> sizes,
             Array<int32_t, 3> statistics, Numbers query_records, Numbers target_records) {
            if (query_records.size() != target_records.size() || (query_records.size() && query_records.size() != starts.shape(1)))
              throw nb::value_error("a list of pairs has a query and a target for each");
            if (pieces.empty()) throw nb::value_error("paths stand in one piece at least");
            new (self) Alignments{query_codes, query_offsets, first_query, target_codes, target_offsets, first_target,  letters,
                                  pieces,      starts,        sizes,       statistics,   query_records,  target_records};
          },
          nb::arg("query_codes"), nb::arg("query_offsets"), nb::arg("first_query"), nb::arg("target_codes"), nb::arg("target_offsets"),
          nb::arg("first_target"), nb::arg("letters"), nb::arg("pieces"), nb::arg("starts"), nb::arg("sizes"), nb::arg("statistics"),
          nb::arg("query_records"), nb::arg("target_records"))
      .def("text", &pair_string, nb::arg("row"), nb::arg("column"), nb::arg("kind"), "Return the text of one pair.");
  nb::class_<Column>(m, "Column", "The source of the cells of a column of the table.")
      .def_static(
          "constant", [](const std::string& text) { return Column{Axis::kConstant, text, {}}; }, nb::arg("text"))
      .def_static(
          "query_text", [](Text text, Numbers offsets) { return Column{Axis::kQuery, Strings{text, offsets}, {}}; }, nb::arg("text"),
          nb::arg("offsets"))
      .def_static(
          "target_text", [](Text text, Numbers offsets) { return Column{Axis::kTarget, Strings{text, offsets}, {}}; }, nb::arg("text"),
          nb::arg("offsets"))
      .def_static("listed_text", &listed_column, nb::arg("text"), nb::arg("offsets"), nb::arg("records"),
                  "Return a column along the targets: target i has the string records[i].")
      .def_static(
          "query_numbers", [](Numbers values) { return Column{Axis::kQuery, values, {}}; }, nb::arg("values"))
      .def_static(
          "target_numbers", [](Numbers values) { return Column{Axis::kTarget, values, {}}; }, nb::arg("values"))
      .def_static(
          "pair_numbers", [](Array<int32_t, 2> values) { return Column{Axis::kPair, values, {}}; }, nb::arg("values"))
      .def_static(
          "pair_numbers", [](Array<int64_t, 2> values) { return Column{Axis::kPair, values, {}}; }, nb::arg("values"))
      .def_static(
          "pair_ratio",
          [](Array<int64_t, 2> num, Array<int64_t, 2> den, int factor, int decimals) {
            return Column{Axis::kPair, Ratio{num, den, factor, Decimals(decimals)}, {}};
          },
          nb::arg("num"), nb::arg("den"), nb::arg("factor"), nb::arg("decimals"),
          "Return a column of factor * num / den as a float64, rounded to decimals; 0 if den is 0.")
      .def_static(
          "pair_fixed", [](Array<double, 2> values, int decimals) { return Column{Axis::kPair, Fixed{values, Decimals(decimals)}, {}}; },
          nb::arg("values"), nb::arg("decimals"), "Return a column of values, rounded to decimals; nan if undefined.")
      .def_static("path", &path_column, nb::arg("alignments"), nb::arg("kind"))
      .def(
          "between",
          [](const Column& c, const std::string& prefix, char end) {
            Column out = c;
            out.prefix = prefix;
            out.end = end;
            return out;
          },
          nb::arg("prefix"), nb::arg("end") = '\t', "Return the same column with text before each cell and a character after it.");
  m.attr("STATISTICS_NUMBERS") = kStatistics;
  m.def("format_block", &format_block, nb::arg("columns"), nb::arg("first_query"), nb::arg("rows"), nb::arg("targets"),
        nb::arg("first_target"), nb::arg("keep").none(), nb::arg("threads") = 1, "Return the rows of one block, in pieces.");
  define_format_matrix_rows<int32_t>(m);
  define_format_matrix_rows<int64_t>(m);
  define_format_matrix_rows<double>(m);
}
