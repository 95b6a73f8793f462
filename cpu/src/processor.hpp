// What this processor runs, and how a variant of the kernels is found by its name.
#pragma once
#include <stdexcept>
#include <string>

namespace gpualign {

// Whether this processor has the instructions of a variant of this build.
inline bool processor_runs(const std::string& variant) {
#if defined(GPUALIGN_X86_VARIANTS)
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (variant == "avx512popcnt") return avx512 && __builtin_cpu_supports("avx512vpopcntdq");
  if (variant == "avx512bw") return avx512;
  if (variant == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
  if (variant == "sse41") return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("popcnt");
#endif
  return variant == "baseline" || variant == "neon";  // NEON is part of every 64-bit Arm processor
}

// The kernels of a variant. Throws std::invalid_argument if there is no such variant or this processor cannot run it.
template <class Variants>
const auto& kernels_of(const Variants& variants, const std::string& name) {
  for (const auto& v : variants) {
    if (name != v.kernels->name) continue;
    if (!v.supported) throw std::invalid_argument("this processor lacks the instruction set " + name);
    return *v.kernels;
  }
  throw std::invalid_argument("this build has no kernels for the instruction set " + name);
}

}  // namespace gpualign
