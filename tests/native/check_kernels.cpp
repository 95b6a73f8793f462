// A stand-alone check of the CPU kernels against a plain DP: random pairs, every kernel family, every variant of the build.
// It needs no Python, so it runs under sanitizers, and cross-compiled under an emulator (see CONTRIBUTING.md).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "cpu/alignment/src/list_paths.hpp"
#include "cpu/alignment/src/local_paths.hpp"
#include "cpu/alignment/src/path_tile.hpp"
#include "cpu/alignment/src/tile.hpp"
#include "cpu/src/dispatch.hpp"

using namespace gpualign;
using Records = std::vector<std::vector<uint8_t>>;

namespace {

std::mt19937 random_engine(12345);
int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_engine); }

Records random_records(int count, int longest, int letters) {
  Records out(static_cast<size_t>(count));
  for (auto& record : out) {
    record.resize(static_cast<size_t>(pick(1, longest)));
    for (auto& code : record) code = static_cast<uint8_t>(pick(0, letters - 1));
    if (&record != &out[0] && pick(0, 1)) {  // a mutated copy of the first
      record = out[0];
      const int rarity = pick(9, 99);
      for (auto& code : record)
        if (pick(0, rarity) == 0) code = static_cast<uint8_t>(pick(0, letters - 1));
      const int cut = pick(0, std::min(40, static_cast<int>(record.size()) - 1)), at = pick(0, static_cast<int>(record.size()) - 1 - cut);
      record.erase(record.begin() + at, record.begin() + at + cut);
    }
  }
  return out;
}

struct Weights {
  int match, mismatch, open, extend;
};

// A row of the plain recurrences, without the sanitizers, under which they would take most of the time: they are not what is checked.
// h, f: the row above, whose h[0] is replaced by `first`; floor: of every score. Returns the best of the row.
__attribute__((no_sanitize("address", "undefined"))) int64_t plain_row(int letter, const uint8_t* target, size_t columns, const Weights& w,
                                                                       int64_t first, int64_t floor, int64_t* h, int64_t* f) {
  int64_t diagonal = h[0], e = -(int64_t(1) << 40), row_best = floor;
  h[0] = first;
  for (size_t j = 1; j <= columns; j++) {
    const int64_t closed = h[j - 1] - w.open, above = h[j] - w.open;
    e = e - w.extend > closed ? e - w.extend : closed;
    f[j] = f[j] - w.extend > above ? f[j] - w.extend : above;
    int64_t best = diagonal + (letter == target[j - 1] ? w.match : w.mismatch);
    if (e > best) best = e;
    if (f[j] > best) best = f[j];
    if (floor > best) best = floor;
    if (best > row_best) row_best = best;
    diagonal = h[j];
    h[j] = best;
  }
  return row_best;
}

int64_t plain_score(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, const Weights& w) {
  const size_t n = b.size();
  const int64_t never = -(int64_t(1) << 40);
  std::vector<int64_t> h(n + 1), f(n + 1, never);
  for (size_t j = 1; j <= n; j++) h[j] = -(w.open + int64_t(j - 1) * w.extend);
  for (size_t i = 1; i <= a.size(); i++)
    plain_row(a[i - 1], b.data(), n, w, -(w.open + int64_t(i - 1) * w.extend), 2 * never, h.data(), f.data());
  return h[n];
}

Recipe difference_recipe(const Weights& w, int letters, int width) {
  Recipe r;
  const int o = w.open - w.extend;
  r.width = width;
  r.letters = letters;
  r.open_extra = static_cast<uint32_t>(o);
  for (int i = 0; i < letters; i++)
    for (int j = 0; j < letters; j++)
      r.table[i * kLetters + j] = static_cast<uint32_t>(std::max(-2 * o, (i == j ? w.match : w.mismatch) + 2 * w.extend));
  r.per_letter = -w.extend;
  r.constant = -o;
  return r;
}

