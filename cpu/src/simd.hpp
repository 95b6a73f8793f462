// Vector operations used by the kernels, for the instruction set that the file is compiled for.
//
// One kernel source is compiled once per instruction set. The macro GPUALIGN_ISA names the variant and its namespace, and
// the compiler's own target macros select the instructions below. Operations without an intrinsic use the portable vector extensions of
// GCC and Clang.
//
// Rule for every header of a variant: no C++ standard library. A template of the library instantiated here would be
// compiled with this variant's instructions, and the linker may keep that copy for callers on older machines.
#pragma once
#include <cstdint>
#include <cstring>

// GPUALIGN_PORTABLE restricts the baseline variant to vector extensions, on every processor.
#if defined(GPUALIGN_PORTABLE)
#elif defined(__AVX512BW__)
#define GPUALIGN_AVX512 1
#elif defined(__AVX2__)
#define GPUALIGN_AVX2 1
#elif defined(__SSE4_1__)
#define GPUALIGN_SSE41 1
#elif defined(__ARM_NEON)
#define GPUALIGN_NEON 1
#endif

#if defined(GPUALIGN_NEON)
#include <arm_neon.h>
#elif defined(GPUALIGN_AVX512) || defined(GPUALIGN_AVX2) || defined(GPUALIGN_SSE41)
#include <immintrin.h>
#endif

