#include "partition.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/common/src/threads.hpp"
#include "neighbour_hashes.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gpualign {

namespace {

constexpr size_t kLine = 8;  // entries collected before they are written: one cache line, which lies in one page

// Returns the starts of `ranges` ranges of strings with about equal numbers of neighbours, and the end.
std::vector<size_t> range_starts(const std::vector<Text>& texts, int k, int ranges) {
  double total = 0, sum = 0;
  for (const Text& text : texts) total += static_cast<double>(max_neighbours(text.length, k));
  std::vector<size_t> begins{0};
  for (size_t i = 0; i < texts.size(); i++) {
    while (static_cast<int>(begins.size()) < ranges && sum >= total * static_cast<double>(begins.size()) / ranges) begins.push_back(i);
    sum += static_cast<double>(max_neighbours(texts[i].length, k));
  }
  begins.resize(static_cast<size_t>(ranges) + 1, texts.size());
  return begins;
}

// Writes a whole line, bypassing the cache if the processor can: it is next read when all lines are written.
void write_line(uint64_t* to, const uint64_t* from) {
#if defined(__SSE2__)
  for (size_t e = 0; e < kLine; e += 2)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + e), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + e)));
#else
  std::memcpy(to, from, kLine * sizeof(uint64_t));
#endif
}

// Writes one thread's entries to their parts. The line of a part has the same alignment here as in memory.
class Writer {
 public:
  Writer(uint64_t* entries, std::vector<int64_t> positions)
      : entries_(entries), positions_(std::move(positions)), lines_(kLine * positions_.size()), ends_(positions_.size()) {
    for (size_t p = 0; p < ends_.size(); p++) ends_[p] = static_cast<uint8_t>(begin(p));
  }

  void write(size_t part, uint64_t entry) {
    uint64_t* const line = lines_.data() + kLine * part;
    line[ends_[part]++] = entry;
    if (ends_[part] < kLine) return;
    if (begin(part)) {
      copy(part);
    } else {
      write_line(entries_ + positions_[part], line);
      positions_[part] += kLine;
    }
    ends_[part] = 0;
  }

  void finish() {
    for (size_t p = 0; p < ends_.size(); p++) copy(p);
#if defined(__SSE2__)
    _mm_sfence();
#endif
  }

 private:
  size_t begin(size_t part) const { return static_cast<size_t>(positions_[part]) % kLine; }

  void copy(size_t part) {
    const size_t first = begin(part), count = ends_[part] - first;
    std::copy_n(lines_.data() + kLine * part + first, count, entries_ + positions_[part]);
    positions_[part] += static_cast<int64_t>(count);
  }

  uint64_t* const entries_;         // aligned to a line
  std::vector<int64_t> positions_;  // [part] next entry to write
  std::vector<uint64_t> lines_;
  std::vector<uint8_t> ends_;  // [part] end of the entries in its line
};

}  // namespace

Partition partition_neighbours(const std::vector<Text>& texts, int k, int bits, int threads, const Cancel* cancel) {
  const std::vector<size_t> ranges = range_starts(texts, k, threads);
  const size_t parts = size_t{1} << bits;
  // Calls take(part, entry) for the neighbours of the range of a thread.
  const auto each_entry = [&](int thread, const auto& take) {
    NeighbourHashes neighbours(k);
    for (size_t i = ranges[static_cast<size_t>(thread)]; i < ranges[static_cast<size_t>(thread) + 1] && !(cancel && cancel->requested);
         i++) {
      const Hashes hashes = neighbours.of(texts[i].codes, texts[i].length);
      for (int64_t h = 0; h < hashes.count; h++) {
        const uint64_t hash = hashes.data[h];
        take(bits ? hash >> (64 - bits) : 0, (hash << bits >> 32) << 32 | i);
      }
    }
  };

  std::vector<std::vector<int64_t>> positions(static_cast<size_t>(threads));
  run_threads(threads, [&](int thread) {
    std::vector<int64_t> counts(parts);
    each_entry(thread, [&](size_t part, uint64_t) { counts[part]++; });
    positions[static_cast<size_t>(thread)] = std::move(counts);
  });

  Partition out;
  out.bits = bits;
  out.parts.resize(parts + 1);
  int64_t end = 0;
  for (size_t p = 0; p < parts; p++) {
    out.parts[p] = end;
    for (auto& of_thread : positions) end += std::exchange(of_thread[p], end);
  }
  out.parts[parts] = end;
  out.entries = large_array<uint64_t>(static_cast<size_t>(end));
  run_threads(threads, [&](int thread) {
    Writer writer(out.entries.get(), std::move(positions[static_cast<size_t>(thread)]));
    each_entry(thread, [&](size_t part, uint64_t entry) { writer.write(part, entry); });
    writer.finish();
  });
  return out;
}

}  // namespace gpualign
