// Fast formatting of numbers. Three digits at a time are copied from a table as four bytes, so every number must be followed by three bytes
// of space, for a separator and the next text.
#pragma once
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace gpualign {

constexpr size_t kNumberWidth = 20;

struct Digits {
  char plain[1000][4];   // "7", "42", "999"; the last byte is the number of digits
  char padded[1000][4];  // "007", "042", "999"

  constexpr Digits() : plain{}, padded{} {
    for (int n = 0; n < 1000; n++) {
      const char all[] = {static_cast<char>('0' + n / 100), static_cast<char>('0' + n / 10 % 10), static_cast<char>('0' + n % 10)};
      const int skipped = n >= 100 ? 0 : n >= 10 ? 1 : 2;
      for (int k = 0; k < 3; k++) padded[n][k] = all[k];
      for (int k = skipped; k < 3; k++) plain[n][k - skipped] = all[k];
      plain[n][3] = static_cast<char>(3 - skipped);
    }
  }
};
inline constexpr Digits kDigits;

inline char* put_first_digits(char* out, uint64_t below_1000) {
  std::memcpy(out, kDigits.plain[below_1000], 4);
  return out + kDigits.plain[below_1000][3];
}
inline char* put_next_digits(char* out, uint64_t below_1000) {
  std::memcpy(out, kDigits.padded[below_1000], 4);
  return out + 3;
}

inline char* put_whole(char* out, uint64_t value) {
  if (value < 1000) return put_first_digits(out, value);
  if (value >= 1'000'000'000) return std::to_chars(out, out + kNumberWidth, value).ptr;
  const auto all = static_cast<uint32_t>(value), thousands = all / 1000;
  if (thousands < 1000)
    out = put_first_digits(out, thousands);
  else
    out = put_next_digits(put_first_digits(out, thousands / 1000), thousands % 1000);
  return put_next_digits(out, all % 1000);
}

inline char* put_integer(char* out, int64_t value) {
  if (value >= 0) return put_whole(out, static_cast<uint64_t>(value));
  *out++ = '-';
  return put_whole(out, -static_cast<uint64_t>(value));
}

// The number of digits after the decimal point, and ten to that power.
struct Decimals {
  explicit Decimals(int count) : digits(count) {
    for (int d = 0; d < digits; d++) unit *= 10;
  }
  int digits;
  int64_t unit = 1;
};

// Writes scaled / unit with all decimals.
inline char* put_fixed(char* out, int64_t scaled, const Decimals& decimals) {
  if (scaled < 0) *out++ = '-', scaled = -scaled;
  const int64_t whole = scaled < decimals.unit ? 0 : scaled / decimals.unit;
  out = put_whole(out, static_cast<uint64_t>(whole));
  if (!decimals.digits) return out;
  *out++ = '.';
  auto fraction = static_cast<uint64_t>(scaled - whole * decimals.unit);
  const auto low = static_cast<uint32_t>(fraction);
  switch (decimals.digits) {  // independent groups of three digits
    case 9: out = put_next_digits(out, low / 1'000'000 % 1000); [[fallthrough]];
    case 6: out = put_next_digits(out, low / 1000 % 1000); [[fallthrough]];
    case 3: return put_next_digits(out, low % 1000);
  }
  for (int left = decimals.digits; left > 0; left--, fraction /= 10) out[left - 1] = static_cast<char>('0' + fraction % 10);
  return out + decimals.digits;
}

// Returns the integer nearest to the exact product value * unit, the even one on a tie, as printf does. The product must be below 2^63.
inline int64_t rounded(double value, double unit) {
  const double scaled = value * unit;
  if (!(std::fabs(scaled) < 0x1p52)) return static_cast<int64_t>(scaled) + std::llrint(std::fma(value, unit, -scaled));
  const auto whole = static_cast<int64_t>(scaled);
  const double fraction = scaled - static_cast<double>(whole);
  if (std::fabs(fraction) != 0.5) return whole + (fraction > 0.5) - (fraction < -0.5);
  // The exact product is on the same side of k + 1/2 as `scaled`, the double nearest to it, unless `scaled` is k + 1/2.
  const int64_t lower = whole - (fraction < 0);
  const double above = std::fma(value, unit, -(static_cast<double>(lower) + 0.5));
  return lower + (above > 0 || (above == 0 && lower % 2 != 0));
}

// Writes a value with these decimals, as printf and Python do, except that a value rounded to 0 has no sign. Writes `undefined` for a NaN
// and for values that exceed 64 bits.
inline char* put_double(char* out, double value, const Decimals& decimals, std::string_view undefined = "nan") {
  const auto unit = static_cast<double>(decimals.unit);
  if (!(std::fabs(value * unit) < 0x1p63)) return out + undefined.copy(out, undefined.size());
  return put_fixed(out, rounded(value, unit), decimals);
}

}  // namespace gpualign
