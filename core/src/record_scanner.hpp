// FASTA and FASTQ text as two columns: ids, the first words of titles, and letters without white space.
//
// Records are taken whole or not at all. A record that holds what only a full parser knows how to read (other line ends than \n and
// \r\n, control characters, ids and letters beyond ASCII, FASTQ over several lines) is not touched: the caller reads it another way,
// and appends what it found.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gpualign {

// Bytes that grow in place where the system can; memory of malloc, for whoever takes them.
class GrowingBytes {
 public:
  GrowingBytes() = default;
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;
  ~GrowingBytes() { std::free(data_); }

  size_t size() const { return size_; }

  // Makes room for `more` bytes at the tail, behind those that are there; `advance` keeps what was written of them.
  void room(size_t more) {
    if (size_ + more > capacity_) grow(size_ + more);
  }
  uint8_t* tail() { return data_ + size_; }
  void advance(size_t bytes) { size_ += bytes; }
  void cut(size_t size) { size_ = size; }
  void append(std::string_view bytes) {
    room(bytes.size());
    if (!bytes.empty()) std::memcpy(tail(), bytes.data(), bytes.size());
    advance(bytes.size());
  }

  // Room for this many bytes at once, while there are none. In large pages where the system has them: to make many small ones takes
  // longer than to fill them. Pages that are not written to take no memory.
  void reserve(size_t bytes) {
    constexpr size_t kPage = size_t{2} << 20;
    if (data_ || bytes < kPage) return;
    const size_t wanted = (bytes + kPage - 1) / kPage * kPage;
    data_ = static_cast<uint8_t*>(std::aligned_alloc(kPage, wanted));
    if (!data_) throw std::bad_alloc();
    capacity_ = wanted;
#if defined(__linux__)
    madvise(data_, wanted, MADV_HUGEPAGE);  // advice only
#endif
  }

  // The bytes, to be given to free(); nothing is left here.
  uint8_t* take() {
    uint8_t* kept = data_;
    if (!kept || size_ < capacity_ / 2) kept = static_cast<uint8_t*>(std::realloc(data_, size_ ? size_ : 1));
    if (!kept) throw std::bad_alloc();
    data_ = nullptr;
    size_ = capacity_ = 0;
    return kept;
  }

 private:
  void grow(size_t least) {
    const size_t wanted = least + least / 2 + 64;
    uint8_t* const larger = static_cast<uint8_t*>(std::realloc(data_, wanted));
    if (!larger) throw std::bad_alloc();
    data_ = larger;
    capacity_ = wanted;
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

// Strings back to back: string i ends at ends[i], where the next one begins; ends[0] is 0.
struct StringColumn {
  GrowingBytes text;
  std::vector<int64_t> ends{0};

  void close() { ends.push_back(static_cast<int64_t>(text.size())); }
};

class RecordScanner {
 public:
  static constexpr size_t kSlack = 16;  // bytes that may be written behind the last
  enum class Kind { kFasta, kFastq };
  // letters: about how many there will be, if that is known.
  RecordScanner(Kind kind, size_t letters) : kind_(kind) { letters_.text.reserve(letters + kSlack); }

  // Of the bytes that were fed: those before `taken` are in the columns. Those from there to `strange` are of a record for another
  // reader; it may be more than one record by its rules, and with FASTQ it is all that follows, in bytes that were not fed as well.
  // strange == taken: what is left is no whole record yet.
  struct Fed {
    size_t taken, strange;
  };

  // data: begins with a record. last: the file ends with these bytes.
  Fed feed(const char* data, size_t size, bool last);
  void append(std::string_view id, std::string_view letters);

  size_t records() const { return ids_.ends.size() - 1; }
  StringColumn& ids() { return ids_; }
  StringColumn& letters() { return letters_; }

 private:
  enum class Record { kTaken, kPartial, kStrange };

  Record take_fasta(const char* data, const char* end, bool last, const char** next);
  Record take_fastq(const char* data, const char* end, bool last, const char** next);
  Record take_title(const char* at, const char* end, bool last, const char** next);

  Kind kind_;
  StringColumn ids_, letters_;
};

}  // namespace gpualign
