#include "pairs.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "cpu/src/scratch.hpp"
#include "wavefront_input.hpp"

namespace gpualign {
namespace {

// Packed targets are cached between queries for blocks of up to this size; for larger blocks, one target at a time.
constexpr int64_t kCachedBytes = 32 << 20;

// Relative cost of a vector step, measured on Zen 5 (benchmarks/log: C-008). Only speed depends on it.
constexpr double kMyersStepCost = 5.0;

// A cache of the packed targets of a block, each packed on first use.
template <class Target>
class PackedTargets {
 public:
  void begin_block(int count, int64_t bytes) {
    all_ = bytes <= kCachedBytes;
    targets_.clear();
    targets_.resize(all_ ? static_cast<size_t>(count) : 1);
  }

  template <class Pack>
  const Target& get(int k, Pack pack) {
    Target& target = targets_[all_ ? k : 0];
    if (!all_ || target.bytes.empty()) pack(target);
    return target;
  }

 private:
  bool all_ = false;
  std::vector<Target> targets_;
};

struct MyersTarget {
  std::vector<uint8_t> bytes;
  int64_t stride = 0;
  int bits = 0;
};

class MyersPairs : public PairKernel {
 public:
  MyersPairs(const Kernels& kernels, const Cancel& cancel) : kernels_(kernels), cancel_(cancel) {}

  void begin_block(int count, int64_t letters) override { packed_targets_.begin_block(count, kMaxBits * letters); }

  double cost(int64_t rows, int64_t columns) const override {
    const int64_t strips = (rows + kernels_.myers_rows - 1) / kernels_.myers_rows;
    const int vectors = kernels_.myers_rows / (kernels_.vector_bytes * 8);
    return kMyersStepCost * static_cast<double>(strips * vectors) * static_cast<double>(columns + kPlaneMargin);
  }

  int64_t sum(const uint8_t* query, int64_t rows, int k, const uint8_t* target, int64_t columns) override {
    const MyersTarget& packed = packed_targets_.get(k, [&](MyersTarget& t) { pack(t, target, columns); });
    MyersArgs a;
    a.query = query;
    a.rows = rows;
    a.bits = std::max(bits_of(query, rows), packed.bits);
    a.target_bits = packed.bytes.data() + kPlaneMargin;
    a.plane_bytes = packed.stride;
    a.columns = columns;
    a.boundary = static_cast<uint8_t*>(boundary_.reserve(static_cast<size_t>(columns)));
    a.cancel = &cancel_;
    // Ukkonen's doubling of the band. A band narrower than half a strip saves nothing. The upper bound from a narrow band also limits the
    // width that the next one needs.
    const int64_t length_difference = std::abs(columns - rows), full_width = std::max(rows, columns);
    a.width = std::min<int64_t>(full_width, kernels_.myers_rows);
    for (;;) {
      const int64_t distance = kernels_.myers(a);
      if (distance < 0) return -1;
      if (distance <= length_difference + 2 * a.width + 1 || a.width >= full_width) return rows + columns - distance;
      a.width = std::min({full_width, 4 * a.width, (distance - length_difference) / 2 + 1});
    }
  }

 private:
  static constexpr int kMaxBits = 5;

  static int bits_of(const uint8_t* codes, int64_t length) {
    uint8_t all = 0;
    for (int64_t i = 0; i < length; i++) all |= codes[i];
    return all < 4 ? 2 : all < 16 ? 4 : 5;
  }

  static void pack(MyersTarget& t, const uint8_t* codes, int64_t columns) {
    t.bits = bits_of(codes, columns);
    t.stride = columns + 2 * kPlaneMargin;
    t.bytes.assign(static_cast<size_t>(kMaxBits * t.stride), 0);  // planes above t.bits stay zero: the codes of a query may need them
    for (int b = 0; b < t.bits; b++) {
      uint8_t* plane = t.bytes.data() + b * t.stride + kPlaneMargin;
      for (int64_t j = 0; j < columns; j++) plane[columns - 1 - j] = static_cast<uint8_t>(0 - ((codes[j] >> b) & 1));
    }
  }

  const Kernels& kernels_;
  const Cancel& cancel_;
  PackedTargets<MyersTarget> packed_targets_;
  Scratch boundary_;
};

class WavefrontPairs : public PairKernel {
 public:
  WavefrontPairs(const Kernels& kernels, const Recipe& recipe, const Cancel& cancel) : kernels_(kernels), input_(kernels, recipe, cancel) {}

  void begin_block(int count, int64_t letters) override { packed_targets_.begin_block(count, letters); }

  double cost(int64_t rows, int64_t columns) const override { return wavefront_cost(kernels_, rows, columns); }

  int64_t sum(const uint8_t* query, int64_t rows, int k, const uint8_t* target, int64_t columns) override {
    const WavefrontTarget& packed = packed_targets_.get(k, [&](WavefrontTarget& t) { input_.pack(t, target, columns); });
    return kernels_.wavefront(input_.arguments(query, rows, packed, columns));
  }

 private:
  const Kernels& kernels_;
  WavefrontInput input_;
  PackedTargets<WavefrontTarget> packed_targets_;
};

}  // namespace

double wavefront_cost(const Kernels& kernels, int64_t rows, int64_t columns) {
  constexpr double kStepCost = 3.0;  // of a vector step, measured on Zen 5 (benchmarks/log: C-010)
  const int64_t lanes = kernels.vector_bytes, depth = (rows + lanes - 1) / lanes;
  return kStepCost * static_cast<double>(depth) * static_cast<double>(columns + lanes * kColumnsAtATime);
}

std::unique_ptr<PairKernel> make_pair_kernel(const Kernels& kernels, const Recipe& recipe, const Cancel& cancel) {
  switch (recipe.pairs) {
    case Recipe::Pairs::kMyers: return std::make_unique<MyersPairs>(kernels, cancel);
    case Recipe::Pairs::kWavefront: return std::make_unique<WavefrontPairs>(kernels, recipe, cancel);
    case Recipe::Pairs::kNone: break;
  }
  return nullptr;
}

}  // namespace gpualign
