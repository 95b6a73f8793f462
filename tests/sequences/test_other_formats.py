"""Formats of sequences that are not read are named, with what converts them."""

import pytest
from command import gpualign


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">P1;s1\na title\nACDEFGHIK*\n>P1;s2\n\nACDEFGHIR*\n", "x is PIR, whose second lines are titles; write it as FASTA"),
        (">DL;s1\r\na title\r\nACGT\r\nACG*\r\n", "x is PIR"),
        (f">P1;s1\nsp:S1_HUMAN, a title\n{'ACDEFGHIK' * 1000}*\n", "x is PIR"),
        ("@HD\tVN:1.6\nq\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n", "x is SAM; write its reads as FASTA or FASTQ: samtools fasta x"),
        ("@SQ\tSN:r\tLN:5\n", "x is SAM"),
        (">ss_pred\nHHHHCC\n>ss_conf\n998877\n>a\nMKVLAA\n>b\nMKVLAC\n", "x is a3m with rows of HH-suite about structure; leave these out"),
    ],
)
@pytest.mark.parametrize("command", ["nw x", "sw x x", "index x -o y.gpa", "index x -o y.gps", "cluster x --min-identity 0.9", "dist x"])
def test_other_formats_of_sequences_are_named(tmp_path, text, message, command):
    (tmp_path / "x").write_text(text)
    refused = gpualign(*command.split(), cwd=tmp_path, check=False)
    assert refused.returncode == 2
    assert message in refused.stderr.decode()


@pytest.mark.parametrize("letters", ["ACDEFGHIK", "ACDE FGHI K", "acdefghik "])
def test_ids_as_in_pir_are_ids_of_fasta(tmp_path, letters):
    (tmp_path / "x").write_text(f">P1;size=1\n{letters}\n>P1;size=2\nACDEFGHIR\n")
    assert gpualign("nw", "-q", "x", cwd=tmp_path).stdout == b"query\ttarget\tscore\nP1;size=1\tP1;size=2\t50\n"
