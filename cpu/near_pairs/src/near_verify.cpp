#include "near_verify.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace gpualign {
namespace {

constexpr int64_t kAtOnce = 1 << 16;  // pairs that are sorted by kernel at a time

// Returns 64 bits of a plane from letter `first` on, which may be below 0. Bits outside of the record are 0.
uint64_t plane_bits(const RecordPlanes& record, int plane, int64_t first) {
  const auto word = [&](int64_t w) {
    return plane < record.count && w >= 0 && w < record.words ? record.planes[static_cast<int64_t>(plane) * record.words + w] : 0;
  };
  const int64_t w = first >> 6, shift = first & 63;
  return shift ? word(w) >> shift | word(w + 1) << (64 - shift) : word(w);
}

// Returns a mask of the places where the records have the same letter, with a code below `ordinary`: bit b of letters a + b and b + b.
uint64_t equal_letters(const RecordPlanes& one, const RecordPlanes& other, int64_t a, int64_t b, int ordinary) {
  uint64_t equal = ~uint64_t{0}, below = 0, as_limit = ~uint64_t{0};  // below, as_limit: the highest bits of the codes are
  for (int p = kMaxCodePlanes - 1; p >= 0; p--) {
    const uint64_t bits = plane_bits(one, p, a);
    equal &= ~(bits ^ plane_bits(other, p, b));
    if (ordinary >> p & 1) {
      below |= as_limit & ~bits;
      as_limit &= bits;
    } else {
      as_limit &= ~bits;
    }
  }
  return ordinary < 1 << kMaxCodePlanes ? equal & below : equal;
}

// Returns the largest number of letters, up to `most`, that both records may leave out at the start, or at the end
// (core/scoring/edit_bounds.py, PairingGains).
int32_t max_depth(const RecordPlanes& rows, const RecordPlanes& columns, const PairingGains& gains, int64_t most, bool at_end) {
  int64_t sum = 0, depth = 0;
  for (int64_t done = 0; done < most; done += 64) {
    const int64_t first = at_end ? -done - 64 : done;
    uint64_t equal =
        equal_letters(rows, columns, (at_end ? rows.length : 0) + first, (at_end ? columns.length : 0) + first, gains.ordinary);
    if (sum + gains.other * (most - done) > 0 && gains.other <= gains.equal) break;  // it stays above 0
    for (int64_t y = done + 1; y <= std::min(done + 64, most); y++) {
      const bool same = at_end ? equal >> 63 : equal & 1;
      equal = at_end ? equal << 1 : equal >> 1;
      sum += same ? gains.equal : gains.other;
      if (sum <= 0) depth = y;
    }
  }
  return static_cast<int32_t>(depth);
}

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
        jobs_.push_back({{rows, columns, static_cast<int32_t>(limit), 0, {0, 0}}, i, words, band_planes(rows, columns)});
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
  const int32_t depths[] = {max_depth(rows, columns, bound_.pairing(), overhang, false),
                            max_depth(rows, columns, bound_.pairing(), overhang, true)};
  jobs_.push_back({{rows, columns, static_cast<int32_t>(limit), static_cast<int32_t>(overhang), {depths[0], depths[1]}},
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
