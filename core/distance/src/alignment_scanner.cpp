#include "alignment_scanner.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace gpualign {

namespace {

constexpr int64_t kRecordsPerChunk = 8, kChunksPerThread = 8;

}  // namespace

AlignmentScanner::AlignmentScanner(const uint8_t* table, int scratch, int64_t dense_bytes) : dense_(scratch, dense_bytes) {
  std::memcpy(table_, table, sizeof table_);
  readers_.push_back(std::make_unique<AlignmentReader>(table_, 0, dense_));
}

void AlignmentScanner::feed(const char* data, size_t size) {
  try {
    readers_[0]->feed(data, size);
  } catch (const Refusal& refusal) {
    throw std::invalid_argument(refusal.message(0));
  }
}

void AlignmentScanner::finish() {
  if (file_) {
    join();
    return;
  }
  try {
    readers_[0]->finish();
  } catch (const Refusal& refusal) {
    throw std::invalid_argument(refusal.message(0));
  }
  records_.append(readers_[0]->take());
}

int AlignmentScanner::begin(int file, int64_t start, int64_t stop, int64_t chunk, int threads) {
  file_ = std::make_unique<File>();
  file_->file = file;
  int64_t at = start;
  const auto add = [&](int64_t size) {
    file_->bounds.push_back(at);
    file_->chunks.emplace_back();
    at = std::min(stop, at + size);
  };
  file_->stop = stop;
  while (length() < 0 && at < stop && file_->refused < 0) {
    add(chunk);
    file_->bounds.push_back(at);
    read_chunk(0, file_->next++);
    file_->bounds.pop_back();
  }
  // Text of a chunk before its first record is read in vain, so a chunk has several records, if that still leaves several chunks per
  // thread.
  const int64_t size = std::max(chunk, std::min(kRecordsPerChunk * length(), (stop - at) / (kChunksPerThread * threads)));
  while (at < stop && file_->refused < 0) add(size);
  file_->bounds.push_back(at);
  const int64_t chunks_left = static_cast<int64_t>(file_->chunks.size()) - file_->next;
  // A reader takes three bytes per site: have no more readers than fit a quarter of the memory for rows.
  const int64_t max_readers = std::min(chunks_left, dense_.bytes_left() / (12 * std::max<int64_t>(1, length())));
  file_->readers = static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(threads, max_readers)));
  for (int k = 1; k < file_->readers; k++) {
    if (readers_.size() <= static_cast<size_t>(k)) readers_.push_back(std::make_unique<AlignmentReader>(table_, k, dense_));
    readers_[static_cast<size_t>(k)]->follow(*readers_[0]);
  }
  return file_->readers;
}

bool AlignmentScanner::read_some(int reader) {
  const int64_t chunk = file_->next++;
  if (chunk >= static_cast<int64_t>(file_->chunks.size())) return false;
  read_chunk(reader, chunk);
  return true;
}

void AlignmentScanner::read_chunk(int reader, int64_t chunk) {
  AlignmentReader& own = *readers_[static_cast<size_t>(reader)];
  const int64_t begin = file_->bounds[static_cast<size_t>(chunk)], end = file_->bounds[static_cast<size_t>(chunk) + 1];
  try {
    own.read(file_->file, begin, end, file_->stop, chunk == 0);
  } catch (const Refusal& refusal) {
    file_->next = static_cast<int64_t>(file_->chunks.size());
    const std::lock_guard<std::mutex> lock(file_->refusing);
    if (file_->refused < 0 || chunk < file_->refused) {
      file_->refused = chunk;
      file_->refusal = refusal;
    }
  } catch (...) {
    file_->next = static_cast<int64_t>(file_->chunks.size());
    throw;
  }
  file_->chunks[static_cast<size_t>(chunk)] = own.take();
}

void AlignmentScanner::join() {
  const std::unique_ptr<File> file = std::move(file_);
  const auto earlier = static_cast<int64_t>(records_.ids.size());
  for (int64_t k = 0; k < static_cast<int64_t>(file->chunks.size()) && k != file->refused; k++)
    records_.append(std::move(file->chunks[static_cast<size_t>(k)]));
  if (file->refused >= 0) throw std::invalid_argument(file->refusal.message(static_cast<int64_t>(records_.ids.size()) - earlier));
  for (size_t k = 1; k < static_cast<size_t>(file->readers); k++) {
    readers_[0]->merge(*readers_[k]);
    readers_[k]->release_buffers();
  }
}

int64_t AlignmentScanner::nbytes() const {
  int64_t out = dense_.nbytes() + static_cast<int64_t>(records_.rows.size() * sizeof(Row));
  for (const auto& reader : readers_) out += reader->nbytes();
  return out;
}

int64_t AlignmentScanner::letters(uint8_t byte) const {
  int64_t out = 0;
  for (const auto& reader : readers_) out += reader->letters(byte);
  return out;
}

