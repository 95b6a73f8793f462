// gpualign.core.clustering._greedy: joins records to the centroids of greedy clustering.
//
// Records are processed by ascending rank. A record joins the nearest earlier centroid to which it has a pair (the one with the lowest rank
// if tied), or becomes a centroid. So every pair belongs to its record of higher rank. A counting sort groups the pairs by these records.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <vector>

namespace nb = nanobind;

namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Throws an error unless the arguments fit together.
template <class Index>
void check(const Array<const Index>& i, const Array<const Index>& j, const Array<const double>& distance, const Array<const int64_t>& rank,
           int64_t first, int64_t stop, const Array<int64_t>& centroid) {
  const size_t pairs = i.shape(0), records = rank.shape(0);
  if (j.shape(0) != pairs || distance.shape(0) != pairs) throw nb::value_error("a pair has two records and a distance");
  if (centroid.shape(0) != records) throw nb::value_error("a record has a rank and a centroid");
  if (first < 0 || first > stop || static_cast<size_t>(stop) > records) throw nb::value_error("the ranks are not those of records");
  for (size_t r = 0; r < records; r++)
    if (rank(r) < 0 || static_cast<size_t>(rank(r)) >= records) throw nb::value_error("a rank is not below the number of records");
  for (size_t p = 0; p < pairs; p++) {
    const auto a = static_cast<int64_t>(i(p)), b = static_cast<int64_t>(j(p));
    if (a < 0 || b < 0 || static_cast<size_t>(a) >= records || static_cast<size_t>(b) >= records)
      throw nb::index_error("a pair names a record that does not exist");
    const int64_t later = rank(a) > rank(b) ? rank(a) : rank(b);
    if (later < first || later >= stop) throw nb::value_error("a pair belongs to no record in the range");
  }
}

template <class Index>
void join(const Array<const Index>& i, const Array<const Index>& j, const Array<const double>& distance, const Array<const int64_t>& rank,
          int64_t first, int64_t stop, const Array<int64_t>& centroid) {
  nb::gil_scoped_release unlocked;
  check(i, j, distance, rank, first, stop, centroid);
  const size_t pairs = i.shape(0);
  const auto later = [&](size_t p) { return rank(i(p)) > rank(j(p)) ? rank(i(p)) : rank(j(p)); };
  std::vector<size_t> ends(static_cast<size_t>(stop - first) + 1);  // finally, the end of each record's pairs in `order`
  for (size_t p = 0; p < pairs; p++) ends[later(p) - first + 1]++;
  for (size_t k = 1; k < ends.size(); k++) ends[k] += ends[k - 1];
  std::vector<size_t> order(pairs);  // pairs, grouped by record
  for (size_t p = 0; p < pairs; p++) order[ends[later(p) - first]++] = p;
  size_t next = 0;
  for (int64_t record = first; record < stop; record++) {
    int64_t best = -1;
    double nearest = 0;
    for (; next < ends[record - first]; next++) {
      const size_t p = order[next];
      const int64_t earlier = rank(i(p)) < rank(j(p)) ? rank(i(p)) : rank(j(p));
      if (centroid(earlier) != earlier) continue;
      if (best < 0 || distance(p) < nearest || (distance(p) == nearest && earlier < best)) {
        best = earlier;
        nearest = distance(p);
      }
    }
    if (best >= 0) centroid(record) = best;
  }
}

template <class Index>
void define(nb::module_& m) {
  m.def("join_centroids", &join<Index>, nb::arg("i"), nb::arg("j"), nb::arg("distance"), nb::arg("rank"), nb::arg("first"), nb::arg("stop"),
        nb::arg("centroid").noconvert(),
        "Join the records with ranks in [first, stop) to centroids.\n\n"
        "i, j, distance: all pairs whose record of higher rank is in this range, and no others\n"
        "rank: place of each record in clustering order\n"
        "centroid: for each rank, the rank of its record's centroid, at first its own; changed for the records in the range");
}

}  // namespace

NB_MODULE(_greedy, m) {
  nb::set_leak_warnings(false);  // an error's traceback still holds objects when the process ends
  m.doc() = "Joins records to the centroids of greedy clustering.";
  define<int32_t>(m);
  define<int64_t>(m);
}
