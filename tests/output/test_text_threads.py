"""Several threads make text of the blocks of a band: the same bytes in the same order, and nothing goes on behind an end or an error."""

import io
import os
import signal
import subprocess
import threading
from contextlib import closing

import numpy as np
import pytest
from aligned_blocks import OF_PAIRS, Aligned
from command import GPUALIGN, LIMIT, gpualign, shell
from processes import started

from gpualign.core.common.threads import IN_FLIGHT_PER_THREAD, ThreadPool, map_in_order
from gpualign.core.output.formats.blast6 import Blast6
from gpualign.core.output.formats.fasta import AlignedFasta
from gpualign.core.output.formats.paf import Paf
from gpualign.core.output.formats.sam import Sam
from gpualign.core.output.formats.tsv import Tsv
from gpualign.core.output.table import TableSink
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, TileLimits, make_plan
from gpualign.core.results.columns import FIELDS
from gpualign.core.results.filter import Filter
from gpualign.jobs.devices.memory import text_thread_count

FORMATS = {"tsv": lambda: Tsv(OF_PAIRS), "m8": Blast6, "paf": Paf, "sam": Sam, "fasta": AlignedFasta}


def threads_of_ours():
    return [thread for thread in threading.enumerate() if thread.name.startswith("gpualign-pool")]


@pytest.fixture(autouse=True)
def nothing_is_left_running():
    yield
    assert threads_of_ours() == []


@pytest.fixture(scope="module")
def aligned():
    return Aligned(np.random.default_rng(5))


@pytest.fixture
def bands(aligned):
    """Every pair, in bands of several queries and in bands of parts of the targets of one."""
    last = aligned.rectangle(range(11, 12), range(12)).results
    whole = [aligned.rectangle(rows, range(12)).results for rows in (range(7), range(7, 11))]
    return [*whole, *(last.select(slice(0, 1), columns) for columns in (slice(0, 5), slice(5, 12)))]


def written(aligned, bands, format, threads, filter=None, run_bytes=1 << 20):
    sink = TableSink(stream := io.BytesIO(), aligned.task, FORMATS[format](), filter, threads=threads)
    sink.block_run_bytes = run_bytes
    lengths = aligned.queries.lengths, aligned.targets.lengths
    sink.begin(make_plan(*lengths, Pairing.ALL, TileLimits(1 << 20, 0, 4, 4, 100)))
    for band in bands:
        sink.write(band)
    sink.finish()
    return stream.getvalue()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("min_identity", [None, 0.6])
def test_any_number_of_threads_and_any_blocks(aligned, bands, format, min_identity):
    """In SAM, which row of a query is its primary alignment depends on the rows before."""
    filter = Filter(min_identity=min_identity)
    expected = written(aligned, bands, format, 1, filter)
    assert len(expected.splitlines()) > 50
    for run_bytes in (1, 300, 1 << 20):
        for threads in (1, 2, 3, 8):
            assert written(aligned, bands, format, threads, filter, run_bytes) == expected


def test_blocks_of_rows_with_letters_are_smaller(aligned):
    rows = {name: make() for name, make in FORMATS.items()} | {"cigars": Tsv([FIELDS["query"], FIELDS["cigar"]])}
    runs = {name: TableSink(io.BytesIO(), aligned.task, format).block_run_bytes for name, format in rows.items()}
    assert len(set(runs.values())) == 2
    assert {name for name, most in runs.items() if most == min(runs.values())} == {"tsv", "sam", "fasta"}


def test_a_band_of_one_block_starts_no_thread(aligned, bands, monkeypatch):
    def start(thread):
        raise AssertionError(f"{thread.name} was started")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert written(aligned, bands, "tsv", 8) == written(aligned, bands, "tsv", 1)
    assert written(aligned, bands, "tsv", 1, run_bytes=1)
    with pytest.raises(AssertionError, match="gpualign-pool"):
        written(aligned, bands, "tsv", 2, run_bytes=1)


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_full_disk_ends_all_at_once(aligned, bands, after):
    class Full:
        left = 1 + after  # the header, which PAF has none of, is written too

        def write(self, data):
            if not self.left:
                raise OSError("disk full")
            self.left -= 1

    sink = TableSink(Full(), aligned.task, Paf(), threads=3)
    sink.block_run_bytes = 1
    sink.begin(make_plan(aligned.queries.lengths, aligned.targets.lengths, Pairing.ALL, TileLimits(1 << 20, 0, 4, 4, 100)))
    with pytest.raises(OSError, match="disk full"):
        sink.write(bands[0])
    assert sink.stream.left == 0


