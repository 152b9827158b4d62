"""The streams of random numbers in chunks, and scopes that repeat draws.

A `functier.random` generator is a *source*; the NumPy generator inside it is its own
stream. In a chunk, or in one of the following scopes, the source draws from another one:

    with record_draws() as drawn:      # a first run: where does each source stand?
        y = f(x)
    with replay_draws(drawn):       # every further run draws the same numbers
        y = f(x)

Chunks and scopes are in one chain, `CHUNK` of `chunk`, innermost first; so they nest in any
order, and threads and other processes know of them.

NOTE [a scope has separate streams]
    Draws in `replay_draws` or in a chunk move neither the source nor the stream of another
    scope. So the numbers depend neither on the order of the chunks nor on other draws
    meanwhile, and an exception leaves nothing to restore. After a chunked call, each source
    that a chunk drew from moves on once, where the call was made.
"""

import copy
import sys
import threading
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any
from weakref import WeakSet

import numpy as np

from ..._core.blocks import Entry, Exit, claim
from ..._core.errors import RandomnessError
from ..._core.pytree import paths
from ..._core.reached import (
    generators_of,
    hears_requests,
    may_draw,
    moved_since,
    noted,
    state_of,
)
from ..._cpython.functions import Hearing
from ..._levels.batch import BatchLevel
from ..._levels.lineage import levels_of
from .chunk import CHUNK, Chunk, Run, process

CHUNKS, AFTER = 1, 0
"""The purposes of streams that follow from a state: for the chunks, and for the time after."""

_SOURCES: WeakSet = WeakSet()
_SHARED: WeakSet = WeakSet()
"""The locks of the bit generators from which sources draw; only these allow a weak reference."""
_LOCK = threading.Lock()
_number = count()


def enlist(source: Any) -> None:
    """Register a source, so that reports of chunks find it by its key."""
    with _LOCK:
        _SOURCES.add(source)
        _SHARED.add(source._own.bit_generator.lock)


def new_key() -> tuple:
    """Return the key of a new source; its copies in other processes have the same key."""
    return *process(), next(_number)


# ---- where draws come from ----


def stream_of(source: Any, scope: Any) -> Any:
    """Return the NumPy generator for draws in `scope`; the source is locked."""
    if scope is None or scope is source._home:
        return source._own
    if type(scope) is not Chunk:
        return scope.stream(source)
    stream = scope.streams.get(source._key)
    return _enter(source, scope) if stream is None else stream


def stream_here(source: Any) -> Any:
    """Return the NumPy generator for draws of a source where the program is."""
    scope = CHUNK.get()
    return source._own if scope is None or scope is source._home else stream_of(source, scope)


def _enter(source: Any, chunk: Chunk) -> Any:
    """Make the stream of a source from which a chunk draws for the first time."""
    run = chunk.run
    if run.process != process() and not source._sent:
        raise RandomnessError(
            f"{run.label}: a chunk in another process drew from a generator that belongs to that "
            f"process, a global of a module; the caller's would not advance, and a second call "
            f"would draw the same numbers; pass the generator in as an argument, with in_dims=None",
            named=True,
        )
    base = run.bases.get(source._key)
    if base is None:
        base = run.bases[source._key] = copy.deepcopy(stream_of(source, chunk.outer))
    if run.randomness == "different":
        stream = following(base, CHUNKS, chunk.index)
    else:
        stream = copy.deepcopy(base)
    chunk.streams[source._key] = stream
    _SHARED.add(stream.bit_generator.lock)
    chunk.report(move_sources_on, StreamEnd(source._key, chunk.index, stream))
    return stream


class StreamEnd:
    """The report of a chunk about a source: the stream in its state after the chunk."""

    def __init__(self, key: tuple, index: int, stream: Any):
        self.key, self.index, self.stream = key, index, stream


