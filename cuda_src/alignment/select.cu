// The best targets of each query, for searches: of a matrix of scores only the hits leave the device.
//
// A pair's key is its score and behind it, inverted, its target's place in the database: no two keys of a query are equal, and a larger one
// is a better hit. The key of the last hit is found digit by digit from the highest: a histogram of a digit among the keys that
// begin as the key sought does tells how it goes on (radix selection). Every key that is not smaller is a hit; their order is
// left to the host.
#include "portable.cuh"

struct SelectArgs {
  const int32_t* scores;  // [rows][target_count], 0 or more
  const int32_t* ranks;   // [target_count] places in the database
  int32_t* hit_scores;    // out, [rows][hits]
  int32_t* hit_columns;   // out, [rows][hits]
  int32_t rows;
  int32_t target_count;
  int32_t hits;  // at most target_count
};
SAME_AS_ON_HOST(SelectArgs);

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;

DEVICE uint64_t key_of(const SelectArgs& a, const int32_t* scores, int column) {
  return static_cast<uint64_t>(scores[column]) << 32 | (0xffffffffu - static_cast<uint32_t>(a.ranks[column]));
}

// A block a row.
KERNEL(512, 1) select_hits(const SelectArgs a) {
  __shared__ int32_t counts[kDigits];
  __shared__ uint64_t prefix;  // the digits known so far
  __shared__ int32_t wanted;   // hits among the keys that begin with them
  __shared__ int32_t digits_left, written;
  for (int row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const int32_t* scores = a.scores + static_cast<int64_t>(row) * a.target_count;
    __syncthreads();
    if (threadIdx.x == 0) {
      prefix = 0;
      wanted = a.hits;
      digits_left = 64 / kDigitBits;
      written = 0;
    }
    __syncthreads();
    while (digits_left > 0) {
      const int shift = (digits_left - 1) * kDigitBits;
      for (int d = threadIdx.x; d < kDigits; d += blockDim.x) counts[d] = 0;
      __syncthreads();
      for (int column = threadIdx.x; column < a.target_count; column += blockDim.x) {
        const uint64_t key = key_of(a, scores, column) >> shift;
        if (key >> kDigitBits == prefix) atomicAdd(&counts[key & (kDigits - 1)], 1);
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        int d = kDigits - 1;
        while (counts[d] < wanted) wanted -= counts[d--];
        prefix = prefix << kDigitBits | static_cast<uint64_t>(d);
        digits_left--;
        // All keys that begin like this are hits: no more needs to be known.
        if (counts[d] == wanted) {
          prefix <<= digits_left * kDigitBits;
          digits_left = 0;
        }
      }
      __syncthreads();
    }
    for (int column = threadIdx.x; column < a.target_count; column += blockDim.x) {
      if (key_of(a, scores, column) < prefix) continue;
      const int64_t place = static_cast<int64_t>(row) * a.hits + atomicAdd(&written, 1);
      a.hit_scores[place] = scores[column];
      a.hit_columns[place] = column;
    }
  }
}
