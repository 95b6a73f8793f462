// Records side by side in the bits of vectors, as bit-sliced kernels read them: for each column, the records that have each letter.
#pragma once
#include <array>
#include <vector>

#include "cpu/src/scratch.hpp"
#include "cpu/src/work.hpp"

namespace gpualign {

class SliceMasks {
 public:
  // Packs records, record k in bit k of vectors of vector_bytes bytes, for `columns` columns, at least the longest record.
  void pack(const std::vector<Record>& records, int vector_bytes, int64_t columns);

  // Returns the byte offset of each row's letter within a column of masks; valid until the next call.
  const uint32_t* slots(const uint8_t* query, int64_t rows);

  // Return the fields of BitslicedArgs with these names.
  const void* masks() { return masks_.reserve(0); }
  const void* live() { return live_.reserve(0); }
  int64_t column_bytes() const { return column_bytes_; }

 private:
  Scratch masks_, live_;
  std::array<uint32_t, kLetters> slot_of_{};
  int64_t column_bytes_ = 0;
  std::vector<uint32_t> row_slots_;
};

}  // namespace gpualign
