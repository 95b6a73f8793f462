"""TCRdist with V genes, beside a plain loop over its definition and values of tcrdist3."""

import itertools

import pytest
from command import gpualign, gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st
from tcrdist_reference import cost, repertoire, tcrdist

import gpualign as python
from gpualign.core.sequences.annotations import AnnotationColumn
from gpualign.jobs.v_gene_tables import load_v_genes

# As IMGT and the tables of tcrdist3 align them.
LOOPS = {
    "TRBV7-2*01": ("SGH.......TA", "FQG....NSA", "T.GGSV"),
    "TRBV5-1*01": ("SGH.......RS", "YFS....ETQ", "F.SNSR"),
    "TRBV6-2*01": ("MNH.......EY", "SVG....EGT", "L.KKQN"),
    "TRBV28*01": ("MDH.......EN", "SYD....VKM", "E.KKER"),
    "TRBV1*01": ("GH........DS", "YNC....KEF", "P.DSSR"),
    "TRAV1-1*01": ("TSG......FNG", "VVL....DGL", "SRSN.GY"),
}
CALLS = ("TRBV7-2*01", "TRBV5-1*01", "TRBV5-1", "TRBV6-2*02", "TRBV28*01,TRBV1*01", "Homsap TRAV1-1*01 F", "", "TRBV99*01")
FAR = 10_000


def genes_of(call):
    found = {
        "TRBV5-1": {"TRBV5-1*01"},
        "TRBV6-2*02": set(),  # the table has no such allele, nor the gene without one
        "TRBV28*01,TRBV1*01": {"TRBV28*01", "TRBV1*01"},
        "Homsap TRAV1-1*01 F": {"TRAV1-1*01"},
        "TRBV99*01": set(),
        "": set(),
    }
    return found.get(call, {call})


def letters_cost(a, b):
    return 4 * (a != b) if "." in (a, b) else cost(a, b)


def gene_distance(one, other):
    pairs = list(zip(LOOPS[one], LOOPS[other], strict=True))
    if any(len(a) != len(b) for a, b in pairs):
        return FAR
    return sum(letters_cost(a, b) for loops in pairs for a, b in zip(*loops, strict=True))


def call_distance(one, other):
    return min((gene_distance(a, b) for a in genes_of(one) for b in genes_of(other)), default=FAR)


def wanted(rows, limit, gap=12):
    found = []
    for (i, (one, v_one)), (j, (other, v_other)) in itertools.combinations(enumerate(rows), 2):
        distance = tcrdist(one, other, gap) + call_distance(v_one, v_other)
        if distance <= limit:
            found.append((f"r{i}", f"r{j}", distance))
    return found


def write_tables(folder, rows):
    genes, receptors = folder / "v.tsv", folder / "airr.tsv"
    genes.write_text("\n".join(["id\tcdr1\tcdr2\tcdr2.5", *("\t".join((name, *loops)) for name, loops in LOOPS.items())]) + "\n")
    lines = [f"r{k}\t{v_call}\t{text}" for k, (text, v_call) in enumerate(rows)]
    receptors.write_text("\n".join(["sequence_id\tv_call\tjunction_aa", *lines]) + "\n")
    return genes, receptors


def found_by(*words):
    lines = gpualign_here("nw", "-q", "--tcrdist", *words)[0].decode().splitlines()
    assert lines[0] == "query\ttarget\tdistance"
    return [(one, other, int(distance)) for one, other, distance in (line.split("\t") for line in lines[1:])]


ROWS = st.lists(st.tuples(st.text("CASW", min_size=1, max_size=12), st.sampled_from(CALLS)), min_size=2, max_size=14)


@settings(deadline=None, max_examples=25)
@given(ROWS, st.sampled_from((0, 12, 43, 60, 100, 600)))
def test_pairs_are_those_of_a_plain_loop(tmp_path_factory, rows, limit):
    genes, receptors = write_tables(tmp_path_factory.mktemp("v"), rows)
    assert found_by("--v-genes", genes, "--max-distance", str(limit), receptors) == wanted(rows, limit)


