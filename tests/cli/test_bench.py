"""`gpualign bench`: the report's files, what it leaves out without a GPU, and how numbers become tables and charts."""

import json
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
from command import gpualign

from gpualign.papers.bench_munekawa import database_lengths
from gpualign.papers.report import (
    MethodComparison,
    MethodMeasurement,
    Section,
    Table,
    draw_charts,
    to_json,
    to_markdown,
    without_published_values,
)
from gpualign.papers.timing import Timing, summarise_times, time_repeatedly

pytestmark = pytest.mark.slow


def made_up_section():
    steps = [
        MethodMeasurement("loop", "CPU", Timing(2.0, 1.9, 2.2, 5), 1.0, "44 s"),
        MethodMeasurement("naive", "GPU", Timing(0.02, 0.02, 0.021, 5), 20.0, "2 s: 20×"),
    ]
    steps.append(MethodMeasurement("today", "GPU", Timing(0.000004, 0.000004, 0.000005, 5)))
    return Section(
        "P 2010",
        "A paper",
        [MethodComparison("distance", "some task", steps, "old card", ["A note."])],
        [Table("More", ["a"], [["1"]])],
        ["x"],
    )


def test_tables_and_numbers():
    page = to_markdown([made_up_section()], "a machine")
    assert "| naive | GPU | 20 | 20 to 21 | 100 | 2 s: 20× |" in page
    assert "| today | GPU | 0.004 | 0.004 to 0.005 | 500,000 |  |" in page
    assert "Left out: x." in page
    numbers = json.loads(to_json([made_up_section()], {"gpu": "a GPU"}))
    assert numbers["sections"][0]["ladders"][0]["steps"][1]["timing"]["median"] == 0.02
    assert numbers["machine"] == {"gpu": "a GPU"}


def test_figures_of_another_size_are_left_out():
    section = made_up_section()
    page = to_markdown([Section("P 2010", "A paper", [without_published_values(section.ladders[0])], [], [])], "a machine")
    assert "| method | on | ms, median | quartiles | speed-up |\n" in page
    assert "| naive | GPU | 20 | 20 to 21 | 100 |\n" in page
    assert "44 s" not in page
    assert "old card" not in page


def test_charts_have_a_bar_a_method():
    pytest.importorskip("matplotlib")
    outputs = {"svg": BytesIO(), "png": BytesIO()}
    draw_charts([made_up_section(), made_up_section()], outputs)
    ElementTree.fromstring(outputs["svg"].getvalue())
    assert outputs["png"].getvalue().startswith(b"\x89PNG")
    again = {"svg": BytesIO()}
    draw_charts([made_up_section(), made_up_section()], again)
    assert again["svg"].getvalue() == outputs["svg"].getvalue()


def test_times():
    assert summarise_times([3.0]) == Timing(3.0, 3.0, 3.0, 1)
    assert summarise_times([1.0, 2.0, 3.0, 4.0, 5.0]) == Timing(3.0, 2.0, 4.0, 5)
    calls = []
    found = time_repeatedly(3, lambda k: calls.append(k) or float(k))
    assert calls == [0, 0, 1, 2]
    assert found.median == 1


def test_the_made_up_database_is_like_swiss_prot():
    lengths = database_lengths(250_143)
    assert lengths.mean() == pytest.approx(362, abs=2)
    assert lengths.min() >= 2
    assert 250 < np.median(lengths) < 330


@pytest.mark.parametrize("paper", ["payne", "li", "munekawa"])
def test_without_a_gpu_the_cpu_is_measured(tmp_path, paper):
    done = gpualign("bench", paper, "--device", "cpu", "-o", tmp_path / "report")
    page = (tmp_path / "report" / "table.md").read_text()
    assert page == done.stdout.decode().removesuffix("\n")
    assert "no GPU" in page
    assert "Left out" in page
    numbers = json.loads((tmp_path / "report" / "results.json").read_text())
    assert numbers["sections"][0]["ladders"][0]["steps"][0]["timing"]["median"] > 0
    assert ("GeForce" in page) is (paper == "payne")  # whose small size is the paper's; the others' figures are of more


@pytest.mark.gpu
def test_on_a_gpu_every_method_is_measured(tmp_path, real_device):
    gpualign("bench", "all", "-o", tmp_path / "report")
    page = (tmp_path / "report" / "table.md").read_text()
    for method in ("naive", "coalesced", "char", "register", "shared", "rodinia", "tiled-dscan", "dscan", "rscan", "scalar", "vector"):
        assert f"| {method} | GPU |" in page
    assert "Left out" not in page


def test_refusals(tmp_path):
    done = gpualign("bench", "payne", "--device", "cuda:all", "-o", tmp_path / "x", check=False)
    assert done.returncode == 2
    assert b"bench is for one GPU" in done.stderr
    (tmp_path / "file").write_text("")
    done = gpualign("bench", "payne", "--device", "cpu", "-o", tmp_path / "file", check=False)
    assert done.returncode == 1
    assert b"cannot write" in done.stderr
