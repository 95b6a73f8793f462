// The functions of cluster.cuh on the host. A copy of the copy engine arrives at any time after it was asked for, in each block at another.
#pragma once

#include "cuda_host.hpp"

namespace cuda_host {

// What HostDevice.tensor_map writes into a TensorMap.
struct HostMap {
  uint64_t address, rows, row_bytes, box_rows, box_bytes;
};

inline void copy_rows(SharedMemory& memory, uint32_t to, const HostMap& map, int byte, int row) {
  for (uint64_t r = 0; r < map.box_rows; r++)
    for (uint64_t at = 0; at < map.box_bytes; at += 16) {
      const uint64_t from_row = static_cast<uint64_t>(row) + r, from_byte = static_cast<uint64_t>(byte) + at;
      uint8_t* piece = memory.at(swizzled_by_128_bytes(to + static_cast<uint32_t>(r * map.box_bytes + at)), 16);
      if (from_row < map.rows && from_byte < map.row_bytes)
        std::memcpy(piece, reinterpret_cast<const uint8_t*>(map.address) + from_row * map.row_bytes + from_byte, 16);
      else
        std::memset(piece, 0, 16);
    }
}

inline SharedMemory& memory_of(uint32_t block) {
  if (block >= blocks_per_cluster) fail("a cluster has fewer blocks");
  if (!cluster->blocks[block]) fail("a block of the cluster is used that does not run");
  return *cluster->blocks[block];
}

inline thread_local const void* shown_map;  // to the copy engine, by a thread of the block

}  // namespace cuda_host

DEVICE void make_barrier(uint32_t barrier, uint32_t arrivals) { cuda_host::shared_memory->make_barrier(barrier, arrivals); }
DEVICE void show_barriers() { cuda_host::shared_memory->show_barriers(); }
DEVICE void expect_bytes(uint32_t barrier, uint32_t bytes) {
  cuda_host::MemoryBarrier& found = cuda_host::shared_memory->barrier(barrier);
  found.expect(bytes);
  found.arrive();
}
DEVICE void arrive_at(uint32_t barrier, uint32_t block) { cuda_host::memory_of(block).shown_barrier(barrier).arrive(); }
DEVICE void wait_at(uint32_t barrier, uint32_t parity) {
  constexpr unsigned kForEver = 1 << 17;  // turns
  const cuda_host::MemoryBarrier& found = cuda_host::shared_memory->barrier(barrier);
  for (unsigned turn = 0; (found.round & 1) == parity; turn++) {
    if (turn == kForEver) cuda_host::fail("a thread waits for ever at a barrier");
    cuda_host::give_way();
  }
}
DEVICE void show_map(const TensorMap* map) { cuda_host::shown_map = map; }
DEVICE void copy_box(uint32_t to, const TensorMap* map, int byte, int row, uint32_t barrier, uint16_t blocks) {
  using namespace cuda_host;
  if (shown_map != map) fail("the copy engine was not shown a map");
  HostMap read;
  std::memcpy(&read, map, sizeof(read));
  for (uint32_t block = 0; block < 16; block++)
    if (blocks >> block & 1) {
      SharedMemory& memory = memory_of(block);
      memory.add_copy([=, &memory] {
        copy_rows(memory, to, read, byte, row);
        memory.shown_barrier(barrier).expect(-static_cast<int64_t>(read.box_rows * read.box_bytes));
      });
    }
}
DEVICE void arrive_at_cluster() {
  cuda_host::running->cluster_round = cuda_host::cluster->round;
  if (++cuda_host::cluster->arrived < cuda_host::blocks_per_cluster * blockDim.x) return;
  cuda_host::cluster->arrived = 0;
  cuda_host::cluster->round++;
}
DEVICE void wait_for_cluster() {
  while (cuda_host::cluster->round == cuda_host::running->cluster_round) cuda_host::give_way();
}
