// What the kernels of near pairs share: records as they store them, the bound on the edit distance, and lists of pairs.
//
// Glossary
//   record     a sequence: a query or a target
//   rank       number of a letter among the letters in use, 0 .. ; a plane has one bit of the ranks of a record's letters
//   sketch     set of the hashed q-grams (substrings of q letters) of a record, one bit each
//   rectangle  some queries (rows) by some targets (columns), which are compared at a time
//   candidate  pair of a rectangle that the screen has not excluded
//   slack      q-grams that one record of a pair within the bound may have, and the other not
//
// Near pairs are found in one rectangle after another: near_gather.cu gathers the sketches of its records, near_screen.cu or
// near_screen_wgmma.cu compares all pairs by lengths and sketches, near_verify.cu computes the distances of the candidates.
// core/near_pairs/filter_cascade.py proves that no step loses a pair within the bound.
#pragma once

#include "portable.cuh"

// A set of records, made by near_records.cu.
struct NearRecords {
  uint32_t* planes;  // record r from starts[r] on: [(length + 31) / 32][plane]; bit i of word w belongs to letter 32 w + i
  int64_t* starts;
  int32_t* lengths;
  uint32_t* sketches;        // [records][words of a sketch]
  int32_t* sizes;            // [records] bits that are set in a sketch
  const int32_t* ambiguous;  // [records] ambiguity letters, each of which may hide an edit
};
SAME_AS_ON_HOST(NearRecords);

// EditBound of core/scoring/edit_bounds.py, of records without ambiguity letters.
struct NearBound {
  double per_letter, per_shorter, constant;
  double inside, coverage;
  int32_t coverage_of_shorter;  // 0 or 1
  // PairingGains: of two equal letters whose ranks are below `ordinary`, and of any two.
  int32_t equal_gain, other_gain, ordinary;
};
SAME_AS_ON_HOST(NearBound);

// A pair of records. The functions that follow round as core/scoring/edit_bounds.py does.
struct NearLengths {
  int32_t m, n;       // letters
  int32_t ambiguous;  // ambiguity letters of both
};

// Returns the largest distance within the bound; -1 if there is none. A distance is never more than the longer length.
DEVICE int32_t max_edits(const NearBound& bound, const NearLengths& pair) {
  const int32_t m = pair.m, n = pair.n;
  const int32_t shorter = m < n ? m : n, longer = m < n ? n : m;
  const double letters = double_product(bound.per_letter, static_cast<double>(m) + n);
  const int64_t edits =
      floor_of(double_sum(double_sum(letters, double_product(bound.per_shorter, shorter)), bound.constant)) + pair.ambiguous;
  return edits < longer ? static_cast<int32_t>(edits < -1 ? -1 : edits) : longer;
}

constexpr double kRounding = 1e-6;  // as in core/scoring/edit_bounds.py

// Returns the largest number of edits between the first and the last pair of letters that a coverage allows.
DEVICE int64_t max_edits_inside(const NearBound& bound, const NearLengths& pair) {
  return floor_of(double_sum(double_product(bound.inside, pair.m < pair.n ? pair.m : pair.n), kRounding)) + pair.ambiguous;
}

// Returns the maximum number of letters, of a record of `own` letters, that a coverage allows outside the first and the last pair of
// letters, both ends together. If it is below 0, no pair of records with these lengths is within the bound.
DEVICE int64_t max_overhang(const NearBound& bound, int32_t own, int32_t other) {
  const int32_t covered = (own < other) == (bound.coverage_of_shorter != 0) ? own : other;
  return floor_of(double_sum(double_sum(own, -double_product(bound.coverage, covered)), kRounding));
}

// Returns the maximum number of distinct q-grams of the record of m letters that the other one lacks, by all bounds but q max_edits()
// (EditBound.max_different_grams).
DEVICE int64_t max_unshared_grams(const NearBound& bound, int32_t q, const NearLengths& pair) {
  const int32_t shorter = pair.m < pair.n ? pair.m : pair.n;
  const int64_t outside = max_overhang(bound, shorter, pair.m < pair.n ? pair.n : pair.m);
  if (outside < 0) return 0;
  const double per_letter = double_product(bound.inside, q), none_outside = double_product(per_letter, shorter),
               all_outside = double_sum(static_cast<double>(outside), double_product(per_letter, static_cast<double>(shorter - outside)));
  const double lost = double_sum(none_outside > all_outside ? none_outside : all_outside, static_cast<double>(q) * pair.ambiguous);
  const int64_t together = pair.m - shorter + floor_of(double_sum(lost, kRounding));
  const int64_t apart = q * max_edits_inside(bound, pair) + max_overhang(bound, pair.m, pair.n);
  return together < apart ? together : apart;
}

// The limits of all rows of one length.
struct NearLimits {
  int32_t first, stop;  // columns whose lengths are within the bound: first .. stop - 1
  int32_t slack;        // the largest slack of its pairs, not counting ambiguity letters
};
SAME_AS_ON_HOST(NearLimits);

// A row of a rectangle, i.e. a query.
struct NearRow {
  int32_t first, stop;  // columns whose lengths are within the bound: first .. stop - 1
  int32_t wanted;       // records from this one on are its targets
  int32_t slack;        // the largest slack of its pairs, not counting ambiguity letters of targets
};
SAME_AS_ON_HOST(NearRow);

struct NearPair {
  int32_t query, target;
};
SAME_AS_ON_HOST(NearPair);

// Counters of one rectangle, 0 at first.
struct NearCounters {
  // The candidate that is taken next; the first field, so that the host can make the list look empty (gpu/runtime/stream_buffers.py).
  uint32_t next;
  uint32_t candidates;  // candidates, including those beyond the capacity of their list
  uint32_t found;       // pairs within the bound, including those beyond the capacity of their list
  uint32_t unwanted;    // pairs whose lengths are within the bound, but whose target is before the row's `wanted`
};
SAME_AS_ON_HOST(NearCounters);
