#include "near_tile.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "cpu/src/scratch.hpp"
#include "near_verify.hpp"

namespace gpualign {
namespace {

constexpr int kMaskWords = kPanel / 64;
constexpr size_t kQueriesAtOnce = 64;        // queries whose common bits with a panel are counted together
constexpr size_t kVerifiedAtOnce = 1 << 15;  // pairs
// If at most this many targets of a panel remain, their sketches are compared one by one. Only speed depends on it.
constexpr int kFewTargets = 16;

int count(const PanelMask& mask) {
  int sum = 0;
  for (uint64_t word : mask.bits) sum += __builtin_popcountll(word);
  return sum;
}

template <class Function>
void for_each(const PanelMask& mask, const Function& function) {
  for (int w = 0; w < kMaskWords; w++)
    for (uint64_t remaining = mask.bits[w]; remaining; remaining &= remaining - 1) function(64 * w + __builtin_ctzll(remaining));
}

// Limits within which the targets of a panel can be near to queries of one length; 0 in lanes without a target.
struct Limits {
  PanelMask window;                            // targets whose length is close enough
  alignas(64) uint16_t letters[kPanel];        // surplus of letters that either may have; 65535 means `or more`
  alignas(64) uint16_t query_limits[kPanel];   // q-grams that only the query may have; 65535 means `or more`
  alignas(64) uint16_t target_limits[kPanel];  // q-grams that only the target may have
};

class TileRun {
 public:
  TileRun(const NearKernels& kernels, const Records& queries, const Records& targets, const NearTile& tile, const Bound& bound,
          const Cancel& cancel, bool verifies, NearTileResult& result)
      : kernels_(kernels), queries_(queries), targets_(targets), tile_(tile), bound_(bound), cancel_(cancel), verifies_(verifies),
        result_(result), verifier_(kernels, queries, targets, bound, cancel) {}

  bool run() {
    result_.steps.assign(4, 0);
    count_requested();
    // Queries of one length share their limits, so they are processed by length.
    order_.resize(static_cast<size_t>(tile_.query_count));
    std::iota(order_.begin(), order_.end(), int64_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) { return query_length(a) < query_length(b); });
    if (queries_.q()) pack_queries();
    for (int64_t first = 0; first < tile_.target_count && !result_.overflow; first += kPanel) {
      begin_panel(first);
      if (!screen_panel()) return false;
    }
    if (!result_.overflow && !verify()) return false;
    finish();
    return true;
  }

 private:
  struct Run {  // consecutive targets of one length
    int32_t length;
    int first;  // lane of the first one
  };

  struct Pending {      // a query whose common bits with the panel are still to be counted
    int64_t query;      // number within the tile
    PanelMask targets;  // those that remain
    size_t limits;      // index in limits_
  };

  int32_t query_length(int64_t i) const { return queries_.length(tile_.query_ids[i]); }
  int64_t target(int lane) const { return tile_.target_ids[panel_ + lane]; }

  // Counts the requested pairs. Most targets come after the first target of every query. Only the others are sorted, since sorting all
  // would take as long as comparing their pairs.
  void count_requested() {
    const int64_t last = tile_.query_count ? *std::max_element(tile_.firsts, tile_.firsts + tile_.query_count) : 0;
    std::vector<int64_t> earlier;
    std::copy_if(tile_.target_ids, tile_.target_ids + tile_.target_count, std::back_inserter(earlier),
                 [=](int64_t id) { return id < last; });
    std::sort(earlier.begin(), earlier.end());
    const int64_t later = tile_.target_count - static_cast<int64_t>(earlier.size());
    for (int64_t i = 0; i < tile_.query_count; i++)
      result_.steps[0] += later + (earlier.end() - std::lower_bound(earlier.begin(), earlier.end(), tile_.firsts[i]));
  }

  void pack_queries() {
    const int64_t bytes = kernels_.query_bytes(queries_.words());
    auto* out = static_cast<uint8_t*>(packed_queries_.reserve(static_cast<size_t>(bytes * tile_.query_count)));
    for (int64_t i = 0; i < tile_.query_count; i++)
      kernels_.pack_query(queries_.sketch(tile_.query_ids[i]), queries_.words(), out + i * bytes);
  }

  const void* packed_query(int64_t i) {
    return static_cast<const uint8_t*>(packed_queries_.reserve(0)) + i * kernels_.query_bytes(queries_.words());
  }

