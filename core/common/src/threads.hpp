// A few threads that do one thing.
#pragma once
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gpualign {

// work(0) .. work(threads - 1) side by side, the first in the caller's thread. Throws what the first of them to fail has thrown, once all
// are done. Where the system gives no more threads, those it gave do the rest after their own: `work` must not wait for another.
template <class Work>
void run_threads(int threads, const Work& work) {
  std::exception_ptr failure;
  std::mutex lock;
  const auto guarded = [&](int thread) {
    try {
      work(thread);
    } catch (...) {
      const std::lock_guard<std::mutex> held(lock);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> started;
  started.reserve(static_cast<size_t>(threads));
  int next = 1;
  try {
    for (; next < threads; next++) started.emplace_back(guarded, next);
  } catch (const std::system_error&) {
  }
  guarded(0);
  for (; next < threads; next++) guarded(next);
  for (std::thread& thread : started) thread.join();
  if (failure) std::rethrow_exception(failure);
}

// part(k) for each k of 0 .. parts - 1, each in one of the threads.
template <class Part>
void share(size_t parts, int threads, const Part& part) {
  std::atomic<size_t> next{0};
  run_threads(threads, [&](int) {
    for (size_t k; (k = next++) < parts;) part(k);
  });
}

}  // namespace gpualign
