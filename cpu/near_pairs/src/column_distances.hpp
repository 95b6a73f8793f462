// Near pairs by distances along columns: short strings with one gap, at a fixed position, as TCRdist compares CDR3s, or at any position.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/src/work.hpp"
#include "near_tile.hpp"

namespace gpualign {

// The distance of strings of m and n letters, s = min(m, n): weight * (costs of the letters in the same column) + gap(|m - n|). The first
// g letters of both are in the same columns, and so are the last s - g; if m = n, all are. The first trim_start letters and the last
// trim_end cost nothing. g = min(6, 3 + floor((s - 5) / 2)) (Dash et al. 2017, https://doi.org/10.1038/nature22383, as in pwseqdist).
//
// With gap_is_free each letter of the shorter string costs the lower of two costs instead: with the letter as far from the start of the
// longer one, and with that as far from its end. This is a lower bound of the distance with the gap at its best position.
struct ColumnDistance {
  const uint8_t* costs;  // [32][32], symmetric
  int largest_cost;
  int weight;
  int gap_open, gap_extend;  // costs of the first letter and of each further letter of a difference in length
  int trim_start, trim_end;  // 0 with gap_is_free
  bool gap_is_free;

  int64_t gap(int64_t letters) const { return letters ? gap_open + (letters - 1) * static_cast<int64_t>(gap_extend) : 0; }
};

constexpr int kMaxColumnSum(int largest_cost) { return 253 - 2 * largest_cost; }

// Returns the positions of a string of n letters in the order in which they are compared: those on both sides of the usual gap first, as
// they differ most and are rarely in the gap.
std::vector<int32_t> comparison_order(int32_t n);

struct ColumnPanel;

// Targets in panels, which several threads may read at the same time.
class ColumnTargets {
 public:
  // ids: [count] targets in ascending order of length, those of one length by label, then by the letters that are compared first. labels:
  // [records], such as numbers of V genes; null: none. The arrays must outlive this object.
  ColumnTargets(const Sequences& records, const int64_t* ids, int64_t count, const int32_t* labels);
  ColumnTargets(ColumnTargets&&) noexcept;
  ~ColumnTargets();

  int64_t panel_count() const { return static_cast<int64_t>(starts_.size()) - 1; }
  // Fills a panel. Different threads may fill different panels at the same time.
  void fill(int64_t panel);
  bool is_filled() const;

 private:
  friend bool column_pairs(const NearKernels&, const struct ColumnTile&, const ColumnDistance&, const Cancel&, NearTileResult&);
  Sequences records_;
  const int64_t* ids_;
  const int32_t* labels_;
  std::vector<int64_t> starts_;  // [panels + 1] positions in ids_
  std::vector<std::unique_ptr<ColumnPanel>> panels_;
};

struct ColumnTile {
  Sequences queries;
  const int64_t* query_ids;  // [query_count]
  const int64_t* firsts;     // [query_count] smallest target record that each query is compared with
  int64_t query_count;
  const ColumnTargets& targets;    // filled
  const int32_t* labels;           // of queries, [records]; null: no labels
  const int32_t* label_distances;  // [label_count][label_count], at least 0, added to the distances of the strings
  int64_t label_count;
  int64_t max_distance;
  int64_t max_pairs;  // near pairs that the result may hold
};

// Finds the near pairs of a tile, in any order. Returns false if cancelled.
bool column_pairs(const NearKernels& kernels, const ColumnTile& tile, const ColumnDistance& distance, const Cancel& cancel,
                  NearTileResult& result);

}  // namespace gpualign
