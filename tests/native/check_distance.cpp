// A stand-alone check of the distance kernels and of the reader of alignments against plain loops, every variant of the build; see
// check_kernels.cpp for why it stands alone.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/distance/src/alignment_scanner.hpp"
#include "cpu/distance/src/distance.hpp"
#include "cpu/src/dispatch.hpp"

using namespace gpualign;

namespace {

std::mt19937_64 random_engine(4321);
int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_engine); }
int failures = 0;

void expect(bool equal, const char* what, const char* where) {
  if (equal) return;
  failures++;
  std::printf("FAILED %s on %s\n", what, where);
}

struct Planes {
  int64_t planes, samples, words, used;  // used: the words that have sites
  std::vector<uint64_t> bits;

  Planes(int64_t p, int64_t s, int64_t w)
      : planes(p), samples(s), words(w), used(pick(std::max<int64_t>(1, w - 15), w)), bits(static_cast<size_t>(p * s * w)) {
    for (size_t k = 0; k < bits.size(); k++) bits[k] = static_cast<int64_t>(k) % words < used ? random_engine() : 0;
  }
  uint64_t at(int64_t p, int64_t s, int64_t w) const { return bits[static_cast<size_t>((p * samples + s) * words + w)]; }
};

template <class Bits, class Run>
void check_tile(const DistanceKernels& kernels, const char* what, const Planes& planes, bool upper, int weight, const Bits& bits,
                const Run& run) {
  const int64_t first = pick(0, planes.samples - 1), last = pick(first + 1, planes.samples);
  const int64_t left = upper ? first : pick(0, planes.samples - 1), right = pick(left + 1, planes.samples), stride = right - left + 3;
  std::vector<int32_t> out(static_cast<size_t>((last - first) * stride), 7);
  // The same rows, found by where each begins.
  std::vector<const uint64_t*> rows;
  for (int64_t k = 0; k < planes.samples; k++) rows.push_back(planes.bits.data() + k * planes.words);
  run(DistanceTile{{planes.bits.data(), pick(0, 2) ? rows.data() : nullptr, planes.samples * planes.words, planes.words},
                   planes.used,
                   first,
                   last,
                   left,
                   right,
                   out.data(),
                   stride,
                   weight,
                   upper,
                   {},
                   0});
  for (int64_t r = first; r < last; r++)
    for (int64_t c = left; c < right; c++) {
      if (upper && c < r) continue;
      int32_t expected = 7;
      for (int64_t w = 0; w < planes.words; w++) expected += weight * __builtin_popcountll(bits(r, c, w));
      expect(out[static_cast<size_t>((r - first) * stride + c - left)] == expected, what, kernels.name);
    }
}

// Pairs within the limits have their counts, the others are beyond all of them still.
void check_limits(const DistanceKernels& kernels) {
  for (const int64_t words : {8, 24, 72, 264, 840}) {
    const Planes planes(2, pick(1, words < 72 ? 90 : 12), words);
    const int64_t n = planes.samples;
    std::vector<int32_t> out(static_cast<size_t>(n * n), 7), others(out.size());
    for (auto& other : others) other = static_cast<int32_t>(pick(0, 2));
    const int32_t most = static_cast<int32_t>(7 + pick(3, 8) * planes.used);
    const int plane[] = {0};
    kernels.differ({{planes.bits.data(), nullptr, n * words, words},
                    planes.used,
                    0,
                    n,
                    0,
                    n,
                    out.data(),
                    n,
                    1,
                    false,
                    {{out.data(), most}, {others.data(), 0}},
                    2},
                   plane, 1, 1);
    for (int64_t r = 0; r < n; r++)
      for (int64_t c = 0; c < n; c++) {
        int32_t expected = 7;
        for (int64_t w = 0; w < words; w++)
          expected += __builtin_popcountll((planes.at(0, r, w) ^ planes.at(0, c, w)) & planes.at(1, r, w) & planes.at(1, c, w));
        const auto place = static_cast<size_t>(r * n + c);
        expect(out[place] == expected || (others[place] > 0 && out[place] > most && out[place] < expected), "limits", kernels.name);
      }
  }
}

