// Screens all pairs of a rectangle by lengths and sketches on Hopper's binary tensor cores, and lists the candidates (candidate_list.cuh).
// wgmma m64n128k256 with and.popc, compute capability 9.0a. near.cuh has the glossary.
//
// Glossary
//   warpgroup  four warps, which issue a wgmma together
//   producer   one thread of a warp of its own, which has the copy engine (TMA) copy chunks into shared memory
//   cluster    kCluster blocks, whose rows are one below the other
//   segment    columns that a cluster compares with its rows
//   tile       kRows rows x kColumns columns, which a block computes at a time
//   stage      memory for a chunk of each column of a tile; chunk number c of a segment uses stage c % kStages, in round c / kStages of its
//              barriers
//   full       barrier of a stage: the round ends when all bytes of the chunk, which several blocks copy, have arrived
//   empty      barrier of a stage: the round ends when the warps of all blocks of the cluster have multiplied the chunk
//
// A sketch has few chunks, so the products of a tile take no longer than checking its counts. Hence:
// - The sketches of a block's rows stay in shared memory, and only columns are copied, half of them by each block for both. The tensor
//   cores take 512 clocks for the 16 KB of a stage: 16 bytes a clock and multiprocessor are left to L2.
// - The second warpgroup begins kLead chunks after the first, so that one multiplies while the other one checks.
// - Columns are in order of length. Those whose lengths are beyond the bounds of all rows of the cluster are not looked at.
//
// Invariant: a block copies into a stage only after its barrier `empty` has ended the round of the chunk before, i.e. when no warp of any
// block of the cluster still reads what is overwritten there, in any of the blocks.
//
// No macros. Registers: 162 and 8 bytes of stack on sm_90a (NVRTC 13.5). Shared memory: kRows sketches and 6 x 128 x 128 + 112 = 98,416
// bytes, dynamic.
// Measured (one H100, 2026-11-28, benchmarks/results/near_cuda.md), 10^9 pairs a second: genes of 1.5 kb, 8,192 bits: 145 (mma 68); reads
// of 100 letters, 1,024 bits: 370 (mma 124).
#include "candidate_list.cuh"
#include "cluster.cuh"
#include "tensor_cores.cuh"

constexpr int kGroups = 2, kGroupRows = 64, kRows = kGroups * kGroupRows, kColumns = 128, kStages = 6, kSums = 64;
constexpr int kCluster = 2, kClusterRows = kCluster * kRows;
constexpr int kShare = kColumns / kCluster;  // columns that a block copies
constexpr int kBox = 64;                     // samples of one copy
constexpr int kLead = 3;                     // chunks that the first warpgroup is ahead of the second
constexpr int kRowBytes = kRows * kChunk, kStageBytes = kColumns * kChunk, kStep = 32;  // bytes of a sample that one instruction takes
constexpr int kGroupWarps = 4, kWarps = kGroupWarps * kGroups, kThreads = (kWarps + 1) * kLanes;

struct NearScreenWgmmaArgs {
  const TensorMap* map;  // of the sketches: [rows, then columns][byte], boxes of kBox samples x kChunk, swizzled by 128 bytes
  NearScreenArgs screen;
  int32_t segment;  // columns; a multiple of kColumns
};
SAME_AS_ON_HOST(NearScreenWgmmaArgs);

// Tiles of a block, from `first` up to `stop`, counted from column 0.
struct Tiles {
  int first, stop;
};

