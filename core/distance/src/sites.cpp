// gpualign.core.distance._sites: Python bindings that read files of calls and pack calls into bit planes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "alignment_scanner.hpp"
#include "alleles.hpp"
#include "bindings.hpp"
#include "core/common/src/owned_array.hpp"
#include "core/sequences/src/letters.hpp"
#include "table_cells.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

// ---- tables of text
constexpr uint8_t kMinusOne = 252;  // a call written as -1: a genotype in some tables, missing in others

// Returns the code of a cell: one byte, a word for a missing call, -1, or an integer written as a decimal ("1.0", as by pandas), whose
// decimal point is stored in `point`.
uint8_t code_of(Cell cell, const uint8_t* table, const std::vector<std::string>& missing, char& point) {
  if (cell.size > 1 && cell.is_one_of(missing)) return kMissing;
  point = cell.remove_zero_decimals();
  if (point && cell.size > 1 && cell.is_one_of(missing)) return kMissing;
  if (cell.size == 1) return table[static_cast<uint8_t>(*cell.text)];
  const auto is = [&](const char* word) { return cell.size == std::strlen(word) && std::memcmp(cell.text, word, cell.size) == 0; };
  if (is("-1")) return table[static_cast<uint8_t>('0')] == kBad ? kMissing : kMinusOne;
  if (cell.size == 0) return kMissing;
  for (const char* word : {"NA", "-9", "na", "nan", "NaN", "N/A", "n/a", "#N/A", "<NA>", "None", "NULL", "null"})
    if (is(word)) return kMissing;
  return kBad;
}

// Adds the number of occurrences of each code in a row to counts[256]. Most codes are 0 to 3 or missing. Returns whether a code is new.
bool count_codes_of_row(const uint8_t* row, int64_t size, int64_t* counts) {
  const auto kinds = [&] { return 256 - std::count(counts, counts + 256, int64_t{0}); };
  const int64_t before = kinds();
  constexpr uint8_t kUsual[] = {0, 1, 2, 3, kMissing};
  constexpr int64_t kBlock = 255;  // a byte counts to 255, so that compilers can count in vectors of bytes
  for (int64_t start = 0; start < size; start += kBlock) {
    const int64_t stop = std::min(size, start + kBlock);
    int64_t known = 0;
    uint8_t found[std::size(kUsual)];
    for (size_t k = 0; k < std::size(kUsual); k++) {
      uint8_t some = 0;
      for (int64_t j = start; j < stop; j++) some = static_cast<uint8_t>(some + (row[j] == kUsual[k]));
      found[k] = some;
      known += some;
    }
    if (known < stop - start)
      count_bytes(row + start, stop - start, counts);
    else
      for (size_t k = 0; k < std::size(kUsual); k++) counts[kUsual[k]] += found[k];
  }
  return kinds() != before;
}

// Reads rows of one table of calls.
class CallParser {
 public:
  CallParser(char separator, Table table, Input<uint8_t, 1> columns, std::vector<std::string> missing)
      : separator_(separator), columns_(columns.data(), columns.data() + columns.shape(0)), missing_(std::move(missing)) {
    std::memcpy(table_, table.data(), sizeof table_);
  }

  // Returns (number of cells, first bad cell or -1, whether a code is new).
  std::tuple<int64_t, int64_t, bool> parse(nb::bytes line, int64_t start, Output<uint8_t, 1> out) {
    if (start < 0 || static_cast<size_t>(start) > line.size()) throw nb::value_error("the line is shorter");
    const char* text = line.c_str();
    const int64_t width = static_cast<int64_t>(out.shape(0));
    uint8_t* const row = out.data();
    int64_t bad = -1;
    decimals_here_.clear();
    const auto take = [&](int64_t place, int64_t column, const char* from, const char* to) {
      // Most cells are one byte.
      char point = 0;
      const uint8_t code = to - from == 1 ? table_[static_cast<uint8_t>(*from)] : code_of(Cell(from, to), table_, missing_, point);
      if (point && code != kMissing) decimals_here_.push_back({point, place, code == 0});
      if (code == kBad && bad < 0) bad = column;
      if (place < width) row[place] = code;
    };
    const LineCells cells = each_cell(text + start, text + line.size(), separator_, columns_, take);
    if (cells.not_empty >= 0 && (bad < 0 || cells.not_empty < bad)) bad = cells.not_empty;
    if (bad < 0 && !decimals_here_.empty()) {  // a line with a bad cell may be parsed again, as a line of alleles
      const auto is_number = [](uint8_t code) { return code != 0 && code != kMissing; };
      decimals_.add(decimals_here_, width, std::count_if(row, row + std::min(cells.taken, width), is_number));
    }
    return {cells.cells, bad, count_codes_of_row(row, std::min(cells.taken, width), counts_)};
  }

