#include "near_verify.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace gpualign {
namespace {

constexpr int64_t kAtOnce = 1 << 16;  // pairs that are sorted by kernel together

}  // namespace

bool Verifier::distances(const int64_t* query_ids, const int64_t* target_ids, int64_t count, int32_t* distances) {
  for (int64_t first = 0; first < count; first += kAtOnce) {
    jobs_.clear();
    for (int64_t i = first; i < std::min(count, first + kAtOnce); i++) {
      RecordPlanes rows = queries_.planes(query_ids[i]), columns = targets_.planes(target_ids[i]);
      if (rows.length < columns.length) std::swap(rows, columns);
      const int64_t limit = bound_.at(rows.length, columns.length), length_difference = rows.length - columns.length;
      if (length_difference > limit) {
        distances[i] = -1;
      } else if (columns.length == 0) {
        distances[i] = rows.length;
      } else if (bound_.has_coverage()) {
        add_free_ends(rows, columns, i, distances);
      } else {
        const int words = band_words(limit, 32) == 1 ? 0 : static_cast<int>(band_words(limit, 64));
        jobs_.push_back({{rows, columns, static_cast<int32_t>(limit), 0}, i, words, band_planes(rows, columns)});
      }
    }
    const auto kernel = [](const Job& job) { return std::make_tuple(job.words, job.planes); };
    std::stable_sort(jobs_.begin(), jobs_.end(), [&](const Job& a, const Job& b) { return kernel(a) < kernel(b); });
    for (size_t start = 0; start < jobs_.size();) {
      size_t stop = start;
      // Wide bands of similar widths share a task: idle lanes cost more than unneeded words.
      const auto share_task = [&](const Job& job) {
        const Job& narrowest = jobs_[start];
        return job.words == narrowest.words ? job.planes == narrowest.planes
                                            : narrowest.words > 1 && job.words <= narrowest.words + narrowest.words / 4;
      };
      while (stop < jobs_.size() && share_task(jobs_[stop])) stop++;
      if (!run(&jobs_[start], static_cast<int64_t>(stop - start), distances)) return false;
      start = stop;
    }
  }
  return true;
}

void Verifier::add_free_ends(const RecordPlanes& rows, const RecordPlanes& columns, int64_t index, int32_t* distances) {
  const int64_t limit = std::min<int64_t>(bound_.edits_inside(rows.length, columns.length), rows.length);
  const int64_t overhang = std::min<int64_t>(bound_.overhang(columns.length, rows.length), columns.length);
  if (overhang < 0 || limit < 0) {
    distances[index] = -1;
    return;
  }
  const int64_t diagonals = rows.length - columns.length + 2 * (overhang + limit / 2);
  jobs_.push_back({{rows, columns, static_cast<int32_t>(limit), static_cast<int32_t>(overhang)},
                   index,
                   static_cast<int>(band_words(diagonals, 64)),
                   band_planes(rows, columns)});
}

bool Verifier::run(const Job* jobs, int64_t count, int32_t* distances) {
  BandTask task;
  task.planes = task.words = 0;
  pairs_.clear();
  for (int64_t i = 0; i < count; i++) {
    pairs_.push_back(jobs[i].pair);
    task.planes = std::max(task.planes, jobs[i].planes);
    task.words = std::max(task.words, jobs[i].words);
  }
  batch_distances_.resize(static_cast<size_t>(count));
  task.pairs = pairs_.data();
  task.count = count;
  task.scratch = scratch_.reserve(static_cast<size_t>(kernels_.band_bytes(std::max(task.words, 1))));
  task.distances = batch_distances_.data();
  task.cancel = &cancel_;
  const auto band = bound_.has_coverage() ? kernels_.band_free_ends
                    : task.words == 0     ? kernels_.band32
                    : task.words == 1     ? kernels_.band64
                                          : kernels_.band_wide;
  if (!band(task)) return false;
  for (int64_t i = 0; i < count; i++) distances[jobs[i].index] = batch_distances_[static_cast<size_t>(i)];
  return true;
}

}  // namespace gpualign
