#include "pairs.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "cpu/src/scratch.hpp"
#include "wavefront_input.hpp"

namespace gpualign {
namespace {

// Packed targets of a whole block are kept between queries up to this size; of larger blocks, one target's at a time.
constexpr int64_t kKeptBytes = 32 << 20;

// Relative cost of a vector step, measured on Zen 5 (benchmarks/LOG.md). Only speed depends on them.
constexpr double kMyersStepCost = 5.0;

// The packed form of each target of a block, made when it is first wanted.
template <class Target>
class Kept {
 public:
  void begin_block(int count, int64_t bytes) {
    all_ = bytes <= kKeptBytes;
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

  void begin_block(int count, int64_t letters) override { kept_.begin_block(count, kMostBits * letters); }

  double cost(int64_t rows, int64_t columns) const override {
    const int64_t strips = (rows + kernels_.myers_rows - 1) / kernels_.myers_rows;
    const int vectors = kernels_.myers_rows / (kernels_.vector_bytes * 8);
    return kMyersStepCost * static_cast<double>(strips * vectors) * static_cast<double>(columns + kPlaneMargin);
  }

  int64_t sum(const uint8_t* query, int64_t rows, int k, const uint8_t* target, int64_t columns) override {
    const MyersTarget& packed = kept_.get(k, [&](MyersTarget& t) { pack(t, target, columns); });
    MyersArgs a;
    a.query = query;
    a.rows = rows;
    a.bits = std::max(bits_of(query, rows), packed.bits);
    a.target_bits = packed.bytes.data() + kPlaneMargin;
    a.plane_bytes = packed.stride;
    a.columns = columns;
    a.boundary = static_cast<uint8_t*>(boundary_.reserve(static_cast<size_t>(columns)));
    a.cancel = &cancel_;
    // Ukkonen's doubling. A band narrower than half a strip saves nothing. An upper bound from a narrow band also says how
    // wide the next one has to be at most.
    const int64_t skew = std::abs(columns - rows), everything = std::max(rows, columns);
    a.width = std::min<int64_t>(everything, kernels_.myers_rows);
    for (;;) {
      const int64_t distance = kernels_.myers(a);
      if (distance < 0) return -1;
      if (distance <= skew + 2 * a.width + 1 || a.width >= everything) return rows + columns - distance;
      a.width = std::min({everything, 4 * a.width, (distance - skew) / 2 + 1});
    }
  }

 private:
  static constexpr int kMostBits = 5;

  static int bits_of(const uint8_t* codes, int64_t length) {
    uint8_t all = 0;
    for (int64_t i = 0; i < length; i++) all |= codes[i];
    return all < 4 ? 2 : all < 16 ? 4 : 5;
  }

  static void pack(MyersTarget& t, const uint8_t* codes, int64_t columns) {
    t.bits = bits_of(codes, columns);
    t.stride = columns + 2 * kPlaneMargin;
    t.bytes.assign(static_cast<size_t>(kMostBits * t.stride), 0);  // planes above t.bits stay zero: a query may ask for them
    for (int b = 0; b < t.bits; b++) {
      uint8_t* plane = t.bytes.data() + b * t.stride + kPlaneMargin;
      for (int64_t j = 0; j < columns; j++) plane[columns - 1 - j] = static_cast<uint8_t>(0 - ((codes[j] >> b) & 1));
    }
  }

  const Kernels& kernels_;
  const Cancel& cancel_;
  Kept<MyersTarget> kept_;
  Scratch boundary_;
};

class WavefrontPairs : public PairKernel {
 public:
  WavefrontPairs(const Kernels& kernels, const Recipe& recipe, const Cancel& cancel) : kernels_(kernels), input_(kernels, recipe, cancel) {}

  void begin_block(int count, int64_t letters) override { kept_.begin_block(count, letters); }

  double cost(int64_t rows, int64_t columns) const override { return wavefront_cost(kernels_, rows, columns); }

  int64_t sum(const uint8_t* query, int64_t rows, int k, const uint8_t* target, int64_t columns) override {
    const WavefrontTarget& packed = kept_.get(k, [&](WavefrontTarget& t) { input_.pack(t, target, columns); });
    return kernels_.wavefront(input_.arguments(query, rows, packed, columns));
  }

 private:
  const Kernels& kernels_;
  WavefrontInput input_;
  Kept<WavefrontTarget> kept_;
};

}  // namespace

double wavefront_cost(const Kernels& kernels, int64_t rows, int64_t columns) {
  constexpr double kStepCost = 3.0;  // of one vector step of its, measured on Zen 5 (benchmarks/LOG.md)
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
