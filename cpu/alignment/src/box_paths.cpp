#include "box_paths.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace gpualign {
namespace {

constexpr int64_t kMaxBytes = 64 << 20;  // of a box

// Returns the number of columns per strip with which the directions of a strip and the states between strips take at most `bytes` bytes; 0
// if there is no such number.
int64_t columns_of_strips(int64_t columns, int64_t column_bytes, int64_t state_bytes, int64_t bytes) {
  for (int64_t strips = 1; strips <= columns; strips++) {
    const int64_t left = bytes - (strips - 1) * state_bytes, wanted = (columns + strips - 1) / strips;
    if (left < column_bytes) return 0;
    if (wanted * column_bytes <= left) return wanted;
  }
  return 0;
}

}  // namespace

BoxPaths::BoxPaths(const Kernels& kernels, const LocalRecipe& recipe, const PathRecipe& path_recipe, const Cancel& cancel)
    : kernels_(kernels), recipe_(recipe), path_recipe_(path_recipe), cancel_(cancel) {}

bool BoxPaths::align(Record query, Record target, int64_t score, int64_t pair, PathSink& sink) {
  if (recipe_.narrowest <= 2 && score <= UINT16_MAX - 1) return align_as<int16_t>(query, target, score, pair, sink);
  if (recipe_.narrowest <= 4 && score < INT32_MAX - 1) return align_as<int32_t>(query, target, score, pair, sink);
  return false;
}

template <class E>
bool BoxPaths::align_as(Record query, Record target, int64_t score, int64_t pair, PathSink& sink) {
  const int64_t lanes = kernels_.vector_bytes / static_cast<int64_t>(sizeof(E)),
                segments = box_segments(query.length, static_cast<int>(lanes)), column_bytes = segments * lanes,
                state_bytes = 2 * segments * kernels_.vector_bytes,
                scratch_bytes = box_scratch_vectors(recipe_.letters, segments) * kernels_.vector_bytes;
  const int64_t strip_columns =
      columns_of_strips(target.length, column_bytes, state_bytes, std::min(kMaxBytes, path_recipe_.worker_bytes) - scratch_bytes);
  if (!strip_columns || (strip_columns < target.length && path_recipe_.differences.width == 8)) return false;
  const int64_t last_strip = (target.length - 1) / strip_columns;
  LocalArgs a = local_arguments(recipe_, cancel_);
  a.query = query.codes, a.rows = query.length;
  a.codes = target.codes;
  a.scratch = scratch_.reserve(static_cast<size_t>(scratch_bytes));
  a.directions = static_cast<uint8_t*>(directions_.reserve(static_cast<size_t>(strip_columns * column_bytes)));
  uint8_t* const state = static_cast<uint8_t*>(a.scratch) + box_state_start(recipe_.letters, segments) * kernels_.vector_bytes;
  uint8_t* const states = static_cast<uint8_t*>(states_.reserve(static_cast<size_t>(last_strip * state_bytes)));  // before strips 1, ...
  int64_t best = -1;
  a.best = &best;
  const auto compute = [&](int64_t strip) {
    a.first_column = strip * strip_columns;
    a.columns = std::min(target.length, a.first_column + strip_columns);
    kernels_.box[sizeof(E) == 2 ? 0 : 1](a);
    return !cancel_.requested;
  };
  for (int64_t strip = 0; strip <= last_strip; strip++) {
    if (strip) memcpy(states + (strip - 1) * state_bytes, state, static_cast<size_t>(state_bytes));
    if (!compute(strip)) return false;
  }
  if (best != score) throw std::logic_error("the path of a hit has another score");

  runs_.clear();
  Walk walk(query.codes, target.codes, {score, query.length, target.length}, sink.want_runs() ? &runs_ : nullptr);
  const uint8_t* directions = a.directions;
  for (int64_t strip = last_strip;; strip--) {
    const int64_t left = strip * strip_columns;
    walk.run(path_recipe_.usable, 0, left, [=](int64_t i, int64_t j) {
      const int64_t row = i - 1;
      return static_cast<int>(directions[((j - 1 - left) * segments + row % segments) * lanes + row / segments]);
    });
    if (!strip || walk.at_edge()) break;
    if (strip > 1) memcpy(state, states + (strip - 2) * state_bytes, static_cast<size_t>(state_bytes));
    if (!compute(strip - 1)) return false;
  }
  walk.finish(false, false);
  sink.put(pair, score, walk.counts, runs_);
  return true;
}

}  // namespace gpualign
