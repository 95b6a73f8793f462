// Comparison of alignment rows with the reference, sixteen letters or codes at a time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alignment_reader.hpp"

namespace gpualign {

// Sixteen codes, in portable vectors of the compiler; comparisons give 255 or 0.
typedef uint8_t Codes __attribute__((vector_size(16)));
constexpr int64_t kLanes = 16, kBlock = 255 * kLanes;  // a lane counts to 255

inline Codes load(const uint8_t* from) {
  Codes out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

inline int64_t sum(Codes counts) {
  int64_t out = 0;
  for (int k = 0; k < kLanes; k++) out += counts[k];
  return out;
}

constexpr size_t kWord = sizeof(uint64_t), kSkim = 2 * kLanes;

inline uint64_t load_word(const uint8_t* from) {
  uint64_t out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// Returns whether kSkim bytes are equal.
inline bool skim(const uint8_t* one, const uint8_t* other) {
  const Codes differing = (load(one) ^ load(other)) | (load(one + kLanes) ^ load(other + kLanes));
  uint64_t halves[2];
  std::memcpy(halves, &differing, sizeof halves);
  return !(halves[0] | halves[1]);
}

// The comparison of some sites of a row with the reference: calls that differ, starts and ends of missing calls, and missing calls.
struct RowComparison {
  int64_t differences = 0, edges = 0, missing = 0;
};

// Compares a row with the reference, sets the reference at sites where it was unknown, and flags sites.
inline void compare(const uint8_t* row, int64_t first, int64_t last, uint8_t* reference, uint8_t* flags, RowComparison& comparison) {
  int64_t k = first;
  Codes differences{}, edges{}, absent{};
  for (; k + kLanes <= last; k += kLanes) {
    const Codes code = load(row + k), known = load(reference + k);
    const Codes missing = (Codes)(code == kMissing), unknown = (Codes)(known == kUnknown);
    const Codes differs = (Codes)(code != known) & ~missing & ~unknown, fills = unknown & ~missing;
    const Codes filled = (code & fills) | (known & ~fills), flagged = load(flags + k) | (differs & kVaries) | (missing & kHasMissing);
    std::memcpy(reference + k, &filled, sizeof filled);
    std::memcpy(flags + k, &flagged, sizeof flagged);
    differences -= differs;
    absent -= missing;
    if (k) edges -= (Codes)(missing != (Codes)(load(row + k - 1) == kMissing));
  }
  comparison.differences += sum(differences);
  comparison.edges += sum(edges);
  comparison.missing += sum(absent);
  for (; k < last; k++) {
    const bool missing = row[k] == kMissing, unknown = reference[k] == kUnknown, differs = !missing && !unknown && row[k] != reference[k];
    if (unknown && !missing) reference[k] = row[k];
    flags[k] = static_cast<uint8_t>(flags[k] | (differs ? kVaries : 0) | (missing ? kHasMissing : 0));
    comparison.differences += differs;
    comparison.missing += missing;
    comparison.edges += k && missing != (row[k - 1] == kMissing);
  }
}

// Translates letters to codes. Returns whether some of them are not codes.
inline bool translate(const uint8_t* letters, size_t size, const uint8_t* table, uint8_t* __restrict codes) {
  for (size_t k = 0; k < size; k++) codes[k] = table[letters[k]];
  Codes unusual_lanes{};
  size_t k = 0;
  for (; k + kLanes <= size; k += kLanes) {
    const Codes some = load(codes + k);
    unusual_lanes |= (Codes)(some == kSkip) | (Codes)(some == kBad);
  }
  bool unusual = sum(unusual_lanes) != 0;
  for (; k < size; k++) unusual |= codes[k] == kSkip || codes[k] == kBad;
  return unusual;
}

}  // namespace gpualign
