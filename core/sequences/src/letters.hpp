// Letters of many records, stored back to back: counts of their kinds, and their codes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace gpualign {

// A set of bytes below 128. Bit h of rows[l] says whether byte 16 h + l is in the set, so that sixteen bytes are looked up at once.
class ByteSet {
 public:
  explicit ByteSet(const bool* members) {
    for (int byte = 0; byte < 128; byte++) {
      members_[byte] = members[byte];
      if (members[byte]) rows_[byte & 15] = static_cast<uint8_t>(rows_[byte & 15] | 1 << (byte >> 4));
    }
  }

  bool has(uint8_t byte) const { return byte < 128 && members_[byte]; }

  int64_t count(const uint8_t* bytes, int64_t size) const {
    int64_t k = 0, count = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("ssse3")) count = count_ssse3(bytes, size, k);
#endif
    for (; k < size; k++) count += has(bytes[k]);
    return count;
  }

 private:
#if defined(__x86_64__)
  __attribute__((target("ssse3"))) int64_t count_ssse3(const uint8_t* bytes, int64_t size, int64_t& k) const {
    const __m128i rows = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows_)), low = _mm_set1_epi8(15);
    const __m128i bits = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0), zero = _mm_setzero_si128();
    __m128i others = zero;  // count of bytes outside the set, in two halves of 64 bits
    for (; k + 16 <= size; k += 16) {
      const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + k));
      const __m128i row = _mm_shuffle_epi8(rows, _mm_and_si128(some, low));
      const __m128i bit = _mm_shuffle_epi8(bits, _mm_and_si128(_mm_srli_epi16(some, 4), low));
      const __m128i outside = _mm_cmpeq_epi8(_mm_and_si128(row, bit), zero);
      others = _mm_add_epi64(others, _mm_sad_epu8(_mm_sub_epi8(zero, outside), zero));
    }
    int64_t halves[2];
    std::memcpy(halves, &others, sizeof halves);
    return k - halves[0] - halves[1];
  }
#endif

  bool members_[128] = {};
  uint8_t rows_[16] = {};
};

// Defines the kinds of letters and records that are counted.
struct KindRules {
  ByteSet plain, other;  // letters of the first and of the second kind
  int64_t clear_length;  // minimum number of letters of a clear record
  double clear_part;     // minimum fraction of them that is of the first kind; none may be of the second
};

struct Kinds {
  int64_t plain = 0;         // number of letters of the first kind
  int64_t first_other = -1;  // first record with a letter of the second kind
  int64_t first_clear = -1;  // first clear record

  // Adds the kinds of records that follow. first: number of their first record.
  void add(const Kinds& next, int64_t first) {
    plain += next.plain;
    if (first_other < 0 && next.first_other >= 0) first_other = first + next.first_other;
    if (first_clear < 0 && next.first_clear >= 0) first_clear = first + next.first_clear;
  }
};

inline Kinds count_kinds(const uint8_t* letters, const int64_t* offsets, int64_t records, const KindRules& rules) {
  Kinds out;
  constexpr int64_t kBlockSize = 1 << 14;  // letters that are still cached for a second pass
  const int64_t end = offsets[records];
  int64_t other_at = -1;
  for (int64_t start = offsets[0]; start < end; start += kBlockSize) {
    const int64_t size = start + kBlockSize < end ? kBlockSize : end - start, plain_count = rules.plain.count(letters + start, size);
    out.plain += plain_count;
    if (other_at < 0 && plain_count < size && rules.other.count(letters + start, size))
      for (other_at = start; !rules.other.has(letters[other_at]);) other_at++;
  }
  for (int64_t i = 0; i < records && (out.first_clear < 0 || (other_at >= 0 && out.first_other < 0)); i++) {
    const int64_t start = offsets[i], size = offsets[i + 1] - start;
    if (out.first_other < 0 && other_at >= start && other_at < offsets[i + 1]) out.first_other = i;
    if (out.first_clear < 0 && size >= rules.clear_length &&
        static_cast<double>(rules.plain.count(letters + start, size)) >= rules.clear_part * size &&
        !rules.other.count(letters + start, size))
      out.first_clear = i;
  }
  return out;
}

// Adds the number of occurrences of each byte to counts[256]. Adjacent bytes are counted in separate tables: adding to a counter that has
// just been written takes several cycles, and equal letters often follow each other.
inline void count_bytes(const uint8_t* bytes, int64_t size, int64_t* counts) {
  constexpr int kTables = 8;
  int64_t tables[kTables][256] = {};
  int64_t k = 0;
  for (; k + kTables <= size; k += kTables) {
    uint64_t some;
    std::memcpy(&some, bytes + k, sizeof some);
    for (int table = 0; table < kTables; table++) tables[table][some >> (8 * table) & 255]++;
  }
  for (; k < size; k++) tables[0][bytes[k]]++;
  for (const int64_t* table : tables)
    for (int byte = 0; byte < 256; byte++) counts[byte] += table[byte];
}

