// Distances by products of bit planes (distance.cuh) on Hopper's binary tensor cores: wgmma m64n256k256 with and.popc, compute capability
// 9.0a.
//
// Glossary
//   warpgroup  four warps, which issue a wgmma together
//   producer   one thread of a warp of its own, which has the copy engine (TMA) copy chunks into shared memory
//   cluster    kCluster blocks, whose tiles are one below the other
//   stage      memory for a chunk of each row and column of a tile; chunk number c uses stage c % kStages, in round
//              c / kStages of its barriers
//   full       barrier of a stage: the round ends when all bytes of the chunk, which several blocks copy, have arrived
//   empty      barrier of a stage: the round ends when the warps of all blocks of the cluster have multiplied the chunk
//
// A block computes a tile of 128 x 256 pairs: two warpgroups of 64 rows x 256 columns, 128 sums per thread. Both operands come from shared
// memory; a stage is four instructions of 256 sites.
//
// The tensor cores take 1,024 clocks for the 48 KB of a stage: 47 bytes per clock and multiprocessor, more than the 34 that L2 has been
// seen to deliver. So the blocks of a cluster share their columns: each copies its own rows, and 1 / kCluster of the columns for all. (16 +
// 32 / kCluster) KB of a stage are left to L2.
//
// Invariant: a block copies into a stage only after its barrier `empty` has ended the round of the chunk before, i.e. when no warp of any
// block of the cluster still reads what is overwritten there, in any of the blocks.
//
// No macros. Registers: 154 on sm_90a (NVRTC 13.5). Shared memory: 4 (384 x 128 + 16) = 196,672 bytes, dynamic.
// Measured (one H200, 2026-11-23, benchmarks/results/dist_cuda.md), 8,192 samples x 65,536 sites of three calls, all ordered pairs: 2,112 *
// 10^12 comparisons a second; of two calls 2,923.
#include "cluster.cuh"
#include "distance.cuh"
#include "tensor_cores.cuh"

constexpr int kGroups = 2, kGroupRows = 64, kRows = kGroups * kGroupRows, kColumns = 256, kStages = 4, kSums = 128;
constexpr int kCluster = 2;                                           // blocks; with four, waiting for each other costs more than L2 saves
constexpr int kShare = kColumns / kCluster;                           // columns that a block copies
constexpr int kBox = 64;                                              // samples of one copy
constexpr int kStageBytes = (kRows + kColumns) * kChunk, kStep = 32;  // bytes of a sample that one instruction takes
constexpr int kWarps = 4 * kGroups, kThreads = (kWarps + 1) * kLanes;

struct WgmmaArgs {
  const TensorMap* map;  // of the planes: [plane and sample][byte], boxes of kBox samples x kChunk, swizzled by 128 bytes
  DistanceArgs pairs;
};
SAME_AS_ON_HOST(WgmmaArgs);

// The work of a block, whose rows begin at work.row.
struct Block {
  const WgmmaArgs& a;
  const DistanceWork& work;
  uint32_t stages, barriers;  // addresses in shared memory; the barriers are `full` of all stages, then `empty`
  int rank;                   // in the cluster

  DEVICE uint32_t stage(int number) const { return stages + number % kStages * kStageBytes; }
  DEVICE uint32_t full(int number) const { return barriers + number % kStages * 8; }
  DEVICE uint32_t empty(int number) const { return full(number) + kStages * 8; }
  // Parity of the round that chunk `number` is in.
  DEVICE static uint32_t parity(int number) { return number / kStages & 1; }

  // The producer: copies all chunks, up to kStages ahead of those that are multiplied.
  DEVICE void produce() const {
    const int chunks = static_cast<int>(a.pairs.sample_bytes / kChunk),
              samples = static_cast<int>(a.pairs.plane_bytes / a.pairs.sample_bytes);
    show_map(a.map);
    int plane = work.first / chunks, chunk = work.first % chunks;
    for (int number = 0; number < work.last - work.first; number++) {
      const int row = a.pairs.left[plane] * samples + a.pairs.row_start + work.row;
      const int column = a.pairs.right[plane] * samples + a.pairs.column_start + work.column + rank * kShare;
      const uint32_t to = stage(number), columns = to + (kRows + rank * kShare) * kChunk;
      if (number >= kStages) wait_at(empty(number), parity(number - kStages));
      expect_bytes(full(number), kStageBytes);
#pragma unroll
      for (int s = 0; s < kRows; s += kBox)
        copy_box(to + s * kChunk, a.map, chunk * kChunk, row + s, full(number), static_cast<uint16_t>(1u << rank));
#pragma unroll
      for (int s = 0; s < kShare; s += kBox)
        copy_box(columns + s * kChunk, a.map, chunk * kChunk, column + s, full(number), static_cast<uint16_t>((1u << kCluster) - 1));
      if (++chunk == chunks) plane++, chunk = 0;
    }
  }

  // A warpgroup: multiplies all chunks. It waits for the instructions of a chunk after issuing those of the next one.
  DEVICE void multiply_chunks(int group, int lane, int32_t (&counts)[kSums]) const {
    const int last = work.last - work.first;
    for (int number = 0; number < last; number++) {
      const uint32_t rows = stage(number) + group * kGroupRows * kChunk, columns = stage(number) + kRows * kChunk;
      wait_at(full(number), parity(number));
      begin_products();
#pragma unroll
      for (int k = 0; k < kChunk; k += kStep) multiply(counts, describe(rows + k), describe(columns + k));
      end_products();
      wait_products<1>();
      if (number > 0 && lane < kCluster) arrive_at(empty(number - 1), static_cast<uint32_t>(lane));
    }
    wait_products<0>();
  }
};

KERNEL_IN_CLUSTERS(kThreads, 1, kCluster) distance_wgmma(const WgmmaArgs a) {
  DYNAMIC_SHARED(memory, 1024);
  DistanceWork work;
  const int rank = static_cast<int>(blockIdx.x) % kCluster;
  // All blocks of a cluster find the same work, a tile of all their rows, and return or continue together.
  if (!find_work<kCluster * kRows, kColumns>(a.pairs, static_cast<int>(blockIdx.x) / kCluster, work)) return;
  work.row += rank * kRows;
  const uint32_t stages = shared_address(memory);
  const Block block{a, work, stages, stages + kStages * kStageBytes, rank};
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; s++) {
      make_barrier(block.full(s), 1);
      make_barrier(block.empty(s), kCluster * kWarps);
    }
    show_barriers();
  }
  arrive_at_cluster();
  wait_for_cluster();

  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes, group = warp / 4;
  if (warp == kWarps) {
    if (lane == 0) block.produce();
    __syncwarp();
    arrive_at_cluster();
  } else {
    int32_t counts[kSums];
#pragma unroll
    for (int k = 0; k < kSums; k++) counts[k] = 0;
    block.multiply_chunks(group, lane, counts);
#pragma unroll
    for (int k = 0; k < kSums; k++) asm volatile("" : "+r"(counts[k])::"memory");  // the sums are complete only from here on
    arrive_at_cluster();
    // Of every 8 columns, the sums of a lane are those of rows lane / 4 and lane / 4 + 8, columns 2 (lane % 4) and 2 (lane % 4) + 1.
    const CountAdder add{a.pairs};
    const int row = work.row + group * kGroupRows + warp % 4 * 16 + lane / 4;
#pragma unroll
    for (int k = 0; k < kSums; k++) add(row + k / 2 % 2 * 8, work.column + k / 4 * 8 + lane % 4 * 2 + k % 2, counts[k]);
  }
  wait_for_cluster();  // no block may end while another one may arrive at its barriers
}
