// Which of the blocks that run at once has the turn, and which blocks there still are to run. Only the block with the turn runs, so that
// what a seed does, it does again.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace cuda_host {

#ifdef __SANITIZE_THREAD__
#define UNSEEN_BY_THREAD_SANITIZER __attribute__((no_sanitize("thread")))
#else
#define UNSEEN_BY_THREAD_SANITIZER
#endif

constexpr unsigned kBlocksAtOnce = 4;

// SplitMix64 (Steele, Lea & Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  UNSEEN_BY_THREAD_SANITIZER uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  // True once in `number` calls on average.
  bool one_of(unsigned number) { return next() % number == 0; }

 private:
  uint64_t state_;
};

#ifdef __SANITIZE_THREAD__
// For ThreadSanitizer: all blocks that run have the turn at the same time.
class Turns {
 public:
  void begin(unsigned, unsigned blocks, unsigned seed) {
    next_block_ = 0;
    blocks_ = blocks;
    seed_ = seed;
  }
  void enter(unsigned worker) { random_ = Random(uint64_t{seed_} << 2 | worker); }
  void leave() {}
  bool next_block(unsigned* number) {
    *number = next_block_.fetch_add(1, std::memory_order_relaxed);
    return *number < blocks_;
  }
  void pass_on() {}
  void pass_on_now_and_then() { std::this_thread::yield(); }
  void pass_to_another() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }
  bool one_of(unsigned number) { return random_.one_of(number); }
  bool coin() { return one_of(2); }

 private:
  static inline thread_local Random random_{0};
  std::atomic<unsigned> next_block_{0};
  unsigned blocks_ = 0, seed_ = 0;
};
#else
class Turns {
 public:
  // Before a launch, without other threads.
  void begin(unsigned workers, unsigned blocks, unsigned seed) {
    left_ = (1u << workers) - 1;
    next_block_ = 0;
    blocks_ = blocks;
    random_ = Random(seed);
    if (left_) turn_ = pick(left_);
  }

  // Makes the calling thread a worker, and waits for its first turn.
  void enter(unsigned worker) {
    own_ = worker;
    std::unique_lock<std::mutex> lock(mutex_);
    wait(lock);
  }

  // Ends the calling worker.
  void leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    left_ &= ~(1u << own_);
    if (left_) give_to(pick(left_));
  }

  // Takes the next block of the grid; false if there is none.
  bool next_block(unsigned* number) {
    *number = next_block_;
    return next_block_ < blocks_ && ++next_block_;
  }

  // Gives the turn to any worker, perhaps the same one.
  void pass_on() { pass_to_one_of(left_); }
  // The same at one call of many: for what a block asks at every column.
  void pass_on_now_and_then() {
    if (one_of(16)) pass_on();
  }
  // Gives the turn to another worker, because this one can only wait.
  void pass_to_another() { pass_to_one_of(left_ & ~(1u << own_)); }

  bool one_of(unsigned number) { return random_.one_of(number); }
  bool coin() { return one_of(2); }

 private:
  void pass_to_one_of(unsigned set) {
    if ((set & ~(1u << own_)) == 0) return;
    const unsigned next = pick(set);
    if (next == own_) return;
    std::unique_lock<std::mutex> lock(mutex_);
    give_to(next);
    wait(lock);
  }

  void give_to(unsigned worker) {
    turn_ = worker;
    changed_[worker].notify_one();
  }
  void wait(std::unique_lock<std::mutex>& lock) {
    changed_[own_].wait(lock, [this] { return turn_ == own_; });
  }

  // A member of a set, which is not empty. For a while one worker is slow: it gets few turns, so that others come far ahead of it.
  unsigned pick(unsigned set) {
    if (one_of(kSlowTurns)) slow_ = static_cast<unsigned>(random_.next() % kBlocksAtOnce);
    for (;;) {
      const unsigned worker = static_cast<unsigned>(random_.next() % kBlocksAtOnce);
      if (set >> worker & 1 && (worker != slow_ || set == 1u << worker || one_of(kSlowness))) return worker;
    }
  }
  static constexpr unsigned kSlowTurns = 128, kSlowness = 64;  // both on average
  static inline thread_local unsigned own_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_[kBlocksAtOnce];
  unsigned turn_ = 0;
  unsigned left_ = 0;  // workers that have not ended, as a set
  unsigned next_block_ = 0, blocks_ = 0;
  unsigned slow_ = 0;
  Random random_{0};
};
#endif

inline Turns turns;

}  // namespace cuda_host
