// Kernels for single pairs, used within a block of targets: their packed targets, costs and sums.
#pragma once
#include <cstdint>
#include <memory>

#include "cpu/src/work.hpp"

namespace gpualign {

class PairKernel {
 public:
  virtual ~PairKernel() = default;

  // Begins a new block of `count` targets with `letters` letters in total.
  virtual void begin_block(int count, int64_t letters) = 0;

  // Returns the cost of one pair in steps of the block kernel: one row of one column of all its lanes.
  virtual double cost(int64_t rows, int64_t columns) const = 0;

  // Returns the sum that the block kernel gives for target k of the block, or -1 if cancelled.
  virtual int64_t sum(const uint8_t* query, int64_t rows, int k, const uint8_t* target, int64_t columns) = 0;
};

// Returns the cost of one pair by the wavefront kernel, in steps of the block kernel.
double wavefront_cost(const Kernels& kernels, int64_t rows, int64_t columns);

// Returns the kernel that the recipe names, or null.
std::unique_ptr<PairKernel> make_pair_kernel(const Kernels& kernels, const Recipe& recipe, const Cancel& cancel);

}  // namespace gpualign
