// Matrices in square tiles: one launch per anti-diagonal of tiles, one block per tile (li.cuh).
//
// Rodinia-NW (Li et al. 2013, section III.C; Che et al. 2009) launches for one pair at a time, TiledDScan-mNW (section IV.A) for all pairs
// of a batch at once: the same kernel with one pair or many. Within a tile the threads, one per row, compute its anti-diagonals in shared
// memory, with a barrier after each. The tile is read from and written to global memory row by row, so that accesses coalesce.
//
// Macros: TILE (rows and columns of a tile, and threads of a block). Registers: 48 on sm_90a (NVRTC 13.5). Shared memory: 4 (TILE + 1)
// (TILE + 2) + 4,096 + TILE bytes. Measured: benchmarks/results/papers/table.md (one H200, 2026-11-21).
#include "li.cuh"

constexpr int kTile = TILE, kEdge = kTile + 1;

KERNEL(kTile, 1) li_tiles(const LiArgs a) {
  __shared__ int32_t cells[kEdge][kEdge + 1];  // row 0 and column 0 are those of the tiles above and to the left
  __shared__ int32_t table[kLetters * kLetters];
  __shared__ uint8_t letters[kTile];  // of the target
  const int pair = a.first_pair + static_cast<int>(blockIdx.x) % a.pairs, number = static_cast<int>(blockIdx.x) / a.pairs;
  const LiPair p = li_pair(a, pair);
  const int tile_rows = (p.rows + kTile - 1) / kTile, tile_columns = (p.columns + kTile - 1) / kTile;
  // Tiles of a diagonal are counted from its topmost one on.
  const int first_row = a.diagonal < tile_columns ? 0 : a.diagonal - tile_columns + 1, tile_row = first_row + number,
            tile_column = a.diagonal - tile_row;
  if (tile_row >= tile_rows || tile_column < 0) return;
  const int top = tile_row * kTile, left = tile_column * kTile;
  const int height = p.rows - top < kTile ? p.rows - top : kTile, width = p.columns - left < kTile ? p.columns - left : kTile;
  const int thread = threadIdx.x;
  int32_t* corner = p.matrix + static_cast<int64_t>(top) * p.stride + left;
  for (int k = thread; k < kLetters * kLetters; k += kTile) table[k] = a.table[k];
  if (thread < width) letters[thread] = p.target[left + thread];
  for (int j = thread; j <= width; j += kTile) cells[0][j] = corner[j];
  for (int i = thread + 1; i <= height; i += kTile) cells[i][0] = corner[static_cast<int64_t>(i) * p.stride];
  __syncthreads();
  const int32_t* scores = table + (thread < height ? p.query[top + thread] : 0) * kLetters;
  for (int d = 0; d < height + width - 1; d++) {
    const int j = d - thread;
    if (thread < height && j >= 0 && j < width) {
      const int diagonal = cells[thread][j] + scores[letters[j]];
      cells[thread + 1][j + 1] = larger(diagonal, larger(cells[thread][j + 1], cells[thread + 1][j]) - a.gap);
    }
    __syncthreads();
  }
  for (int i = 1; i <= height; i++)
    if (thread < width) corner[static_cast<int64_t>(i) * p.stride + thread + 1] = cells[i][thread + 1];
}
