#include "file_scan.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "core/common/src/threads.hpp"

namespace gpualign {

namespace {

constexpr int64_t kMaxPieces = 8;    // text that a thread holds at most, in pieces
constexpr int64_t kMarginPart = 64;  // a piece is read with one part in 64 of what follows, where its last record probably ends
constexpr size_t kHeldPieces = 3;    // that a thread holds on average: one in work, others that wait for an earlier one
constexpr auto kTime = std::chrono::milliseconds(100);

// A line without its '\n'; null if its end is not in the text.
const char* end_of_line(const char* at, const char* end) {
  return at < end ? static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at))) : nullptr;
}

// Returns whether a FASTQ record seems to begin at the line `at`. The line of qualities may also begin with '@', but two lines after it are
// letters, which do not begin with '+'.
bool looks_like_fastq(const char* at, const char* end) {
  if (*at != '@') return false;
  for (int line = 0; line < 2; line++) {
    at = end_of_line(at, end);
    if (!at++) return false;
  }
  return at < end && *at == '+';
}

// Places of a piece's strings in the common column.
struct Place {
  size_t text, string;
};

// The records that begin in one piece.
struct Piece {
  Piece(RecordScanner::Kind kind, bool described) : records(kind, 0, described) {}

  RecordScanner records;
  GrowingArray<uint8_t> text;  // of the file; then codes of the letters
  int64_t number = 0;
  int64_t begin = 0, end = 0;  // positions in the file
  int64_t first = -1;          // position of the first record, -1 if there is none
  int64_t next = 0;            // position after the last record
  bool blocked = false;        // whether the record at `next` begins in this piece
  size_t encoded = 0;          // number of leading letters that have codes
  Kinds kinds;
  bool fits = false;            // whether the records of earlier pieces end where those of this one begin
  std::array<Place, 3> places;  // of the ids, letters and descriptions
};

bool has_room(const StringColumn& all, const StringColumn& more) {
  return all.text.has_room(more.text.size()) && all.ends.has_room(more.count());
}

void make_room(StringColumn& all, const StringColumn& more) {
  all.text.room(more.text.size());
  all.ends.room(more.count());
}

Place take_place(StringColumn& all, const StringColumn& more) {
  const Place place{all.text.size(), all.ends.size()};
  all.text.advance(more.text.size());
  all.ends.advance(more.count());
  return place;
}

// first: the first `size` bytes, instead of those of `more`.
void fill(StringColumn& all, const Place& place, const StringColumn& more, const uint8_t* first = nullptr, size_t size = 0) {
  uint8_t* const text = all.text.begin() + place.text;
  if (size) std::memcpy(text, first, size);
  if (size < more.text.size()) std::memcpy(text + size, more.text.begin() + size, more.text.size() - size);
  int64_t* const ends = all.ends.begin() + place.string;
  const int64_t* const own = more.ends.begin() + 1;
  const size_t count = more.count();
  for (size_t k = 0; k < count; k++) ends[k] = own[k] + static_cast<int64_t>(place.text);
}

class Scan {
 public:
  Scan(RecordScanner& all, const FileRange& range, const KindRules& rules, const Encoding* encoding, int64_t piece_size)
      : all_(all), range_(range), rules_(rules), encoding_(encoding), piece_size_(piece_size),
        pieces_((range.stop - range.start + piece_size - 1) / piece_size), encodes_(encoding && all.encoded() == all.letters().text.size()),
        next_(range.start) {
    reserve();
  }

  FileScan run(int threads) {
    spare_ = kHeldPieces * static_cast<size_t>(threads);
    run_threads(threads, [&](int) {
      try {
        while (std::unique_ptr<Piece> piece = take_piece()) {
          scan(*piece);
          append(std::move(piece));
        }
      } catch (...) {  // no thread may wait for this one
        const std::lock_guard<std::mutex> lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
        throw;
      }
    });
    return {next_, stopped_, kinds_};
  }

 private:
  void reserve();
  std::unique_ptr<Piece> take_piece();
  void scan(Piece& piece) const;
  bool read(GrowingArray<uint8_t>& text, int64_t position, int64_t bytes) const;
  size_t find_record(const GrowingArray<uint8_t>& text, size_t limit) const;
  void append(std::unique_ptr<Piece> piece);
  bool take_places(Piece& piece);
  void copy(const Piece& piece) const;

