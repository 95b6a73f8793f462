#include "dispatch.hpp"

#include "processor.hpp"

namespace gpualign {

#if defined(GPUALIGN_X86_VARIANTS)
namespace avx512bw { extern const Kernels kernels; }
namespace avx2 { extern const Kernels kernels; }
namespace sse41 { extern const Kernels kernels; }
namespace baseline { extern const Kernels kernels; }

std::vector<Variant> variants() {
  return {
      {&avx512bw::kernels, processor_runs("avx512bw")},
      {&avx2::kernels, processor_runs("avx2")},
      {&sse41::kernels, processor_runs("sse41")},
      {&baseline::kernels, processor_runs("baseline")},
  };
}
#elif defined(GPUALIGN_NEON_VARIANT)
namespace neon { extern const Kernels kernels; }
namespace baseline { extern const Kernels kernels; }

std::vector<Variant> variants() {
  return {
      {&neon::kernels, processor_runs("neon")},
      {&baseline::kernels, processor_runs("baseline")},
  };
}
#else
namespace baseline { extern const Kernels kernels; }

std::vector<Variant> variants() {
  return {
      {&baseline::kernels, processor_runs("baseline")},
  };
}
#endif

const Kernels& kernels_named(const std::string& name) { return kernels_of(variants(), name); }

}  // namespace gpualign
