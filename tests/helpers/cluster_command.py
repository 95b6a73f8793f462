"""Small files for `gpualign cluster`, its refusals and its tables."""

import csv
import io

from command import gpualign

GENES = ">a;size=1\nACGTACGTACGTACGT\n>b;size=7\nACGTACGTACGAACGT\n>c;size=2\nACGTACGTACGAACGA\n>d\nTTTTTTTTTTTTTTTTT\n"
LIST = "query\ttarget\tdistance\na\tb\t1\nb\tc\t2\nc\td\t9\n"


def rows(output):
    return list(csv.DictReader(io.StringIO(output.decode()), delimiter="\t"))


def clusters(output):
    """The cluster of each record of a table."""
    return {row["id"]: int(row["cluster"]) for row in rows(output)}


def refused(words, folder, code=2):
    """The message with which a command is refused. Checks that it changes no file in `folder`."""
    before = sorted(folder.rglob("*"))
    done = gpualign("cluster", *words, check=False, cwd=folder)
    assert done.returncode == code
    assert done.stdout == b""
    assert sorted(folder.rglob("*")) == before
    assert b"Traceback" not in done.stderr
    return done.stderr.decode()


def write_small_files(folder):
    """genes.fa, of four records, and list.tsv, pairs with their distances."""
    (folder / "genes.fa").write_text(GENES)
    (folder / "list.tsv").write_text(LIST)
