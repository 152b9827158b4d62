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
import pickle
import re
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import nullcontext
from contextvars import Context, ContextVar, copy_context
from math import isqrt
from queue import SimpleQueue
from typing import Any

import numpy as np

from ._core.errors import LevelError
from ._core.numpy_facts import VALUES, dtype_of, shape_of
from ._core.pytree import describe, flatten, paths, prefix_leaves, same_structure, unflatten
from ._core.tensor import Tensor
from ._levels.lineage import AMBIENT, innermost

# ---- which chunk is being computed ----


class Run:
    """One chunked call: what its chunks have in common.

    Equal to, and of one hash with, its copies in other processes.
    """

    __slots__ = ("__weakref__", "bases", "executor", "id", "label", "process", "randomness")

    def __init__(self, label: str, executor: Any = None, randomness: str = "error"):
        self.id, self.label, self.executor = os.urandom(8).hex(), label, executor
        self.randomness, self.process = randomness, process()  # for `_draws`, as `bases` is
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


_BORN = os.urandom(8).hex()


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
        What `_draws` draws from in this chunk; a chunk of a nested call that runs elsewhere
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


# ---- computing the chunks ----


class Task:
    """The work of one chunk; picklable where what it calls, and with what, is.

    In another thread it runs in a copy of the context it was made in, so that levels
    enclose it there too. Other processes have no such context.
    """

    __slots__ = ("__name__", "args", "call", "chunk", "context", "kwargs", "started")

    def __init__(self, call: Callable, chunk: Chunk, args: tuple, kwargs: dict):
        self.call, self.chunk, self.args, self.kwargs = call, chunk, args, kwargs
        self.__name__ = chunk.run.label  # by which a dashboard knows it
        self.context: Context | None = None
        self.started = False

    def __call__(self) -> tuple[Any, dict]:
        """The result, and what the chunk has to report."""
        self.started = True
        context, self.context = self.context or copy_context(), None
        return context.run(self.result), self.chunk.reports

    def result(self) -> Any:
        before = CHUNK.get()
        try:
            CHUNK.set(self.chunk)
            return self.call(self.chunk, *self.args, **self.kwargs)
        finally:
            CHUNK.set(before)

    def __getstate__(self) -> tuple:
        return self.call, self.chunk, self.args, self.kwargs

    def __setstate__(self, state: tuple) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def __dask_tokenize__(self) -> tuple:
        return self.chunk.run.id, self.chunk.index  # for Dask would read all the data

    def unpicklable(self, error: BaseException) -> bool:
        """Whether `error` says that this task could not be sent to where it should run."""
        if self.started or not re.search("pickle|serialize", f"{type(error)} {error}"):
            return False
        try:
            pickle.dumps(self)
        except Exception:
            return True
        return False


def in_chunks(
    call: Callable,
    label: str,
    size: int,
    chunk_size: int,
    parts: Callable[[int, int], tuple[tuple, dict]],
    join: "Join",
    executor: Any = None,
    progress: bool = False,
    randomness: str = "error",
) -> Any:
    """``join`` of ``call(chunk, *args, **kwargs)`` for every chunk of a batch of `size`.

    ``parts(start, stop)`` gives a chunk's arguments; it is called when the chunk's turn
    has come.
    """
    starts = range(0, size or 1, chunk_size)
    count = len(starts)
    if executor is not None and _works_for(executor, CHUNK.get()):
        executor = None  # whose workers would wait for themselves
    run, outer = Run(label, executor, randomness), CHUNK.get()
    reports: dict[Callable, set] = {}

    def tasks() -> Iterator[Task]:
        for i, start in enumerate(starts):
            stop = min(start + chunk_size, size)
            chunk = Chunk(run, i, count, start, stop, size, outer)
            yield Task(call, chunk, *parts(start, stop))

    def note(own: dict) -> None:
        for merge, items in own.items():
            reports.setdefault(merge, set()).update(items)

    try:
        with _bar(label, count) if progress else nullcontext() as bar:

            def take(chunk: Chunk, result: Any, own: dict) -> None:
                note(own)
                join.take(chunk, result)
                if bar is not None:
                    bar.update()

            if executor is None:
                for task in tasks():
                    try:
                        result = task.result()
                    finally:
                        note(task.chunk.reports)
                    take(task.chunk, result, {})
                    del task, result
            else:
                _concurrently(executor, tasks(), take, note, label)
            return join.whole()
    finally:
        for merge, items in reports.items():
            merge(run, items)


def _works_for(executor: Any, chunk: Chunk | None) -> bool:
    """Whether a chunk, or one around it, is being computed by `executor`."""
    while chunk is not None:
        if chunk.run.executor is executor:
            return True
        chunk = chunk.outer
    return False


