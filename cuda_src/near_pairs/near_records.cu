// Makes the bit planes and sketches of records from their letter codes. near.cuh has the glossary.
//
// Any hash is correct for sketches, because two q-grams that share a bit only make records look more alike
// (core/near_pairs/filter_cascade.py). This one is Fibonacci hashing: the number whose digits are the q ranks, times a constant, its
// highest bits.
//
// No macros. Registers: 64 on sm_90a (NVRTC 13.5). Shared memory: 4,100 bytes. Not measured alone.
#include "near.cuh"

constexpr int kMaxSketchWords = 1 << 10;
constexpr int kRankBits = 8;

struct NearRecordsArgs {
  NearRecords records;
  const uint8_t* codes;    // of the records from `first` on
  const int64_t* offsets;  // [records of the set + 1]
  const uint8_t* ranks;    // [256] rank of a code
  int32_t first, count;    // records to make
  int32_t planes;          // bits of a rank
  int32_t radix;           // letters in use
  int32_t q;               // letters of a q-gram; 0: make no sketches
  int32_t sketch_words;    // a power of two, at most kMaxSketchWords
  int32_t shift;           // of a 64-bit hash, which leaves the number of a bit of the sketch
};
SAME_AS_ON_HOST(NearRecordsArgs);

// One block per record.
KERNEL(256, 1) near_records(const NearRecordsArgs a) {
  __shared__ uint32_t sketch[kMaxSketchWords];
  __shared__ int32_t size;
  const int threads = static_cast<int>(blockDim.x);
  for (int record = a.first + static_cast<int>(blockIdx.x); record < a.first + a.count; record += gridDim.x) {
    const int32_t length = a.records.lengths[record];
    const uint8_t* codes = a.codes + (a.offsets[record] - a.offsets[a.first]);
    uint32_t* planes = a.records.planes + a.records.starts[record];
    for (int word = threadIdx.x; word * 32 < length; word += threads) {
      uint32_t bits[kRankBits] = {};
      for (int i = 0; i < 32 && word * 32 + i < length; i++) {
        const uint32_t rank = a.ranks[codes[word * 32 + i]];
#pragma unroll
        for (int p = 0; p < kRankBits; p++) bits[p] |= (rank >> p & 1) << i;
      }
#pragma unroll
      for (int p = 0; p < kRankBits; p++)
        if (p < a.planes) planes[word * a.planes + p] = bits[p];
    }
    for (int word = threadIdx.x; word < a.sketch_words; word += threads) sketch[word] = 0;
    if (threadIdx.x == 0) size = 0;
    __syncthreads();
    for (int at = threadIdx.x; a.q > 0 && at + a.q <= length; at += threads) {
      uint64_t gram = 0;
      for (int i = 0; i < a.q; i++) gram = gram * a.radix + a.ranks[codes[at + i]];
      const uint32_t bit = static_cast<uint32_t>(gram * 0x9E3779B97F4A7C15ull >> a.shift);
      atomicOr(&sketch[bit / 32], 1u << bit % 32);
    }
    __syncthreads();
    int32_t own = 0;
    for (int word = threadIdx.x; word < a.sketch_words; word += threads) {
      a.records.sketches[static_cast<int64_t>(record) * a.sketch_words + word] = sketch[word];
      own += count_bits(sketch[word]);
    }
    if (own > 0) atomicAdd(&size, own);
    __syncthreads();
    if (threadIdx.x == 0) a.records.sizes[record] = size;
  }
}
