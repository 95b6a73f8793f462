"""Every golden file in tests/golden/ and the command that writes it, declared once."""

from dataclasses import dataclass

from places import DATA, GOLDEN

from gpualign import __version__

ONE, TWO, ACGT = GOLDEN / "input.fasta", GOLDEN / "targets.fasta", GOLDEN / "acgt.fasta"
CORE, OLD, FAILED = GOLDEN / "dist" / "core.aln", GOLDEN / "dist" / "old.aln", GOLDEN / "dist" / "failed.aln"
"""In FAILED, the sample bad has no calls; half and other have no site in common."""
MASK = GOLDEN / "dist" / "mask.bed"
ALLELES = GOLDEN / "dist" / "alleles_input.tsv"
"""A table as chewBBACA writes it; the last two isolates have no locus in common."""
FAMILY, FAMILY_BY_PLINK2 = GOLDEN / "dist" / "family.vcf", GOLDEN / "dist" / "family.kin0"
"""Genotypes with missing calls and several alleles, and the output of `plink2 --make-king-table counts` for them."""
GRM_BY_PLINK2 = GOLDEN / "dist" / "snps.grm"
"""Output of `plink2 --make-grm-list` for the calls in data/snps.tsv."""
GENES_QUERY, GENES_DB = GOLDEN / "strands" / "queries.fasta", GOLDEN / "strands" / "db.fasta"
"""A database of DNA, and queries, some of them on the other strand."""
CODING_GENES, CODED_PROTEINS = GOLDEN / "translated" / "genes.fasta", GOLDEN / "translated" / "proteins.fasta"
"""Genes that code for the proteins, with changes: in frame 2, in frame -3 with ambiguous codons and a stop, with a frameshift; and one too
short for all frames."""
EITHER_STRAND = GOLDEN / "strands" / "near.fasta"
"""Near records, some of them reverse complements."""
GROUPS = GOLDEN / "strands" / "groups.tsv"
"""Groups of the records in EITHER_STRAND."""
CELLS = GOLDEN / "receptors" / "cells.tsv"
"""An AIRR table of T cells, of which some have two alpha chains or lack a chain."""
GIVEN_CLUSTERS = GOLDEN / "cluster" / "given.clstr"
"""Clusters of five of the six records of ONE, as CD-HIT writes them."""
PROTEINS_QUERY, PROTEINS_DB, SNPS = (DATA / name for name in ("proteins_query.fasta", "proteins_db.fasta", "snps.tsv"))

_SEQUENCES = {ONE, TWO, ACGT, GENES_QUERY, GENES_DB, CODING_GENES, CODED_PROTEINS, EITHER_STRAND, GROUPS, CELLS, GIVEN_CLUSTERS}
INPUTS = _SEQUENCES | {CORE, OLD, FAILED, MASK, ALLELES, FAMILY, FAMILY_BY_PLINK2, GRM_BY_PLINK2}
"""Inputs in the folder of golden files: they are read, not written."""

EVERY_FIELD = (
    "query,target,score,qlen,tlen,identity,matches,mismatches,length,gap_opens,gaps,cigar,cigar_m,qstart,qend,tstart,tend,qaln,taln"
)
BOTH_CHAINS = ("--locus", "TRB", "--and", "TRA")
END_GAPS = ("penalised", "free", "query", "target")


@dataclass(frozen=True)
class Golden:
    """name: the file's path in tests/golden/; words: the command; output: the file that the command writes, None: standard output."""

    name: str
    words: tuple[str, ...]
    output: str | None = None

    @property
    def path(self):
        return GOLDEN / self.name

    def written(self, run, folder):
        """The bytes that the command writes when `run(*words)`, which returns what went to standard output, runs it in `folder`.
        The version, which SAM tells, is 0."""
        if self.output is None:
            found = run(*self.words)
        else:
            run(*self.words, "-o", self.output)
            found = (folder / self.output).read_bytes()
        return found.replace(f"\tVN:{__version__}\n".encode(), b"\tVN:0\n")