  RecordScanner& all_;
  const FileRange range_;
  const KindRules& rules_;
  const Encoding* const encoding_;
  const int64_t piece_size_, pieces_;
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + kTime;
  std::atomic<bool> encodes_;  // whether all letters so far are codes; may be read too late, which wastes some encoding

  // Guards what follows, and the sizes of the common columns.
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t taken_ = 0;     // number of pieces that threads have taken
  int64_t appended_ = 0;  // number of pieces whose records have their places
  int64_t next_;          // position after their last record
  bool stopped_ = false;
  Kinds kinds_;
  std::map<int64_t, std::unique_ptr<Piece>> scanned_;  // pieces that wait for an earlier one
  std::vector<std::unique_ptr<Piece>> free_;           // memory for pieces
  size_t spare_ = 0;                                   // number of pieces for which memory may still be allocated
  // Held by threads that copy to the common columns, and exclusively by one that moves these to larger memory. It is acquired while holding
  // `mutex_`, so no other thread starts to copy in the meantime, and released without it.
  std::shared_mutex memory_;
};

// Reserves memory for the strings that are expected, judging by the records so far. Too much costs nothing, and if it is too little, more
// is allocated later.
void Scan::reserve() {
  size_t held = 1;
  const std::array<StringColumn*, 3> columns{&all_.ids(), &all_.letters(), &all_.descriptions()};
  for (const StringColumn* column : columns) held += column->text.size();
  const double growth = 1 + 1.1 * static_cast<double>(range_.stop - range_.start) / static_cast<double>(held);
  for (StringColumn* column : columns) {
    const size_t most = column->text.size() + static_cast<size_t>(range_.stop - range_.start);
    column->text.reserve(std::min(most, static_cast<size_t>(growth * static_cast<double>(column->text.size()))));
    column->ends.reserve(static_cast<size_t>(growth * static_cast<double>(column->ends.size())));
  }
}

// Returns the next piece to be scanned; null if there is none, or time is up.
//
// A piece that is taken must also be appended, because later ones wait for it. Pieces are taken in order, so the first one that has not
// been appended is always in work, and its thread never waits: it frees what others wait for.
std::unique_ptr<Piece> Scan::take_piece() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || taken_ == pieces_ || spare_ || !free_.empty(); });
  if (stopped_ || taken_ == pieces_ || (taken_ && std::chrono::steady_clock::now() >= end_)) return nullptr;
  std::unique_ptr<Piece> piece;
  if (free_.empty()) {
    piece = std::make_unique<Piece>(all_.kind(), all_.described());
    spare_--;
  } else {
    piece = std::move(free_.back());
    free_.pop_back();
  }
  piece->number = taken_++;
  return piece;
}

// Reads up to `bytes` more bytes; returns whether there were any. Errors are left to the caller, who will read the same bytes again.
bool Scan::read(GrowingArray<uint8_t>& text, int64_t position, int64_t bytes) const {
  bytes = std::min(bytes, range_.stop - position);
  if (bytes <= 0) return false;
  text.room(static_cast<size_t>(bytes));
  const size_t before = text.size();
  while (bytes > 0) {
    const ssize_t count = pread(range_.file, text.tail(), static_cast<size_t>(bytes), position);
    if (count <= 0) break;
    text.advance(static_cast<size_t>(count));
    position += count;
    bytes -= count;
  }
  return text.size() > before;
}

// Returns the index of the first record that begins after the first byte and before `limit`, or 0.
size_t Scan::find_record(const GrowingArray<uint8_t>& text, size_t limit) const {
  const char* const begin = reinterpret_cast<const char*>(text.begin());
  const char* const end = begin + text.size();
  const char* const stop = begin + std::min(limit, text.size());
  if (all_.kind() == RecordScanner::Kind::kFasta) {
    for (const char* at = begin; ++at < stop;) {
      at = static_cast<const char*>(std::memchr(at, '>', static_cast<size_t>(stop - at)));
      if (!at) return 0;
      if (at[-1] == '\n') return static_cast<size_t>(at - begin);
    }
    return 0;
  }
  for (const char* at = begin; (at = end_of_line(at, stop)) && ++at < stop;)
    if (looks_like_fastq(at, end)) return static_cast<size_t>(at - begin);
  return 0;
}

