#include "list_paths.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "band_bound.hpp"
#include "core/common/src/threads.hpp"
#include "cpu/src/scratch.hpp"
#include "path_tile.hpp"

namespace gpualign {
namespace {

constexpr int64_t kMaxBytes = 64 << 20;   // of a group of lanes: longer pairs do not share vectors
constexpr double kMaxBandShare = 0.6;     // of a row that a band may cover; a wider one saves nothing
constexpr int kMinLaneShare = 6;          // a group fills at least one lane in this many; fewer pairs are faster one by one
constexpr double kMaxGrowth = 1.5;        // of the cells of the smallest pair of a group, with which a group is still extended
constexpr int64_t kMinPlainLetters = 50;  // with codes below 4, for each letter with another code, in pairs that are looked up by pairs
constexpr int64_t kExtraSlack = 2;        // added to an expected slack, so that few pairs are computed twice
constexpr int64_t kPairsPerPart = 2048;   // whose slacks a thread computes at a time
constexpr int64_t kPrefetchedRows = 8;    // rows ahead of the traceback

// Traces the similar pairs of a list, group by group.
class ListTracer {
 public:
  ListTracer(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const PathRecipe& recipe, const ListedPair* pairs,
             PathSink& sink, const Cancel& cancel)
      : kernels_(kernels), queries_(queries), targets_(targets), recipe_(recipe), pairs_(pairs), sink_(sink), cancel_(cancel),
        scores_(recipe.differences), bound_(recipe), letters_(bound_, queries, targets), lanes_(kernels.vector_bytes) {}

  // Traces the pairs that are similar enough. scores: as in list_paths. Returns the numbers of the others; all that are left, if cancelled.
  std::vector<int64_t> align(int64_t count, const int64_t* scores) {
    std::vector<int64_t> others;
    for (int64_t k = 0; k < count; k++) {
      set_bound(k);
      const int64_t slack = bound_.sufficient_slack(-1, scores ? scores[k] : bound_.expected_score(pairs_[k].edits));
      add(k, scores ? slack : slack + kExtraSlack, others);
    }
    while (!waiting_.empty()) {
      std::vector<BandPair> now;
      now.swap(waiting_);
      std::sort(now.begin(), now.end());
      for (size_t first = 0, stop; first < now.size(); first = stop) {
        stop = end_of_group(now, first);
        if (static_cast<int>(stop - first) * kMinLaneShare >= lanes_)
          align_group(&now[first], static_cast<int>(stop - first), others);
        else
          for (size_t k = first; k < stop; k++) others.push_back(now[k].pair);
        if (cancel_.requested) return others;
      }
    }
    return others;
  }

 private:
  // A pair that waits for a band of this many diagonals.
  struct BandPair {
    int64_t pair;
    int64_t rows, diagonals;
    bool plain;  // nearly all letters have codes below 4
    int size;    // log2 of the length, in eighths

    int64_t cells() const { return rows * diagonals; }
    // Similar shapes are neighbours: equal lengths within a tenth, then by width.
    bool operator<(const BandPair& other) const {
      if (plain != other.plain) return plain;
      if (size != other.size) return size < other.size;
      return diagonals != other.diagonals ? diagonals < other.diagonals : pair < other.pair;
    }
  };

  Record query(int64_t pair) const { return queries_.record(pairs_[pair].query); }
  Record target(int64_t pair) const { return targets_.record(pairs_[pair].target); }
  void set_bound(int64_t pair) { bound_.set_pair(letters_.query(pairs_[pair].query), letters_.target(pairs_[pair].target)); }

  // Queues a pair, which must be the current one of bound_, for a band with this slack, or adds it to the others.
  void add(int64_t pair, int64_t slack, std::vector<int64_t>& others) {
    const int64_t rows = query(pair).length, columns = target(pair).length;
    const int64_t needed = std::abs(columns - rows) + 2 * slack + 1,
                  diagonals = (needed + kBandLanesStep - 1) / kBandLanesStep * kBandLanesStep;
    const int64_t plain_letters = letters_.query(pairs_[pair].query).plain + letters_.target(pairs_[pair].target).plain;
    const bool plain = scores_.padding <= 16 && kMinPlainLetters * (rows + columns - plain_letters) <= rows + columns;
    BandLanesArgs a = arguments(rows, diagonals, plain);
    if (static_cast<double>(diagonals) > kMaxBandShare * static_cast<double>(columns) || bytes(a) > max_bytes())
      others.push_back(pair);
    else
      waiting_.push_back({pair, rows, diagonals, plain, static_cast<int>(8 * std::log2(static_cast<double>(rows)))});
  }

  BandLanesArgs arguments(int64_t rows, int64_t diagonals, bool plain) const {
    BandLanesArgs a{};
    a.rows = rows, a.diagonals = diagonals, a.pairs = plain;
    a.table = scores_.pairs, a.rows_of_scores = scores_.rows, a.padding = scores_.padding;
    a.open_extra = recipe_.differences.open_extra;
    a.cancel = &cancel_;
    return a;
  }