class Work:
    """Squares of numbers, with what happened. bad: the number that cannot be squared."""

    def __init__(self, bad=None):
        self.bad = bad
        self.taken, self.begun = 0, set()
        self.gate = threading.Event()

    def items(self, count):
        for number in range(count):
            self.taken += 1
            yield number

    def square(self, number):
        self.begun.add(number)
        if number == self.bad:
            raise ValueError(f"no square of {number}")
        return number * number


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_order(threads, count):
    assert list(map_in_order(Work().square, range(count), threads)) == [n * n for n in range(count)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_memory_is_bounded(threads):
    """However slow the consumer is, few items are on their way."""
    work = Work()
    for number, _ in enumerate(map_in_order(work.square, work.items(100), threads)):
        assert work.taken <= number + 1 + IN_FLIGHT_PER_THREAD * threads
    assert work.taken == 100


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_error_stands_where_its_result_would(threads):
    work, found = Work(bad=20), []
    with pytest.raises(ValueError, match="no square of 20"):
        found.extend(map_in_order(work.square, work.items(100), threads))
    assert found == [] or found == [n * n for n in range(20)]
    assert max(work.begun) < 21 + IN_FLIGHT_PER_THREAD * threads
    assert threads_of_ours() == []


def test_threads_stay_for_other_items():
    pool, names = ThreadPool(3), set()

    def noted(number):
        names.add(threading.current_thread().name)
        return number

    for _ in range(20):
        assert list(pool.imap(noted, range(50))) == list(range(50))
    assert len(names) <= 3
    assert 1 <= len(threads_of_ours()) <= 3
    pool.close()


def test_an_error_of_a_single_item_ends_the_threads_of_earlier_ones():
    pool, work = ThreadPool(3), Work(bad=7)
    assert list(pool.imap(work.square, range(5))) == [0, 1, 4, 9, 16]
    with pytest.raises(ValueError, match="no square of 7"):
        list(pool.imap(work.square, [7]))
    assert threads_of_ours() == []


def test_closing_waits_for_what_is_at_work_and_begins_nothing():
    work = Work()
    running = threading.Event()

    def slow(number):
        if number:
            running.set()
            work.gate.wait(LIMIT)
        return work.square(number)

    with closing(map_in_order(slow, range(100), 2)) as results:
        assert next(results) == 0
        assert running.wait(LIMIT)
        threading.Timer(0.05, work.gate.set).start()
    assert len(work.begun) <= 1 + 2 * IN_FLIGHT_PER_THREAD
    assert threads_of_ours() == []


def test_an_error_of_the_source_ends_the_threads():
    def source():
        yield from range(10)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(map_in_order(lambda number: number, source(), 3))
    assert threads_of_ours() == []


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_each_thread_repeats_its_step(threads):
    left = dict.fromkeys(range(threads), 7)

    def step(thread):
        left[thread] -= 1
        return left[thread] > 0

    with closing(ThreadPool(threads)) as pool:
        pool.repeat(step)
    assert left == dict.fromkeys(range(threads), 0)
    assert threads_of_ours() == []


def test_no_step_follows_an_error():
    failed, steps = threading.Event(), []

    def step(thread):
        if thread == 0:
            failed.set()
            raise ValueError("no step")
        steps.append(thread)
        return failed.wait(LIMIT)

    with pytest.raises(ValueError, match="no step"), closing(ThreadPool(3)) as pool:
        pool.repeat(step)  # endless, if the error did not end it
    assert threads_of_ours() == []


def test_threads_that_the_budget_holds():
    """Text has its share, and a small budget leaves one thread, as ever."""
    for memory in (0, 1, 1000, 10**7, 2 << 30, 10**12):
        budget = Budget.from_total(memory)
        assert budget.result_bytes + budget.scratch_bytes + budget.text_bytes == memory
        found = [text_thread_count(budget, threads) for threads in (1, 2, 16, 200)]
        assert found[0] == 1
        assert found == sorted(found)
    assert text_thread_count(Budget.from_total(10**8), 16) == 1
    assert text_thread_count(Budget.from_total(2 << 30), 16) == 16
    assert text_thread_count(Budget.from_total(10**12), 200) == 200


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Two files of which a band makes several blocks: 15 million bytes of CIGARs."""
    folder = tmp_path_factory.mktemp("text")
    rng = np.random.default_rng(3)
    letters = np.array(list("ACGT"))
    for name, count in (("a.fa", 100), ("b.fa", 200)):
        (folder / name).write_text("".join(f">{name}{i}\n{''.join(letters[rng.integers(0, 4, 400)])}\n" for i in range(count)))
    return folder


COMMAND = ["nw", "-q", "--device", "cpu", "--edit", "--fields", "query,target,identity,cigar"]


def test_the_command_writes_the_same(inputs):
    outputs = {threads: gpualign(*COMMAND, "--threads", threads, "a.fa", "b.fa", cwd=inputs).stdout for threads in (1, 2)}
    assert len(outputs[1].splitlines()) == 20_001
    assert outputs[1] == outputs[2]


def test_head_ends_the_command_quietly(inputs):
    done = shell(f"{GPUALIGN} {' '.join(COMMAND)} --threads 2 a.fa b.fa | head -n 3; echo ${{PIPESTATUS[0]}}", cwd=inputs)
    assert done.stderr == b""
    assert len(done.stdout.splitlines()) == 4
    alone = shell(f"{GPUALIGN} {' '.join(COMMAND)} --threads 1 a.fa b.fa | head -n 3; echo ${{PIPESTATUS[0]}}", cwd=inputs)
    assert done.stdout == alone.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_is_told_of(inputs):
    done = gpualign(*COMMAND, "--threads", "2", "--format", "tsv", "-o", "/dev/full", "a.fa", "b.fa", cwd=inputs, check=False)
    assert done.returncode == 1
    assert b"cannot write /dev/full: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("words", ["info", "--help", "nw --help", "--version", "--citation"])
def test_a_full_disk_is_told_of_by_short_commands(words):
    done = shell(f"{GPUALIGN} {words} > /dev/full; echo $?")
    assert done.stdout == b"1\n"
    assert done.stderr == b"gpualign: error: cannot write standard output: No space left on device\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_the_exit_code_of_a_typo_does_not_depend_on_where_it_is_told():
    assert shell(f"{GPUALIGN} nw x.fa --bogus 2> /dev/full").returncode == 2


def test_an_interrupt_while_nobody_reads(inputs):
    """The pipe is full, and text waits for its turn."""
    with started([GPUALIGN, *COMMAND, "--threads", "2", "a.fa", "b.fa"], cwd=inputs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        assert job.stdout.read(1000)
        job.send_signal(signal.SIGINT)
        _, errors = job.communicate(timeout=LIMIT)
    assert job.returncode == 130
    assert b"Traceback" not in errors


@pytest.mark.parametrize("format", FORMATS)
def test_columns_are_made_by_threads_unless_a_format_compares_rows(aligned, bands, monkeypatch, format):
    made, chosen = set(), FORMATS[format]()
    columns = type(chosen).columns
    monkeypatch.setattr(type(chosen), "columns", lambda *given: made.add(threading.current_thread().name) or columns(*given))
    sink = TableSink(io.BytesIO(), aligned.task, chosen, threads=3)
    sink.block_run_bytes = 1
    sink.begin(make_plan(aligned.queries.lengths, aligned.targets.lengths, Pairing.ALL, TileLimits(1 << 20, 0, 4, 4, 100)))
    sink.write(bands[0])
    sink.finish()
    here = {threading.current_thread().name}
    assert made == here if format == "sam" else made > here  # the first block's in the caller's thread
