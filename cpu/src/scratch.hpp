// Scratch memory of the kernels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

namespace gpualign {

// A pair needs more scratch memory than the host allows a worker: a matter of budgets, which no other error is.
struct ScratchTooSmall : std::runtime_error {
  ScratchTooSmall(int64_t needed, int64_t allowed)
      : std::runtime_error("a pair needs " + std::to_string(needed) + " bytes of scratch, a worker has " + std::to_string(allowed)) {}
};

// Memory aligned for the widest vectors; grows, never shrinks.
class Scratch {
 public:
  // At least `bytes` bytes. Their content is lost when the block has to grow.
  void* reserve(size_t bytes) {
    if (bytes > size_) {
      data_.reset();
      data_.reset(static_cast<uint8_t*>(::operator new(bytes, std::align_val_t(64))));
      size_ = bytes;
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t size_ = 0;
};

}  // namespace gpualign
