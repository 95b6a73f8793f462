// The host threads that run a grid's blocks. Compiled once for all kernels: it takes longer than most of them.
#include <memory>
#include <thread>
#include <vector>

#include "cuda_host.hpp"

namespace cuda_host {

unsigned blocks_per_cluster = 1;

static void (*body)();  // of a CUDA thread

static void run_body() {
  running->arrived();
  body();
  running->done = true;
  running->give_way();
}

// A host thread's share of a grid: whole blocks, one after the other.
class Worker {
 public:
  UNSEEN_BY_THREAD_SANITIZER void run_block(unsigned number, unsigned threads, unsigned shared_bytes) {
    while (fibers_.size() < threads) fibers_.push_back(std::make_unique<Fiber>());
    blockIdx.x = number;
    SharedMemory memory(shared_bytes);
    const BlockInCluster place(number, memory);
    Barrier barrier(static_cast<int>(threads));
    block_barrier = &barrier;
    std::vector<std::unique_ptr<Warp>> warps;
    for (unsigned first = 0; first < threads; first += kLanes)
      warps.push_back(std::make_unique<Warp>(static_cast<int>(threads - first < kLanes ? threads - first : kLanes)));
    for (unsigned t = 0; t < threads; t++) fibers_[t]->prepare(run_body);
    bool upwards = turns.coin();
    for (unsigned left = threads; left > 0; upwards = upwards == turns.one_of(4)) {
      for (unsigned turn = 0; turn < threads; turn++) {
        const unsigned t = upwards ? turn : threads - 1 - turn;
        if (fibers_[t]->done) continue;
        running = fibers_[t].get();
        threadIdx.x = t;
        warp = warps[t / kLanes].get();
        running->resume();
        if (running->done) left--;
      }
      memory.some_copies_arrive();
      if (blocks_per_cluster > 1) turns.pass_on();  // blocks of a cluster wait for each other
    }
  }

 private:
  std::vector<std::unique_ptr<Fiber>> fibers_;  // kept for the next block: stacks are dear to make
};

inline Worker workers[kBlocksAtOnce];  // of all libraries

void run_grid(void (*of_thread)(), unsigned grid, unsigned block, unsigned shared_bytes, unsigned seed) {
  body = of_thread;
  blockDim.x = block;
  gridDim.x = grid;
  const unsigned count = grid < kBlocksAtOnce ? grid : kBlocksAtOnce;
  turns.begin(count, grid, seed);
  const auto work = [block, shared_bytes](unsigned worker) {
    turns.enter(worker);
    for (unsigned number; turns.next_block(&number);) workers[worker].run_block(number, block, shared_bytes);
    turns.leave();
  };
  std::vector<std::thread> others;
  for (unsigned worker = 1; worker < count; worker++) others.emplace_back(work, worker);
  if (count > 0) work(0);
  for (auto& other : others) other.join();
}

}  // namespace cuda_host
