#include "tile.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace gpualign {
namespace {

// Memory aligned for the widest vectors; grows, never shrinks.
class Scratch {
 public:
  void* reserve(size_t bytes) {
    if (bytes > size_) {
      data_.reset();
      data_.reset(static_cast<uint8_t*>(::operator new(bytes, std::align_val_t(64))));
      size_ = bytes;
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t size_ = 0;
};

int64_t padded(int64_t columns) { return (columns + kColumnsAtATime - 1) / kColumnsAtATime * kColumnsAtATime; }

// Relative cost of one vector step of the bit-sliced and the Myers kernel on a strip; measured on Zen 5 (benchmarks/),
// where the ratio was 4 to 6 for every vector size. Only speed depends on it.
constexpr double kMyersStepCost = 5.0;

constexpr int kMostPlanes = 5;
// Bit planes of a whole block of targets are kept between queries up to this size; of longer ones, one target's at a time.
constexpr int64_t kPlaneBytes = 32 << 20;

bool wanted(Pairing pairing, int64_t query, int64_t target) {
  return pairing == Pairing::kAll || target > query || (pairing == Pairing::kAboveOrEqual && target == query);
}

template <class Score>
class TileScorer {
 public:
  TileScorer(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const Recipe& recipe, const Tile<Score>& tile,
             const Cancel& cancel)
      : kernels_(kernels), queries_(queries), targets_(targets), recipe_(recipe), tile_(tile), cancel_(cancel) {
    const bool bits = recipe.family == Family::kBitsliced;
    lanes_ = bits ? kernels.vector_bytes * 8 : kernels.vector_bytes * 8 / recipe.width;
    sums_.resize(static_cast<size_t>(lanes_));
    lengths_.resize(static_cast<size_t>(lanes_));
  }

  // Scores the tile's targets from `first` on while at least `least` are left. Returns the first target left over.
  int64_t run(int64_t first, int64_t least) {
    for (; first < tile_.target_count && tile_.target_count - first >= least; first += lanes_) {
      first_ = first;
      used_ = static_cast<int>(std::min<int64_t>(lanes_, tile_.target_count - first));
      columns_ = 0;
      for (int k = 0; k < lanes_; k++) {
        lengths_[k] = k < used_ ? targets_.length(target(k)) : 0;
        columns_ = std::max(columns_, padded(lengths_[k]));
      }
      packed_ = false;
      planes_.clear();
      int64_t letters = 0;
      for (int k = 0; k < used_; k++) letters += lengths_[k];
      keep_planes_ = kMostPlanes * letters <= kPlaneBytes;
      for (int64_t q = 0; q < tile_.query_count; q++) {
        if (cancel_.requested) return first;
        score_query(q);
      }
    }
    return first;
  }

 private:
  int64_t target(int k) const { return tile_.target_ids[first_ + k]; }

  void score_query(int64_t q) {
    const int64_t id = tile_.query_ids[q];
    int live = 0;
    for (int k = 0; k < used_; k++) live += wanted(tile_.pairing, id, target(k));
    if (!live) return;
    const int64_t rows = queries_.length(id);
    if (recipe_.myers && prefer_myers(id, rows))
      return myers_pairs(q, id, rows);
    const uint8_t* query = queries_.codes + queries_.offsets[id];
    if (recipe_.family == Family::kBitsliced)
      run_bitsliced(query, rows);
    else
      run_difference(query, rows);
    if (cancel_.requested) return;
    for (int k = 0; k < used_; k++)
      if (wanted(tile_.pairing, id, target(k))) store(q, k, sums_[k], rows);
  }

  void store(int64_t q, int k, int64_t sum, int64_t rows) {
    const int64_t n = lengths_[k];
    tile_.scores[q * tile_.target_count + first_ + k] =
        static_cast<Score>(recipe_.sum_factor * sum + recipe_.per_letter * (rows + n) + recipe_.per_column * n + recipe_.constant);
  }

  // ---- difference kernels
  void run_difference(const uint8_t* query, int64_t rows) {
    if (!packed_) pack_codes();
    DifferenceArgs a;
    a.query = query;
    a.rows = rows;
    a.codes = static_cast<const uint8_t*>(codes_.reserve(0));
    a.columns = columns_;
    a.lengths = lengths_.data();
    a.table = recipe_.table;
    a.letters = recipe_.letters;
    a.open_extra = recipe_.open_extra;
    a.tight = recipe_.tight;
    a.boundary = boundary_.reserve(static_cast<size_t>(columns_) * 2 * kernels_.vector_bytes);
    a.sums = sums_.data();
    a.cancel = &cancel_;
    (recipe_.width == 8 ? kernels_.difference8 : recipe_.width == 16 ? kernels_.difference16 : kernels_.difference32)(a);
  }

  void pack_codes() {
    uint8_t* out = static_cast<uint8_t*>(codes_.reserve(static_cast<size_t>(columns_) * lanes_));
    std::memset(out, 0, static_cast<size_t>(columns_) * lanes_);
    for (int k = 0; k < used_; k++) {
      const uint8_t* codes = targets_.codes + targets_.offsets[target(k)];
      for (int64_t j = 0; j < lengths_[k]; j++) out[j * lanes_ + k] = codes[j];
    }
    packed_ = true;
  }

  // ---- bit-sliced kernels
  void run_bitsliced(const uint8_t* query, int64_t rows) {
    if (!packed_) pack_masks();
    row_slots_.resize(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; i++) row_slots_[i] = slot_of_[query[i]];
    BitslicedArgs a;
    a.slots = row_slots_.data();
    a.rows = rows;
    a.masks = masks_.reserve(0);
    a.column_bytes = column_bytes_;
    a.columns = columns_;
    a.live = live_.reserve(0);
    a.match_steps = recipe_.match_steps;
    a.mismatch_steps = recipe_.mismatch_steps;
    a.boundary = boundary_.reserve(static_cast<size_t>(columns_) * recipe_.match_steps * kernels_.vector_bytes);
    a.sums = sums_.data();
    a.cancel = &cancel_;
    kernels_.bitsliced(a);
  }

  void pack_masks() {
    // Slots for the letters that occur, most frequent first so that they share cache lines; the last one is all zeros.
    std::array<int64_t, kLetters> count{};
    for (int k = 0; k < used_; k++) {
      const uint8_t* codes = targets_.codes + targets_.offsets[target(k)];
      for (int64_t j = 0; j < lengths_[k]; j++) count[codes[j]]++;
    }
    std::array<int, kLetters> order;
    for (int l = 0; l < kLetters; l++) order[l] = l;
    std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return count[x] > count[y]; });
    const int vector = kernels_.vector_bytes;
    int slots = 0;
    while (slots < kLetters && count[order[slots]]) slots++;
    for (int s = 0; s < kLetters; s++) slot_of_[order[s]] = static_cast<uint32_t>(std::min(s, slots) * vector);
    column_bytes_ = static_cast<int64_t>(slots + 1) * vector;

    uint8_t* masks = static_cast<uint8_t*>(masks_.reserve(static_cast<size_t>(columns_ * column_bytes_)));
    uint8_t* live = static_cast<uint8_t*>(live_.reserve(static_cast<size_t>(columns_ * vector)));
    std::memset(masks, 0, static_cast<size_t>(columns_ * column_bytes_));
    std::memset(live, 0, static_cast<size_t>(columns_ * vector));
    for (int k = 0; k < used_; k++) {
      const uint8_t* codes = targets_.codes + targets_.offsets[target(k)];
      // Bit k of a vector of 64-bit words, on little-endian machines bit k % 8 of byte k / 8.
      const uint8_t bit = static_cast<uint8_t>(1u << (k % 8));
      for (int64_t j = 0; j < lengths_[k]; j++) {
        masks[j * column_bytes_ + slot_of_[codes[j]] + k / 8] |= bit;
        live[j * vector + k / 8] |= bit;
      }
    }
    packed_ = true;
  }

