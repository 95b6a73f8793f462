// A multiple alignment as it is read: equal rows of letters, kept as what distinguishes them. So thousands of bacterial genomes fit in
// memory, and sites at which all rows agree are known without a second pass.
//
// A regular file is read by several threads, each with a reader (alignment_reader.hpp), which take chunks of it in turn: a record belongs
// to the chunk in which it begins. What comes out does not depend on which reader has read what:
//   - ids, calls and their number are put in the order of chunks, which is that of the file.
//   - A row is kept by how it differs from the reference of its own reader, and made from that again: so its calls are those of the file
//     whatever that reference is. Only the memory that rows take depends on it.
//   - A site varies where two rows have different calls. Two rows of one reader: it has flagged the site, since one of the two differs from
//     its reference. Of different readers: their references are calls of some of their rows; where these differ the site varies, and is
//     flagged when readers are joined; where they are the same, one of the two rows differs from it and has been flagged by its reader.
//     Nothing else is flagged. Whether calls are missing at a site is the union over readers.
//   - The reference as a whole is asked only for sites at which all calls are the same, where it is that call.
//   - Chunks are taken in the order of the file. When one is refused no other is taken, those before it are read to their end, and the
//     first one in the file's order that was refused is reported, its number counted from the records of all chunks before it.
// The first record is read before others begin: all rows are as long as that.
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

  // The next bytes of a FASTA file; `finish` ends the file. Both throw std::invalid_argument, std::runtime_error when the scratch
  // file cannot be written.
  void feed(const char* data, size_t size);
  void finish();

  // Instead of `feed`: bytes start .. stop of a regular file, in chunks of so many bytes, or larger ones for long rows. How many threads
  // may call `read_some`, up to `threads`, each with a number of its own; `finish` when all of them have ended. Throws std::system_error as
  // `read_some` does.
  int begin(int file, int64_t start, int64_t stop, int64_t chunk, int threads);
  // Reads a chunk; false when none is left.
  bool read_some(int reader);

  // All of these are of files that were finished.
  const std::vector<std::string>& ids() const { return records_.ids; }
  const std::vector<int64_t>& called() const { return records_.called; }  // sites with a call, of each row
  const std::vector<Row>& rows() const { return records_.rows; }
  int64_t length() const { return readers_[0]->length(); }
  int64_t nbytes() const;  // memory that is held
  int64_t letters(uint8_t byte) const;
  const std::vector<uint8_t>& reference() const { return readers_[0]->reference(); }
  bool varies(int64_t site) const { return readers_[0]->flags(site) & kVaries; }
  bool has_missing(int64_t site) const { return readers_[0]->flags(site) & kHasMissing; }
  // How many rows have a call at each site, into counts[length()].
  void count_calls(uint32_t* counts) const;
  // chosen[length()]: 1 or 0. How many calls each row has at the chosen sites.
  std::vector<int64_t> called_at(const uint8_t* chosen) const;

 private:
  friend class AlignedSites;

  // A file that is being read in chunks.
  struct File {
    int file;
    int64_t stop;
    std::vector<int64_t> bounds;  // of the chunks: where each begins, and where the last one ends
    std::vector<Records> chunks;
    std::atomic<int64_t> next{0};
    std::mutex refusing;
    int64_t refused = -1;  // the chunk
    Refusal refusal{};
    int readers = 1;
  };

  void read_chunk(int reader, int64_t chunk);
  void join();

  uint8_t table_[256];
  DenseRows dense_;
  std::vector<std::unique_ptr<AlignmentReader>> readers_;  // the first one knows what all have learnt
  Records records_;
  std::unique_ptr<File> file_;
};

// Codes of all rows at some ascending sites. calls_only: 0 for every call, whatever it is.
class AlignedSites {
 public:
  AlignedSites(const AlignmentScanner& scanner, const uint32_t* sites, int64_t count, bool calls_only);
  size_t rows() const { return scanner_.rows().size(); }
  size_t count() const { return sites_.size(); }
  // Rows first .. first + rows, into out[rows][count].
  void fill(size_t first, size_t rows, uint8_t* out) const;

 private:
  void fill_dense(const Row& row, uint8_t* out) const;
  void fill_sparse(const Row& row, uint8_t* out) const;

  const AlignmentScanner& scanner_;
  std::vector<uint32_t> sites_;
  bool calls_only_;
  std::vector<uint32_t> rank_;                    // how many of the sites lie before site sites_[0] + k
  std::vector<std::vector<uint8_t>> references_;  // of each reader, at these sites
};

}  // namespace gpualign
