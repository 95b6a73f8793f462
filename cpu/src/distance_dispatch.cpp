#include "distance_dispatch.hpp"

#include <stdexcept>

namespace gpualign {

#if defined(GPUALIGN_X86_VARIANTS)
namespace avx512popcnt { extern const DistanceKernels distance_kernels; }
namespace avx512bw { extern const DistanceKernels distance_kernels; }
namespace avx2 { extern const DistanceKernels distance_kernels; }
namespace sse41 { extern const DistanceKernels distance_kernels; }
namespace baseline { extern const DistanceKernels distance_kernels; }

std::vector<DistanceVariant> distance_variants() {
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return {
      {&avx512popcnt::distance_kernels, avx512 && __builtin_cpu_supports("avx512vpopcntdq")},
      {&avx512bw::distance_kernels, avx512},
      {&avx2::distance_kernels, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")},
      {&sse41::distance_kernels, __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("popcnt")},
      {&baseline::distance_kernels, true},
  };
}
#elif defined(GPUALIGN_NEON_VARIANT)
namespace neon { extern const DistanceKernels distance_kernels; }
namespace baseline { extern const DistanceKernels distance_kernels; }

std::vector<DistanceVariant> distance_variants() { return {{&neon::distance_kernels, true}, {&baseline::distance_kernels, true}}; }
#else
namespace baseline { extern const DistanceKernels distance_kernels; }

std::vector<DistanceVariant> distance_variants() { return {{&baseline::distance_kernels, true}}; }
#endif

const DistanceKernels& distance_kernels_named(const std::string& name) {
  for (const DistanceVariant& v : distance_variants()) {
    if (name != v.kernels->name) continue;
    if (!v.supported) throw std::invalid_argument("this processor lacks the instruction set " + name);
    return *v.kernels;
  }
  throw std::invalid_argument("this build has no kernels for the instruction set " + name);
}

}  // namespace gpualign
