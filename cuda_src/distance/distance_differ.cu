// Counts of calls that differ, for sites with any number of different calls, such as the alleles of loci: plane b has bit b of the calls'
// codes.
//
//   out[r][c] += weight * popcount(((x0 ^ y0) | (x1 ^ y1) | ...) & mx & my)     x: planes of sample row_start + r, y: of column_start + c,
//                                                                               m: the plane of sites that have a call
//
// A plane of a pair takes one three-input operation for 32 sites, and there is one popcount for all planes. Products of planes, as on
// tensor cores, would take a plane for each of thousands of calls.
//
// distance.cuh has the glossary (plane, tile, split, chunk); here the sum runs over the chunks of one plane, and counts are below 2^31 as
// there. A block of 16 x 16 threads (x, y) computes a tile of 64 x 64 pairs, a thread 4 x 4 of them: rows y, y + 16, ... and columns x, x +
// 16, ... A step takes a piece, four words of every sample of the tile, in stages of up to kStagePlanes planes, in shared memory: the piece
// of plane p and sample s is at (p * 128 + s) * 16 bytes, columns after rows, so that the threads of a warp read consecutive pieces of
// columns, and two of rows. The bits that differ stay in registers, 64 words of a thread, until all planes of the piece have been combined,
// and last the plane m; then they are counted. 64 words, 16 counts and 5 pieces fit the 128 registers of a thread that two blocks on a
// multiprocessor leave.
//
// Invariant: both barriers of a stage are reached by all threads of a block, because the loops around them depend only on the arguments and
// the block.
//
// No macros. Registers: 128 on sm_90a (NVRTC 13.5). Shared memory: 8 x 128 x 16 = 16,384 bytes. Not measured alone.
#include "distance.cuh"

constexpr int kSide = 16, kThreads = kSide * kSide, kBlocks = 2, kTile = 64, kPairs = kTile / kSide;
constexpr int kPieceWords = 4, kPieceBytes = 4 * kPieceWords, kStagePlanes = 8, kMaxBits = 32;

struct DifferArgs {
  DistanceArgs pairs;  // without its planes; count is 1
  int32_t bits[kMaxBits];
  int32_t bit_count;
  int32_t mask;  // the plane m, or -1 if no call is missing
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
      __syncthreads();  // all threads have read the previous stage
      for (int k = threadIdx.x; k < here * 2 * kTile; k += kThreads) {
        const int plane = first + k / (2 * kTile), sample = k % (2 * kTile);
        const int64_t from = (plane < args.bit_count ? args.bits[plane] : args.mask) * a.plane_bytes + place +
                             (sample < kTile ? sample_offset(a, a.row_start, a.row_count, work.row + sample)
                                             : sample_offset(a, a.column_start, a.column_count, work.column + sample - kTile));
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