namespace gpualign::GPUALIGN_ISA {

#if defined(GPUALIGN_AVX512)
constexpr int kVectorBytes = 64;
constexpr bool kTernaryLogic = true;  // vpternlog: any function of three inputs in one instruction
#elif defined(GPUALIGN_AVX2)
constexpr int kVectorBytes = 32;
constexpr bool kTernaryLogic = false;
#else
constexpr int kVectorBytes = 16;
constexpr bool kTernaryLogic = false;
#endif

template <class E>
struct VectorOf {
  typedef E type __attribute__((vector_size(kVectorBytes)));
};
template <class E>
using Vec = typename VectorOf<E>::type;
using Bytes = Vec<uint8_t>;
using Words = Vec<uint64_t>;
typedef uint8_t Bytes16 __attribute__((vector_size(16)));

template <class E>
struct SignedOf;
template <>
struct SignedOf<uint8_t> {
  using type = int8_t;
};
template <>
struct SignedOf<uint16_t> {
  using type = int16_t;
};
template <>
struct SignedOf<uint32_t> {
  using type = int32_t;
};

template <class E>
constexpr int lanes_of() {
  return kVectorBytes / static_cast<int>(sizeof(E));
}

template <class E>
static inline Vec<E> broadcast(E value) {
  return Vec<E>{} + value;
}

// Returns the value and hides its origin from the compiler. Otherwise GCC rewrites z - (z' - v') as (v' - z') + z, one operation more per
// cell.
template <class V>
static inline V opaque(V value) {
#if defined(GPUALIGN_AVX512)
  asm("" : "+v"(value));
#elif defined(GPUALIGN_AVX2) || defined(GPUALIGN_SSE41)
  asm("" : "+x"(value));
#elif defined(GPUALIGN_NEON)
  asm("" : "+w"(value));
#endif
  return value;
}

// ---- maximum of unsigned elements, and saturating subtraction of those of 16 bits
#if defined(GPUALIGN_AVX512)
#define GPUALIGN_BINARY(name, E, op) \
  static inline Vec<E> name(Vec<E> a, Vec<E> b) { return (Vec<E>)op((__m512i)a, (__m512i)b); }
GPUALIGN_BINARY(maximum, uint8_t, _mm512_max_epu8)
GPUALIGN_BINARY(maximum, uint16_t, _mm512_max_epu16)
GPUALIGN_BINARY(maximum, uint32_t, _mm512_max_epu32)
GPUALIGN_BINARY(subtract_saturating, uint16_t, _mm512_subs_epu16)
#undef GPUALIGN_BINARY
#elif defined(GPUALIGN_AVX2)
#define GPUALIGN_BINARY(name, E, op) \
  static inline Vec<E> name(Vec<E> a, Vec<E> b) { return (Vec<E>)op((__m256i)a, (__m256i)b); }
GPUALIGN_BINARY(maximum, uint8_t, _mm256_max_epu8)
GPUALIGN_BINARY(maximum, uint16_t, _mm256_max_epu16)
GPUALIGN_BINARY(maximum, uint32_t, _mm256_max_epu32)
GPUALIGN_BINARY(subtract_saturating, uint16_t, _mm256_subs_epu16)
#undef GPUALIGN_BINARY
#elif defined(GPUALIGN_SSE41)
#define GPUALIGN_BINARY(name, E, op) \
  static inline Vec<E> name(Vec<E> a, Vec<E> b) { return (Vec<E>)op((__m128i)a, (__m128i)b); }
GPUALIGN_BINARY(maximum, uint8_t, _mm_max_epu8)
GPUALIGN_BINARY(maximum, uint16_t, _mm_max_epu16)
GPUALIGN_BINARY(maximum, uint32_t, _mm_max_epu32)
GPUALIGN_BINARY(subtract_saturating, uint16_t, _mm_subs_epu16)
#undef GPUALIGN_BINARY
#elif defined(GPUALIGN_NEON)
#define GPUALIGN_BINARY(name, E, N, op) \
  static inline Vec<E> name(Vec<E> a, Vec<E> b) { return (Vec<E>)op((N)a, (N)b); }
GPUALIGN_BINARY(maximum, uint8_t, uint8x16_t, vmaxq_u8)
GPUALIGN_BINARY(maximum, uint16_t, uint16x8_t, vmaxq_u16)
GPUALIGN_BINARY(maximum, uint32_t, uint32x4_t, vmaxq_u32)
GPUALIGN_BINARY(subtract_saturating, uint16_t, uint16x8_t, vqsubq_u16)
#undef GPUALIGN_BINARY
#else
template <class V>
static inline V maximum(V a, V b) {
  return a > b ? a : b;
}
static inline Vec<uint16_t> subtract_saturating(Vec<uint16_t> a, Vec<uint16_t> b) { return maximum(a, b) - b; }
#endif

// ---- out + value in the elements in which a equals b, or a is greater than b as signed elements; the bits of value are 0 in out
template <class E>
static inline Vec<E> add_where_equal(Vec<E> out, Vec<E> a, Vec<E> b, E value) {
#if defined(GPUALIGN_AVX512)
  if constexpr (sizeof(E) == 1)  // a mask register selects elements at no cost
    return (Vec<E>)_mm512_mask_add_epi8((__m512i)out, _mm512_cmpeq_epi8_mask((__m512i)a, (__m512i)b), (__m512i)out,
                                        (__m512i)broadcast<E>(value));
#endif
  return out | ((Vec<E>)(a == b) & broadcast<E>(value));
}
template <class E>
static inline Vec<E> add_where_greater(Vec<E> out, Vec<E> a, Vec<E> b, E value) {
  using Signed = Vec<typename SignedOf<E>::type>;
#if defined(GPUALIGN_AVX512)
  if constexpr (sizeof(E) == 1)
    return (Vec<E>)_mm512_mask_add_epi8((__m512i)out, _mm512_cmpgt_epi8_mask((__m512i)a, (__m512i)b), (__m512i)out,
                                        (__m512i)broadcast<E>(value));
#endif
  return out | ((Vec<E>)((Signed)a > (Signed)b) & broadcast<E>(value));
}

// ---- byte look-up: lane k of the result is table[codes[k]]; codes are below 16, or below 32
#if defined(GPUALIGN_AVX512)
static inline Bytes look_up_16(const uint8_t* table, Bytes codes) {
  return (Bytes)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)table)), (__m512i)codes);
}
#elif defined(GPUALIGN_AVX2)
static inline Bytes look_up_16(const uint8_t* table, Bytes codes) {
  return (Bytes)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)table)), (__m256i)codes);
}
#elif defined(GPUALIGN_SSE41)
static inline Bytes look_up_16(const uint8_t* table, Bytes codes) {
  return (Bytes)_mm_shuffle_epi8(_mm_loadu_si128((const __m128i*)table), (__m128i)codes);
}
#elif defined(GPUALIGN_NEON)
static inline Bytes look_up_16(const uint8_t* table, Bytes codes) { return (Bytes)vqtbl1q_u8(vld1q_u8(table), (uint8x16_t)codes); }
#else
static inline Bytes look_up_16(const uint8_t* table, Bytes codes) {
  Bytes out;
  // Not unrolled, so that elements pass through memory. Unrolled, GCC would extract and insert elements of registers one by one, which is
  // several times slower.
#pragma GCC unroll 1
  for (int k = 0; k < kVectorBytes; k++) out[k] = table[codes[k] & 15];
  return out;
}
#endif

