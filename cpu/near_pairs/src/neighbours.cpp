#include "neighbours.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

#include "bounded_edits.hpp"
#include "core/common/src/threads.hpp"
#include "neighbour_hashes.hpp"
#include "neighbour_search.hpp"

namespace gpualign {

namespace {

constexpr int64_t kPartEntries = 16384;  // entries per part on average, so that a part fits L2
constexpr int64_t kBitsPerEntry = 8;     // bits that mark hashes which occur twice
constexpr int64_t kBatch = 64;           // queries that a thread takes at a time

bool requested(const Cancel* cancel) { return cancel && cancel->requested; }

// Finds the entries of a part whose hashes occur more than once. Used by one thread, whose scratch memory it holds.
class SharedEntries {
 public:
  // Moves these entries to the front of entries[0 .. count), sorted by hash and record, and returns their number. May keep a few others.
  size_t filter(uint64_t* entries, size_t count) {
    int bits = 6;
    while (int64_t{1} << bits < kBitsPerEntry * static_cast<int64_t>(count) && bits < 32) bits++;
    once_.assign(size_t{1} << (bits - 6), 0);
    twice_.assign(size_t{1} << (bits - 6), 0);
    const auto mark = [bits](uint64_t entry) { return entry >> (64 - bits); };
    for (size_t e = 0; e < count; e++) {
      const uint64_t m = mark(entries[e]), bit = uint64_t{1} << (m & 63);
      twice_[m >> 6] |= once_[m >> 6] & bit;
      once_[m >> 6] |= bit;
    }
    size_t kept = 0;
    for (size_t e = 0; e < count; e++) {
      const uint64_t entry = entries[e], m = mark(entry);
      entries[kept] = entry;
      kept += twice_[m >> 6] >> (m & 63) & 1;
    }
    sort(entries, kept);
    return kept;
  }

 private:
  // Sorts entries: distributes them to slots of about two entries, and sorts each slot.
  void sort(uint64_t* entries, size_t count) {
    int bits = 1;
    while (size_t{2} << bits < count && bits < 32) bits++;
    const auto slot = [bits](uint64_t entry) { return entry >> (64 - bits); };
    copy_.assign(entries, entries + count);
    ends_.assign(size_t{1} << bits, 0);
    for (uint64_t entry : copy_) ends_[slot(entry)]++;
    size_t begin = 0;
    for (size_t& end : ends_) begin += std::exchange(end, begin);
    for (uint64_t entry : copy_) entries[ends_[slot(entry)]++] = entry;
    begin = 0;
    for (size_t end : ends_) std::sort(entries + std::exchange(begin, end), entries + end);
  }

