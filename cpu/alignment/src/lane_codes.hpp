// Records side by side in the lanes of a vector, in the layout that all kernels for blocks of lanes read: [column][lane].
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu/src/scratch.hpp"
#include "cpu/src/work.hpp"

namespace gpualign {

class LaneCodes {
 public:
  // Packs at most one record per lane, back to front if `reversed`. Shorter records and unused lanes are padded.
  void pack(const std::vector<Record>& records, int lanes, uint8_t padding, bool reversed = false) {
    const size_t count = records.size();
    lengths_.assign(static_cast<size_t>(lanes), 0);
    columns_ = 0;
    for (size_t k = 0; k < count; k++) {
      lengths_[k] = records[k].length;
      columns_ = std::max(columns_, padded(records[k].length));
    }
    uint8_t* out = static_cast<uint8_t*>(codes_.reserve(static_cast<size_t>(columns_ * lanes)));
    std::memset(out, padding, static_cast<size_t>(columns_ * lanes));
    for (size_t k = 0; k < count; k++) {
      const auto [codes, length] = records[k];
      uint8_t* lane = out + k;
      for (int64_t j = 0; j < length; j++) lane[j * lanes] = codes[reversed ? length - 1 - j : j];
    }
  }

  const uint8_t* codes() { return static_cast<const uint8_t*>(codes_.reserve(0)); }
  const int64_t* lengths() const { return lengths_.data(); }  // [lanes], 0 for an unused one
  int64_t columns() const { return columns_; }                // length of the longest record, rounded up

 private:
  Scratch codes_;
  std::vector<int64_t> lengths_;
  int64_t columns_ = 0;
};

}  // namespace gpualign
