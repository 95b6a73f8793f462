// Parses FASTA and FASTQ text into columns: ids (the first words of titles), letters without white space, and on request descriptions (the
// rest of the titles).
//
// Records are taken completely or not at all. A record that needs a full parser (line ends other than \n and \r\n, control characters,
// non-ASCII ids or letters, FASTQ over several lines) is left alone: the caller parses it in another way and appends the result.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "growing_array.hpp"
#include "letters.hpp"

namespace gpualign {

// Strings back to back: string i begins at ends[i] and ends at ends[i + 1].
struct StringColumn {
  GrowingArray<uint8_t> text;
  GrowingArray<int64_t> ends;

  StringColumn() { ends.push_back(0); }
  size_t count() const { return ends.size() - 1; }
  void close() { ends.push_back(static_cast<int64_t>(text.size())); }
  void append(std::string_view string) {
    text.append(reinterpret_cast<const uint8_t*>(string.data()), string.size());
    close();
  }
  void clear() {
    text.cut(0);
    ends.cut(1);
  }
};

class RecordScanner {
 public:
  static constexpr size_t kSlack = 32;  // bytes that may be written after the last one
  enum class Kind { kFasta, kFastq };
  // letters: expected number of letters, 0 if unknown. described: store descriptions.
  RecordScanner(Kind kind, size_t letters, bool described) : kind_(kind), described_(described) { letters_.text.reserve(letters + kSlack); }

  // The result of a call. Bytes before `taken` are in the columns. Those from there to `strange` need another parser, which may find
  // several records in them; with FASTQ, so does everything that follows, including later bytes. strange == taken: the remaining bytes are
  // not a complete record yet.
  struct Fed {
    size_t taken, strange;
  };

  // Parses the records in `data`, which begins with a record, but only those that begin before `limit`. last: the file ends with these
  // bytes.
  Fed feed(const char* data, size_t size, bool last, size_t limit = SIZE_MAX);
  void append(std::string_view id, std::string_view letters, std::string_view description);

  // Returns the kinds of the records taken since the last call, with record numbers counted from the first record of all.
  Kinds count_kinds(const KindRules& rules);
  // Replaces letters by codes, from the first one without a code up to the first one that is invalid in the encoding. Returns the number of
  // letters that have been replaced so far. Kinds must be counted before, as they need the letters.
  size_t encode(const Encoding& encoding);
  // Resets the columns after they have been taken: they are numbered from 0 again.
  void reset_columns() {
    taken_ += ids_.count();
    counted_ = encoded_ = 0;
  }
  // Empties the columns, whose memory is kept.
  void clear() {
    for (StringColumn* column : {&ids_, &letters_, &descriptions_}) column->clear();
    taken_ = counted_ = encoded_ = 0;
  }
  // Notes that the kinds of all records are known, and that the first `encoded` letters have been replaced by codes.
  void mark_counted(size_t encoded) {
    counted_ = letters_.count();
    encoded_ = encoded;
  }
  // Returns the number of leading letters that have been replaced by codes.
  size_t encoded() const { return encoded_; }
  // Returns the number of all records so far.
  size_t records() const { return taken_ + ids_.count(); }
  Kind kind() const { return kind_; }
  bool described() const { return described_; }

  StringColumn& ids() { return ids_; }
  StringColumn& letters() { return letters_; }
  StringColumn& descriptions() { return descriptions_; }  // empty if they are not stored
  const StringColumn& ids() const { return ids_; }
  const StringColumn& letters() const { return letters_; }
  const StringColumn& descriptions() const { return descriptions_; }

 private:
  enum class Record { kTaken, kPartial, kStrange };

  Record take_fasta(const char* data, const char* end, bool last, const char** next);
  Record take_fastq(const char* data, const char* end, bool last, const char** next);
  Record take_title(const char* at, const char* end, bool last, const char** next);

  Kind kind_;
  bool described_;
  size_t taken_ = 0;    // records whose columns the caller has taken
  size_t counted_ = 0;  // records whose kinds are known
  size_t encoded_ = 0;  // letters already replaced by codes
  StringColumn ids_, letters_, descriptions_;
};

}  // namespace gpualign
