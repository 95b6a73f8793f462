// Makes the forms in which threads.cu and bitsliced.cu read targets, from the codes of their records.
#include "portable.cuh"

struct PackLettersArgs {
  const uint8_t* codes;
  const int64_t* offsets;        // [records + 1]
  const int32_t* targets;        // [target_count] records
  const int64_t* block_letters;  // [blocks + 1] first word of each block of targets
  uint32_t* letters;             // [block][column / columns_a_word][thread]: bytes of 4 * code, pairs within columns
  int32_t target_count;
  int32_t blocks;
  int32_t threads;  // of a block
  int32_t pairs;    // targets of a thread: thread t of block b has (b * pairs + p) * threads + t
  int32_t padding;  // code beyond a target's end
};
SAME_AS_ON_HOST(PackLettersArgs);

// A block of the grid makes blocks of targets, its threads their words.
KERNEL(256, 1) pack_letters(const PackLettersArgs a) {
  for (int block = blockIdx.x; block < a.blocks; block += gridDim.x) {
    const int64_t first = a.block_letters[block], words = a.block_letters[block + 1] - first;
    const int columns = 4 / a.pairs;
    for (int64_t k = threadIdx.x; k < words; k += blockDim.x) {
      const int thread = static_cast<int>(k % a.threads);
      const int64_t column = k / a.threads * columns;
      uint32_t word = 0;
      for (int byte = 0; byte < 4; byte++) {
        const int target = (block * a.pairs + byte % a.pairs) * a.threads + thread;
        const int64_t j = column + byte / a.pairs;
        int code = target < a.target_count ? a.padding : 0;  // of a lane without a target, whatever is computed quickest
        if (target < a.target_count) {
          const int64_t start = a.offsets[a.targets[target]];
          if (j < a.offsets[a.targets[target] + 1] - start) code = a.codes[start + j];
        }
        word |= static_cast<uint32_t>(4 * code) << (8 * byte);
      }
      a.letters[first + k] = word;
    }
  }
}

struct PackPlanesArgs {
  const uint8_t* codes;
  const int64_t* offsets;
  const int32_t* targets;       // [target_count] records
  const int64_t* group_planes;  // [groups + 1] first word of each group of 32 targets
  uint32_t* planes;             // [group][column][plane_count + 1]
  int32_t target_count;
  int32_t groups;
  int32_t plane_count;  // bits of a code; one more plane says which targets reach a column
};
SAME_AS_ON_HOST(PackPlanesArgs);

KERNEL(256, 1) pack_planes(const PackPlanesArgs a) {
  const int width = a.plane_count + 1;
  for (int group = blockIdx.x; group < a.groups; group += gridDim.x) {
    const int64_t first = a.group_planes[group], columns = (a.group_planes[group + 1] - first) / width;
    for (int64_t j = threadIdx.x; j < columns; j += blockDim.x) {
      uint32_t bits[8] = {0, 0, 0, 0, 0, 0, 0, 0}, live = 0;
      for (int k = 0; k < 32 && group * 32 + k < a.target_count; k++) {
        const int record = a.targets[group * 32 + k];
        const int64_t start = a.offsets[record];
        if (j >= a.offsets[record + 1] - start) continue;
        const int code = a.codes[start + j];
        live |= 1u << k;
#pragma unroll
        for (int p = 0; p < 8; p++) bits[p] |= static_cast<uint32_t>(code >> p & 1) << k;
      }
      uint32_t* out = a.planes + first + j * width;
      for (int p = 0; p < 8; p++)
        if (p < a.plane_count) out[p] = bits[p];
      out[a.plane_count] = live;
    }
  }
}
