// Products of bit planes (distance.cuh) with popc, for devices without binary tensor cores. Payne 2010's last kernel, which shares
// loads through shared memory and keeps sums in registers, with bits for letters.
//
// A block of 16 x 16 threads, a tile of 64 x 64 pairs, 4 x 4 pairs a thread: rows ty, ty + 16, ... and columns likewise, so that
// the threads of a warp read words of neighbouring rows. A row of the tile in shared memory is a word longer than a chunk: 33
// words put neighbouring rows in neighbouring banks.
#pragma once

#include "distance.cuh"

constexpr int kSide = 16, kThreads = kSide * kSide, kBlocks = 2, kTile = 64, kRows = kTile, kColumns = kTile, kPairs = kTile / kSide,
              kWords = kChunk / 4, kRowWords = kWords + 1;

// A tile's part of the sum. What take.row(row) and take.column(column) say of the tile's samples goes with the count of each pair to
// take(row, column, count), which all threads of a warp call together.
template <class Take>
DEVICE void multiply_planes(const DistanceArgs& a, const DistanceWork& work, const Take& take) {
  __shared__ uint32_t rows[kTile * kRowWords], columns[kTile * kRowWords];
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  int32_t counts[kPairs][kPairs] = {};
  for (int chunk = work.first; chunk < work.last; chunk++) {
    const int64_t left = chunk_place(a, a.left, chunk), right = chunk_place(a, a.right, chunk);
    for (int word = threadIdx.x; word < kTile * kWords; word += kSide * kSide) {
      const int sample = word / kWords, place = word % kWords;
      rows[sample * kRowWords + place] =
          reinterpret_cast<const uint32_t*>(a.planes + left + sample_place(a, a.row_start, a.row_count, work.row + sample))[place];
      columns[sample * kRowWords + place] = reinterpret_cast<const uint32_t*>(
          a.planes + right + sample_place(a, a.column_start, a.column_count, work.column + sample))[place];
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