Recipe unary_recipe(const Weights& w, int letters) {
  Recipe r;
  r.family = Family::kBitsliced;
  r.letters = letters;
  const int match = w.match + 2 * w.open, mismatch = std::max(0, w.mismatch + 2 * w.open);
  const int factor = std::gcd(match, mismatch);  // as core/scoring/recurrence_forms.py does
  r.match_steps = match / factor;
  r.mismatch_steps = mismatch / factor;
  r.sum_factor = factor;
  r.per_letter = -w.open;
  return r;
}

int failures = 0;

// Every record against the first and the last, or against all: so many that queries share vectors.
void check(const Kernels& kernels, const char* what, const Records& records, const Weights& w, const Recipe& recipe, int sign,
           bool all = false) {
  std::vector<uint8_t> codes;
  std::vector<int64_t> offsets{0}, ids, queries{0, static_cast<int64_t>(records.size()) - 1};
  for (const auto& record : records) {
    codes.insert(codes.end(), record.begin(), record.end());
    offsets.push_back(static_cast<int64_t>(codes.size()));
    ids.push_back(static_cast<int64_t>(ids.size()));
  }
  if (all) queries = ids;
  const int64_t count = static_cast<int64_t>(ids.size()), query_count = static_cast<int64_t>(queries.size());
  std::vector<int32_t> scores(static_cast<size_t>(query_count * count), -1);
  const Sequences set{codes.data(), offsets.data()};
  const Pairing pairing = all ? Pairing::kAbove : Pairing::kAll;
  const Tile<int32_t> tile{queries.data(), query_count, ids.data(), count, pairing, scores.data()};
  Cancel cancel;
  score_tile(kernels, set, set, Recipes{recipe, recipe, 0}, tile, cancel);
  for (int64_t q = 0; q < query_count; q++)
    for (int64_t t = all ? q + 1 : 0; t < count; t++) {
      const int64_t expected = sign * plain_score(records[static_cast<size_t>(queries[q])], records[static_cast<size_t>(t)], w);
      if (scores[static_cast<size_t>(q * count + t)] == expected) continue;
      if (failures++ < 10)
        std::printf("%s, %s: pair %ld %ld is %d, not %ld\n", kernels.name, what, static_cast<long>(q), static_cast<long>(t),
                    scores[static_cast<size_t>(q * count + t)], static_cast<long>(expected));
    }
}

// What a path is worth that the runs of a pair describe; 2^40 less if it does not consume what the statistics say.
int64_t path_score(const PathSink& sink, size_t pair, const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, const Weights& w) {
  const PathStatistics& s = sink.statistics[pair];
  int64_t total = 0, i = s.query_start, j = s.target_start;
  int before = kEqual;
  for (int32_t k = 0; k < sink.sizes[pair]; k++) {
    const uint8_t run = sink.runs[static_cast<size_t>(sink.starts[pair] + k)];
    const int op = run & 3;
    for (int left = (run >> 2) + 1; left > 0; left--) {
      if (op == kInsertion || op == kDeletion)
        total -= op == before ? w.extend : w.open;
      else
        total += (a[static_cast<size_t>(i)] == b[static_cast<size_t>(j)]) == (op == kEqual) ? (op == kEqual ? w.match : w.mismatch)
                                                                                            : -(int64_t(1) << 40);
      i += op != kDeletion;
      j += op != kInsertion;
      before = op;
    }
  }
  return i == s.query_end && j == s.target_end ? total : total - (int64_t(1) << 40);
}

std::vector<uint8_t> runs_of(const PathSink& sink, size_t pair) {
  const auto start = sink.runs.begin() + sink.starts[pair];
  return {start, start + sink.sizes[pair]};
}

