"""Calls that VCF and BCF are read as, and records that are refused."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from command import gpualign
from distance_oracle import compute
from sites import panels_of, vcf_text

from gpualign.core.common.errors import InputError
from gpualign.core.distance.calls import MISSING, alleles_of
from gpualign.core.distance.readers import vcf_records
from gpualign.core.distance.readers.vcf import read_variants
from gpualign.cpu.distance.engine import CpuDistanceEngine

M = MISSING


def test_genotypes_of_vcf(tmp_path, scratch):
    path = tmp_path / "x.vcf"
    calls = [
        (["A", "C"], ["0/0", "0|1", "1/0", "1|1", "./."]),
        (["A", "C", "G"], ["0/2", "2|1", "2/2", "1", "./1"]),
        (["A"], ["0/0", "0/0", "0/0", "0/0", "0"]),
    ]
    path.write_text(vcf_text("abcde", calls))
    codes, _ = panels_of(read_variants([(str(path), "x.vcf")], False, 1 << 20, scratch, print))
    np.testing.assert_array_equal(codes.T, [[0, 1, 1, 2, M], [3, 4, 5, 2, M], [0, 0, 0, 0, 0]])
    assert [alleles_of(code) for code in (0, 1, 2, 3, 4, 5)] == [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]


@pytest.mark.parametrize("allele", ["*", "<*>", "<NON_REF>"])
def test_alleles_without_a_base_are_missing(tmp_path, scratch, allele):
    """snp-sites writes gaps and N as *, callers a base that an earlier deletion has removed."""
    path, notes = tmp_path / "x.vcf", []
    calls = [(["T", allele, "A"], ["0", "1", "2", "0/1"]), (["A", "C", allele], ["0/1", "1/1", "0/0", "1/2"])]
    path.write_text(vcf_text("abcd", calls))
    codes, _ = panels_of(read_variants([(str(path), "x.vcf")], False, 1 << 20, scratch, notes.append))
    np.testing.assert_array_equal(codes.T, [[0, M, 5, M], [1, 2, 0, M]])
    assert notes == ["x.vcf: 3 calls of the allele * (a deleted or unknown base, also <*> and <NON_REF>) are read as missing"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (vcf_text("ab", []), "x.vcf: no records"),
        (
            vcf_text("ab", [(["A", "C"], ["0", "1"])]).replace("GT,Number=1,Type=String", "GT,Number=1,Type=Integer"),
            r"record 1 \(1:1\) has genotypes of another type \(GT must be declared as Type=String\)",
        ),
        (vcf_text("ab", [(["A", "C"], ["0/0/1", "0/0/0"])]), r"record 1 \(1:1\) has calls of 3 alleles"),
        (vcf_text("ab", [(["A", "C"], ["0/0", "0/3"])]), r"record 1 \(1:1\) has calls of allele 3, but 1 alternative allele$"),
        (vcf_text("ab", [(["A"], ["0/0", "1"])]), r"record 1 \(1:1\) has calls of allele 1, but 0 alternative alleles$"),
        (vcf_text("ab", [(["A", "C"], ["0/0", "0/1"])]).replace("GT\t0/0\t0/1", "DP\t3\t4").replace("ID=GT", "ID=DP"), "has no genotypes"),
        (vcf_text("", []), "cannot be read as VCF or BCF|no samples"),  # by the HTSlib of cyvcf2
        (vcf_text("", []).replace("\tFORMAT\n", "\n"), "no samples"),
        (vcf_text("aba", [(["A", "C"], ["0", "1", "0"])]), "x.vcf: samples 1 and 3 have the same name 'a'; .* bcftools reheader"),
        (
            re.sub("^(##FORMAT.*)$", r'"\1"', vcf_text("ab", [(["A", "C"], ["0", "1"])]), flags=re.MULTILINE),
            r"x\.vcf: line [1-9] is a header line in quotes, as spreadsheets write it",
        ),
    ],
)
def test_bad_vcf(tmp_path, scratch, text, message):
    path = tmp_path / "x.vcf"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_variants([(str(path), "x.vcf")], False, 1 << 20, scratch, print)


def test_the_first_defect_of_a_block_is_reported(tmp_path, scratch):
    path = tmp_path / "x.vcf"
    path.write_text(vcf_text("ab", [(["A", "C"], ["0/0", "0/1"]), (["A", "C"], ["0/2", "0/0"]), (["A", "C"], ["0/0/1", "0/0/0"])]))
    with pytest.raises(InputError, match=r"record 2 \(1:2\) has calls of allele 2, but 1 alternative allele$"):
        read_variants([(str(path), "x.vcf")], False, 1 << 20, scratch, print)


def test_records_are_encoded_a_block_at_a_time(tmp_path, scratch, rng, monkeypatch):
    """NumPy's calls for each record took longer than htslib: 6 s instead of 3 s for 400,000 records."""
    path, records, expected = tmp_path / "x.vcf", [], []
    for _ in range(2 * vcf_records.MAX_RECORDS_PER_BLOCK + 5):
        ploidy, alleles = int(rng.integers(1, 3)), ["A", *("C", "*", "G")[: rng.integers(1, 4)]]
        calls = rng.integers(-1, len(alleles), (3, ploidy))
        records.append((alleles, ["/".join("." if a < 0 else str(a) for a in call) for call in calls.tolist()]))
        missing = [min(call) < 0 or any(alleles[a] == "*" for a in call) for call in calls.tolist()]
        expected.append([M if miss else max(c) * (max(c) + 1) // 2 + min(c) for miss, c in zip(missing, calls.tolist(), strict=True)])
    path.write_text(vcf_text("abc", records))
    codes, _ = panels_of(read_variants([(str(path), "x.vcf")], False, 1 << 30, scratch, lambda _: None))
    np.testing.assert_array_equal(codes.T, expected)
    encode, encoded = vcf_records._Block.encode, []
    monkeypatch.setattr(vcf_records._Block, "encode", lambda self, sent: (encoded.append(sent), encode(self, sent))[1])
    vcf_records._send_records(str(path), SimpleNamespace(send=lambda *_: None))
    assert encoded == [0, vcf_records.MAX_RECORDS_PER_BLOCK, 2 * vcf_records.MAX_RECORDS_PER_BLOCK]


@pytest.mark.parametrize(("mode", "name"), [("wb", "x.bcf"), ("wbu", "x.bcf"), ("wz", "x.vcf.gz")])
def test_packed_forms_of_vcf(tmp_path, mode, name):
    """By name and on standard input."""
    cyvcf2 = pytest.importorskip("cyvcf2")

    calls = [(["A", "C"], ["0/0", "0|1", "./."]), (["A", "C", "G"], ["0/2", "2|1", "1/1"])]
    (tmp_path / "x.vcf").write_text(vcf_text("abc", calls))
    reader = cyvcf2.VCF(str(tmp_path / "x.vcf"))
    writer = cyvcf2.Writer(str(tmp_path / name), reader, mode=mode)
    for record in reader:
        writer.write_record(record)
    writer.close()
    expected = gpualign("dist", tmp_path / "x.vcf", "--device", "cpu").stdout
    assert gpualign("dist", tmp_path / name, "--device", "cpu").stdout == expected
    assert gpualign("dist", "-", "--device", "cpu", stdin=(tmp_path / name).read_bytes()).stdout == expected


def test_two_vcf_files_have_the_same_records(tmp_path, scratch):
    for name, alleles in (("x", "AC"), ("y", "AC"), ("z", "AG")):
        (tmp_path / name).write_text(vcf_text([name], [(list(alleles), ["0/1"])]))
    paths = {name: (str(tmp_path / name), name) for name in "xyz"}
    assert compute(read_variants([paths["x"], paths["y"]], False, 1 << 20, scratch, print), CpuDistanceEngine(1), "ibs")[0] == 0
    with pytest.raises(InputError, match="z: record 1 is 1:1 A/G, in x it is 1:1 A/C"):
        read_variants([paths["x"], paths["z"]], False, 1 << 20, scratch, print)
