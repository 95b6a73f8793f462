"""Which sites are used, by plain loops over calls: positions, calls at a site, frequencies of alleles."""

from contextlib import closing, nullcontext
from fractions import Fraction

import numpy as np
import pytest
from distance_oracle import compute, dense_source, plain_distances, random_codes
from hypothesis import given
from hypothesis import strategies as st
from sites import alignment, panels_of, stream

from gpualign.core.common.errors import InputError
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.calls import MISSING, CallKind, alleles_of
from gpualign.core.distance.intervals import parse_regions, read_bed
from gpualign.core.distance.site_filters import FilterResult, SiteFilters, filter_sites
from gpualign.cpu.distance.engine import CpuDistanceEngine


def bed(text):
    return read_bed(stream(text), "m.bed")


def chosen(source, filters, panel_bytes=1 << 20):
    with closing(ThreadPool(2)) as workers:
        return filter_sites(source, filters, panel_bytes, workers)


def opened(codes, kind, **how):
    """An array of genotypes, or an alignment."""
    return nullcontext(dense_source(codes)) if kind is CallKind.GENOTYPE else alignment(codes, **how)


def plain_keep(codes, kind, core, maf):
    """Which sites pass, a call at a time; and how many fall to each rule."""
    keep, fallen = [], {"core": 0, "maf": 0}
    for column in codes.T.tolist():
        calls = [code for code in column if code != MISSING]
        copies = {}
        for code in calls:
            for allele in alleles_of(code) if kind is CallKind.GENOTYPE else [code]:
                copies[allele] = copies.get(allele, 0) + 1
        rarer = sorted(copies.values())[-2] if len(copies) > 1 else 0
        frequency = Fraction(rarer, sum(copies.values())) if copies else Fraction(0)
        if Fraction(len(calls), len(column)) < core:
            fallen["core"] += 1
        elif frequency < maf:
            fallen["maf"] += 1
        keep.append(Fraction(len(calls), len(column)) >= core and frequency >= maf)
    return np.array(keep), fallen


SHARES = st.fractions(0, 1, max_denominator=20)


@given(
    st.integers(1, 12),
    st.integers(1, 700),
    st.sampled_from(["genotypes", "many alleles", "sparse", "dense", "two files"]),
    st.sampled_from([0.0, 0.1, 0.5]),
    SHARES,
    SHARES,
    st.sampled_from([1, 1 << 20]),
    st.integers(0, 2**32 - 1),
)
def test_shares_of_calls_and_of_alleles(samples, sites, what, missing, core, maf, memory, seed):
    """Counts in plain loops; panels, calls of each sample, and distances are those of the sites that are left."""
    rng = np.random.default_rng(seed)
    maf, kind = maf / 2, CallKind.GENOTYPE if what in ("genotypes", "many alleles") else CallKind.NUCLEOTIDE
    codes = random_codes(rng, samples, sites, {"genotypes": 2, "many alleles": 14}.get(what, 3), missing)
    if what == "sparse":  # few differences, and missing calls in runs
        codes[:] = codes[0]
        codes[rng.random(codes.shape) < 0.02] = 2
        for row in codes[rng.random(samples) < 2 * missing]:
            first = rng.integers(0, sites)
            row[first : first + sites // 2] = MISSING
    keep, fallen = plain_keep(codes, kind, core, maf)
    with opened(codes, kind, memory=memory, queries=1 if what == "two files" and samples > 1 else None) as source:
        found, left = chosen(source, SiteFilters(core=core, maf=maf), panel_bytes=memory)
        assert left == FilterResult(sites, fallen)
        assert left.remaining_site_count == found.site_count == keep.sum()
        rest = codes[:, keep]
        panels, omitted = panels_of(found, panel_bytes=1)
        agree = np.array([kind is not CallKind.GENOTYPE and len(set(c)) == 1 and c[0] != MISSING for c in rest.T.tolist()], dtype=bool)
        np.testing.assert_array_equal(panels, rest[:, ~agree])
        assert omitted.site_count == agree.sum()
        called = omitted.calls_per_sample if found.calls_per_sample is None else found.calls_per_sample
        np.testing.assert_array_equal(called, (rest != MISSING).sum(axis=1))
        again, _ = chosen(found, SiteFilters(core=Fraction(1)))
        assert again.site_count == (rest != MISSING).all(axis=0).sum()  # what was chosen can be chosen from


@pytest.mark.parametrize("kind", [CallKind.GENOTYPE, CallKind.NUCLEOTIDE])
@pytest.mark.parametrize("rule", ["pairwise", "complete", "as-difference"])
def test_distances_are_those_of_the_sites_that_are_left(rng, kind, rule):
    codes = random_codes(rng, 9, 300, 2 if kind is CallKind.GENOTYPE else 3, 0.1)
    keep, _ = plain_keep(codes, kind, Fraction(8, 9), Fraction(1, 4))
    assert 0 < keep.sum() < 300
    with opened(codes, kind) as source:
        found, _ = chosen(source, SiteFilters(core=Fraction(8, 9), maf=Fraction(1, 4)))
        for metric in ("hamming", "fraction", *(("ibs", "allele") if kind is CallKind.GENOTYPE else ("jc69",))):
            values, compared = compute(found, CpuDistanceEngine(2), metric, rule)
            expected, common = plain_distances(codes[:, keep], 9, metric, rule)
            np.testing.assert_allclose(values, expected, rtol=1e-12)
            np.testing.assert_array_equal(compared, common)


def test_shares_are_exact():
    """7 of 25 samples are 0.28 of them, and 0.1 is a tenth; as floats 0.28 * 25 is more than 7."""
    codes = np.zeros((25, 2), np.uint8)
    codes[7:, 0] = codes[6:, 1] = MISSING
    assert chosen(dense_source(codes), SiteFilters(core=Fraction("0.28")))[1].removed_by_filter == {"core": 1}
    codes = np.zeros((10, 30), np.uint8)
    codes[0, :] = 1
    codes[1, :29] = 1
    assert chosen(dense_source(codes), SiteFilters(maf=Fraction("0.1")))[1].removed_by_filter == {"maf": 1}


def test_sites_without_a_call_have_no_minor_allele():
    codes = np.full((3, 2), MISSING, np.uint8)
    codes[:, 1] = 0, 1, 2
    assert chosen(dense_source(codes), SiteFilters(maf=Fraction(1, 1000)))[0].site_count == 1
    assert chosen(dense_source(codes), SiteFilters(core=Fraction(0), maf=Fraction(0)))[0].site_count == 2


def test_tables_have_no_positions(rng):
    source = dense_source(random_codes(rng, 3, 9))
    with pytest.raises(InputError, match=r"mask needs the positions of sites, but sites of tables and arrays have none: leave out columns"):
        chosen(source, SiteFilters(mask=bed("x\t1\t3\n")))


def test_regions_go_before_the_mask_and_both_before_calls():
    codes = np.zeros((4, 10), np.uint8)
    codes[0, [1, 3, 5, 7, 9]] = MISSING
    codes[1, :3] = 1
    filters = SiteFilters(parse_regions("x:2-9"), bed("x 0 3\nx 8 10\n"), Fraction(1), Fraction(1, 4))
    with alignment(codes) as source:
        found, left = chosen(source, filters)
    assert left == FilterResult(10, {"regions": 2, "mask": 3, "core": 3, "maf": 2})
    assert found.site_count == left.remaining_site_count == 0
    assert list(left.removed_by_filter) == ["regions", "mask", "core", "maf"]