void check_paths(const Kernels& kernels, const char* what, const Records& records, const Weights& w, int letters, int width,
                 bool free_ends) {
  std::vector<uint8_t> codes;
  std::vector<int64_t> offsets{0}, ids;
  for (const auto& record : records) {
    codes.insert(codes.end(), record.begin(), record.end());
    offsets.push_back(static_cast<int64_t>(codes.size()));
    ids.push_back(static_cast<int64_t>(ids.size()));
  }
  PathRecipe recipe;
  recipe.differences = difference_recipe(w, letters, width);
  recipe.extend = static_cast<uint32_t>(w.extend);
  recipe.free_query = recipe.free_target = free_ends;
  recipe.worker_bytes = int64_t(1) << 26;
  for (int i = 0; i < kLetters * kLetters; i++) recipe.usable[i] = (i % (kLetters + 1) ? w.mismatch : w.match) >= -2 * w.open;
  const Sequences set{codes.data(), offsets.data()};
  const int64_t queries[] = {0, ids.back()}, count = static_cast<int64_t>(ids.size());
  PathSink sink(2 * count, true);
  Cancel cancel;
  path_tile(kernels, set, set, recipe, queries, 2, ids.data(), count, Pairing::kAll, sink, cancel);
  if (width == 8 && !free_ends) {
    PathSink again(2 * count, true);
    recipe.banded = true;
    path_tile(kernels, set, set, recipe, queries, 2, ids.data(), count, Pairing::kAll, again, cancel);
    for (size_t pair = 0; pair < sink.scores.size(); pair++)
      if (sink.scores[pair] != again.scores[pair] || runs_of(sink, pair) != runs_of(again, pair))
        if (failures++ < 10) std::printf("%s, %s: the path of pair %zu is another in a band\n", kernels.name, what, pair);
    std::vector<ListedPair> listed;
    for (int64_t repeat = 0; repeat < 8; repeat++)  // so many that they fill vectors
      for (const int64_t query : queries)
        for (const int64_t target : ids) listed.push_back({query, target, repeat * set.length(query) / 16});
    PathSink lanes(static_cast<int64_t>(listed.size()), true);
    list_paths(kernels, set, set, recipe, listed.data(), nullptr, static_cast<int64_t>(listed.size()), lanes, cancel);
    for (size_t pair = 0; pair < listed.size(); pair++)
      if (sink.scores[pair % (2 * ids.size())] != lanes.scores[pair] || runs_of(sink, pair % (2 * ids.size())) != runs_of(lanes, pair))
        if (failures++ < 10) std::printf("%s, %s: the path of listed pair %zu is another\n", kernels.name, what, pair);
  }
  if (w.match == 0 && w.mismatch == -1 && w.open == 1 && w.extend == 1 && !free_ends) {
    PathSink bits(2 * count, true);
    recipe.banded = false;
    recipe.sliced = true;
    path_tile(kernels, set, set, recipe, queries, 2, ids.data(), count, Pairing::kAll, bits, cancel);
    for (size_t pair = 0; pair < sink.scores.size(); pair++)
      if (sink.scores[pair] != -bits.scores[pair] || runs_of(sink, pair) != runs_of(bits, pair))
        if (failures++ < 10) std::printf("%s, %s: the path of pair %zu is another by bits\n", kernels.name, what, pair);
  }
  for (size_t q = 0; q < 2; q++)
    for (size_t t = 0; t < records.size(); t++) {
      const size_t pair = q * records.size() + t;
      const auto& a = records[static_cast<size_t>(queries[q])];
      const int64_t found = sink.scores[pair], worth = path_score(sink, pair, a, records[t], w), plain = plain_score(a, records[t], w);
      if (found == worth && (free_ends ? found >= plain : found == plain)) continue;
      if (failures++ < 10)
        std::printf("%s, %s: paths of pair %zu %zu: score %ld, path worth %ld, penalised ends %ld\n", kernels.name, what, q, t,
                    static_cast<long>(found), static_cast<long>(worth), static_cast<long>(plain));
    }
}

int64_t plain_local(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, const Weights& w) {
  int64_t best = 0;
  std::vector<int64_t> h(b.size() + 1, 0), f(b.size() + 1, 0);
  for (const uint8_t letter : a) best = std::max(best, plain_row(letter, b.data(), b.size(), w, 0, 0, h.data(), f.data()));
  return best;
}

