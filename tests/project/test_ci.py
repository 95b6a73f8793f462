"""What .ci/run leaves out where a change does not touch it."""

import os
import shutil
import subprocess

import pytest
from places import ROOT

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
DAY = 86_400


@pytest.fixture
def touched(tmp_path):
    """Of a repository with a commit of two days ago, one of last hour in lately/, and a file in now/: whether a change touches paths."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "touched", tmp_path / ".ci")

    def git(*arguments, age=0):
        date = f"{2_000_000_000 - age} +0000"
        variables = {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date, "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x", *arguments], cwd=tmp_path, env={**os.environ, **variables}, check=True
        )

    git("init", "-q")
    for folder, age in (("before", 2 * DAY), ("lately", 3600), ("now", 0)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text(folder)
        if age:
            git("add", "-A")
            git("commit", "-q", "-m", folder, age=age)

    def ask(*paths, base=""):
        command = [tmp_path / ".ci" / "touched", *paths]
        return subprocess.run(command, env={**os.environ, "CI_BASE": base}, capture_output=True).returncode == 0

    return ask


def test_the_change_of_a_day_and_of_the_working_tree(touched):
    assert [touched(path) for path in ("before", "lately", "now")] == [False, True, True]
    assert touched("before", "now")


def test_the_change_since_a_commit(touched):
    assert [touched(path, base="HEAD") for path in ("before", "lately", "now")] == [False, False, True]


def test_everything_is_touched_where_the_base_is_not_known(touched):
    assert touched("before", base="0" * 40)


def test_run_names_its_arguments():
    done = subprocess.run([ROOT / ".ci" / "run", "--al"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: .ci/run [--all]\n")
