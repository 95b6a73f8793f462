#include "distance_dispatch.hpp"

#include "processor.hpp"

namespace gpualign {

#if defined(GPUALIGN_X86_VARIANTS)
namespace avx512popcnt { extern const DistanceKernels distance_kernels; }
namespace avx512bw { extern const DistanceKernels distance_kernels; }
namespace avx2 { extern const DistanceKernels distance_kernels; }
namespace sse41 { extern const DistanceKernels distance_kernels; }
namespace baseline { extern const DistanceKernels distance_kernels; }

std::vector<DistanceVariant> distance_variants() {
  return {
      {&avx512popcnt::distance_kernels, processor_runs("avx512popcnt")},
      {&avx512bw::distance_kernels, processor_runs("avx512bw")},
      {&avx2::distance_kernels, processor_runs("avx2")},
      {&sse41::distance_kernels, processor_runs("sse41")},
      {&baseline::distance_kernels, processor_runs("baseline")},
  };
}
#elif defined(GPUALIGN_NEON_VARIANT)
namespace neon { extern const DistanceKernels distance_kernels; }
namespace baseline { extern const DistanceKernels distance_kernels; }

std::vector<DistanceVariant> distance_variants() {
  return {
      {&neon::distance_kernels, processor_runs("neon")},
      {&baseline::distance_kernels, processor_runs("baseline")},
  };
}
#else
namespace baseline { extern const DistanceKernels distance_kernels; }

std::vector<DistanceVariant> distance_variants() {
  return {
      {&baseline::distance_kernels, processor_runs("baseline")},
  };
}
#endif

const DistanceKernels& distance_kernels_named(const std::string& name) { return kernels_of(distance_variants(), name); }

}  // namespace gpualign
