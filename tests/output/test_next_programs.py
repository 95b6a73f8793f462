"""What other programs read of our tables and trees, by their own code, where they are installed (docs/tasks/next_programs.md): Augur of
Nextstrain, and GrapeTree, whose page runs in Node.js."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from command import gpualign
from examples import indented
from places import ROOT

pytest.importorskip("scipy")

needs_augur = pytest.mark.skipif(shutil.which("augur") is None, reason="needs augur: pip install nextstrain-augur")

GRAPETREE_READER = """
const fs = require("fs"), vm = require("vm"), [folder, newick, table] = process.argv.slice(2), read = {};
const tree = { addMetadataOptions() {}, addMetadata(rows) { read.rows = rows; }, changeCategory(title) { read.shown = title; } };
const selected = { val: () => selected };
const page = vm.createContext({ $: () => selected, alert(text) { throw Error(text); }, the_tree: tree });
for (const name of ["base_tree.js", "d3_m_tree.js", "grapetree_fileHandler.js"])
  vm.runInContext(fs.readFileSync(`${folder}/${name}`, "utf8"), page);
page.newick = fs.readFileSync(newick, "utf8");
page.table = fs.readFileSync(table, "utf8");
vm.runInContext(
  `one = Object.create(D3MSTree.prototype);
   one.original_nodes = [];
   one.original_links = [];
   one.createLinksFromNewick(one.parseNewick(newick));
   loadMetadataText(table);`,
  page,
);
console.log(JSON.stringify({ nodes: page.one.original_nodes, links: page.one.original_links, ...read }));
"""


def shown_commands(program):
    """The commands of the page that begin with the name of a program."""
    page = (ROOT / "docs" / "tasks" / "next_programs.md").read_text()
    found = [command for command in indented(page).commands if command.startswith(f"{program} ")]
    assert found
    return found


def grapetree_scripts():
    """The folder of GrapeTree's own JavaScript, beside the program; None if there is none, or nothing to run it."""
    program = shutil.which("grapetree")
    if program is None or shutil.which("node") is None:
        return None
    return next(Path(program).resolve().parent.parent.glob("lib/python*/site-packages/grapetree/static/js/tree"), None)


@pytest.fixture
def folder(tmp_path):
    """Four isolates, of which a is nearest to all others, in a matrix and with names."""
    (tmp_path / "distances.tsv").write_text("\ta\tb\tc\td\na\t0\t1\t3\t7\nb\t1\t0\t4\t8\nc\t3\t4\t0\t9\nd\t7\t8\t9\t0\n")
    words = ["cluster", "-q", "--distances", "distances.tsv", "--levels", "5,2"]
    gpualign(*words, "--format", "microreact", "-o", "nodes.csv", "--colours", "colours.tsv", cwd=tmp_path)
    gpualign(*words, "-o", "names.tsv", cwd=tmp_path)
    gpualign("tree", "-q", "distances.tsv", "--root", "midpoint", "-o", "tree.nwk", cwd=tmp_path)
    gpualign("tree", "-q", "distances.tsv", "--method", "mst", "--leaves", "-o", "spanning.nwk", cwd=tmp_path)
    return tmp_path


@needs_augur
def test_augur_takes_the_names_as_metadata_and_their_colours(folder):
    """With a config that says that codes are names: Augur takes whole numbers for quantities, which have no colours of their own."""
    colourings = [{"key": title, "title": title, "type": "categorical"} for title in ("t5", "t2")]
    (folder / "config.json").write_text(json.dumps({"colorings": colourings}))
    for command in shown_commands("augur"):
        subprocess.run(shlex.split(command), cwd=folder, check=True, capture_output=True)
    exported = json.loads((folder / "auspice.json").read_text())
    scales = {one["key"]: one["scale"] for one in exported["meta"]["colorings"]}
    assert scales == {"t5": [[1, "#e69f00"], [2, "#56b4e9"]], "t2": [[1, "#e69f00"], [2, "#56b4e9"], [3, "#009e73"]]}
    leaves = {}
    waiting = [exported["tree"]]
    while waiting:
        node = waiting.pop()
        waiting += node.get("children", [])
        if "t2" in node["node_attrs"]:
            leaves[node["name"]] = [node["node_attrs"][title]["value"] for title in ("t5", "t2")]
    assert leaves == {"a": [1, 1], "b": [1, 1], "c": [1, 2], "d": [2, 3]}


@pytest.mark.skipif(grapetree_scripts() is None, reason="needs GrapeTree (pip install grapetree) and Node.js")
@pytest.mark.parametrize("table", ["names.tsv", "nodes.csv"])
def test_grapetree_reads_spanning_trees_and_names(folder, table):
    (folder / "read.js").write_text(GRAPETREE_READER)
    command = ["node", "read.js", grapetree_scripts(), "spanning.nwk", table]
    found = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout)
    nodes = found["nodes"]
    links = [(nodes[link["source"]], nodes[link["target"]], link["distance"]) for link in found["links"]]
    assert links == [("_hypo_0", "a", 0), ("_hypo_0", "b", 1), ("_hypo_0", "c", 3), ("_hypo_0", "d", 7)]
    assert {name: row["t2"] for name, row in found["rows"].items() if name} == {"a": "1", "b": "1", "c": "2", "d": "3"}
    assert found["shown"] == "address"