  // Sets up the panel of the targets from number `first` of the tile on.
  void begin_panel(int64_t first) {
    panel_ = first;
    lanes_ = static_cast<int>(std::min<int64_t>(kPanel, tile_.target_count - first));
    panel_packed_ = false;
    lowest_ = highest_ = target(0);
    runs_.clear();
    for (int lane = 0; lane < lanes_; lane++) {
      const int64_t id = target(lane);
      lowest_ = std::min(lowest_, id), highest_ = std::max(highest_, id);
      const int32_t length = targets_.length(id);
      if (runs_.empty() || runs_.back().length != length) runs_.push_back({length, lane});
    }
    prefetch_next_panel();
    if (!tile_.use_counts) return;
    const int letters = targets_.letters();
    counts_.assign(static_cast<size_t>(letters * kPanel), 0);
    for (int lane = 0; lane < lanes_; lane++)
      for (int letter = 0; letter < letters; letter++)
        counts_[static_cast<size_t>(letter * kPanel + lane)] = targets_.counts(target(lane))[letter];
  }

  // Prefetches the targets of the next panel, which are scattered in memory, while this one is processed.
  void prefetch_next_panel() const {
    const int64_t stop = std::min<int64_t>(panel_ + 2 * kPanel, tile_.target_count);
    for (int64_t k = panel_ + kPanel; k < stop; k++) targets_.prefetch(tile_.target_ids[k], tile_.use_counts);
  }

  void pack_panel() {
    panel_packed_ = true;
    const uint64_t* sketches[kPanel];
    for (int lane = 0; lane < lanes_; lane++) {
      sketches[lane] = targets_.sketch(target(lane));
      sizes_[lane] = targets_.sketch_size(target(lane));
    }
    void* out = packed_panel_.reserve(static_cast<size_t>(kernels_.panel_bytes(targets_.words())));
    kernels_.pack_panel(sketches, lanes_, targets_.words(), out);
  }

  // Sets the limits for queries of `length` letters. Every length of the panel is tested, as Bound::at rounds and need not be monotonic.
  void make_limits(int32_t length, Limits& limits) const {
    limits.window = {};
    const auto saturated = [](int64_t number) { return static_cast<uint16_t>(std::min<int64_t>(number, 65535)); };
    for (size_t run = 0; run < runs_.size(); run++) {
      const int32_t target_length = runs_[run].length;
      const int first = runs_[run].first, stop = run + 1 < runs_.size() ? runs_[run + 1].first : lanes_;
      if (std::abs(length - target_length) <= bound_.at(length, target_length))
        for (int lane = first; lane < stop; lane++) limits.window.bits[lane / 64] |= uint64_t{1} << (lane % 64);
      const auto fill = [&](uint16_t* values, int64_t number) { std::fill(values + first, values + stop, saturated(number)); };
      fill(limits.letters, std::max(bound_.grams(1, length, target_length), bound_.grams(1, target_length, length)));
      fill(limits.query_limits, bound_.grams(queries_.q(), length, target_length));
      fill(limits.target_limits, bound_.grams(queries_.q(), target_length, length));
    }
  }

  // Clears the lanes of targets with a record number below `first`.
  void clear_earlier(PanelMask& mask, int64_t first) const {
    if (first <= lowest_) return;
    PanelMask requested = {};
    if (first <= highest_)
      for (int lane = 0; lane < lanes_; lane++) requested.bits[lane / 64] |= static_cast<uint64_t>(target(lane) >= first) << (lane % 64);
    for (int w = 0; w < kMaskWords; w++) mask.bits[w] &= requested.bits[w];
  }

  // Filters the pairs of all queries with the panel, and verifies what remains in batches. Returns false if cancelled.
  bool screen_panel() {
    limits_.clear();
    int32_t length = -1;
    for (const int64_t i : order_) {
      const int64_t query = tile_.query_ids[i];
      if (query_length(i) != length) {
        length = query_length(i);
        limits_.emplace_back();
        make_limits(length, limits_.back());
      }
      PanelMask remaining = limits_.back().window;
      if (!count(remaining)) continue;
      clear_earlier(remaining, tile_.firsts[i]);
      result_.steps[1] += count(remaining);
      if (tile_.use_counts) {
        const PanelMask allowed = kernels_.counts_allow(queries_.counts(query), counts_.data(), queries_.letters(), limits_.back().letters);
        for (int w = 0; w < kMaskWords; w++) remaining.bits[w] &= allowed.bits[w];
      }
      const int remaining_count = count(remaining);
      result_.steps[2] += remaining_count;
      if (!remaining_count) continue;
      if (!queries_.q()) {
        add_candidates(query, remaining);
      } else {
        if (!panel_packed_) pack_panel();
        if (remaining_count <= kFewTargets)
          compare_few(query, remaining, limits_.back());
        else
          pending_.push_back({i, remaining, limits_.size() - 1});
      }
      if (pending_.size() == kQueriesAtOnce) {
        compare_pending();
        if (cancel_.requested) return false;
      }
      if (candidate_queries_.size() >= kVerifiedAtOnce && !verify()) return false;
      if (result_.overflow) {
        pending_.clear();
        return true;
      }
    }
    compare_pending();
    return !cancel_.requested;
  }