// Sets found[code] for each code that occurs. Few blocks have a code that no earlier one has, and the others are looked at sixteen codes at
// a time.
inline void find_codes(const uint8_t* codes, int64_t size, bool found[256]) {
  constexpr int64_t kBlockSize = 1 << 12;
  ByteSet known(found);
  for (int64_t start = 0; start < size; start += kBlockSize) {
    const int64_t block = start + kBlockSize < size ? kBlockSize : size - start;
    if (known.count(codes + start, block) == block) continue;
    for (int64_t k = start; k < start + block; k++) found[codes[k]] = true;
    known = ByteSet(found);
  }
}

// Translates letters to codes by a table.
class Encoding {
 public:
  Encoding(const uint8_t* table, uint8_t invalid) : invalid_(invalid) {
    std::memcpy(table_, table, sizeof table_);
    bool lower = false;
    for (int k = 96; k < 128; k++) lower = lower || table[k] != invalid;
    if (!lower) range_mask_ = 0xE0;
    // Both cases of a letter share their last five bits. If their codes differ, the letter counts as invalid here; then sixteen letters are
    // looked up one by one.
    for (int k = 0; k < 32; k++) folded_[k] = !lower || table[64 + k] == table[96 + k] ? table[64 + k] : invalid;
  }

  // Translates letters. Returns the index of the first one whose code is `invalid`, where it stops, or -1. `codes` may be `letters`.
  int64_t encode(const uint8_t* letters, int64_t count, uint8_t* codes) const {
    int64_t k = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("ssse3")) return encode_ssse3(letters, count, codes);
#elif defined(__aarch64__)
    const uint8x16x2_t folded = vld1q_u8_x2(folded_);
    for (; k + 16 <= count; k += 16) {
      const uint8x16_t some = vld1q_u8(letters + k), code = vqtbl2q_u8(folded, vandq_u8(some, vdupq_n_u8(31)));
      const uint8x16_t letter = vceqq_u8(vandq_u8(some, vdupq_n_u8(range_mask_)), vdupq_n_u8(0x40));
      if (vminvq_u8(vbicq_u8(letter, vceqq_u8(code, vdupq_n_u8(invalid_)))) == 255)
        vst1q_u8(codes + k, code);
      else if (const int64_t at = encode_each(letters, k, k + 16, codes); at >= 0)
        return at;
    }
#endif
    return encode_each(letters, k, count, codes);
  }

 private:
  int64_t encode_each(const uint8_t* letters, int64_t k, int64_t stop, uint8_t* codes) const {
    for (; k < stop; k++) {
      const uint8_t code = table_[letters[k]];
      if (code == invalid_) return k;
      codes[k] = code;
    }
    return -1;
  }

#if defined(__x86_64__)
  __attribute__((target("ssse3"))) int64_t encode_ssse3(const uint8_t* letters, int64_t count, uint8_t* codes) const {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(folded_));
    const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(folded_ + 16));
    const __m128i low = _mm_set1_epi8(15), sixteen = _mm_set1_epi8(16), invalid = _mm_set1_epi8(static_cast<char>(invalid_));
    const __m128i range = _mm_set1_epi8(static_cast<char>(range_mask_)), letter = _mm_set1_epi8(0x40);
    int64_t k = 0;
    for (; k + 16 <= count; k += 16) {
      const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(letters + k)), at = _mm_and_si128(some, low);
      const __m128i upper = _mm_cmpeq_epi8(_mm_and_si128(some, sixteen), sixteen);
      const __m128i code =
          _mm_or_si128(_mm_and_si128(upper, _mm_shuffle_epi8(second, at)), _mm_andnot_si128(upper, _mm_shuffle_epi8(first, at)));
      const __m128i good = _mm_andnot_si128(_mm_cmpeq_epi8(code, invalid), _mm_cmpeq_epi8(_mm_and_si128(some, range), letter));
      if (_mm_movemask_epi8(good) == 0xFFFF)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + k), code);
      else if (const int64_t bad = encode_each(letters, k, k + 16, codes); bad >= 0)
        return bad;
    }
    return encode_each(letters, k, count, codes);
  }
#endif

  uint8_t table_[256];
  uint8_t folded_[32];
  uint8_t range_mask_ = 0xC0;  // bits that must equal 0x40 in bytes looked up in folded_; includes 0x20 if lower-case letters have no codes
  uint8_t invalid_;
};

}  // namespace gpualign
