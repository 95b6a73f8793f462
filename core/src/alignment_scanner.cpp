#include "alignment_scanner.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gpualign {

namespace {

constexpr int64_t kDifferenceBytes = 5, kRunBytes = 8;  // of a sparse row

std::string printable(uint8_t byte) {
  if (byte > 32 && byte < 127) return std::string("'") + static_cast<char>(byte) + "'";
  static const char digits[] = "0123456789abcdef";
  return std::string("byte 0x") + digits[byte >> 4] + digits[byte & 15];
}

constexpr uint8_t kVaries = 1, kHasMissing = 2;  // flags of sites

// Sixteen codes at a time, in every compiler's vectors; comparisons give 255 or 0.
typedef uint8_t Codes __attribute__((vector_size(16)));
constexpr int64_t kLanes = 16, kBlock = 255 * kLanes;  // a lane counts to 255

Codes load(const uint8_t* from) {
  Codes out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

int64_t sum(Codes counts) {
  int64_t out = 0;
  for (int k = 0; k < kLanes; k++) out += counts[k];
  return out;
}

// What distinguishes some sites of a row: calls that differ from the reference, ends and beginnings of missing calls, and how many
// are missing.
struct Likeness {
  int64_t differences = 0, edges = 0, missing = 0;
};

// Compares a row with the reference; fills gaps of the reference, and flags sites.
void compare(const uint8_t* row, int64_t first, int64_t last, uint8_t* reference, uint8_t* flags, Likeness& likeness) {
  int64_t k = first;
  Codes differences{}, edges{}, absent{};
  for (; k + kLanes <= last; k += kLanes) {
    const Codes code = load(row + k), known = load(reference + k);
    const Codes missing = (Codes)(code == kMissing), unknown = (Codes)(known == kUnknown);
    const Codes differs = (Codes)(code != known) & ~missing & ~unknown, fills = unknown & ~missing;
    const Codes filled = (code & fills) | (known & ~fills), flagged = load(flags + k) | (differs & kVaries) | (missing & kHasMissing);
    std::memcpy(reference + k, &filled, sizeof filled);
    std::memcpy(flags + k, &flagged, sizeof flagged);
    differences -= differs;
    absent -= missing;
    if (k) edges -= (Codes)(missing != (Codes)(load(row + k - 1) == kMissing));
  }
  likeness.differences += sum(differences);
  likeness.edges += sum(edges);
  likeness.missing += sum(absent);
  for (; k < last; k++) {
    const bool missing = row[k] == kMissing, unknown = reference[k] == kUnknown, differs = !missing && !unknown && row[k] != reference[k];
    if (unknown && !missing) reference[k] = row[k];
    flags[k] = static_cast<uint8_t>(flags[k] | (differs ? kVaries : 0) | (missing ? kHasMissing : 0));
    likeness.differences += differs;
    likeness.missing += missing;
    likeness.edges += k && missing != (row[k - 1] == kMissing);
  }
}

// Codes of letters; whether some are no codes.
bool translate(const uint8_t* letters, size_t size, const uint8_t* table, uint8_t* __restrict codes) {
  for (size_t k = 0; k < size; k++) codes[k] = table[letters[k]];
  Codes found{};
  size_t k = 0;
  for (; k + kLanes <= size; k += kLanes) {
    const Codes some = load(codes + k);
    found |= (Codes)(some == kSkip) | (Codes)(some == kBad);
  }
  bool unusual = sum(found) != 0;
  for (; k < size; k++) unusual |= codes[k] == kSkip || codes[k] == kBad;
  return unusual;
}

}  // namespace

bool AlignmentScanner::varies(int64_t site) const { return flags_[static_cast<size_t>(site)] & kVaries; }
bool AlignmentScanner::has_missing(int64_t site) const { return flags_[static_cast<size_t>(site)] & kHasMissing; }

AlignmentScanner::AlignmentScanner(const uint8_t* table, int scratch, int64_t dense_bytes) : scratch_(scratch), dense_left_(dense_bytes) {
  std::memcpy(table_, table, sizeof table_);
}

std::string AlignmentScanner::record() const { return "record '" + ids_.back() + "' (number " + std::to_string(ids_.size()) + ")"; }

void AlignmentScanner::feed(const char* data, size_t size) {
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
      take_letters(data, static_cast<size_t>(line_end - data));
    }
    data = line_end;
    if (!stop) break;
    data++;
    line_start_ = true;
    if (state_ != State::kHeader) continue;
    const size_t first = header_.find_first_not_of(" \t\r\v\f");
    if (first == std::string::npos) throw std::invalid_argument("record " + std::to_string(ids_.size() + 1) + " has no id behind its '>'");
    ids_.push_back(header_.substr(first, header_.find_first_of(" \t\r\v\f", first) - first));
    state_ = State::kLetters;
    current_.clear();
    if (length_ > 0) current_.reserve(static_cast<size_t>(length_));
  }
}