def _golden(name, *words, output=None):
    return Golden(name, tuple(map(str, words)), output)


_SCORES = [
    _golden("pairs.tsv", "nw", ONE),
    _golden("pairs_self.tsv", "nw", "--self", ONE),
    _golden("pairs_two_files.tsv", "nw", ONE, TWO),
    _golden("pairs_fields.tsv", "nw", "--fields", "tlen,qlen,score,target,query", ONE),
    _golden("pairs_edit.tsv", "nw", "--edit", ONE),
    _golden("pairs.csv", "nw", "--format", "csv", "--fields", "target,score,distance,identity,cigar,query", ONE),
    _golden("pairs_max_distance.tsv", "nw", "--edit", "--max-distance", 3, ONE),
    _golden("pairs_min_score.tsv", "nw", "--min-score", 20, ONE),
    _golden("pairs_match.tsv", "nw", "--match", 2, "--mismatch", -1, "--gap", 1, ONE),
    _golden("pairs_hoxd70.tsv", "nw", "--matrix", "hoxd70", "--gap-open", 400, "--gap-extend", 30, ACGT),
    _golden("pairs_protein.tsv", "nw", "--alphabet", "protein", "--matrix", "PAM250", ONE),
    _golden("matrix.tsv", "nw", "--format", "matrix", ONE),
    _golden("edit_matrix.csv", "nw", "--edit", "--value", "distance", ONE, output="x.csv"),
    _golden("matrix_two_files.tsv", "nw", "--format", "matrix", ONE, TWO),
    _golden("matrix.npy", "nw", ONE, output="x.npy"),
    _golden("matrix.npz", "nw", ONE, output="x.npz"),
    _golden("near_csr.npz", "nw", "--edit", "--max-distance", 3, "--format", "csr", ONE, output="x.npz"),
    _golden("receptors/locus.tsv", "nw", "--hamming", "--max-distance", 1, "--locus", "TRA", CELLS),
    _golden("receptors/pairs.tsv", *("nw", "--edit", "--max-distance", 3, "--same", "v_call", *BOTH_CHAINS, CELLS)),
    _golden("receptors/pairs_two_files.csv", *("nw", "--hamming", "--max-distance", 2, "--format", "csv", *BOTH_CHAINS, CELLS, CELLS)),
    _golden("receptors/clones.tsv", "cluster", "--hamming", "--max-distance", 1, *BOTH_CHAINS, CELLS),
    _golden("counts.tsv", "nw", "--edit", "--max-distance", 3, "--format", "counts", ONE),
]

_ALIGNMENTS = [
    *(
        _golden(
            f"alignments_{ends}.{format}",
            *("nw", "--format", format, "--end-gaps", ends, ONE),
            *(("--fields", EVERY_FIELD) if format == "tsv" else ()),
        )
        for ends in END_GAPS
        for format in ("tsv", "m8", "paf", "sam", "aln", "fasta")
    ),
    _golden("covered.tsv", "nw", "--end-gaps", "free", "--min-coverage", 0.5, ONE),
    *(
        _golden(f"covered_{which}.tsv", *("nw", "--min-identity", 0.8, "--min-coverage", 0.9, "--coverage-of", which, ONE))
        for which in ("query", "target", "shorter")
    ),
    _golden("identity_matrix.tsv", "nw", "--format", "matrix", "--value", "identity", ONE),
    _golden("distances.phy", "nw", "--format", "phylip", ONE),
    _golden("edit_distances.phy", "nw", "--format", "phylip", "--edit", ONE),
    _golden("near.tsv", "nw", "--fields", "query,target,identity", "--min-identity", 0.9, ONE),
    _golden(
        "near_edit.tsv",
        *("nw", "--fields", "query,target,score,identity", "--edit", "--max-distance", 3, "--min-identity", 0.8, ONE),
    ),
    _golden("near_identity.tsv", "nw", "--edit", "--min-identity", 0.9, ONE),
    _golden("near_distance.tsv", "nw", "--max-distance", 0.1, ONE),
    *(
        _golden(f"both_strands.{format}", "nw", "--strand", "both", "--format", format, GENES_QUERY, GENES_DB)
        for format in ("tsv", "m8", "paf", "sam", "aln")
    ),
    _golden("both_strands_matrix.tsv", "nw", "--strand", "both", "--value", "identity", "--format", "matrix", GENES_DB),
    _golden("both_strands_near.tsv", "nw", "--strand", "both", "--edit", "--max-distance", 4, EITHER_STRAND),
    *(
        _golden(f"groups_{which}.tsv", *("nw", "--groups", GROUPS, f"--{which}", "--fields", "query,target,score,cigar"), EITHER_STRAND)
        for which in ("between", "within")
    ),
    _golden("protein.aln", "nw", "--alphabet", "protein", "--format", "aln", ONE, TWO),
]

