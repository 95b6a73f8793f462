// The part of gpualign.core.distance._sites that packs calls into bit planes and unpacks them.
#include <atomic>
#include <utility>

#include "alleles.hpp"
#include "bindings.hpp"
#include "calls.hpp"
#include "core/common/src/threads.hpp"

namespace nb = nanobind;

namespace gpualign {

namespace {

// ---- bit planes
// Calls pack(first, last) for ranges of samples, first .. last-1, in some threads.
template <class Pack>
void share_samples(size_t samples, int threads, const Pack& pack) {
  const size_t count = static_cast<size_t>(threads), step = std::clamp<size_t>((samples + count - 1) / count, 1, 256);
  share((samples + step - 1) / step, threads, [&](size_t part) { pack(part * step, std::min(samples, (part + 1) * step)); });
}

void pack(Input<uint8_t, 2> codes, Input<int64_t, 2> runs, std::optional<Input<uint8_t, 1>> reference, Table table,
          Output<uint64_t, 3> planes, int threads) {
  const size_t samples = codes.shape(0), sites = codes.shape(1), words = planes.shape(2), count = planes.shape(0);
  if (runs.shape(1) != 2) throw nb::value_error("the shapes do not fit");
  for (size_t r = 0; r < runs.shape(0); r++)
    if (runs(r, 0) < 0 || runs(r, 0) > runs(r, 1) || runs(r, 1) > static_cast<int64_t>(sites)) throw nb::value_error("no such sites");
  const PlanePacker packer(codes.data(), sites, reinterpret_cast<const Run*>(runs.data()), runs.shape(0),
                           reference ? reference->data() : nullptr, table.data());
  if (planes.shape(1) != samples || words * 64 < packer.chosen() || count > 8 || (reference && reference->shape(0) != sites))
    throw nb::value_error("the shapes do not fit");
  nb::gil_scoped_release unlocked;
  share_samples(samples, threads, [&](size_t first, size_t last) { packer.pack(first, last, samples, count, words, planes.data()); });
}

void two_calls(Input<uint8_t, 2> codes, size_t first, size_t count, Output<uint8_t, 1> one, Output<uint8_t, 1> more) {
  const size_t sites = codes.shape(1);
  if (first + count > sites || one.shape(0) != sites || more.shape(0) != sites) throw nb::value_error("the shapes do not fit");
  nb::gil_scoped_release unlocked;
  gpualign::find_two(codes.data(), codes.shape(0), sites, first, first + count, one.data(), more.data());
}

// Writes the numbers of sites with a call of the samples first .. first+count-1 to `out`.
void count_calls(Input<uint8_t, 2> codes, size_t first, size_t count, Output<int64_t, 1> out) {
  const size_t sites = codes.shape(1);
  if (first + count > codes.shape(0) || out.shape(0) != codes.shape(0)) throw nb::value_error("the shapes do not fit");
  nb::gil_scoped_release unlocked;
  for (size_t s = first; s < first + count; s++) {
    const uint8_t* row = codes.data() + s * sites;
    int64_t called = 0;
    for (size_t start = 0; start < sites; start += 255) {  // a byte counts to 255, so that compilers can count in vectors of bytes
      const size_t stop = std::min(sites, start + 255);
      uint8_t some = 0;
      for (size_t k = start; k < stop; k++) some = static_cast<uint8_t>(some + (row[k] != kMissing));
      called += some;
    }
    out(s) = called;
  }
}

void count_wanted(Input<uint8_t, 2> codes, Input<uint8_t, 1> selected, size_t first, size_t count, Output<uint32_t, 2> out) {
  const size_t samples = codes.shape(0), sites = codes.shape(1);
  if (first + count > sites || out.shape(0) != selected.shape(0) || out.shape(1) != sites) throw nb::value_error("the shapes do not fit");
  nb::gil_scoped_release unlocked;
  gpualign::count_codes(codes.data(), samples, sites, selected.data(), selected.shape(0), first, first + count, out.data());
}

uint32_t unpack(Input<uint64_t, 3> planes, size_t first_site, Table table, Output<uint8_t, 2> out, int threads) {
  const size_t samples = planes.shape(0), sites = out.shape(1);
  if (out.shape(0) != samples || first_site % 64 || planes.shape(1) < 1 || planes.shape(1) > 9 || first_site + sites > 64 * planes.shape(2))
    throw nb::value_error("the shapes do not fit");
  const CodeUnpacker unpacker(planes.data(), planes.shape(1), planes.shape(2), table.data());
  std::atomic<uint32_t> largest{0};
  nb::gil_scoped_release unlocked;
  share_samples(samples, threads, [&](size_t first, size_t last) {
    const uint32_t here = unpacker.unpack(first, last, first_site / 64, sites, out.data());
    for (uint32_t known = largest; known < here && !largest.compare_exchange_weak(known, here);) {
    }
  });
  return largest;
}

void select_planes(Input<uint64_t, 3> stored, size_t first_word, size_t count, std::vector<int> sources,
                   std::vector<std::vector<uint32_t>> numbers, Input<int64_t, 1> rows, Output<uint64_t, 3> planes, size_t first_row,
                   int threads) {
  const size_t words = planes.shape(2), stride = planes.shape(1) * words;
  for (size_t k = 0; k < rows.shape(0); k++)
    if (rows(k) < 0 || rows(k) >= static_cast<int64_t>(stored.shape(0))) throw nb::value_error("no such row");
  if (stored.shape(1) < 1 || stored.shape(1) > 33 || sources.size() != planes.shape(0) || numbers.size() != planes.shape(0) ||
      first_row + rows.shape(0) > planes.shape(1) || count > words || first_word + count > stored.shape(2))
    throw nb::value_error("the shapes do not fit");
  const PlaneSelector selector(stored.data(), stored.shape(1), stored.shape(2), std::move(sources), std::move(numbers));
  nb::gil_scoped_release unlocked;
  share_samples(rows.shape(0), threads, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; k++) {
      uint64_t* const out = planes.data() + (first_row + k) * words;
      selector.select(static_cast<size_t>(rows.data()[k]), first_word, count, out, stride);
      for (size_t p = 0; p < planes.shape(0); p++) std::fill(out + p * stride + count, out + p * stride + words, uint64_t{0});
    }
  });
}

