"""Draws of a program: effects on a generator, which each call makes anew.

NOTE [a call that does not hold]
    Where an answer differs, or a call fails, the generators go back to where they were: the
    function is traced again then, and draws again.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from .._transforms.chunks.streams import stream_here
from .graph import Graph
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


def sources_of(graph: Graph) -> list[Any]:
    """Return the generators outside of the program that it draws from."""
    found = {}
    for node in every_node(graph):
        if node.func is draw_from and hasattr(node.args[0], "_own"):
            found[id(node.args[0])] = node.args[0]
    return [found[number] for number in sorted(found)]


def restoring(run: Callable, sources: Sequence[Any]) -> Callable:
    """Return `run`; where it raises, the generators go back to where they were."""

    def restored(*inputs: Any) -> Any:
        with ExitStack() as stack:
            for source in sources:
                stack.enter_context(source._lock)
            streams = [stream_here(source) for source in sources]
            before = [stream.bit_generator.state for stream in streams]
            try:
                return run(*inputs)
            except BaseException:
                for stream, state in zip(streams, before):
                    stream.bit_generator.state = state
                raise

    return restored
