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

namespace gpualign {

// Bytes that grow in place where the system can; memory of malloc, for whoever takes them.
class GrowingBytes {
 public:
  GrowingBytes() = default;
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;
  ~GrowingBytes() { std::free(data_); }

  size_t size() const { return size_; }

  // A place for `more` bytes behind those that are there; `advance` keeps what was written of them.
  uint8_t* room(size_t more) {
    if (size_ + more > capacity_) grow(size_ + more);
    return data_ + size_;
  }
  void advance(size_t bytes) { size_ += bytes; }
  void cut(size_t size) { size_ = size; }
  void append(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
    advance(bytes.size());
  }

  // The bytes, no longer than needed, to be given to free(); nothing is left here.
  uint8_t* take() {
    uint8_t* const kept = static_cast<uint8_t*>(std::realloc(data_, size_ ? size_ : 1));
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
  enum class Kind { kFasta, kFastq };
  explicit RecordScanner(Kind kind) : kind_(kind) {}

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
  bool take_letters(const char* data, size_t size);
  bool take_id(std::string_view title);

  Kind kind_;
  StringColumn ids_, letters_;
};

}  // namespace gpualign
