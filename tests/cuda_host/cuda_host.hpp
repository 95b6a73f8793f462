// CUDA C++ as host C++, for tests. All CUDA threads of a block run on one host thread, as contexts that give way to each other at
// barriers (__syncthreads, the lanes of a warp) and while they wait for a flag. Turns are mostly taken upwards and downwards by turns, so
// that a missing barrier shows whichever of two threads needs it. A warp has 8 lanes here, so that tests need fewer threads; kernels for
// tensor cores need HOST_LANES=32.
//
// Up to kBlocksAtOnce blocks run at once, each on a host thread of its own, of which one has the turn (turns.hpp). Where blocks talk to
// each other, at flags and at the queue, the turn passes to a block that a seeded generator picks. Asynchronous copies arrive when they are
// waited for or at once, as the generator has it: a device may do either.
//
// Under ThreadSanitizer blocks run at the same time, and it takes each CUDA thread for a thread of its own, so that nothing but barriers
// and the orders of atomic accesses makes what one of them writes visible to another.
#pragma once

#if defined(__APPLE__) && !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700
#endif

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include "shared_memory.hpp"
#include "turns.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#define __global__
#define __shared__ static thread_local  // a block has a host thread for itself
#define __launch_bounds__(...)

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};
inline thread_local Index3 threadIdx, blockIdx;  // of the CUDA thread whose turn it is
inline Index3 blockDim, gridDim;                 // the library runs one launch at a time

#ifndef HOST_LANES
#define HOST_LANES 8
#endif
constexpr int kLanes = HOST_LANES;

namespace cuda_host {

// 16 bytes that are copied to shared memory.
struct Copy {
  void* to;
  const void* from;
  void arrive() const { std::memcpy(to, from, 16); }
};

// A thread's share of the products of a warpgroup (tensor_cores.hpp).
struct Product {
  int32_t* sums;
  uint64_t rows, columns;  // descriptors of the operands
  int column_count;
  void arrive() const;
};

// What a CUDA thread has asked for, and what arrives later, in groups.
template <class Request>
class Requests {
 public:
  void request(const Request& request, bool at_once) {
    if (at_once)
      request.arrive();
    else
      pending_.push_back({request, group_});
  }
  void end_group() { group_++; }
  // Makes the requests arrive of all groups but the `younger` latest ones.
  void arrive(unsigned younger) {
    for (; first_ < pending_.size() && pending_[first_].group + younger < group_; first_++) pending_[first_].request.arrive();
    if (first_ == pending_.size()) drop();
  }
  void drop() {
    pending_.clear();
    first_ = 0;
  }

 private:
  struct Pending {
    Request request;
    unsigned group;
  };
  std::vector<Pending> pending_;
  size_t first_ = 0;    // of those that have not arrived
  unsigned group_ = 0;  // the open one
};

// One CUDA thread: a stack of its own, and what its kernel sees of the grid.
class Fiber {
 public:
  Fiber() : stack_(mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (stack_ == MAP_FAILED) throw std::bad_alloc();
#ifdef __SANITIZE_THREAD__
    inner_thread_ = __tsan_create_fiber(0);
#endif
  }
  ~Fiber() {
#ifdef __SANITIZE_THREAD__
    __tsan_destroy_fiber(inner_thread_);
#endif
    munmap(stack_, kStack);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void prepare(void (*body)()) {
    getcontext(&inner_.context);
    inner_.context.uc_stack.ss_sp = stack_;
    inner_.context.uc_stack.ss_size = kStack;
    inner_.context.uc_link = nullptr;
    makecontext(&inner_.context, body, 0);
    inner_.begun = false;
    copies.drop();
    products.drop();
    sums_are_ordered = false;
    done = false;
  }

  // From the scheduler: runs until the fiber gives way or ends.
  UNSEEN_BY_THREAD_SANITIZER void resume() {
    enter(stack_, kStack, &outer_fake_);
#ifdef __SANITIZE_THREAD__
    outer_thread_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(inner_thread_, inner_.begun ? __tsan_switch_to_fiber_no_sync : 0);
    inner_.begun = true;
#endif
    change(outer_, inner_);
    leave(outer_fake_);
  }

  // From within: back to the scheduler.
  UNSEEN_BY_THREAD_SANITIZER void give_way() {
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(outer_thread_, done ? 0 : __tsan_switch_to_fiber_no_sync);
#endif
    if (done)
      enter(outer_stack_, outer_size_, nullptr);  // frees what the sanitizer keeps of a fiber that never comes back
    else
      enter(outer_stack_, outer_size_, &fake_);
    change(inner_, outer_);
    arrived();
  }

  // From within, whenever the fiber goes on.
  void arrived() {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake_, &outer_stack_, &outer_size_);
#endif
  }

