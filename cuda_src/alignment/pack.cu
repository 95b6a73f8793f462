// Packs the targets for threads.cu (pack_letters) and bitsliced.cu (pack_planes), from the letter codes of their records.
//
// pack_letters stores 4 * code, the offset in bytes of a letter's word in a query profile. A byte holds it, because codes are below 64.
//
// No macros. Registers on sm_90a (NVRTC 13.5): 42 (pack_letters), 40 (pack_planes). No shared memory. Not measured alone.
#include "portable.cuh"

struct PackLettersArgs {
  const uint8_t* codes;
  const int64_t* offsets;        // [records + 1]
  const int32_t* targets;        // [target_count] records
  const int64_t* block_letters;  // [blocks + 1] first word of each block of targets
  uint32_t* letters;             // bytes 4 * code: [block][column / columns of a word][thread][column of the word][pair]
  int32_t target_count;
  int32_t blocks;
  int32_t threads;  // threads of a block of targets
  int32_t pairs;    // targets of a thread, 1 or 2: thread t of block b has targets (b * pairs + p) * threads + t
  int32_t padding;  // code of columns beyond a target's end
};
SAME_AS_ON_HOST(PackLettersArgs);

// A block of the grid packs a block of targets at a time, its threads the words of it.
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
        int code = target < a.target_count ? a.padding : 0;  // threads without a target may compute anything; letter 0 is the fastest
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
  const int32_t* targets;        // [target_count] records
  const int64_t* group_planes;   // [groups + 1] first word of each group of 32 targets, a multiple of 4
  const int32_t* group_columns;  // [groups]
  uint32_t* planes;              // of each group: [column][words of a column], then [column] live, then [column][further planes]
  int32_t target_count;
  int32_t groups;
  int32_t plane_count;  // bits of a code
  int32_t together;     // columns that bitsliced.cu computes together
};
SAME_AS_ON_HOST(PackPlanesArgs);

// One bit per target. Words 0 and 1 of a column are the two low bits of its letters, which is all for up to four letters. With more letters
// two words follow: word 2, the targets with a letter from the fifth on, and word 3, not 0 if there are any in this column or `together`
// columns before it; the further bits are in planes of their own, for the few columns that need them. live: the targets that reach the
// column.
KERNEL(256, 1) pack_planes(const PackPlanesArgs a) {
  const int further = a.plane_count > 2 ? a.plane_count - 2 : 0, width = further ? 4 : a.plane_count;
  for (int group = blockIdx.x; group < a.groups; group += gridDim.x) {
    uint32_t* const words = a.planes + a.group_planes[group];
    const int columns = a.group_columns[group];
    uint32_t* const live = words + static_cast<int64_t>(columns) * width;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) {
      uint32_t bits[8] = {0, 0, 0, 0, 0, 0, 0, 0}, reached = 0;
      for (int k = 0; k < 32 && group * 32 + k < a.target_count; k++) {
        const int record = a.targets[group * 32 + k];
        const int64_t start = a.offsets[record];
        if (j >= a.offsets[record + 1] - start) continue;
        const int code = a.codes[start + j];
        reached |= 1u << k;
#pragma unroll
        for (int p = 0; p < 8; p++) bits[p] |= static_cast<uint32_t>(code >> p & 1) << k;
      }
      live[j] = reached;
      uint32_t* const word = words + static_cast<int64_t>(j) * width;
      for (int p = 0; p < 2 && p < a.plane_count; p++) word[p] = bits[p];
      if (further) word[2] = 0;
      for (int p = 2; p < 8; p++) {
        if (p >= a.plane_count) break;
        word[2] |= bits[p];
        live[columns + static_cast<int64_t>(j) * further + p - 2] = bits[p];
      }
    }
    if (!further) continue;
    __syncthreads();
    for (int j = threadIdx.x; j < columns; j += blockDim.x) {
      uint32_t* const word = words + static_cast<int64_t>(j) * 4;
      word[3] = word[2] | (j < a.together ? 0 : word[2 - 4 * a.together]);
    }
  }
}
