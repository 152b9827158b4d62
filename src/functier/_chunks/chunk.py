"""One part of a batch, and the run that it belongs to.

NOTE [what a chunk may know]
    Results must depend neither on the executor nor on the order in which chunks are
    computed, which may be in other threads, processes or machines. So code that has a
    state (a random generator) asks `CHUNK` which part of which call it computes in, and
    derives what it does from that and from the state that it had when the call began.
    What it has done to its state in another process stays there; it is made known by
    `Chunk.report`.
"""

import os
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from typing import Any

_BORN = os.urandom(8).hex()


class Run:
    """One chunked call: what its chunks have in common.

    Equal to, and of one hash with, its copies in other processes.
    """

    __slots__ = ("__weakref__", "bases", "executor", "id", "label", "process", "randomness")

    def __init__(self, label: str, executor: Any = None, randomness: str = "error"):
        self.id, self.label, self.executor = os.urandom(8).hex(), label, executor
        self.randomness, self.process = randomness, process()  # for `streams`, as `bases` is
        self.bases: dict = {}

    def __eq__(self, other: object) -> bool:
        return type(other) is Run and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __getstate__(self) -> tuple:
        return self.id, self.label, self.randomness, self.process

    def __setstate__(self, state: tuple) -> None:
        self.id, self.label, self.randomness, self.process = state
        self.executor, self.bases = None, {}


def process() -> tuple[str, int]:
    """Which process of which machine this is."""
    return _BORN, os.getpid()


class Chunk:
    """The examples `start` to `stop` of the `size` of a batch: chunk `index` of `count`.

    Attributes
    ----------
    run : Run
        Which call; the chunks of a nested call have a run of their own.
    index, count : int
        Which of how many chunks of the run this is.
    start, stop, size : int
        Which of how many examples are in it.
    outer : Chunk or None
        The chunk in which the chunked call is being made.
    reports : dict
        What `report` has noted.
    streams : dict
        What `streams` draws from in this chunk; a chunk of a nested call that runs elsewhere
        takes it along.
    """

    __slots__ = (
        "count", "index", "outer", "reports", "run", "size", "start", "stop", "streams",
    )  # fmt: skip

    def __init__(
        self, run: Run, index: int, count: int, start: int, stop: int, size: int,
        outer: "Chunk | None" = None,
    ):  # fmt: skip
        self.run, self.index, self.count = run, index, count
        self.start, self.stop, self.size, self.outer = start, stop, size, outer
        self.reports: dict[Callable[[Run, set], None], set] = {}
        self.streams: dict = {}

    def report(self, merge: Callable[[Run, set], None], item: Hashable) -> None:
        """Have ``merge(run, items)`` called once where the chunked call was made.

        It is called after the last chunk, also where one has failed, with all items that
        the chunks have reported for it, in the context of the call (in which `CHUNK` is
        `outer`). Both have to be picklable; `merge` is a function of a module.
        """
        self.reports.setdefault(merge, set()).add(item)


CHUNK: ContextVar[Chunk | None] = ContextVar("chunk", default=None)
"""The innermost chunk that is being computed; None where a batch is computed as a whole."""
