// In place of products: counts every pair of a tile as kEverything, which passes any test. For screens without sketches (near_screen.cu).
#pragma once

#include "distance.cuh"

constexpr int kSide = 16, kThreads = kSide * kSide, kBlocks = 4, kRows = 64, kColumns = 64;
constexpr int32_t kEverything = 1 << 30;

// As in products_popc.cuh, without computing anything.
template <class Take>
DEVICE void multiply_planes(const DistanceArgs&, const DistanceWork& work, const Take& take) {
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  for (int r = 0; r < kRows; r += kSide) {
    const auto row = take.row(work.row + y + r);
    for (int c = 0; c < kColumns; c += kSide) take(row, take.column(work.column + x + c), kEverything);
  }
}