void Scan::scan(Piece& piece) const {
  piece.records.clear();
  piece.text.cut(0);
  piece.begin = range_.start + piece.number * piece_size_;
  piece.end = std::min(piece.begin + piece_size_, range_.stop);
  piece.first = -1;
  piece.blocked = false;
  piece.encoded = 0;
  piece.kinds = Kinds();
  // The byte before the piece tells whether a line begins at its first byte.
  const int64_t start = piece.number ? piece.begin - 1 : piece.begin;
  const size_t limit = static_cast<size_t>(piece.end - start);
  read(piece.text, start, piece.end - start + piece_size_ / kMarginPart + 1);
  size_t taken = piece.number ? find_record(piece.text, limit) : 0;
  if (piece.number && !taken) return;
  piece.first = start + static_cast<int64_t>(taken);
  while (taken < limit) {
    const RecordScanner::Fed fed =
        piece.records.feed(reinterpret_cast<const char*>(piece.text.begin()) + taken, piece.text.size() - taken, false, limit - taken);
    taken += fed.taken;
    if (taken >= limit) break;
    const int64_t held = static_cast<int64_t>(piece.text.size());
    if (fed.strange != fed.taken || held >= kMaxPieces * piece_size_ || !read(piece.text, start + held, held)) {
      piece.blocked = true;
      break;
    }
  }
  piece.next = start + static_cast<int64_t>(taken);
  piece.kinds = piece.records.count_kinds(rules_);
  if (!encodes_.load(std::memory_order_relaxed)) return;
  // The text has been parsed, and is at least as long as the letters.
  const GrowingArray<uint8_t>& letters = piece.records.letters().text;
  const int64_t count = static_cast<int64_t>(letters.size()), bad = encoding_->encode(letters.begin(), count, piece.text.begin());
  piece.encoded = static_cast<size_t>(bad < 0 ? count : bad);
}

// Gives the records of this piece, and of those that wait for it, their places, and copies them there; or lets the piece wait.
void Scan::append(std::unique_ptr<Piece> piece) {
  std::vector<std::unique_ptr<Piece>> placed;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    scanned_.emplace(piece->number, std::move(piece));
    while (!stopped_ && !scanned_.empty() && scanned_.begin()->first == appended_) {
      placed.push_back(std::move(scanned_.begin()->second));
      scanned_.erase(scanned_.begin());
      stopped_ = !take_places(*placed.back());
      appended_++;
    }
    if (placed.empty()) return;
    const std::shared_lock<std::shared_mutex> copying(memory_);
    lock.unlock();
    for (const std::unique_ptr<Piece>& one : placed) copy(*one);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::unique_ptr<Piece>& one : placed) free_.push_back(std::move(one));
  changed_.notify_all();
}

// Extends the common columns by the places of a piece's records. Returns false if the scan ends with it.
bool Scan::take_places(Piece& piece) {
  piece.fits = piece.first < 0 ? next_ >= piece.end : piece.first == next_;
  if (!piece.fits || piece.first < 0) return piece.fits;
  const std::array<std::pair<StringColumn*, const StringColumn*>, 3> columns{{{&all_.ids(), &piece.records.ids()},
                                                                              {&all_.letters(), &piece.records.letters()},
                                                                              {&all_.descriptions(), &piece.records.descriptions()}}};
  if (!std::all_of(columns.begin(), columns.end(), [](const auto& one) { return has_room(*one.first, *one.second); })) {
    const std::unique_lock<std::shared_mutex> moving(memory_);
    for (const auto& [all, own] : columns) make_room(*all, *own);
  }
  kinds_.add(piece.kinds, static_cast<int64_t>(all_.ids().count()));
  if (all_.encoded() != all_.letters().text.size()) piece.encoded = 0;
  for (size_t k = 0; k < columns.size(); k++) piece.places[k] = take_place(*columns[k].first, *columns[k].second);
  all_.mark_counted(all_.encoded() + piece.encoded);
  if (piece.encoded < piece.records.letters().text.size()) encodes_ = false;
  next_ = piece.next;
  return !piece.blocked;
}

void Scan::copy(const Piece& piece) const {
  if (!piece.fits || piece.first < 0) return;
  fill(all_.ids(), piece.places[0], piece.records.ids());
  fill(all_.letters(), piece.places[1], piece.records.letters(), piece.text.begin(), piece.encoded);
  fill(all_.descriptions(), piece.places[2], piece.records.descriptions());
}

}  // namespace

FileScan scan_file(RecordScanner& records, const FileRange& range, const KindRules& rules, const Encoding* encoding, int64_t piece_size,
                   int threads) {
  return Scan(records, range, rules, encoding, piece_size).run(threads);
}

}  // namespace gpualign
