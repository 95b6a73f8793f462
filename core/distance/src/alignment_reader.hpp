// Rows of an aligned FASTA file as one thread reads them: text in, the differences of each row out.
//
// The first call that a reader sees at a site is its reference there. A row is either sparse (the sites at which it differs from the
// reference of its reader, and its runs of missing calls) or, if that would take more memory, dense: one byte per site, in memory or in a
// scratch file.
//
// Most letters of a row equal those of an earlier row. So a row is compared as text, 32 letters at a time, with letters known to mean the
// reference, and a letter is examined only where they differ. Rows after a dense one are expected to be dense, and are translated first.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/common/src/unset_vector.hpp"

namespace gpualign {

constexpr uint8_t kMissing = 255;  // no call
constexpr uint8_t kUnknown = 254;  // in a reference: no call at this site yet
constexpr uint8_t kSkip = 254;     // in the table of letters: white space
constexpr uint8_t kBad = 253;      // in the table of letters: not allowed; larger codes are not calls either

constexpr uint8_t kVaries = 1, kHasMissing = 2;  // flags of sites

using CodeBuffer = UnsetVector<uint8_t>;

struct Row {
  std::vector<uint32_t> sites;  // at which the row differs from the reference
  std::vector<uint8_t> codes;
  std::vector<uint32_t> starts, stops;  // runs of missing calls
  CodeBuffer dense;
  int64_t offset = -1;  // of a dense row in the scratch file, -1: it is in memory
  bool is_dense = false;
  uint32_t reader = 0;  // reader whose reference it is compared with
};

// Stores the dense rows of all readers: in up to `bytes` of memory, then in a scratch file.
class DenseRows {
 public:
  DenseRows(int file, int64_t bytes) : file_(file), left_(bytes) {}
  // Stores a row and takes its buffer. Throws std::runtime_error if the file cannot be written.
  void store(CodeBuffer& codes, Row& row);
  // Returns the codes of the sites first .. last-1 of a dense row, which may use `buffer`.
  const uint8_t* codes(const Row& row, int64_t first, int64_t last, CodeBuffer& buffer) const;
  int64_t nbytes() const { return held_; }
  int64_t bytes_left() const { return left_; }

 private:
  int file_;
  std::atomic<int64_t> left_, held_{0}, written_{0};
};

// Records in the order of the file.
struct Records {
  std::vector<std::string> ids;
  std::vector<int64_t> called;  // [record] number of sites with a call
  std::vector<Row> rows;

  void append(Records&& more);
};

// The reason why a text is not an alignment. record: 1-based number of the record within the text, 0: none. id: may be empty.
struct Refusal {
  int64_t record;
  std::string id, what;

  // Returns the message, with record numbers counted after `earlier` records of earlier texts.
  std::string message(int64_t earlier) const;
};

class AlignmentReader {
 public:
  // table: the code of each byte, or kMissing, kSkip, kBad.
  AlignmentReader(const uint8_t* table, uint32_t number, DenseRows& dense);

  // Takes over the reference of another reader, which has read at least one record, for the rows to come.
  void follow(const AlignmentReader& first);
  // Adds the reference and the flags of another reader, which has followed this one.
  void merge(const AlignmentReader& other);
  // Frees memory that only reading needs, until the next `follow`.
  void release_buffers();

  // Reads the next bytes of a text; `finish` ends it. Both throw Refusal.
  void feed(const char* data, size_t size);
  void finish();
  // Reads the records that begin in the bytes begin .. end-1 of a file of `stop` bytes. first: text before the first record belongs to it.
  // Throws Refusal, and std::system_error if the file cannot be read.
  void read(int file, int64_t begin, int64_t end, int64_t stop, bool first);
  // Returns the records read since the last call; after a Refusal, those before the refused record.
  Records take();

  int64_t length() const { return length_; }  // -1 before the first record
  int64_t nbytes() const;                     // bytes of memory, without dense rows
  int64_t letters(uint8_t byte) const { return histogram_[byte]; }
  const std::vector<uint8_t>& reference() const { return reference_; }
  const std::vector<uint8_t>& flags() const { return flags_; }

 private:
  enum class State { kStart, kHeader, kLetters };

  void begin_record();
  void take_letters(const uint8_t* in, size_t size);
  void translate_letters(const uint8_t* in, size_t size);
  size_t match(const uint8_t* in, size_t size);
  size_t examine(const uint8_t* in, int64_t site, uint64_t differing);
  void take_each(const uint8_t* in, size_t size);
  void call(int64_t site, uint8_t code, uint8_t letter);
  void miss(int64_t site, int64_t count);
  void sample(const uint8_t* in, int64_t site, size_t size);
  void end_record();
  void end_translated(Row& row);
  void end_matched(Row& row);
  void find_differences();
  void keep_sparse(Row& row);
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse_letter(uint8_t byte, int64_t site) const;

  uint8_t table_[256];
  uint32_t number_;
  DenseRows& dense_;
  State state_ = State::kStart;
  bool line_start_ = true;
  std::string header_, buffer_;
  Records records_;

  int64_t length_ = -1;
  std::vector<uint8_t> reference_, letters_, flags_;
  int64_t sparse_bytes_ = 0;
  int64_t histogram_[256] = {};

  // The current row: its codes if it is translated, or its differences up to site_ if it is compared as text.
  bool translates_ = true;
  CodeBuffer current_;
  int64_t site_ = 0;
  std::vector<uint32_t> sites_, starts_, stops_;
  std::vector<uint8_t> codes_;
};

}  // namespace gpualign
