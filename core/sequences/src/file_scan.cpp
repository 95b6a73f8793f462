#include "file_scan.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "core/common/src/threads.hpp"

namespace gpualign {

namespace {

constexpr int64_t kMaxPieces = 8;    // text that a thread holds at most, in pieces
constexpr int64_t kMarginPart = 64;  // a piece is read with one part in 64 of what follows, where its last record probably ends
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

// The records that begin in one piece.
struct Piece {
  Piece(RecordScanner::Kind kind, bool described) : records(kind, 0, described) {}

  RecordScanner records;
  GrowingArray<uint8_t> text;  // of the file; then codes of the letters
  int64_t begin = 0, end = 0;  // positions in the file
  int64_t first = -1;          // position of the first record, -1 if there is none
  int64_t next = 0;            // position after the last record
  bool blocked = false;        // whether the record at `next` begins in this piece
  size_t encoded = 0;          // number of leading letters that have codes
  Kinds kinds;
};

// Places of a piece's strings in the common column.
struct Place {
  size_t text, string;
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
    run_threads(threads, [&](int) {
      try {
        work();
      } catch (...) {  // no thread may wait for this one
        stop();
        throw;
      }
    });
    return {next_, stopped_, kinds_};
  }

 private:
  void reserve();
  void work();
  void scan(Piece& piece, int64_t number) const;
  bool read(GrowingArray<uint8_t>& text, int64_t position, int64_t bytes) const;
  size_t find_record(const GrowingArray<uint8_t>& text, size_t limit) const;
  void append(const Piece& piece, int64_t number);
  void stop();

  RecordScanner& all_;
  const FileRange range_;
  const KindRules& rules_;
  const Encoding* const encoding_;
  const int64_t piece_size_, pieces_;
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + kTime;
  std::atomic<int64_t> next_piece_{0};
  std::atomic<bool> encodes_;  // whether all letters so far are codes; may be read too late, which wastes some encoding

  // Guards what follows, and the sizes of the common columns.
  std::mutex turn_;
  std::condition_variable changed_;
  int64_t appended_ = 0;  // number of pieces that have their places
  int64_t next_;          // position after their last record
  bool stopped_ = false;
  Kinds kinds_;
  // Held by threads that copy to the common columns, and exclusively by one that moves these to larger memory. It is acquired by the thread
  // that holds `turn_`, so nobody begins to copy in the meantime.
  std::shared_mutex memory_;
};

// Reserves memory for as many strings as the records so far let expect. Too much costs nothing, and too little is made up for later.
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

void Scan::work() {
  Piece piece(all_.kind(), all_.described());
  // A piece that is taken is also appended, as the threads of later ones wait for it. Pieces are taken in order, so each waits only for
  // pieces that other threads already have.
  bool stopped = false;
  do {
    const int64_t number = next_piece_++;
    if (number >= pieces_) return;
    scan(piece, number);
    append(piece, number);
    const std::lock_guard<std::mutex> lock(turn_);
    stopped = stopped_;
  } while (!stopped && std::chrono::steady_clock::now() < end_);
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

void Scan::scan(Piece& piece, int64_t number) const {
  piece.records.clear();
  piece.text.cut(0);
  piece.begin = range_.start + number * piece_size_;
  piece.end = std::min(piece.begin + piece_size_, range_.stop);
  piece.first = -1;
  piece.blocked = false;
  piece.encoded = 0;
  piece.kinds = Kinds();
  // The byte before the piece tells whether a line begins at its first byte.
  const int64_t start = number ? piece.begin - 1 : piece.begin;
  const size_t limit = static_cast<size_t>(piece.end - start);
  read(piece.text, start, piece.end - start + piece_size_ / kMarginPart + 1);
  size_t taken = number ? find_record(piece.text, limit) : 0;
  if (number && !taken) return;
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

void Scan::append(const Piece& piece, int64_t number) {
  const StringColumn& letters = piece.records.letters();
  std::unique_lock<std::mutex> turn(turn_);
  changed_.wait(turn, [&] { return stopped_ || appended_ == number; });
  if (stopped_) return;
  appended_++;
  if (piece.first < 0 ? next_ < piece.end : piece.first != next_) stopped_ = true;
  if (piece.first < 0 || stopped_) {
    turn.unlock();
    changed_.notify_all();
    return;
  }
  const std::array<std::pair<StringColumn*, const StringColumn*>, 3> columns{
      {{&all_.ids(), &piece.records.ids()}, {&all_.letters(), &letters}, {&all_.descriptions(), &piece.records.descriptions()}}};
  if (!std::all_of(columns.begin(), columns.end(), [](const auto& one) { return has_room(*one.first, *one.second); })) {
    const std::unique_lock<std::shared_mutex> moving(memory_);
    for (const auto& [all, more] : columns) make_room(*all, *more);
  }
  kinds_.add(piece.kinds, static_cast<int64_t>(all_.ids().count()));
  const size_t encoded = all_.encoded() == all_.letters().text.size() ? piece.encoded : 0;
  std::array<Place, 3> places;
  for (size_t k = 0; k < columns.size(); k++) places[k] = take_place(*columns[k].first, *columns[k].second);
  all_.mark_counted(all_.encoded() + encoded);
  if (encoded < letters.text.size()) encodes_ = false;
  next_ = piece.next;
  stopped_ = piece.blocked;
  const std::shared_lock<std::shared_mutex> copying(memory_);
  turn.unlock();
  changed_.notify_all();
  fill(*columns[0].first, places[0], *columns[0].second);
  fill(*columns[1].first, places[1], letters, piece.text.begin(), encoded);
  fill(*columns[2].first, places[2], *columns[2].second);
}

void Scan::stop() {
  {
    const std::lock_guard<std::mutex> lock(turn_);
    stopped_ = true;
  }
  changed_.notify_all();
}

}  // namespace

FileScan scan_file(RecordScanner& records, const FileRange& range, const KindRules& rules, const Encoding* encoding, int64_t piece_size,
                   int threads) {
  return Scan(records, range, rules, encoding, piece_size).run(threads);
}

}  // namespace gpualign