void unpack_alleles(Input<uint64_t, 3> planes, size_t first_locus, Input<int64_t, 1> offsets, Input<uint32_t, 1> numbers,
                    Output<uint32_t, 2> out, int threads) {
  const size_t samples = planes.shape(0), loci = out.shape(1);
  const int64_t known = static_cast<int64_t>(numbers.shape(0));
  bool fits = out.shape(0) == samples && first_locus % 64 == 0 && planes.shape(1) >= 1 && planes.shape(1) <= 32 &&
              first_locus + loci <= 64 * planes.shape(2) && first_locus + loci < offsets.shape(0);
  for (size_t k = 0; fits && k < loci; k++)
    fits =
        0 <= offsets(first_locus + k) && offsets(first_locus + k) <= offsets(first_locus + k + 1) && offsets(first_locus + k + 1) <= known;
  if (!fits) throw nb::value_error("the shapes do not fit");
  std::atomic<bool> valid{true};
  {
    nb::gil_scoped_release unlocked;
    share_samples(samples, threads, [&](size_t first, size_t last) {
      for (size_t s = first; s < last; s++)
        if (!unpack_alleles_of(planes.data() + s * planes.shape(1) * planes.shape(2), planes.shape(1), planes.shape(2), first_locus / 64,
                               loci, offsets.data() + first_locus, numbers.data(), out.data() + s * loci))
          valid = false;
    });
  }
  if (!valid) throw nb::value_error("a code of an unknown allele");
}

}  // namespace

