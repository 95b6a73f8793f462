#include "record_scanner.hpp"

#include <algorithm>

namespace gpualign {

namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_plain(char c) { return c > ' '; }  // printable ASCII but the blank, or DEL: bytes beyond ASCII are negative

// Sixteen bytes at a time, in every compiler's vectors.
typedef int8_t Bytes __attribute__((vector_size(16)));
constexpr size_t kLanes = 16;

Bytes load(const char* from) {
  Bytes out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

bool any(Bytes flags) {
  uint64_t halves[2];
  std::memcpy(halves, &flags, sizeof flags);
  return halves[0] | halves[1];
}

// Copies a line; whether all of it is plain.
bool copy_plain(const char* from, size_t size, uint8_t* to) {
  if (size < kLanes) {
    bool plain = true;
    for (size_t k = 0; k < size; k++) {
      to[k] = static_cast<uint8_t>(from[k]);
      plain &= is_plain(from[k]);
    }
    return plain;
  }
  Bytes unusual{};
  const auto step = [&](size_t k) {
    const Bytes some = load(from + k);
    unusual |= (Bytes)(some <= ' ');
    std::memcpy(to + k, &some, sizeof some);
  };
  for (size_t k = 0; k + kLanes <= size; k += kLanes) step(k);
  step(size - kLanes);  // the last ones, some of them again
  return !any(unusual);
}

// The line at `data`, without its end, and where the next one begins; null if it does not end here.
struct Line {
  std::string_view text;
  const char* next;
};

Line line_at(const char* data, const char* end, bool last) {
  const char* stop = data < end ? static_cast<const char*>(std::memchr(data, '\n', static_cast<size_t>(end - data))) : nullptr;
  if (!stop && !last) return {{}, nullptr};
  const char* const next = stop ? stop + 1 : end;
  if (!stop) stop = end;
  if (stop > data && stop[-1] == '\r') stop--;
  return {{data, static_cast<size_t>(stop - data)}, next};
}

// Where the record of FASTA that begins at `data` ends, whatever it holds; null if that is not seen yet.
const char* end_of_fasta(const char* data, const char* end, bool last) {
  for (const char* at = data;;) {
    at = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    if (!at || at + 1 == end) return last ? end : nullptr;
    if (*++at == '>') return at;
  }
}

}  // namespace

RecordScanner::Fed RecordScanner::feed(const char* data, size_t size, bool last) {
  const char* const begin = data;
  const char* const end = data + size;
  while (data < end) {
    const size_t before = letters_.text.size(), ids_before = ids_.text.size();
    const char* next = nullptr;
    const Record found = kind_ == Kind::kFasta ? take_fasta(data, end, last, &next) : take_fastq(data, end, last, &next);
    if (found == Record::kTaken) {
      ids_.close();
      letters_.close();
      data = next;
      continue;
    }
    letters_.text.cut(before);
    ids_.text.cut(ids_before);
    const char* strange = data;
    if (found == Record::kStrange) {
      strange = kind_ == Kind::kFasta ? end_of_fasta(data, end, last) : end;
      if (!strange) strange = data;
    }
    return {static_cast<size_t>(data - begin), static_cast<size_t>(strange - begin)};
  }
  return {size, size};
}

void RecordScanner::append(std::string_view id, std::string_view letters) {
  ids_.text.append(id);
  ids_.close();
  letters_.text.append(letters);
  letters_.close();
}

// The first word of a title, without its '>' or '@'; false for one that ends or is written in another way than in ASCII.
bool RecordScanner::take_id(std::string_view title) {
  if (std::memchr(title.data(), '\r', title.size())) return false;
  const char* const end = title.data() + title.size();
  const char* const word = std::find_if_not(title.data(), end, is_space);
  const char* const stop = std::find_if_not(word, end, is_plain);
  if (stop < end && !is_space(*stop)) return false;
  ids_.text.append({word, static_cast<size_t>(stop - word)});
  return true;
}

// Letters of a line without white space; false for other bytes.
bool RecordScanner::take_letters(const char* data, size_t size) {
  uint8_t* out = letters_.text.room(size);
  if (copy_plain(data, size, out)) {
    letters_.text.advance(size);
    return true;
  }
  size_t kept = 0;
  for (size_t k = 0; k < size; k++) {
    if (is_plain(data[k]))
      out[kept++] = static_cast<uint8_t>(data[k]);
    else if (data[k] == '\r' || !is_space(data[k]))
      return false;
  }
  letters_.text.advance(kept);
  return true;
}

RecordScanner::Record RecordScanner::take_fasta(const char* data, const char* end, bool last, const char** next) {
  const Line title = line_at(data + 1, end, last);
  if (!title.next) return Record::kPartial;
  if (!take_id(title.text)) return Record::kStrange;
  const char* at = title.next;
  while (at < end && *at != '>') {
    const Line line = line_at(at, end, last);
    if (!line.next) return Record::kPartial;
    if (!take_letters(line.text.data(), line.text.size())) return Record::kStrange;
    at = line.next;
  }
  if (at == end && !last) return Record::kPartial;  // more lines of letters may follow
  *next = at;
  return Record::kTaken;
}

// Records of four lines, without blanks among letters and qualities.
RecordScanner::Record RecordScanner::take_fastq(const char* data, const char* end, bool last, const char** next) {
  if (*data != '@') return Record::kStrange;
  const Line title = line_at(data + 1, end, last);
  if (!title.next) return Record::kPartial;
  const Line letters = line_at(title.next, end, last);
  if (!letters.next) return Record::kPartial;
  const Line again = line_at(letters.next, end, last);
  if (!again.next) return Record::kPartial;
  const Line quality = line_at(again.next, end, last);
  if (!quality.next) return Record::kPartial;
  const size_t count = letters.text.size();
  if (!count || letters.text[0] == '+' || again.text.empty() || again.text[0] != '+' || quality.text.size() != count)
    return Record::kStrange;
  if (again.text.size() > 1 && again.text.substr(1) != title.text) return Record::kStrange;
  if (quality.next < end && *quality.next != '@') return Record::kStrange;
  if (quality.next == end && !last) return Record::kPartial;
  if (!take_id(title.text)) return Record::kStrange;
  uint8_t* const out = letters_.text.room(count);
  if (!copy_plain(quality.text.data(), count, out) || !copy_plain(letters.text.data(), count, out)) return Record::kStrange;
  letters_.text.advance(count);
  *next = quality.next;
  return Record::kTaken;
}

}  // namespace gpualign
