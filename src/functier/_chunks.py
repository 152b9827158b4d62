"""Chunks: a batch that is computed part by part, by an executor or in a row.

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


class Run:
    """One chunked call: what its chunks have in common.

    Equal to, and of one hash with, its copies in other processes.
    """

    __slots__ = ("__weakref__", "id", "label")

    def __init__(self, label: str):
        self.id, self.label = os.urandom(8).hex(), label

    def __eq__(self, other: object) -> bool:
        return type(other) is Run and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __getstate__(self) -> tuple:
        return self.id, self.label

    def __setstate__(self, state: tuple) -> None:
        self.id, self.label = state


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
    """

    __slots__ = ("count", "index", "outer", "reports", "run", "size", "start", "stop")

    def __init__(
        self, run: Run, index: int, count: int, start: int, stop: int, size: int,
        outer: "Chunk | None" = None,
    ):  # fmt: skip
        self.run, self.index, self.count = run, index, count
        self.start, self.stop, self.size, self.outer = start, stop, size, outer
        self.reports: dict[Callable[[Run, set], None], set] = {}

    def report(self, merge: Callable[[Run, set], None], item: Hashable) -> None:
        """Have ``merge(run, items)`` called once where the chunked call was made.

        It is called after the last chunk, also where one has failed, with all items that
        the chunks have reported for it, in the context of the call (in which `CHUNK` is
        `outer`). Both have to be picklable; `merge` is a function of a module.
        """
        self.reports.setdefault(merge, set()).add(item)


CHUNK: ContextVar[Chunk | None] = ContextVar("chunk", default=None)
"""The innermost chunk that is being computed; None where a batch is computed as a whole."""
