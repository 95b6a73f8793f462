// The dynamic shared memory of a block, with addresses of 32 bits as on a device, and clusters of blocks. What a device leaves undefined
// ends the process with a message.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <vector>

#include "turns.hpp"

namespace cuda_host {

[[noreturn]] inline void fail(const char* reason) {
  std::fprintf(stderr, "tests/cuda_host: %s\n", reason);
  std::abort();
}

// Returns where a byte is that a swizzle by 128 bytes moves: the number of its row, modulo 8, changes that of its piece of 16 bytes.
inline uint32_t swizzled_by_128_bytes(uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

// A barrier in shared memory (mbarrier). Its round ends when no arrival is missing and no byte is under way.
struct MemoryBarrier {
  unsigned arrivals;
  unsigned missing = arrivals;
  int64_t bytes = 0;  // below 0 if they arrive before they are expected
  unsigned round = 0;
  bool shown = false;  // to the copy engine and to other blocks

  void arrive() {
    if (missing == 0) fail("a barrier has more arrivals than its round takes");
    missing--;
    end_round();
  }
  void expect(int64_t count) {
    bytes += count;
    end_round();
  }

 private:
  void end_round() {
    if (missing > 0 || bytes != 0) return;
    missing = arrivals;
    round++;
  }
};

class SharedMemory {
 public:
  explicit SharedMemory(unsigned bytes) : bytes_(bytes), memory_(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, padded(bytes)))) {
    if (!memory_) throw std::bad_alloc();
    std::memset(memory_.get(), 0xA5, padded(bytes));  // a kernel that reads what nobody wrote shall notice
  }
  // Ends the block.
  ~SharedMemory() {
    if (!coming_.empty()) fail("a block ends while a copy into its shared memory is under way");
  }

  uint8_t* begin(unsigned alignment) const {
    if (alignment > kAlignment) fail("shared memory has less alignment");
    return memory_.get();
  }
  uint8_t* at(uint32_t address, uint32_t count) const {
    if (address < kFirst || address - kFirst + uint64_t{count} > bytes_) fail("an address is outside the block's shared memory");
    if (address % count != 0) fail("an address in shared memory is not aligned");
    return memory_.get() + (address - kFirst);
  }
  uint32_t address_of(const void* p) const { return kFirst + static_cast<uint32_t>(static_cast<const uint8_t*>(p) - memory_.get()); }

  void make_barrier(uint32_t address, unsigned arrivals) {
    std::memset(at(address, 8), kMark, 8);
    barriers_.insert_or_assign(address, MemoryBarrier{arrivals});
  }
  void show_barriers() {
    for (auto& [address, barrier] : barriers_) barrier.shown = true;
  }
  MemoryBarrier& barrier(uint32_t address) {
    const auto found = barriers_.find(address);
    if (found == barriers_.end()) fail("there is no barrier at an address");
    for (unsigned byte = 0; byte < 8; byte++)
      if (at(address, 8)[byte] != kMark) fail("a barrier was overwritten");
    return found->second;
  }
  // The same, for other blocks and the copy engine.
  MemoryBarrier& shown_barrier(uint32_t address) {
    MemoryBarrier& found = barrier(address);
    if (!found.shown) fail("a barrier is used elsewhere before it is shown");
    return found;
  }

  // Copies that arrive whenever the device likes.
  void add_copy(std::function<void()> arrive) { coming_.push_back(std::move(arrive)); }
  void some_copies_arrive() {
    for (size_t k = 0; k < coming_.size();) {
      if (turns.coin()) {
        k++;
        continue;
      }
      coming_[k]();
      coming_.erase(coming_.begin() + static_cast<ptrdiff_t>(k));
    }
  }

 private:
  static constexpr uint32_t kFirst = 1024, kAlignment = 1024;
  static constexpr uint8_t kMark = 0xB7;
  static size_t padded(size_t bytes) { return (bytes / kAlignment + 1) * kAlignment; }

  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  const unsigned bytes_;
  std::unique_ptr<uint8_t, Free> memory_;
  std::map<uint32_t, MemoryBarrier> barriers_;
  std::vector<std::function<void()>> coming_;
};

// The blocks of a cluster that run, and the barrier of all its threads.
struct Cluster {
  SharedMemory* blocks[kBlocksAtOnce] = {};
  unsigned running = 0, arrived = 0, round = 0;
};

// Each kernel's own (grid.cpp), while the loader makes one of the inline variables of all libraries.
extern __attribute__((visibility("hidden"))) unsigned blocks_per_cluster;
inline std::map<unsigned, Cluster> clusters;  // by number, for the block with the turn
inline thread_local SharedMemory* shared_memory;
inline thread_local Cluster* cluster;

// Makes a block one of its cluster, if it has others, while it runs.
class BlockInCluster {
 public:
  BlockInCluster(unsigned block, SharedMemory& memory) : number_(block / blocks_per_cluster), rank_(block % blocks_per_cluster) {
    shared_memory = &memory;
    if (blocks_per_cluster == 1) return;
    cluster = &clusters[number_];
    cluster->blocks[rank_] = &memory;
    cluster->running++;
  }
  ~BlockInCluster() {
    if (blocks_per_cluster == 1) return;
    cluster->blocks[rank_] = nullptr;
    if (--cluster->running == 0) clusters.erase(number_);
  }
  BlockInCluster(const BlockInCluster&) = delete;
  BlockInCluster& operator=(const BlockInCluster&) = delete;

 private:
  const unsigned number_, rank_;
};

}  // namespace cuda_host

inline uint32_t shared_address(const void* p) { return cuda_host::shared_memory->address_of(p); }
