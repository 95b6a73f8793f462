// Parallel execution of one function by a few threads.
#pragma once
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gpualign {

// Runs work(0) .. work(threads - 1) in parallel, the first in the caller's thread, and waits for all of them. Then throws the exception of
// the first one that failed. If the system has no more threads, existing ones run the remaining calls, so calls must not wait for each
// other.
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

// Calls part(k) for k = 0 .. parts - 1, each in one of the threads.
template <class Part>
void share(size_t parts, int threads, const Part& part) {
  std::atomic<size_t> next{0};
  run_threads(threads, [&](int) {
    for (size_t k; (k = next++) < parts;) part(k);
  });
}

}  // namespace gpualign
