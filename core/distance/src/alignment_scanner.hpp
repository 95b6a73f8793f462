// Reads a multiple alignment, rows of letters of the same length, and stores the differences between rows, so that thousands of bacterial
// genomes fit into memory, and sites at which all rows agree are known without a second pass.
//
// A regular file is read by several threads. Each has a reader (alignment_reader.hpp) and takes one chunk after another; a record belongs
// to the chunk in which it begins. The result does not depend on which reader has read what:
//   - Ids, calls and their numbers are put in the order of the chunks, which is that of the file.
//   - A row is stored as its differences from the reference of its own reader, and restored from the same reference. Its calls are
//     therefore those of the file, whatever the reference is; only the memory that rows take depends on it.
//   - A site varies if two rows have different calls there. If both are of one reader, it has flagged the site, since one of the two
//     differs from its reference. If they are of different readers, consider the two references, which are calls of some rows: if they
//     differ, the site varies and is flagged when readers are merged; if they are equal, one of the two rows differs from it, and its
//     reader has flagged the site. No other site is flagged. Calls are missing at a site if any reader says so.
//   - The merged reference is used only for sites at which all calls are equal, where it is this call.
//   - Chunks are taken in file order. When one is refused, no more are taken, earlier ones are read to their end, and the first refused
//     chunk in file order is reported, with its record number counted over all chunks before it.
// The first record is read before the other threads start, as it determines the length of all rows.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "alignment_reader.hpp"

namespace gpualign {

class AlignmentScanner {
 public:
  // table: the code of each byte, or kMissing, kSkip, kBad. scratch: a file for dense rows beyond `dense_bytes`.
  AlignmentScanner(const uint8_t* table, int scratch, int64_t dense_bytes);

  // Reads the next bytes of a FASTA file; `finish` ends the file. Both throw std::invalid_argument, and std::runtime_error if the scratch
  // file cannot be written.
  void feed(const char* data, size_t size);
  void finish();

  // Replaces `feed` for the bytes start .. stop-1 of a regular file, read in chunks of at least `chunk` bytes, more for long rows. Returns
  // the number of threads, at most `threads`, that may call `read_some`, each with a number of its own. Call `finish` when all have ended.
  // Throws std::system_error, as does `read_some`.
  int begin(int file, int64_t start, int64_t stop, int64_t chunk, int threads);
  // Reads a chunk. Returns false when none is left.
  bool read_some(int reader);

  // The following return results of finished files.
  const std::vector<std::string>& ids() const { return records_.ids; }
  const std::vector<int64_t>& called() const { return records_.called; }  // [row] number of sites with a call
  const std::vector<Row>& rows() const { return records_.rows; }
  int64_t length() const { return readers_[0]->length(); }
  int64_t nbytes() const;  // bytes of memory held
  int64_t letters(uint8_t byte) const;
  const std::vector<uint8_t>& reference() const { return readers_[0]->reference(); }
  const std::vector<uint8_t>& flags() const { return readers_[0]->flags(); }  // [site] kVaries, kHasMissing
  // Appends the runs of missing calls of a record: first site and last site + 1 of each.
  void append_missing_runs(size_t record, std::vector<uint32_t>& runs) const;
  // Writes the number of rows with a call at each site to counts[length()].
  void count_calls(uint32_t* counts) const;
  // Returns the number of calls of each row at the chosen sites. chosen[length()]: 1 or 0.
  std::vector<int64_t> called_at(const uint8_t* chosen) const;

 private:
  friend class AlignedSites;

  // A file that is being read in chunks.
  struct File {
    int file;
    int64_t stop;
    std::vector<int64_t> bounds;  // first byte of each chunk, and the end of the last one
    std::vector<Records> chunks;
    std::atomic<int64_t> next{0};
    std::mutex refusing;
    int64_t refused = -1;  // first refused chunk, -1: none
    Refusal refusal{};
    int readers = 1;
  };

  void read_chunk(int reader, int64_t chunk);
  void join();

  uint8_t table_[256];
  DenseRows dense_;
  std::vector<std::unique_ptr<AlignmentReader>> readers_;  // the first one has the merged reference and flags of all
  Records records_;
  std::unique_ptr<File> file_;
};

// The codes of all rows at some ascending sites. calls_only: every call has the code 0.
class AlignedSites {
 public:
  AlignedSites(const AlignmentScanner& scanner, const uint32_t* sites, int64_t count, bool calls_only);
  size_t rows() const { return scanner_.rows().size(); }
  size_t count() const { return sites_.size(); }
  // Writes the rows first .. first+rows-1 to out[rows][count].
  void fill(size_t first, size_t rows, uint8_t* out) const;

 private:
  void fill_dense(const Row& row, uint8_t* out) const;
  void fill_sparse(const Row& row, uint8_t* out) const;

  const AlignmentScanner& scanner_;
  std::vector<uint32_t> sites_;
  bool calls_only_;
  std::vector<uint32_t> rank_;                    // [k] number of these sites before site sites_[0] + k
  std::vector<std::vector<uint8_t>> references_;  // [reader] its reference at these sites
};

}  // namespace gpualign
