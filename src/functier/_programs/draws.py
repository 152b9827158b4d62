"""Draws of a program: effects on a generator, which each call makes anew.

NOTE [a call that does not hold]
    Where an answer differs, or a call fails, the generators go back to where they were: the
    function is traced again then, and draws again.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from .._core.errors import RandomnessError
from .._core.root import classes_in
from .._transforms.chunks.streams import stream_here
from .graph import Graph, Node, form_of
from .loops import every_node


def draw_from(source: Any, func: Callable, *args: Any) -> Any:
    """Return ``func(stream, *args)`` with the stream of a generator."""
    if type(source) is np.random.Generator:  # the copy of one that the function has made
        return func(source, *args)
    with source._lock:
        return func(stream_here(source), *args)


def copy_of_stream(stream: np.random.Generator) -> np.random.Generator:
    """Return a generator that draws what `stream` draws, and leaves it where it is."""
    bits: Any = stream.bit_generator
    new = type(bits)(0)  # with a seed, as a copy by `copy` asks for entropy first
    new.state = bits.state
    return np.random.Generator(new)


# ---- in a trace ----


def note_made(level: Any, source: Any) -> None:
    """Note a generator that the function makes: it draws the same numbers in each call."""
    level.sources[id(source)] = source


def has_made(level: Any, source: Any) -> bool:
    return id(source) in level.sources


def draw(level: Any, source: Any, stream: Any, func: Callable, args: tuple) -> Any:
    """Note a draw from a source, which each call makes anew.

    That of a generator which the function has made is a constant, until a parameter of a
    draw is not: from there on each call has a copy of the generator.
    """
    if level.reads is not None:
        level.reads.tells("draws")
    for sample in level.samples.open:
        sample.draws = True
    owner: Any = source
    if has_made(level, source):
        owner = level.streams.get(id(source))
        if owner is None and not classes_in(*args):
            return func(stream, *args)
        if owner is None:
            owner = Node(copy_of_stream, (copy_of_stream(stream),), {}, form_of(None), memory=True)
            level.streams[id(source)] = level.add(owner)
    elif stream is not source._own:
        raise level.refusal(
            RandomnessError,
            "a draw inside a chunk, or in functier.checkpoint, would be the same in each call "
            "of the program; draw outside of it, and pass the numbers in",
        )
    if level.reads is not None:
        level.reads.will_draw(stream.bit_generator)
    value = func(stream, *level.concrete(args))
    given = owner, func, *level.symbol(args)
    node = Node(draw_from, given, {}, form_of(value), level.where_now(), memory=True, kept=True)
    return level.result(value, level.add(node))


# ---- in a program ----


def sources_of(graph: Graph) -> list[Any]:
    """Return the generators outside of the program that it draws from."""
    found = {}
    for node in every_node(graph):
        if node.func is draw_from and hasattr(node.args[0], "_own"):
            found[id(node.args[0])] = node.args[0]
    return [found[number] for number in sorted(found)]


def restoring(run: Callable, sources: Sequence[Any]) -> Callable:
    """Return `run`; where it raises, the generators go back to where they were."""

    def restored(*inputs: Any, **named: Any) -> Any:
        with ExitStack() as stack:
            for source in sources:
                stack.enter_context(source._lock)
            streams = [stream_here(source) for source in sources]
            before = [stream.bit_generator.state for stream in streams]
            try:
                return run(*inputs, **named)
            except BaseException:
                for stream, state in zip(streams, before):
                    stream.bit_generator.state = state
                raise

    return restored