_HITS = [
    _golden(f"{name}.{format}", "sw", *inputs, "--max-evalue", "1e-3", "--format", format)
    for name, inputs in (("hits", (PROTEINS_QUERY, PROTEINS_DB, "--max-hits", 4)), ("hits_dna", (GENES_QUERY, GENES_DB)))
    for format in ("tsv", "csv", "m8", "paf", "sam", "aln")
] + [
    _golden("hits_estimated.m8", "sw", GENES_QUERY, GENES_DB, "--evalue", "estimate", "--format", "m8"),
    _golden("every_score.tsv", "sw", "--all", GENES_QUERY, GENES_DB),
]

_DISTANCES = [
    _golden(f"dist/{name}", "dist", *words)
    for name, *words in (
        ("square.tsv", CORE),
        ("rectangle.tsv", CORE, OLD),
        ("square.csv", "--format", "csv", CORE),
        ("square.molten", "--format", "molten", CORE),
        ("square.phy", "--format", "phylip", CORE),
        ("counts.tsv", "--max-distance", "2", "--format", "counts", CORE),
        ("square.meg", "--format", "mega", CORE),
        ("fraction.tsv", "--metric", "fraction", CORE),
        ("jc69.meg", "--metric", "jc69", "--format", "mega", CORE),
        ("tn93.tsv", "--metric", "tn93", CORE),
        ("all_letters.tsv", "--all-letters", CORE),
        ("complete.tsv", "--missing", "complete", "--metric", "fraction", CORE),
        ("as_difference.tsv", "--missing", "as-difference", CORE),
        ("near.tsv", "--max-distance", 2, CORE),
        ("near_rectangle.csv", "--max-distance", 1, "--format", "csv", "--compared", CORE, OLD),
        ("near_fraction.tsv", "--max-distance", 0.1, "--metric", "fraction", "--compared", CORE),
        ("compared.molten", "--format", "molten", "--compared", CORE, OLD),
        ("added.tsv", "--compared", "--add", OLD, CORE),
        ("added.csv", "--max-distance", 1, "--format", "csv", "--add", OLD, CORE),
        ("added.molten", "--format", "molten", "--compared", "--min-compared", 19, "--add", OLD, CORE),
        ("snps_ibs.tsv", "--metric", "ibs", SNPS),
        ("snps_allele.tsv", "--metric", "allele", SNPS),
        ("alleles.tsv", ALLELES),
        ("alleles.molten", "--format", "molten", "--compared", "--min-compared", 19, ALLELES),
        ("alleles_as_difference.tsv", "--missing", "as-difference", "--metric", "fraction", ALLELES),
        ("alleles_near.tsv", "--max-distance", 9, "--compared", "--type", "alleles", ALLELES),
        ("snps_king.tsv", "--metric", "king", SNPS),
        ("snps_relatives.csv", "--metric", "king", "--min-kinship", 0.02, "--compared", "--format", "csv", SNPS),
        ("failed.tsv", FAILED),
        ("failed.molten", "--format", "molten", "--compared", FAILED),
        ("failed.meg", "--format", "mega", "--min-compared", 6, FAILED),
        ("failed_near.tsv", "--max-distance", 1, FAILED),
        ("failed_near_half.tsv", "--max-distance", 1, "--min-compared", 0.5, FAILED),
        ("failed_complete.tsv", "--missing", "complete", FAILED),
        ("failed_as_difference.tsv", "--missing", "as-difference", "--min-compared", "1.0", FAILED),
        ("sites.tsv", "--mask", MASK, "--core", 0.75, "--maf", 0.25, "--metric", "fraction", CORE),
        ("sites_rectangle.molten", "--regions", "NC_1:5-", "--mask", MASK, "--format", "molten", "--compared", CORE, OLD),
        ("sites_added.csv", "--core", 1, "--maf", 0.3, "--max-distance", 3, "--format", "csv", "--compared", "--add", OLD, CORE),
        ("snps_sites_ibs.tsv", "--core", 0.9, "--maf", 0.1, "--metric", "ibs", SNPS),
        ("failed_fraction.tsv", "--metric", "fraction", "--min-compared", 3, FAILED),
    )
]

