"""`gpualign sw --mask-target`: scores are those of targets with X or N in the file, and letters those of the file."""

import csv
import io

import masking_oracle
import pytest
from Bio.Align import PairwiseAligner, substitution_matrices
from Bio.Seq import Seq
from command import gpualign, gpualign_here
from goldens import PROTEINS_DB as DB
from goldens import PROTEINS_QUERY as QUERY

import gpualign as python
from gpualign.core.common.errors import TooLittleMemory
from gpualign.core.scoring.masking import mask
from gpualign.core.sequences.database_index import open_index
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.sequence_loading import Inputs
from gpualign.jobs.sw import SwOptions, prepare

SCORES = "query,target,score,bits,evalue"
ALIGNMENTS = f"{SCORES},qstart,qend,tstart,tend,tlen,identity,matches,mismatches,length,cigar,qaln,taln"
AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"


def records(path):
    return {part.split()[0]: "".join(part.split("\n")[1:]) for part in ("\n" + path.read_text()).split("\n>")[1:]}


def write(path, texts):
    path.write_text("".join(f">{name}\n{text}\n" for name, text in texts.items()))
    return path


def masked(text, method, unknown):
    """The text with its regions of low complexity replaced, by the definitions of the masks."""
    places = {"seg": masking_oracle.seg, "dust": masking_oracle.dust}[method](text)
    return "".join(unknown if place in places else letter for place, letter in enumerate(text))


def here(*words):
    return gpualign_here("sw", "-q", "--device", "cpu", *words)[0].decode()


def table(*words):
    return list(csv.DictReader(io.StringIO(here(*words)), delimiter="\t"))


@pytest.fixture
def proteins(tmp_path, rng):
    """Files of queries, of targets that resemble them and of these targets with X for low complexity; parts of all have little of it."""

    def stretch():
        return "".join(rng.choice(rng.choice(list(AMINO_ACIDS), 2), 25))

    queries, targets = {}, {}
    for k in range(5):
        left, middle, right = ("".join(rng.choice(list(AMINO_ACIDS), 50)) for _ in range(3))
        low, other = stretch(), stretch()
        queries[f"q{k}"] = left + low + middle + right
        targets[f"t{k}"] = "".join(
            a if rng.random() > 0.2 else str(rng.choice(list(AMINO_ACIDS))) for a in left + low + middle + other + right
        )
        targets[f"low{k}"] = low
    files = (("q.fa", queries), ("t.fa", targets), ("x.fa", {name: masked(text, "seg", "X") for name, text in targets.items()}))
    return tuple(write(tmp_path / name, texts) for name, texts in files)


@pytest.mark.parametrize("method", ["adjust", "scale", "none"])
def test_scores_are_those_of_a_file_of_masked_targets(proteins, method):
    """Masks of queries and targets add up. Every letter that the strict SEG of adjustment masks is masked already."""
    queries, targets, x = proteins
    for query_mask in ("none", "seg"):
        common = ("--composition", method, "--mask", query_mask, "--max-hits", "20", queries)
        found = table(*common, targets, "--mask-target", "seg", "--fields", ALIGNMENTS)
        wanted = table(*common, x, "--fields", ALIGNMENTS)
        assert len(found) >= 10
        places = ("query", "target", "score", "bits", "evalue", "qstart", "qend", "tstart", "tend", "tlen", "length")
        assert [[row[name] for name in places] for row in found] == [[row[name] for name in places] for row in wanted]
        unmasked = table(*common, targets, "--mask-target", "none", "--fields", ALIGNMENTS)
        assert unmasked == table(*common, targets, "--fields", ALIGNMENTS)
        if method == query_mask == "none":  # otherwise the regions in question may be masked anyway
            assert [row["score"] for row in unmasked] != [row["score"] for row in found]