  int64_t max_bytes() const { return std::min(kMaxBytes, recipe_.worker_bytes); }
  int64_t direction_bytes(const BandLanesArgs& a) const { return a.rows * a.diagonals / 2 * lanes_; }
  // Returns the bytes of scratch memory of a group.
  int64_t bytes(const BandLanesArgs& a) const { return direction_bytes(a) + kernels_.band_lanes_bytes(a) + 2 * lanes_ * a.columns(); }

  // Returns the end of the group that begins with pair `first`.
  size_t end_of_group(const std::vector<BandPair>& pairs, size_t first) const {
    int64_t rows = pairs[first].rows, diagonals = pairs[first].diagonals, smallest = pairs[first].cells();
    size_t stop = first + 1;
    for (; stop < pairs.size() && stop - first < static_cast<size_t>(lanes_) && pairs[stop].plain == pairs[first].plain; stop++) {
      rows = std::max(rows, pairs[stop].rows), diagonals = std::max(diagonals, pairs[stop].diagonals);
      smallest = std::min(smallest, pairs[stop].cells());
      if (static_cast<double>(rows * diagonals) > kMaxGrowth * static_cast<double>(smallest)) break;
      if (bytes(arguments(rows, diagonals, pairs[first].plain)) > max_bytes()) break;
    }
    return stop;
  }

  // Traces a group. Pairs whose bands prove nothing are queued for wider ones.
  void align_group(const BandPair* group, int count, std::vector<int64_t>& others) {
    int64_t rows = 0, diagonals = 0;
    for (int k = 0; k < count; k++) rows = std::max(rows, group[k].rows), diagonals = std::max(diagonals, group[k].diagonals);
    BandLanesArgs a = arguments(rows, diagonals, group[0].plain);
    set_sequences(a, group, count);
    a.scratch = static_cast<uint8_t*>(scratch_.reserve(static_cast<size_t>(kernels_.band_lanes_bytes(a))));
    a.directions = static_cast<uint8_t*>(directions_.reserve(static_cast<size_t>(direction_bytes(a))));
    kernels_.band_lanes(a);
    if (cancel_.requested) return;
    for (int k = 0; k < count; k++) trace(a, group[k], k, others);
  }

  // Copies the sequences of a group with padding, and sets the first diagonal of each lane. Lanes without a pair get the first one.
  void set_sequences(BandLanesArgs& a, const BandPair* group, int count) {
    const int64_t stride = a.columns();
    const uint8_t padding = a.pairs ? kNoLetter : static_cast<uint8_t>(a.padding);
    lowest_.resize(static_cast<size_t>(lanes_));
    rows_.resize(static_cast<size_t>(2 * lanes_));
    uint8_t* to = static_cast<uint8_t*>(sequences_.reserve(static_cast<size_t>(2 * lanes_ * stride)));
    for (int k = 0; k < lanes_; k++) {
      const BandPair& pair = group[k < count ? k : 0];
      const Record query = this->query(pair.pair), target = this->target(pair.pair);
      lowest_[k] = std::min<int64_t>(0, target.length - query.length) - slack(a, query.length, target.length);
      rows_[k] = to;
      std::memcpy(to, query.codes, static_cast<size_t>(query.length));
      std::memset(to + query.length, 0, static_cast<size_t>(stride - query.length));
      to += stride;
      rows_[lanes_ + k] = to;
      const int64_t before = -lowest_[k], letters = std::min(target.length, stride - before);
      std::memset(to, padding, static_cast<size_t>(before));
      std::memcpy(to + before, target.codes, static_cast<size_t>(letters));
      std::memset(to + before + letters, padding, static_cast<size_t>(stride - before - letters));
      to += stride;
    }
    a.lowest = lowest_.data();
    a.queries = rows_.data(), a.targets = rows_.data() + lanes_;
  }

  // Returns the slack of a pair in bands of this width.
  static int64_t slack(const BandLanesArgs& a, int64_t rows, int64_t columns) { return (a.diagonals - 1 - std::abs(columns - rows)) / 2; }

  void trace(const BandLanesArgs& a, const BandPair& pair, int lane, std::vector<int64_t>& others) {
    const Record query = this->query(pair.pair), target = this->target(pair.pair);
    runs_.clear();
    Walk walk(query.codes, target.codes, {0, query.length, target.length}, &runs_);
    const int64_t row_bytes = a.diagonals / 2 * lanes_, lowest = a.lowest[lane];
    const uint8_t* directions = a.directions + lane;
    bool left = false;  // the band, where there are no directions
    walk.run(recipe_.usable, 0, 0, [&](int64_t i, int64_t j) -> int {
      const int64_t c = j - i - lowest;
      if (c < 0 || c >= a.diagonals) {
        left = true;
        return kDiagonal;
      }
      const uint8_t* at = directions + (i - 1) * row_bytes + c / 2 * lanes_;
      __builtin_prefetch(at - kPrefetchedRows * row_bytes);
      return *at >> (c & 1) * 4 & 15;
    });
    walk.finish(false, false);
    const int64_t score = path_score(query, target, walk.counts), reached = slack(a, query.length, target.length);
    set_bound(pair.pair);
    if (left || !bound_.proven(reached, score)) return add(pair.pair, bound_.sufficient_slack(reached, score), others);
    if (!sink_.want_runs()) runs_.clear();
    sink_.put(pair.pair, recipe_.negate ? -score : score, walk.counts, runs_);
  }

