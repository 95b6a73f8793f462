// Input of the wavefront kernel (wavefront.hpp): a score table with a padding code, and targets in planes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "cpu/src/scratch.hpp"
#include "cpu/src/work.hpp"

namespace gpualign {

struct WavefrontTarget {
  std::vector<uint8_t> bytes;
  int64_t stride = 0;
};

class WavefrontInput {
 public:
  WavefrontInput(const Kernels& kernels, const Recipe& recipe, const Cancel& cancel)
      : kernels_(kernels), recipe_(recipe), cancel_(cancel), pad_(static_cast<uint8_t>(recipe.letters)) {
    std::copy(std::begin(recipe.table), std::end(recipe.table), table_);
    for (int l = 0; l < kLetters; l++) table_[l * kLetters + pad_] = 0;
  }

  // Packs a target in planes: plane c has the columns c, c + kColumnsAtATime, ..., in reverse order.
  void pack(WavefrontTarget& t, const uint8_t* codes, int64_t columns) const {
    const int64_t groups = (columns + kColumnsAtATime - 1) / kColumnsAtATime;
    t.stride = groups + 2 * kPlaneMargin;
    t.bytes.assign(static_cast<size_t>(kColumnsAtATime * t.stride), pad_);
    for (int64_t j = 0; j < columns; j++)
      t.bytes[static_cast<size_t>((j % kColumnsAtATime) * t.stride + kPlaneMargin + groups - 1 - j / kColumnsAtATime)] = codes[j];
  }

  // Returns the arguments of one pair, valid until the next call.
  WavefrontArgs arguments(const uint8_t* query, int64_t rows, const WavefrontTarget& target, int64_t columns) {
    WavefrontArgs a;
    a.query = query;
    a.rows = rows;
    a.target = target.bytes.data() + kPlaneMargin;
    a.plane_bytes = target.stride;
    a.columns = columns;
    a.table = table_;
    a.letters = recipe_.letters + 1;
    a.open_extra = recipe_.open_extra;
    a.boundary = static_cast<uint8_t*>(boundary_.reserve(static_cast<size_t>(2 * (columns + kColumnsAtATime))));
    a.scratch = scratch_.reserve(static_cast<size_t>(kernels_.wavefront_bytes));
    a.cancel = &cancel_;
    return a;
  }

 private:
  const Kernels& kernels_;
  const Recipe& recipe_;
  const Cancel& cancel_;
  const uint8_t pad_;
  uint32_t table_[kLetters * kLetters];
  Scratch boundary_, scratch_;
};

}  // namespace gpualign