  std::vector<int64_t> counts() const { return {counts_, counts_ + 256}; }
  const Decimals& decimals() const { return decimals_; }

 private:
  char separator_;
  uint8_t table_[256];
  std::vector<uint8_t> columns_;
  std::vector<std::string> missing_;
  int64_t counts_[256] = {};
  Decimals decimals_;
  std::vector<Decimal> decimals_here_;
};

// ---- tables of alleles
// Reads rows of one table of alleles.
class AlleleParser {
 public:
  AlleleParser(char separator, Input<uint8_t, 1> columns, std::vector<std::string> missing)
      : separator_(separator), columns_(columns.data(), columns.data() + columns.shape(0)), missing_{std::move(missing), false} {
    for (const std::string& word : missing_.words)
      missing_.numeric = missing_.numeric || (!word.empty() && word[0] >= '0' && word[0] <= '9');
  }

  // Returns (number of cells, first column that should be empty but is not or -1, number of numbers, of numbers above 2, of zeros, indices
  // of other cells).
  std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, std::vector<int64_t>> parse(nb::bytes line, int64_t start,
                                                                                      Output<uint32_t, 1> out) {
    if (start < 0 || static_cast<size_t>(start) > line.size()) throw nb::value_error("the line is shorter");
    const char* text = line.c_str();
    AlleleRow row = read_alleles(text + start, text + line.size(), separator_, columns_, missing_, out.data(),
                                 static_cast<int64_t>(out.shape(0)), decimals_);
    return {row.line.cells, row.line.not_empty, row.numbers, row.beyond, row.zeros, std::move(row.others)};
  }

  const Decimals& decimals() const { return decimals_; }

 private:
  char separator_;
  std::vector<uint8_t> columns_;
  MissingAlleles missing_;
  Decimals decimals_;
};

// ---- PLINK's .bed
// Decodes two bits per call, lowest first: 0 two A1, 1 missing, 2 one of each, 3 two A2. Codes are the number of A1.
void decode_bed(Input<uint8_t, 2> packed, size_t first_byte, Output<uint8_t, 2> out) {
  const size_t sites = packed.shape(0), samples = out.shape(0), stride = out.shape(1), groups = (samples + 3) / 4;
  if (first_byte + groups > packed.shape(1) || stride != sites) throw nb::value_error("the shapes do not fit");
  nb::gil_scoped_release unlocked;
  constexpr uint64_t kOnes = 0x0101010101010101u;
  const size_t bytes = packed.shape(1);
  constexpr size_t kSites = 64;  // one cache line of a sample's calls at a time
  for (size_t first = 0; first < sites; first += kSites) {
    const size_t last = std::min(sites, first + kSites);
    for (size_t group = 0; group < groups; group++) {
      const size_t here = std::min<size_t>(4, samples - 4 * group);
      for (size_t site = first; site < last; site += 8) {  // eight sites of four samples per word
        const size_t count = std::min<size_t>(8, last - site);
        uint8_t four[8] = {};
        for (size_t k = 0; k < count; k++) four[k] = packed.data()[(site + k) * bytes + first_byte + group];
        uint64_t word;
        std::memcpy(&word, four, sizeof word);
        for (size_t s = 0; s < here; s++, word >>= 2) {
          const uint64_t lower = word & kOnes, upper = word >> 1 & kOnes;
          const uint64_t codes = (2 * kOnes - upper - (upper & lower)) | (lower & ~upper) * kMissing;
          std::memcpy(out.data() + (4 * group + s) * stride + site, &codes, count);
        }
      }
    }
  }
}