  std::vector<uint64_t> once_, twice_, copy_;
  std::vector<size_t> ends_;
};

}  // namespace

Neighbourhoods::Neighbourhoods(const Set& queries, const Set* targets, int k, int threads, const Cancel* cancel)
    : k_(k), threads_(threads), one_set_(!targets), codes_(kReadMargin), offsets_{kReadMargin} {
  if (targets) append(*targets);
  base_ = count_;
  append(queries);
  codes_.resize(codes_.size() + kReadMargin);

  std::vector<Text> texts;
  texts.reserve(static_cast<size_t>(count_));
  double entries = 0;
  for (int64_t i = 0; i < count_; i++) {
    texts.push_back(text(i));
    entries += static_cast<double>(max_neighbours(texts.back().length, k));
  }
  int bits = 0;
  while (bits < kMaxPartBits && entries > static_cast<double>(kPartEntries << bits)) bits++;
  make_runs(partition_neighbours(texts, k, bits, threads, cancel), cancel);
  if (requested(cancel)) return;
  link_runs();
  ready_ = true;
}

void Neighbourhoods::append(const Set& set) {
  const int64_t* const offsets = set.sequences.offsets;
  for (int64_t i = 0; i < set.count; i++) offsets_.push_back(offsets_.back() + offsets[i + 1] - offsets[i]);
  codes_.insert(codes_.end(), set.sequences.codes + offsets[0], set.sequences.codes + offsets[set.count]);
  count_ += set.count;
}

size_t Neighbourhoods::bytes() const {
  return codes_.size() + sizeof(int64_t) * offsets_.size() + sizeof(uint32_t) * (begins_.size() + 2 * static_cast<size_t>(run_records_));
}

void Neighbourhoods::make_runs(Partition partition, const Cancel* cancel) {
  const size_t parts = partition.parts.size() - 1;
  std::vector<int64_t> begins(parts + 1);  // of each part in runs_; at first its number of records
  std::atomic<size_t> next{0};
  run_threads(threads_, [&](int) {
    SharedEntries shared;
    for (size_t p = next++; p < parts && !requested(cancel); p = next++) {
      uint64_t* const entries = partition.entries.get() + partition.parts[p];
      const size_t count = shared.filter(entries, static_cast<size_t>(partition.parts[p + 1] - partition.parts[p]));
      size_t kept = 0;
      for (size_t begin = 0, end = 0; begin < count; begin = end) {
        while (end < count && hash_of(entries[end]) == hash_of(entries[begin])) end++;
        const bool has_both = number_of(entries[begin]) < base_ && number_of(entries[end - 1]) >= base_;
        if (end - begin == 1 || (!one_set_ && !has_both)) continue;
        for (size_t e = begin; e < end; e++) entries[kept++] = uint64_t{number_of(entries[e])} << 1 | (e + 1 == end);
      }
      begins[p] = static_cast<int64_t>(kept);
    }
  });
  if (requested(cancel)) return;
  for (int64_t& begin : begins) run_records_ += std::exchange(begin, run_records_);
  if (run_records_ > int64_t{0xffffffff}) throw std::length_error("more than 2^32 deletion neighbours are shared");
  runs_ = large_array<uint32_t>(static_cast<size_t>(run_records_));
  next = 0;
  run_threads(threads_, [&](int) {
    for (size_t p = next++; p < parts; p = next++) {
      const uint64_t* const entries = partition.entries.get() + partition.parts[p];
      std::transform(entries, entries + (begins[p + 1] - begins[p]), runs_.get() + begins[p],
                     [](uint64_t entry) { return static_cast<uint32_t>(entry); });
    }
  });
}

// Sorts the positions in runs_ by record, by counting. Each thread reads all of them and handles a range of records of its own, which is
// faster than counters shared by threads.
void Neighbourhoods::link_runs() {
  begins_.assign(static_cast<size_t>(count_) + 1, 0);
  const auto each_position = [&](int thread, const auto& take) {
    const uint32_t begin = static_cast<uint32_t>(count_ * thread / threads_), end = static_cast<uint32_t>(count_ * (thread + 1) / threads_);
    for (int64_t place = 0; place < run_records_; place++) {
      const uint32_t record = runs_[static_cast<size_t>(place)] >> 1;
      if (record - begin < end - begin) take(static_cast<uint32_t>(place), record);
    }
  };
  run_threads(threads_, [&](int thread) { each_position(thread, [&](uint32_t, uint32_t record) { begins_[record]++; }); });
  uint32_t sum = 0;
  for (uint32_t& begin : begins_) sum += std::exchange(begin, sum);
  positions_ = large_array<uint32_t>(static_cast<size_t>(run_records_));
  run_threads(threads_,
              [&](int thread) { each_position(thread, [&](uint32_t place, uint32_t record) { positions_[begins_[record]++] = place; }); });
  // Each begin has become that of the next record: move them back.
  std::copy_backward(begins_.begin(), begins_.end() - 1, begins_.end());
  begins_[0] = 0;
}

bool Neighbourhoods::within(const int64_t* ids, const int64_t* firsts, int64_t queries, int64_t max_pairs, int threads,
                            const Cancel* cancel, NearPairs& out) const {
  struct Batch {
    std::vector<size_t> ends;     // of the pairs of each query
    std::vector<uint64_t> pairs;  // target << 8 | distance
  };
  std::vector<Batch> batches(static_cast<size_t>((queries + kBatch - 1) / kBatch));
  std::atomic<size_t> next{0};
  std::atomic<int64_t> total{0};
  const auto stopped = [&] { return !ready_ || requested(cancel) || total.load(std::memory_order_relaxed) > max_pairs; };
  run_threads(threads, [&](int) {
    NeighbourSearch search(*this);
    for (size_t s = next++; s < batches.size() && !stopped(); s = next++) {
      Batch& batch = batches[s];
      const int64_t begin = static_cast<int64_t>(s) * kBatch, end = std::min(queries, begin + kBatch);
      search.within(ids + begin, firsts + begin, end - begin, batch.pairs, batch.ends);
      total += static_cast<int64_t>(batch.pairs.size());
      batch.pairs.shrink_to_fit();
    }
  });
  if (!ready_ || requested(cancel)) return false;
  out.overflow = total > max_pairs;
  if (out.overflow) return true;

  std::vector<size_t> places{0};
  for (const Batch& batch : batches) places.push_back(places.back() + batch.pairs.size());
  out.count = total;
  out.queries.reset(new int64_t[places.back()]);
  out.targets.reset(new int64_t[places.back()]);
  out.distances.reset(new uint8_t[places.back()]);
  next = 0;
  run_threads(threads, [&](int) {
    for (size_t s = next++; s < batches.size(); s = next++) {
      const Batch batch = std::move(batches[s]);
      size_t pair = 0;
      for (size_t q = 0; q < batch.ends.size(); q++)
        for (; pair < batch.ends[q]; pair++) {
          const size_t place = places[s] + pair;
          out.queries[place] = ids[static_cast<int64_t>(s) * kBatch + static_cast<int64_t>(q)];
          out.targets[place] = static_cast<int64_t>(batch.pairs[pair] >> 8);
          out.distances[place] = static_cast<uint8_t>(batch.pairs[pair]);
        }
    }
  });
  return true;
}

}  // namespace gpualign