def test_rows_show_and_count_the_letters_of_the_file(proteins):
    queries, targets, x = proteins
    texts, hidden = records(targets), records(x)
    crossing = 0
    for row in table("--mask-target", "seg", "--max-evalue", "1e-3", "--identity-def", "1", "--fields", ALIGNMENTS, queries, targets):
        start, end = int(row["tstart"]) - 1, int(row["tend"])
        assert row["taln"].replace("-", "") == texts[row["target"]][start:end]
        crossing += "X" in hidden[row["target"]][start:end]
        columns = list(zip(row["qaln"], row["taln"], strict=True))
        equal = sum(a == b for a, b in columns)
        assert (int(row["matches"]), int(row["length"])) == (equal, len(columns))
        assert int(row["mismatches"]) == sum(a != b and "-" not in (a, b) for a, b in columns)
        assert float(row["identity"]) == pytest.approx(equal / len(columns), abs=1e-6)
    assert crossing >= 3


def test_every_engine(proteins, engine):
    queries, targets, _ = proteins
    words = ("--mask", "seg", "--mask-target", "seg", "--max-evalue", "1", queries, targets)
    found, told = gpualign_here("sw", *words, *engine.words)
    assert engine.told in told.splitlines()[-1]
    assert found.decode() == here("--threads", "2", *words)
    assert found.count(b"\n") > 5


def test_an_index_and_a_selection(proteins, tmp_path):
    queries, targets, _ = proteins
    gpualign_here("index", "-q", targets, "-o", tmp_path / "t.gpa")
    words = ("--mask-target", "seg", "--max-hits", "20", queries)
    assert here(*words, tmp_path / "t.gpa") == here(*words, targets)
    few = write(tmp_path / "few.fa", {name: text for name, text in records(targets).items() if name in ("t3", "low1")})
    assert here(*words, tmp_path / "t.gpa", "--targets", "t3", "--targets", "low1") == here(*words, few)


def test_a_masked_index_counts_as_memory(proteins, tmp_path):
    """Its letters are in memory, unlike those that are mapped, and a budget below them is refused before they are masked."""
    _, targets, _ = proteins
    gpualign_here("index", "-q", targets, "-o", tmp_path / "t.gpa")
    mapped, alphabet = open_index(str(tmp_path / "t.gpa"))
    masked = mask(mapped, alphabet).sequences
    assert mapped.memory_bytes < len(mapped.codes) <= masked.memory_bytes
    job = prepare(Inputs(mapped, mapped, alphabet, ""), SwOptions(mask_target="seg"))
    assert job.unmasked_targets is mapped
    small = SwOptions(mask_target="seg", resources=Resources(memory=len(mapped.codes)))
    with pytest.raises(TooLittleMemory, match="the sequences alone take"):
        prepare(Inputs(mapped, mapped, alphabet, ""), small)


def test_what_the_notes_tell(proteins):
    queries, targets, x = proteins
    hidden = "".join(records(x).values())
    _, told = gpualign_here("sw", "--device", "cpu", "--mask-target", "seg", queries, targets)
    count = f"masked {hidden.count('X')} of {len(hidden):,} target letters of low complexity (seg; --mask-target none searches them)"
    assert count in told
    whole = sum(set(text) == {"X"} for text in records(x).values())
    assert f"{whole} targets, 'low0' the first, are of low complexity throughout and can be no hit" in told
    assert "query letters of low complexity" not in told
    assert "masked" not in gpualign_here("sw", "--device", "cpu", queries, targets)[1]


def genes(rng):
    left, right = ("".join(rng.choice(list("ACGT"), 90)) for _ in range(2))
    return {"gene": left + "AT" * 25 + right, "back": str(Seq(left + "AT" * 25 + right).reverse_complement()), "at": "AT" * 60}


def test_dna_on_both_strands(tmp_path, rng):
    texts = genes(rng)
    queries, targets = write(tmp_path / "q.fa", {"q": texts["gene"][20:210]}), write(tmp_path / "t.fa", texts)
    hidden = write(tmp_path / "n.fa", {name: masked(text, "dust", "N") for name, text in texts.items()})
    common = ("--mask", "none", "--max-hits", "5", "--fields", f"{SCORES},strand,tstart,tend", queries)
    found = table(*common, targets, "--mask-target", "dust")
    assert found == table(*common, hidden)
    assert {row["target"]: row["strand"] for row in found if float(row["evalue"]) < 1e-9} == {"gene": "+", "back": "-"}
    # With --match an N equals an N, but not one that is a mask.
    unknown = write(tmp_path / "unknown.fa", {"q": "N" * 60})
    costs = ("--match", "2", "--mismatch", "-3", "--gap-open", "7", "--gap-extend", "2", "--evalue", "none")
    assert table(*costs, unknown, targets, "--mask-target", "dust") == []
    assert len(table(*costs, unknown, hidden)) == 3


