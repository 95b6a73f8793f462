// The variants of each table of kernels in this build, a test whether the processor runs them, and their look-up by name.
//
// The namespace of every instruction set exports one table of each kind, from an object file of its own (CMakeLists.txt). For the host
// only: a variant must not instantiate the C++ library (simd.hpp).
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

#include "cpu/alignment/src/kernels.hpp"
#include "cpu/distance/src/distance.hpp"
#include "cpu/near_pairs/src/near.hpp"

// Instruction sets that alignment kernels are compiled for, fastest first; kernels that count bits have one more.
#if defined(GPUALIGN_X86_VARIANTS)
#define GPUALIGN_ALIGNING_SETS(F) F(avx512bw) F(avx2) F(sse41) F(baseline)
#define GPUALIGN_COUNTING_SETS(F) F(avx512popcnt) GPUALIGN_ALIGNING_SETS(F)
#elif defined(GPUALIGN_NEON_VARIANT)
#define GPUALIGN_ALIGNING_SETS(F) F(neon) F(baseline)
#define GPUALIGN_COUNTING_SETS(F) GPUALIGN_ALIGNING_SETS(F)
#else
#define GPUALIGN_ALIGNING_SETS(F) F(baseline)
#define GPUALIGN_COUNTING_SETS(F) GPUALIGN_ALIGNING_SETS(F)
#endif

namespace gpualign {

#define GPUALIGN_EXPORT(set)    \
  namespace set {               \
  extern const Kernels kernels; \
  }
GPUALIGN_ALIGNING_SETS(GPUALIGN_EXPORT)
#undef GPUALIGN_EXPORT
#define GPUALIGN_EXPORT(set)                     \
  namespace set {                                \
  extern const DistanceKernels distance_kernels; \
  }
GPUALIGN_COUNTING_SETS(GPUALIGN_EXPORT)
#undef GPUALIGN_EXPORT
#define GPUALIGN_EXPORT(set)             \
  namespace set {                        \
  extern const NearKernels near_kernels; \
  }
GPUALIGN_COUNTING_SETS(GPUALIGN_EXPORT)
#undef GPUALIGN_EXPORT

// Returns whether this processor has the instructions of a variant.
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

// A table of kernels (Kernels, DistanceKernels or NearKernels) and whether this processor runs it.
template <class Table>
struct Variant {
  explicit Variant(const Table& table) : kernels(&table), supported(processor_runs(table.name)) {}
  const Table* kernels;
  bool supported;
};

// Returns the variants of this build, fastest first.
template <class Table>
std::vector<Variant<Table>> variants();

template <>
inline std::vector<Variant<Kernels>> variants() {
#define GPUALIGN_VARIANT(set) Variant(set::kernels),
  return {GPUALIGN_ALIGNING_SETS(GPUALIGN_VARIANT)};
#undef GPUALIGN_VARIANT
}

template <>
inline std::vector<Variant<DistanceKernels>> variants() {
#define GPUALIGN_VARIANT(set) Variant(set::distance_kernels),
  return {GPUALIGN_COUNTING_SETS(GPUALIGN_VARIANT)};
#undef GPUALIGN_VARIANT
}

template <>
inline std::vector<Variant<NearKernels>> variants() {
#define GPUALIGN_VARIANT(set) Variant(set::near_kernels),
  return {GPUALIGN_COUNTING_SETS(GPUALIGN_VARIANT)};
#undef GPUALIGN_VARIANT
}

// Returns the table with this name. Throws std::invalid_argument if there is none or this processor cannot run it.
template <class Table>
const Table& kernels_named(const std::string& name) {
  for (const Variant<Table>& v : variants<Table>()) {
    if (name != v.kernels->name) continue;
    if (!v.supported) throw std::invalid_argument("this processor lacks the instruction set " + name);
    return *v.kernels;
  }
  throw std::invalid_argument("this build has no kernels for the instruction set " + name);
}

}  // namespace gpualign
