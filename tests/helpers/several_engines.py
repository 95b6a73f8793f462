"""Several engines side by side: their reports, and callbacks that make them start at the same time."""

import threading

from command import LIMIT


class RecordedEngines:
    """Makes an engine from several, and records what it reports.

    make: called with the engines, a function that receives notes, and one that receives details; returns the engine
    """

    def __init__(self, make):
        self._make = make
        self.notes, self.details = [], []

    def engine(self, *engines):
        return self._make(engines, self.notes.append, self.details.append)


def start_together():
    """A function that returns, for each of two workers (0 and 1), a callback that waits until the other worker has started too. A callback
    may be called more than once."""
    started = threading.Event(), threading.Event()

    def callback_of(number):
        def start(_):
            started[number].set()
            assert started[1 - number].wait(LIMIT)

        return start

    return callback_of
