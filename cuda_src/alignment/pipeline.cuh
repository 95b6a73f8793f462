// The strips of a query as a pipeline of blocks, for threads.cu and bitsliced.cu.
//
// Glossary
//   item      one query with the targets of a block of threads
//   strip     ROWS consecutive query rows of an item, computed by one block for all columns
//   unit      an (item, strip) pair: what a block takes from the queue
//   queue     counter of the units that have been taken, in global memory
//   carries   what the last row of a strip passes to the first row of the next, for every column. A strip overwrites the carries that it
//             has read with its own
//   slot      memory for the carries of one item; when the item is finished another one takes it over
//   flag      how many columns a strip has handed down; after the last strip of an item, 1 when the item is finished
//   chunk     kChunk columns: a strip looks at the flag of the strip above, and raises its own, once per chunk
//
// The host orders the units (gpu/alignment/strip_schedule.py) so that the strip above has usually finished when a unit is taken. At the
// end of the work, and if there are few items, the strips of an item run side by side, so that one long item does not delay the end.
//
// Invariant: a block waits only for units that are earlier in the queue. Those have been taken by blocks that are running, so by induction
// over the queue every unit finishes.
#pragma once

#include "portable.cuh"

constexpr int kChunk = 128;  // columns

struct PipelineArgs {
  int32_t* next_unit;     // the queue, 0 at first
  const int32_t* units;   // [unit_count][2]: item, strip
  const int32_t* slots;   // [items]
  const int32_t* before;  // [items] the item that had the slot before, or -1
  int32_t* progress;      // flags, [items][strips + 1], 0 at first
  int64_t carry_stride;   // values of one slot
  int32_t unit_count;
  int32_t strips;  // of the item with the most strips
};
SAME_AS_ON_HOST(PipelineArgs);

struct Unit {
  int item, strip;
};

// Takes the next unit for all threads of a block; item is -1 if none is left. Contains barriers.
DEVICE Unit take_unit(const PipelineArgs& p) {
  __shared__ int taken;
  __syncthreads();
  if (threadIdx.x == 0) taken = atomicAdd(p.next_unit, 1);
  __syncthreads();
  if (taken >= p.unit_count) return {-1, 0};
  return {p.units[2 * taken], p.units[2 * taken + 1]};
}

// Returns where the carries of a unit's item begin, in values.
DEVICE int64_t carry_start(const PipelineArgs& p, Unit unit) { return p.slots[unit.item] * p.carry_stride; }

// Waits for the strip above, and tells the strip below. All members contain barriers: called by all threads of a block.
class Handover {
 public:
  DEVICE Handover(const PipelineArgs& p, Unit unit) : ready_(0), strip_(unit.strip) {
    flags_ = p.progress + static_cast<int64_t>(unit.item) * (p.strips + 1);
    done_ = flags_ + p.strips;
    const int before = p.before[unit.item];
    if (unit.strip == 0 && before >= 0) wait(p.progress + static_cast<int64_t>(before) * (p.strips + 1) + p.strips, 1);
  }
  // Returns when the strip above has handed down `columns` columns.
  DEVICE void wait_for(int columns) {
    if (strip_ > 0 && columns > ready_) ready_ = wait(flags_ + strip_ - 1, columns);
  }
  // Announces that this strip's carries of the first `columns` columns are in memory.
  DEVICE void hand_down(int columns) const { set(flags_ + strip_, columns); }
  // Announces that the item is finished, and its slot free.
  DEVICE void finish() const { set(done_, 1); }

 private:
  static DEVICE int wait(const int32_t* flag, int minimum) {
    __shared__ int seen;
    if (threadIdx.x == 0) seen = wait_for_flag(flag, minimum);
    __syncthreads();
    const int value = seen;
    __syncthreads();
    return value;
  }
  static DEVICE void set(int32_t* flag, int value) {
    __syncthreads();
    if (threadIdx.x == 0) raise_flag(flag, value);
  }
  int32_t* flags_;
  int32_t* done_;
  int ready_;  // columns that the strip above is known to have handed down
  int strip_;
};