void AlignmentScanner::count_calls(uint32_t* counts) const {
  const auto length = static_cast<size_t>(this->length());
  // Runs of missing calls are first stored as changes of the number of calls from one site to the next; unsigned differences wrap around.
  std::fill(counts, counts + length, 0);
  uint32_t sparse = 0;
  std::vector<uint32_t> of_dense;
  CodeBuffer from_file;
  for (const Row& row : rows()) {
    if (row.is_dense) {
      of_dense.resize(length);
      const uint8_t* codes = dense_.codes(row, 0, static_cast<int64_t>(length) - 1, from_file);
      for (size_t k = 0; k < length; k++) of_dense[k] += codes[k] != kMissing;
      continue;
    }
    sparse++;
    for (size_t k = 0; k < row.starts.size(); k++) {
      counts[row.starts[k]]--;
      if (row.stops[k] < length) counts[row.stops[k]]++;
    }
  }
  uint32_t now = sparse;
  for (size_t k = 0; k < length; k++) counts[k] = (now += counts[k]) + (of_dense.empty() ? 0 : of_dense[k]);
}

std::vector<int64_t> AlignmentScanner::called_at(const uint8_t* chosen) const {
  const auto length = static_cast<size_t>(this->length());
  std::vector<uint32_t> rank(length + 1);  // number of chosen sites before each
  for (size_t k = 0; k < length; k++) rank[k + 1] = rank[k] + chosen[k];
  std::vector<int64_t> out;
  CodeBuffer from_file;
  for (const Row& row : rows()) {
    int64_t count = 0;
    if (row.is_dense) {
      const uint8_t* codes = dense_.codes(row, 0, static_cast<int64_t>(length) - 1, from_file);
      for (size_t k = 0; k < length; k++) count += chosen[k] & static_cast<uint8_t>(codes[k] != kMissing);
    } else {
      count = rank[length];
      for (size_t k = 0; k < row.starts.size(); k++) count -= rank[row.stops[k]] - rank[row.starts[k]];
    }
    out.push_back(count);
  }
  return out;
}

void AlignmentScanner::append_missing_runs(size_t record, std::vector<uint32_t>& runs) const {
  const Row& row = rows()[record];
  if (!row.is_dense) {
    for (size_t k = 0; k < row.starts.size(); k++) runs.insert(runs.end(), {row.starts[k], row.stops[k]});
    return;
  }
  CodeBuffer from_file;
  const int64_t length = this->length();
  const uint8_t* codes = dense_.codes(row, 0, length - 1, from_file);
  for (int64_t k = 0; k < length; k++) {
    if (codes[k] != kMissing) continue;
    const int64_t start = k;
    while (k < length && codes[k] == kMissing) k++;
    runs.insert(runs.end(), {static_cast<uint32_t>(start), static_cast<uint32_t>(k)});
  }
}

AlignedSites::AlignedSites(const AlignmentScanner& scanner, const uint32_t* sites, int64_t count, bool calls_only)
    : scanner_(scanner), sites_(sites, sites + count), calls_only_(calls_only), rank_(count ? sites[count - 1] - sites[0] + 2 : 0) {
  for (int64_t k = 0; k < count; k++) rank_[sites[k] - sites[0] + 1] = 1;
  for (size_t k = 1; k < rank_.size(); k++) rank_[k] += rank_[k - 1];
  for (const auto& reader : scanner.readers_) {
    references_.emplace_back(static_cast<size_t>(count), uint8_t{0});
    // A reader that has read nothing has no reference, and no rows that need one.
    if (!calls_only && reader->length() > 0)
      for (int64_t k = 0; k < count; k++) references_.back()[static_cast<size_t>(k)] = reader->reference()[sites[k]];
  }
}

void AlignedSites::fill(size_t first, size_t rows, uint8_t* out) const {
  if (sites_.empty()) return;
  for (size_t k = first; k < first + rows; k++, out += sites_.size()) {
    const Row& row = scanner_.rows()[k];
    if (row.is_dense)
      fill_dense(row, out);
    else
      fill_sparse(row, out);
  }
}

void AlignedSites::fill_dense(const Row& row, uint8_t* out) const {
  const uint32_t first = sites_.front(), last = sites_.back();
  CodeBuffer from_file;
  const uint8_t* codes = scanner_.dense_.codes(row, first, last, from_file);
  if (last - first + 1 == sites_.size() && !calls_only_) {
    std::memcpy(out, codes, sites_.size());
    return;
  }
  for (size_t k = 0; k < sites_.size(); k++) {
    const uint8_t code = codes[sites_[k] - first];
    out[k] = calls_only_ && code != kMissing ? 0 : code;
  }
}

void AlignedSites::fill_sparse(const Row& row, uint8_t* out) const {
  const uint32_t first = sites_.front(), last = sites_.back();
  std::memcpy(out, references_[row.reader].data(), sites_.size());
  if (!calls_only_) {
    const size_t begin = static_cast<size_t>(std::lower_bound(row.sites.begin(), row.sites.end(), first) - row.sites.begin());
    for (size_t k = begin; k < row.sites.size() && row.sites[k] <= last; k++) {
      const uint32_t place = row.sites[k] - first;
      if (rank_[place + 1] != rank_[place]) out[rank_[place]] = row.codes[k];
    }
  }
  const size_t begin = static_cast<size_t>(std::upper_bound(row.stops.begin(), row.stops.end(), first) - row.stops.begin());
  for (size_t k = begin; k < row.starts.size() && row.starts[k] <= last; k++) {
    const uint32_t from = rank_[std::max(row.starts[k], first) - first], to = rank_[std::min(row.stops[k], last + 1) - first];
    std::memset(out + from, kMissing, to - from);
  }
}

}  // namespace gpualign
