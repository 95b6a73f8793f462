// gpualign.core._sites: from files of calls to bit planes, at the speed of memory.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <tuple>

#include "alignment_scanner.hpp"
#include "alleles.hpp"
#include "calls.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

template <class T, int N>
using Input = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using Output = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const uint8_t, nb::shape<256>, nb::c_contig, nb::device::cpu>;

// ---- tables of text
// A cell is one byte, or one of a few longer words for a missing call and a float that is a whole number ("1.0": pandas).
uint8_t code_of(const uint8_t* cell, size_t size, const uint8_t* table) {
  while (size && (cell[size - 1] == ' ' || cell[size - 1] == '"')) size--;
  while (size && (*cell == ' ' || *cell == '"')) cell++, size--;
  if (size == 1) return table[*cell];
  const auto is = [&](const char* word) { return size == std::strlen(word) && std::memcmp(cell, word, size) == 0; };
  if (size == 0 || is("NA") || is("-1") || is("-9") || is("na") || is("nan") || is("NaN")) return kMissing;
  if (size == 3 && cell[1] == '.' && cell[2] == '0' && *cell >= '0' && *cell <= '2') return table[*cell];
  return kBad;
}

// (cells of the line, the first bad one or -1)
std::tuple<int64_t, int64_t> parse_row(nb::bytes line, int64_t start, char separator, Table table, Output<uint8_t, 1> out) {
  const uint8_t* at = reinterpret_cast<const uint8_t*>(line.c_str());
  const uint8_t* const end = at + line.size();
  at += start;
  const int64_t room = static_cast<int64_t>(out.shape(0));
  int64_t cells = 0, bad = -1;
  nb::gil_scoped_release unlocked;
  while (true) {
    uint8_t code;
    if (at + 1 < end && at[1] == static_cast<uint8_t>(separator) && *at != static_cast<uint8_t>(separator)) {  // most cells are one byte
      code = table.data()[*at];
      at++;
    } else {
      const void* found = at < end ? std::memchr(at, separator, static_cast<size_t>(end - at)) : nullptr;
      const uint8_t* stop = found ? static_cast<const uint8_t*>(found) : end;
      code = code_of(at, static_cast<size_t>(stop - at), table.data());
      at = stop;
    }
    if (code == kBad && bad < 0) bad = cells;
    if (cells < room) out(static_cast<size_t>(cells)) = code;
    cells++;
    if (at >= end) break;
    at++;
  }
  return {cells, bad};
}

// ---- tables of alleles
std::tuple<int64_t, std::vector<int64_t>> parse_alleles(nb::bytes line, int64_t start, char separator,
                                                        const std::vector<std::string>& missing, Output<uint32_t, 1> out) {
  const char* text = line.c_str();
  if (start < 0 || static_cast<size_t>(start) > line.size()) throw nb::value_error("the line is shorter");
  nb::gil_scoped_release unlocked;
  AlleleRow row = read_alleles(text + start, text + line.size(), separator, missing, out.data(), static_cast<int64_t>(out.shape(0)));
  return {row.cells, std::move(row.others)};
}