def move_sources_on(run: Run, reports: set) -> None:
    """Move each source that chunks of `run` drew from, once.

    With "same" a source takes the state of its stream after a chunk, which is the state after
    the whole batch.
    """
    first: dict[tuple, StreamEnd] = {}
    for end in sorted(reports, key=lambda end: -end.index):
        first[end.key] = end
    with _LOCK:
        sources = [source for source in _SOURCES if source._key in first]
    for source in sources:
        with source._lock:
            stream, last = stream_of(source, CHUNK.get()), first[source._key].stream
            if run.randomness == "different":
                last = following(run.bases.get(source._key, stream), AFTER)
            else:
                seeds, theirs = stream.bit_generator.seed_seq, last.bit_generator.seed_seq
                children = [getattr(s, "n_children_spawned", 0) for s in (seeds, theirs)]
                if children[1] > children[0]:
                    seeds.spawn(children[1] - children[0])
            stream.bit_generator.state = last.bit_generator.state


def stream_in_scope(stream: Any, scope: Any) -> Any:
    """Return the stream of a source that is made in `scope` with `stream` as its seed.

    In a chunk it also follows from the index of the chunk: ``default_rng(0)`` in the function
    must not give all chunks the same numbers, unless ``randomness="same"`` asks for that.
    """
    if scope is None:
        return stream
    stream = stream_in_scope(stream, scope.outer)
    if type(scope) is Chunk and scope.run.randomness == "different":
        return following(stream, CHUNKS, scope.index)
    return stream


def fresh_seed(scope: Any) -> Any:
    """Return a seed sequence of fresh entropy; in a scope that repeats draws, the earlier one."""
    if scope is None:
        return np.random.SeedSequence()
    if type(scope) is not Chunk:
        return scope.fresh()
    if scope.run.randomness != "same":
        return fresh_seed(scope.outer)
    n = scope.streams["seeds"] = scope.streams.get("seeds", 0) + 1
    return np.random.SeedSequence(int(scope.run.id, 16), spawn_key=(n,))


def following(base: "np.random.Generator", *place: int) -> "np.random.Generator":
    """Return a stream that follows from the state of `base`, another one for each `place`."""
    bits = base.bit_generator
    seed = int.from_bytes(digest(bits.state), "little")
    return np.random.Generator(type(bits)(np.random.SeedSequence(seed, spawn_key=place)))


def digest(state: Any) -> bytes:
    """Hash the state of a bit generator; the hash is the same on every machine."""
    import hashlib  # the import takes as long as a third of this package, and few programs draw

    total = hashlib.sha256()
    for part in _parts(state):
        total.update(part.encode() + b";")
    return total.digest()


def _parts(state: Any) -> Iterator[str]:
    if isinstance(state, dict):
        for name in sorted(state):
            yield name
            yield from _parts(state[name])
    else:
        yield repr(state.tolist() if isinstance(state, (np.ndarray, np.generic)) else state)


# ---- a second run repeats the draws of the first one ----


def _leave(entry: Entry, *exception: Any) -> None:
    entry.manager._end()


class Scope:
    """A part of the program that records or repeats draws; one link of the chain."""

    run = Run("")
    outer: Any

    def __enter__(self) -> Any:
        self.outer = CHUNK.get()
        claim(self, self._end)
        CHUNK.set(self)  # type: ignore[arg-type]
        return self

    def _end(self) -> None:
        CHUNK.set(self.outer)

    __exit__ = Exit(_leave)


class record_draws(Scope):
    """Record the state of each source before the first draw from it."""

    def __init__(self) -> None:
        self.states: dict[tuple, Any] = {}
        self.seeds: list = []

    def stream(self, source: Any) -> Any:
        stream = stream_of(source, self.outer)
        if source._key not in self.states:
            self.states[source._key] = copy.deepcopy(stream)
        return stream

    def fresh(self) -> Any:
        self.seeds.append(fresh_seed(self.outer))
        return copy.deepcopy(self.seeds[-1])


class replay_draws(Scope):
    """Repeat the draws of `drawn`, a `record_draws` scope; it may be entered several times.

    A source without a draw there draws as it would without this scope.
    """

    def __init__(self, drawn: record_draws):
        self.drawn = drawn
        self.streams: dict[tuple, Any] = {}
        self.seeds = list(reversed(drawn.seeds))

    def copy(self) -> "replay_draws":
        """Return a scope that repeats the draws after those that this one has repeated."""
        other = replay_draws(self.drawn)
        other.streams, other.seeds = copy.deepcopy(self.streams), [*self.seeds]
        return other

    def stream(self, source: Any) -> Any:
        stream = self.streams.get(source._key)
        if stream is None:
            state = self.drawn.states.get(source._key)
            if state is None:
                return stream_of(source, self.outer)
            stream = self.streams[source._key] = copy.deepcopy(state)
        return stream

    def fresh(self) -> Any:
        return copy.deepcopy(self.seeds.pop()) if self.seeds else fresh_seed(self.outer)