// Genotypes of which a sample has one at a site, or none; large terms.
void check_relationships(const DistanceKernels& kernels) {
  for (const int64_t words : {8, 16, 40}) {
    Planes planes(3, pick(1, 150), words);
    for (int64_t k = 0; k < planes.samples * words; k++) {
      uint64_t *one = &planes.bits[static_cast<size_t>(k)], *two = one + planes.samples * words, *called = two + planes.samples * words;
      *called |= random_engine() | random_engine();
      *one &= *called;
      *two &= *called & ~*one;
    }
    std::vector<int64_t> terms(static_cast<size_t>(9 * 64 * words));
    for (auto& term : terms) term = pick(-1000, 1000) * (int64_t{1} << 40);
    for (const bool upper : {false, true})
      for (const bool all : {false, true}) {
        const int64_t first = pick(0, planes.samples - 1), last = pick(first + 1, planes.samples);
        const int64_t left = upper ? first : pick(0, planes.samples - 1), right = pick(left + 1, planes.samples), stride = right - left + 3;
        const int64_t used = pick(1, words);
        std::vector<int64_t> out(static_cast<size_t>((last - first) * stride), 7);
        const uint64_t* const bits = planes.bits.data();
        const int64_t plane = planes.samples * words;
        kernels.relate(RelationshipTile{bits, bits + plane, all ? nullptr : bits + 2 * plane, words, used, first, last, left, right,
                                        terms.data(), out.data(), stride, upper});
        for (int64_t r = first; r < last; r++)
          for (int64_t c = left; c < right; c++) {
            if (upper && c < r) continue;
            uint64_t expected = 7;
            for (int64_t s = 0; s < 64 * used; s++) {
              const auto bit = [&](int64_t p, int64_t sample) { return planes.at(p, sample, s / 64) >> (s % 64) & 1; };
              if (!all && !(bit(2, r) & bit(2, c))) continue;
              const uint64_t x = bit(0, r) + 2 * bit(1, r), y = bit(0, c) + 2 * bit(1, c);
              expected += static_cast<uint64_t>(terms[(3 * x + y) * static_cast<uint64_t>(64 * words) + static_cast<uint64_t>(s)]);
            }
            expect(static_cast<uint64_t>(out[static_cast<size_t>((r - first) * stride + c - left)]) == expected, "relate", kernels.name);
          }
      }
  }
}

void check_variant(const DistanceKernels& kernels) {
  for (const int64_t words : {8, 24, 248, 256, 264, 520}) {
    const Planes planes(9, pick(1, words < 248 ? 90 : 12), words);
    for (int count = 1; count <= kMaxPlanes; count++)
      for (const int mask : {-1, 8}) {
        std::vector<int> used(static_cast<size_t>(count));
        for (auto& p : used) p = static_cast<int>(pick(0, 8));
        const auto bits = [&](int64_t r, int64_t c, int64_t w) {
          uint64_t differing = 0;
          for (int p : used) differing |= planes.at(p, r, w) ^ planes.at(p, c, w);
          return mask < 0 ? differing : differing & planes.at(mask, r, w) & planes.at(mask, c, w);
        };
        check_tile(kernels, "differ", planes, count % 2, count - 3, bits,
                   [&](const DistanceTile& tile) { kernels.differ(tile, used.data(), count, mask); });
      }
    const int left[] = {0, 3}, right[] = {3, 0};
    for (int k = 0; k < 2; k++)
      check_tile(
          kernels, "both", planes, false, 1,
          [&](int64_t r, int64_t c, int64_t w) { return planes.at(left[k], r, w) & planes.at(right[k], c, w); },
          [&](const DistanceTile& tile) { kernels.both(tile, left + k, right + k, 1); });
  }
}