// Returns the tiles of a segment that have columns whose lengths are within the bounds of any of the cluster's rows. Called by a warp.
DEVICE Tiles find_tiles(const NearScreenWgmmaArgs& a, int row, int segment_start) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes, row_count = a.screen.product.row_count;
  int first = a.screen.product.column_count, stop = 0;
  for (int r = row + lane; r < row + kClusterRows && r < row_count; r += kLanes) {
    const NearRow limits = a.screen.rows[r];
    if (limits.first < limits.stop) {
      first = limits.first < first ? limits.first : first;
      stop = limits.stop > stop ? limits.stop : stop;
    }
  }
  for (int k = 1; k < kLanes; k *= 2) {
    const int other_first = __shfl_sync(kAllLanes, first, lane ^ k), other_stop = __shfl_sync(kAllLanes, stop, lane ^ k);
    first = other_first < first ? other_first : first;
    stop = other_stop > stop ? other_stop : stop;
  }
  const int segment_stop = segment_start + a.segment;
  first = first > segment_start ? first : segment_start;
  stop = stop < segment_stop ? stop : segment_stop;
  return {first / kColumns, (stop + kColumns - 1) / kColumns};
}

// The work of a block.
struct Block {
  const NearScreenWgmmaArgs& a;
  const Tiles tiles;
  int first_row;                            // of the block
  int chunks;                               // of a sketch
  uint32_t row_sketches, stages, barriers;  // addresses in shared memory
  int rank;                                 // in the cluster

  DEVICE uint32_t stage(int number) const { return stages + number % kStages * kStageBytes; }
  DEVICE uint32_t full(int number) const { return barriers + number % kStages * 8; }
  DEVICE uint32_t empty(int number) const { return full(number) + kStages * 8; }
  DEVICE uint32_t rows_full() const { return barriers + 2 * kStages * 8; }  // all sketches of the rows have arrived
  DEVICE uint32_t lead() const { return rows_full() + 8; }                  // the first warpgroup is kLead chunks ahead
  // Parity of the round that chunk `number` is in.
  DEVICE static uint32_t parity(int number) { return number / kStages & 1; }

  DEVICE void make_barriers() const {
    for (int s = 0; s < kStages; s++) {
      make_barrier(full(s), 1);
      make_barrier(empty(s), kCluster * kWarps);
    }
    make_barrier(rows_full(), 1);
    make_barrier(lead(), kGroupWarps);
    show_barriers();
  }

  // The producer: copies the rows' sketches, then all chunks of the columns, up to kStages ahead of those that are multiplied.
  DEVICE void produce() const {
    show_map(a.map);
    expect_bytes(rows_full(), chunks * kRowBytes);
    for (int chunk = 0; chunk < chunks; chunk++)
#pragma unroll
      for (int s = 0; s < kRows; s += kBox)
        copy_box(row_sketches + chunk * kRowBytes + s * kChunk, a.map, chunk * kChunk, first_row + s, rows_full(),
                 static_cast<uint16_t>(1u << rank));
    int number = 0;
    for (int tile = tiles.first; tile < tiles.stop; tile++)
      for (int chunk = 0; chunk < chunks; chunk++, number++) {
        if (number >= kStages) wait_at(empty(number), parity(number - kStages));
        expect_bytes(full(number), kStageBytes);
        copy_box(stage(number) + rank * kShare * kChunk, a.map, chunk * kChunk,
                 a.screen.product.row_count + tile * kColumns + rank * kShare, full(number), static_cast<uint16_t>((1u << kCluster) - 1));
      }
  }

