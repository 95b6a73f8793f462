// Tables of alleles: from cells to numbers, from numbers to small codes, from codes to bit planes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace gpualign {

constexpr uint32_t kNoAllele = ~uint32_t{0};

struct AlleleRow {
  int64_t cells = 0;
  std::vector<int64_t> others;  // cells that are neither a number of up to nine digits nor a missing allele
};

// The number of a cell: 7, INF-7, *7, INF-*7; kNoAllele for 0 and for the words in `missing`. False for what is something else.
inline bool read_allele(const char* cell, size_t size, const std::vector<std::string>& missing, uint32_t& number) {
  const auto bare = [](char c) { return c == ' ' || c == '"'; };
  while (size && bare(cell[size - 1])) size--;
  while (size && bare(*cell)) cell++, size--;
  const auto is_missing = [&](const std::string& word) { return word.size() == size && std::memcmp(word.data(), cell, size) == 0; };
  if (size == 0 || *cell < '0' || *cell > '9') {
    number = kNoAllele;
    if (size == 0 || std::any_of(missing.begin(), missing.end(), is_missing)) return true;
    const bool inferred = size > 4 && std::memcmp(cell, "INF-", 4) == 0;
    const size_t marks = (inferred ? 4 : 0) + (cell[inferred ? 4 : 0] == '*');
    cell += marks, size -= marks;
  }
  if (size == 0 || size > 9) return false;
  uint32_t value = 0;
  for (size_t k = 0; k < size; k++) {
    if (cell[k] < '0' || cell[k] > '9') return false;
    value = 10 * value + static_cast<uint32_t>(cell[k] - '0');
  }
  number = value ? value : kNoAllele;
  return true;
}

// Of a line's cells from byte `at` on; out: room for so many numbers.
inline AlleleRow read_alleles(const char* at, const char* end, char separator, const std::vector<std::string>& missing, uint32_t* out,
                              int64_t room) {
  AlleleRow row;
  while (true) {
    const void* found = at < end ? std::memchr(at, separator, static_cast<size_t>(end - at)) : nullptr;
    const char* stop = found ? static_cast<const char*>(found) : end;
    uint32_t number = kNoAllele;
    if (!read_allele(at, static_cast<size_t>(stop - at), missing, number)) row.others.push_back(row.cells);
    if (row.cells < room) out[row.cells] = number;
    row.cells++;
    if (stop >= end) return row;
    at = stop + 1;
  }
}

// Codes of the numbers of one locus: 0, 1, 2, ... in the order in which they are first met.
class AlleleCodes {
 public:
  AlleleCodes() : slots_(64) {}

  uint32_t code(uint32_t number) {
    size_t at = place(number);
    for (; slots_[at].code != kNoAllele; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].number == number) return slots_[at].code;
    slots_[at] = {number, count_++};
    if (2 * static_cast<size_t>(count_) > slots_.size()) grow();
    return count_ - 1;
  }
  uint32_t count() const { return count_; }

 private:
  struct Slot {
    uint32_t number = 0, code = kNoAllele;
  };
  // Fibonacci hashing: the product's upper bits.
  size_t place(uint32_t number) const { return (number * uint64_t{0x9E3779B97F4A7C15u} >> 32) & (slots_.size() - 1); }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.code == kNoAllele) continue;
      size_t at = place(slot.number);
      while (slots_[at].code != kNoAllele) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }
  std::vector<Slot> slots_;
  uint32_t count_ = 0;
};

// numbers[samples][loci] -> codes[loci][samples] of loci first .. last, kNoAllele where there is none; counts[locus]: its alleles;
// lacking[locus]: samples without one.
inline void code_alleles(const uint32_t* numbers, int64_t samples, int64_t loci, int64_t first, int64_t last, uint32_t* codes,
                         int64_t* counts, int64_t* lacking) {
  constexpr int64_t kLoci = 16;  // a cache line of a sample's numbers at a time
  for (int64_t start = first; start < last; start += kLoci) {
    const int64_t here = std::min(kLoci, last - start);
    std::vector<AlleleCodes> known(static_cast<size_t>(here));
    for (int64_t k = 0; k < here; k++) lacking[start + k] = 0;
    for (int64_t s = 0; s < samples; s++)
      for (int64_t k = 0; k < here; k++) {
        const uint32_t number = numbers[s * loci + start + k];
        lacking[start + k] += number == kNoAllele;
        codes[(start + k) * samples + s] = number == kNoAllele ? kNoAllele : known[static_cast<size_t>(k)].code(number);
      }
    for (int64_t k = 0; k < here; k++) counts[start + k] = known[static_cast<size_t>(k)].count();
  }
}

// Planes of some loci: plane p < bits is bit p of their codes, plane `bits`, where `called` asks for it, says which have an allele.
// planes[plane][sample][word]: bit k of word w is that of loci[64 w + k].
inline void pack_alleles(const uint32_t* codes, int64_t samples, const int64_t* loci, int64_t count, int bits, bool called, int64_t first,
                         int64_t last, uint64_t* planes, int64_t words) {
  constexpr int64_t kSamples = 256;  // whose words stay in the L1 cache
  uint64_t room[kSamples];
  for (int64_t start = first; start < last; start += kSamples) {
    const int64_t here = std::min(kSamples, last - start);
    for (int64_t w = 0; w < words; w++)
      for (int p = 0; p < bits + called; p++) {
        std::fill(room, room + here, uint64_t{0});
        for (int64_t k = 64 * w; k < std::min(count, 64 * w + 64); k++) {
          const uint32_t* some = codes + loci[k] * samples + start;
          const int64_t shift = k - 64 * w;
          if (p < bits)
            for (int64_t s = 0; s < here; s++) room[s] |= static_cast<uint64_t>(some[s] >> p & 1) << shift;
          else
            for (int64_t s = 0; s < here; s++) room[s] |= static_cast<uint64_t>(some[s] != kNoAllele) << shift;
        }
        for (int64_t s = 0; s < here; s++) planes[(p * samples + start + s) * words + w] = room[s];
      }
  }
}

}  // namespace gpualign