@pytest.mark.parametrize(("which", "frames"), [("query", (True, False)), ("target", (False, True)), ("both", (True, True))])
def test_translations_are_masked_frame_by_frame(tmp_path, rng, which, frames):
    """The scores of the best two frames, by Biopython's aligner."""
    coded = "".join(rng.choice(list(AMINO_ACIDS), 40)) + "QPQQPQQQPQQPQQQ" + "".join(rng.choice(list(AMINO_ACIDS), 40))
    codons = {str(Seq(a + b + c).translate()): a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT"}
    gene = "".join(codons[letter] for letter in coded)
    texts = {True: {"n": gene, "r": str(Seq(gene).reverse_complement())}, False: {"p": coded, "half": coded[30:]}}

    def read(text, translated):
        if not translated:
            return [text]
        strands = text, str(Seq(text).reverse_complement())
        return [str(Seq(one[k : k + (len(one) - k) // 3 * 3]).translate()) for one in strands for k in range(3)]

    queries, targets = (texts[translated] for translated in frames)
    files = write(tmp_path / "q.fa", queries), write(tmp_path / "t.fa", targets)
    options = ("--translate", which, "--evalue", "none", "--mask-target", "seg", "--max-hits", "9", "--fields", "query,target,score")
    found = {(row["query"], row["target"]): int(row["score"]) for row in table(*options, *files)}
    aligner = PairwiseAligner(
        mode="local", substitution_matrix=substitution_matrices.load("BLOSUM62"), open_gap_score=-12, extend_gap_score=-1
    )
    wanted, plain = (
        {
            (q, t): max(
                int(aligner.score(one, other)) for one in read(a, frames[0]) for other in (edit(text) for text in read(b, frames[1]))
            )
            for q, a in queries.items()
            for t, b in targets.items()
        }
        for edit in (lambda text: masked(text, "seg", "X"), str)
    )
    assert found == wanted
    assert wanted != plain


def test_one_file_and_all_scores(proteins):
    queries, targets, x = proteins
    fields = ("--fields", "query,target,score")
    two_sets = here("--all", *fields, queries, targets, "--mask-target", "seg")
    assert two_sets == here("--all", *fields, queries, x)
    # Both sides of one set: each pair once, and either way round.
    assert here("--all", *fields, targets, "--mask", "seg", "--mask-target", "seg") == here("--all", *fields, x)
    # Adjusted scores differ between query and target, whose letters alone are masked once more.
    words = ("--composition", "none", "--mask", "seg", "--mask-target", "seg", "--min-score", "20", targets)
    hits = {(row["query"], row["target"]): row["score"] for row in table(*words)}
    assert len(hits) >= 4
    assert all(hits[target, query] == score for (query, target), score in hits.items())


def test_python(proteins):
    queries, targets, _ = proteins
    rows = iter(table("--mask-target", "seg", "--max-evalue", "1", "--fields", ALIGNMENTS, queries, targets))
    for hits in python.sw(queries, targets, mask_target="seg", max_evalue=1, fields=["query", "target", "score", "matches", "taln"]):
        for k in range(len(hits)):
            row = next(rows)
            assert [str(hits[name][k]) for name in ("query", "target", "score", "matches", "taln")] == [
                row[name] for name in ("query", "target", "score", "matches", "taln")
            ]
    assert next(rows, None) is None
    with pytest.raises(python.InputError, match="mask_target='dust' is for DNA; these are protein sequences: expected mask_target='seg'"):
        list(python.sw(queries, targets, mask_target="dust"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([QUERY, DB, "--mask-target", "dust"], "--mask-target dust is for DNA; these are protein sequences: expected --mask-target seg"),
        ([QUERY, "--all", "--mask-target", "seg"], "give --mask and --mask-target the same method, or the file twice"),
        ([QUERY, DB, "--mask-target", "some"], "'some' is not one of seg, dust, none"),
    ],
)
def test_refusals(arguments, message):
    done = gpualign("sw", "--device", "cpu", *arguments, check=False)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert done.stdout == b""