class rehearse_draws(Scope):
    """Draw from copies, the same in each scope: what a source draws afterwards is as without."""

    def __enter__(self) -> Any:
        self.streams: dict[tuple, Any] = {}
        return super().__enter__()

    def stream(self, source: Any) -> Any:
        if source._key not in self.streams:
            self.streams[source._key] = copy.deepcopy(stream_of(source, self.outer))
        return self.streams[source._key]

    def fresh(self) -> Any:
        return np.random.SeedSequence(0)


# ---- generators of others ----


REACHED = -1
"""The number of generators that are not leaves."""


def find_generators(leaves: Sequence[Any], func: Any = None) -> list[tuple[int, Any, Any]]:
    """Return others' generators among the leaves of the arguments, with their states.

    Those that `func` and the leaves reach follow, with the number `REACHED`.
    A generator draws once for the whole batch, and no level can see that. But one can see that its
    state has changed: `check_unmoved`.
    """
    found = noted(leaves)
    if func is not None:
        found += [(REACHED, *each) for each in generators_of(func, *leaves)]
    return found


def check_unmoved(
    level: BatchLevel, generators: list[tuple[int, Any, Any]], args: tuple, kwargs: dict
) -> None:
    """Raise where a generator of `find_generators` has another state since then."""
    if level.randomness == "same":
        return
    for i, generator, before in generators:
        if state_of(generator) == before or _is_shared(generator):
            continue
        where = "a generator that the function reaches"
        if i >= 0:
            where = [*paths(args, "args"), *paths(kwargs, "kwargs")][i]
        library = "Python" if hasattr(generator, "getstate") else "NumPy"
        what = f"{where} is {library}'s {type(generator).__name__}, and the function drew from it"
        raise _drawn_once(level, what)


def check_modules(level: BatchLevel, before: Any, *roots: Any) -> None:
    """Raise where the functions of `numpy.random` or `random` have drawn in a call.

    Another thread may have drawn, if the function and its arguments, `roots`, cannot have.
    """
    for name in moved_since(before):
        generator, more = sys.modules[name].random.__self__, threading.active_count() > 1
        if not _is_shared(generator) and (not more or may_draw(generator, *roots)):
            others = " (or another thread)" * more
            library, kind = (
                "NumPy" if name == "numpy.random" else "Python",
                type(generator).__name__,
            )
            whose = f"the generator of the functions of {name} is {library}'s {kind}"
            raise _drawn_once(level, f"{whose}, and the function{others} drew from it")


def _is_shared(generator: Any) -> bool:
    """Return whether a source or a chunk draws from a generator."""
    bits = getattr(generator, "bit_generator", getattr(generator, "_bit_generator", generator))
    return getattr(bits, "lock", None) in _SHARED


def call_heard(level: BatchLevel, func: Any, args: Sequence, kwargs: dict) -> Any:
    """Call a function, and raise where it asks the system for random numbers.

    Where a program is recorded, its watch hears.
    """
    if any([outer.kind.guards for outer in levels_of(level.cls)]):
        return func(*args, **kwargs)
    found: list[str] = []
    with Hearing(hears_requests(found)):
        result = func(*args, **kwargs)
    if found and level.randomness != "same":
        what = f"{found[0]} makes a generator without a seed, or asks the system for random numbers"
        raise _drawn_once(level, what)
    return result


def _drawn_once(level: BatchLevel, what: str) -> Exception:
    return level.refusal(
        RandomnessError,
        f"{what}, which draws once for the whole batch; pass functier.random.default_rng(seed) "
        f"with randomness='different' for separate numbers for each example, or write "
        f"vmap(..., randomness='same') to accept this",
    )
