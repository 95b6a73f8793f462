// CUDA C++ as host C++, for tests: one host thread a CUDA thread, barriers for __syncthreads and the lanes of a warp. The
// blocks of a grid run one after the other. A warp has 8 lanes here, so that tests need fewer threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#define __global__
#define __shared__ static
#define __launch_bounds__(...)

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};
inline thread_local Index3 threadIdx, blockIdx, blockDim, gridDim;

constexpr int kLanes = 8;

namespace cuda_host {

class Barrier {
 public:
  explicit Barrier(int count) : count_(count) {}
  void wait() {
    const unsigned phase = phase_.load();
    if (waiting_.fetch_add(1) + 1 == count_) {
      waiting_.store(0);
      phase_.fetch_add(1);
    } else {
      while (phase_.load() == phase) std::this_thread::yield();
    }
  }

 private:
  const int count_;
  std::atomic<int> waiting_{0};
  std::atomic<unsigned> phase_{0};
};

struct Warp {
  explicit Warp(int lanes) : barrier(lanes) {}
  Barrier barrier;
  uint64_t exchange[kLanes] = {};
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

template <class Args>
void launch(void (*kernel)(Args), unsigned grid, unsigned block, const void* args) {
  std::remove_const_t<Args> copy;
  std::memcpy(&copy, args, sizeof(copy));
  for (unsigned b = 0; b < grid; b++) {
    Barrier barrier(static_cast<int>(block));
    std::vector<Warp*> warps;
    for (unsigned first = 0; first < block; first += kLanes)
      warps.push_back(new Warp(static_cast<int>(block - first < kLanes ? block - first : kLanes)));
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < block; t++) {
      threads.emplace_back([&, t] {
        threadIdx.x = t;
        blockIdx.x = b;
        blockDim.x = block;
        gridDim.x = grid;
        block_barrier = &barrier;
        warp = warps[t / kLanes];
        kernel(copy);
      });
    }
    for (auto& thread : threads) thread.join();
    for (auto* w : warps) delete w;
  }
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
T atomicAdd(T* p, T value) {
  return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);
}
template <class T>
void atomic_max(T* p, T value) {
  T seen = __atomic_load_n(p, __ATOMIC_SEQ_CST);
  while (seen < value && !__atomic_compare_exchange_n(p, &seen, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
}
template <class T>
T load_shared_by_blocks(const T* p) {
  return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
template <class T>
void store_shared_by_blocks(T* p, T value) {
  __atomic_store_n(p, value, __ATOMIC_SEQ_CST);
}
inline int wait_for_flag(const int* p, int wanted) {
  for (;;) {
    const int value = __atomic_load_n(p, __ATOMIC_ACQUIRE);
    if (value >= wanted) return value;
    std::this_thread::yield();
  }
}
inline void raise_flag(int* p, int value) { __atomic_store_n(p, value, __ATOMIC_RELEASE); }
