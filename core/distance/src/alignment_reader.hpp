// Rows of an aligned FASTA file, as one thread reads them: text in, what distinguishes each row out.
//
// The first call that a reader sees at a site is its reference. A row is either sparse (the sites at which it differs from its reader's
// reference, and its runs of missing calls) or, where that would take more memory, dense: a byte a site, in memory or in a scratch file.
//
// Most letters of a row are those of an earlier row. A row is therefore compared as text, 32 letters at a time, with letters that are
// known to mean the reference; only where they differ is a letter looked at. Rows that follow a dense one are expected to be dense, and
// are translated first.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gpualign {

constexpr uint8_t kMissing = 255;  // no call
constexpr uint8_t kUnknown = 254;  // in a reference: no row has had a call here yet
constexpr uint8_t kSkip = 254;     // in the table of letters: white space
constexpr uint8_t kBad = 253;      // in the table of letters: not allowed; what is above is no call either

constexpr uint8_t kVaries = 1, kHasMissing = 2;  // flags of sites

// Bytes that are not set to zero before they are written.
template <class T>
struct Unset : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Unset<U>;
  };
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};
using CodeBuffer = std::vector<uint8_t, Unset<uint8_t>>;

struct Row {
  std::vector<uint32_t> sites;  // that differ from the reference
  std::vector<uint8_t> codes;
  std::vector<uint32_t> starts, stops;  // runs of missing calls
  CodeBuffer dense;
  int64_t offset = -1;  // of a dense row in the scratch file
  bool is_dense = false;
  uint32_t reader = 0;  // whose reference
};

// Room for the dense rows of all readers: `bytes` of memory, then a scratch file.
class DenseRows {
 public:
  DenseRows(int file, int64_t bytes) : file_(file), left_(bytes) {}
  // Takes the buffer. Throws std::runtime_error where the file cannot be written.
  void keep(CodeBuffer& codes, Row& row);
  // Codes of sites first .. last of a dense row, perhaps in `buffer`.
  const uint8_t* codes(const Row& row, int64_t first, int64_t last, CodeBuffer& buffer) const;
  int64_t nbytes() const { return held_; }
  int64_t left() const { return left_; }

 private:
  int file_;
  std::atomic<int64_t> left_, held_{0}, written_{0};
};

// Records in the order of the file.
struct Records {
  std::vector<std::string> ids;
  std::vector<int64_t> called;  // sites with a call
  std::vector<Row> rows;

  void append(Records&& more);
};

// Why a text is no alignment. record: its number among those of the text, from 1 on; 0: of none. id: empty where it has none.
struct Refusal {
  int64_t record;
  std::string id, what;

  // before: records of earlier texts.
  std::string message(int64_t before) const;
};

class AlignmentReader {
 public:
  // table: the code of each byte, or kMissing, kSkip, kBad.
  AlignmentReader(const uint8_t* table, uint32_t number, DenseRows& dense);

  // Makes it a reader of rows that are compared with what another one knows of the reference; that one has seen a record.
  void follow(const AlignmentReader& first);
  // What another reader, which has followed this one, has learnt of the sites is known here too.
  void learn(const AlignmentReader& other);
  // Frees what only reading needs, until `follow`.
  void rest();

  // The next bytes of a text; `finish` ends it. Both throw Refusal.
  void feed(const char* data, size_t size);
  void finish();
  // The records that begin in bytes begin .. end of a file that has `stop`; `first`: what comes before them belongs to them.
  // Throws Refusal, std::system_error where the file cannot be read.
  void read(int file, int64_t begin, int64_t end, int64_t stop, bool first);
  // What was read since; also after a Refusal, without its record.
  Records take();

  int64_t length() const { return length_; }  // -1 before the first record
  int64_t nbytes() const;                     // beside dense rows
  int64_t letters(uint8_t byte) const { return histogram_[byte]; }
  const std::vector<uint8_t>& reference() const { return reference_; }
  uint8_t flags(int64_t site) const { return flags_[static_cast<size_t>(site)]; }

 private:
  enum class State { kStart, kHeader, kLetters };

  void begin_record();
  void take_letters(const uint8_t* in, size_t size);
  void translate_letters(const uint8_t* in, size_t size);
  size_t match(const uint8_t* in, size_t size);
  size_t look(const uint8_t* in, int64_t site, uint64_t differing);
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

  // The row that is being read: its codes, or, where it is compared as text, what differs up to site_.
  bool translates_ = true;
  CodeBuffer current_;
  int64_t site_ = 0;
  std::vector<uint32_t> sites_, starts_, stops_;
  std::vector<uint8_t> codes_;
};

}  // namespace gpualign