def test_a_repertoire(tmp_path, rng):
    """Copies with the same gene, with others and with none, so that equal CDR3s are not all near; clusters and Python agree."""
    texts = repertoire(rng, 250)
    texts += texts[:50]
    rows = [(text, str(rng.choice(CALLS))) for text in texts]
    genes, receptors = write_tables(tmp_path, rows)
    near = wanted(rows, 60)
    assert len(near) > 50
    assert any(distance == 0 for *_, distance in near)
    assert found_by("--v-genes", genes, "--max-distance", "60", receptors) == near
    (tmp_path / "near.tsv").write_text("\n".join("\t".join(map(str, row)) for row in [("query", "target", "distance"), *near]))
    (tmp_path / "ids.txt").write_text("\n".join(f"r{k}" for k in range(len(rows))))
    words = ("cluster", "-q", "--max-distance", "60", "--format", "tsv")
    clusters = gpualign_here(*words, "--tcrdist", "--v-genes", genes, receptors)[0]
    assert clusters == gpualign_here(*words, "--edges", tmp_path / "near.tsv", "--ids", tmp_path / "ids.txt")[0]
    records = python.read(receptors)
    found = python.pairs(records, scoring=python.Scoring(tcrdist=True, v_genes=str(genes)), max_distance=60)
    assert [tuple(row) for row in found] == near


@pytest.mark.parametrize(
    ("title", "sequence", "call"),
    [
        ("bestVGene", "aaSeqCDR3", "TRBV5-1"),
        ("allVHitsWithScore", "aaSeqCDR3", "TRBV5-1*00(1200.5),TRBV99*00(3)"),
        ("V-GENE and allele", "JUNCTION (AA)", "Homsap TRBV5-1*01 F"),
        ("V_CALL", "JUNCTION", "TRBV5-1*01"),
        ("v.segm", "cdr3", "TRBV5-1*01"),
        ("V", "CDR3", "TRBV5-1*01"),
        ("V.name", "CDR3.aa", "TRBV5-1"),
        ("v", "cdr3aa", "TRBV5-1"),
        ("v_b_gene", "cdr3_b_aa", "TRBV5-1*01"),
    ],
)
def test_columns_of_other_programs(tmp_path, title, sequence, call):
    """With tcrdist3's table, whose rows have both chains, the gene is that of the sequence's chain; --locus reads the same column."""
    genes, _ = write_tables(tmp_path, [])
    table = tmp_path / "r.tsv"
    rows = [("x", sequence, title, "v_a_gene"), ("a", "CASSF", call, "TRAV1-1*01"), ("b", "CASSF", "TRBV7-2*01", "TRAV1-1*01")]
    table.write_text("".join("\t".join(row) + "\n" for row in rows))
    words = ("--max-distance", "100", "--id-column", "x", "--sequence-column", sequence, table)
    assert found_by("--v-genes", genes, *words) == [("a", "b", gene_distance("TRBV5-1*01", "TRBV7-2*01"))]
    assert found_by("--locus", "TRB", *words) == [("a", "b", 0)]


def test_two_sets(tmp_path, rng):
    rows = [(text, str(rng.choice(CALLS))) for text in repertoire(rng, 60)]
    genes, receptors = write_tables(tmp_path, rows)
    others = tmp_path / "b.tsv"
    others.write_text(receptors.read_text().replace("\nr", "\ns"))
    found = found_by("--v-genes", genes, "--max-distance", "60", receptors, others)
    near = wanted(rows, 60)
    assert [row for row in found if int(row[0][1:]) < int(row[1][1:])] == [(one, f"s{other[1:]}", d) for one, other, d in near]


def test_values_of_tcrdist3():
    """TCRrep(chains=["beta"]) of tcrdist3 0.3, pw_cdr1_b_aa + pw_cdr2_b_aa + pw_pmhc_b_aa. There a gap beside an amino acid costs nothing:
    genes with gaps in other places, such as TRBV1, are nearer."""
    names = list(LOOPS)[:4]
    distances = {(0, 1): 43, (0, 2): 56, (0, 3): 60, (1, 2): 56, (1, 3): 52, (2, 3): 37}
    assert {(i, j): gene_distance(names[i], names[j]) for i, j in distances} == distances


