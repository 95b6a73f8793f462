// Finds the targets that share a deletion neighbour with a query and are within k edits of it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "bounded_edits.hpp"
#include "neighbours.hpp"

namespace gpualign {

// Searches for several queries at once, so that memory accesses of all of them overlap. Used by one thread, whose scratch memory it holds.
class NeighbourSearch {
 public:
  explicit NeighbourSearch(const Neighbourhoods& index) : index_(index), targets_(index.target_count()) {}

  // Appends target << 8 | distance for the near targets of each query, from firsts[q] on and in ascending order, and to `ends` the size of
  // `out` after each query.
  void within(const int64_t* ids, const int64_t* firsts, int64_t queries, std::vector<uint64_t>& out, std::vector<size_t>& ends) {
    for (int64_t q = 0; q < queries; q++) {
      const int64_t own = index_.base_ + ids[q];
      for (uint32_t p = index_.begins_[own]; p < index_.begins_[own + 1]; p++)
        __builtin_prefetch(index_.runs_.get() + index_.positions_[p]);
    }
    hits_.clear();
    hit_ends_.clear();
    for (int64_t q = 0; q < queries; q++) {
      if (firsts[q] < targets_) gather(index_.base_ + ids[q], static_cast<uint32_t>(std::max<int64_t>(firsts[q], 0)));
      hit_ends_.push_back(hits_.size());
    }
    size_t hit = 0;
    for (int64_t q = 0; q < queries; q++) {
      const size_t begin = out.size();
      const int64_t own = index_.base_ + ids[q];
      for (; hit < hit_ends_[static_cast<size_t>(q)]; hit++) compare(own, hit, out);
      if (index_.one_set_ && firsts[q] <= own) out.push_back(static_cast<uint64_t>(own) << 8);
      std::sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
      ends.push_back(out.size());
    }
  }

 private:
  static constexpr uint32_t kEmpty = 0xffffffffu;  // no record has this number
  static constexpr size_t kAhead = 16;             // hits whose letters are prefetched; offsets are prefetched twice as far ahead

  // Appends the targets from `first` on in the runs of `own`, except for itself, each once.
  void gather(int64_t own, uint32_t first) {
    const size_t begin = hits_.size();
    const uint32_t* const runs = index_.runs_.get();
    const uint32_t end = static_cast<uint32_t>(targets_);
    const auto take = [&](uint32_t record) {
      if (record >= first && record < end && record != own) hits_.push_back(record);
    };
    for (uint32_t place = index_.begins_[own]; place < index_.begins_[own + 1]; place++) {
      const int64_t position = index_.positions_[place];
      for (int64_t p = position; p > 0 && !(runs[p - 1] & 1) && runs[p - 1] >> 1 >= first; p--) take(runs[p - 1] >> 1);
      for (int64_t p = position; !(runs[p] & 1) && runs[p + 1] >> 1 < end; p++) take(runs[p + 1] >> 1);
    }
    remove_duplicates(begin);
  }

  // Removes duplicates from the hits from `begin` on, by open addressing in a table that is at most half full.
  void remove_duplicates(size_t begin) {
    int bits = 4;
    while (size_t{1} << bits < 2 * (hits_.size() - begin)) bits++;
    table_.assign(size_t{1} << bits, kEmpty);
    const size_t mask = table_.size() - 1;
    size_t kept = begin;
    for (size_t hit = begin; hit < hits_.size(); hit++) {
      const uint32_t record = hits_[hit];
      size_t place = (record * uint64_t{0x9e3779b97f4a7c15} >> 32) & mask;
      while (table_[place] != kEmpty && table_[place] != record) place = (place + 1) & mask;
      if (table_[place] == record) continue;
      table_[place] = record;
      hits_[kept++] = record;
    }
    hits_.resize(kept);
  }

  // Appends the hit if it is within k edits.
  void compare(int64_t own, size_t hit, std::vector<uint64_t>& out) const {
    const int64_t* const offsets = index_.offsets_.data();
    if (hit + 2 * kAhead < hits_.size()) __builtin_prefetch(offsets + hits_[hit + 2 * kAhead]);
    if (hit + kAhead < hits_.size()) __builtin_prefetch(index_.codes_.data() + offsets[hits_[hit + kAhead]]);
    const Text query = index_.text(own), target = index_.text(hits_[hit]);
    const int distance = edits_within(query.codes, query.length, target.codes, target.length, index_.k_);
    if (distance <= index_.k_) out.push_back(static_cast<uint64_t>(hits_[hit]) << 8 | static_cast<uint64_t>(distance));
  }

  const Neighbourhoods& index_;
  const int64_t targets_;
  std::vector<uint32_t> hits_, table_;
  std::vector<size_t> hit_ends_;
};

}  // namespace gpualign