  // ---- Myers' words, a pair at a time
  struct Planes {
    std::vector<uint8_t> bytes;
    int64_t stride = 0;
    int bits = 0;
  };

  static int bits_of(const uint8_t* codes, int64_t length) {
    uint8_t all = 0;
    for (int64_t i = 0; i < length; i++) all |= codes[i];
    return all < 4 ? 2 : all < 16 ? 4 : 5;
  }

  // The rule: the kernel with fewer weighted vector steps. A bit-sliced step advances one row of one column for all lanes,
  // wanted or not; a Myers step one column of a strip of one pair.
  bool prefer_myers(int64_t id, int64_t rows) const {
    if (columns_ > recipe_.slice_columns) return true;
    const int64_t strips = (rows + kernels_.myers_rows - 1) / kernels_.myers_rows;
    const int vectors = kernels_.myers_rows / (kernels_.vector_bytes * 8);
    double steps = 0;
    for (int k = 0; k < used_; k++)
      if (wanted(tile_.pairing, id, target(k))) steps += static_cast<double>(strips * vectors) * static_cast<double>(lengths_[k] + 64);
    return steps * kMyersStepCost < static_cast<double>(rows) * static_cast<double>(columns_);
  }

  void myers_pairs(int64_t q, int64_t id, int64_t rows) {
    const uint8_t* query = queries_.codes + queries_.offsets[id];
    const int query_bits = bits_of(query, rows);
    if (planes_.empty()) planes_.resize(keep_planes_ ? static_cast<size_t>(used_) : 1);
    for (int k = 0; k < used_ && !cancel_.requested; k++) {
      if (!wanted(tile_.pairing, id, target(k))) continue;
      const int64_t distance = myers_distance(query, rows, query_bits, k);
      if (distance >= 0) store(q, k, rows + lengths_[k] - distance, rows);  // as the sum of the bit-sliced kernel
    }
  }

