// Which instruction-set variants this build has, and which of them this machine can run.
#pragma once
#include <string>
#include <vector>

#include "kernels.hpp"

namespace gpualign {

struct Variant {
  const Kernels* kernels;
  bool supported;
};

// Fastest first.
std::vector<Variant> variants();

// Throws std::invalid_argument if there is no such variant or this machine cannot run it.
const Kernels& kernels_named(const std::string& name);

}  // namespace gpualign
