// Products of bit planes (distance.cuh) on binary tensor cores, mma.sync m16n8k256 with and.popc: compute capability 8.0 and newer.
//
// A block of 8 warps computes a tile of 128 x 128 pairs, a warp 64 x 32 of it: 4 x 4 instructions of 16 x 8 pairs and 256 sites. Operands
// come from shared memory by ldmatrix, whose matrices of 8 x 16 bytes are 8 samples x 128 sites.
//
// A stage holds a chunk (128 bytes) of each of the tile's rows, then of its columns. There are three stages: one is multiplied, two are on
// their way. Piece p (16 bytes) of sample s is at s * 128 + (p ^ s % 8) * 16, so that ldmatrix meets no bank conflict.
//
// No macros. Shared memory: 3 x 256 x 128 = 98,304 bytes, dynamic.
#pragma once

#include "distance.cuh"
#include "tensor_cores.cuh"

constexpr int kPiece = 16, kPieces = kChunk / kPiece;

DEVICE int swizzled(int sample, int piece) { return sample * kChunk + (piece ^ (sample & 7)) * kPiece; }

// Copies a chunk of a tile's samples into a stage. Each thread copies the same piece of every (Threads / kPieces)-th sample, so only the
// chunk changes in its addresses.
template <int Rows, int Columns, int Threads>
struct StageCopier {
  static constexpr int kStep = Threads / kPieces, kBytes = (Rows + Columns) * kChunk;
  const DistanceArgs& a;
  const DistanceWork& work;
  const int piece = threadIdx.x % kPieces, first = threadIdx.x / kPieces;

  DEVICE void copy(uint32_t stage, int chunk) const {
    if (chunk < work.last) {
      const unsigned char* left = a.planes + chunk_offset(a, a.left, chunk) + piece * kPiece;
      const unsigned char* right = a.planes + chunk_offset(a, a.right, chunk) + piece * kPiece;
#pragma unroll
      for (int s = 0; s < Rows; s += kStep)
        copy_ahead(stage + swizzled(first + s, piece), left + sample_offset(a, a.row_start, a.row_count, work.row + first + s));
#pragma unroll
      for (int s = 0; s < Columns; s += kStep)
        copy_ahead(stage + Rows * kChunk + swizzled(first + s, piece),
                   right + sample_offset(a, a.column_start, a.column_count, work.column + first + s));
    }
    end_copies();
  }
};

constexpr int kThreads = 256, kBlocks = 1, kRows = 128, kColumns = 128, kStages = 3;
constexpr int kWarpRows = 64, kWarpColumns = 32, kTilesDown = kWarpRows / 16, kTilesAcross = kWarpColumns / 8;
using Copier = StageCopier<kRows, kColumns, kThreads>;

// Computes a split of a tile. For each pair it calls take(take.row(row), take.column(column), count), by all threads of a warp together.
template <class Take>
DEVICE void multiply_planes(const DistanceArgs& a, const DistanceWork& work, const Take& take) {
  DYNAMIC_SHARED(memory, 1024);
  const Copier copier{a, work};
  const uint32_t base = shared_address(memory);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first_row = warp / 4 * kWarpRows, first_column = warp % 4 * kWarpColumns;
  int32_t counts[kTilesDown][kTilesAcross][4] = {};

  for (int s = 0; s < kStages - 1; s++) copier.copy(base + s * Copier::kBytes, work.first + s);
  for (int chunk = work.first, stage = 0; chunk < work.last; chunk++) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // all threads' copies of this stage have arrived, and none still reads the stage that is filled next
    copier.copy(base + (stage + kStages - 1) % kStages * Copier::kBytes, chunk + kStages - 1);
    const uint32_t rows = base + stage * Copier::kBytes, columns = rows + kRows * kChunk;
#pragma unroll
    for (int k = 0; k < kPieces; k += 2) {  // 256 sites are two pieces
      uint32_t left[kTilesDown][4], right[kTilesAcross / 2][4];
      // Matrices of A: rows 0-7 and 8-15 of the first piece, then of the second; of B: both pieces of columns 0-7, then of columns 8-15.
#pragma unroll
      for (int r = 0; r < kTilesDown; r++) load_four(left[r], rows + swizzled(first_row + 16 * r + lane % 16, k + lane / 16));
#pragma unroll
      for (int c = 0; c < kTilesAcross / 2; c++)
        load_four(right[c], columns + swizzled(first_column + 16 * c + lane / 16 * 8 + lane % 8, k + lane / 8 % 2));
#pragma unroll
      for (int r = 0; r < kTilesDown; r++)
#pragma unroll
        for (int c = 0; c < kTilesAcross; c++) multiply(counts[r][c], left[r], right[c / 2][c % 2 * 2], right[c / 2][c % 2 * 2 + 1]);
    }
    stage = (stage + 1) % kStages;
  }
  // The sums of a lane are those of rows lane / 4 and lane / 4 + 8, columns 2 (lane % 4) and 2 (lane % 4) + 1.
#pragma unroll
  for (int r = 0; r < kTilesDown; r++)
#pragma unroll
    for (int below = 0; below < 2; below++) {
      const auto row = take.row(work.row + first_row + 16 * r + lane / 4 + below * 8);
#pragma unroll
      for (int c = 0; c < kTilesAcross; c++)
#pragma unroll
        for (int k = 0; k < 2; k++)
          take(row, take.column(work.column + first_column + 8 * c + lane % 4 * 2 + k), counts[r][c][2 * below + k]);
    }
}