  int64_t myers_distance(const uint8_t* query, int64_t rows, int query_bits, int k) {
    const int64_t columns = lengths_[k];
    const Planes& planes = planes_of(k);
    MyersArgs a;
    a.query = query;
    a.rows = rows;
    a.bits = std::max(query_bits, planes.bits);
    a.target_bits = planes.bytes.data() + kMyersMargin;
    a.plane_bytes = planes.stride;
    a.columns = columns;
    a.boundary = static_cast<uint8_t*>(boundary_.reserve(static_cast<size_t>(columns)));
    a.cancel = &cancel_;
    // Ukkonen's doubling. A band narrower than half a strip saves nothing. An upper bound from a narrow band also says how
    // wide the next one has to be at most.
    const int64_t skew = std::abs(columns - rows), everything = std::max(rows, columns);
    a.width = std::min<int64_t>(everything, kernels_.myers_rows);
    for (;;) {
      const int64_t distance = kernels_.myers(a);
      if (distance < 0 || distance <= skew + 2 * a.width + 1 || a.width >= everything) return distance;
      a.width = std::min({everything, 4 * a.width, (distance - skew) / 2 + 1});
    }
  }

  const Planes& planes_of(int k) {
    Planes& p = planes_[keep_planes_ ? k : 0];
    if (keep_planes_ && !p.bytes.empty()) return p;
    const int64_t n = lengths_[k];
    const uint8_t* codes = targets_.codes + targets_.offsets[target(k)];
    p.bits = bits_of(codes, n);
    p.stride = n + 2 * kMyersMargin;
    p.bytes.assign(static_cast<size_t>(kMostPlanes * p.stride), 0);  // planes above p.bits stay zero: a longer query alphabet may ask
    for (int b = 0; b < p.bits; b++) {
      uint8_t* plane = p.bytes.data() + b * p.stride + kMyersMargin;
      for (int64_t j = 0; j < n; j++) plane[n - 1 - j] = static_cast<uint8_t>(0 - ((codes[j] >> b) & 1));
    }
    return p;
  }

  const Kernels& kernels_;
  const Sequences& queries_;
  const Sequences& targets_;
  const Recipe& recipe_;
  const Tile<Score>& tile_;
  const Cancel& cancel_;

  int lanes_ = 0;
  // The block of targets in the lanes.
  int64_t first_ = 0, columns_ = 0;
  int used_ = 0;
  bool packed_ = false, keep_planes_ = false;
  std::vector<int64_t> lengths_, sums_;
  Scratch codes_, masks_, live_, boundary_;
  std::array<uint32_t, kLetters> slot_of_{};
  int64_t column_bytes_ = 0;
  std::vector<uint32_t> row_slots_;
  std::vector<Planes> planes_;
};

}  // namespace

template <class Score>
bool score_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const Recipes& recipes, const Tile<Score>& tile,
                const Cancel& cancel) {
  const int64_t left = TileScorer<Score>(kernels, queries, targets, recipes.main, tile, cancel).run(0, recipes.rest_below);
  if (!cancel.requested) TileScorer<Score>(kernels, queries, targets, recipes.rest, tile, cancel).run(left, 0);
  return !cancel.requested;
}

template bool score_tile(const Kernels&, const Sequences&, const Sequences&, const Recipes&, const Tile<int32_t>&, const Cancel&);
template bool score_tile(const Kernels&, const Sequences&, const Sequences&, const Recipes&, const Tile<int64_t>&, const Cancel&);

}  // namespace gpualign