// Runs an action that reads files, without the GIL. Errors of the system become an OSError.
template <class Action>
auto reading(Action action) {
  int code;
  try {
    nb::gil_scoped_release unlocked;
    return action();
  } catch (const std::system_error& error) {
    code = error.code().value();
  }
  errno = code;
  PyErr_SetFromErrno(PyExc_OSError);
  throw nb::python_error();
}

}  // namespace

NB_MODULE(_sites, m) {
  nb::set_leak_warnings(false);  // an error's traceback still holds objects when the process ends
  m.doc() = "Reads files of calls and packs calls into bit planes. A call is a byte, its code; 255 is a missing call.";
  m.attr("MISSING") = static_cast<int>(kMissing);
  m.attr("SKIP") = static_cast<int>(kSkip);
  m.attr("BAD") = static_cast<int>(kBad);
  m.attr("NO_ALLELE") = kNoAllele;

  nb::class_<AlignmentScanner>(m, "AlignmentScanner", "Reads aligned FASTA, and stores the differences between rows.")
      .def(
          "__init__",
          [](AlignmentScanner* self, Table table, int scratch, int64_t dense_bytes) {
            new (self) AlignmentScanner(table.data(), scratch, dense_bytes);
          },
          nb::arg("table"), nb::arg("scratch"), nb::arg("dense_bytes"),
          "table: the code of each byte, or SKIP or BAD. scratch: descriptor of a file for rows unlike the others that exceed "
          "dense_bytes of memory.")
      .def(
          "feed",
          [](AlignmentScanner& self, nb::bytes data) {
            nb::gil_scoped_release unlocked;
            self.feed(data.c_str(), data.size());
          },
          nb::arg("data"), "Read the next bytes of a file. Raises ValueError if it is not an alignment.")
      .def(
          "finish",
          [](AlignmentScanner& self) {
            nb::gil_scoped_release unlocked;
            self.finish();
          },
          "End the file; another one may follow. Raises ValueError.")
      .def(
          "begin",
          [](AlignmentScanner& self, int file, int64_t start, int64_t stop, int64_t chunk, int threads) {
            return reading([&] { return self.begin(file, start, stop, chunk, threads); });
          },
          nb::arg("file"), nb::arg("start"), nb::arg("stop"), nb::arg("chunk"), nb::arg("threads"),
          "Replaces feed for the bytes start .. stop - 1 of a regular file, given by its descriptor and read in chunks of about "
          "`chunk` bytes. Returns the number of threads that may call read_some, each with a number of its own, before finish is "
          "called. Raises OSError.")
      .def(
          "read_some", [](AlignmentScanner& self, int reader) { return reading([&] { return self.read_some(reader); }); },
          nb::arg("reader"),
          "Read a chunk; False when none is left. If the file is not an alignment, finish raises ValueError. Raises OSError.")
      .def_prop_ro(
          "ids",
          [](const AlignmentScanner& self) {
            nb::list out;
            for (const std::string& id : self.ids()) {
              PyObject* text = PyUnicode_DecodeUTF8(id.data(), static_cast<Py_ssize_t>(id.size()), "surrogateescape");
              out.append(nb::steal<nb::str>(text));
            }
            return out;
          },
          nb::sig("def ids(self) -> list[str]"), "Ids of the records so far.")
      .def_prop_ro(
          "records", [](const AlignmentScanner& self) { return self.ids().size(); }, "Number of records so far.")
      .def_prop_ro("called", &AlignmentScanner::called, "Number of sites with a call, for each record so far.")
      .def_prop_ro("length", &AlignmentScanner::length, "Number of sites of a row; -1 before the first row.")
      .def_prop_ro("nbytes", &AlignmentScanner::nbytes, "Bytes of memory held.")
      .def("letters", &AlignmentScanner::letters, nb::arg("byte"), "Return how often a byte occurred in a sample of the letters.")
      .def(
          "flags",
          [](const AlignmentScanner& self) { return owned_array<nb::ndim<1>>(std::vector<uint8_t>(self.flags()), {self.flags().size()}); },
          "Return uint8[sites]: 1 if calls of a site differ, plus 2 if some are missing.")
      .def(
          "reference",
          [](const AlignmentScanner& self) {
            std::vector<uint8_t> out = self.reference();
            std::replace(out.begin(), out.end(), kUnknown, kMissing);
            const size_t count = out.size();
            return owned_array<nb::ndim<1>>(std::move(out), {count});
          },
          "Return uint8[sites]: the first call of each site, MISSING if no record has one.")
      .def(
          "missing_runs",
          [](const AlignmentScanner& self, size_t first, size_t count) {
            if (first + count > self.rows().size()) throw nb::value_error("no such records");
            std::vector<int64_t> ends;
            std::vector<uint32_t> runs;
            {
              nb::gil_scoped_release unlocked;
              for (size_t k = first; k < first + count; k++) {
                self.append_missing_runs(k, runs);
                ends.push_back(static_cast<int64_t>(runs.size() / 2));
              }
            }
            const size_t rows = runs.size() / 2;
            return std::make_pair(owned_array<nb::ndim<1>>(std::move(ends), {count}), owned_array<nb::ndim<2>>(std::move(runs), {rows, 2}));
          },
          nb::arg("first_record"), nb::arg("records"),
          "Return (int64[records], end of each record's runs among all; uint32[runs][2], first site and last site + 1 of each run of "
          "missing calls).")
      .def(
          "count_calls",
          [](const AlignmentScanner& self, Output<uint32_t, 1> out) {
            if (static_cast<int64_t>(out.shape(0)) != self.length()) throw nb::value_error("the shapes do not fit");
            nb::gil_scoped_release unlocked;
            self.count_calls(out.data());
          },
          nb::arg("out"), "Write the number of rows with a call at each site to uint32 out[sites].")
      .def(
          "called_at",
          [](const AlignmentScanner& self, Input<uint8_t, 1> chosen) {
            if (static_cast<int64_t>(chosen.shape(0)) != self.length()) throw nb::value_error("the shapes do not fit");
            nb::gil_scoped_release unlocked;
            return self.called_at(chosen.data());
          },
          nb::arg("chosen"), "Return the number of calls of each row at the chosen sites. chosen: 1 or 0 for each site.");

  nb::class_<AlignedSites>(m, "AlignedSites", "The calls of all rows of a scanner at some sites.")
      .def(
          "__init__",
          [](AlignedSites* self, const AlignmentScanner& scanner, Input<uint32_t, 1> sites, bool calls_only) {
            new (self) AlignedSites(scanner, sites.data(), static_cast<int64_t>(sites.shape(0)), calls_only);
          },
          nb::arg("scanner"), nb::arg("sites"), nb::arg("calls_only"), nb::keep_alive<1, 2>(),
          "sites: ascending. calls_only: every call has the code 0.")
      .def(
          "fill",
          [](const AlignedSites& self, size_t first, size_t rows, Output<uint8_t, 2> out) {
            if (out.shape(0) != self.rows() || first + rows > out.shape(0) || out.shape(1) != self.count())
              throw nb::value_error("the shapes do not fit");
            nb::gil_scoped_release unlocked;
            self.fill(first, rows, out.data() + first * self.count());
          },
          nb::arg("first_row"), nb::arg("rows"), nb::arg("out"),
          "Write the codes of some rows to their positions in uint8[all rows][sites].");

  m.attr("MINUS_ONE") = static_cast<int>(kMinusOne);
  m.attr("READ") = static_cast<int>(Column::kRead);
  m.attr("SKIP_COLUMN") = static_cast<int>(Column::kSkip);
  m.attr("EMPTY") = static_cast<int>(Column::kEmpty);
  nb::class_<Decimals>(m, "Decimals", "How integers are written as decimals.")
      .def_ro("commas", &Decimals::commas,
              "Count of integers other than 0 with a comma in each column that is read; empty before the first comma.")
      .def_ro("zeros", &Decimals::zeros, "Count of zeros with a comma in each column that is read; empty before the first comma.")
      .def_ro("points", &Decimals::points, "Some have a point.")
      .def_ro("mixed_line", &Decimals::mixed_line, "Some line has numbers with and without a comma.");
  nb::class_<CallParser>(m, "CallParser", "Reads the rows of a table of calls, and counts their codes.")
      .def(nb::init<char, Table, Input<uint8_t, 1>, std::vector<std::string>>(), nb::arg("separator"), nb::arg("table"), nb::arg("columns"),
           nb::arg("missing"),
           "table: codes of cells of one byte; MINUS_ONE is that of -1 among digits. columns: treatment of each column, READ, "
           "SKIP_COLUMN or EMPTY; if empty, all are read. missing: further words for missing calls.")
      .def("parse", &CallParser::parse, nb::arg("line"), nb::arg("start"), nb::arg("out"),
           "Read the codes of a line's cells from byte `start` on, in the columns that are READ. Returns (number of cells, first "
           "column with a bad cell or with a cell that should be EMPTY, or -1, whether a code occurred for the first time).")
      .def_prop_ro("counts", &CallParser::counts, "How often each of the 256 codes occurred.")
      .def_prop_ro("decimals", &CallParser::decimals, "How the numbers are written as decimals.");
  nb::class_<AlleleParser>(m, "AlleleParser", "Reads the rows of a table of alleles.")
      .def(nb::init<char, Input<uint8_t, 1>, std::vector<std::string>>(), nb::arg("separator"), nb::arg("columns"), nb::arg("missing"),
           "columns: as for CallParser; missing: words for missing alleles.")
      .def("parse", &AlleleParser::parse, nb::arg("line"), nb::arg("start"), nb::arg("out"),
           "Read the numbers of the alleles in a line's cells from byte `start` on, in the columns that are READ; NO_ALLELE for 0, "
           "empty and missing cells. Returns (number of cells, first column that should be EMPTY but is not, or -1, number of "
           "numbers, of numbers above 2, of zeros, indices in `out` of other cells).")
      .def_prop_ro("decimals", &AlleleParser::decimals, "How the numbers are written as decimals.");
  m.def(
      "code_alleles",
      [](Input<uint32_t, 2> numbers, int64_t first, int64_t count, Output<uint32_t, 2> codes, Output<int64_t, 1> counts,
         Output<int64_t, 1> lacking) {
        const int64_t samples = static_cast<int64_t>(numbers.shape(0)), loci = static_cast<int64_t>(numbers.shape(1));
        if (codes.shape(0) != numbers.shape(1) || codes.shape(1) != numbers.shape(0) || counts.shape(0) != numbers.shape(1) ||
            lacking.shape(0) != numbers.shape(1) || first < 0 || count < 0 || first + count > loci)
          throw nb::value_error("the shapes do not fit");
        nb::gil_scoped_release unlocked;
        code_alleles(numbers.data(), samples, loci, first, first + count, codes.data(), counts.data(), lacking.data());
      },
      nb::arg("numbers"), nb::arg("first_locus"), nb::arg("loci"), nb::arg("codes"), nb::arg("counts"), nb::arg("lacking"),
      "Convert numbers[samples][loci] of some loci to codes from 0 on, at their positions in codes[loci][samples], with "
      "NO_ALLELE for none. counts[loci]: number of alleles; lacking[loci]: samples without one.");
  m.def("decode_bed", &decode_bed, nb::arg("packed"), nb::arg("first_byte"), nb::arg("out"),
        "Decode uint8[sites][bytes] of a .bed file, from byte first_byte of each site on, to codes[samples][sites].");
  bind_planes(m);
}