def _concurrently(
    executor: Any, tasks: Iterator[Task], take: Callable, note: Callable, label: str
) -> None:
    """Have `executor` do the tasks; `take` what each gives, in the order of their ends.

    Only so many tasks as keep its workers busy are with it at a time: what is sent to
    other machines, and what waits to be taken, is bounded.

    After an error nothing is left behind: tasks that have not begun are cancelled, those
    that run are waited for. No local name keeps an error, whose traceback has this frame.
    """
    done: SimpleQueue = SimpleQueue()
    waiting: dict[Any, Task] = {}
    future: Any = None
    task: Any = None
    result: Any = None
    width = left = _width(executor)
    # A thread cannot tell which of the levels that generators hold are around this call.
    enclosing = innermost((), sys._getframe())
    try:
        while True:
            while len(waiting) < width and (task := next(tasks, None)) is not None:
                task.context = copy_context()
                task.context.run(AMBIENT.set, enclosing)
                try:
                    future = executor.submit(task)
                except Exception as error:
                    if task.unpicklable(error):
                        raise _not_sent(error, task, label) from error
                    raise
                waiting[future] = task
                future.add_done_callback(done.put)
            task = None
            if not waiting:
                return
            future = done.get()
            task = waiting.pop(future)
            try:
                result, reports = future.result()
            except BaseException as error:
                note(task.chunk.reports)
                if task.unpicklable(error):
                    raise _not_sent(error, task, label) from error
                raise
            take(task.chunk, result, reports)
            future = task = result = None
            left -= 1
            if not left:
                width = left = _width(executor)  # a cluster may have grown
    finally:
        future = task = result = None
        for future in list(waiting):
            if future.cancel():
                del waiting[future]
        while waiting:
            task = waiting.pop(done.get(), None)
            if task is not None:
                note(task.chunk.reports)
        future = task = None


def _width(executor: Any) -> int:
    """Twice the number of workers, so that each finds its next task waiting."""
    workers = getattr(executor, "_max_workers", None)
    client: Any = getattr(executor, "_client", None)
    if workers is None and hasattr(client, "nthreads"):  # Dask's
        workers = sum(client.nthreads().values())
    return 2 * workers if workers else 64


def _not_sent(error: BaseException, task: Task, label: str) -> TypeError:
    cause = error.__cause__  # in which Dask keeps what was wrong
    kinds = LevelError, TypeError, AttributeError, pickle.PicklingError
    reason = str(cause if isinstance(cause, kinds) else error).partition(";")[0]
    return TypeError(
        f"{label}: chunk {task.chunk.index} could not be sent to a worker of the executor, as the "
        f"function or one of its arguments cannot be pickled ({reason}); pass a function that is "
        f"defined at the top level of a module, and plain arrays, or use a "
        f"concurrent.futures.ThreadPoolExecutor, whose threads see the objects themselves"
    )


