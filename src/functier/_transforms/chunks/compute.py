"""The computation of the chunks of a batch, by an executor or one after the other."""

import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from contextvars import Context, copy_context
from math import isqrt
from queue import SimpleQueue
from typing import Any

import numpy as np

from ..._core.errors import LevelError
from ..._core.hooks import bar_of_chunks, loop_over_chunks
from ..._core.numpy_facts import Function, PyTree, Value
from ..._core.tensor import Tensor
from ..._cpython.frames import current_frame
from ..._levels.lineage import AMBIENT, innermost_class, levels_of
from .chunk import CHUNK, Chunk, Run
from .join import Join

# ---- computing the chunks ----


class Task:
    """The work of one chunk; picklable where its function and arguments are.

    In another thread it runs in a copy of the context it was made in, so that levels enclose it
    there, too. Other processes do not have that context.
    """

    __slots__ = ("__name__", "args", "call", "chunk", "context", "kwargs", "started")

    def __init__(self, call: Function, chunk: Chunk, args: tuple, kwargs: dict):
        self.call, self.chunk, self.args, self.kwargs = call, chunk, args, kwargs
        self.__name__ = chunk.run.label  # the name on a dashboard
        self.context: Context | None = None
        self.started = False

    def __call__(self) -> tuple[Any, dict]:
        """Return the result, and the reports of the chunk."""
        self.started = True
        context, self.context = self.context or copy_context(), None
        return context.run(self.result), self.chunk.reports

    def result(self) -> PyTree:
        """Compute the chunk; it is `CHUNK` meanwhile."""
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
        return self.chunk.run.id, self.chunk.index  # else Dask would read all the data

    def is_unpicklable(self, error: BaseException) -> bool:
        """Return whether `error` comes from sending this task to a worker."""
        if self.started or not re.search("pickle|serialize", f"{type(error)} {error}"):
            return False
        try:
            pickle.dumps(self)
        except Exception:
            return True
        return False


def in_chunks(
    call: Function,
    size: int,
    chunk_size: int,
    parts: Callable[[int, int], tuple[tuple, dict]],
    join: Join,
    *,
    executor: Any = None,
    progress: bool = False,
    randomness: str = "error",
) -> PyTree:
    """Join the results of ``call(chunk, *args, **kwargs)`` for all chunks of a batch.

    `size` is that of the batch. ``parts(start, stop)`` returns the arguments of a chunk; it is
    called when its task is made.
    """
    starts = range(0, size or 1, chunk_size)
    count = len(starts)
    if executor is not None and _works_for(executor, CHUNK.get()):
        executor = None  # its workers would wait for themselves
    run, outer = Run(join.label, executor, randomness), CHUNK.get()
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
        with bar_of_chunks(join.label, count) if progress else nullcontext() as bar:

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
                _concurrently(executor, tasks(), take, note, join.label)
            return join.whole()
    finally:
        for merge, items in reports.items():
            merge(run, items)


def _works_for(executor: Any, chunk: Chunk | None) -> bool:
    """Return whether `executor` computes a chunk, or one around it."""
    while chunk is not None:
        if chunk.run.executor is executor:
            return True
        chunk = chunk.outer
    return False


def _concurrently(
    executor: Any, tasks: Iterator[Task], take: Function, note: Callable[[dict], None], label: str
) -> None:
    """Have `executor` compute the tasks; `take` each result as soon as it is there.

    The executor has only as many tasks at a time as keep its workers busy. That bounds the data
    on other machines and the results that wait.

    After an error nothing is left behind: tasks that have not begun are cancelled, and those
    that run are waited for. No local name keeps an error, as its traceback has this frame.
    """
    done: SimpleQueue = SimpleQueue()
    waiting: dict[Any, Task] = {}
    future: Any = None
    task: Any = None
    result: Any = None
    width = left = _width(executor)
    # A thread cannot know which levels of suspended generators are around this call.
    enclosing = innermost_class((), current_frame())
    try:
        while True:
            while len(waiting) < width and (task := next(tasks, None)) is not None:
                task.context = copy_context()
                task.context.run(AMBIENT.set, enclosing)
                try:
                    future = executor.submit(task)
                except Exception as error:
                    if task.is_unpicklable(error):
                        raise _sending_error(error, task, label) from error
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
                if task.is_unpicklable(error):
                    raise _sending_error(error, task, label) from error
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
    """Return twice the number of workers, so that each finds its next task waiting."""
    workers = getattr(executor, "_max_workers", None)
    client: Any = getattr(executor, "_client", None)
    if workers is None and hasattr(client, "nthreads"):  # Dask's
        workers = sum(client.nthreads().values())
    return 2 * workers if workers else 64