def test_tables_of_tcrdist3(tmp_path):
    """Other regions are left out, and the loop of the CDR3 is ignored; distances as from a table with a column for each loop."""
    lines = ["id\torganism\tchain\tregion\tcdrs", "TRBJ1*01\thuman\tB\tJ\tNTEAFF"]
    lines += [f"{name}\thuman\tB\tV\t{';'.join((*loops, 'CASS'))}" for name, loops in LOOPS.items()]
    (tmp_path / "db.tsv").write_text("\n".join(lines))
    genes, _ = write_tables(tmp_path, [("CASSF", "")])
    assert load_v_genes(str(tmp_path / "db.tsv")).loops == load_v_genes(str(genes)).loops
    column = AnnotationColumn.from_texts(CALLS)
    assert load_v_genes(str(genes)).unknown_count(column) == 3


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("", "v.tsv: expected a table of V genes with the columns id, cdr1, cdr2 and cdr2.5, or a table of tcrdist3; its columns are none"),
        ("id\tcdr1\tcdr2\nV\tA\tA\n", "its columns are 'id', 'cdr1', 'cdr2'"),
        ("id\tcdr1\tcdr2\tpmhc\n", "v.tsv: a table without V genes"),
        ("id\tcdr1\tcdr2\tpmhc\nV\tA\tA1\tA\n", "v.tsv: line 2: '1' in a loop is neither an amino acid nor a gap (--v-genes)"),
        ("id\tcdr1\tcdr2\tpmhc\nV\tA\tA\n", "v.tsv: line 2 has 3 columns, line 1 has 4"),
        ("id\tcdrs\nV\tA;A\n", "v.tsv: line 2: expected CDR1, CDR2 and CDR2.5 of 'V'; found 'A;A'"),
        (
            "id\tcdr1\tcdr2\tpmhc\nV\tA\tA\tA\nV\tA\tA\tC\n",
            "v.tsv: lines 2 and 3 have different loops of 'V'; keep the rows of one organism",
        ),
    ],
)
def test_tables_that_are_refused(tmp_path, table, reason):
    (tmp_path / "v.tsv").write_text(table)
    receptors = tmp_path / "airr.tsv"
    receptors.write_text("sequence_id\tv_call\tjunction_aa\na\tTRBV1\tCASSF\n")
    done = gpualign("nw", "--tcrdist", "--max-distance", "9", "--v-genes", tmp_path / "v.tsv", receptors, check=False)
    assert done.returncode == 2
    assert reason in done.stderr.decode()


def test_other_refusals(tmp_path):
    genes, receptors = write_tables(tmp_path, [("CASSF", ""), ("CASSL", "TRBV28*01")])
    (tmp_path / "r.fa").write_text(">a\nCASSF\n>b\nCASSL\n")
    for words, reason in (
        (["--tcrdist", tmp_path / "r.fa"], "r.fa is not one"),
        (["--edit", receptors], "--v-genes adds distances of V genes to those of CDR3s; it needs --tcrdist"),
    ):
        done = gpualign("nw", "--max-distance", "9", "--v-genes", genes, *words, check=False)
        assert done.returncode == 2
        assert reason in done.stderr.decode()
    told = gpualign_here("nw", "--tcrdist", "--max-distance", "9", "--v-genes", genes, receptors)[1]
    assert f"1 of 2 records have no V gene of {genes}, and are near no other" in told


def test_both_chains_of_cells(tmp_path, rng):
    """The distance of two cells is the sum of both chains with their V genes. Cells without a known gene are near no other."""
    texts = repertoire(rng, 120)
    calls = [(str(rng.choice(("TRBV7-2*01", "TRBV5-1*01", ""))), str(rng.choice(("TRAV1-1*01", "")))) for _ in range(60)]
    texts[2:4], calls[:2] = texts[:2], [("TRBV7-2*01", "TRAV1-1*01")] * 2  # two cells are near each other, whatever the others are
    lines = ["sequence_id\tcell_id\tlocus\tv_call\tjunction_aa"]
    for k, pair in enumerate(calls):
        lines += [f"{k}{locus}\tc{k}\t{locus}\t{pair[n]}\t{texts[2 * k + n]}" for n, locus in enumerate(("TRB", "TRA"))]
    genes, _ = write_tables(tmp_path, [("CASSF", "")])
    (tmp_path / "cells.tsv").write_text("\n".join(lines) + "\n")
    words = ("nw", "-q", "--tcrdist", "--v-genes", genes, "--max-distance", "80", "--locus", "TRB", "--and", "TRA", tmp_path / "cells.tsv")
    rows = [line.split("\t") for line in gpualign_here(*words)[0].decode().splitlines()[1:]]
    near = []
    for i, j in itertools.combinations(range(60), 2):
        distances = [tcrdist(texts[2 * i + n], texts[2 * j + n]) + call_distance(calls[i][n], calls[j][n]) for n in (0, 1)]
        if sum(distances) <= 80:
            near.append([f"c{i}", f"c{j}", str(sum(distances)), *map(str, distances)])
    assert near
    assert rows == near
