// Tables of alleles: from cells to numbers, from numbers to small codes, from codes to bit planes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "table_cells.hpp"

namespace gpualign {

constexpr uint32_t kNoAllele = ~uint32_t{0};

// The words for a missing allele. numeric: some begin with a digit.
struct MissingAlleles {
  std::vector<std::string> words;
  bool numeric = false;
};

struct AlleleRow {
  LineCells line;
  int64_t zeros = 0;            // cells with the number 0
  int64_t numbers = 0;          // cells with a number
  int64_t beyond = 0;           // cells with a number above 2, which is no genotype
  std::vector<int64_t> others;  // indices of cells that are neither a number of up to nine digits nor a missing allele
};

// Reads the number of a cell that consists of one to nine digits, as most cells do. Returns false for any other cell.
inline bool read_digits(const char* from, const char* to, uint32_t& number) {
  if (from == to || to - from > 9) return false;
  uint32_t value = 0;
  for (; from < to; from++) {
    const uint32_t digit = static_cast<uint8_t>(*from) - uint32_t{'0'};
    if (digit > 9) return false;
    value = 10 * value + digit;
  }
  number = value;
  return true;
}

// Reads the number of a cell: 7, INF-7, *7, INF-*7; kNoAllele for 0 and for missing alleles. Returns false for anything else.
// point: the character before the zeros of a decimal, or 0.
inline bool read_allele(Cell cell, const MissingAlleles& missing, uint32_t& number, char& point) {
  const bool digit = cell.size && *cell.text >= '0' && *cell.text <= '9';
  number = kNoAllele, point = 0;
  if (cell.size == 0 || ((!digit || missing.numeric) && cell.is_one_of(missing.words))) return true;
  if (!digit) {
    const bool inferred = cell.size > 4 && std::memcmp(cell.text, "INF-", 4) == 0;
    const size_t marks = (inferred ? 4 : 0) + (cell.text[inferred ? 4 : 0] == '*');
    cell.text += marks, cell.size -= marks;
  }
  point = cell.remove_zero_decimals();
  if (point && missing.numeric && cell.is_one_of(missing.words)) return true;
  return read_digits(cell.text, cell.text + cell.size, number);
}

// Reads the cells of a line from byte `at` on. out[width]: one number per column that is read.
inline AlleleRow read_alleles(const char* at, const char* end, char separator, const std::vector<uint8_t>& columns,
                              const MissingAlleles& missing, uint32_t* out, int64_t width, Decimals& decimals) {
  AlleleRow row;
  std::vector<Decimal> decimals_here;
  row.line = each_cell(at, end, separator, columns, [&](int64_t place, int64_t, const char* from, const char* to) {
    uint32_t number;
    char point = 0;
    const bool other = (missing.numeric || !read_digits(from, to, number)) && !read_allele(Cell(from, to), missing, number, point);
    if (other) row.others.push_back(place);
    if (point && (other || number != kNoAllele)) decimals_here.push_back({point, place, !other && number == 0});
    row.numbers += number != kNoAllele;
    row.beyond += number > 2 && number != kNoAllele;
    if (number == 0) row.zeros++, number = kNoAllele;
    if (place < width) out[place] = number;
  });
  if (!decimals_here.empty()) decimals.add(decimals_here, width, row.numbers - row.zeros);
  return row;
}

// Assigns the codes 0, 1, 2, ... to the numbers of one locus, in order of first occurrence.
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
  // Returns the slot of a number by Fibonacci hashing: the upper bits of the product.
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

// Converts numbers[samples][loci] to codes[loci][samples] for the loci first .. last-1, with kNoAllele for none. counts[locus]: number of
// alleles. lacking[locus]: samples without one.
inline void code_alleles(const uint32_t* numbers, int64_t samples, int64_t loci, int64_t first, int64_t last, uint32_t* codes,
                         int64_t* counts, int64_t* lacking) {
  constexpr int64_t kLoci = 16;  // one cache line of a sample's numbers at a time
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

// Packs the codes of some loci into planes: plane p < bits has bit p of the codes; plane `bits`, only if `called`, has the loci with an
// allele. planes[plane][sample][word]: bit k of word w belongs to loci[64 w + k].
inline void pack_alleles(const uint32_t* codes, int64_t samples, const int64_t* loci, int64_t count, int bits, bool called, int64_t first,
                         int64_t last, uint64_t* planes, int64_t words) {
  constexpr int64_t kSamples = 256;  // samples at a time, whose words stay in L1
  uint64_t packed[kSamples];
  for (int64_t start = first; start < last; start += kSamples) {
    const int64_t here = std::min(kSamples, last - start);
    for (int64_t w = 0; w < words; w++)
      for (int p = 0; p < bits + called; p++) {
        std::fill(packed, packed + here, uint64_t{0});
        for (int64_t k = 64 * w; k < std::min(count, 64 * w + 64); k++) {
          const uint32_t* some = codes + loci[k] * samples + start;
          const int64_t shift = k - 64 * w;
          if (p < bits)
            for (int64_t s = 0; s < here; s++) packed[s] |= static_cast<uint64_t>(some[s] >> p & 1) << shift;
          else
            for (int64_t s = 0; s < here; s++) packed[s] |= static_cast<uint64_t>(some[s] != kNoAllele) << shift;
        }
        for (int64_t s = 0; s < here; s++) planes[(p * samples + start + s) * words + w] = packed[s];
      }
  }
}

// Writes the allele numbers of one sample at some loci, from the lowest bit of a word on, to out[loci], with kNoAllele for none. Returns
// false for a code that no allele has. row[1 + bits][words]: plane 0 marks the loci with an allele, the others hold the bits of codes.
// offsets: locus k has numbers[offsets[k] .. offsets[k + 1] - 1], in the order of codes.
inline bool unpack_alleles_of(const uint64_t* row, size_t planes, size_t words, size_t first_word, size_t loci, const int64_t* offsets,
                              const uint32_t* numbers, uint32_t* out) {
  bool valid = true;
  for (size_t start = 0; start < loci; start += 64) {
    const size_t word = first_word + start / 64, here = std::min<size_t>(64, loci - start);
    uint32_t codes[64] = {};
    for (size_t p = 1; p < planes; p++) {
      const uint64_t bits = row[p * words + word];
      for (size_t k = 0; bits && k < 64; k++) codes[k] |= static_cast<uint32_t>(bits >> k & 1) << (p - 1);
    }
    for (size_t k = 0; k < here; k++) {
      uint32_t number = kNoAllele;
      if (row[word] >> k & 1) {
        const int64_t place = offsets[start + k] + codes[k];
        if (place < offsets[start + k + 1])
          number = numbers[place];
        else
          valid = false;
      }
      out[start + k] = number;
    }
  }
  return valid;
}

}  // namespace gpualign
