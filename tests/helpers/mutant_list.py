"""Mistakes of one line that tests must see (tests/mutants.py makes them)."""

from __future__ import annotations

from dataclasses import dataclass

BLOCKS = "tests/gpu/test_blocks_at_once.py"


@dataclass(frozen=True)
class Mutant:
    """A mistake.

    title: what goes wrong
    file: path below the root
    old, new: text that the file has once, within a line, and what takes its place
    tests: arguments of pytest, the tests that see it
    survives: why no test can see it
    """

    title: str
    file: str
    old: str
    new: str
    tests: str
    survives: str = ""

    def applied_to(self, text: str) -> str:
        """Return the file's text with the mistake. Raises `ValueError` unless the old text is there once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has {self.old!r} {text.count(self.old)} times, not once")
        return text.replace(self.old, self.new)


PIPELINE = "cuda_src/alignment/pipeline.cuh"
RAISED = "static DEVICE void set(int32_t* flag, int value) {"

THREADS, SLICES = "cuda_src/alignment/threads.cu", "cuda_src/alignment/bitsliced.cu"

BETWEEN_BLOCKS = [
    Mutant("blocks: no strip waits", PIPELINE, "if (strip_ > 0 && columns > ready_)", "if (false)", BLOCKS),
    Mutant("blocks: a flag comes too early (threads)", THREADS, "hand_down(end)", "hand_down(end + kChunk)", f"{BLOCKS} -k threads"),
    Mutant("blocks: a flag comes too early (slices)", SLICES, "hand_down(end)", "hand_down(end + kChunk)", f"{BLOCKS} -k slices"),
    Mutant("blocks: no wait for copies", "cuda_src/alignment/carry_ring.cuh", "wait_for_copies<kBatches - 2>();", "", BLOCKS),
    Mutant("blocks: no wait for a slot", PIPELINE, "if (unit.strip == 0 && before >= 0)", "if (false)", BLOCKS),
    Mutant("blocks: a flag without a barrier", PIPELINE, f"{RAISED}\n    __syncthreads();", RAISED, BLOCKS),
]

MUTANTS = BETWEEN_BLOCKS
