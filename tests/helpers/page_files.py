"""Small files under the names that commands in the documentation give them, and programs that these commands are joined with."""

import gzip
import re
import sys

import numpy as np
from command import gpualign_here
from places import DATA, GOLDEN
from sites import vcf_text, write_fileset, write_pgen


def _records(name):
    """(title, letters) of each record of a file in data/."""
    for record in (DATA / name).read_text().split(">")[1:]:
        title, _, letters = record.partition("\n")
        yield title, letters.replace("\n", "")


def _stem(path):
    return path.name.partition(".")[0]


def _changed(letters, places):
    """The row with another nucleotide at each of these places."""
    row = list(letters)
    for place in places:
        row[place] = "CATG"["ACGT".index(row[place])]
    return "".join(row)


def _write(path, text):
    content = text.encode()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def _genes(path, first=0, last=250):
    """Six, of which each of three has a near relative. Their ids are of the file, so that several files can be joined."""
    rows = [letters[first:last] for (_, letters), _ in zip(_records("16s_small.fasta"), range(3), strict=False)]
    rows += [_changed(row, [len(row) // 2]) for row in rows]
    ids = [f"{_stem(path)}_{k};size={k}" for k in range(1, 7)]
    if {".fq", ".fastq"} & set(path.suffixes):
        _write(path, "".join(f"@{id}\n{row}\n+\n{'I' * len(row)}\n" for id, row in zip(ids, rows, strict=True)))
    else:
        _write(path, "".join(f">{id}\n{row}\n" for id, row in zip(ids, rows, strict=True)))


def _reads(path):
    _genes(path, 50, 110)


def _genomes(path):
    for name in ("a.fa", "b.fa", "c.fa"):
        _genes(path.parent / name)


def _receptor_table(path):
    """Write an AIRR table of six receptors, two of which are not productive."""
    rows = [("TRBV7-2*01", "T", "CASSLGQAYEQYF"), ("TRBV7-2*02", "T", "CASSLGQSYEQYF"), ("TRBV5-1*01", "F", "CASS*GTEAFF")]
    rows = [(f"{_stem(path)}_{k}", gene, "TRBJ2-7*01", *rest) for k, (gene, *rest) in enumerate(rows * 2, 1)]
    titles = ("sequence_id", "v_call", "j_call", "productive", "junction_aa")
    _write(path, "".join("\t".join(cells) + "\n" for cells in (titles, *rows)))


def _b_cell_table(path):
    """Write an AIRR table of three heavy chains with nucleotides, two of which differ by 2."""
    rows = ["TGTGCGAGAGATTACTACTGG", "TGTGCGAGAGACTACTATTGG", "TGTGCAAAATCGGGGGCCTGG"]
    rows = [f"{_stem(path)}_{k}\tIGHV3-23*01\tIGHJ4*02\tT\t{letters}\n" for k, letters in enumerate(rows, 1)]
    _write(path, "".join(["sequence_id\tv_call\tj_call\tproductive\tjunction\n", *rows]))


def _contig_table(path):
    """The table of contigs that Cell Ranger writes, with the columns that are needed here."""
    betas = [("AAAC-1", "CASSLGQAYEQYF"), ("CCCA-1", "CASSLGQSYEQYF")]
    rows = [f"{cell},{cell}_contig_1,TRB,TRBV7-2,TRBJ2-7,true,{text}" for cell, text in betas]
    rows += [f"{cell},{cell}_contig_2,TRA,TRAV1-2,TRAJ33,true,CAVMDSNYQLIW" for cell, _ in betas]
    _write(path, "\n".join(["barcode,contig_id,chain,v_gene,j_gene,productive,cdr3", *rows, ""]))


def _proteins(path):
    related = {"tr|D6TKQ6|D6TKQ6_9CHLR", "sp|B3QW61|EFP_CHLT3", "tr|N6U7I9|N6U7I9_DENPD", "sp|Q3Z8Z5|ATPD_DEHM1"}
    kept = [record for record in _records("proteins_db.fasta") if record[0].split()[0] in related]
    assert len(kept) == len(related)
    kept.append((f"{kept[0][0].split()[0]}_copy OS=Homo sapiens OX=9606", kept[0][1]))
    _write(path, "".join(f">{title}\n{letters}\n" for title, letters in kept))


def _protein_table(path):
    titles = [title.split()[0] for title, _ in _records("proteins_db.fasta")]
    _write(path, "id\ttaxid\tfamily\n" + "".join(f"{name}\t9606\tf{k}\n" for k, name in enumerate(titles)))


def _protein_rows(path):
    """Rows of an alignment of proteins: one, the same with a gap, and one of other letters."""
    letters = next(letters for _, letters in _records("proteins_db.fasta"))[:60]
    rows = [letters, f"{letters[:20]}---{letters[23:]}", letters[::-1]]
    _write(path, "".join(f">{_stem(path)}_{k}\n{row}\n" for k, row in enumerate(rows, 1)))


def _index(path):
    _proteins(path.with_name(f"of_{path.stem}.fa"))
    gpualign_here("index", "-q", path.with_name(f"of_{path.stem}.fa"), "-o", path)


def _sample_set(path):
    aligned = path.with_name("core.aln")
    _alignment(aligned)
    gpualign_here("index", aligned, "-o", path)


def _alignment(path):
    """Four rows of 120 columns with 0, 1, 2 and 3 differences from the first, one of them with a gap."""
    _, letters = next(_records("16s_small.fasta"))
    rows = [_changed(letters[:120], range(5, 5 + 30 * k, 30)) for k in range(4)]
    rows[3] = f"--{rows[3][2:]}"
    _write(path, "".join(f">{_stem(path)}_{k}\n{row}\n" for k, row in enumerate(rows, 1)))


def _calls():
    """Genotypes of eight people at twenty sites."""
    rows = (DATA / "snps.tsv").read_text().splitlines()[1:9]
    return np.array([row.split("\t")[1:] for row in rows], dtype=np.uint8)[:, [*range(10), *range(20, 30)]]


def _cohort_vcf(path):
    """On chromosomes of both ways to spell them: pages use either."""
    places = [(name, 3_000_000 + k) for name in ("1", "2", "X", "chr1", "chr2") for k in (1, 20, 300, 4000)]
    calls = _calls()
    records = [("AC", [("0/0", "0/1", "1/1")[call] for call in column]) for column in calls.T]
    text = vcf_text([f"p{k}" for k in range(len(calls))], records, places)
    if path.suffix != ".bcf":
        return _write(path, text)
    from pysam import bcftools

    plain = path.with_suffix(".made.vcf")
    plain.write_text(text)
    bcftools.view("-Ob", "-o", str(path), str(plain), catch_stdout=False)


def _alleles(path):
    rows = ["1\tINF-2\t3\t2\t1", "1\t1\t1\t1\tNIPH", "1\t2\t3\t4\t1", "1\tLNF\t2\t4\t1"]
    _write(path, "FILE\tG1\tG2\tG3\tG4\tG5\n" + "".join(f"{_stem(path)}_{k}\t{row}\n" for k, row in enumerate(rows, 1)))


def _export(path):
    """With columns that are no loci, as exports of isolates have them."""
    rows = ["1\t2\t3\t2", "1\t1\t1\t7", "1\t5\t3\t2"]
    titles = "id\tcountry\tyear\tST\tBuilding\tRun 7\tG1\tG2\tG3\tG4\n"
    _write(path, titles + "".join(f"s{k}\tFrance\t2024\t{k}\tNorth\t{k + 5}\t{row}\n" for k, row in enumerate(rows)))


def _distances(path):
    aligned = path.with_name(f"of_{path.name}.aln")
    _alignment(aligned)
    gpualign_here("dist", "-q", aligned, "-o", path)


def _groups(of):
    """A table of groups of the records of a file that `_distances` or `_genes` made of this name."""
    return lambda path: _write(path, "id\tward\n" + "".join(f"{id}\t{'west' if k % 2 else 'east'}\n" for k, id in enumerate(of)))


def _metadata(path):
    rows = [f"of_distances_{k}\t{'France' if k % 2 else 'Peru'}\t{2020 + k}\n" for k in range(1, 5)]
    _write(path, "id\tcountry\tyear\n" + "".join(rows))


def _tests(path):
    """These tests, as if the folder were that of the repository."""
    next(folder for folder in path.parents if folder.name == "tests").symlink_to(DATA.parent / "tests")


FILES = {
    **dict.fromkeys(
        ["genes.fa", "genes.fasta", "queries.fa", "targets.fa", "references.fa", "a.fa", "b.fa", "new.fa", "old.fa", "genomes.fa"], _genes
    ),
    **dict.fromkeys(["new.fasta", "old.fasta", "amplicons.fasta", "reads.fq.gz", "reads.fastq.gz"], _genes),
    **dict.fromkeys(["reads.fa", "reads.fasta"], _reads),
    "genomes/*.fa": _genomes,
    **dict.fromkeys(["airr.tsv", "patient.tsv", "healthy.tsv", "new_airr.tsv", "old_airr.tsv"], _receptor_table),
    "bcr.tsv": _b_cell_table,
    "filtered_contig_annotations.csv": _contig_table,
    "cells.tsv": lambda path: _write(path, (GOLDEN / "receptors" / "cells.tsv").read_text()),
    "cdr3.txt": lambda path: _write(path, "CASSLGQAYEQYF\nCASSLGQSYEQYF\nCASSLGQAYEQYF\n"),
    "query.fa": lambda path: _write(path, (DATA / "proteins_query.fasta").read_text()),
    "contigs.fa": lambda path: _write(path, (DATA / "contigs.fasta").read_text()),
    **dict.fromkeys(["db.fa", "proteins.fa", "proteins.fasta", "swissprot.fasta.gz"], _proteins),
    "proteins.tsv": _protein_table,
    "proteins.aln": _protein_rows,
    "db.gpa": _index,
    "sites.gps": _sample_set,
    **dict.fromkeys(["core.aln", "core.full.aln", "full.aln", "new.aln", "old.aln", "week.aln"], _alignment),
    "failed.txt": lambda path: _write(path, "# by their coverage\ncore_2\n"),
    "repeats.bed": lambda path: _write(path, "reference\t30\t50\n"),
    "snps.tsv": lambda path: _write(path, (DATA / "snps.tsv").read_text()),
    **dict.fromkeys(["cohort.vcf.gz", "cohort.bcf", "x.bcf"], _cohort_vcf),
    "low_complexity.bed.gz": lambda path: _write(path, "chr1\t3000000\t3000010\n"),
    **dict.fromkeys(["cohort.bed", "kept.bed", "new.bed"], lambda path: write_fileset(path, _calls())),
    "cohort.pgen": lambda path: write_pgen(path, _calls()),
    **dict.fromkeys(["results_alleles.tsv", "new.tsv", "old.tsv"], _alleles),
    "export.tsv": _export,
    "ids.txt": lambda path: _write(path, "sp|B3QW61|EFP_CHLT3\ntr|N6U7I9|N6U7I9_DENPD\n"),
    "loci.txt": lambda path: _write(path, "G1\nG2\nG4\n"),
    **dict.fromkeys(["distances.npy", "distances.tsv", "snps.npy"], _distances),
    "wards.tsv": _groups([f"of_distances_{k}" for k in range(1, 5)]),
    "isolates.tsv": _metadata,
    "samples.tsv": _groups([f"genes_{k};size={k}" for k in range(1, 7)]),
    **dict.fromkeys(["tests/fuzz", "tests/fuzz/inprocess.py"], _tests),
}
"""Functions that make the file, or the files, that commands use under a name."""

_PYTHON = f"#!{sys.executable}\nimport sys\n"
PROGRAMS = {
    "less": "#!/bin/sh\nexec cat\n",
    "zcat": '#!/bin/sh\nexec gzip -dc "$@"\n',  # that of macOS asks for a suffix .Z
    "samtools": _PYTHON + "import pysam.samtools as tools\ngetattr(tools, sys.argv[1])(*sys.argv[2:], catch_stdout=False)\n",
    "bcftools": _PYTHON + "import pysam.bcftools as tools\ngetattr(tools, sys.argv[1])(*sys.argv[2:], catch_stdout=False)\n",
    "jq": _PYTHON
    + "import json\nvalue = json.load(open(sys.argv[2]))\nfor key in sys.argv[1].split('.')[1:]:\n    value = value[key]\nprint(value)\n",
}
"""Scripts in place of programs that a machine may lack; samtools and bcftools run those in pysam."""


def prepare(command, folder):
    """Make the files that `command` reads, unless they exist."""
    for name, make in FILES.items():
        if re.search(rf"(?<!> )(?<!-o )(?<![\w./*-]){re.escape(name)}(?![\w./*-])", command) and not (folder / name).exists():
            make(folder / name)


def stand_ins(folder):
    """Fill a new folder with `PROGRAMS`, and return it."""
    folder.mkdir()
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder
