// Strips of a query in a pipeline: blocks take (item, strip) units from a queue in order. A strip reads the carries of the
// strip above it from memory and overwrites them with its own; it stays a chunk of columns behind, if that still runs.
//
// The host orders the units (gpu/alignment/strip_schedule.py) such that the strip above is usually done when a unit is taken. At the end of
// the work, and where items are few, the strips of an item run side by side, so that one long item does not keep everybody waiting. A unit
// that is waited for stands earlier in the queue, so a block has taken it: nothing can block. An item's carries are in a slot, which it
// takes over from the item before it.
#pragma once

#include "portable.cuh"

constexpr int kChunk = 128;  // columns between two looks at the strip above

struct PipelineArgs {
  int32_t* next_unit;
  const int32_t* units;   // [unit_count][2]: item, strip
  const int32_t* slots;   // [items]
  const int32_t* before;  // [items] who had the slot before, or -1
  int32_t* progress;      // [items][strips + 1]: columns that each strip has handed down; last, 1 when the item is done; 0 at first
  int64_t carry_stride;   // of one slot, in values
  int32_t unit_count;
  int32_t strips;  // of the item that has most
};
SAME_AS_ON_HOST(PipelineArgs);

struct Unit {
  int item, strip;
};

// The next unit, the same for all threads of a block, or an item of -1.
DEVICE Unit take_unit(const PipelineArgs& p) {
  __shared__ int taken;
  __syncthreads();
  if (threadIdx.x == 0) taken = atomicAdd(p.next_unit, 1);
  __syncthreads();
  if (taken >= p.unit_count) return {-1, 0};
  return {p.units[2 * taken], p.units[2 * taken + 1]};
}

// Where the carries of a unit's item begin, in values.
DEVICE int64_t carry_start(const PipelineArgs& p, Unit unit) { return p.slots[unit.item] * p.carry_stride; }

class Handover {
 public:
  DEVICE Handover(const PipelineArgs& p, Unit unit) : ready_(0), strip_(unit.strip) {
    flags_ = p.progress + static_cast<int64_t>(unit.item) * (p.strips + 1);
    done_ = flags_ + p.strips;
    const int before = p.before[unit.item];
    if (unit.strip == 0 && before >= 0) wait(p.progress + static_cast<int64_t>(before) * (p.strips + 1) + p.strips, 1);
  }
  // Return when the strip above has handed down `columns`.
  DEVICE void wait_for(int columns) {
    if (strip_ > 0 && columns > ready_) ready_ = wait(flags_ + strip_ - 1, columns);
  }
  // This strip's columns up to `columns` are in memory.
  DEVICE void hand_down(int columns) const { set(flags_ + strip_, columns); }
  // Nobody needs the item's carries any more.
  DEVICE void finish() const { set(done_, 1); }

 private:
  static DEVICE int wait(const int32_t* flag, int wanted) {
    __shared__ int seen;
    if (threadIdx.x == 0) seen = wait_for_flag(flag, wanted);
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
  int ready_;  // columns known to be handed down
  int strip_;
};
