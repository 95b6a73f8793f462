// Gathers what the screen of a rectangle reads: its rows, and the sketches of its queries, then those of its targets. near.cuh has the
// glossary.
//
// No macros. Registers: 38 on sm_90a (NVRTC 13.5). No shared memory. Not measured alone.
#include "near.cuh"

struct NearGatherArgs {
  NearRecords queries, targets;
  const int32_t* records;         // [rows + columns] numbers of the queries, then of the targets
  const NearLimits* limits;       // of each length of a query
  const int32_t* length_numbers;  // [rows] whose limits a row has
  const int32_t* first_targets;   // [rows]
  const int32_t* beside;          // columns that are not targets of some of the rows
  NearRow* rows;                  // out
  uint32_t* sketches;             // out, [rows + columns][sketch_words]
  int32_t* sizes;                 // out, [rows + columns]
  int32_t* ambiguous;             // out, [rows + columns]
  NearCounters* counters;
  int32_t row_count, column_count, beside_count;
  int32_t sketch_words;  // a multiple of 4
  int32_t q;
};
SAME_AS_ON_HOST(NearGatherArgs);

// The work is distributed over any number of threads.
KERNEL(256, 1) near_gather(const NearGatherArgs a) {
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x,
                thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int32_t count = a.row_count + a.column_count, pieces = a.sketch_words / 4;
  for (int64_t k = thread; k < static_cast<int64_t>(count) * pieces; k += threads) {
    const int32_t item = static_cast<int32_t>(k / pieces);
    const uint32_t* from = item < a.row_count ? a.queries.sketches : a.targets.sketches;
    reinterpret_cast<SixteenBytes*>(a.sketches)[k] =
        reinterpret_cast<const SixteenBytes*>(from + static_cast<int64_t>(a.records[item]) * a.sketch_words)[k % pieces];
  }
  for (int64_t item = thread; item < count; item += threads) {
    const NearRecords& set = item < a.row_count ? a.queries : a.targets;
    a.sizes[item] = set.sizes[a.records[item]];
    a.ambiguous[item] = set.ambiguous[a.records[item]];
  }
  uint32_t unwanted = 0;
  for (int64_t row = thread; row < a.row_count; row += threads) {
    const NearLimits limits = a.limits[a.length_numbers[row]];
    const NearRow current{limits.first, limits.stop, a.first_targets[row], limits.slack + a.q * a.queries.ambiguous[a.records[row]]};
    a.rows[row] = current;
    for (int k = 0; k < a.beside_count; k++) {
      const int32_t column = a.beside[k];
      unwanted += column >= current.first && column < current.stop && a.records[a.row_count + column] < current.wanted;
    }
  }
  if (unwanted > 0) atomicAdd(&a.counters->unwanted, unwanted);
}