// ---- the same for codes below 16 and codes with the highest bit set, for which the result is 0
#if defined(GPUALIGN_AVX512) || defined(GPUALIGN_AVX2) || defined(GPUALIGN_SSE41) || defined(GPUALIGN_NEON)
static inline Bytes look_up_16_or_0(const uint8_t* table, Bytes codes) { return look_up_16(table, codes); }  // shuffles do that
#else
static inline Bytes look_up_16_or_0(const uint8_t* table, Bytes codes) {
  return look_up_16(table, codes) & (Bytes)(codes < broadcast<uint8_t>(16));
}
#endif

// ---- look-up in a table of a few elements in a vector, or in two such tables: element k of the result is the one that which[k] names
#if defined(GPUALIGN_AVX512)
using PickedElement = uint32_t;  // named by its number
constexpr int kPickedElements = 16;
static inline Words load_table(const void* table) { return (Words)_mm512_loadu_si512(table); }
static inline Words pick_elements(Words table, Words which) { return (Words)_mm512_permutexvar_epi32((__m512i)which, (__m512i)table); }
static inline Words pick_elements(Words table, Words second, Words which) {
  return (Words)_mm512_permutex2var_epi32((__m512i)table, (__m512i)which, (__m512i)second);
}
#elif defined(GPUALIGN_AVX2)
using PickedElement = uint16_t;  // named by the positions of its bytes
constexpr int kPickedElements = 8;
static inline Words load_table(const void* table) { return (Words)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)table)); }
static inline Words pick_elements(Words table, Words which) { return (Words)_mm256_shuffle_epi8((__m256i)table, (__m256i)which); }
static inline Words pick_elements(Words table, Words second, Words which) {
  // The shuffle yields 0 for a byte whose highest bit is set: for positions 16 .. 31 in the first table, for 0 .. 15 in the second.
  const __m256i first = _mm256_add_epi8((__m256i)which, _mm256_set1_epi8(0x70)), other = _mm256_xor_si256(first, _mm256_set1_epi8(-128));
  return (Words)_mm256_or_si256(_mm256_shuffle_epi8((__m256i)table, first), _mm256_shuffle_epi8((__m256i)second, other));
}
#endif

static inline Bytes look_up_32(const uint8_t* table, Bytes codes) {
  // Only the low four bits select within a half, so no shuffle sees a set top bit.
  const Bytes within = codes & broadcast<uint8_t>(15);
  const Bytes upper = (Bytes)(codes > broadcast<uint8_t>(15));
  return (look_up_16(table, within) & ~upper) | (look_up_16(table + 16, within) & upper);
}

#if defined(GPUALIGN_AVX512)
static inline bool all_zero(Bytes a) { return _mm512_test_epi64_mask((__m512i)a, (__m512i)a) == 0; }
#elif defined(GPUALIGN_AVX2)
static inline bool all_zero(Bytes a) { return _mm256_testz_si256((__m256i)a, (__m256i)a); }
#elif defined(GPUALIGN_SSE41)
static inline bool all_zero(Bytes a) { return _mm_testz_si128((__m128i)a, (__m128i)a); }
#else
static inline bool all_zero(Bytes a) {
  const Words words = (Words)a;
  return (words[0] | words[1]) == 0;
}
#endif