  bool done = true;
  Requests<Copy> copies;
  Requests<Product> products;
  bool sums_are_ordered = false;  // before products that follow
  unsigned cluster_round = 0;     // in which the thread arrived at its cluster's barrier

 private:
  static constexpr size_t kStack = 256 << 10;

  // Where a fiber or the scheduler goes on. swapcontext() asks the system for the mask of signals each time, which takes most of a test:
  // it only begins a fiber. Sanitizers want to see every change.
  struct Place {
    ucontext_t context;
    jmp_buf jump;
    bool begun = true;
  };

  static UNSEEN_BY_THREAD_SANITIZER void change(Place& from, Place& to) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    swapcontext(&from.context, &to.context);
#else
    if (_setjmp(from.jump)) return;
    if (to.begun) _longjmp(to.jump, 1);
    to.begun = true;
    setcontext(&to.context);
#endif
  }

  static void enter([[maybe_unused]] const void* stack, [[maybe_unused]] size_t size, [[maybe_unused]] void** fake) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(fake, stack, size);
#endif
  }
  static void leave([[maybe_unused]] void* fake) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }

  void* stack_;
  Place inner_, outer_;
#ifdef __SANITIZE_THREAD__
  void *inner_thread_, *outer_thread_ = nullptr;  // as ThreadSanitizer knows the fiber and the scheduler
#endif
  void* fake_ = nullptr;
  void* outer_fake_ = nullptr;
  const void* outer_stack_ = nullptr;
  size_t outer_size_ = 0;
};

inline thread_local Fiber* running = nullptr;

inline void give_way() { running->give_way(); }

// All fibers of a barrier run on one host thread. Its memory orders are for ThreadSanitizer alone.
class Barrier {
 public:
  explicit Barrier(int count) : count_(count) {}
  void wait() {
    const unsigned phase = __atomic_load_n(&phase_, __ATOMIC_RELAXED);
    const int waiting = __atomic_load_n(&waiting_, __ATOMIC_ACQUIRE) + 1;
    __atomic_store_n(&waiting_, waiting == count_ ? 0 : waiting, __ATOMIC_RELEASE);
    if (waiting == count_) __atomic_store_n(&phase_, phase + 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&phase_, __ATOMIC_ACQUIRE) == phase) give_way();
  }

 private:
  const int count_;
  int waiting_ = 0;
  unsigned phase_ = 0;
};

struct Warp {
  explicit Warp(int lanes) : barrier(lanes) {}
  Barrier barrier;
  uint64_t exchange[kLanes] = {};
  uint32_t fragments[kLanes][6];  // of operands
};

inline thread_local Barrier* block_barrier;
inline thread_local Warp* warp;

inline int lane() { return static_cast<int>(threadIdx.x) % kLanes; }

template <class T>
T exchange(T value, int from) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  std::memcpy(&warp->exchange[lane()], &value, sizeof(T));
  warp->barrier.wait();
  T out;
  std::memcpy(&out, &warp->exchange[from], sizeof(T));
  warp->barrier.wait();
  return out;
}

