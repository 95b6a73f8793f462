// A stand-alone check of the vector operations of cpu/src/simd.hpp against plain loops, every variant of the build; see check_kernels.cpp
// for why it stands alone.
//
// This file is compiled once per instruction set, with the macro GPUALIGN_ISA, for the checks, and once without it for main(). As in any
// variant, the checks use no C++ standard library.
#if defined(GPUALIGN_ISA)
#include <cstdio>
#include <cstdlib>

#include "cpu/src/simd.hpp"

// GCC's headers initialise the unused inputs of intrinsics with themselves.
#pragma GCC diagnostic ignored "-Wuninitialized"

namespace gpualign::GPUALIGN_ISA {
namespace {

constexpr int kRounds = 500;
int failures = 0;

void expect(bool equal, const char* function, int element_bytes) {
  if (equal) return;
  failures++;
  std::printf("FAILED %s, elements of %d bytes, vectors of %d\n", function, element_bytes, kVectorBytes);
}

// ---- random values

uint64_t random_state = 12345;

// SplitMix64 (Steele, Lea and Flood 2014).
uint64_t random_bits() {
  uint64_t z = random_state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// One of all values, or as often one at or beside a limit of the type with or without a sign.
template <class E>
E any_value() {
  constexpr E kSign = static_cast<E>(E{1} << (8 * sizeof(E) - 1)), kAll = static_cast<E>(~E{0});
  constexpr E kLimits[] = {0, 1, kSign - 1, kSign, kSign + 1, kAll - 1, kAll};
  const uint64_t bits = random_bits();
  return bits & 1 ? kLimits[bits / 2 % 7] : static_cast<E>(random_bits());
}

template <class E>
struct Elements {
  E at[kVectorBytes / sizeof(E)];

  template <class Make>
  static Elements make(Make element) {
    Elements out;
    for (int k = 0; k < lanes_of<E>(); k++) out.at[k] = element(k);
    return out;
  }
  static Elements any() {
    return make([](int) { return any_value<E>(); });
  }
  // Every third element is that of `other`.
  static Elements any_beside(const Elements& other) {
    return make([&](int k) { return random_bits() % 3 ? any_value<E>() : other.at[k]; });
  }
  template <class V>
  static Elements of(V vector) {
    static_assert(sizeof(V) == sizeof(Elements));
    Elements out;
    memcpy(&out, &vector, sizeof out);
    return out;
  }

  Vec<E> vector() const {
    Vec<E> out;
    memcpy(&out, at, sizeof out);
    return out;
  }
  bool operator==(const Elements& other) const { return memcmp(at, other.at, sizeof at) == 0; }
};

// Bytes with nothing behind their end, so that a sanitizer sees what is read beyond it.
struct Table {
  explicit Table(int size) : bytes(static_cast<uint8_t*>(std::malloc(static_cast<size_t>(size)))) {
    for (int k = 0; k < size; k++) bytes[k] = any_value<uint8_t>();
  }
  Table(const Table&) = delete;
  ~Table() { std::free(bytes); }
  uint8_t* const bytes;
};

// ---- functions of each element on its own

template <class E, class Function, class Plain>
void check_binary(const char* name, Function function, Plain plain) {
  for (int round = 0; round < kRounds; round++) {
    const auto a = Elements<E>::any(), b = Elements<E>::any_beside(a);
    const auto wanted = Elements<E>::make([&](int k) { return static_cast<E>(plain(a.at[k], b.at[k])); });
    expect(Elements<E>::of(function(a.vector(), b.vector())) == wanted, name, sizeof(E));
  }
}

template <class Function, class Plain>
void check_ternary(const char* name, Function function, Plain plain) {
  for (int round = 0; round < kRounds; round++) {
    const auto a = Elements<uint64_t>::any(), b = Elements<uint64_t>::any(), c = Elements<uint64_t>::any();
    const auto wanted = Elements<uint64_t>::make([&](int k) { return plain(a.at[k], b.at[k], c.at[k]); });
    expect(Elements<uint64_t>::of(function(a.vector(), b.vector(), c.vector())) == wanted, name, 8);
  }
}

template <class E>
void check_copies() {
  static_assert(lanes_of<E>() * sizeof(E) == sizeof(Vec<E>));
  for (int round = 0; round < kRounds; round++) {
    const E value = any_value<E>();
    expect(Elements<E>::of(broadcast<E>(value)) == Elements<E>::make([&](int) { return value; }), "broadcast", sizeof(E));
    const auto a = Elements<E>::any();
    expect(Elements<E>::of(opaque(a.vector())) == a, "opaque", sizeof(E));
  }
}

template <class E>
void check_comparisons() {
  using Signed = typename SignedOf<E>::type;
  check_binary<E>("maximum", [](Vec<E> a, Vec<E> b) { return maximum(a, b); }, [](E a, E b) { return a > b ? a : b; });
  for (int round = 0; round < kRounds; round++) {
    const auto a = Elements<E>::any(), b = Elements<E>::any_beside(a);
    const E value = any_value<E>();
    const auto out = Elements<E>::make([&](int) { return static_cast<E>(any_value<E>() & ~value); });
    const auto equal = Elements<E>::make([&](int k) { return static_cast<E>(out.at[k] + (a.at[k] == b.at[k] ? value : 0)); });
    expect(Elements<E>::of(add_where_equal<E>(out.vector(), a.vector(), b.vector(), value)) == equal, "add_where_equal", sizeof(E));
    const auto greater = Elements<E>::make(
        [&](int k) { return static_cast<E>(out.at[k] + (static_cast<Signed>(a.at[k]) > static_cast<Signed>(b.at[k]) ? value : 0)); });
    expect(Elements<E>::of(add_where_greater<E>(out.vector(), a.vector(), b.vector(), value)) == greater, "add_where_greater", sizeof(E));
  }
}

void check_logic() {
  check_binary<uint64_t>("and_not", [](Words a, Words b) { return and_not(a, b); }, [](uint64_t a, uint64_t b) { return a & ~b; });
#define CHECK(name, plain) \
  check_ternary(#name, [](Words a, Words b, Words c) { return name(a, b, c); }, [](uint64_t a, uint64_t b, uint64_t c) { return plain; })
  CHECK(or3, a | b | c);
  CHECK(or_and_not, a | (b & ~c));
  CHECK(or_and, a | (b & c));
  CHECK(or_nor, a | ~(b | c));
  CHECK(and_or, a & (b | c));
  CHECK(and_nor, a & ~(b | c));
  CHECK(xor_or, a | (b ^ c));
  CHECK(xor_and_or, (a ^ c) | b);
  CHECK(and_xor, a & (b ^ c));
  CHECK(and_not_or, ~a & (b | c));
#undef CHECK
}

// ---- look-ups

void check_look_ups() {
  using Codes = Elements<uint8_t>;
  for (int round = 0; round < kRounds; round++) {
    const Table small(16), large(32);
    const auto below_16 = Codes::make([](int) { return static_cast<uint8_t>(random_bits() % 16); });
    expect(Codes::of(look_up_16(small.bytes, below_16.vector())) == Codes::make([&](int k) { return small.bytes[below_16.at[k]]; }),
           "look_up_16", 1);

    const auto some_negative =
        Codes::make([](int) { return static_cast<uint8_t>(random_bits() % 2 ? random_bits() % 16 : 128 | random_bits()); });
    const auto or_0 = Codes::make([&](int k) { return some_negative.at[k] < 16 ? small.bytes[some_negative.at[k]] : uint8_t{0}; });
    expect(Codes::of(look_up_16_or_0(small.bytes, some_negative.vector())) == or_0, "look_up_16_or_0", 1);

    const auto below_32 = Codes::make([](int) { return static_cast<uint8_t>(random_bits() % 32); });
    expect(Codes::of(look_up_32(large.bytes, below_32.vector())) == Codes::make([&](int k) { return large.bytes[below_32.at[k]]; }),
           "look_up_32", 1);
  }
}

#if defined(GPUALIGN_AVX512) || defined(GPUALIGN_AVX2)
// The name of an element of the first table, or of the second from kPickedElements on.
PickedElement name_of(uint64_t number) {
#if defined(GPUALIGN_AVX512)
  return static_cast<PickedElement>(number);
#else
  return static_cast<PickedElement>(2 * number | (2 * number + 1) << 8);
#endif
}

void check_picking() {
  using Picked = Elements<PickedElement>;
  constexpr int kBytes = kPickedElements * sizeof(PickedElement);
  for (int round = 0; round < kRounds; round++) {
    const Table first(kBytes), second(kBytes);
    PickedElement elements[2 * kPickedElements];
    memcpy(elements, first.bytes, kBytes);
    memcpy(elements + kPickedElements, second.bytes, kBytes);
    const auto numbers = Picked::make([](int) { return static_cast<PickedElement>(random_bits() % (2 * kPickedElements)); });
    const auto within = Picked::make([&](int k) { return name_of(numbers.at[k] % kPickedElements); });
    const auto across = Picked::make([&](int k) { return name_of(numbers.at[k]); });
    const Words table = load_table(first.bytes), other = load_table(second.bytes);
    expect(Picked::of(pick_elements(table, (Words)within.vector())) ==
               Picked::make([&](int k) { return elements[numbers.at[k] % kPickedElements]; }),
           "pick_elements of one table", sizeof(PickedElement));
    expect(Picked::of(pick_elements(table, other, (Words)across.vector())) == Picked::make([&](int k) { return elements[numbers.at[k]]; }),
           "pick_elements of two tables", sizeof(PickedElement));
  }
}
#endif

// ---- functions across elements

void check_all_zero() {
  expect(all_zero(Bytes{}), "all_zero of zeros", 1);
  for (int bit = 0; bit < 8 * kVectorBytes; bit++) {
    const auto one = Elements<uint8_t>::make([&](int k) { return static_cast<uint8_t>(k == bit / 8 ? 1 << bit % 8 : 0); });
    expect(!all_zero(one.vector()), "all_zero of one bit", 1);
  }
}

template <int kBytes>
void check_shift_up() {
  for (int round = 0; round < kRounds; round++) {
    const auto a = Elements<uint8_t>::any(), before = Elements<uint8_t>::any();
    const auto wanted =
        Elements<uint8_t>::make([&](int k) { return k < kBytes ? before.at[kVectorBytes + k - kBytes] : a.at[k - kBytes]; });
    expect(Elements<uint8_t>::of(shift_up<kBytes>(a.vector(), before.vector())) == wanted, "shift_up", kBytes);
  }
  if constexpr (2 * kBytes <= kVectorBytes / 2) check_shift_up<2 * kBytes>();
}

void check_shift_down() {
  for (int round = 0; round < kRounds; round++) {
    const auto a = Elements<uint8_t>::any(), after = Elements<uint8_t>::any();
    const auto wanted = Elements<uint8_t>::make([&](int k) { return k + 1 < kVectorBytes ? a.at[k + 1] : after.at[0]; });
    expect(Elements<uint8_t>::of(shift_down(a.vector(), after.vector())) == wanted, "shift_down", 1);
  }
}

// Each 16 bytes of a vector are interleaved on their own.
void check_interleave() {
  using Codes = Elements<uint8_t>;
  for (int round = 0; round < kRounds; round++) {
    const auto a = Codes::any(), b = Codes::any();
    for (int half = 0; half <= 8; half += 8) {
      const auto wanted = Codes::make([&](int k) { return (k % 2 ? b : a).at[k / 16 * 16 + half + k % 16 / 2]; });
      expect(Codes::of(half ? interleave_high(a.vector(), b.vector()) : interleave_low(a.vector(), b.vector())) == wanted,
             half ? "interleave_high" : "interleave_low", 1);
    }
  }
}

void check_rows() {
  using Codes = Elements<uint8_t>;
  constexpr int kColumns = 16, kFirst = 3;  // `kFirst`: rows begin at no multiple of anything
  for (int round = 0; round < kRounds / 50; round++) {
    uint8_t* rows[kVectorBytes];
    for (auto& row : rows) {
      row = static_cast<uint8_t*>(std::malloc(kFirst + kColumns));
      for (int k = 0; k < kFirst + kColumns; k++) row[k] = any_value<uint8_t>();
    }
    for (int k = 0; k < 16; k++) {
      const auto quarters = Codes::make([&](int lane) { return rows[k + lane / 16 * 16][kFirst + lane % 16]; });
      expect(Codes::of(load_quarters(rows, k, kFirst)) == quarters, "load_quarters", 1);
    }
    Bytes columns[kColumns];
    interleave_rows(rows, kFirst, columns);
    for (int c = 0; c < kColumns; c++)
      expect(Codes::of(columns[c]) == Codes::make([&](int lane) { return rows[lane][kFirst + c]; }), "interleave_rows", 1);
    for (auto& row : rows) std::free(row);
  }
}

}  // namespace

int count_failures() {
  check_copies<uint8_t>();
  check_copies<uint16_t>();
  check_copies<uint32_t>();
  check_copies<uint64_t>();
  check_comparisons<uint8_t>();
  check_comparisons<uint16_t>();
  check_comparisons<uint32_t>();
  check_binary<uint16_t>(
      "subtract_saturating", [](Vec<uint16_t> a, Vec<uint16_t> b) { return subtract_saturating(a, b); },
      [](uint16_t a, uint16_t b) { return a > b ? a - b : 0; });
  check_logic();
  check_look_ups();
#if defined(GPUALIGN_AVX512) || defined(GPUALIGN_AVX2)
  check_picking();
#endif
  check_all_zero();
  check_shift_up<1>();
  check_shift_down();
  check_interleave();
  check_rows();
  return failures;
}

}  // namespace gpualign::GPUALIGN_ISA

#else
#include <cstdio>

#include "cpu/src/dispatch.hpp"

namespace gpualign {
#define DECLARE(set)    \
  namespace set {       \
  int count_failures(); \
  }
GPUALIGN_COUNTING_SETS(DECLARE)
#undef DECLARE
}  // namespace gpualign

int main() {
  int failures = 0;
  const auto check = [&](const char* set, int (*count_failures)()) {
    if (!gpualign::processor_runs(set)) return;
    failures += count_failures();
    std::printf("%s: checked\n", set);
  };
#define CHECK(set) check(#set, gpualign::set::count_failures);
  GPUALIGN_COUNTING_SETS(CHECK)
#undef CHECK
  std::printf("%d failures\n", failures);
  return failures != 0;
}
#endif
