// All pairs of a rectangle by lengths and q-grams: those that may be within the bound are listed.
//
// A pair passes where the columns of its row hold it (lengths), and where neither of its records has more q-grams that the other has not
// than k q, or than a coverage leaves it: |A without B| = |A| - |A and B|, and |A and B| is the product of two sketches, of which PRODUCTS
// (products_*.cuh) computes tiles as for distances. Most pairs are left out by the largest number in their row; the others are looked at
// again with their own.
#include PRODUCTS
#include "near.cuh"

struct NearScreenArgs {
  DistanceArgs product;  // rows are samples 0 .., columns those behind them
  NearRecords queries, targets;
  NearBound bound;
  const int32_t* records;  // [rows + columns]
  const int32_t* sizes;    // [rows + columns]
  const NearRow* rows;
  NearPair* candidates;
  NearCounters* counters;
  uint32_t capacity;  // of candidates
  int32_t q;
};
SAME_AS_ON_HOST(NearScreenArgs);

constexpr int32_t kNever = 0x7fffffff;

// Lists the pairs that pass.
struct CandidateTaker {
  const NearScreenArgs& a;

  struct Row {
    int32_t number, floor, slack;
  };
  struct Column {
    int32_t number, size;
  };

  // Beyond the edge no count is high enough.
  DEVICE Row row(int row) const {
    if (row >= a.product.row_count) return {row, kNever, 0};
    const int32_t slack = a.rows[row].slack;
    return {row, a.sizes[row] - slack, slack};
  }
  DEVICE Column column(int column) const {
    return {column, column < a.product.column_count ? a.sizes[a.product.row_count + column] : kNever};
  }

  DEVICE void operator()(const Row& row, const Column& column, int32_t count) const {
    bool keep = count >= row.floor && count + row.slack >= column.size;
    if (__ballot_sync(kAllLanes, keep) == 0) return;
    NearPair pair{};
    if (keep) {
      const NearRow found = a.rows[row.number];
      pair = {a.records[row.number], a.records[a.product.row_count + column.number]};
      const int32_t m = a.queries.lengths[pair.query], n = a.targets.lengths[pair.target], apart = m < n ? n - m : m - n;
      const int32_t most = most_edits(a.bound, m, n);
      const int64_t slack = static_cast<int64_t>(most) * a.q;
      const int32_t ours = a.sizes[row.number] - count, theirs = column.size - count;
      keep = column.number >= found.first && column.number < found.stop && pair.target >= found.wanted && apart <= most && ours <= slack &&
             theirs <= slack;
      // No sketch has more bits than its record letters: without a coverage this says nothing.
      if (keep && a.bound.coverage > 0)
        keep = (ours <= 0 || ours <= grams_beside(a.bound, a.q, m, n)) && (theirs <= 0 || theirs <= grams_beside(a.bound, a.q, n, m));
    }
    const uint32_t place = places(&a.counters->candidates, keep);
    if (keep && place < a.capacity) a.candidates[place] = pair;
  }
};

KERNEL(kThreads, kBlocks) near_screen(const NearScreenArgs a) {
  DistanceWork work;
  if (!find_work<kRows, kColumns>(a.product, static_cast<int>(blockIdx.x), work)) return;
  // A block whose lengths never fit has nothing to multiply.
  bool fits = false;
  for (int row = work.row + static_cast<int>(threadIdx.x); row < work.row + kRows && row < a.product.row_count; row += kThreads)
    fits |= a.rows[row].first < work.column + kColumns && a.rows[row].stop > work.column && a.rows[row].first < a.rows[row].stop;
  if (!__syncthreads_or(fits)) return;
  multiply_planes(a.product, work, CandidateTaker{a});
}
