// Edit distances up to a bound, for pairs in any order and of any lengths. If the bound has a coverage, ends are free (near_band.hpp): only
// edits between the parts that the coverage requires are counted, for which the bound has a separate limit.
#pragma once
#include <cstdint>

#include "cpu/src/scratch.hpp"
#include "near_bound.hpp"
#include "near_records.hpp"

namespace gpualign {

class Verifier {
 public:
  Verifier(const NearKernels& kernels, const Records& queries, const Records& targets, const Bound& bound, const Cancel& cancel)
      : kernels_(kernels), queries_(queries), targets_(targets), bound_(bound), cancel_(cancel) {}

  // Writes to distances[i] the edit distance of query_ids[i] and target_ids[i], -1 if it is above the bound. Returns false if cancelled.
  bool distances(const int64_t* query_ids, const int64_t* target_ids, int64_t count, int32_t* distances);

 private:
  struct Job {
    BandPair pair;
    int64_t index;  // of the pair in `distances`
    int words;      // 64-bit words per lane; 0: one of 32 bits
    int planes;     // that the kernel must have
  };

  // Adds a job for a pair under a coverage, or writes its distance if no such pair is allowed.
  void add_free_ends(const RecordPlanes& rows, const RecordPlanes& columns, int64_t index, int32_t* distances);

  // Computes jobs that share a kernel. Returns false if cancelled.
  bool run(const Job* jobs, int64_t count, int32_t* distances);

  const NearKernels& kernels_;
  const Records &queries_, &targets_;
  const Bound bound_;
  const Cancel& cancel_;
  std::vector<Job> jobs_;
  std::vector<BandPair> pairs_;
  std::vector<int32_t> batch_distances_;
  Scratch scratch_;
};

}  // namespace gpualign