  // A warpgroup: multiplies its rows' sketches by those of all columns, and lists the candidates of each tile. It waits for the
  // instructions of a chunk after issuing those of the next one.
  DEVICE void screen(int group, int warp, int lane) const {
    const CandidateList list{a.screen};
    const int row = first_row + group * kGroupRows + warp % kGroupWarps * 16 + lane / 4;
    const CandidateList::Row rows[2] = {list.row(row), list.row(row + 8)};
    const int total = (tiles.stop - tiles.first) * chunks, led = (kLead < total ? kLead : total) - 1;
    wait_at(rows_full(), 0);
    if (group > 0) wait_at(lead(), 0);
    int number = 0;
    for (int tile = tiles.first; tile < tiles.stop; tile++) {
      int32_t counts[kSums];
#pragma unroll
      for (int k = 0; k < kSums; k++) counts[k] = 0;
      for (int chunk = 0; chunk < chunks; chunk++, number++) {
        const uint32_t own = row_sketches + chunk * kRowBytes + group * kGroupRows * kChunk, columns = stage(number);
        wait_at(full(number), parity(number));
        begin_products();
#pragma unroll
        for (int k = 0; k < kChunk; k += kStep) multiply(counts, describe(own + k), describe(columns + k));
        end_products();
        if (group == 0 && number == led && lane == 0) arrive_at(lead(), static_cast<uint32_t>(rank));
        wait_products<1>();
        if (chunk > 0 && lane < kCluster) arrive_at(empty(number - 1), static_cast<uint32_t>(lane));
      }
      wait_products<0>();
      if (lane < kCluster) arrive_at(empty(number - 1), static_cast<uint32_t>(lane));
#pragma unroll
      for (int k = 0; k < kSums; k++) asm volatile("" : "+r"(counts[k])::"memory");  // the sums are complete only from here on
      list_candidates(list, rows, tile * kColumns + lane % 4 * 2, counts);
    }
  }

  // Lists the candidates of a lane's pairs: of every 8 columns, its sums are those of rows lane / 4 and lane / 4 + 8, columns 2 (lane % 4)
  // and 2 (lane % 4) + 1. Hardly any pair is a candidate, so there is one copy of the code for them.
  DEVICE static void list_candidates(const CandidateList& list, const CandidateList::Row (&rows)[2], int first_column,
                                     const int32_t (&counts)[kSums]) {
    uint64_t may_keep = 0;
#pragma unroll
    for (int k = 0; k < kSums; k += 4) {
      const CandidateList::Column columns[2] = {list.column(first_column + 2 * k), list.column(first_column + 2 * k + 1)};
#pragma unroll
      for (int i = 0; i < 4; i++)
        may_keep |= static_cast<uint64_t>(CandidateList::may_keep(rows[i / 2], columns[i % 2], counts[k + i])) << (k + i);
    }
    while (any_lane(may_keep != 0)) {
      const bool has = may_keep != 0;
      const int chosen = has ? lowest_bit(may_keep) : 0;
      int32_t count = 0;
#pragma unroll
      for (int k = 0; k < kSums; k++) count = k == chosen ? counts[k] : count;
      list.append(has, chosen / 2 % 2 ? rows[1] : rows[0], list.column(first_column + chosen / 4 * 8 + chosen % 2), count);
      may_keep &= may_keep - 1;
    }
  }
};

KERNEL_IN_CLUSTERS(kThreads, 1, kCluster) near_screen_wgmma(const NearScreenWgmmaArgs a) {
  DYNAMIC_SHARED(memory, 1024);
  const int rank = static_cast<int>(blockIdx.x) % kCluster, item = static_cast<int>(blockIdx.x) / kCluster;
  const int row_pieces = (a.screen.product.row_count + kClusterRows - 1) / kClusterRows;
  const int row = item % row_pieces * kClusterRows;
  const Tiles tiles = find_tiles(a, row, item / row_pieces * a.segment);
  if (tiles.first >= tiles.stop) return;  // both blocks of a cluster, as they find the same tiles
  const int chunks = static_cast<int>(a.screen.product.sample_bytes / kChunk);
  const uint32_t row_sketches = shared_address(memory), stages = row_sketches + chunks * kRowBytes;
  const Block block{a, tiles, row + rank * kRows, chunks, row_sketches, stages, stages + kStages * kStageBytes, rank};
  if (threadIdx.x == 0) block.make_barriers();
  arrive_at_cluster();
  wait_for_cluster();

  const int warp = static_cast<int>(threadIdx.x) / kLanes, lane = static_cast<int>(threadIdx.x) % kLanes;
  if (warp == kWarps) {
    if (lane == 0) block.produce();
    __syncwarp();
  } else {
    block.screen(warp / kGroupWarps, warp, lane);
  }
  arrive_at_cluster();
  wait_for_cluster();  // no block may end while another one may arrive at its barriers
}
