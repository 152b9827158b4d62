"""One part of a batch, and the run that it belongs to.

NOTE [what a chunk may know]
    Results must depend neither on the executor nor on the order of the chunks, which other
    threads, processes or machines may compute. So code with a state (a random generator) asks
    `CHUNK` for the part of the call that it computes in. It uses that and the state from the
    start of the call, nothing else. A change of its state in another process stays there;
    `Chunk.report` sends a note of it.
"""

import os
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from typing import Any

_BORN = os.urandom(8).hex()


class Run:
    """One chunked call: the data that its chunks have in common.

    It is equal to its copies in other processes, and has the same hash.
    """

    __slots__ = ("__weakref__", "bases", "executor", "id", "label", "process", "randomness")

    def __init__(self, label: str, executor: Any = None, randomness: str = "error"):
        self.id, self.label, self.executor = os.urandom(8).hex(), label, executor
        self.randomness, self.process = randomness, process()  # for `streams`, as `bases` is
        self.bases: dict[tuple, Any] = {}

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
    """Return a pair that identifies this process among those of all machines."""
    return _BORN, os.getpid()


class Chunk:
    """The examples `start` to `stop` of the `size` of a batch: chunk `index` of `count`.

    Attributes
    ----------
    run : Run
        The call; the chunks of a nested call have a separate run.
    index, count : int
        The index of this chunk, and the number of chunks of the run.
    start, stop, size : int
        The range of its examples, and the size of the whole batch.
    outer : Chunk or None
        The chunk in which the chunked call is made.
    reports : dict
        The items of `report`.
    streams : dict
        The streams of random numbers in this chunk; see `streams`. A chunk of a nested call that
        another process computes takes it along.
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
        self.streams: dict[Any, Any] = {}

    def report(self, merge: Callable[[Run, set], None], item: Hashable) -> None:
        """Have ``merge(run, items)`` called once where the chunked call was made.

        The call comes after the last chunk, also where one has failed, with all items that the
        chunks have reported for `merge`, in the context of the chunked call (in which `CHUNK`
        is `outer`). Both have to be picklable; `merge` is a function of a module.
        """
        self.reports.setdefault(merge, set()).add(item)


CHUNK: ContextVar[Chunk | None] = ContextVar("chunk", default=None)
"""The innermost chunk that this context computes; None outside of chunks."""
