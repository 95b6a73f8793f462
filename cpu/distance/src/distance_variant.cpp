// The table of distance kernels of one instruction set; see simd.hpp.
#include "distance_kernels.hpp"
#include "relationship_kernels.hpp"

#define GPUALIGN_TEXT_OF(name) #name
#define GPUALIGN_TEXT(name) GPUALIGN_TEXT_OF(name)

namespace gpualign::GPUALIGN_ISA {

extern const DistanceKernels distance_kernels;
const DistanceKernels distance_kernels = {GPUALIGN_TEXT(GPUALIGN_ISA), kVectorBytes, kCountsBits, differ, both, relate};

}  // namespace gpualign::GPUALIGN_ISA
