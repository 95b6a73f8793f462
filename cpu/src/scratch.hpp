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

// A pair needs more scratch memory than the host allows a worker: a matter of budgets, which no other error is.
struct ScratchTooSmall : std::runtime_error {
  ScratchTooSmall(int64_t needed, int64_t allowed)
      : std::runtime_error("a pair needs " + std::to_string(needed) + " bytes of scratch, a worker has " + std::to_string(allowed)) {}
};

// A block of it; none where size is 0.
struct ScratchBlock {
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  std::unique_ptr<uint8_t, Free> data;
  size_t size = 0;
};

// Blocks that a thread has had and will want again for its next tile. Large ones go back to the system when they are freed, which clears
// them before it gives them out again; threads of a process wait for each other meanwhile. They are freed when the thread ends.
class ScratchPool {
 public:
  // Of this thread.
  static ScratchPool& own() {
    thread_local ScratchPool pool;
    return pool;
  }

  // The smallest that is large enough, and not so large that a larger wish would miss it; a new one in place of the next smaller one.
  ScratchBlock take(size_t bytes) {
    ScratchBlock* best = nullptr;
    ScratchBlock* smaller = nullptr;
    for (ScratchBlock& block : blocks_) {
      if (block.size >= bytes && block.size / kSlack <= bytes && (!best || block.size < best->size)) best = &block;
      if (block.size < bytes && (!smaller || block.size > smaller->size)) smaller = &block;
    }
    if (best) return std::exchange(*best, {});
    if (smaller) *smaller = {};
    ScratchBlock made;
    made.data.reset(static_cast<uint8_t*>(::operator new(bytes, std::align_val_t(64))));
    made.size = bytes;
    return made;
  }

  // Kept in place of a smaller one where there are many.
  void give(ScratchBlock&& block) noexcept {
    ScratchBlock* const least =
        std::min_element(blocks_.begin(), blocks_.end(), [](const ScratchBlock& a, const ScratchBlock& b) { return a.size < b.size; });
    if (least->size < block.size) *least = std::move(block);
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

  // At least `bytes` bytes. Their content is lost when the block has to grow.
  void* reserve(size_t bytes) {
    if (bytes > block_.size) {
      give_back();
      block_ = ScratchPool::own().take(bytes);
    }
    return block_.data.get();
  }

 private:
  void give_back() noexcept {
    if (block_.size) ScratchPool::own().give(std::exchange(block_, {}));
  }

  ScratchBlock block_;
};

}  // namespace gpualign
