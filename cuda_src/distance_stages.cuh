// How the kernels with binary tensor cores feed them: chunks of a tile's samples, copied to shared memory ahead of their use.
//
// A stage holds a chunk (kChunk = 128 bytes) of each of the tile's rows, then of its columns. The 16-byte piece p of sample s lies at
// s * 128 + (p ^ s % 8) * 16: the "128-byte swizzle" that wgmma reads by itself, and with which ldmatrix meets no bank conflict.
#pragma once

#include "distance.cuh"

constexpr int kPiece = 16, kPieces = kChunk / kPiece;

DEVICE uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

DEVICE int swizzled(int sample, int piece) { return sample * kChunk + (piece ^ (sample & 7)) * kPiece; }

DEVICE void copy_piece(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Each thread copies the same piece of every (Threads / kPieces)-th sample: its sources are fixed but for the chunk.
template <int Rows, int Columns, int Threads>
struct StageCopier {
  static constexpr int kStep = Threads / kPieces, kBytes = (Rows + Columns) * kChunk;
  const DistanceArgs& a;
  const DistanceWork& work;
  const int piece = threadIdx.x % kPieces, first = threadIdx.x / kPieces;

  DEVICE void copy(uint32_t stage, int chunk) const {
    if (chunk < work.last) {
      const unsigned char* left = a.planes + chunk_place(a, a.left, chunk) + piece * kPiece;
      const unsigned char* right = a.planes + chunk_place(a, a.right, chunk) + piece * kPiece;
#pragma unroll
      for (int s = 0; s < Rows; s += kStep)
        copy_piece(stage + swizzled(first + s, piece), left + sample_place(a, a.row_start, a.row_count, work.row + first + s));
#pragma unroll
      for (int s = 0; s < Columns; s += kStep)
        copy_piece(stage + Rows * kChunk + swizzled(first + s, piece),
                   right + sample_place(a, a.column_start, a.column_count, work.column + first + s));
    }
    end_copies();
  }
};
