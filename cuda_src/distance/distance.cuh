// What the kernels of distances share: the product of bit planes, and which part of it a block computes.
//
//   out[r][c] += weight * sum over k of popcount(plane left[k] of sample row_start + r  &  plane right[k] of sample column_start + c)
//
// Planes are [plane][sample][sample_bytes], sample_bytes a multiple of kChunk, zero beyond the sites. The sum runs over `count` planes of
// sample_bytes / kChunk chunks each; a block takes one tile of pairs and one of `splits` equal parts of the sum, and adds what it
// found atomically, so that few samples with many sites fill a device as well as many samples do.
// Counts of one launch are below 2^31: the host bounds the sites of a run.
#pragma once

#include "portable.cuh"

constexpr int kChunk = 128;  // bytes of a sample that a block works on at a time: 1,024 sites
constexpr int kMostPlanes = 16;

struct DistanceArgs {
  const unsigned char* planes;
  int32_t* out;         // [row_count][out_stride]
  int64_t plane_bytes;  // from a plane to the next
  int64_t sample_bytes;
  int64_t out_stride;
  int32_t left[kMostPlanes], right[kMostPlanes];
  int32_t count;
  int32_t row_start, row_count, column_start, column_count;
  int32_t splits;
  int32_t weight;
  int32_t upper;  // not 0: pairs of a row with an earlier sample are not wanted, tiles of such pairs alone are left out
};
SAME_AS_ON_HOST(DistanceArgs);

// The tile and the part of the sum of a block.
struct DistanceWork {
  int32_t row, column;  // of the tile's first pair, from row_start and column_start on
  int32_t first, last;  // chunks of the sum, counted through all planes
};

constexpr int kTileGroup = 8;  // tiles that are neighbours in a column run together: they share their column's planes in L2

// Of block number `block`. False where nothing is wanted of it.
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

// Where chunk number `chunk` of the sum begins in the planes, apart from the sample.
DEVICE int64_t chunk_place(const DistanceArgs& a, const int32_t* planes, int chunk) {
  const int chunks = static_cast<int>(a.sample_bytes / kChunk);
  return planes[chunk / chunks] * a.plane_bytes + static_cast<int64_t>(chunk % chunks) * kChunk;
}

// Beyond the edge the last sample stands in; what is counted for it is not kept.
DEVICE int64_t sample_place(const DistanceArgs& a, int start, int count, int sample) {
  return static_cast<int64_t>(start + (sample < count ? sample : count - 1)) * a.sample_bytes;
}

// Adds the counts of a part of a sum to `out`.
struct CountAdder {
  const DistanceArgs& a;

  DEVICE int row(int row) const { return row; }
  DEVICE int column(int column) const { return column; }
  DEVICE void operator()(int row, int column, int32_t count) const {
    if (row < a.row_count && column < a.column_count) atomicAdd(a.out + row * a.out_stride + column, a.weight * count);
  }
};
