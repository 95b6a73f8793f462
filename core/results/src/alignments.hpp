// Text of alignment paths: CIGAR strings, aligned letters, columns of SAM. gpualign.core.alignment.tile_results.Runs describes runs.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "numbers.hpp"
#include "run_texts.hpp"

namespace gpualign {

namespace nb = nanobind;

// The paths of a rectangle of pairs, [queries from first_query on][targets from first_target on], or of a list of pairs, [1][pairs], which
// has its record numbers.
struct Alignments {
  template <class T, int N>
  using Array = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

  Array<uint8_t, 1> query_codes;
  Array<int64_t, 1> query_offsets;
  size_t first_query;
  Array<uint8_t, 1> target_codes;
  Array<int64_t, 1> target_offsets;
  size_t first_target;
  std::string letters;                    // [code]
  std::vector<Array<uint8_t, 1>> pieces;  // buffers of consecutive paths; no path spans two
  Array<int64_t, 2> starts;
  Array<int32_t, 2> sizes;
  Array<int32_t, 3> statistics;                     // STATISTICS
  Array<int64_t, 1> query_records, target_records;  // of a list of pairs, else empty

  std::vector<int64_t> ends = ends_of(pieces);

  static std::vector<int64_t> ends_of(const std::vector<Array<uint8_t, 1>>& pieces) {
    std::vector<int64_t> ends;
    int64_t end = 0;
    for (const auto& piece : pieces) ends.push_back(end += static_cast<int64_t>(piece.shape(0)));
    return ends;
  }
  // Returns the first byte of the path of a pair.
  const uint8_t* path(size_t r, size_t t) const {
    const int64_t start = starts(r, t);
    if (pieces.size() == 1) return pieces[0].data() + start;
    const auto piece = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end() - 1, start) - ends.begin());
    return pieces[piece].data() + start - (piece ? ends[piece - 1] : 0);
  }

  size_t rows() const { return starts.shape(0); }
  size_t columns() const { return starts.shape(1); }

  size_t query_record(size_t r, size_t t) const { return query_records.size() ? static_cast<size_t>(query_records(t)) : first_query + r; }
  size_t target_record(size_t t) const { return target_records.size() ? static_cast<size_t>(target_records(t)) : first_target + t; }
  const uint8_t* query(size_t r, size_t t) const { return query_codes.data() + query_offsets(query_record(r, t)); }
  const uint8_t* target(size_t t) const { return target_codes.data() + target_offsets(target_record(t)); }
  int64_t query_length(size_t r, size_t t) const { return query_offsets(query_record(r, t) + 1) - query_offsets(query_record(r, t)); }
  int32_t query_start(size_t r, size_t t) const { return statistics(r, t, 5); }
  int32_t query_end(size_t r, size_t t) const { return statistics(r, t, 6); }
  int32_t target_start(size_t r, size_t t) const { return statistics(r, t, 7); }

  enum Op { kEqual, kDifferent, kInsertion, kDeletion };

  // Runs [run, end) of a path.
  struct RunSpan {
    const uint8_t *run, *end;

    // Calls use(op, length) for every maximal run. merge: equal and different letters are one kind of run.
    template <class Use>
    void each(bool merge, Use use) const {
      int op = -1;
      int64_t length = 0;
      for (const uint8_t* at = run; at < end; at++) {
        int next = *at & 3;
        if (merge && next == kDifferent) next = kEqual;
        if (next != op) {
          if (length) use(op, length);
          op = next;
          length = 0;
        }
        length += (*at >> 2) + 1;
      }
      if (length) use(op, length);
    }
    int64_t columns() const {
      int64_t sum = 0;
      for (const uint8_t* at = run; at < end; at++) sum += (*at >> 2) + 1;
      return sum;
    }
  };
  RunSpan runs(size_t r, size_t t) const { return {path(r, t), path(r, t) + sizes(r, t)}; }

  // Returns an upper bound of the columns of the alignment.
  size_t max_columns(size_t r, size_t t) const { return 64 * static_cast<size_t>(sizes(r, t)); }

  // Returns the runs without end gaps in the query, which SAM cannot express.
  RunSpan inner_runs(size_t r, size_t t) const {
    auto [run, end] = runs(r, t);
    while (end > run && (end[-1] & 3) == kDeletion) end--;
    while (run < end && (*run & 3) == kDeletion) run++;
    return {run, end};
  }
  // Returns the number of target letters in the gap before these runs.
  int64_t skipped(size_t r, size_t t) const { return RunSpan{path(r, t), inner_runs(r, t).run}.columns(); }
};

// A kind of text for a pair: a bound on its length, and a function that writes it.
struct PairText {
  size_t (*width)(const Alignments&, size_t r, size_t t);
  char* (*put)(char*, const Alignments&, size_t r, size_t t);
};