_CLUSTERS = [
    _golden(f"cluster/{name}", "cluster", *words)
    for name, *words in (
        ("single.tsv", "--max-distance", 0.3, "--min-coverage", 0, ONE),
        ("single.csv", "--max-distance", 0.3, "--min-coverage", 0, "--format", "csv", ONE),
        ("names.tsv", "--edit", "--levels", "6,4,0", ONE),
        ("names.microreact", "--edit", "--levels", "6,4,0", "--format", "microreact", ONE),
        ("complete.tsv", "--max-distance", 0.3, "--min-coverage", 0, "--method", "complete", ONE),
        ("average.tsv", "--edit", "--max-distance", 4, "--method", "average", ONE),
        ("greedy.tsv", "--min-identity", 0.5, "--min-coverage", 0, "--method", "greedy", ONE),
        ("greedy.uc", "--min-identity", 0.5, "--min-coverage", 0, "--method", "greedy", "--format", "uc", ONE),
        ("single.uc", "--min-identity", 0.5, "--min-coverage", 0, "--format", "uc", ONE),
        ("shorter.tsv", "--min-identity", 0.8, "--coverage-of", "shorter", ONE),
        ("problems.tsv", "--edit", "--max-distance", 3, "--verify", GIVEN_CLUSTERS, ONE),
        ("connections.tsv", "--edit", "--max-distance", 3, "--verify", GIVEN_CLUSTERS, "--method", "single", ONE),
        ("fixed.tsv", "--edit", "--max-distance", 3, "--verify", GIVEN_CLUSTERS, "--fix", ONE),
        ("greedy.fasta", "--min-identity", 0.5, "--min-coverage", 0, "--method", "greedy", "--format", "fasta", ONE),
    )
]

_TRANSLATED = [
    _golden(
        f"translated/{which}.{format}",
        *("sw", "--translate", which, *inputs, "--mask", "none", "--max-evalue", "1e-3", "--format", format),
        *(("--fields", f"{EVERY_FIELD},bits,evalue,strand,qframe,tframe,qcov,tcov") if format == "csv" else ()),
    )
    for which, inputs in (
        ("query", (CODING_GENES, CODED_PROTEINS)),
        ("target", (CODED_PROTEINS, CODING_GENES)),
        ("both", (CODING_GENES, CODING_GENES)),
    )
    for format in ("tsv", "csv", "m8", "paf", "aln")
]

GOLDENS = [*_SCORES, *_ALIGNMENTS, *_HITS, *_TRANSLATED, *_DISTANCES, *_CLUSTERS]
