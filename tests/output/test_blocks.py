"""The same pairs are the same rows, whether a block has them as a rectangle or as a list of hits."""

import io
from itertools import groupby, pairwise

import numpy as np
import pytest
from aligned_blocks import OF_PAIRS, SCHEME, Aligned, encode
from relatives import relatives

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs
from gpualign.core.output.formats.blast6 import Blast6
from gpualign.core.output.formats.fasta import AlignedFasta
from gpualign.core.output.formats.paf import Paf
from gpualign.core.output.formats.sam import Sam
from gpualign.core.output.formats.tsv import Tsv
from gpualign.core.output.pairwise_text import PairwiseTextSink
from gpualign.core.output.table import TableSink
from gpualign.core.planning.tile_plan import Band, Pairing
from gpualign.core.results._rows import Column, format_block
from gpualign.core.results.blocks import RectangleBlock
from gpualign.core.results.columns import FIELDS
from gpualign.core.results.filter import Filter
from gpualign.core.scoring.evalues import SearchSpace, published_parameters
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.core.sequences.strands_frames import make_strands
from gpualign.core.sequences.string_column import StringColumn

OF_HITS = [field for field in FIELDS.values() if field.hits_only]


@pytest.fixture
def aligned(rng):
    return Aligned(rng)


def text(block, columns, mask=None):
    return b"".join(block.format_rows(columns, mask)).decode()


def kept_pairs(block, mask):
    return [block.record_numbers(tuple(pair)) for pair in np.argwhere(block.output_mask(mask)).tolist()]


@pytest.mark.parametrize("definition", range(5))
@pytest.mark.parametrize("pairing", Pairing)
def test_every_column(aligned, rng, definition, pairing):
    rows, columns = range(3, 9), range(2, 11)
    rectangle = aligned.rectangle(rows, columns, pairing, definition)
    mask = rng.random((len(rows), len(columns))) < 0.7
    pairs = [(i, j) for i in rows for j in columns if mask[i - 3, j - 2] and j >= pairing.first_target(i)]
    assert kept_pairs(rectangle, mask) == pairs
    hits = aligned.hits(pairs, definition)
    assert kept_pairs(hits, None) == pairs
    for block, kept in ((rectangle, mask), (hits, None)):
        assert list(zip(*(records.tolist() for records in block.written_record_numbers(kept)), strict=True)) == pairs
    for field in OF_PAIRS:
        assert text(rectangle, [field.make_column(rectangle)], mask) == text(hits, [field.make_column(hits)])
        if field.get_values is None:
            found = field.texts_to_write(rectangle, mask)
            ends = pairwise(found.offsets.tolist())
            assert [found.text[start:end].tobytes().decode() for start, end in ends] == field.values_to_write(hits, None)
    told = [FIELDS[name].make_column(hits) for name in ("query", "target", "score", "qlen", "tlen")]
    assert text(hits, told).splitlines() == [
        f"s{i}\ts{j}\t{aligned.found.scores[i, j]}\t{aligned.queries.lengths[i]}\t{aligned.targets.lengths[j]}" for i, j in pairs
    ]


def test_values_have_the_types_that_are_told(aligned):
    """Scores of hits are always int64, and fit what is told."""
    rectangle, hits = aligned.rectangle(range(3), range(4)), aligned.hits([(0, 1), (2, 3)])
    for field in FIELDS.values():
        assert (field.get_values is None) == (field.dtype_for_task is None)
        if field.dtype_for_task is not None:
            told = field.dtype_for_task(aligned.task)
            assert field.values_to_write(hits, None).dtype == (np.int64 if field.name == "score" else told)
            assert field.hits_only or field.values_to_write(rectangle, None).dtype == told


