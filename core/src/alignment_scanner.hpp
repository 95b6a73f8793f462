// A multiple alignment as it is read: equal rows of letters, kept as what distinguishes them.
//
// The first call seen at a site is its reference. A row is either sparse (the sites at which it differs from the reference, and its runs
// of missing calls) or, where that would take more memory, dense: a byte a site, in memory or in a scratch file. So thousands
// of bacterial genomes fit in memory, and sites at which all rows agree are known without a second pass.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gpualign {

constexpr uint8_t kMissing = 255;  // no call
constexpr uint8_t kUnknown = 254;  // in the reference: no row has had a call here yet
constexpr uint8_t kSkip = 254;     // in the table of letters: white space
constexpr uint8_t kBad = 253;      // in the table of letters: not allowed

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

class AlignmentScanner {
 public:
  // table: the code of each byte, or kMissing, kSkip, kBad. scratch: a file for dense rows beyond `dense_bytes`.
  AlignmentScanner(const uint8_t* table, int scratch, int64_t dense_bytes);

  // The next bytes of a FASTA file; `finish` ends the file. Both throw std::invalid_argument, std::runtime_error when the scratch
  // file cannot be written.
  void feed(const char* data, size_t size);
  void finish();

  const std::vector<std::string>& ids() const { return ids_; }
  const std::vector<int64_t>& called() const { return called_; }  // sites with a call, of each row
  int64_t length() const { return length_; }
  int64_t nbytes() const;  // memory that is held
  int64_t letters(uint8_t byte) const { return histogram_[byte]; }
  const std::vector<uint8_t>& reference() const { return reference_; }
  bool varies(int64_t site) const;
  bool has_missing(int64_t site) const;

  // Codes of all rows at `count` ascending sites into out[rows][count]. calls_only: 0 for every call, whatever it is.
  void fill(const uint32_t* sites, int64_t count, bool calls_only, uint8_t* out) const;

 private:
  struct Row {
    std::vector<uint32_t> sites;  // that differ from the reference
    std::vector<uint8_t> codes;
    std::vector<uint32_t> starts, stops;  // runs of missing calls
    CodeBuffer dense;
    int64_t offset = -1;  // of a dense row in the scratch file
    bool is_dense = false;
  };
  enum class State { kStart, kHeader, kLetters };

  void take_letters(const char* data, size_t size);
  void end_record();
  void keep_sparse(Row& row);
  void keep_dense(Row& row);
  std::string record() const;

  uint8_t table_[256];
  int scratch_;
  int64_t dense_left_, written_ = 0, sparse_bytes_ = 0, dense_bytes_ = 0;
  State state_ = State::kStart;
  bool line_start_ = true;
  std::string header_;
  CodeBuffer current_;
  std::vector<std::string> ids_;
  std::vector<int64_t> called_;
  std::vector<Row> rows_;
  std::vector<uint8_t> reference_, flags_;
  int64_t length_ = -1;
  int64_t histogram_[256] = {};
};

}  // namespace gpualign
