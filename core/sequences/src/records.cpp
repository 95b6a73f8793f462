// gpualign.core.sequences._records: Python bindings of the parsers of records, and of operations on their letters.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>

#include "core/common/src/owned_array.hpp"
#include "core/common/src/threads.hpp"
#include "file_scan.hpp"
#include "gather.hpp"
#include "letters.hpp"
#include "record_scanner.hpp"
#include "repeated.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

constexpr size_t kRecordsPerPart = 1024;  // that a thread takes at a time

template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Column = std::pair<nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>, nb::ndarray<nb::numpy, int64_t>>;

// Calls handle(i) for each of `count` records, with at most this many threads.
template <class Handle>
void for_each_record(size_t count, int threads, const Handle& handle) {
  const size_t parts = (count + kRecordsPerPart - 1) / kRecordsPerPart;
  share(parts, static_cast<int>(std::min(parts, static_cast<size_t>(std::max(threads, 1)))), [&](size_t part) {
    for (size_t i = part * kRecordsPerPart; i < std::min(count, (part + 1) * kRecordsPerPart); i++) handle(i);
  });
}

void check_offsets(const Input<uint8_t>& text, const Input<int64_t>& offsets) {
  if (!offsets.size() || offsets(0) < 0 || offsets(offsets.size() - 1) > static_cast<int64_t>(text.size()))
    throw nb::value_error("the offsets do not fit the text");
  for (size_t i = 1; i < offsets.size(); i++)
    if (offsets(i) < offsets(i - 1)) throw nb::value_error("the offsets descend");
}

// Returns a column of strings. text, ends: to be freed by free().
Column column_of(uint8_t* text, int64_t* ends, size_t strings) {
  nb::capsule owner(text, [](void* p) noexcept { std::free(p); }), ends_owner(ends, [](void* p) noexcept { std::free(p); });
  const size_t size = static_cast<size_t>(ends[strings]);
  return {nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>(text, {size}, owner),
          nb::ndarray<nb::numpy, int64_t>(ends, {strings + 1}, ends_owner)};
}

Column taken(StringColumn& column) {
  const size_t strings = column.count();
  uint8_t* const text = column.text.take();
  int64_t* const ends = column.ends.take();
  column.ends.push_back(0);
  return column_of(text, ends, strings);
}

ByteSet byte_set(const Input<bool>& members) {
  if (members.size() != 128) throw nb::value_error("a set of bytes is bool[128]");
  return ByteSet(members.data());
}

Encoding encoding_of(const Input<uint8_t>& table, uint8_t invalid) {
  if (table.size() != 256) throw nb::value_error("a table of codes is uint8[256]");
  return Encoding(table.data(), invalid);
}

KindRules kind_rules(const Input<bool>& plain, const Input<bool>& other, int64_t clear_length, double clear_part) {
  return {byte_set(plain), byte_set(other), clear_length, clear_part};
}

// Divides letters among threads: calls act(first, stop) for each part and returns the results in the order of the parts.
template <typename Act>
auto for_each_part(int64_t count, int max_threads, const Act& act) {
  constexpr int64_t kThreadWork = 4 << 20;  // letters for which a thread is worth its start
  const int threads = static_cast<int>(std::clamp<int64_t>(count / kThreadWork, 1, max_threads));
  std::vector<decltype(act(0, 0))> results(static_cast<size_t>(threads));
  run_threads(threads, [&](int thread) {
    const int64_t first = count / threads * thread, stop = thread + 1 < threads ? first + count / threads : count;
    results[static_cast<size_t>(thread)] = act(first, stop);
  });
  return results;
}

// Does the same as encoding.encode with several threads, each of which encodes a part of the letters.
int64_t encode_in_parts(const Encoding& encoding, const uint8_t* letters, int64_t count, uint8_t* codes, int max_threads) {
  const auto invalid = for_each_part(count, max_threads, [&](int64_t first, int64_t stop) {
    const int64_t at = encoding.encode(letters + first, stop - first, codes + first);
    return at < 0 ? at : first + at;
  });
  const auto first = std::find_if(invalid.begin(), invalid.end(), [](int64_t at) { return at >= 0; });
  return first == invalid.end() ? -1 : *first;
}

