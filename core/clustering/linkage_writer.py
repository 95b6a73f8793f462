"""Writes the report of how far single linkage has chained records together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import numpy as np

from gpualign.core.clustering.linkage_report import ClusterLinks
from gpualign.core.common.arrays import Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.units import FRACTION_DECIMALS
from gpualign.core.output.writer import ByteWriter


@dataclass(frozen=True)
class RecordDates:
    """Dates of records.

    days: day number of each record, float64[records]; nan if unknown
    texts: dates as text
    """

    days: Reals = field(repr=False)
    texts: Sequence[str] = field(repr=False)


def write_linkage_report(
    stream: ByteWriter,
    ids: Sequence[str],
    levels: Sequence[str],
    links: Sequence[ClusterLinks],
    dates: RecordDates | None,
) -> None:
    """Write one row per cluster of two or more records, level by level: level, cluster, size, diameter, longest link of the minimum
    spanning tree and its two records, and with dates the earliest and the latest record.

    levels: maximum distance of each level, as text
    links: the clusters of each level
    dates: dates of the records; None: the columns of dates are left out

    Distances have six decimals, unless all are integers. An unknown distance is nan, and cells of unknown records are empty.
    """
    titles = ["level", "cluster", "size", "diameter", "link", "query", "target"]
    titles += ["first", "first_date", "last", "last_date"] if dates is not None else []
    stream.write(("\t".join(titles) + "\n").encode())

    distances = np.concatenate([np.concatenate((one.diameters, one.links)) for one in links])
    decimals = 0 if (np.isnan(distances) | (distances == np.rint(distances))).all() else FRACTION_DECIMALS

    def rows(level: str, clusters: ClusterLinks) -> Iterator[list[str]]:
        for k, (label, size) in enumerate(zip(clusters.labels.tolist(), clusters.sizes.tolist(), strict=True)):
            ends = [ids[end] if end >= 0 else "" for end in clusters.ends[k].tolist()]
            row = [level, str(label), str(size), *(f"{one[k]:.{decimals}f}" for one in (clusters.diameters, clusters.links)), *ends]
            if dates is not None:
                for record in (int(clusters.first[k]), int(clusters.last[k])):
                    row += [ids[record], dates.texts[record]] if record >= 0 else ["", ""]
            yield row

    for level, clusters in zip(levels, links, strict=True):
        text = "".join("\t".join(row) + "\n" for row in rows(level, clusters))
        stream.write(text.encode("utf-8", "surrogateescape"))
