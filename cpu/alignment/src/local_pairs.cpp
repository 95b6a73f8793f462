#include "local_pairs.hpp"

#include <iterator>

namespace gpualign {

Record reversed(Record record, std::vector<uint8_t>& out) {
  out.assign(std::make_reverse_iterator(record.codes + record.length), std::make_reverse_iterator(record.codes));
  return {out.data(), record.length};
}

LocalPairs::LocalPairs(const Kernels& kernels, const LocalRecipe& recipe, const Cancel& cancel)
    : kernels_(kernels), recipe_(recipe), cancel_(cancel), arguments_(local_arguments(recipe, cancel)) {
  recipe.transpose(transposed_);
}

LocalArgs LocalPairs::arguments(Record query, Record target, int width) {
  LocalArgs a = arguments_;
  a.rows_first = target.length > query.length;
  const Record rows = a.rows_first ? target : query, columns = a.rows_first ? query : target;
  if (a.rows_first) a.table = transposed_;
  a.query = rows.codes;
  a.rows = rows.length;
  a.codes = columns.codes;
  a.columns = columns.length;
  a.boundary = boundary_.reserve(static_cast<size_t>(2 * a.columns * width));
  const int64_t vectors = (a.letters + 2) * striped_segments(a.rows, kernels_.vector_bytes / width);
  a.scratch = scratch_.reserve(static_cast<size_t>(vectors * kernels_.vector_bytes));
  return a;
}

int64_t LocalPairs::score(Record query, Record target, int width) {
  for (;; width = wider_local(recipe_, width)) {
    int64_t best = 0;
    LocalArgs a = arguments(query, target, width);
    a.best = &best;
    kernels_.striped[local_kernel(width)](a);
    if (cancel_.requested) return -1;
    if (best < local_limit(recipe_, width)) return best;
  }
}

int64_t LocalPairs::score(Record query, Record target, const Exclusions& exclusions) {
  const int width = width_of(exclusions);
  int64_t best = 0;
  LocalArgs a = arguments(query, target, width);
  exclude(exclusions.pairs, a);
  a.best = &best;
  kernels_.striped[local_kernel(width)](a);
  return cancel_.requested ? -1 : best;
}

void LocalPairs::exclude(const std::vector<LetterPair>& pairs, LocalArgs& a) {
  excluded_.set(pairs, a.rows, a.columns, [&](LetterPair p) { return a.rows_first ? LetterPair{p.target, p.query} : p; });
  a.excluded_bounds = excluded_.bounds.data();
  a.excluded_rows = excluded_.rows.data();
}

int LocalPairs::width_of(const Exclusions& exclusions) const {
  int width = recipe_.narrowest;
  // Half of the range, see striped.hpp. A path that begins in the corner scores one more.
  while (width < recipe_.widest && max_local_score(recipe_, width) / 2 <= exclusions.max_score + 1) width = wider_local(recipe_, width);
  return width;
}

LetterPair LocalPairs::find_end(Record query, Record target, int64_t score, bool from_corner, const Exclusions* exclusions) {
  int width = exclusions ? width_of(*exclusions) : recipe_.narrowest;
  while (width < recipe_.widest && max_local_score(recipe_, width) <= score) width = wider_local(recipe_, width);
  const int64_t seed = 0;
  int64_t row = -1, column = -1;
  LocalArgs a = arguments(query, target, width);
  if (exclusions) exclude(exclusions->pairs, a);
  a.goals = &score;
  a.seeds = from_corner ? &seed : nullptr;
  a.seed_score = 1;
  a.end_rows = &row;
  a.end_columns = &column;
  kernels_.find_striped[local_kernel(width)](a);
  return a.rows_first ? LetterPair{column, row} : LetterPair{row, column};
}

}  // namespace gpualign
