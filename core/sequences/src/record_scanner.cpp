#include "record_scanner.hpp"

#include <algorithm>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace gpualign {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }
// Returns whether c is printable ASCII other than a blank, or DEL. Non-ASCII bytes are negative.
bool is_plain(char c) { return c > ' '; }

// Copies the plain bytes at `from`, up to `end`, and returns their number. `to` must have kSlack spare bytes: blocks are so large that most
// ids and short sequences take one step.
size_t copy_plain(const char* from, const char* end, uint8_t* to) {
  const char* at = from;
#if defined(__SSE2__)
  for (const __m128i blank = _mm_set1_epi8(' '); end - at >= 32; at += 32) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i more = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + (at - from)), some);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + (at - from) + 16), more);
    const unsigned plain = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpgt_epi8(some, blank))) |
                           static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpgt_epi8(more, blank))) << 16;
    if (plain != 0xFFFFFFFF) return static_cast<size_t>(at - from + __builtin_ctz(~plain));
  }
#elif defined(__aarch64__)
  for (; end - at >= 16; at += 16) {
    const int8x16_t some = vld1q_s8(reinterpret_cast<const int8_t*>(at));
    vst1q_s8(reinterpret_cast<int8_t*>(to + (at - from)), some);
    const uint8x16_t other = vcleq_s8(some, vdupq_n_s8(' '));
    // Four bits per byte, as NEON cannot collect single ones.
    const uint64_t others = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(other), 4)), 0);
    if (others) return static_cast<size_t>(at - from + __builtin_ctzll(others) / 4);
  }
#endif
  for (; at < end && is_plain(*at); at++) to[at - from] = static_cast<uint8_t>(*at);
  return static_cast<size_t>(at - from);
}

// A line without its end, and the start of the next one; null if the line is not complete.
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

// Returns the end of the FASTA record at `data`, whatever it contains; null if it is not complete.
const char* end_of_fasta(const char* data, const char* end, bool last) {
  for (const char* at = data;;) {
    at = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    if (!at || at + 1 == end) return last ? end : nullptr;
    if (*++at == '>') return at;
  }
}

}  // namespace

RecordScanner::Fed RecordScanner::feed(const char* data, size_t size, bool last, size_t limit) {
  const char* const begin = data;
  const char* const end = data + size;
  const char* const stop = data + std::min(size, limit);
  for (StringColumn* column : {&ids_, &letters_}) column->text.room(size + kSlack);
  while (data < stop) {
    const size_t old_letters = letters_.text.size(), old_ids = ids_.text.size(), old_descriptions = descriptions_.text.size();
    const char* next = nullptr;
    const Record result = kind_ == Kind::kFasta ? take_fasta(data, end, last, &next) : take_fastq(data, end, last, &next);
    if (result == Record::kTaken) {
      ids_.close();
      letters_.close();
      if (described_) descriptions_.close();
      data = next;
      continue;
    }
    letters_.text.cut(old_letters);
    ids_.text.cut(old_ids);
    descriptions_.text.cut(old_descriptions);
    const char* strange = data;
    if (result == Record::kStrange) {
      strange = kind_ == Kind::kFasta ? end_of_fasta(data, end, last) : end;
      if (!strange) strange = data;
    }
    return {static_cast<size_t>(data - begin), static_cast<size_t>(strange - begin)};
  }
  return {static_cast<size_t>(data - begin), static_cast<size_t>(data - begin)};
}

Kinds RecordScanner::count_kinds(const KindRules& rules) {
  const size_t first = counted_;
  counted_ = letters_.count();
  Kinds kinds;
  kinds.add(gpualign::count_kinds(letters_.text.begin(), letters_.ends.begin() + first, static_cast<int64_t>(counted_ - first), rules),
            static_cast<int64_t>(first));
  return kinds;
}

size_t RecordScanner::encode(const Encoding& encoding) {
  uint8_t* const letters = letters_.text.begin() + encoded_;
  const size_t count = letters_.text.size() - encoded_;
  const int64_t bad = encoding.encode(letters, static_cast<int64_t>(count), letters);
  return encoded_ += bad < 0 ? count : static_cast<size_t>(bad);
}

void RecordScanner::append(std::string_view id, std::string_view letters, std::string_view description) {
  ids_.append(id);
  letters_.append(letters);
  if (described_) descriptions_.append(description);
}

// Parses the first word of a title and, on request, the rest of it. `at` is after the '>' or '@'. The end of the line is searched for only
// if there is more than one word, which is rare.
RecordScanner::Record RecordScanner::take_title(const char* at, const char* end, bool last, const char** next) {
  while (at < end && is_blank(*at)) at++;
  const size_t word = copy_plain(at, end, ids_.text.tail());
  ids_.text.advance(word);
  at += word;
  if (at < end && *at == '\n') {
    *next = at + 1;
    return Record::kTaken;
  }
  const Line rest = line_at(at, end, last);
  if (!rest.next) return Record::kPartial;
  *next = rest.next;
  if (described_) {
    std::string_view text = rest.text;
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    descriptions_.text.append(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
  const bool strange = !rest.text.empty() && (!is_blank(rest.text[0]) || std::memchr(rest.text.data(), '\r', rest.text.size()));
  return strange ? Record::kStrange : Record::kTaken;
}

RecordScanner::Record RecordScanner::take_fasta(const char* data, const char* end, bool last, const char** next) {
  const char* at;
  if (const Record title = take_title(data + 1, end, last, &at); title != Record::kTaken) return title;
  bool line_starts = true;
  while (at < end && !(line_starts && *at == '>')) {
    const size_t plain = copy_plain(at, end, letters_.text.tail());
    letters_.text.advance(plain);
    at += plain;
    if (at == end) break;
    if (*at == '\r') {
      if (at + 1 == end && !last) return Record::kPartial;
      if (at + 1 < end && *++at != '\n') return Record::kStrange;
    }
    if (!is_blank(*at) && *at != '\n' && *at != '\r') return Record::kStrange;
    line_starts = *at++ == '\n';
  }
  if (at == end && !last) return Record::kPartial;  // more letters may follow
  *next = at;
  return Record::kTaken;
}

// Parses a record of four lines, without blanks in letters and qualities.
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
  const char* next_line;
  if (take_title(data + 1, end, last, &next_line) != Record::kTaken) return Record::kStrange;
  uint8_t* const out = letters_.text.tail();
  if (copy_plain(quality.text.data(), end, out) != count || copy_plain(letters.text.data(), end, out) != count) return Record::kStrange;
  letters_.text.advance(count);
  *next = quality.next;
  return Record::kTaken;
}

}  // namespace gpualign
