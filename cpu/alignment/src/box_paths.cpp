#include "box_paths.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace gpualign {
namespace {

constexpr int64_t kMaxBytes = 64 << 20;  // of the directions of a box

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
                segments = box_segments(query.length, static_cast<int>(lanes)), vectors = segments * target.length,
                scratch_vectors = segments * (recipe_.letters + 3);
  if (vectors * lanes + scratch_vectors * kernels_.vector_bytes > std::min(kMaxBytes, path_recipe_.worker_bytes)) return false;
  LocalArgs a = local_arguments(recipe_, cancel_);
  a.query = query.codes, a.rows = query.length;
  a.codes = target.codes, a.columns = target.length;
  a.scratch = scratch_.reserve(static_cast<size_t>(scratch_vectors * kernels_.vector_bytes));
  a.directions = static_cast<uint8_t*>(directions_.reserve(static_cast<size_t>(vectors * lanes)));
  int64_t best = -1;
  a.best = &best;
  kernels_.box[sizeof(E) == 2 ? 0 : 1](a);
  if (cancel_.requested) return false;
  if (best != score) throw std::logic_error("the path of a hit has another score");

  runs_.clear();
  Walk walk(query.codes, target.codes, {score, query.length, target.length}, sink.want_runs() ? &runs_ : nullptr);
  const uint8_t* directions = a.directions;
  walk.run(path_recipe_.usable, 0, 0, [=](int64_t i, int64_t j) {
    const int64_t row = i - 1;
    return static_cast<int>(directions[((j - 1) * segments + row % segments) * lanes + row / segments]);
  });
  walk.finish(false, false);
  sink.put(pair, score, walk.counts, runs_);
  return true;
}

}  // namespace gpualign
