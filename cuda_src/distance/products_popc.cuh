// Products of bit planes (distance.cuh) with popc, for devices without binary tensor cores. The last kernel of Payne et al. 2010, which
// shares loads through shared memory and keeps sums in registers, with bits in place of letters.
//
// A block of 16 x 16 threads (x, y) computes a tile of 64 x 64 pairs, a thread 4 x 4 of them: rows y, y + 16, ... and columns x, x + 16,
// ..., so that the threads of a warp read words of consecutive rows. A row of the tile is a word longer in shared memory than a chunk: with
// 33 words, consecutive rows begin in consecutive banks.
//
// No macros. Shared memory: 2 x 64 x 33 x 4 = 16,896 bytes.
#pragma once

#include "distance.cuh"

constexpr int kSide = 16, kThreads = kSide * kSide, kBlocks = 2, kTile = 64, kRows = kTile, kColumns = kTile, kPairs = kTile / kSide,
              kWords = kChunk / 4, kRowWords = kWords + 1;

// Computes a split of a tile. For each pair it calls take(take.row(row), take.column(column), count), by all threads of a warp together.
template <class Take>
DEVICE void multiply_planes(const DistanceArgs& a, const DistanceWork& work, const Take& take) {
  __shared__ uint32_t rows[kTile * kRowWords], columns[kTile * kRowWords];
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  int32_t counts[kPairs][kPairs] = {};
  for (int chunk = work.first; chunk < work.last; chunk++) {
    const int64_t left = chunk_offset(a, a.left, chunk), right = chunk_offset(a, a.right, chunk);
    for (int word = threadIdx.x; word < kTile * kWords; word += kSide * kSide) {
      const int sample = word / kWords, offset = word % kWords;
      rows[sample * kRowWords + offset] =
          reinterpret_cast<const uint32_t*>(a.planes + left + sample_offset(a, a.row_start, a.row_count, work.row + sample))[offset];
      columns[sample * kRowWords + offset] = reinterpret_cast<const uint32_t*>(
          a.planes + right + sample_offset(a, a.column_start, a.column_count, work.column + sample))[offset];
    }
    __syncthreads();
#pragma unroll 4
    for (int word = 0; word < kWords; word++) {
      uint32_t row[kPairs], column[kPairs];
      for (int k = 0; k < kPairs; k++) {
        row[k] = rows[(y + k * kSide) * kRowWords + word];
        column[k] = columns[(x + k * kSide) * kRowWords + word];
      }
      for (int r = 0; r < kPairs; r++)
        for (int c = 0; c < kPairs; c++) counts[r][c] += count_bits(row[r] & column[c]);
    }
    __syncthreads();
  }
  for (int r = 0; r < kPairs; r++) {
    const auto row = take.row(work.row + y + r * kSide);
    for (int c = 0; c < kPairs; c++) take(row, take.column(work.column + x + c * kSide), counts[r][c]);
  }
}
