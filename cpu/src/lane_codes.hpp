// Targets side by side in the lanes of a vector, for kernels of local alignments.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels.hpp"
#include "scratch.hpp"

namespace gpualign {

struct LaneRecord {
  const uint8_t* codes;
  int64_t length;
};

class LaneCodes {
 public:
  // Packs `count` records into `lanes` lanes, from their ends backwards if `reversed`; shorter ones and unused lanes are padded.
  void pack(const LaneRecord* records, int count, int lanes, uint8_t padding, bool reversed = false) {
    lengths_.assign(static_cast<size_t>(lanes), 0);
    columns_ = 0;
    for (int k = 0; k < count; k++) {
      lengths_[k] = records[k].length;
      columns_ = std::max(columns_, padded(records[k].length));
    }
    uint8_t* out = static_cast<uint8_t*>(codes_.reserve(static_cast<size_t>(columns_ * lanes)));
    std::memset(out, padding, static_cast<size_t>(columns_ * lanes));
    for (int k = 0; k < count; k++) {
      const auto [codes, length] = records[k];
      for (int64_t j = 0; j < length; j++) out[j * lanes + k] = codes[reversed ? length - 1 - j : j];
    }
  }

  const uint8_t* codes() { return static_cast<const uint8_t*>(codes_.reserve(0)); }
  const int64_t* lengths() const { return lengths_.data(); }
  int64_t columns() const { return columns_; }

 private:
  Scratch codes_;
  std::vector<int64_t> lengths_;
  int64_t columns_ = 0;
};

}  // namespace gpualign
