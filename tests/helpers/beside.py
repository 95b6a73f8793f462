"""Engines beside each other: what is told of them, and workers that wait for each other."""

import threading

from command import LIMIT


class Told:
    """make: one engine of several, and of those whom it tells of what goes wrong, and of details."""

    def __init__(self, make):
        self._make = make
        self.notes, self.details = [], []

    def engine(self, *engines):
        return self._make(engines, self.notes.append, self.details.append)


def meeting():
    """Makes, for each of two (0 and 1), what waits until the other has begun too, however often it is called."""
    begun = threading.Event(), threading.Event()

    def of(number):
        def begin(_):
            begun[number].set()
            assert begun[1 - number].wait(LIMIT)

        return begin

    return of
