// Near pairs among counts that stay on the device: the pairs that satisfy a rule (core/distance/pair_selection.py). With counts n[kind] and
// the offsets of both samples, a pair is chosen if
//   sum over kinds of weights[kind] n[kind] + offsets <= most   and   n[least_of] >= least
// The host builds rules whose sums fit 64 bits.
//
// The host passes matrices of counts, one per kind of count, for the same pairs. A block takes a strip of a row: blockDim.x * kPairs pairs;
// a thread takes every blockDim.x-th of them. The lanes of a warp find the places of their records by one atomic addition; most strips
// have no near pair and need none. Records are in any order. Those that do not fit are counted, not written: the host then launches the
// kernel again for each half of the rows.
//
// No macros. Registers: 48 on sm_90a (NVRTC 13.5). No shared memory. Not measured alone.
#include "portable.cuh"

constexpr int kMaxCounts = 8;
constexpr int kPairs = 8;                   // pairs of a thread in a strip
constexpr int64_t kFar = int64_t{1} << 61;  // FAR_OFFSET of core/distance/pair_selection.py

struct ChooseArgs {
  const int32_t* counts;       // [kinds][matrix]; row r of a matrix begins at r * columns
  const int64_t* offsets;      // [samples], added to the sum of a pair; null: all 0
  int32_t* records;            // out, [capacity][2 + kinds]: row, column, counts
  unsigned long long* totals;  // out: chosen pairs, including those that do not fit; pairs with less than `least`; undefined pairs
  int64_t weights[kMaxCounts];
  int64_t most;    // a pair is chosen if the weighted sum of its counts is at most this
  int64_t matrix;  // counts of a matrix
  int64_t capacity;
  int32_t first_row, last_row;  // rows first_row .. last_row - 1 are searched
  int32_t columns;
  int32_t row_start, column_start;  // samples of row 0 and column 0
  int32_t kinds;
  int32_t least_of;  // the kind of count that must be at least `least`; negative: none
  int32_t least;
  int32_t upper;    // not 0: pairs of a row with an earlier sample, or with itself, are skipped
  int32_t floored;  // not 0: a pair with a count below its floor is undefined, unless it has less than `least` or is far
  int32_t floors[kMaxCounts];
};
SAME_AS_ON_HOST(ChooseArgs);

KERNEL(256, 4) choose_pairs(const ChooseArgs a) {
  const uint32_t strip = blockDim.x * kPairs, strips = (a.columns + strip - 1) / strip;
  const uint32_t lane = threadIdx.x % kLanes;
  uint32_t lacking = 0, undefined = 0;  // counted by all lanes, added by lane 0; a warp has far fewer than 2^32 pairs
  for (uint32_t unit = blockIdx.x; unit < strips * static_cast<uint32_t>(a.last_row - a.first_row); unit += gridDim.x) {
    const int32_t row = a.first_row + static_cast<int32_t>(unit / strips);
    const int32_t first = static_cast<int32_t>(unit % strips * strip), earliest = a.upper ? a.row_start + row + 1 - a.column_start : 0;
    if (first + static_cast<int32_t>(strip) <= earliest) continue;
    const int32_t* counts = a.counts + static_cast<int64_t>(row) * a.columns;
    const int64_t offset = a.offsets ? a.offsets[a.row_start + row] : 0;
#pragma unroll 4
    for (int k = 0; k < kPairs; k++) {
      const int32_t column = first + k * static_cast<int32_t>(blockDim.x) + static_cast<int32_t>(threadIdx.x);
      bool chosen = column >= earliest && column < a.columns, lacks = false, below = false;
      if (chosen) {
        int64_t sum = a.offsets ? offset + a.offsets[a.column_start + column] : 0;
        const bool far = sum >= kFar;
        for (int kind = 0; kind < a.kinds; kind++) {
          const int32_t count = counts[kind * a.matrix + column];
          sum += a.weights[kind] * count;
          below = below || count < a.floors[kind];
        }
        lacks = a.least_of >= 0 && counts[a.least_of * a.matrix + column] < a.least;
        below = below && !lacks && !far;
        chosen = !lacks && sum <= a.most;
      }
      if (a.least_of >= 0) lacking += count_bits(__ballot_sync(kAllLanes, lacks));
      if (a.floored) undefined += count_bits(__ballot_sync(kAllLanes, below));
      const unsigned long long place = append_index(a.totals, chosen);
      if (!chosen || place >= static_cast<unsigned long long>(a.capacity)) continue;
      int32_t* record = a.records + place * (2 + a.kinds);
      record[0] = a.row_start + row;
      record[1] = a.column_start + column;
      for (int kind = 0; kind < a.kinds; kind++) record[2 + kind] = counts[kind * a.matrix + column];
    }
  }
  if (lane == 0 && lacking) atomicAdd(a.totals + 1, static_cast<unsigned long long>(lacking));
  if (lane == 0 && undefined) atomicAdd(a.totals + 2, static_cast<unsigned long long>(undefined));
}
