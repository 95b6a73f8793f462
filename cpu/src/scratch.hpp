// Scratch memory of the kernels.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace gpualign {

// Thrown if a pair needs more scratch memory than the budget of a worker.
struct ScratchTooSmall : std::runtime_error {
  ScratchTooSmall(int64_t needed, int64_t allowed)
      : std::runtime_error("a pair needs " + std::to_string(needed) + " bytes of scratch, a worker has " + std::to_string(allowed)) {}
};

// A block of memory; none if size is 0.
struct ScratchBlock {
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  std::unique_ptr<uint8_t, Free> data;
  size_t size = 0;
};

// A thread's free blocks, kept for its next tile. The system would take large blocks back when they are freed, and clear them before it
// hands them out again, while the threads of the process wait for each other. The blocks are freed when the thread ends.
class ScratchPool {
 public:
  // Returns the pool of this thread.
  static ScratchPool& of_thread() {
    thread_local ScratchPool pool;
    return pool;
  }

  // Returns the smallest block that is large enough, unless it is so much larger that a larger request should have it. Else returns a new
  // block and frees the next smaller one.
  ScratchBlock take(size_t bytes) {
    ScratchBlock* best = nullptr;
    ScratchBlock* smaller = nullptr;
    for (ScratchBlock& block : blocks_) {
      if (block.size >= bytes && block.size / kSlack <= bytes && (!best || block.size < best->size)) best = &block;
      if (block.size < bytes && (!smaller || block.size > smaller->size)) smaller = &block;
    }
    if (best) return std::exchange(*best, {});
    if (smaller) *smaller = {};
    ScratchBlock block;
    block.data.reset(static_cast<uint8_t*>(::operator new(bytes, std::align_val_t(64))));
    block.size = bytes;
    return block;
  }

  // Returns a block to the pool, where it replaces a smaller one if the pool is full.
  void give(ScratchBlock&& block) noexcept {
    ScratchBlock* const smallest =
        std::min_element(blocks_.begin(), blocks_.end(), [](const ScratchBlock& a, const ScratchBlock& b) { return a.size < b.size; });
    if (smallest->size < block.size) *smallest = std::move(block);
  }

 private:
  static constexpr size_t kSlack = 4;
  std::array<ScratchBlock, 16> blocks_;
};

// Memory aligned for the widest vectors; grows, never shrinks.
class Scratch {
 public:
  Scratch() = default;
  Scratch(Scratch&& other) noexcept : block_(std::exchange(other.block_, {})) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() { give_back(); }

  // Returns memory of at least `bytes` bytes. Its content is lost if the block has to grow.
  void* reserve(size_t bytes) {
    if (bytes > block_.size) {
      give_back();
      block_ = ScratchPool::of_thread().take(bytes);
    }
    return block_.data.get();
  }

 private:
  void give_back() noexcept {
    if (block_.size) ScratchPool::of_thread().give(std::exchange(block_, {}));
  }

  ScratchBlock block_;
};

}  // namespace gpualign
