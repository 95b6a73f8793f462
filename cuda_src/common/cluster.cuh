// Clusters of blocks: copies of boxes of a matrix into the shared memory of all blocks of a cluster, and barriers that they share. Compute
// capability 9.0; for older ones the functions are empty, because no kernel with clusters runs there. tests/cuda_host/cluster.hpp has host
// versions.
//
// A barrier (mbarrier) counts arrivals, and bytes that are being copied. When both are complete its round ends and the next one begins. A
// thread that waits names the parity of the round: 0 for the first, 1 for the second, 0 for the third.
#pragma once

#include "portable.cuh"

// A matrix of bytes as the device's copy engine (TMA) describes it (gpu/runtime/tensor_map.py).
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

#ifndef __CUDACC__
#include "cluster.hpp"
#elif __CUDA_ARCH__ >= 900
// Initialises a barrier whose rounds take `arrivals` arrivals.
DEVICE void make_barrier(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Makes this thread's new barriers visible to the copy engine and, after the next cluster barrier, to other blocks.
DEVICE void show_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
}
// Arrives, and adds `bytes` to the bytes that this round waits for.
DEVICE void expect_bytes(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Arrives at the barrier of block `block` of the cluster, which may be this one. Orders no memory access of other blocks.
DEVICE void arrive_at(uint32_t barrier, uint32_t block) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(block)
      : "memory");
}
// Waits until the round of this parity has ended.
DEVICE void wait_at(uint32_t barrier, uint32_t parity) {
  uint32_t passed;
  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(passed)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  } while (!passed);
}
// Makes a map that the host has written visible to the copy engine. Called by each thread before it uses the map.
DEVICE void show_map(const TensorMap* map) { asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory"); }
// Copies the box of the matrix at (byte, row) to the same address in all blocks whose bits are set in `blocks`, and reports the bytes to
// their barriers.
DEVICE void copy_box(uint32_t to, const TensorMap* map, int byte, int row, uint32_t barrier, uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::
          "r"(to),
      "l"(map), "r"(byte), "r"(row), "r"(barrier), "h"(blocks)
      : "memory");
}
// A barrier of all threads of a cluster, in two halves: no thread passes the second before all have arrived at the first. Orders nothing
// but what show_barriers made visible.
DEVICE void arrive_at_cluster() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
DEVICE void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
#else
DEVICE void make_barrier(uint32_t, uint32_t) {}
DEVICE void show_barriers() {}
DEVICE void expect_bytes(uint32_t, uint32_t) {}
DEVICE void arrive_at(uint32_t, uint32_t) {}
DEVICE void wait_at(uint32_t, uint32_t) {}
DEVICE void show_map(const TensorMap*) {}
DEVICE void copy_box(uint32_t, const TensorMap*, int, int, uint32_t, uint16_t) {}
DEVICE void arrive_at_cluster() {}
DEVICE void wait_for_cluster() {}
#endif
