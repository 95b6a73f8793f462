// The functions of tensor_cores.cuh on the host, bit by bit as the PTX ISA describes them ("Matrix Fragments for mma.m16n8k256", "Register
// Fragments for wgmma.mma_async.m64nNk256", "Matrix Descriptor Format"). A product of a warpgroup reads its operands and writes its sums
// at once or when it is waited for: a device may do either.
#pragma once

#include "cuda_host.hpp"

namespace cuda_host {

inline uint32_t word_at(uint32_t address) {
  uint32_t word;
  std::memcpy(&word, shared_memory->at(address, 4), 4);
  return word;
}

// A matrix in shared memory: rows of 128 bytes in groups of 8, swizzled by 128 bytes.
class Matrix {
 public:
  explicit Matrix(uint64_t descriptor)
      : start_(static_cast<uint32_t>(descriptor & 0x3fff) << 4), group_bytes_(static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4) {
    if (descriptor >> 62 != 1) fail("a matrix is not swizzled by 128 bytes");
    if (descriptor >> 49 & 7) fail("a matrix begins within a group of rows");
  }
  // Reads the 256 bits of a row.
  void read(int row, uint32_t (&words)[8]) const {
    const uint32_t first = start_ + static_cast<uint32_t>(row / 8) * group_bytes_ + static_cast<uint32_t>(row % 8) * 128;
    for (uint32_t k = 0; k < 8; k++) words[k] = word_at(swizzled_by_128_bytes(first + 4 * k));
  }

 private:
  uint32_t start_, group_bytes_;
};

inline void Product::arrive() const {
  const int thread = static_cast<int>(threadIdx.x) % 128, row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
  const Matrix a(rows), b(columns);
  uint32_t of_rows[2][8], of_column[8];
  for (int below = 0; below < 2; below++) a.read(row + 8 * below, of_rows[below]);
  for (int pair = 0; pair < column_count / 4; pair++) {
    b.read(pair / 2 * 8 + column + pair % 2, of_column);
    for (int below = 0; below < 2; below++)
      for (int k = 0; k < 8; k++) sums[pair / 2 * 4 + 2 * below + pair % 2] += __builtin_popcount(of_rows[below][k] & of_column[k]);
  }
}

}  // namespace cuda_host

DEVICE void load_four(uint32_t (&to)[4], uint32_t from) {
  cuda_host::Warp& warp = *cuda_host::warp;
  const int lane = cuda_host::lane();
  cuda_host::shared_memory->at(from, 16);  // its lane answers for a wrong address
  warp.exchange[lane] = from;
  warp.barrier.wait();
  for (int matrix = 0; matrix < 4; matrix++)
    to[matrix] = cuda_host::word_at(static_cast<uint32_t>(warp.exchange[8 * matrix + lane / 4]) + static_cast<uint32_t>(lane % 4) * 4);
  warp.barrier.wait();
}

DEVICE void multiply(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  cuda_host::Warp& warp = *cuda_host::warp;
  const int lane = cuda_host::lane(), row = lane / 4, column = lane % 4 * 2;
  const uint32_t own[6] = {a[0], a[1], a[2], a[3], b0, b1};
  std::memcpy(warp.fragments[lane], own, sizeof(own));
  warp.barrier.wait();
  // Lane 4 r + q has the words q and 4 + q of rows r (a0, a2) and r + 8 (a1, a3), and of column r (b0, b1).
  for (int below = 0; below < 2; below++)
    for (int right = 0; right < 2; right++)
      for (int q = 0; q < 4; q++) {
        const uint32_t (&of_row)[6] = warp.fragments[4 * row + q], (&of_column)[6] = warp.fragments[4 * (column + right) + q];
        d[2 * below + right] += __builtin_popcount(of_row[below] & of_column[4]) + __builtin_popcount(of_row[2 + below] & of_column[5]);
      }
  warp.barrier.wait();
}

template <int Sums>
DEVICE void multiply(int32_t (&d)[Sums], uint64_t rows, uint64_t columns) {
  if (!cuda_host::running->sums_are_ordered) cuda_host::fail("products follow no fence");
  cuda_host::running->products.request({d, rows, columns, 2 * Sums}, cuda_host::turns.coin());
}
DEVICE void begin_products() { cuda_host::running->sums_are_ordered = true; }
DEVICE void end_products() { cuda_host::running->products.end_group(); }
template <int Younger>
DEVICE void wait_products() {
  cuda_host::running->products.arrive(Younger);
  if (Younger == 0) cuda_host::running->sums_are_ordered = false;
}
