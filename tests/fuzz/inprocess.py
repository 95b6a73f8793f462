"""Readers inside one process, thousands of texts a minute: each either reads what a reference reads or raises `GpualignError`.

    python tests/fuzz/inprocess.py SEED FIRST SECONDS
prints a line of JSON a finding, then how many texts it read. The process may die of what it reads; the one that started it then says
which text that was and goes on behind it.
"""

import faulthandler
import json
import random
import subprocess
import sys
import tempfile
import time
import traceback
from io import BytesIO
from pathlib import Path

if __name__ == "__main__":
    _TESTS = Path(__file__).resolve().parent.parent
    sys.path[:1] = [str(_TESTS), str(_TESTS / "helpers")]

from fuzz import binaries, reference, texts
from fuzz.reference import NoOpinion, Refuse


def _sequences(rng, folder):
    from gpualign.core.sequences.loading import encode_all, read_raw_records

    data = texts._text(rng, rng.choice([texts.fasta, texts.fastq]))[0]

    def read():
        alphabet, (found,) = encode_all([read_raw_records(BytesIO(data), "x")], "dna")
        text = "".join(alphabet.letters[code] for code in found.codes)
        return [(name, text[a:b]) for name, a, b in zip(found.ids, found.offsets[:-1], found.offsets[1:], strict=True)]

    return data, read, lambda: reference.sequences(data, "dna")


def _alignment(rng, folder):
    from gpualign.core.distance.readers.alignment import AlignmentText, read_alignments
    from gpualign.core.distance.tables.options import CallOptions

    data = texts._text(rng, texts.aligned)[0]

    def read():
        if not data.lstrip().startswith(b">"):
            raise NoOpinion  # the command would not have taken it for an alignment
        with tempfile.TemporaryFile() as scratch:
            found = read_alignments([AlignmentText(BytesIO(data), "x")], CallOptions(), 1 << 20, lambda: scratch)
            return found.samples.queries.ids, found.site_count

    def expected():
        ids, codes = reference.alignment(data)
        return ids, codes.shape[1]

    return data, read, expected


def _table(rng, folder):
    from gpualign.core.distance.readers.table import read_tables
    from gpualign.core.distance.tables.options import CallOptions

    data = texts.table(rng)
    data = data if rng.random() < 0.2 else texts.spoil(rng, data)

    def read():
        if data.startswith(b"\x1f\x8b"):
            raise NoOpinion  # the command would have unpacked it
        with tempfile.TemporaryFile() as scratch:
            found = read_tables([(BytesIO(data), "x")], CallOptions(), 1 << 20, lambda: scratch, lambda _: None)
            return found.samples.queries.ids, found.call_readers[0](0, found.site_count, None).tolist()

    def expected():
        ids, codes = reference.table(data)
        return ids, codes.tolist()

    return data, read, expected


def _matrix(rng, folder):
    from gpualign.cli.inputs.distance_matrices import read_matrix

    kind = rng.choice(["tsv", "npy", "npz"])
    data = texts.spoil(rng, texts.matrix(rng)) if kind == "tsv" else binaries.damage(rng, binaries.array(kind))
    path = folder / "x.tsv"
    path.write_bytes(data)

    def expected():
        raise NoOpinion

    return data, lambda: read_matrix(str(path)), expected


def _index(rng, folder):
    from gpualign.core.sequences.database_index import open_index

    rewritten = rng.random() < 0.5
    data = (binaries._rewritten_header if rewritten else binaries.damage)(rng, binaries.index())
    path = folder / "x.gpa"
    path.write_bytes(data)

    def read():
        found, alphabet = open_index(str(path))
        text = "".join(alphabet.letters[code] for code in found.codes)
        records = [(name, text[a:b]) for name, a, b in zip(found.ids, found.offsets[:-1], found.offsets[1:], strict=True)]
        return [records[k] for k in found.file_positions.argsort()]

    def expected():
        if rewritten:
            raise NoOpinion
        return reference.index(binaries.index())

    return data, read, expected


READERS = {"FASTA and FASTQ": _sequences, "alignments": _alignment, "tables": _table, "matrices": _matrix, "indexes": _index}


def check(seed, number, folder):
    """(kind, detail) of what is wrong with how text `number` was read, or None."""
    from gpualign.core.common.errors import GpualignError

    rng = random.Random(f"inside:{seed}:{number}")
    name = rng.choice(list(READERS))
    data, read, expected = READERS[name](rng, folder)
    try:
        found = read()
    except (GpualignError, NoOpinion):
        return None
    except Exception as error:
        place = [frame for frame in traceback.extract_tb(error.__traceback__) if "/tests/fuzz/" not in frame.filename][-1:]
        where = f"{Path(place[0].filename).name}: {place[0].name}" if place else "?"
        return f"{type(error).__name__} in {where} ({name}, inside)", f"text {number}: {error!s:.200} {data[:100]!r}"
    try:
        if (known := expected()) != found:
            return f"wrong reading ({name}, inside)", f"text {number}: {str(found)[:200]}, by the reference {str(known)[:200]}"
    except NoOpinion:
        return None
    except Refuse as error:
        return f"bad input accepted ({name}, inside)", f"text {number}: {error} {data[:200]!r}"
    return None


def run_for(seed, seconds):
    """(texts read, findings by kind), in processes of their own, each for the next texts."""
    end, number, faults = time.monotonic() + seconds, 0, {}
    while (left := end - time.monotonic()) > 1:
        words = [sys.executable, __file__, str(seed), str(number), str(left)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=left + 1800)
        at = number
        for line in done.stdout.splitlines():
            found = json.loads(line)
            at = found["at"]
            if "kind" in found:
                faults.setdefault(found["kind"], found["detail"])
        if done.returncode:
            faults.setdefault(f"a reader died ({done.returncode}, inside)", f"text {at} to {at + 100}: {done.stderr[-400:]}")
        number = at + (100 if done.returncode else 1)
    return number, faults


def main(seed, first, seconds):
    """Read texts from `first` on for so long."""
    faulthandler.enable()
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        number = first
        while time.monotonic() < end:
            found = check(seed, number, Path(folder))
            if found:
                print(json.dumps({"at": number, "kind": found[0], "detail": found[1]}), flush=True)
            elif number % 100 == 0:
                print(json.dumps({"at": number}), flush=True)
            number += 1
        print(json.dumps({"at": number}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