def test_filters(aligned):
    rows, columns = range(2, 7), range(1, 12)
    rectangle, hits = aligned.rectangle(rows, columns), aligned.hits([(i, j) for i in rows for j in columns])
    score, identity = (np.unique(values)[1:-1] for values in (hits.scores, hits.identity_fraction))
    score, identity = int(score[len(score) // 2]), float(identity[len(identity) // 2])
    for filter in (Filter(score), Filter(max_score=score), Filter(min_identity=identity), Filter(0, max_distance=1 - identity)):
        mask = filter.mask(hits)
        np.testing.assert_array_equal(mask, filter.mask(rectangle).ravel())
        assert 0 < mask.sum() < len(mask)
        assert kept_pairs(hits, mask) == kept_pairs(rectangle, filter.mask(rectangle))
    assert Filter().mask(hits) is Filter().mask(rectangle) is None


SINKS = {
    "tsv": lambda stream, task: TableSink(stream, task, Tsv(OF_PAIRS)),
    "m8": lambda stream, task: TableSink(stream, task, Blast6()),
    "paf": lambda stream, task: TableSink(stream, task, Paf()),
    "sam": lambda stream, task: TableSink(stream, task, Sam()),
    "fasta": lambda stream, task: TableSink(stream, task, AlignedFasta()),
    "aln": lambda stream, task: PairwiseTextSink(stream, task, 60),
}


@pytest.mark.parametrize("format", SINKS)
def test_every_format(aligned, rng, format):
    """Wherever the pairs are cut into blocks: rectangles of whole and of partial rows, hits in the middle of a query."""
    parts = [(range(0, 2), range(0, 12)), (range(2, 3), range(0, 5)), (range(2, 3), range(5, 12)), (range(3, 12), range(0, 12))]
    if format == "sam":  # which compares the rows of a query
        parts = [(range(0, 2), range(0, 12)), (range(2, 12), range(0, 12))]
    kept = rng.random((12, 12)) < 0.6
    kept[5] = False
    written = []
    sink = SINKS[format](stream := io.BytesIO(), aligned.task)
    for rows, columns in parts:
        block, mask = aligned.rectangle(rows, columns, Pairing.ABOVE_OR_EQUAL), kept[rows.start : rows.stop, columns.start : columns.stop]
        sink.write_block(block, mask)
        written += kept_pairs(block, mask)
    assert written == [(i, j) for i in range(12) for j in range(i, 12) if kept[i, j]]
    of_hits = SINKS[format](hit_stream := io.BytesIO(), aligned.task)
    step = len(written) if format == "sam" else 7
    for at in range(0, len(written), step):
        of_hits.write_block(aligned.hits(written[at : at + step]), None)
    assert stream.getvalue() == hit_stream.getvalue()


def test_primary_rows_of_hits_that_are_cut_within_a_query(aligned):
    """Hits come best first."""
    pairs = [(i, int(j)) for i in range(12) for j in np.argsort(-aligned.found.scores[i], kind="stable")]
    sink = TableSink(stream := io.BytesIO(), aligned.task, Sam())
    for at in range(0, len(pairs), 7):
        sink.write_block(aligned.hits(pairs[at : at + 7]), None)
    rows = [line.split(b"\t") for line in stream.getvalue().splitlines()]
    assert [k for k, row in enumerate(rows) if not int(row[1]) & 256] == list(range(0, len(pairs), 12))


def test_strands(rng):
    """Hits on the other strand: ends count on what was given."""
    aligned = Aligned(rng, stranded=lambda queries: make_strands(queries, DNA, "both"))
    pairs = [(i, j) for i in range(24) for j in range(0, 12, 5)]
    block = aligned.hits(pairs)
    columns = [FIELDS[name].make_column(block) for name in ("query", "strand", "qlen", "qstart", "qend", "tstart", "tend")]
    m8 = [line.split("\t") for line in text(block, Blast6().columns(block, None)).splitlines()]
    sam = [line.split("\t") for line in text(block, Sam().columns(block, None)).splitlines()]
    aligned_strands = aligned.task.queries
    for (i, j), row, blast, read in zip(pairs, text(block, columns).splitlines(), m8, sam, strict=True):
        *_, query_start, query_end, start, end = aligned.found.statistics[i, j]
        given, minus = i // 2, i % 2 == 1
        length = int(aligned.queries.lengths[given])
        ends = (length - query_end + 1, length - query_start) if minus else (query_start + 1, query_end)
        assert row.split("\t") == [f"s{given}", "+-"[minus], *map(str, (length, *ends, start + 1, end))]
        assert blast[6:10] == [*map(str, ends), *(map(str, (end, start + 1) if minus else (start + 1, end)))]
        assert int(read[1]) & 16 == 16 * minus
        codes = aligned_strands.codes[aligned_strands.offsets[i] : aligned_strands.offsets[i + 1]]
        assert read[9] == "".join(DNA.letters[code] for code in codes)


def test_significance(aligned):
    pairs = [(i, j) for i in range(4) for j in range(12)]
    space = SearchSpace(published_parameters(make_scoring(DNA, ScoringOptions(), local=True)), 10**6, 1000)
    known, unknown = aligned.hits(pairs, space=space), aligned.hits(pairs)
    names = "bits", "evalue"
    rows = text(known, [FIELDS[name].make_column(known) for name in names]).splitlines()
    m8 = text(known, Blast6().columns(known, None)).splitlines()
    for k, (i, j) in enumerate(pairs):
        score, letters = aligned.found.scores[[i], [j]], (aligned.queries.lengths[[i]], aligned.targets.lengths[[j]])
        bits, evalue = space.parameters.bit_scores(score)[0], space.evalues(score, *letters)[0]
        assert known.significance((k,)) == pytest.approx((bits, evalue))
        assert rows[k] == f"{bits:.1f}\t{evalue:.3g}"
        assert [float(x) for x in m8[k].split("\t")[10:]] == pytest.approx([evalue, bits], rel=0.1, abs=0.1)
        assert unknown.significance((k,)) is None
    assert set(text(unknown, [FIELDS[name].make_column(unknown) for name in names]).splitlines()) == {"nan\tnan"}
    assert {line.split("\t", 10)[10] for line in text(unknown, Blast6().columns(unknown, None)).splitlines()} == {"-1\t0"}


@pytest.mark.parametrize("cuts", [0, 1, 40])
def test_cigars_of_any_runs(rng, cuts):
    """Runs of every length of a byte and of several bytes, also such as could be fewer, and none at all; in pieces, some empty."""
    sequences = relatives(rng, 1, 9, 4)
    paths = ["", *(op * length for op in "=XID" for length in range(1, 200)), *("".join(rng.choice(list("=XID"), 50)) for _ in range(20))]
    mixed = [(rng.choice(list("=XID"), n), rng.integers(1, 150, n)) for n in range(1, 40)]
    paths += ["".join(op * int(length) for op, length in zip(*one, strict=True)) for one in mixed]
    encoded = [encode(path) for path in paths] + [b"".join(encode(op) for op in path) for path in paths]
    data, offsets = np.frombuffer(b"".join(encoded), dtype=np.uint8), np.cumsum([0, *map(len, encoded)])
    pieces = np.split(data, np.sort(rng.choice(offsets, cuts)))
    runs = Runs(pieces, offsets[None, :-1], np.diff(offsets).astype(np.int32)[None])
    assert np.array_equal(runs.data, data)
    band = Band(0, 1, 0, len(encoded), 0, 1)
    statistics = np.zeros(band.shape, STATISTICS)
    statistics["query_end"] = sequences.lengths[0]
    results = BandResults(band, np.zeros(band.shape, np.int32), statistics, runs)
    block = RectangleBlock(Task(sequences, sequences, SCHEME, detail=Detail.PATH), 2, results)
    for kind, of_pairs in (("cigar", "=X"), ("cigar_m", "MM")):
        told = [path.replace("=", of_pairs[0]).replace("X", of_pairs[1]) for path in paths + paths]
        expected = ["".join(f"{len(list(group))}{op}" for op, group in groupby(path)) or "*" for path in told]
        assert text(block, [block.path_column(kind)]).splitlines() == expected
    inner = [path.strip("D") for path in paths + paths]
    cigars = ["".join(f"{len(list(group))}{op}" for op, group in groupby(path)) or "*" for path in inner]
    distances = [str(len(path) - path.count("=")) for path in inner]
    positions = [str(path.index(kept) + 1 if kept else 1) for path, kept in zip(paths + paths, inner, strict=True)]
    for kind, expected in (("sam_cigar", cigars), ("sam_distance", distances), ("sam_position", positions)):
        assert text(block, [block.path_column(kind)]).splitlines() == expected


@pytest.mark.parametrize("field", OF_HITS, ids=lambda field: field.name)
def test_pairs_have_no_columns_of_hits(aligned, field):
    block = aligned.rectangle(range(2), range(2))
    with pytest.raises(TypeError, match="only hits of a search"):
        field.make_column(block)
    assert block.significance((0, 0)) is None


def test_text_of_listed_records():
    texts = StringColumn.from_strings(["a", "", "long one"])
    column = Column.listed_text(texts.text, texts.offsets, np.array([2, 0, 0, 1, 2]))
    assert format_block([column], 0, 1, 5, [0], None) == [b"long one\na\na\n\nlong one\n"]
    for record in (-1, 3):
        with pytest.raises(ValueError, match="not one of the strings"):
            Column.listed_text(texts.text, texts.offsets, np.array([0, record]))
