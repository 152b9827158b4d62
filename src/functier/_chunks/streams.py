"""Which stream of numbers a draw comes from, and how draws repeat.

A `functier.random` generator is a *source*; the NumPy generator inside it is its own
stream. Where the program is in a chunk or in one of the scopes below, the source draws
from another one:

    with record_draws() as drawn:      # a first run: where does each source stand?
        y = f(x)
    with replay_draws(drawn):       # every further run draws the same numbers
        y = f(x)

Chunks and scopes are in one chain, `CHUNK` of `chunk`, innermost first; so they nest in any
order, and threads and other processes know of them.

NOTE [a scope draws from streams of its own]
    Nothing in `replay_draws` or in a chunk moves the source itself, nor the stream of another
    scope. So the numbers depend neither on the order of the chunks nor on who else draws
    meanwhile, and there is nothing to put back after an exception. When a chunked call is
    over, each source that any chunk drew from moves on once, where the call was made.
"""

import copy
import sys
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any
from weakref import WeakSet

import numpy as np

from .._core.blocks import Entry, Exit, claim
from .._core.errors import RandomnessError
from .._core.pytree import paths
from .chunk import CHUNK, Chunk, Run, process

CHUNKS, AFTER = 1, 0
"""What the streams that follow from a state are for."""

_SOURCES: WeakSet = WeakSet()
_LOCK = threading.Lock()
_number = count()


def enlist(source: Any) -> None:
    """Have a source found by its key when a chunk that drew from it comes back."""
    with _LOCK:
        _SOURCES.add(source)


def new_key() -> tuple:
    """The key of a new source; its copies in other processes have the same one."""
    return *process(), next(_number)


# ---- where draws come from ----


def stream_of(source: Any, scope: Any) -> Any:
    """The NumPy generator that a draw comes from in `scope`; the source is locked."""
    if scope is None or scope is source._home:
        return source._own
    if type(scope) is not Chunk:
        return scope.stream(source)
    stream = scope.streams.get(source._key)
    return _enter(source, scope) if stream is None else stream


def _enter(source: Any, chunk: Chunk) -> Any:
    """The stream of a source that a chunk draws from for the first time."""
    run = chunk.run
    if run.process != process() and not source._sent:
        raise RandomnessError(
            f"{run.label}: a chunk in another process drew from a generator that belongs to that "
            f"process, a global of a module; the caller's would not move, and a second call would "
            f"draw the same numbers; pass the generator in as an argument, with in_dims=None",
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
    chunk.report(move_sources_on, Left(source._key, chunk.index, stream))
    return stream


class Left:
    """What a chunk reports of a source: the stream, where the chunk has left it."""

    def __init__(self, key: tuple, index: int, stream: Any):
        self.key, self.index, self.stream = key, index, stream


def move_sources_on(run: Run, reports: set) -> None:
    """Move the sources that chunks of `run` drew from, once each.

    With "same" it goes on where a chunk has left it, as it would after the whole batch.
    """
    first: dict[tuple, Left] = {}
    for left in sorted(reports, key=lambda left: -left.index):
        first[left.key] = left
    with _LOCK:
        sources = [source for source in _SOURCES if source._key in first]
    for source in sources:
        with source._lock:
            stream, left = stream_of(source, CHUNK.get()), first[source._key].stream
            if run.randomness == "different":
                left = following(run.bases.get(source._key, stream), AFTER)
            else:
                seeds, theirs = stream.bit_generator.seed_seq, left.bit_generator.seed_seq
                children = [getattr(s, "n_children_spawned", 0) for s in (seeds, theirs)]
                if children[1] > children[0]:
                    seeds.spawn(children[1] - children[0])
            stream.bit_generator.state = left.bit_generator.state


def stream_in_scope(stream: Any, scope: Any) -> Any:
    """The stream of a source that is made in `scope`, of what it was seeded with.

    In a chunk it follows from the chunk's number too: ``default_rng(0)`` in the function
    must not give every chunk the same numbers, unless these are to be the same.
    """
    if scope is None:
        return stream
    stream = stream_in_scope(stream, scope.outer)
    if type(scope) is Chunk and scope.run.randomness == "different":
        return following(stream, CHUNKS, scope.index)
    return stream


def fresh_seed(scope: Any) -> Any:
    """A seed sequence of fresh entropy; one that repeats what has to be repeated."""
    if scope is None:
        return np.random.SeedSequence()
    if type(scope) is not Chunk:
        return scope.fresh()
    if scope.run.randomness != "same":
        return fresh_seed(scope.outer)
    n = scope.streams["seeds"] = scope.streams.get("seeds", 0) + 1
    return np.random.SeedSequence(int(scope.run.id, 16), spawn_key=(n,))


def following(base: Any, *place: int) -> Any:
    """A stream that follows from where `base` stands, one for each `place`."""
    bits = base.bit_generator
    seed = int.from_bytes(digest(bits.state), "little")
    return np.random.Generator(type(bits)(np.random.SeedSequence(seed, spawn_key=place)))


def digest(state: Any) -> bytes:
    """A hash of the state of a bit generator, the same one on every machine."""
    import hashlib  # it takes as long as a third of this package, and few programs draw

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


# ---- a second run draws what the first one drew ----


def _leave(entry: Entry, *exception: Any) -> None:
    entry.manager._end()


class Scope:
    """A part of the program where draws are noted or repeated; one level of the chain."""

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
    """Note where each source stands when it is first drawn from."""

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
    """Draw again what was drawn in `drawn`, a `record_draws` scope; as often as one likes.

    A source that was not drawn from there draws as it would without this scope.
    """

    def __init__(self, drawn: record_draws):
        self.drawn = drawn
        self.streams: dict[tuple, Any] = {}
        self.seeds = list(reversed(drawn.seeds))

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


# ---- NumPy's own generators among the arguments ----


def find_generators(leaves: Any) -> list[tuple[int, Any, bytes]]:
    """NumPy's generators among the leaves of the arguments, and where they stand.

    Such a generator draws once for the whole batch, and no level can see it. What can be
    seen is that it has moved: `check_unmoved`.
    """
    module: Any = sys.modules.get("numpy.random")  # NumPy imports it on demand
    if module is None:
        return []
    kinds, found = (module.Generator, module.RandomState), []
    for i, x in enumerate(leaves):
        if type(x) is not np.ndarray and isinstance(x, kinds) and not hasattr(x, "_own"):
            found.append((i, x, _stand(x)))
    return found


def _stand(generator: Any) -> bytes:
    if hasattr(generator, "bit_generator"):
        return digest(generator.bit_generator.state)
    return digest(generator.get_state(legacy=False))


def check_unmoved(level: Any, generators: list, args: tuple, kwargs: dict) -> None:
    """Raise where one of the generators that `find_generators` found has moved since."""
    if level.randomness == "same":
        return
    for i, generator, stood in generators:
        if _stand(generator) != stood:
            where = [*paths(args, "args"), *paths(kwargs, "kwargs")][i]
            raise level.refusal(
                RandomnessError,
                f"{where} is NumPy's {type(generator).__name__}, which knows nothing of examples, "
                f"and the function drew from it: once for the whole batch; pass "
                f"functier.random.default_rng(seed) with randomness='different' for numbers of "
                f"its own for each example, or write vmap(..., randomness='same') to accept that",
            )