// ---- shifts by one byte: shift_up gives [last of before, a[0], ...], shift_down [a[1], ..., first of after]; or by kBytes, a power of two
// up to half a vector
#if defined(GPUALIGN_AVX512)
template <int kBytes = 1>
static inline Bytes shift_up(Bytes a, Bytes before) {
  if constexpr (kBytes == 32) return (Bytes)_mm512_alignr_epi64((__m512i)a, (__m512i)before, 4);
  const __m512i carried = _mm512_alignr_epi64((__m512i)a, (__m512i)before, 6);
  return (Bytes)_mm512_alignr_epi8((__m512i)a, carried, 16 - kBytes % 32);
}
static inline Bytes shift_down(Bytes a, Bytes after) {
  const __m512i carried = _mm512_alignr_epi64((__m512i)after, (__m512i)a, 2);
  return (Bytes)_mm512_alignr_epi8(carried, (__m512i)a, 1);
}
#elif defined(GPUALIGN_AVX2)
template <int kBytes = 1>
static inline Bytes shift_up(Bytes a, Bytes before) {
  const __m256i carried = _mm256_permute2x128_si256((__m256i)before, (__m256i)a, 0x21);
  return (Bytes)_mm256_alignr_epi8((__m256i)a, carried, 16 - kBytes);
}
static inline Bytes shift_down(Bytes a, Bytes after) {
  const __m256i carried = _mm256_permute2x128_si256((__m256i)a, (__m256i)after, 0x21);
  return (Bytes)_mm256_alignr_epi8(carried, (__m256i)a, 1);
}
#elif defined(GPUALIGN_SSE41)
template <int kBytes = 1>
static inline Bytes shift_up(Bytes a, Bytes before) {
  return (Bytes)_mm_alignr_epi8((__m128i)a, (__m128i)before, 16 - kBytes);
}
static inline Bytes shift_down(Bytes a, Bytes after) { return (Bytes)_mm_alignr_epi8((__m128i)after, (__m128i)a, 1); }
#elif defined(GPUALIGN_NEON)
template <int kBytes = 1>
static inline Bytes shift_up(Bytes a, Bytes before) {
  return (Bytes)vextq_u8((uint8x16_t)before, (uint8x16_t)a, 16 - kBytes);
}
static inline Bytes shift_down(Bytes a, Bytes after) { return (Bytes)vextq_u8((uint8x16_t)a, (uint8x16_t)after, 1); }
#else
template <int kBytes = 1>
static inline Bytes shift_up(Bytes a, Bytes before) {
  const Words words = (Words)a, carried{((Words)before)[1], words[0]};
  if constexpr (kBytes == 8) return (Bytes)carried;
  return (Bytes)((words << 8 * kBytes % 64) | (carried >> (64 - 8 * kBytes)));
}
static inline Bytes shift_down(Bytes a, Bytes after) {
  const Words words = (Words)a, carried{words[1], ((Words)after)[0]};
  return (Bytes)((words >> 8) | (carried << 56));
}
#endif

// ---- 16 columns of bytes that lie in rows, one row per lane: element k of out[c] is rows[k][at + c]
#if defined(GPUALIGN_AVX512)
static inline Bytes load_quarters(const uint8_t* const* rows, int k, int64_t at) {
  __m512i out = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i*)(rows[k] + at)));
  out = _mm512_inserti32x4(out, _mm_loadu_si128((const __m128i*)(rows[k + 16] + at)), 1);
  out = _mm512_inserti32x4(out, _mm_loadu_si128((const __m128i*)(rows[k + 32] + at)), 2);
  return (Bytes)_mm512_inserti32x4(out, _mm_loadu_si128((const __m128i*)(rows[k + 48] + at)), 3);
}
static inline Bytes interleave_low(Bytes a, Bytes b) { return (Bytes)_mm512_unpacklo_epi8((__m512i)a, (__m512i)b); }
static inline Bytes interleave_high(Bytes a, Bytes b) { return (Bytes)_mm512_unpackhi_epi8((__m512i)a, (__m512i)b); }
#elif defined(GPUALIGN_AVX2)
static inline Bytes load_quarters(const uint8_t* const* rows, int k, int64_t at) {
  const __m256i out = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)(rows[k] + at)));
  return (Bytes)_mm256_inserti128_si256(out, _mm_loadu_si128((const __m128i*)(rows[k + 16] + at)), 1);
}
static inline Bytes interleave_low(Bytes a, Bytes b) { return (Bytes)_mm256_unpacklo_epi8((__m256i)a, (__m256i)b); }
static inline Bytes interleave_high(Bytes a, Bytes b) { return (Bytes)_mm256_unpackhi_epi8((__m256i)a, (__m256i)b); }
#else
static inline Bytes load_quarters(const uint8_t* const* rows, int k, int64_t at) {
  Bytes out;
  memcpy(&out, rows[k] + at, sizeof out);
  return out;
}
#if defined(GPUALIGN_SSE41)
static inline Bytes interleave_low(Bytes a, Bytes b) { return (Bytes)_mm_unpacklo_epi8((__m128i)a, (__m128i)b); }
static inline Bytes interleave_high(Bytes a, Bytes b) { return (Bytes)_mm_unpackhi_epi8((__m128i)a, (__m128i)b); }
#elif defined(GPUALIGN_NEON)
static inline Bytes interleave_low(Bytes a, Bytes b) { return (Bytes)vzip1q_u8((uint8x16_t)a, (uint8x16_t)b); }
static inline Bytes interleave_high(Bytes a, Bytes b) { return (Bytes)vzip2q_u8((uint8x16_t)a, (uint8x16_t)b); }
#else
static inline Bytes interleave_low(Bytes a, Bytes b) {
  Bytes out;
#pragma GCC unroll 1
  for (int k = 0; k < 8; k++) out[2 * k] = a[k], out[2 * k + 1] = b[k];
  return out;
}
static inline Bytes interleave_high(Bytes a, Bytes b) {
  Bytes out;
#pragma GCC unroll 1
  for (int k = 0; k < 8; k++) out[2 * k] = a[k + 8], out[2 * k + 1] = b[k + 8];
  return out;
}
#endif
#endif

