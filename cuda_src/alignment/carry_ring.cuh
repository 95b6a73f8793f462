// What the strip above hands down, on its way through shared memory.
//
// A thread needs the values of a column when it comes to it, and memory answers only columns later. Loads into registers are no
// way to ask early: where registers are short, the compiler moves them to where they are used, and the warps wait (edit distances
// for 46 % of their time). So each warp copies its own part of the columns ahead of it into a ring, by copies that take no registers.
//
// Memory is [column][thread of the block]; a warp's part of a column is thus a run of kLanes carries. Its lanes copy a batch of BATCH
// columns together, 16 bytes each at a time. The ring of a warp is [batch][column][lane].
#pragma once

#include "portable.cuh"

// Carry: what a column hands down to a thread, of 4, 8 or 16 bytes. BLOCK: threads of the block; 0 where only the host knows.
template <class Carry, int BATCH, int BLOCK = 0>
class CarryRing {
  static constexpr int kPiece = 16 / sizeof(Carry);   // carries of one copy
  static constexpr int kRunPieces = kLanes / kPiece;  // copies of a run
  static constexpr int kPieces = BATCH * kRunPieces;
  static constexpr int kBatches = 4;
  // Where a batch has fewer pieces than a warp has lanes, the others copy some once more, behind them, where nobody looks: that is
  // cheaper than to leave lanes out.
  static constexpr int kBatchCarries = (kPieces < kLanes ? kLanes : kPieces) * kPiece;

 public:
  static constexpr int kCarries = kBatches * kBatchCarries;  // of the ring of a warp
  static constexpr int kAhead = (kBatches - 1) * BATCH;      // columns that are asked for before they are needed

  // rings: shared, of 16 bytes' alignment, kCarries for each warp of the block. above: where the block's first thread has column 0 of
  // the strip above.
  DEVICE CarryRing(Carry* rings, const Carry* above) : ring_(rings + threadIdx.x / kLanes * kCarries), next_(0) {
    const int lane = threadIdx.x % kLanes, piece = lane % kPieces;
    to_ = lane * kPiece;
    from_ = above + threadIdx.x / kLanes * kLanes + piece / kRunPieces * block_threads() + piece % kRunPieces * kPiece;
  }

  // Asks for the next batch of columns, which must have been handed down.
  DEVICE void ask() {
#pragma unroll
    for (int first = 0; first < kPieces; first += kLanes)
      if (first == 0 || first + kLanes <= kPieces || first + static_cast<int>(threadIdx.x) % kLanes < kPieces)
        copy_ahead(ring_ + next_ + to_ + first * kPiece, from_ + first / kRunPieces * block_threads());
    from_ += BATCH * block_threads();
    asked();
  }
  // The next batch of columns comes from nowhere else: this lane's place in its first one. The others lie kLanes apart.
  DEVICE Carry* put() {
    Carry* const place = ring_ + next_ + threadIdx.x % kLanes;
    asked();
    return place;
  }

  // This lane's carry of the oldest batch's first column, once it has arrived; the others lie kLanes apart. By all lanes of a warp, when
  // kAhead columns have been asked for and before it asks for more: that takes the place of the batch before this one.
  DEVICE const Carry* take() {
    wait_for_copies<kBatches - 2>();
    __syncwarp();  // this batch is there, whoever copied it, and all lanes have left the one before
    const int oldest = next_ + kBatchCarries == kCarries ? 0 : next_ + kBatchCarries;
    return ring_ + oldest + threadIdx.x % kLanes;
  }

 private:
  static DEVICE int64_t block_threads() { return BLOCK ? BLOCK : blockDim.x; }

  DEVICE void asked() {
    end_copies();
    next_ = next_ + kBatchCarries == kCarries ? 0 : next_ + kBatchCarries;
  }

  Carry* const ring_;
  const Carry* from_;  // what this lane copies next
  int to_;             // and where to, within a batch
  int next_;           // the batch
};
