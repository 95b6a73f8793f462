#include "dispatch.hpp"

#include <stdexcept>

namespace gpualign {

#if defined(GPUALIGN_X86_VARIANTS)
namespace avx512bw { extern const Kernels kernels; }
namespace avx2 { extern const Kernels kernels; }
namespace sse41 { extern const Kernels kernels; }
namespace baseline { extern const Kernels kernels; }

std::vector<Variant> variants() {
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return {
      {&avx512bw::kernels, avx512},
      {&avx2::kernels, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")},
      {&sse41::kernels, __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("popcnt")},
      {&baseline::kernels, true},
  };
}
#elif defined(GPUALIGN_NEON_VARIANT)
namespace neon { extern const Kernels kernels; }
namespace baseline { extern const Kernels kernels; }

// NEON is part of every 64-bit Arm processor.
std::vector<Variant> variants() { return {{&neon::kernels, true}, {&baseline::kernels, true}}; }
#else
namespace baseline { extern const Kernels kernels; }

std::vector<Variant> variants() { return {{&baseline::kernels, true}}; }
#endif

const Kernels& kernels_named(const std::string& name) {
  for (const Variant& v : variants()) {
    if (name != v.kernels->name) continue;
    if (!v.supported) throw std::invalid_argument("this processor lacks the instruction set " + name);
    return *v.kernels;
  }
  throw std::invalid_argument("this build has no kernels for the instruction set " + name);
}

}  // namespace gpualign