  // Compares the sketch of a query with those of few targets.
  void compare_few(int64_t query, PanelMask remaining, const Limits& limits) {
    const int size = queries_.sketch_size(query);
    PanelMask near = {};
    for_each(remaining, [&](int lane) {
      const int common = kernels_.common_of_pair(queries_.sketch(query), targets_.sketch(target(lane)), queries_.words());
      if (size - common <= limits.query_limits[lane] && sizes_[lane] - common <= limits.target_limits[lane])
        near.bits[lane / 64] |= uint64_t{1} << (lane % 64);
    });
    add_candidates(query, near);
  }

  // Compares the sketches of all pending queries with those of the panel.
  void compare_pending() {
    if (pending_.empty()) return;
    const void* queries[kQueriesAtOnce];
    for (size_t k = 0; k < pending_.size(); k++) queries[k] = packed_query(pending_[k].query);
    kernels_.common({queries, static_cast<int>(pending_.size()), packed_panel_.reserve(0), queries_.words(), common_});
    for (size_t k = 0; k < pending_.size(); k++) {
      const int64_t query = tile_.query_ids[pending_[k].query];
      const Limits& limits = limits_[pending_[k].limits];
      PanelMask remaining =
          kernels_.sketches_allow(common_ + k * kPanel, sizes_, queries_.sketch_size(query), limits.query_limits, limits.target_limits);
      for (int w = 0; w < kMaskWords; w++) remaining.bits[w] &= pending_[k].targets.bits[w];
      add_candidates(query, remaining);
    }
    pending_.clear();
  }

  // Queues pairs for verification.
  void add_candidates(int64_t query, const PanelMask& targets) {
    for_each(targets, [&](int lane) {
      candidate_queries_.push_back(query);
      candidate_targets_.push_back(target(lane));
    });
  }

  // Counts all queued pairs and, unless they need only be counted, collects the near ones. Returns false if cancelled.
  bool verify() {
    result_.steps[3] += static_cast<int64_t>(candidate_queries_.size());
    if (verifies_ && !collect_near()) return false;
    candidate_queries_.clear();
    candidate_targets_.clear();
    return true;
  }

  // Computes the distances of all queued pairs and collects the near ones. Returns false if cancelled.
  bool collect_near() {
    const size_t candidates = candidate_queries_.size();
    distances_.resize(candidates);
    if (!verifier_.distances(candidate_queries_.data(), candidate_targets_.data(), static_cast<int64_t>(candidates), distances_.data()))
      return false;
    for (size_t k = 0; k < candidates; k++)
      if (distances_[k] >= 0) near_.push_back({candidate_queries_[k], candidate_targets_[k], distances_[k]});
    result_.overflow = static_cast<int64_t>(near_.size()) > tile_.max_pairs;
    return true;
  }

  // Sorts the near pairs into the result.
  void finish() {
    if (result_.overflow) return;
    std::sort(near_.begin(), near_.end(),
              [](const Near& a, const Near& b) { return a.query != b.query ? a.query < b.query : a.target < b.target; });
    for (const Near& pair : near_) {
      result_.queries.push_back(pair.query);
      result_.targets.push_back(pair.target);
      result_.distances.push_back(pair.distance);
    }
  }

  struct Near {
    int64_t query, target;
    int32_t distance;
  };

  const NearKernels& kernels_;
  const Records &queries_, &targets_;
  const NearTile& tile_;
  const Bound& bound_;
  const Cancel& cancel_;
  const bool verifies_;
  NearTileResult& result_;
  Verifier verifier_;

  std::vector<int64_t> order_;  // queries by length
  Scratch packed_queries_, packed_panel_;

  // The panel: targets panel_ .. panel_ + lanes_ of the tile
  int64_t panel_ = 0, lowest_ = 0, highest_ = 0;
  int lanes_ = 0;
  bool panel_packed_ = false;
  std::vector<Run> runs_;
  std::vector<uint16_t> counts_;  // [letters][kPanel]
  uint16_t sizes_[kPanel] = {};
  std::vector<Limits> limits_;
  std::vector<Pending> pending_;
  uint16_t common_[kQueriesAtOnce * kPanel];

  std::vector<int64_t> candidate_queries_, candidate_targets_;
  std::vector<int32_t> distances_;
  std::vector<Near> near_;
};

}  // namespace

bool near_tile(const NearKernels& kernels, const Records& queries, const Records& targets, const NearTile& tile, const Bound& bound,
               const Cancel& cancel, NearTileResult& result) {
  return TileRun(kernels, queries, targets, tile, bound, cancel, true, result).run();
}

std::vector<int64_t> count_survivors(const NearKernels& kernels, const Records& queries, const Records& targets, const NearTile& tile,
                                     const Bound& bound) {
  NearTileResult result;
  TileRun(kernels, queries, targets, tile, bound, Cancel(), false, result).run();
  return result.steps;
}

}  // namespace gpualign
