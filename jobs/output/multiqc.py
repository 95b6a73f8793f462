"""Run summary as a section for MultiQC reports: "custom content" (https://docs.seqera.io/multiqc/custom_content)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COLUMN_HEADERS: dict[str, dict[str, Any]] = {
    "command": {"title": "Command", "description": "Of gpualign"},
    "sequences": {"title": "Sequences", "format": "{:,.0f}", "scale": "Blues"},
    "samples": {"title": "Samples", "format": "{:,.0f}", "scale": "Blues"},
    "sites": {"title": "Sites", "format": "{:,.0f}", "scale": "Blues"},
    "pairs": {"title": "Pairs", "description": "Pairs considered", "format": "{:,.0f}", "scale": "Purples"},
    "pairs_kept": {"title": "Kept", "description": "Pairs that pass the thresholds", "format": "{:,.0f}", "scale": "Greens"},
    "pairs_without_distance": {
        "title": "No distance",
        "description": "Pairs without a distance: too few compared sites, or the metric has no value",
        "format": "{:,.0f}",
        "scale": "Reds",
    },
    "hits": {"title": "Hits", "description": "Hits that were written", "format": "{:,.0f}", "scale": "Greens"},
    "near_pairs": {"title": "Near pairs", "format": "{:,.0f}", "scale": "Greens"},
    "clusters": {"title": "Clusters", "format": "{:,.0f}", "scale": "Oranges"},
    "singletons": {"title": "Singletons", "description": "Clusters of one record", "format": "{:,.0f}", "scale": "Oranges"},
    "largest_cluster": {"title": "Largest", "description": "Records of the largest cluster", "format": "{:,.0f}", "scale": "Oranges"},
    "gcups": {"title": "GCUPS", "description": "10^9 cells of alignment matrices per second", "format": "{:,.1f}", "scale": "RdYlGn"},
    "time": {
        "title": "Time",
        "description": "From the first byte that was read to the last one written",
        "suffix": " s",
        "format": "{:,.1f}",
    },
    "memory": {"title": "Memory", "description": "Peak RAM", "suffix": " MiB", "format": "{:,.0f}", "scale": "YlOrRd"},
    "engine": {"title": "Engine", "description": "Device that computed"},
}
"""Columns in order, by key in the summary. A run shows only the columns for which the summary has numbers."""


def multiqc_section(summary: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a section for MultiQC: a table with one row. name: name of the row. MultiQC merges the sections of several runs, which all
    have the same id."""
    row = _row(summary)
    return {
        "id": "gpualign",
        "section_name": "gpualign",
        "description": "Exact all-vs-all sequence alignment, search and SNP distance.",
        "plot_type": "table",
        "pconfig": {"id": "gpualign_table", "title": "gpualign: runs", "namespace": "gpualign"},
        "headers": {key: {**header, "placement": place} for place, (key, header) in enumerate(_COLUMN_HEADERS.items()) if key in row},
        "data": {name: row},
    }


def _row(summary: Mapping[str, Any]) -> dict[str, Any]:
    results, engine = summary["results"], summary["engine"]
    row = {key: results[key] for key in _COLUMN_HEADERS if isinstance(results.get(key), (int, float))}
    if "cells_per_second" in results:
        row["gcups"] = results["cells_per_second"] / 1e9
    row |= {"command": summary["command"], "time": summary["seconds"]["total"]}
    if summary["peak_memory"] is not None:
        row["memory"] = summary["peak_memory"] / (1 << 20)
    return row if engine is None else row | {"engine": engine["hardware"]}