void AlignmentScanner::take_letters(const char* data, size_t size) {
  if (size && data[size - 1] == '\r') size--;
  if (!size) return;
  if (state_ == State::kStart) {
    for (size_t k = 0; k < size; k++)
      if (table_[static_cast<uint8_t>(data[k])] != kSkip) throw std::invalid_argument("letters before the first '>'");
    return;
  }
  const size_t before = current_.size();
  current_.resize(before + size);
  const uint8_t* in = reinterpret_cast<const uint8_t*>(data);
  uint8_t* out = current_.data() + before;
  // A sample of letters is enough to tell nucleotides from amino acids.
  for (size_t k = 0, step = size > 4096 ? 61 : 1; k < size; k += step) histogram_[in[k]]++;
  if (!translate(in, size, table_, out)) return;
  size_t kept = 0;
  for (size_t k = 0; k < size; k++) {
    if (out[k] == kBad)
      throw std::invalid_argument(record() + ": " + printable(in[k]) + " at site " + std::to_string(before + kept + 1) +
                                  " is no letter of an alignment");
    if (out[k] != kSkip) out[kept++] = out[k];
  }
  current_.resize(before + kept);
}

void AlignmentScanner::finish() {
  if (state_ == State::kHeader) throw std::invalid_argument("record " + std::to_string(ids_.size() + 1) + " has no letters");
  if (state_ == State::kLetters) end_record();
  state_ = State::kStart;
  line_start_ = true;
}

void AlignmentScanner::end_record() {
  const int64_t found = static_cast<int64_t>(current_.size());
  if (length_ < 0) {
    if (found == 0) throw std::invalid_argument(record() + " has no letters");
    if (found > INT64_C(0x7fffffff)) throw std::invalid_argument(record() + " has more than 2^31 - 1 sites");
    length_ = found;
    reference_.assign(static_cast<size_t>(length_), kUnknown);
    flags_.assign(static_cast<size_t>(length_), 0);
  }
  if (found != length_)
    throw std::invalid_argument(record() + " has " + std::to_string(found) + " sites, the first record has " + std::to_string(length_) +
                                "; rows of an alignment are equally long");
  Likeness likeness;
  for (int64_t start = 0; start < length_; start += kBlock)
    compare(current_.data(), start, std::min(length_, start + kBlock), reference_.data(), flags_.data(), likeness);
  called_.push_back(length_ - likeness.missing);
  rows_.emplace_back();
  Row& kept = rows_.back();
  if (likeness.differences * kDifferenceBytes + (likeness.edges / 2 + 1) * kRunBytes < length_)
    keep_sparse(kept);
  else
    keep_dense(kept);
}

