// Blocks of a cluster: boxes of a matrix copied into the shared memory of all of them, and barriers that they share. Compute capability
// 9.0; on others the functions are empty, as no kernel with clusters runs there.
//
// Barriers (mbarrier) count arrivals, and bytes that are on their way; one is passed when both have come, and then begins anew. Who waits
// names the parity of the round: 0 for the first, 1 for the second, 0 for the third.
#pragma once

#include "portable.cuh"

// A matrix of bytes as the device's copy engine knows it (gpu/runtime/tensor_map.py).
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900
// So many arrivals complete a round.
DEVICE void make_barrier(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Barriers that this thread made are seen by the copy engine and, after the next cluster barrier, by other blocks.
DEVICE void show_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
}
// Arrive, and say that so many bytes belong to this round.
DEVICE void expect_bytes(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Arrive at a barrier of another block of the cluster, or of one's own. Orders nothing that other blocks read or write.
DEVICE void arrive_at(uint32_t barrier, uint32_t block) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(block)
      : "memory");
}
DEVICE void wait_at(uint32_t barrier, uint32_t parity) {
  uint32_t passed;
  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(passed)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  } while (!passed);
}
// A map that the host has written is seen by the copy engine; whoever uses it calls this first.
DEVICE void show_map(const TensorMap* map) { asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory"); }
// The box of the matrix at (byte, row) goes to the same place in the blocks whose bits are set in `blocks`, and its bytes to their
// barriers.
DEVICE void copy_box(uint32_t to, const TensorMap* map, int byte, int row, uint32_t barrier, uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::
          "r"(to),
      "l"(map), "r"(byte), "r"(row), "r"(barrier), "h"(blocks)
      : "memory");
}
// All threads of all blocks have to arrive before any passes the wait. Orders nothing, either, but what show_barriers made visible.
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
