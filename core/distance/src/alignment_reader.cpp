#include "alignment_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "row_codes.hpp"

namespace gpualign {

namespace {

constexpr int64_t kDifferenceBytes = 5, kRunBytes = 8;  // memory of a sparse row per difference and per run
constexpr size_t kReadSize = 256 << 10;                 // bytes read at a time, which stay in L2 until they are compared
constexpr uint8_t kNoLetter = '\n';                     // for sites without a call in the reference, as no line contains it

std::string printable(uint8_t byte) {
  if (byte > 32 && byte < 127) return std::string("'") + static_cast<char>(byte) + "'";
  static const char digits[] = "0123456789abcdef";
  return std::string("byte 0x") + digits[byte >> 4] + digits[byte & 15];
}

// A sample of letters is enough to distinguish nucleotides from amino acids. It depends on the site only, so it is the same however the
// text is cut into pieces.
constexpr int64_t kSampledSites = 128;  // a power of 2
bool is_sampled(int64_t site) { return site < kSampledSites || site % kSampledSites == 0; }

// Returns the offset of the first record in a text, or `size` if there is none. line_start: the text begins at the start of a line.
size_t record_start(const char* text, size_t size, bool line_start) {
  for (size_t at = 0; at < size;) {
    const void* match = std::memchr(text + at, '>', size - at);
    if (!match) return size;
    at = static_cast<size_t>(static_cast<const char*>(match) - text);
    if (at ? text[at - 1] == '\n' : line_start) return at;
    at++;
  }
  return size;
}

// Reads up to `size` bytes, fewer only at the end of the file. Returns the number of bytes read.
size_t read_at(int file, char* out, size_t size, int64_t offset) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(file, out + done, size - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category());
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

// Throws std::runtime_error with the system's reason. result: of pwrite or pread
[[noreturn]] void throw_scratch_error(const char* what, ssize_t result) {
  const std::string reason = result < 0 ? std::generic_category().message(errno) : "nothing was transferred";
  throw std::runtime_error(std::string("the scratch file cannot be ") + what + ": " + reason);
}

}  // namespace

void DenseRows::store(CodeBuffer& codes, Row& row) {
  const int64_t size = static_cast<int64_t>(codes.size());
  row.is_dense = true;
  if (left_.fetch_sub(size) >= size) {
    held_ += size;
    row.dense = std::move(codes);
    codes = CodeBuffer();
    return;
  }
  left_ += size;
  row.offset = written_.fetch_add(size);
  for (int64_t done = 0; done < size;) {
    const ssize_t wrote = pwrite(file_, codes.data() + done, static_cast<size_t>(size - done), row.offset + done);
    if (wrote <= 0) throw_scratch_error("written", wrote);
    done += wrote;
  }
}

const uint8_t* DenseRows::codes(const Row& row, int64_t first, int64_t last, CodeBuffer& buffer) const {
  if (row.offset < 0) return row.dense.data() + first;
  buffer.resize(static_cast<size_t>(last - first + 1));
  for (size_t done = 0; done < buffer.size();) {
    const ssize_t got = pread(file_, buffer.data() + done, buffer.size() - done, row.offset + first + static_cast<int64_t>(done));
    if (got <= 0) throw_scratch_error("read", got);
    done += static_cast<size_t>(got);
  }
  return buffer.data();
}

void Records::append(Records&& more) {
  std::move(more.ids.begin(), more.ids.end(), std::back_inserter(ids));
  called.insert(called.end(), more.called.begin(), more.called.end());
  std::move(more.rows.begin(), more.rows.end(), std::back_inserter(rows));
}

std::string Refusal::message(int64_t earlier) const {
  if (!record) return what;
  const std::string number = std::to_string(earlier + record);
  return "record " + (id.empty() ? number : "'" + id + "' (number " + number + ")") + what;
}

AlignmentReader::AlignmentReader(const uint8_t* table, uint32_t number, DenseRows& dense) : number_(number), dense_(dense) {
  std::memcpy(table_, table, sizeof table_);
}

void AlignmentReader::follow(const AlignmentReader& first) {
  if (length_ < 0) {
    length_ = first.length_;
    reference_ = first.reference_;
  }
  const auto sites = static_cast<size_t>(length_);
  letters_.assign(sites, kNoLetter);
  flags_.assign(sites, 0);
  translates_ = first.translates_;
}

void AlignmentReader::merge(const AlignmentReader& other) {
  const auto sites = static_cast<size_t>(length_);
  for (size_t k = 0; k < sites; k++) {
    const uint8_t own_call = reference_[k], other_call = other.reference_[k];
    const bool both = own_call != kUnknown && other_call != kUnknown;
    flags_[k] = static_cast<uint8_t>(flags_[k] | other.flags_[k] | (both && own_call != other_call ? kVaries : 0));
    reference_[k] = own_call == kUnknown ? other_call : own_call;
  }
}

void AlignmentReader::release_buffers() {
  std::vector<uint8_t>().swap(letters_);
  std::vector<uint8_t>().swap(flags_);
  std::string().swap(buffer_);
}

int64_t AlignmentReader::nbytes() const {
  return sparse_bytes_ + static_cast<int64_t>(reference_.size() + letters_.size() + flags_.size());
}

Records AlignmentReader::take() {
  Records out;
  std::swap(out, records_);
  out.ids.resize(out.rows.size());
  return out;
}

void AlignmentReader::refuse(const std::string& what) const {
  throw Refusal{static_cast<int64_t>(records_.ids.size()), records_.ids.back(), what};
}

void AlignmentReader::refuse_letter(uint8_t byte, int64_t site) const {
  refuse(": " + printable(byte) + " at site " + std::to_string(site + 1) + " is no letter of an alignment");
}

void AlignmentReader::read(int file, int64_t begin, int64_t end, int64_t stop, bool first) {
  buffer_.resize(kReadSize);
  bool in_record = first;
  line_start_ = true;
  if (!first) {
    char previous = 0;
    read_at(file, &previous, 1, begin - 1);
    line_start_ = previous == '\n';
  }
  for (int64_t at = begin; at < stop;) {
    const size_t read_size = static_cast<size_t>(std::min<int64_t>(kReadSize, (at < end ? end : stop) - at));
    const size_t size = read_at(file, buffer_.data(), read_size, at);
    if (!size) break;  // the file has been truncated meanwhile
    const char* text = buffer_.data();
    if (!in_record) {
      const size_t start = record_start(text, size, line_start_);
      in_record = start < size;
      line_start_ = in_record || text[size - 1] == '\n';
      if (in_record) feed(text + start, size - start);
    } else {
      const size_t next = at < end ? size : record_start(text, size, line_start_);
      feed(text, next);
      if (next < size) break;
    }
    at += static_cast<int64_t>(size);
    if (!in_record && at >= end) return;
  }
  finish();
}

void AlignmentReader::feed(const char* data, size_t size) {
  const char* const end = data + size;
  while (data < end) {
    if (line_start_ && *data == '>') {
      if (state_ == State::kLetters) end_record();
      state_ = State::kHeader;
      header_.clear();
      data++;
    }
    line_start_ = false;
    const char* stop = static_cast<const char*>(std::memchr(data, '\n', static_cast<size_t>(end - data)));
    const char* const line_end = stop ? stop : end;
    if (state_ == State::kHeader) {
      header_.append(data, line_end);
    } else {
      take_letters(reinterpret_cast<const uint8_t*>(data), static_cast<size_t>(line_end - data));
    }
    data = line_end;
    if (!stop) break;
    data++;
    line_start_ = true;
    if (state_ == State::kHeader) begin_record();
  }
}

void AlignmentReader::begin_record() {
  const size_t first = header_.find_first_not_of(" \t\r\v\f");
  if (first == std::string::npos) throw Refusal{static_cast<int64_t>(records_.ids.size()) + 1, "", " has no id behind its '>'"};
  records_.ids.push_back(header_.substr(first, header_.find_first_of(" \t\r\v\f", first) - first));
  state_ = State::kLetters;
  site_ = 0;
  current_.clear();
  if (translates_ && length_ > 0) current_.reserve(static_cast<size_t>(length_));
  sites_.clear();
  codes_.clear();
  starts_.clear();
  stops_.clear();
}

void AlignmentReader::take_letters(const uint8_t* in, size_t size) {
  if (size && in[size - 1] == '\r') size--;
  if (!size) return;
  if (state_ == State::kStart) {
    for (size_t k = 0; k < size; k++)
      if (table_[in[k]] != kSkip) throw Refusal{0, "", "letters before the first '>'"};
    return;
  }
  if (translates_) {
    translate_letters(in, size);
    return;
  }
  const size_t done = site_ + static_cast<int64_t>(size) <= length_ ? match(in, size) : 0;
  if (done < size) take_each(in + done, size - done);
}

void AlignmentReader::translate_letters(const uint8_t* in, size_t size) {
  const size_t old_size = current_.size();
  current_.resize(old_size + size);
  uint8_t* out = current_.data() + old_size;
  if (!translate(in, size, table_, out)) {
    sample(in, static_cast<int64_t>(old_size), size);
    return;
  }
  size_t valid_count = 0;
  for (size_t k = 0; k < size; k++) {
    const int64_t site = static_cast<int64_t>(old_size + valid_count);
    if (out[k] == kBad) refuse_letter(in[k], site);
    if (out[k] == kSkip) continue;
    if (is_sampled(site)) histogram_[in[k]]++;
    out[valid_count++] = out[k];
  }
  current_.resize(old_size + valid_count);
}

// Compares letters with those of the reference and examines those that differ. Returns the number of letters taken, up to the first byte
// that is not a letter of a row.
size_t AlignmentReader::match(const uint8_t* in, size_t size) {
  const uint8_t* known = letters_.data() + site_;
  size_t taken = 0, stop = size;
  const auto take = [&](size_t count, uint64_t differing) {
    const size_t some = differing ? examine(in + taken, site_ + static_cast<int64_t>(taken), differing) : count;
    if (some < count) stop = taken + some;
    taken += std::min(some, count);
  };
  const auto take_words = [&](size_t end) {
    while (taken + kWord <= end && taken < stop) take(kWord, load_word(in + taken) ^ load_word(known + taken));
  };
  while (taken + kSkim <= stop) {
    if (skim(in + taken, known + taken))
      taken += kSkim;
    else
      take_words(taken + kSkim);
  }
  if (taken < stop && size >= kSkim && skim(in + size - kSkim, known + size - kSkim)) taken = size;
  take_words(stop);
  if (taken < stop) {
    const size_t remaining = stop - taken;
    uint64_t one = 0, other = 0;
    std::memcpy(&one, in + taken, remaining);
    std::memcpy(&other, known + taken, remaining);
    take(remaining, one ^ other);
  }
  sample(in, site_, taken);
  site_ += static_cast<int64_t>(taken);
  return taken;
}

// Examines those of eight letters that differ from the known ones. Returns the number of letters taken.
size_t AlignmentReader::examine(const uint8_t* in, int64_t site, uint64_t differing) {
  // Words are little-endian, as in the packing of planes: the first letter is the lowest byte.
  while (differing) {
    const int k = __builtin_ctzll(differing) / 8;
    differing &= ~(uint64_t{255} << 8 * k);
    const uint8_t code = table_[in[k]];
    if (code == kMissing)
      miss(site + k, 1);
    else if (code >= kBad)
      return static_cast<size_t>(k);
    else
      call(site + k, code, in[k]);
  }
  return kWord;
}

// Examines letters one by one: those mixed with white space, or beyond the end of other rows, which are only counted.
void AlignmentReader::take_each(const uint8_t* in, size_t size) {
  for (size_t k = 0; k < size; k++) {
    const uint8_t code = table_[in[k]];
    if (code == kBad) refuse_letter(in[k], site_);
    if (code == kSkip) continue;
    if (is_sampled(site_)) histogram_[in[k]]++;
    if (site_ < length_) {
      if (code == kMissing)
        miss(site_, 1);
      else
        call(site_, code, in[k]);
    }
    site_++;
  }
}

void AlignmentReader::call(int64_t site, uint8_t code, uint8_t letter) {
  const auto k = static_cast<size_t>(site);
  if (reference_[k] == kUnknown) reference_[k] = code;
  if (reference_[k] == code) {
    letters_[k] = letter;  // upper or lower case, as in the latest row
    return;
  }
  flags_[k] |= kVaries;
  sites_.push_back(static_cast<uint32_t>(site));
  codes_.push_back(code);
}

void AlignmentReader::miss(int64_t site, int64_t count) {
  const auto first = static_cast<uint32_t>(site), last = static_cast<uint32_t>(site + count);
  if (!stops_.empty() && stops_.back() == first) {
    stops_.back() = last;
    return;
  }
  starts_.push_back(first);
  stops_.push_back(last);
}

void AlignmentReader::sample(const uint8_t* in, int64_t site, size_t size) {
  const int64_t last = site + static_cast<int64_t>(size);
  int64_t next = site;
  for (; next < std::min(last, kSampledSites); next++) histogram_[in[next - site]]++;
  next += -next & (kSampledSites - 1);
  for (; next < last; next += kSampledSites) histogram_[in[next - site]]++;
}

void AlignmentReader::finish() {
  if (state_ == State::kHeader) throw Refusal{static_cast<int64_t>(records_.ids.size()) + 1, "", " has no letters"};
  if (state_ == State::kLetters) end_record();
  state_ = State::kStart;
  line_start_ = true;
}

void AlignmentReader::end_record() {
  const int64_t sites = translates_ ? static_cast<int64_t>(current_.size()) : site_;
  if (length_ < 0) {
    if (sites == 0) refuse(" has no letters");
    if (sites > INT64_C(0x7fffffff)) refuse(" has more than 2^31 - 1 sites");
    length_ = sites;
    reference_.assign(static_cast<size_t>(length_), kUnknown);
    letters_.assign(static_cast<size_t>(length_), kNoLetter);
    flags_.assign(static_cast<size_t>(length_), 0);
  }
  if (sites != length_)
    refuse(" has " + std::to_string(sites) + " sites, the first record has " + std::to_string(length_) +
           "; rows of an alignment are equally long: align the sequences first, for instance with mafft, or compare them as they are by"
           " edit distance (gpualign nw)");
  Row row;
  row.reader = number_;
  if (translates_)
    end_translated(row);
  else
    end_matched(row);
  translates_ = row.is_dense;
  records_.rows.push_back(std::move(row));
}

void AlignmentReader::end_translated(Row& row) {
  RowComparison comparison;
  for (int64_t start = 0; start < length_; start += kBlock)
    compare(current_.data(), start, std::min(length_, start + kBlock), reference_.data(), flags_.data(), comparison);
  records_.called.push_back(length_ - comparison.missing);
  if (comparison.differences * kDifferenceBytes + (comparison.edges / 2 + 1) * kRunBytes >= length_) {
    dense_.store(current_, row);
    return;
  }
  find_differences();
  keep_sparse(row);
}

void AlignmentReader::end_matched(Row& row) {
  int64_t missing = 0;
  for (size_t k = 0; k < starts_.size(); k++) {
    missing += stops_[k] - starts_[k];
    for (uint32_t site = starts_[k]; site < stops_[k]; site++) flags_[site] |= kHasMissing;
  }
  records_.called.push_back(length_ - missing);
  if (kDifferenceBytes * static_cast<int64_t>(sites_.size()) + kRunBytes * static_cast<int64_t>(starts_.size()) < length_) {
    keep_sparse(row);
    return;
  }
  // At sites where the reference was unknown, this row has set it or has no call.
  current_.assign(reference_.begin(), reference_.end());
  for (size_t k = 0; k < sites_.size(); k++) current_[sites_[k]] = codes_[k];
  for (size_t k = 0; k < starts_.size(); k++) std::fill(current_.begin() + starts_[k], current_.begin() + stops_[k], kMissing);
  dense_.store(current_, row);
}

// Finds the differences of a row that was translated.
void AlignmentReader::find_differences() {
  const uint8_t* codes = current_.data();
  const uint8_t* reference = reference_.data();
  for (int64_t k = 0; k < length_;) {
    if (k + static_cast<int64_t>(kSkim) <= length_ && skim(codes + k, reference + k)) {  // the reference has no kMissing
      k += kSkim;
      continue;
    }
    if (codes[k] == kMissing) {
      miss(k, 1);
    } else if (codes[k] != reference[k]) {
      sites_.push_back(static_cast<uint32_t>(k));
      codes_.push_back(codes[k]);
    }
    k++;
  }
}

void AlignmentReader::keep_sparse(Row& row) {
  row.sites = sites_;
  row.codes = codes_;
  row.starts = starts_;
  row.stops = stops_;
  sparse_bytes_ += kDifferenceBytes * static_cast<int64_t>(sites_.size()) + kRunBytes * static_cast<int64_t>(starts_.size());
}

}  // namespace gpualign
