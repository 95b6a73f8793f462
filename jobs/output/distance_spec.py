"""Specification of an output of distances, and the sink for a list of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import parameter
from gpualign.core.distance.metrics import Metric
from gpualign.core.distance.output.base import DECIMALS
from gpualign.core.distance.output.pairs import NearPairsSink, PairsSink, PairTextFormat
from gpualign.core.files.paths import has_gzip_suffix
from gpualign.core.output.formats.registry import FORMATS, Layout, ResultKind
from gpualign.jobs.output.format_selection import separator_of
from gpualign.jobs.output.specs import FileSpec

if TYPE_CHECKING:
    from gpualign.core.output.writer import ByteWriter
    from gpualign.jobs.output.clusters import ClusterSpec
    from gpualign.jobs.plotting.output import PlotFile


@dataclass(frozen=True)
class DistanceSpec(FileSpec):
    """An output of distances.

    threshold_option: name of the option that limits the output to a list of near pairs; None: all pairs
    writes_compared: whether the number of compared sites is also written
    lists_added: whether the output is a list of pairs (near or all) in which each query is compared with all later targets; the targets are
        then the queries followed by added samples
    container: kind of file in which pyarrow writes typed columns (core/output/arrow.py); None: text
    plot_file: file for a picture of the matrix; None: no picture is drawn
    clusters: output of the clusters of the near pairs; None: clusters are not written
    """

    threshold_option: str | None
    writes_compared: bool
    lists_added: bool
    container: str | None
    plot_file: PlotFile | None = None
    clusters: ClusterSpec | None = None

    def outputs(self, one_set: bool) -> list[Path | None]:
        compared = [self.compared_path] if self.compared_path and not self.options.shard else []
        picture = [self.plot_file.path] if self.plot_file else []
        return [*super().outputs(one_set), *compared, *picture, *(self.clusters.outputs if self.clusters else [])]

    @property
    def layout(self) -> Layout:
        return FORMATS[self.format].layouts[ResultKind.DISTANCES]

    @property
    def is_pair_list(self) -> bool:
        """True if pairs are written, or counted, once each, as computed, without holding a matrix in memory."""
        return self.threshold_option is not None or self.lists_added or self.layout in (Layout.COLUMNS, Layout.SPARSE)

    @property
    def is_counts(self) -> bool:
        """True if only the number of near pairs of each sample is written."""
        return self.layout is Layout.COUNTS

    @property
    def no_matrix_reason(self) -> str | None:
        """Human-readable reason why no matrix is held in memory; None if there is a matrix."""
        if self.threshold_option is not None:
            return f"{self.threshold_option}, which writes only near ones"
        if self.lists_added:
            return f"{parameter('add')}, which writes a list of pairs"
        return f"{self.format}, for which no matrix is held" if self.is_pair_list else None

    @property
    def compared_path(self) -> Path | None:
        """Path of the second matrix, which contains the numbers of compared sites; None if there is no file of its own for them: they are a
        column of a list, are in the first file, or are not requested."""
        if not self.writes_compared or self.is_pair_list or self.format in ("molten", "npz"):
            return None
        assert self.path is not None
        return compared_path(self.path)


def compared_path(path: Path) -> Path:
    """Return the path of the second matrix, which contains the numbers of compared sites and lies next to the first matrix (`path`)."""
    suffixes = "".join(path.suffixes[-2:] if has_gzip_suffix(path) else path.suffixes[-1:])
    return path.with_name(f"{path.name[: len(path.name) - len(suffixes)]}.compared{suffixes}")


def pairs_sink(spec: DistanceSpec, metric: Metric, stream: ByteWriter, threads: int = 1) -> PairsSink:
    """Return a sink that writes a pair list, or the number of pairs of each sample, to a stream."""
    if spec.container is not None:
        from gpualign.core.distance.output.arrow_sparse import ArrowPairsSink

        return ArrowPairsSink(stream, spec.container, metric.value_name, metric.dtype, spec.writes_compared)
    separator, headed = separator_of(spec.format, spec.path), spec.format != "molten"
    if spec.is_counts:
        from gpualign.core.distance.output.neighbour_counts import NeighbourCountsSink

        return NeighbourCountsSink(stream, separator, threads)
    text = PairTextFormat(separator, 0 if metric.is_integer else DECIMALS, headed, metric.value_name)
    return NearPairsSink(stream, text, spec.writes_compared, threads)