void bind_planes(nb::module_& m) {
  m.def(
      "pack_alleles",
      [](Input<uint32_t, 2> codes, Input<int64_t, 1> loci, int bits, bool called, Output<uint64_t, 3> planes, int threads) {
        const int64_t samples = static_cast<int64_t>(codes.shape(1)), chosen = static_cast<int64_t>(loci.shape(0));
        const bool known = std::all_of(loci.data(), loci.data() + chosen,
                                       [&](int64_t locus) { return 0 <= locus && locus < static_cast<int64_t>(codes.shape(0)); });
        if (!known || bits < 0 || bits > 32 || planes.shape(0) != static_cast<size_t>(bits + called) || planes.shape(1) != codes.shape(1) ||
            planes.shape(2) * 64 < loci.shape(0))
          throw nb::value_error("the shapes do not fit");
        nb::gil_scoped_release unlocked;
        share_samples(codes.shape(1), threads, [&](size_t first, size_t last) {
          pack_alleles(codes.data(), samples, loci.data(), chosen, bits, called, static_cast<int64_t>(first), static_cast<int64_t>(last),
                       planes.data(), static_cast<int64_t>(planes.shape(2)));
        });
      },
      nb::arg("codes"), nb::arg("loci"), nb::arg("bits"), nb::arg("called"), nb::arg("planes"), nb::arg("threads") = 1,
      "Pack codes[all loci][samples] of the `loci` into planes[bits, and one more if `called`][samples][words]: the bits of the codes, "
      "and the loci with an allele.");
  m.def("pack", &pack, nb::arg("codes"), nb::arg("runs"), nb::arg("reference").none(), nb::arg("table"), nb::arg("planes"),
        nb::arg("threads") = 1,
        "Pack codes[samples][sites], at the sites of runs[runs][first, last + 1], into uint64 planes[up to "
        "8][samples][words]; bit p of table[code] goes to plane p. With reference[sites], a call that equals the reference is "
        "coded as 0, any other as 1.");
  m.def("find_two", &two_calls, nb::arg("codes"), nb::arg("first_site"), nb::arg("sites"), nb::arg("one"), nb::arg("more"),
        "For some sites of codes[samples][sites], write to their positions the first call in uint8 one[sites], MISSING if there "
        "is none, and in uint8 more[sites] 1 if there are more than two different calls, else 0.");
  m.def("count_calls", &count_calls, nb::arg("codes"), nb::arg("first_sample"), nb::arg("samples"), nb::arg("out"),
        "Count the sites with a call for some samples of codes[samples][sites], at their positions in int64 out[samples].");
  m.def("count_codes", &count_wanted, nb::arg("codes"), nb::arg("wanted"), nb::arg("first_site"), nb::arg("sites"), nb::arg("out"),
        "Count the samples with each of the codes `wanted` at some sites of codes[samples][sites], at their positions in uint32 "
        "out[wanted][sites].");
  m.def("unpack", &unpack, nb::arg("planes"), nb::arg("first_site"), nb::arg("table"), nb::arg("out"), nb::arg("threads") = 1,
        "Write the codes of the sites from first_site (a multiple of 64) on of planes[samples][1 + up to 8][words], the first of which "
        "marks calls and the others hold the bits of a call's number, to out[samples][sites]: table[number], or MISSING. Returns the "
        "largest number.");
  m.def(
      "select_planes", &select_planes, nb::arg("stored"), nb::arg("first_word"), nb::arg("words"), nb::arg("sources"), nb::arg("numbers"),
      nb::arg("rows"), nb::arg("planes"), nb::arg("first_row"), nb::arg("threads") = 1,
      "Make planes[planes][samples][words], from row first_row on, of some rows of stored[samples][1 + bits][all words], of `words` words "
      "from first_word on: plane p is the stored plane sources[p], empty if there is none, or for -1 marks the calls with numbers[p].");
  m.def(
      "unpack_alleles", &unpack_alleles, nb::arg("planes"), nb::arg("first_locus"), nb::arg("offsets"), nb::arg("numbers"), nb::arg("out"),
      nb::arg("threads") = 1,
      "The same for alleles: locus k has the allele numbers[offsets[k] .. offsets[k + 1] - 1], in the order of their codes; NO_ALLELE for "
      "none. Raises ValueError for a code that no allele has.");
  m.def(
      "seen_codes",
      [](Input<uint8_t, 2> codes) {
        nb::gil_scoped_release unlocked;
        return seen_in(codes.data(), codes.size());
      },
      nb::arg("codes"), "Return which of the 256 codes occur.");
}

}  // namespace gpualign