void AlignmentScanner::keep_sparse(Row& row) {
  const uint8_t* codes = current_.data();
  const uint8_t* reference = reference_.data();
  const uint32_t length = static_cast<uint32_t>(length_);
  for (uint32_t k = 0; k < length;) {
    if (k + 64 <= length && std::memcmp(codes + k, reference + k, 64) == 0) {  // the reference holds no kMissing
      k += 64;
      continue;
    }
    if (codes[k] == kMissing) {
      row.starts.push_back(k);
      while (k < length && codes[k] == kMissing) k++;
      row.stops.push_back(k);
      continue;
    }
    if (codes[k] != reference[k]) {
      row.sites.push_back(k);
      row.codes.push_back(codes[k]);
    }
    k++;
  }
  row.sites.shrink_to_fit();
  row.codes.shrink_to_fit();
  row.starts.shrink_to_fit();
  row.stops.shrink_to_fit();
  sparse_bytes_ += kDifferenceBytes * static_cast<int64_t>(row.sites.size()) + kRunBytes * static_cast<int64_t>(row.starts.size());
}

void AlignmentScanner::keep_dense(Row& row) {
  row.is_dense = true;
  if (length_ <= dense_left_) {
    dense_left_ -= length_;
    dense_bytes_ += length_;
    row.dense = std::move(current_);
    current_ = CodeBuffer();
    return;
  }
  row.offset = written_;
  for (int64_t done = 0; done < length_;) {
    const ssize_t wrote = pwrite(scratch_, current_.data() + done, static_cast<size_t>(length_ - done), row.offset + done);
    if (wrote <= 0) throw std::runtime_error("the scratch file cannot be written");
    done += wrote;
  }
  written_ += length_;
}

int64_t AlignmentScanner::nbytes() const {
  return sparse_bytes_ + dense_bytes_ + 3 * std::max<int64_t>(length_, 0) + static_cast<int64_t>(rows_.size() * sizeof(Row));
}

void AlignmentScanner::fill(const uint32_t* sites, int64_t count, bool calls_only, uint8_t* out) const {
  if (!count) return;
  const uint32_t first = sites[0], last = sites[count - 1];
  // rank[k]: how many of the sites lie before site first + k.
  std::vector<uint32_t> rank(last - first + 2);
  for (int64_t k = 0; k < count; k++) rank[sites[k] - first + 1] = 1;
  for (size_t k = 1; k < rank.size(); k++) rank[k] += rank[k - 1];
  std::vector<uint8_t> from_reference(static_cast<size_t>(count), 0);
  CodeBuffer from_file;
  if (!calls_only)
    for (int64_t k = 0; k < count; k++) from_reference[static_cast<size_t>(k)] = reference_[sites[k]];
  for (const Row& row : rows_) {
    if (row.is_dense) {
      const uint8_t* codes = row.dense.data() + first;
      if (row.offset >= 0) {
        from_file.resize(last - first + 1);
        for (size_t done = 0; done < from_file.size();) {
          const ssize_t got =
              pread(scratch_, from_file.data() + done, from_file.size() - done, row.offset + first + static_cast<int64_t>(done));
          if (got <= 0) throw std::runtime_error("the scratch file cannot be read");
          done += static_cast<size_t>(got);
        }
        codes = from_file.data();
      }
      if (last - first + 1 == count && !calls_only)
        std::memcpy(out, codes, static_cast<size_t>(count));
      else
        for (int64_t k = 0; k < count; k++) {
          const uint8_t code = codes[sites[k] - first];
          out[k] = calls_only && code != kMissing ? 0 : code;
        }
    } else {
      std::memcpy(out, from_reference.data(), static_cast<size_t>(count));
      if (!calls_only) {
        const size_t begin = static_cast<size_t>(std::lower_bound(row.sites.begin(), row.sites.end(), first) - row.sites.begin());
        for (size_t k = begin; k < row.sites.size() && row.sites[k] <= last; k++) {
          const uint32_t place = row.sites[k] - first;
          if (rank[place + 1] != rank[place]) out[rank[place]] = row.codes[k];
        }
      }
      const size_t begin = static_cast<size_t>(std::upper_bound(row.stops.begin(), row.stops.end(), first) - row.stops.begin());
      for (size_t k = begin; k < row.starts.size() && row.starts[k] <= last; k++) {
        const uint32_t from = rank[std::max(row.starts[k], first) - first], to = rank[std::min(row.stops[k], last + 1) - first];
        std::memset(out + from, kMissing, to - from);
      }
    }
    out += count;
  }
}

}  // namespace gpualign
