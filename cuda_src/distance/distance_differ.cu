// Calls that differ, of sites with any number of different calls, such as the alleles of loci: the bits of a call's code are planes.
//
//   out[r][c] += weight * popcount(((x0 ^ y0) | (x1 ^ y1) | ...) & mx & my)     x: planes of sample row_start + r, y: of column_start + c
//
// A plane and pair takes one operation of three inputs for 32 sites, and a popcount comes once for all planes. Products of planes, as
// tensor cores make them, would take a plane for each of thousands of calls.
//
// Planes, tiles and parts of a sum are those of distance.cuh, with a sum over the chunks of one plane; counts are below 2^31 as there. A
// block of 16 x 16 threads, a tile of 64 x 64 pairs, 4 x 4 pairs a thread: rows ty, ty + 16, ... and columns likewise. A step takes a piece
// of four words of a sample, for up to kStagePlanes planes at a time: they go to shared memory (16 KB), the piece of plane p and sample s
// at (p * 128 + s) * 16 bytes, columns behind the rows, so that the threads of a warp read neighbouring pieces of columns, and two of rows.
// Bits that differ stay in registers, 64 words of a thread, until all planes of the piece have come; then come the calls of both, as one
// more plane, and the counting. 64 words, 16 counts and 5 pieces at work stay below the 128 registers that two blocks of a multiprocessor
// leave a thread. Each stage is between two barriers, which all threads of the block reach.
#include "distance.cuh"

constexpr int kSide = 16, kThreads = kSide * kSide, kBlocks = 2, kTile = 64, kPairs = kTile / kSide;
constexpr int kPieceWords = 4, kPieceBytes = 4 * kPieceWords, kStagePlanes = 8, kMostBits = 32;

struct DifferArgs {
  DistanceArgs pairs;  // without its planes; count is 1
  int32_t bits[kMostBits];
  int32_t bit_count;
  int32_t mask;  // the plane of calls, -1 where none is missing
};
SAME_AS_ON_HOST(DifferArgs);

struct alignas(kPieceBytes) SitePiece {
  uint32_t word[kPieceWords];
};

KERNEL(kThreads, kBlocks) distance_differ(const DifferArgs args) {
  __shared__ SitePiece stage[kStagePlanes * 2 * kTile];
  const DistanceArgs& a = args.pairs;
  DistanceWork work;
  if (!find_work<kTile, kTile>(a, static_cast<int>(blockIdx.x), work)) return;
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  const int planes = args.bit_count + (args.mask >= 0);
  int32_t counts[kPairs][kPairs] = {};
  for (int64_t place = static_cast<int64_t>(work.first) * kChunk; place < static_cast<int64_t>(work.last) * kChunk; place += kPieceBytes) {
    uint32_t bits[kPairs][kPairs][kPieceWords] = {};
    for (int first = 0; first < planes; first += kStagePlanes) {
      const int here = planes - first < kStagePlanes ? planes - first : kStagePlanes;
      __syncthreads();  // what was there has been read
      for (int k = threadIdx.x; k < here * 2 * kTile; k += kThreads) {
        const int plane = first + k / (2 * kTile), sample = k % (2 * kTile);
        const int64_t from = (plane < args.bit_count ? args.bits[plane] : args.mask) * a.plane_bytes + place +
                             (sample < kTile ? sample_place(a, a.row_start, a.row_count, work.row + sample)
                                             : sample_place(a, a.column_start, a.column_count, work.column + sample - kTile));
        stage[k] = *reinterpret_cast<const SitePiece*>(a.planes + from);
      }
      __syncthreads();
      for (int p = 0; p < here; p++) {
        const SitePiece *rows = stage + p * 2 * kTile + y, *columns = stage + p * 2 * kTile + kTile + x;
        const bool called = first + p == args.bit_count;
        SitePiece row[kPairs];
#pragma unroll
        for (int r = 0; r < kPairs; r++) row[r] = rows[r * kSide];
#pragma unroll
        for (int c = 0; c < kPairs; c++) {
          const SitePiece column = columns[c * kSide];
          if (called) {
#pragma unroll
            for (int r = 0; r < kPairs; r++)
#pragma unroll
              for (int w = 0; w < kPieceWords; w++) bits[r][c][w] = and3(bits[r][c][w], row[r].word[w], column.word[w]);
          } else {
#pragma unroll
            for (int r = 0; r < kPairs; r++)
#pragma unroll
              for (int w = 0; w < kPieceWords; w++) bits[r][c][w] = or_xor(bits[r][c][w], row[r].word[w], column.word[w]);
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kPairs; r++)
#pragma unroll
      for (int c = 0; c < kPairs; c++)
#pragma unroll
        for (int w = 0; w < kPieceWords; w++) counts[r][c] += count_bits(bits[r][c][w]);
  }
  const CountAdder take{a};
#pragma unroll
  for (int r = 0; r < kPairs; r++)
#pragma unroll
    for (int c = 0; c < kPairs; c++) take(work.row + y + r * kSide, work.column + x + c * kSide, counts[r][c]);
}
