// Scans the records of a file with several threads.
//
// The file is divided into pieces of equal size. A thread takes the next piece and scans the records that begin in it into columns of its
// own, which stay in its caches. Records of a piece get their places in the common columns when those of all earlier pieces have theirs;
// the thread that scans the last missing piece copies them there. Meanwhile, others scan a few pieces ahead.
//
// A thread guesses from the text of its piece where the first record begins, without knowing what precedes it. The guess is right only if
// the last record of the earlier pieces ends there, which is checked when places are taken. The scan ends at the first record that begins
// elsewhere, needs another parser, is longer than a few pieces, or has no following record. So what is scanned is what a single scanner
// would have scanned up to there, however the file is divided, and the caller parses the next record in the usual way.
#pragma once
#include <cstdint>

#include "letters.hpp"
#include "record_scanner.hpp"

namespace gpualign {

// Bytes start .. stop-1 of a file, which begin with a record.
struct FileRange {
  int file;
  int64_t start, stop;
};

struct FileScan {
  int64_t next;  // position of the first record that has not been taken
  bool blocked;  // whether this record must be parsed in another way; if not, the scan has ended early and may be continued
  Kinds kinds;   // kinds of the records taken
};

// Appends records of a file to those of `records`, whose kinds must have been counted. Ends after a tenth of a second, so that the caller
// can react to signals. encoding: if not null, letters are replaced by codes as by RecordScanner::encode, if all earlier ones have been.
FileScan scan_file(RecordScanner& records, const FileRange& range, const KindRules& rules, const Encoding* encoding, int64_t piece_size,
                   int threads);

}  // namespace gpualign
