// Edit distances up to a bound, of pairs in any order and of any lengths.
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

  // distances [count], out: of query_ids[i] and target_ids[i], -1 above the bound. False if cancelled.
  bool distances(const int64_t* query_ids, const int64_t* target_ids, int64_t count, int32_t* distances);

 private:
  struct Job {
    BandPair pair;
    int64_t place;  // in distances
    int words;      // of 64 bits of a lane; 0: one of 32 bits
    int planes;
  };

  bool run(const Job* jobs, int64_t count, int32_t* distances);

  const NearKernels& kernels_;
  const Records &queries_, &targets_;
  const Bound bound_;
  const Cancel& cancel_;
  std::vector<Job> jobs_;
  std::vector<BandPair> pairs_;
  std::vector<int32_t> found_;
  Scratch scratch_;
};

}  // namespace gpualign