// Returns the codes that occur, ascending.
std::vector<uint8_t> find_codes_in_parts(const uint8_t* codes, int64_t count, int max_threads) {
  const auto parts = for_each_part(count, max_threads, [&](int64_t first, int64_t stop) {
    std::array<bool, 256> found{};
    find_codes(codes + first, stop - first, found.data());
    return found;
  });
  std::vector<uint8_t> out;
  for (size_t code = 0; code < 256; code++)
    if (std::any_of(parts.begin(), parts.end(), [&](const auto& found) { return found[code]; })) out.push_back(static_cast<uint8_t>(code));
  return out;
}

std::tuple<int64_t, int64_t, int64_t> as_tuple(const Kinds& kinds) { return {kinds.plain, kinds.first_other, kinds.first_clear}; }

std::string_view view(const nb::bytes& text) { return {text.c_str(), text.size()}; }

}  // namespace

NB_MODULE(_records, m) {
  nb::set_leak_warnings(false);  // an error's traceback still holds objects when the process ends
  m.doc() = "Parses records of FASTA and FASTQ files, and encodes their letters.";

  nb::class_<RecordScanner>(m, "RecordScanner", "Parses ASCII records of ordinary form from text: ids, letters and descriptions.")
      .def(
          "__init__",
          [](RecordScanner* self, bool fastq, size_t letters, bool described) {
            new (self) RecordScanner(fastq ? RecordScanner::Kind::kFastq : RecordScanner::Kind::kFasta, letters, described);
          },
          nb::arg("fastq"), nb::arg("letters"), nb::arg("described") = false,
          "letters: expected number of letters, 0 if unknown; described: store descriptions, the text after the ids.")
      .def(
          "feed",
          [](RecordScanner& self, Input<uint8_t> data, bool last) {
            nb::gil_scoped_release unlocked;
            const RecordScanner::Fed fed = self.feed(reinterpret_cast<const char*>(data.data()), data.size(), last);
            return std::make_pair(fed.taken, fed.strange);
          },
          nb::arg("data"), nb::arg("last"),
          "Parse text that begins with a record. last: the file ends with it. Returns (a, b): data[:a] is taken; data[a:b] needs "
          "another parser, with FASTQ also everything after it.")
      .def(
          "append",
          [](RecordScanner& self, const nb::bytes& id, const nb::bytes& letters, const nb::bytes& description) {
            self.append(view(id), view(letters), view(description));
          },
          nb::arg("id"), nb::arg("letters"), nb::arg("description") = nb::bytes(""), "Append a record that another parser has read.")
      .def(
          "count_kinds",
          [](RecordScanner& self, Input<bool> plain, Input<bool> other, int64_t clear_length, double clear_part) {
            const KindRules rules = kind_rules(plain, other, clear_length, clear_part);
            nb::gil_scoped_release unlocked;
            return as_tuple(self.count_kinds(rules));
          },
          nb::arg("plain"), nb::arg("other"), nb::arg("clear_length"), nb::arg("clear_part"),
          "Do the same as `count_kinds` for the records taken since the last call, while their letters are cached; record numbers "
          "count from the first record held.")
      .def(
          "encode",
          [](RecordScanner& self, Input<uint8_t> table, uint8_t invalid) {
            const Encoding encoding = encoding_of(table, invalid);
            nb::gil_scoped_release unlocked;
            return self.encode(encoding);
          },
          nb::arg("table"), nb::arg("invalid"),
          "Replace the letters held by codes, table[letter], from the first one without a code up to the first one whose code is "
          "`invalid`. Returns the number of letters that have codes now. The kinds of their records must be counted before.")
      .def(
          "scan_file",
          [](RecordScanner& self, int file, int64_t start, int64_t stop, Input<bool> plain, Input<bool> other, int64_t clear_length,
             double clear_part, std::optional<Input<uint8_t>> table, uint8_t invalid, int64_t piece, int threads) {
            if (start < 0 || start >= stop || piece < 1 || threads < 1)
              throw nb::value_error("there is nothing to scan, or no thread to scan it");
            const KindRules rules = kind_rules(plain, other, clear_length, clear_part);
            const std::optional<Encoding> encoding = table ? std::optional(encoding_of(*table, invalid)) : std::nullopt;
            nb::gil_scoped_release unlocked;
            const FileScan scan = scan_file(self, {file, start, stop}, rules, encoding ? &*encoding : nullptr, piece, threads);
            return std::make_tuple(scan.next, scan.blocked, as_tuple(scan.kinds));
          },
          nb::arg("file"), nb::arg("start"), nb::arg("stop"), nb::arg("plain"), nb::arg("other"), nb::arg("clear_length"),
          nb::arg("clear_part"), nb::arg("table").none(), nb::arg("invalid"), nb::arg("piece"), nb::arg("threads"),
          "Parse records in bytes start .. stop-1 of a file, which begin with a record, with several threads, in pieces of this many "
          "bytes. "
          "Also do what `count_kinds` does, and if a table is given and all letters held have codes, what `encode` does. Returns (a, b, "
          "kinds): the records before position a of the file are taken; b: the next one has to be fed; if False, more can be scanned.")
      .def_prop_ro(
          "records", [](const RecordScanner& self) { return self.records(); },
          "Number of all records so far, including those already taken.")
      .def_prop_ro(
          "letters", [](RecordScanner& self) { return self.letters().text.size(); }, "Number of letters held.")
      .def(
          "take",
          [](RecordScanner& self) {
            self.reset_columns();
            return std::make_tuple(taken(self.ids()), taken(self.letters()), taken(self.descriptions()));
          },
          "Take the ids, letters and descriptions, each as (uint8[bytes], int64[records + 1] offsets); nothing is held "
          "afterwards. If descriptions are not stored, their column has no strings.");

  m.def(
      "count_kinds",
      [](Input<uint8_t> letters, Input<int64_t> offsets, Input<bool> plain, Input<bool> other, int64_t clear_length, double clear_part) {
        check_offsets(letters, offsets);
        const KindRules rules = kind_rules(plain, other, clear_length, clear_part);
        nb::gil_scoped_release unlocked;
        return as_tuple(count_kinds(letters.data(), offsets.data(), static_cast<int64_t>(offsets.size()) - 1, rules));
      },
      nb::arg("letters"), nb::arg("offsets"), nb::arg("plain"), nb::arg("other"), nb::arg("clear_length"), nb::arg("clear_part"),
      "Count kinds of letters. plain, other: bool[128], sets of letters. Returns (letters in plain, first record with a "
      "letter in other, first record of at least clear_length letters with none in other and at least the fraction clear_part "
      "in plain); -1 if there is no such record.");
  m.def(
      "count_codes",
      [](Input<uint8_t> codes) {
        std::vector<int64_t> counts(256);
        {
          nb::gil_scoped_release unlocked;
          count_bytes(codes.data(), static_cast<int64_t>(codes.size()), counts.data());
        }
        return owned_array(std::move(counts), {256});
      },
      nb::arg("codes"), "Return int64[256]: how often each code occurs.");
  m.def(
      "find_codes",
      [](Input<uint8_t> codes, int threads) {
        std::vector<uint8_t> out;
        {
          nb::gil_scoped_release unlocked;
          out = find_codes_in_parts(codes.data(), static_cast<int64_t>(codes.size()), threads);
        }
        const size_t count = out.size();
        return owned_array<nb::ndim<1>>(std::move(out), {count});
      },
      nb::arg("codes"), nb::arg("threads") = 1, "Return the codes that occur, ascending, in less time than `count_codes` takes.");
  m.def(
      "count_in_records",
      [](Input<uint8_t> codes, Input<int64_t> offsets, Input<bool> is_counted, int threads) {
        check_offsets(codes, offsets);
        if (is_counted.size() != 256) throw nb::value_error("256 codes are needed");
        const size_t count = offsets.size() - 1;
        std::vector<int64_t> counts(count);
        {
          nb::gil_scoped_release unlocked;
          for_each_record(count, threads, [&](size_t i) {
            int64_t sum = 0;
            for (int64_t k = offsets(i); k < offsets(i + 1); k++) sum += is_counted(codes(k));
            counts[i] = sum;
          });
        }
        return owned_array(std::move(counts), {count});
      },
      nb::arg("codes"), nb::arg("offsets"), nb::arg("is_counted"), nb::arg("threads"),
      "Return int64[records]: how many letters of each record have a code for which is_counted, bool[256], is true.");
  m.def(
      "count_codes_in_records",
      [](Input<uint8_t> codes, Input<int64_t> offsets, Input<uint8_t> counted, int threads) {
        check_offsets(codes, offsets);
        const size_t count = offsets.size() - 1, columns = counted.size();
        std::vector<uint32_t> counts(count * columns);
        {
          nb::gil_scoped_release unlocked;
          for_each_record(count, threads, [&](size_t i) {
            uint32_t of_code[2][256] = {};  // at even and odd places: equal neighbours need not wait for each other
            for (int64_t k = offsets(i); k < offsets(i + 1); k++) of_code[k % 2][codes(k)]++;
            for (size_t c = 0; c < columns; c++) counts[i * columns + c] = of_code[0][counted(c)] + of_code[1][counted(c)];
          });
        }
        return owned_array<nb::ndim<2>>(std::move(counts), {count, columns});
      },
      nb::arg("codes"), nb::arg("offsets"), nb::arg("counted"), nb::arg("threads"),
      "Return uint32[records][counted]: how many letters of each record have each of the codes `counted`.");
  m.def(
      "encode",
      [](Input<uint8_t> letters, Input<uint8_t> table, uint8_t invalid,
         nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> out, int threads) {
        if (out.size() != letters.size()) throw nb::value_error("the shapes do not fit");
        const Encoding encoding = encoding_of(table, invalid);
        nb::gil_scoped_release unlocked;
        return encode_in_parts(encoding, letters.data(), static_cast<int64_t>(letters.size()), out.data(), threads);
      },
      nb::arg("letters"), nb::arg("table"), nb::arg("invalid"), nb::arg("out"), nb::arg("threads") = 1,
      "Set out = table[letters] up to the first letter whose code is `invalid`, and return its index, or -1. out may be letters. Uses at "
      "most this many threads; several may also set codes after that letter.");
  m.def(
      "repeated",
      [](Input<uint8_t> text, Input<int64_t> offsets, int threads) {
        check_offsets(text, offsets);
        std::vector<int64_t> flat = [&] {
          nb::gil_scoped_release unlocked;
          return repeated(reinterpret_cast<const char*>(text.data()), offsets.data(), static_cast<int64_t>(offsets.size()) - 1, threads);
        }();
        const size_t count = flat.size() / 2;
        return owned_array(std::move(flat), {count, 2});
      },
      nb::arg("text"), nb::arg("offsets"), nb::arg("threads") = 1,
      "Return int64[strings][2]: each string that equals an earlier one, and the first one that it equals. Uses at most this many "
      "threads.");
  m.def(
      "gather",
      [](Input<uint8_t> text, Input<int64_t> offsets, Input<int64_t> picked, int threads) -> Column {
        const int64_t strings = static_cast<int64_t>(offsets.size()) - 1, count = static_cast<int64_t>(picked.size());
        // Check only the picked strings: callers may pick a few of many repeatedly.
        for (int64_t k = 0; k < count; k++) {
          if (picked(k) < 0 || picked(k) >= strings) throw nb::index_error("there is no such string");
          const int64_t start = offsets(picked(k)), stop = offsets(picked(k) + 1);
          if (start < 0 || stop < start || stop > static_cast<int64_t>(text.size()))
            throw nb::value_error("the offsets do not fit the text");
        }
        Gathered gathered = [&] {
          nb::gil_scoped_release unlocked;
          return gather(text.data(), offsets.data(), picked.data(), count, threads);
        }();
        return column_of(gathered.text, gathered.ends.release(), static_cast<size_t>(count));
      },
      nb::arg("text"), nb::arg("offsets"), nb::arg("picked"), nb::arg("threads") = 1,
      "Return the strings with these numbers, in this order: (uint8[bytes], int64[picked + 1] offsets). Uses at most this many threads.");
}
