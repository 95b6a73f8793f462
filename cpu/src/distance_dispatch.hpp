// Which variants of the distance kernels this build has, and which of them this processor runs.
#pragma once
#include <string>
#include <vector>

#include "distance.hpp"

namespace gpualign {

struct DistanceVariant {
  const DistanceKernels* kernels;
  bool supported;
};

std::vector<DistanceVariant> distance_variants();  // fastest first

// Throws std::invalid_argument where the build or the processor lacks it.
const DistanceKernels& distance_kernels_named(const std::string& name);

}  // namespace gpualign