  // Returns the score of the path of runs_.
  int64_t path_score(Record query, Record target, const PathStatistics& counts) const {
    const uint32_t* table = recipe_.differences.table;
    int64_t sum = 0, i = 0, j = 0;
    for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
      const int64_t length = (*run >> 2) + 1;
      const int op = *run & 3;
      if (op == kEqual || op == kDifferent)
        for (int64_t k = 0; k < length; k++) sum += static_cast<int32_t>(table[query.codes[i + k] * kLetters + target.codes[j + k]]);
      if (op != kDeletion) i += length;
      if (op != kInsertion) j += length;
    }
    const int64_t pairs = counts.matches + counts.mismatches, extend = recipe_.extend;
    return sum - 2 * extend * pairs - static_cast<int64_t>(recipe_.differences.open_extra) * counts.gap_opens - extend * counts.gaps;
  }

  const Kernels& kernels_;
  const Sequences& queries_;
  const Sequences& targets_;
  const PathRecipe& recipe_;
  const ListedPair* pairs_;
  PathSink& sink_;
  const Cancel& cancel_;
  BandScores scores_;
  BandBound bound_;
  ListedLetters letters_;
  int lanes_;
  std::vector<BandPair> waiting_;
  std::vector<int64_t> lowest_;
  std::vector<const uint8_t*> rows_;  // queries, then targets
  Scratch sequences_, scratch_, directions_;
  std::vector<uint8_t> runs_;
};

// Traces pairs with path_tile, a query with all its targets at a time.
bool trace_tiles(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const PathRecipe& recipe,
                 const ListedPair* pairs, std::vector<int64_t> numbers, PathSink& sink, const Cancel& cancel) {
  std::sort(numbers.begin(), numbers.end(), [&](int64_t a, int64_t b) {
    if (pairs[a].query != pairs[b].query) return pairs[a].query < pairs[b].query;
    const int64_t length = targets.length(pairs[a].target), other = targets.length(pairs[b].target);
    return length != other ? length < other : a < b;
  });
  std::vector<int64_t> ids;
  std::vector<uint8_t> backwards;
  for (size_t first = 0, stop; first < numbers.size(); first = stop) {
    const int64_t query = pairs[numbers[first]].query;
    ids.clear();
    for (stop = first; stop < numbers.size() && pairs[numbers[stop]].query == query; stop++) ids.push_back(pairs[numbers[stop]].target);
    const auto count = static_cast<int64_t>(ids.size());
    PathSink tile(count, sink.want_runs());
    if (!path_tile(kernels, queries, targets, recipe, &query, 1, ids.data(), count, Pairing::kAll, tile, cancel)) return false;
    for (size_t k = 0; k < ids.size(); k++) {
      backwards.clear();
      if (tile.want_runs()) {
        const auto begin = tile.runs.begin() + tile.starts[k];
        backwards.assign(std::make_reverse_iterator(begin + tile.sizes[k]), std::make_reverse_iterator(begin));
      }
      sink.put(numbers[first + k], tile.scores[k], tile.statistics[k], backwards);
    }
  }
  return true;
}

}  // namespace

void list_slacks(const LetterTable& queries, const LetterTable& targets, const PathRecipe& recipe, const ListedPair* pairs,
                 const int64_t* scores, int64_t count, int64_t* slacks, int threads) {
  const int64_t parts = (count + kPairsPerPart - 1) / kPairsPerPart;
  share(static_cast<size_t>(parts), threads, [&](size_t part) {
    BandBound bound(recipe);
    const auto numbers = [](const LetterTable& table, int64_t record) {
      std::array<int64_t, kLetters> of_code{};
      for (size_t c = 0; c < table.columns; c++) of_code[table.codes[c]] = table.counts[record * table.columns + c];
      return of_code;
    };
    const int64_t first = static_cast<int64_t>(part) * kPairsPerPart;
    for (int64_t k = first; k < std::min(count, first + kPairsPerPart); k++) {
      const LetterCounts query = bound.query_counts(numbers(queries, pairs[k].query).data());
      const LetterCounts target = bound.target_counts(numbers(targets, pairs[k].target).data());
      bound.set_pair(query, target);
      slacks[k] = bound.sufficient_slack(-1, scores ? scores[k] : bound.expected_score(pairs[k].edits));
    }
  });
}

bool list_paths(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const PathRecipe& recipe,
                const ListedPair* pairs, const int64_t* scores, int64_t count, PathSink& sink, const Cancel& cancel) {
  std::vector<int64_t> others;
  if (recipe.banded) {
    others = ListTracer(kernels, queries, targets, recipe, pairs, sink, cancel).align(count, scores);
  } else {
    for (int64_t k = 0; k < count; k++) others.push_back(k);
  }
  return !cancel.requested && trace_tiles(kernels, queries, targets, recipe, pairs, std::move(others), sink, cancel);
}

}  // namespace gpualign