// Runs all blocks of a grid, each thread of which calls `body` (grid.cpp, which is compiled once for all kernels).
void run_grid(void (*body)(), unsigned grid, unsigned block, unsigned shared_bytes, unsigned seed);

template <class Args>
void launch(void (*kernel)(Args), unsigned grid, unsigned block, unsigned shared_bytes, const void* args, unsigned seed) {
  static void (*entry)(Args);
  static std::remove_const_t<Args> copy;
  entry = kernel;
  std::memcpy(&copy, args, sizeof(copy));
  run_grid([] { entry(copy); }, grid, block, shared_bytes, seed);
}

}  // namespace cuda_host

inline void __syncthreads() { cuda_host::block_barrier->wait(); }
inline void __syncwarp() { cuda_host::warp->barrier.wait(); }
inline int __ffs(int x) { return __builtin_ffs(x); }
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return cuda_host::exchange(value, lane);
}
template <class T>
T __shfl_up_sync(unsigned, T value, int by) {
  const int lane = cuda_host::lane();
  return cuda_host::exchange(value, lane < by ? lane : lane - by);
}
template <class T>
T __shfl_down_sync(unsigned, T value, int by) {
  const int lane = cuda_host::lane();
  return cuda_host::exchange(value, lane + by < kLanes ? lane + by : lane);
}
inline unsigned __ballot_sync(unsigned, bool predicate) {
  cuda_host::warp->exchange[cuda_host::lane()] = predicate;
  cuda_host::warp->barrier.wait();
  unsigned out = 0;
  for (int lane = 0; lane < kLanes; lane++) out |= static_cast<unsigned>(cuda_host::warp->exchange[lane] & 1) << lane;
  cuda_host::warp->barrier.wait();
  return out;
}
inline bool any_lane(uint32_t value) { return __ballot_sync(0, value != 0) != 0; }
inline int __syncthreads_or(int value) {
  static thread_local int any;
  __syncthreads();
  any = 0;
  __syncthreads();
  any |= value;
  __syncthreads();
  return any;
}
// Blocks talk to each other by what follows, in the memory orders of the device.
inline uint32_t atomicOr(uint32_t* p, uint32_t value) { return __atomic_fetch_or(p, value, __ATOMIC_RELAXED); }
template <class T>
T atomicAdd(T* p, T value) {
  const T before = __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
  cuda_host::turns.pass_on();
  return before;
}
template <class T>
void atomic_max(T* p, T value) {
  T seen = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (seen < value && !__atomic_compare_exchange_n(p, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
template <class T>
T load_shared_by_blocks(const T* p) {
  return *p;
}
template <class T>
void store_shared_by_blocks(T* p, const T& value) {
  *p = value;
}
template <class T>
T load_relaxed(const T* p) {
  cuda_host::give_way();  // who looks again waits for another thread, of this block or of another one
  cuda_host::turns.pass_on_now_and_then();
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
template <class T>
void store_relaxed_if(bool wanted, T* p, T value) {
  if (wanted) __atomic_store_n(p, value, __ATOMIC_RELAXED);
}
inline void copy_ahead(void* to, const void* from) { cuda_host::running->copies.request({to, from}, cuda_host::turns.coin()); }
inline void copy_ahead(uint32_t to, const void* from) { copy_ahead(cuda_host::shared_memory->at(to, 16), from); }
inline void end_copies() { cuda_host::running->copies.end_group(); }
template <int YOUNGER>
void wait_for_copies() {
  cuda_host::running->copies.arrive(YOUNGER);
}
// Of a flag; who looks again calls wait_a_little.
inline int load_relaxed(const int* p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
inline int load_acquire(const int* p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
inline void store_release(int* p, int value) {
  __atomic_store_n(p, value, __ATOMIC_RELEASE);
  cuda_host::turns.pass_on();
}
inline void wait_a_little() {
  cuda_host::give_way();
  cuda_host::turns.pass_to_another();
}