void check_scanner() {
  uint8_t table[256];
  std::memset(table, kBad, sizeof table);
  std::memset(&table[static_cast<int>('A')], kMissing, 26);
  table[static_cast<int>('A')] = 0, table[static_cast<int>('C')] = 1, table[static_cast<int>('G')] = 2, table[static_cast<int>('T')] = 3;
  table[static_cast<int>('\n')] = table[static_cast<int>(' ')] = kSkip;
  for (int round = 0; round < 30; round++) {
    const int64_t rows = pick(1, 20), sites = pick(1, 5000);
    std::FILE* scratch = std::tmpfile();
    AlignmentScanner scanner(table, fileno(scratch), pick(0, 1) ? 1 << 20 : pick(0, 9000));
    std::string letters(static_cast<size_t>(sites), 'A'), text;
    for (auto& letter : letters) letter = "ACGT"[pick(0, 3)];
    std::vector<std::string> all;
    const int64_t changes = pick(0, 1) ? sites : 3;
    for (int64_t r = 0; r < rows; r++) {
      std::string row = letters;
      for (int64_t k = 0; k < changes; k++) row[static_cast<size_t>(pick(0, sites - 1))] = "ACGTN"[pick(0, 4)];
      const int64_t start = pick(0, sites - 1);
      for (int64_t k = start; k < std::min(sites, start + pick(0, 300)); k++) row[static_cast<size_t>(k)] = 'N';
      text += ">r" + std::to_string(r) + " title\n";
      for (int64_t k = 0; k < sites; k += 61) text += row.substr(static_cast<size_t>(k), 61) + "\n";
      all.push_back(row);
    }
    if (pick(0, 1)) {
      for (size_t k = 0; k < text.size();) {
        const size_t piece = std::min<size_t>(static_cast<size_t>(pick(1, 3000)), text.size() - k);
        scanner.feed(text.data() + k, piece);
        k += piece;
      }
    } else {
      std::FILE* file = std::tmpfile();
      std::fwrite(text.data(), 1, text.size(), file);
      std::fflush(file);
      const int readers = scanner.begin(fileno(file), 0, static_cast<int64_t>(text.size()), pick(1, 9000), 3);
      std::vector<std::thread> threads;
      for (int reader = 0; reader < readers; reader++)
        threads.emplace_back([&scanner, reader] {
          while (scanner.read_some(reader)) {
          }
        });
      for (auto& thread : threads) thread.join();
      std::fclose(file);
    }
    scanner.finish();
    std::vector<uint32_t> some;
    for (uint32_t k = 0; k < sites; k++)
      if (pick(0, 2)) some.push_back(k);
    std::vector<uint8_t> out(static_cast<size_t>(rows) * some.size());
    for (const bool calls_only : {false, true}) {
      const AlignedSites at(scanner, some.data(), static_cast<int64_t>(some.size()), calls_only);
      const size_t upper = static_cast<size_t>(pick(0, rows));
      at.fill(0, upper, out.data());
      at.fill(upper, static_cast<size_t>(rows) - upper, out.data() + upper * some.size());
      for (size_t r = 0; r < all.size(); r++)
        for (size_t k = 0; k < some.size(); k++) {
          const uint8_t code = table[static_cast<uint8_t>(all[r][some[k]])];
          expect(out[r * some.size() + k] == (calls_only && code != kMissing ? 0 : code), "fill", "the scanner");
        }
    }
    std::fclose(scratch);
  }
}

}  // namespace

int main() {
  for (const auto& variant : variants<DistanceKernels>()) {
    if (!variant.supported) continue;
    check_variant(*variant.kernels);
    check_limits(*variant.kernels);
    check_relationships(*variant.kernels);
    std::printf("%s: checked\n", variant.kernels->name);
  }
  check_scanner();
  std::printf("%d failures\n", failures);
  return failures != 0;
}
