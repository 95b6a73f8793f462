// Copies the carries of the strip above from global to shared memory (pipeline.cuh: strip, carries).
//
// A load from global memory takes as long as several columns. Loading into registers ahead of time does not work: if registers are short,
// the compiler moves the loads to where the values are used, and the warps wait (46 % of the time with edit distances). So each warp copies
// its own part of the columns ahead into a ring, by asynchronous copies, which take no registers.
//
// Units
//   batch   BATCH columns, requested and used together
//   run     a warp's carries of one column, kLanes of them, contiguous in global memory, which is [column][thread of the block]
//   piece   16 bytes: what one lane copies at a time
// The ring of a warp is [batch % kBatches][column of the batch][lane]. Of its four batches, one is in use and up to three are being copied.
//
// Invariant: batches are counted. Every request() or put() closes one group of copies, empty or not, so that after kAhead columns have been
// requested the oldest batch is the one that wait_for_copies<kBatches - 2> guarantees.
#pragma once

#include "portable.cuh"

// Carry: what a thread gets for a column, 4, 8 or 16 bytes. BLOCK: threads of the block; 0 if only the host knows.
template <class Carry, int BATCH, int BLOCK = 0>
class CarryRing {
  static constexpr int kPiece = 16 / sizeof(Carry);   // carries of a piece
  static constexpr int kRunPieces = kLanes / kPiece;  // pieces of a run
  static constexpr int kPieces = BATCH * kRunPieces;  // of a batch
  static constexpr int kBatches = 4;
  // If a batch has fewer pieces than a warp has lanes, the other lanes copy some pieces again, to a place after the batch that is never
  // read: that is cheaper than a branch.
  static constexpr int kBatchCarries = (kPieces < kLanes ? kLanes : kPieces) * kPiece;

 public:
  static constexpr int kCarries = kBatches * kBatchCarries;  // of the ring of a warp
  static constexpr int kAhead = (kBatches - 1) * BATCH;      // columns between a request and the use

  // rings: shared memory, aligned to 16 bytes, kCarries for each warp of the block. above: the carry of column 0 for the block's first
  // thread.
  DEVICE CarryRing(Carry* rings, const Carry* above) : ring_(rings + threadIdx.x / kLanes * kCarries), next_(0) {
    const int lane = threadIdx.x % kLanes, piece = lane % kPieces;
    to_ = lane * kPiece;
    from_ = above + threadIdx.x / kLanes * kLanes + piece / kRunPieces * block_threads() + piece % kRunPieces * kPiece;
  }

  // Requests the next batch, which the strip above must have handed down.
  DEVICE void request() {
#pragma unroll
    for (int first = 0; first < kPieces; first += kLanes)
      if (first == 0 || first + kLanes <= kPieces || first + static_cast<int>(threadIdx.x) % kLanes < kPieces)
        copy_ahead(ring_ + next_ + to_ + first * kPiece, from_ + first / kRunPieces * block_threads());
    from_ += BATCH * block_threads();
    close_batch();
  }
  // Instead of a request: returns where this lane stores its own carries of the next batch. Those of consecutive columns are kLanes apart.
  DEVICE Carry* put() {
    Carry* const place = ring_ + next_ + threadIdx.x % kLanes;
    close_batch();
    return place;
  }

  // Returns this lane's carry of the oldest batch's first column, once it has arrived; those of consecutive columns are kLanes apart.
  // Called by all lanes of a warp when kAhead columns have been requested, before the next request: that one overwrites the batch before
  // this one.
  DEVICE const Carry* take() {
    wait_for_copies<kBatches - 2>();
    __syncwarp();  // all lanes' copies of this batch have arrived, and no lane still reads the batch before it
    const int oldest = next_ + kBatchCarries == kCarries ? 0 : next_ + kBatchCarries;
    return ring_ + oldest + threadIdx.x % kLanes;
  }

 private:
  static DEVICE int64_t block_threads() { return BLOCK ? BLOCK : blockDim.x; }

  DEVICE void close_batch() {
    end_copies();
    next_ = next_ + kBatchCarries == kCarries ? 0 : next_ + kBatchCarries;
  }

  Carry* const ring_;
  const Carry* from_;  // what this lane copies next
  int to_;             // where it goes, within a batch
  int next_;           // the batch that is requested next, in carries
};