def _sending_error(error: BaseException, task: Task, label: str) -> TypeError:
    """Return the error for a task that could not be sent to a worker."""
    cause = error.__cause__  # Dask puts the first error there
    kinds = LevelError, TypeError, AttributeError, pickle.PicklingError
    reason = str(cause if isinstance(cause, kinds) else error).partition(";")[0]
    return TypeError(
        f"{label}: chunk {task.chunk.index} could not be sent to a worker of the executor, because "
        f"the function or one of its arguments cannot be pickled ({reason}); pass a function that "
        f"is defined at the top level of a module, and plain arrays, or use a "
        f"concurrent.futures.ThreadPoolExecutor, whose threads see the objects themselves"
    )


# ---- options and arguments ----


def in_loop(
    call: Function, dims: list[int | None], size: int, chunk_size: int, apart: Any
) -> tuple[Function, int]:
    """Return the function for chunks, and their size: where a program is recorded, one has most.

    `apart`: whether an executor or a bar wants each of them.
    """
    if not apart and any(level.guards for level in levels_of(AMBIENT.get())):
        return loop_over_chunks(call, dims, size, chunk_size)
    return call, chunk_size


def check_chunking(
    transform: str, chunk_size: Any, executor: Any = None, progress: bool = False
) -> int | None:
    """Return `chunk_size` as an int; raise where the options of chunks do not fit together."""
    if chunk_size is None:
        for option, given in (("executor", executor is not None), ("progress", progress)):
            if given:
                raise ValueError(
                    f"{transform}: {option} was given without chunk_size, and without it there "
                    f"is only one chunk; write {transform}(..., chunk_size=n, {option}=...)"
                )
        return None
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"{transform}: executor is a {type(executor).__name__}, which has no method submit; "
            f"pass a concurrent.futures.Executor, or client.get_executor() of a Dask client"
        )
    return check_count(transform, "chunk_size", chunk_size, 1)


def check_count(transform: str, option: str, value: object, least: int) -> int:
    """Return an option that is a count as an int; raise where it is less than `least`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(
            f"{transform}: {option} is {value!r}, a {type(value).__name__}; write an int"
        )
    if value < least:
        raise ValueError(f"{transform}: {option}={value}; write an int of at least {least}")
    return int(value)


def pieces_of(leaf: Value, axis: int, size: int, chunk_size: int) -> Callable[[int, int], Value]:
    """Return a function for the part of `leaf` from `start` to `stop` along `axis`.

    Parts are views. Those of a tensor are made at once, so that they share one step of the
    backward pass; for a single part, the cotangent in that step would be as large as the whole.
    Many parts are made in two rounds, as the cost of each part grows with the number of parts
    in its round.
    """
    lead = (slice(None),) * axis
    if not isinstance(leaf, Tensor) or size <= chunk_size:
        return lambda start, stop: leaf[(*lead, slice(start, stop))]
    width = chunk_size * max(isqrt(size // chunk_size), 8)
    rows = np.array_split(leaf, range(width, size, width), axis) if width < size else [leaf]
    cells = [np.array_split(r, range(chunk_size, r.shape[axis], chunk_size), axis) for r in rows]
    return lambda start, stop: cells[start // width][start % width // chunk_size]