// ---- PLINK's .bed: two bits a call, from the lowest on: 0 two A1, 1 missing, 2 one of each, 3 two A2. Codes count A1.
void decode_bed(Input<uint8_t, 2> packed, size_t first_byte, Output<uint8_t, 2> out) {
  const size_t sites = packed.shape(0), samples = out.shape(0), stride = out.shape(1), groups = (samples + 3) / 4;
  if (first_byte + groups > packed.shape(1) || stride != sites) throw nb::value_error("the shapes do not fit");
  nb::gil_scoped_release unlocked;
  constexpr uint64_t kOnes = 0x0101010101010101u;
  const size_t bytes = packed.shape(1);
  constexpr size_t kSites = 64;  // a cache line of a sample's calls at a time
  for (size_t first = 0; first < sites; first += kSites) {
    const size_t last = std::min(sites, first + kSites);
    for (size_t group = 0; group < groups; group++) {
      const size_t here = std::min<size_t>(4, samples - 4 * group);
      for (size_t site = first; site < last; site += 8) {  // eight sites of four samples in a word
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

// ---- bit planes
void pack(Input<uint8_t, 2> codes, Input<int64_t, 2> runs, std::optional<Input<uint8_t, 1>> reference, Table table, size_t first_sample,
          size_t samples, Output<uint64_t, 3> planes) {
  const size_t sites = codes.shape(1), words = planes.shape(2), count = planes.shape(0);
  if (runs.shape(1) != 2) throw nb::value_error("the shapes do not fit");
  for (size_t r = 0; r < runs.shape(0); r++)
    if (runs(r, 0) < 0 || runs(r, 0) > runs(r, 1) || runs(r, 1) > static_cast<int64_t>(sites)) throw nb::value_error("no such sites");
  const PlanePacker packer(codes.data(), sites, reinterpret_cast<const Run*>(runs.data()), runs.shape(0),
                           reference ? reference->data() : nullptr, table.data());
  if (planes.shape(1) != codes.shape(0) || words * 64 < packer.chosen() || count > 8 || first_sample + samples > codes.shape(0) ||
      (reference && reference->shape(0) != sites))
    throw nb::value_error("the shapes do not fit");
  nb::gil_scoped_release unlocked;
  packer.pack(first_sample, first_sample + samples, planes.shape(1), count, words, planes.data());
}

void two_calls(Input<uint8_t, 2> codes, size_t first, size_t count, Output<uint8_t, 1> one, Output<uint8_t, 1> more) {
  const size_t sites = codes.shape(1);
  if (first + count > sites || one.shape(0) != sites || more.shape(0) != sites) throw nb::value_error("the shapes do not fit");
  nb::gil_scoped_release unlocked;
  gpualign::find_two(codes.data(), codes.shape(0), sites, first, first + count, one.data(), more.data());
}

// Sites with a call of samples first .. first + count, into out.
void count_calls(Input<uint8_t, 2> codes, size_t first, size_t count, Output<int64_t, 1> out) {
  const size_t sites = codes.shape(1);
  if (first + count > codes.shape(0) || out.shape(0) != codes.shape(0)) throw nb::value_error("the shapes do not fit");
  nb::gil_scoped_release unlocked;
  for (size_t s = first; s < first + count; s++) {
    const uint8_t* row = codes.data() + s * sites;
    int64_t called = 0;
    for (size_t start = 0; start < sites; start += 255) {  // a byte counts to 255, so that compilers count in vectors of bytes
      const size_t stop = std::min(sites, start + 255);
      uint8_t some = 0;
      for (size_t k = start; k < stop; k++) some = static_cast<uint8_t>(some + (row[k] != kMissing));
      called += some;
    }
    out(s) = called;
  }
}

// How many samples have each of some codes at sites first .. first + count, into out[codes][all sites].
void count_codes(Input<uint8_t, 2> codes, Input<uint8_t, 1> wanted, size_t first, size_t count, Output<uint32_t, 2> out) {
  const size_t samples = codes.shape(0), sites = codes.shape(1);
  if (first + count > sites || out.shape(0) != wanted.shape(0) || out.shape(1) != sites) throw nb::value_error("the shapes do not fit");
  nb::gil_scoped_release unlocked;
  constexpr size_t kSites = 1024;  // of which counts and a row's codes stay in the nearest cache
  for (size_t begin = first; begin < first + count; begin += kSites) {
    const size_t here = std::min(kSites, first + count - begin);
    for (size_t k = 0; k < wanted.shape(0); k++) {
      const uint8_t code = wanted(k);
      uint32_t* const total = out.data() + k * sites + begin;
      std::fill(total, total + here, 0);
      for (size_t start = 0; start < samples; start += 255) {  // a byte counts to 255, so that compilers count in vectors of bytes
        uint8_t some[kSites] = {};
        for (size_t s = start; s < std::min(samples, start + 255); s++) {
          const uint8_t* row = codes.data() + s * sites + begin;
          for (size_t j = 0; j < here; j++) some[j] = static_cast<uint8_t>(some[j] + (row[j] == code));
        }
        for (size_t j = 0; j < here; j++) total[j] += some[j];
      }
    }
  }
}

// Runs what reads files with Python's lock released; what the system reports becomes an OSError.
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

std::vector<bool> seen_in(const uint8_t* codes, size_t size) {
  std::vector<bool> seen(256);
  std::vector<uint8_t> kinds;  // they are few: most stretches hold none but these
  size_t k = 0;
  for (; k + 64 <= size; k += 64) {
    uint64_t known = 0;
    for (const uint8_t code : kinds) known |= equal_codes(codes + k, code);
    for (uint64_t other = ~known; other; other &= other - 1) {
      const uint8_t code = codes[k + static_cast<size_t>(__builtin_ctzll(other))];
      if (!seen[code]) kinds.push_back(code);
      seen[code] = true;
    }
  }
  for (; k < size; k++) seen[codes[k]] = true;
  return seen;
}

}  // namespace

NB_MODULE(_sites, m) {
  nb::set_leak_warnings(false);  // an error's traceback still holds objects when the process ends
  m.doc() = "From files of calls to bit planes. A call is a byte, its code; 255 is a missing one.";
  m.attr("MISSING") = static_cast<int>(kMissing);
  m.attr("SKIP") = static_cast<int>(kSkip);
  m.attr("BAD") = static_cast<int>(kBad);
  m.attr("NO_ALLELE") = kNoAllele;

  nb::class_<AlignmentScanner>(m, "AlignmentScanner", "Reads aligned FASTA; keeps of each row what distinguishes it from the others.")
      .def(
          "__init__",
          [](AlignmentScanner* self, Table table, int scratch, int64_t dense_bytes) {
            new (self) AlignmentScanner(table.data(), scratch, dense_bytes);
          },
          nb::arg("table"), nb::arg("scratch"), nb::arg("dense_bytes"),
          "table: the code of each byte, or SKIP or BAD. scratch: a file descriptor, for rows without likeness beyond dense_bytes.")
      .def(
          "feed",
          [](AlignmentScanner& self, nb::bytes data) {
            nb::gil_scoped_release unlocked;
            self.feed(data.c_str(), data.size());
          },
          nb::arg("data"), "The next bytes of a file. Raises ValueError for what is no alignment.")
      .def(
          "finish",
          [](AlignmentScanner& self) {
            nb::gil_scoped_release unlocked;
            self.finish();
          },
          "The file ends here; another one may follow. Raises ValueError.")
      .def(
          "begin",
          [](AlignmentScanner& self, int file, int64_t start, int64_t stop, int64_t chunk, int threads) {
            return reading([&] { return self.begin(file, start, stop, chunk, threads); });
          },
          nb::arg("file"), nb::arg("start"), nb::arg("stop"), nb::arg("chunk"), nb::arg("threads"),
          "Instead of feed: bytes start .. stop of a regular file by its descriptor, in chunks of about so many bytes. How many of the\n"
          "threads may call read_some, each with a number of its own, before finish is called. Raises OSError.")
      .def(
          "read_some", [](AlignmentScanner& self, int reader) { return reading([&] { return self.read_some(reader); }); },
          nb::arg("reader"), "Reads a chunk; False when none is left. What is no alignment, finish tells. Raises OSError.")
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
          nb::sig("def ids(self) -> list[str]"), "Of the records so far.")
      .def_prop_ro(
          "records", [](const AlignmentScanner& self) { return self.ids().size(); }, "How many there are so far.")
      .def_prop_ro("called", &AlignmentScanner::called, "Sites with a call, of each record so far.")
      .def_prop_ro("length", &AlignmentScanner::length, "Sites of a row; -1 before the first.")
      .def_prop_ro("nbytes", &AlignmentScanner::nbytes, "Memory that is held.")
      .def("letters", &AlignmentScanner::letters, nb::arg("byte"), "How often a byte occurred in a sample of the letters.")
      .def(
          "sites",
          [](const AlignmentScanner& self, bool varying, bool constant, bool missing, bool complete) {
            auto* out = new std::vector<uint32_t>();
            nb::capsule owner(out, [](void* p) noexcept { delete static_cast<std::vector<uint32_t>*>(p); });
            for (int64_t k = 0; k < self.length(); k++)
              if ((self.varies(k) ? varying : constant) && (self.has_missing(k) ? missing : complete))
                out->push_back(static_cast<uint32_t>(k));
            return nb::ndarray<nb::numpy, uint32_t, nb::ndim<1>>(out->data(), {out->size()}, owner);
          },
          nb::arg("varying"), nb::arg("constant"), nb::arg("missing"), nb::arg("complete"),
          "uint32[]: sites that vary or are constant among the calls, and have missing calls or none.")
      .def(
          "reference",
          [](const AlignmentScanner& self, Input<uint32_t, 1> sites) {
            int64_t counts[256] = {};
            for (size_t k = 0; k < sites.shape(0); k++) counts[self.reference()[sites(k)]]++;
            return std::vector<int64_t>(counts, counts + 256);
          },
          nb::arg("sites"), "How often each code is the first call of these sites.")
      .def(
          "count_calls",
          [](const AlignmentScanner& self, Output<uint32_t, 1> out) {
            if (static_cast<int64_t>(out.shape(0)) != self.length()) throw nb::value_error("the shapes do not fit");
            nb::gil_scoped_release unlocked;
            self.count_calls(out.data());
          },
          nb::arg("out"), "How many rows have a call at each site, into uint32 out[sites].")
      .def(
          "called_at",
          [](const AlignmentScanner& self, Input<uint8_t, 1> chosen) {
            if (static_cast<int64_t>(chosen.shape(0)) != self.length()) throw nb::value_error("the shapes do not fit");
            nb::gil_scoped_release unlocked;
            return self.called_at(chosen.data());
          },
          nb::arg("chosen"), "chosen: 1 or 0 for each site. How many calls each row has at the chosen sites.");

  nb::class_<AlignedSites>(m, "AlignedSites", "Calls of all rows of a scanner at some sites.")
      .def(
          "__init__",
          [](AlignedSites* self, const AlignmentScanner& scanner, Input<uint32_t, 1> sites, bool calls_only) {
            new (self) AlignedSites(scanner, sites.data(), static_cast<int64_t>(sites.shape(0)), calls_only);
          },
          nb::arg("scanner"), nb::arg("sites"), nb::arg("calls_only"), nb::keep_alive<1, 2>(),
          "sites: ascending. calls_only: 0 for every call.")
      .def(
          "fill",
          [](const AlignedSites& self, size_t first, size_t rows, Output<uint8_t, 2> out) {
            if (out.shape(0) != self.rows() || first + rows > out.shape(0) || out.shape(1) != self.count())
              throw nb::value_error("the shapes do not fit");
            nb::gil_scoped_release unlocked;
            self.fill(first, rows, out.data() + first * self.count());
          },
          nb::arg("first_row"), nb::arg("rows"), nb::arg("out"), "Codes of some rows, into their places of uint8[all rows][sites].");

  m.def("parse_row", &parse_row, nb::arg("line"), nb::arg("start"), nb::arg("separator"), nb::arg("table"), nb::arg("out"),
        "Codes of a line's cells from byte `start` on; (cells, the first bad cell or -1).");
  m.def("parse_alleles", &parse_alleles, nb::arg("line"), nb::arg("start"), nb::arg("separator"), nb::arg("missing"), nb::arg("out"),
        "Numbers of the alleles in a line's cells from byte `start` on, NO_ALLELE for 0, empty cells and the words in `missing`; (cells,\n"
        "those that are none of these).");
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
      "numbers[samples][loci] of some loci as codes from 0 on, into their places of codes[loci][samples], NO_ALLELE where there is none;\n"
      "counts[loci]: alleles; lacking[loci]: samples without one.");
  m.def(
      "pack_alleles",
      [](Input<uint32_t, 2> codes, Input<int64_t, 1> loci, int bits, bool called, int64_t first, int64_t count,
         Output<uint64_t, 3> planes) {
        const int64_t samples = static_cast<int64_t>(codes.shape(1)), chosen = static_cast<int64_t>(loci.shape(0));
        const bool known = std::all_of(loci.data(), loci.data() + chosen,
                                       [&](int64_t locus) { return 0 <= locus && locus < static_cast<int64_t>(codes.shape(0)); });
        if (!known || bits < 0 || bits > 32 || planes.shape(0) != static_cast<size_t>(bits + called) || planes.shape(1) != codes.shape(1) ||
            planes.shape(2) * 64 < loci.shape(0) || first < 0 || count < 0 || first + count > samples)
          throw nb::value_error("the shapes do not fit");
        nb::gil_scoped_release unlocked;
        pack_alleles(codes.data(), samples, loci.data(), chosen, bits, called, first, first + count, planes.data(),
                     static_cast<int64_t>(planes.shape(2)));
      },
      nb::arg("codes"), nb::arg("loci"), nb::arg("bits"), nb::arg("called"), nb::arg("first_sample"), nb::arg("samples"), nb::arg("planes"),
      "codes[all loci][samples] of the `loci`, for some samples, into planes[bits, and one more where `called`][samples][words]: the bits\n"
      "of the codes, and which of them are alleles.");
  m.def("decode_bed", &decode_bed, nb::arg("packed"), nb::arg("first_byte"), nb::arg("out"),
        "uint8[sites][bytes] of a .bed file, from byte first_byte of each site on, into codes[samples][sites].");
  m.def("pack", &pack, nb::arg("codes"), nb::arg("runs"), nb::arg("reference").none(), nb::arg("table"), nb::arg("first_sample"),
        nb::arg("samples"), nb::arg("planes"),
        "codes[samples][sites] of some samples, at the sites of some runs[runs][first, last + 1], into\n"
        "uint64 planes[up to 8][samples][words]; bit p of table[code] goes to plane p. With a reference[sites] a call that is the\n"
        "reference's is coded as 0, any other as 1.");
  m.def("find_two", &two_calls, nb::arg("codes"), nb::arg("first_site"), nb::arg("sites"), nb::arg("one"), nb::arg("more"),
        "Of some sites of codes[samples][sites], into their places: the first call in uint8 one[sites], MISSING where there is none,\n"
        "and 1 in uint8 more[sites] where there are more than two different calls, else 0.");
  m.def("count_calls", &count_calls, nb::arg("codes"), nb::arg("first_sample"), nb::arg("samples"), nb::arg("out"),
        "Sites with a call, of some samples of codes[samples][sites], into their places of int64 out[samples].");
  m.def("count_codes", &count_codes, nb::arg("codes"), nb::arg("wanted"), nb::arg("first_site"), nb::arg("sites"), nb::arg("out"),
        "Samples that have each of the codes `wanted`, at some sites of codes[samples][sites], into their places of uint32\n"
        "out[wanted][sites].");
  m.def(
      "seen_codes",
      [](Input<uint8_t, 2> codes) {
        nb::gil_scoped_release unlocked;
        return seen_in(codes.data(), codes.size());
      },
      nb::arg("codes"), "Which of the 256 codes occur.");
}