def _bar(label: str, count: int) -> Any:
    """A progress bar over `count` chunks."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            f"{label}: progress=True needs tqdm, which is not installed; write "
            f"pip install 'functier[progress]', or leave progress out"
        ) from error
    return tqdm(total=count, desc=label, unit="chunk")


# ---- joining what they give ----


class Join:
    """The results of the chunks put together: each leaf along its axis in `out_dims`.

    Plain arrays are written into one that is made when the first comes, so that no more
    than the whole and what is under way is in memory. Tensors and arrays of other
    libraries are concatenated.
    """

    def __init__(self, label: str, out_dims: Any):
        self.label, self.out_dims = label, out_dims
        self.first: tuple[int, str] | None = None  # which chunk came first, and its result's form
        self.columns: list[_Column] = []

    def take(self, chunk: Chunk, result: Any) -> None:
        if chunk.count == 1:
            self.only = result
            return
        leaves, structure = flatten(result)
        if self.first is None:
            self.structure = structure
            self.dims = leaf_dims(self.out_dims, result, leaves, self.label)
            self.columns = [_Column(dim) for dim in self.dims]
            self.first = chunk.index, describe(result)
        index, form = self.first
        if structure != self.structure and not same_structure(
            result, unflatten(self.structure, leaves[:1] * len(self.dims))
        ):
            raise ValueError(
                f"{self.label}: chunk {chunk.index} gave {describe(result)}, but chunk {index} "
                f"{form}, which has another structure; return the same for every batch"
            )
        for i, (column, leaf) in enumerate(zip(self.columns, leaves)):
            problem = column.add(chunk, leaf)
            if problem:
                where = paths(result, "the result")[i]
                raise ValueError(f"{self.label}: {where} of chunk {chunk.index} {problem}")

    def whole(self) -> Any:
        if self.first is None:
            return self.only
        return unflatten(self.structure, [column.whole() for column in self.columns])


def leaf_dims(out_dims: Any, result: Any, leaves: list, label: str) -> list:
    """The entry of `out_dims` for every leaf of a result."""
    if type(out_dims) is int:
        return [out_dims] * len(leaves)
    return prefix_leaves(out_dims, result, label, "out_dims")


class _Column:
    """One leaf of the results of all chunks."""

    def __init__(self, dim: Any):
        self.dim = dim
        self.form: tuple | None = None
        self.buffer: Any = None
        self.count = self.width = 0  # of chunks, and of the examples in each but the last
        self.pieces: dict[int, Any] = {}  # the leaf of a chunk that is no plain array

    def add(self, chunk: Chunk, leaf: Any) -> str | None:
        """Take the leaf of a chunk; what is wrong with it."""
        if self.dim is None:
            return self.add_same(chunk, leaf)
        shape = shape_of(leaf)
        axis = self.dim % len(shape)
        form = (axis, *shape[:axis], *shape[axis + 1 :])
        if self.form is None:
            self.form, self.count = form, chunk.count
        self.width = max(self.width, chunk.stop - chunk.start)
        if form != self.form:
            return (
                f"has shape {form[1:]} for each example, and that of another chunk "
                f"{self.form[1:]}; return results of one shape"
            )
        if type(leaf) is not np.ndarray:
            self.pieces[chunk.index] = leaf
            return None
        if self.buffer is None:
            self.buffer = np.empty((*shape[:axis], chunk.size, *shape[axis + 1 :]), leaf.dtype)
        elif leaf.dtype != self.buffer.dtype:  # as of eigenvalues, some of which are complex
            self.buffer = self.buffer.astype(np.result_type(leaf, self.buffer), copy=False)
        self.buffer[(*(slice(None),) * axis, slice(chunk.start, chunk.stop))] = leaf
        return None

    def add_same(self, chunk: Chunk, leaf: Any) -> str | None:
        """Take a leaf that is to be the same of every chunk."""
        if not self.pieces:
            self.pieces[chunk.index] = leaf
            return None
        ((index, other),) = self.pieces.items()
        if type(leaf) in VALUES and type(other) in VALUES and leaf is not other:
            inexact = dtype_of(leaf).kind in "fc" and dtype_of(other).kind in "fc"
            if not np.array_equal(leaf, other, equal_nan=inexact):
                return (
                    f"is not that of chunk {index}, but out_dims is None for it; write the axis "
                    f"that the batch should have in the result"
                )
        if chunk.index < index:
            self.pieces = {chunk.index: leaf}
        return None

    def whole(self) -> Any:
        if self.dim is None:
            return next(iter(self.pieces.values()))
        if not self.pieces:
            return self.buffer
        axis: int = self.form[0]  # type: ignore[index]
        lead, width = (slice(None),) * axis, self.width
        parts = [
            self.pieces[i]
            if i in self.pieces
            else self.buffer[(*lead, slice(i * width, (i + 1) * width))]
            for i in range(self.count)
        ]
        return np.concatenate(parts, axis)


# ---- what is given ----


def check_chunking(
    transform: str, chunk_size: Any, executor: Any = None, progress: bool = False
) -> int | None:
    """`chunk_size` as an int, with what goes with it; raises where they do not fit."""
    if chunk_size is None:
        for option, given in (("executor", executor is not None), ("progress", progress)):
            if given:
                raise ValueError(
                    f"{transform}: {option} was given without chunk_size, and without it there "
                    f"is one chunk only; write {transform}(..., chunk_size=n, {option}=...)"
                )
        return None
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"{transform}: executor is a {type(executor).__name__}, which has no method submit; "
            f"pass a concurrent.futures.Executor, or client.get_executor() of a Dask client"
        )
    return check_count(transform, "chunk_size", chunk_size, 1)


def check_count(transform: str, option: str, value: Any, least: int) -> int:
    """An option that counts something, as an int."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(
            f"{transform}: {option} is {value!r}, a {type(value).__name__}; write an int"
        )
    if value < least:
        raise ValueError(f"{transform}: {option}={value}; write an int of at least {least}")
    return int(value)


def pieces_of(leaf: Any, axis: int, size: int, chunk_size: int) -> Callable[[int, int], Any]:
    """A function that gives the part of `leaf` from `start` to `stop` along `axis`.

    Parts are views. Those of a tensor are made at once, by operations of which the
    backward pass is one too: that of a part by itself would be as large as the whole. For
    many parts there are two rounds, as each part of a round costs as much as it has parts.
    """
    lead = (slice(None),) * axis
    if not isinstance(leaf, Tensor) or size <= chunk_size:
        return lambda start, stop: leaf[(*lead, slice(start, stop))]
    width = chunk_size * max(isqrt(size // chunk_size), 8)
    rows = np.array_split(leaf, range(width, size, width), axis) if width < size else [leaf]
    cells = [np.array_split(r, range(chunk_size, r.shape[axis], chunk_size), axis) for r in rows]
    return lambda start, stop: cells[start // width][start % width // chunk_size]