namespace text {

inline size_t cigar_width(const Alignments& a, size_t r, size_t t) { return 3 * static_cast<size_t>(a.sizes(r, t)) + 64; }

inline char* cigar(char* out, const Alignments& a, size_t r, size_t t) {
  const auto [run, end] = a.runs(r, t);
  if (run == end) *out++ = '*';
  return put_runs(out, run, end);
}

// Writes the CIGAR with M for pairs of letters, equal or not.
inline char* cigar_m(char* out, const Alignments& a, size_t r, size_t t) {
  char* const start = out;
  a.runs(r, t).each(true, [&](int op, int64_t length) { out = put_run(out, length, "MXID"[op]); });
  if (out == start) *out++ = '*';
  return out;
}

inline char* sam_cigar(char* out, const Alignments& a, size_t r, size_t t) {
  const auto [run, end] = a.inner_runs(r, t);
  if (run == end) {
    *out++ = '*';
    return out;
  }
  if (a.query_start(r, t)) out = put_run(out, a.query_start(r, t), 'S');
  out = put_runs(out, run, end);
  if (const int64_t clipped = a.query_length(r, t) - a.query_end(r, t)) out = put_run(out, clipped, 'S');
  return out;
}

inline size_t number_width(const Alignments&, size_t, size_t) { return 20; }

// Writes the 1-based position, or 1 for an unmapped read: its empty alignment lies after the last letter of the target, where SAM has no
// position.
inline char* sam_position(char* out, const Alignments& a, size_t r, size_t t) {
  if (a.query_start(r, t) == a.query_end(r, t)) return put_integer(out, 1);
  return put_integer(out, a.target_start(r, t) + a.skipped(r, t) + 1);
}

inline char* sam_distance(char* out, const Alignments& a, size_t r, size_t t) {
  const auto [run, end] = a.inner_runs(r, t);
  int64_t distance = 0;
  for (const uint8_t* at = run; at < end; at++) distance += (*at & 3) == Alignments::kEqual ? 0 : (*at >> 2) + 1;
  return put_integer(out, distance);
}

inline size_t md_width(const Alignments& a, size_t r, size_t t) { return 2 * a.max_columns(r, t) + 40; }

// Writes SAM's MD: the number of matches, then the target's letter for a mismatch, or ^ and its letters for a gap in the query.
inline char* md(char* out, const Alignments& a, size_t r, size_t t) {
  const uint8_t* target = a.target(t) + a.target_start(r, t) + a.skipped(r, t);
  int64_t agreeing = 0;
  a.inner_runs(r, t).each(false, [&](int op, int64_t length) {
    if (op == Alignments::kEqual) {
      agreeing += length;
      target += length;
    } else if (op == Alignments::kDifferent) {
      for (; length > 0; length--) {
        out = put_integer(out, agreeing);
        agreeing = 0;
        *out++ = a.letters[*target++];
      }
    } else if (op == Alignments::kDeletion) {
      out = put_integer(out, agreeing);
      agreeing = 0;
      *out++ = '^';
      for (; length > 0; length--) *out++ = a.letters[*target++];
    }
  });
  return put_integer(out, agreeing);
}

inline size_t aligned_width(const Alignments& a, size_t r, size_t t) { return a.max_columns(r, t) + 1; }

template <bool kQuery>
char* aligned(char* out, const Alignments& a, size_t r, size_t t) {
  const uint8_t* codes = kQuery ? a.query(r, t) + a.query_start(r, t) : a.target(t) + a.target_start(r, t);
  constexpr int kGap = kQuery ? Alignments::kDeletion : Alignments::kInsertion;
  a.runs(r, t).each(true, [&](int op, int64_t length) {
    for (; length > 0; length--) *out++ = op == kGap ? '-' : a.letters[*codes++];
  });
  return out;
}

// Writes the line of markers between the two sequences of a pairwise block.
inline char* markers(char* out, const Alignments& a, size_t r, size_t t) {
  a.runs(r, t).each(false, [&](int op, int64_t length) {
    std::memset(out, "|.  "[op], static_cast<size_t>(length));
    out += length;
  });
  return out;
}

}  // namespace text

// Returns the kind with the name used in Python, or null.
inline const PairText* pair_text(const std::string& name) {
  static const std::array<std::pair<const char*, PairText>, 9> kinds{{
      {"cigar", {text::cigar_width, text::cigar}},
      {"cigar_m", {text::cigar_width, text::cigar_m}},
      {"query", {text::aligned_width, text::aligned<true>}},
      {"target", {text::aligned_width, text::aligned<false>}},
      {"markers", {text::aligned_width, text::markers}},
      {"sam_cigar", {text::cigar_width, text::sam_cigar}},
      {"sam_position", {text::number_width, text::sam_position}},
      {"sam_distance", {text::number_width, text::sam_distance}},
      {"sam_md", {text::md_width, text::md}},
  }};
  for (const auto& kind : kinds)
    if (name == kind.first) return &kind.second;
  return nullptr;
}

}  // namespace gpualign