// Local scores of two queries with all records, and the paths of those above 0.
void check_local(const Kernels& kernels, const char* what, const Records& records, const Weights& w, int letters, int narrowest,
                 int widest) {
  std::vector<uint8_t> codes;
  std::vector<int64_t> offsets{0}, ids;
  for (const auto& record : records) {
    codes.insert(codes.end(), record.begin(), record.end());
    offsets.push_back(static_cast<int64_t>(codes.size()));
    ids.push_back(static_cast<int64_t>(ids.size()));
  }
  LocalRecipe recipe;
  recipe.letters = letters + 1;
  recipe.padding = static_cast<uint8_t>(letters);
  recipe.open = w.open, recipe.extend = w.extend;
  recipe.narrowest = narrowest, recipe.widest = widest;
  recipe.byte_scores = w.match < 128 && w.mismatch >= -128;
  for (int i = 0; i < kLetters; i++)
    for (int j = 0; j < kLetters; j++)
      recipe.table[i * kLetters + j] = i >= letters || j >= letters ? std::min(-1, w.mismatch) : i == j ? w.match : w.mismatch;
  const Sequences set{codes.data(), offsets.data()};
  const int64_t count = static_cast<int64_t>(ids.size());
  const std::vector<int64_t> queries{0, ids.back()};
  std::vector<int64_t> scores(static_cast<size_t>(2 * count), -7);
  Cancel cancel;
  LocalHistory history(count);
  score_local_tile(kernels, set, set, recipe, history, Tile<int64_t>{queries.data(), 2, ids.data(), count, Pairing::kAll, scores.data()},
                   cancel);
  // The other way round, so that the queries lie in the lanes.
  std::vector<int64_t> turned(scores.size(), -7);
  LocalHistory other(count);
  score_local_tile(kernels, set, set, recipe, other, Tile<int64_t>{ids.data(), count, queries.data(), 2, Pairing::kAll, turned.data()},
                   cancel);
  // One by one, with the rows in the lanes.
  std::vector<int64_t> alone(scores.size(), -7);
  LocalRecipe striped = recipe;
  striped.most_columns = 0;  // too little memory for lanes
  score_local_tile(kernels, set, set, striped, other, Tile<int64_t>{queries.data(), 2, ids.data(), count, Pairing::kAll, alone.data()},
                   cancel);

  PathRecipe paths;
  paths.differences = difference_recipe(w, letters, w.match + 2 * w.extend + 4 * (w.open - w.extend) < 256 ? 8 : 32);
  paths.extend = static_cast<uint32_t>(w.extend);
  paths.banded = paths.differences.width == 8;
  for (int i = 0; i < kLetters * kLetters; i++) paths.usable[i] = (i % (kLetters + 1) ? w.mismatch : w.match) >= -2 * w.open;
  std::vector<LocalHit> hits;
  for (size_t q = 0; q < 2; q++)
    for (size_t t = 0; t < records.size(); t++) {
      const size_t pair = q * records.size() + t;
      const int64_t expected = plain_local(records[static_cast<size_t>(queries[q])], records[t], w);
      if (expected > 0) hits.push_back({queries[q], static_cast<int64_t>(t), expected});
      if (scores[pair] == expected && turned[2 * t + q] == expected && alone[pair] == expected) continue;
      if (failures++ < 10)
        std::printf("%s, %s: local pair %zu %zu is %ld, %ld and %ld, not %ld\n", kernels.name, what, q, t, static_cast<long>(scores[pair]),
                    static_cast<long>(turned[2 * t + q]), static_cast<long>(alone[pair]), static_cast<long>(expected));
    }
  // Of the smaller memory, boxes of 1,500 letters are traced in strips.
  for (const int64_t bytes : {int64_t(1) << 26, int64_t(1) << 19}) {
    paths.worker_bytes = bytes;
    PathSink sink(static_cast<int64_t>(hits.size()), true);
    trace_local_hits(kernels, set, set, recipe, paths, hits.data(), static_cast<int64_t>(hits.size()), sink, cancel);
    for (size_t k = 0; k < hits.size(); k++) {
      const std::vector<uint8_t>&query = records[static_cast<size_t>(hits[k].query)],
            &target = records[static_cast<size_t>(hits[k].target)];
      const int64_t worth = path_score(sink, k, query, target, w);
      if (worth != hits[k].score && failures++ < 10)
        std::printf("%s, %s: the path of hit %zu is worth %ld, not %ld\n", kernels.name, what, k, static_cast<long>(worth),
                    static_cast<long>(hits[k].score));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  for (const auto& variant : variants<Kernels>()) {
    if (!variant.supported) continue;
    const Kernels& kernels = *variant.kernels;
    for (int round = 0; round < rounds; round++) {
      for (const int letters : {2, 4, 15, 27}) {
        const Records few = random_records(pick(1, 2 * kernels.vector_bytes), 90, letters), one = random_records(2, 1500, letters),
                      many = random_records(8 * kernels.vector_bytes + 3, 70, letters);
        check(kernels, "linear, bytes", few, {5, -4, 6, 6}, difference_recipe({5, -4, 6, 6}, letters, 8), 1);
        check(kernels, "affine, bytes", few, {5, -4, 10, 1}, difference_recipe({5, -4, 10, 1}, letters, 8), 1);
        check(kernels, "affine, dear mismatches", few, {5, -60, 10, 1}, difference_recipe({5, -60, 10, 1}, letters, 8), 1);
        check(kernels, "affine, 16 bits", few, {91, -114, 400, 30}, difference_recipe({91, -114, 400, 30}, letters, 16), 1);
        check(kernels, "affine, 32 bits", few, {90000, -70000, 40000, 3}, difference_recipe({90000, -70000, 40000, 3}, letters, 32), 1);
        for (const Weights& w : {Weights{2, -1, 1, 1}, {1, -1, 1, 1}, {1, 0, 1, 1}, {1, -2, 1, 1}, {2, 1, 1, 1}, {1, 0, 0, 0}})
          check(kernels, "unary", many, w, unary_recipe(w, letters), 1);
        Recipe edit = unary_recipe({0, -1, 1, 1}, letters);
        edit.sum_factor = -1;
        edit.per_letter = 1;
        edit.pairs = Recipe::Pairs::kMyers;
        edit.slice_columns = 1 << 20;
        check(kernels, "edit, bit-sliced", many, {0, -1, 1, 1}, edit, -1);
        const Records small = random_records(pick(2, 45), 150, letters);
        check(kernels, "edit, shared vectors", small, {0, -1, 1, 1}, edit, -1, true);
        check(kernels, "unary, shared vectors", small, {2, -1, 1, 1}, unary_recipe({2, -1, 1, 1}, letters), 1, true);
        check(kernels, "edit, Myers", one, {0, -1, 1, 1}, edit, -1);
        for (const bool free_ends : {false, true}) {
          for (const Records* records : {&few, &one}) {
            check_paths(kernels, "linear", *records, {5, -4, 6, 6}, letters, 8, free_ends);
            check_paths(kernels, "affine", *records, {5, -4, 10, 1}, letters, 8, free_ends);
            check_paths(kernels, "dear mismatches", *records, {5, -60, 10, 1}, letters, 8, free_ends);
            check_paths(kernels, "16 bits", *records, {91, -114, 400, 30}, letters, 16, free_ends);
          }
          check_paths(kernels, "edit", many, {0, -1, 1, 1}, letters, 8, free_ends);
          check_paths(kernels, "32 bits", few, {90000, -70000, 40000, 3}, letters, 32, free_ends);
        }
        check_local(kernels, "local, linear", few, {5, -4, 6, 6}, letters, 1, 4);
        for (const Records* records : {&few, &one}) check_local(kernels, "local, affine", *records, {5, -4, 12, 2}, letters, 1, 4);
        check_local(kernels, "local, 16 bits", few, {300, -200, 500, 30}, letters, 2, 4);
        check_local(kernels, "local, 32 bits", few, {90000, -70000, 140000, 3}, letters, 4, 4);
        check_local(kernels, "local, 64 bits", few, {90000, -70000, 140000, 3}, letters, 8, 8);
        for (const Weights& w : {Weights{5, -4, 6, 6}, {5, -4, 10, 1}, {5, -60, 10, 1}}) {
          Recipe pairs = difference_recipe(w, letters, 8);
          pairs.pairs = Recipe::Pairs::kWavefront;
          check(kernels, "wavefront", one, w, pairs, 1);
        }
      }
    }
    std::printf("%s: checked\n", kernels.name);
  }
  std::printf("%d failures\n", failures);
  return failures != 0;
}