static inline void interleave_rows(const uint8_t* const* rows, int64_t at, Bytes* out) {
  // Seen as one number, the row (of a quarter) and the column of a byte have 8 bits. Each step rotates them by one; four steps exchange row
  // and column.
  Bytes a[16], b[16];
#pragma GCC unroll 16
  for (int k = 0; k < 16; k++) a[k] = load_quarters(rows, k, at);
#pragma GCC unroll 2
  for (int step = 0; step < 2; step++) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) b[2 * k] = interleave_low(a[k], a[k + 8]), b[2 * k + 1] = interleave_high(a[k], a[k + 8]);
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) a[2 * k] = interleave_low(b[k], b[k + 8]), a[2 * k + 1] = interleave_high(b[k], b[k + 8]);
  }
#pragma GCC unroll 16
  for (int k = 0; k < 16; k++) out[k] = a[k];
}

// ---- a & ~b, as an intrinsic: otherwise GCC computes ~b once for several uses, one instruction more for each of them
#if defined(GPUALIGN_AVX2)
static inline Words and_not(Words a, Words b) { return (Words)_mm256_andnot_si256((__m256i)b, (__m256i)a); }
#elif defined(GPUALIGN_SSE41)
static inline Words and_not(Words a, Words b) { return (Words)_mm_andnot_si128((__m128i)b, (__m128i)a); }
#else
static inline Words and_not(Words a, Words b) { return a & ~b; }
#endif

// ---- three-input logic
#if defined(GPUALIGN_AVX512)
#define GPUALIGN_TERNARY(name, imm) \
  static inline Words name(Words a, Words b, Words c) { return (Words)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, imm); }
GPUALIGN_TERNARY(or3, 0xFE)
GPUALIGN_TERNARY(or_and_not, 0xF4)  // a | (b & ~c)
GPUALIGN_TERNARY(or_and, 0xF8)      // a | (b & c)
GPUALIGN_TERNARY(or_nor, 0xF1)      // a | ~(b | c)
GPUALIGN_TERNARY(and_or, 0xE0)      // a & (b | c)
GPUALIGN_TERNARY(and_nor, 0x10)     // a & ~(b | c)
GPUALIGN_TERNARY(xor_or, 0xF6)      // a | (b ^ c)
GPUALIGN_TERNARY(xor_and_or, 0xDE)  // (a ^ c) | b
GPUALIGN_TERNARY(and_xor, 0x60)     // a & (b ^ c)
GPUALIGN_TERNARY(and_not_or, 0x0E)  // ~a & (b | c)
#undef GPUALIGN_TERNARY
#else
static inline Words or3(Words a, Words b, Words c) { return a | b | c; }
static inline Words or_and_not(Words a, Words b, Words c) { return a | and_not(b, c); }
static inline Words or_and(Words a, Words b, Words c) { return a | (b & c); }
static inline Words or_nor(Words a, Words b, Words c) { return a | ~(b | c); }
static inline Words and_or(Words a, Words b, Words c) { return a & (b | c); }
static inline Words and_nor(Words a, Words b, Words c) { return and_not(a, b | c); }  // a is used last, as it is ready last
static inline Words xor_or(Words a, Words b, Words c) { return a | (b ^ c); }
static inline Words xor_and_or(Words a, Words b, Words c) { return (a ^ c) | b; }
static inline Words and_xor(Words a, Words b, Words c) { return a & (b ^ c); }
static inline Words and_not_or(Words a, Words b, Words c) { return ~a & (b | c); }
#endif

}  // namespace gpualign::GPUALIGN_ISA
