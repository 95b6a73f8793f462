// What the distance kernels share: products of bit planes, and which part of a product a block computes.
//
//   out[r][c] += weight * sum over k of popcount(plane left[k] of sample row_start + r  &  plane right[k] of sample column_start + c)
//
// Glossary
//   sample  a row of the input; site: a column of it; call: the value of a sample at a site
//   plane   one bit per sample and site, [plane][sample][sample_bytes]; sample_bytes is a multiple of kChunk, bits beyond the sites are 0
//   chunk   kChunk bytes of a sample's plane: 1,024 sites. The sum runs over `count` pairs of planes of sample_bytes / kChunk chunks each
//   tile    rectangle of pairs that a block computes
//   split   one of `splits` equal parts of the sum. A block computes one split of one tile and adds its counts atomically, so that few
//           samples with many sites occupy a device as well as many samples do
// Counts are below 2^31, because a run has fewer than 2^29 sites, and each adds at most 4 to a count (core/distance/preparation.py).
#pragma once

#include "portable.cuh"

constexpr int kChunk = 128;  // bytes
constexpr int kMaxPlanes = 16;

struct DistanceArgs {
  const unsigned char* planes;
  int32_t* out;         // [row_count][out_stride]
  int64_t plane_bytes;  // from one plane to the next
  int64_t sample_bytes;
  int64_t out_stride;  // counts from one row to the next
  int32_t left[kMaxPlanes], right[kMaxPlanes];
  int32_t count;  // pairs of planes in left and right
  int32_t row_start, row_count, column_start, column_count;
  int32_t splits;
  int32_t weight;
  int32_t upper;  // not 0: pairs of a row with an earlier sample are not needed, and tiles of only such pairs are skipped
};
SAME_AS_ON_HOST(DistanceArgs);

// The tile and the split of a block.
struct DistanceWork {
  int32_t row, column;  // of the tile's first pair, relative to row_start and column_start
  int32_t first, last;  // chunks first .. last - 1, counted through all planes
};

constexpr int kTileGroup = 8;  // tiles of the same column that run at the same time: they share their columns' planes in L2

// Finds the work of block number `block`. Returns false if it has none.
template <int Rows, int Columns>
DEVICE bool find_work(const DistanceArgs& a, int block, DistanceWork& work) {
  const int tile_rows = (a.row_count + Rows - 1) / Rows, tile_columns = (a.column_count + Columns - 1) / Columns;
  const int tile = block / a.splits, split = block % a.splits;
  const int group = tile / (kTileGroup * tile_columns), within = tile % (kTileGroup * tile_columns);
  const int group_rows = tile_rows - group * kTileGroup < kTileGroup ? tile_rows - group * kTileGroup : kTileGroup;
  work.row = (group * kTileGroup + within % group_rows) * Rows;
  work.column = within / group_rows * Columns;
  const int64_t chunks = a.count * (a.sample_bytes / kChunk);
  work.first = static_cast<int32_t>(chunks * split / a.splits);
  work.last = static_cast<int32_t>(chunks * (split + 1) / a.splits);
  return !(a.upper && a.column_start + work.column + Columns <= a.row_start + work.row);
}

// Returns the byte at which chunk number `chunk` of the sum begins in the planes, relative to a sample.
DEVICE int64_t chunk_offset(const DistanceArgs& a, const int32_t* planes, int chunk) {
  const int chunks = static_cast<int>(a.sample_bytes / kChunk);
  return planes[chunk / chunks] * a.plane_bytes + static_cast<int64_t>(chunk % chunks) * kChunk;
}

// Returns the first byte of a sample relative to its plane. Beyond the edge it is the last sample's, whose counts are dropped.
DEVICE int64_t sample_offset(const DistanceArgs& a, int start, int count, int sample) {
  return static_cast<int64_t>(start + (sample < count ? sample : count - 1)) * a.sample_bytes;
}

// Adds the counts of a split to `out`; the last argument of multiply_planes.
struct CountAdder {
  const DistanceArgs& a;

  DEVICE int row(int row) const { return row; }
  DEVICE int column(int column) const { return column; }
  DEVICE void operator()(int row, int column, int32_t count) const {
    if (row < a.row_count && column < a.column_count) atomicAdd(a.out + row * a.out_stride + column, a.weight * count);
  }
};
