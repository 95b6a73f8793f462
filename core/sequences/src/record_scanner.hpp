// FASTA and FASTQ text as columns: ids, the first words of titles, letters without white space, and where they are wanted descriptions,
// what follows the ids.
//
// Records are taken whole or not at all. A record that holds what only a full parser knows how to read (other line ends than \n and
// \r\n, control characters, ids and letters beyond ASCII, FASTQ over several lines) is not touched: the caller reads it another way,
// and appends what it found.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "growing_bytes.hpp"
#include "large_pages.hpp"
#include "letters.hpp"

namespace gpualign {

// Strings back to back: string i ends at ends[i], where the next one begins; ends[0] is 0.
struct StringColumn {
  GrowingBytes text;
  LargeVector<int64_t> ends{0};

  void close() { ends.push_back(static_cast<int64_t>(text.size())); }
};

class RecordScanner {
 public:
  static constexpr size_t kSlack = 32;  // bytes that may be written behind the last
  enum class Kind { kFasta, kFastq };
  // letters: about how many there will be, if that is known. described: whether descriptions are kept.
  RecordScanner(Kind kind, size_t letters, bool described) : kind_(kind), described_(described) { letters_.text.reserve(letters + kSlack); }

  // Of the bytes that were fed: those before `taken` are in the columns. Those from there to `strange` are of a record for another
  // reader; it may be more than one record by its rules, and with FASTQ it is all that follows, in bytes that were not fed as well.
  // strange == taken: what is left is no whole record yet.
  struct Fed {
    size_t taken, strange;
  };

  // data: begins with a record. last: the file ends with these bytes.
  Fed feed(const char* data, size_t size, bool last);
  void append(std::string_view id, std::string_view letters, std::string_view description);

  // The kinds of the records that were taken since this was last asked, numbered from the first of all.
  Kinds count_kinds(const ByteSet& plain, const ByteSet& other, int64_t clear_length, double clear_part);
  // Codes take the place of the letters, from the first that has none up to the first that the encoding calls invalid; how many letters
  // have codes now. Kinds are counted before, by the letters.
  size_t encode(const Encoding& encoding);
  // Behind `take` of the columns: they are numbered from 0 again.
  void begin_again() {
    taken_ += ids_.ends.size() - 1;
    counted_ = encoded_ = 0;
  }
  // Of all that was fed.
  size_t records() const { return taken_ + ids_.ends.size() - 1; }

  StringColumn& ids() { return ids_; }
  StringColumn& letters() { return letters_; }
  StringColumn& descriptions() { return descriptions_; }  // empty where they are not kept

 private:
  enum class Record { kTaken, kPartial, kStrange };

  Record take_fasta(const char* data, const char* end, bool last, const char** next);
  Record take_fastq(const char* data, const char* end, bool last, const char** next);
  Record take_title(const char* at, const char* end, bool last, const char** next);

  Kind kind_;
  bool described_;
  size_t taken_ = 0;    // records that are no longer held
  size_t counted_ = 0;  // records whose kinds are known
  size_t encoded_ = 0;  // letters that have codes
  StringColumn ids_, letters_, descriptions_;
};

}  // namespace gpualign
