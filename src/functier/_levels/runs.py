"""Runs: a function of leaves at a new grad or jvp level, and batches of directions.

Each level begins and ends with the call.
"""

from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from .._core.numpy_facts import PLAIN
from .._core.pytree import flatten, paths, unflatten
from .._core.tensor import Tensor
from .backward import backward
from .batch import BatchLevel, Randomness
from .checks import arrays_of, split_aux
from .grad import GradLevel
from .jvp import JvpLevel
from .level import Escape
from .life import run

ndarray = np.ndarray
Evaluation = tuple[str, Escape, FrameType, list, Callable[[list], Any], list]
"""A function and the leaves that it is called with: the first arguments of
`push_forward`."""


def outer_tensors(
    leaves: list, args: tuple = (), chosen: Any = (), label: Any = "functier"
) -> list:
    """The tensors among the arguments: a level nests in the levels of all of them.

    `leaves` are those of the arguments at the positions `chosen`.
    """
    for arg in args or leaves:
        if type(arg) not in PLAIN:
            break
    else:
        return []
    found = [x for x in leaves if type(x) is not ndarray and isinstance(x, Tensor)]
    for n, arg in enumerate(args):
        if type(arg) is not ndarray and n not in chosen:
            if isinstance(arg, Tensor):
                found.append(arg)
            elif type(arg) not in PLAIN:
                found += outer_tensors(flatten(arg, label, "an argument")[0])
    return found


def record(
    label: str,
    escape: Escape,
    frame: FrameType,
    outer: list,
    call: Callable[[list], Any],
    leaves: list,
    has_aux: bool,
) -> tuple[list, list, list, Any, Any]:
    """Call a function of leaves at a new level, which takes down its tape.

    The values of the leaves of the result, the node of each (None: it does not depend on
    the input), the nodes of `leaves`, the structure of the result, and the rest of it
    where there is `has_aux`. `outer` holds the tensors in whose levels this one nests.
    """
    level = GradLevel.prepare(label, escape, frame, outer)
    return run(level, _record, (call, leaves, has_aux))


def _record(level: Any, given: tuple) -> tuple:
    """The result of `record`, at the level."""
    call, leaves, has_aux = given
    tracked = level.track(leaves)
    inputs = [x._extra for x in tracked]
    out = call(tracked)
    aux: Any = None
    if has_aux:
        out, aux = split_aux(level, out)
    outputs, structure = arrays_of(level, out)
    results = [level.lower(y) for y in outputs]
    roots = [(y._extra if type(y) is level.cls else None) for y in outputs]
    return results, roots, inputs, structure, aux


def pull_rows(
    label: str, frame: FrameType, outer: list, roots: list, basis: list, inputs: list
) -> list:
    """The cotangents of `inputs` for all the unit vectors of the outputs at once."""

    def pull(level: Any, _: Any) -> list:
        cotangents = level.insert(basis, [0] * len(basis), label)
        pairs = [(node, g) for node, g in zip(roots, cotangents) if node is not None]
        roots.clear()  # so that the tape goes while the backward pass goes on
        del cotangents
        grads = backward(pairs, inputs)
        return [None if g is None else level.unwrap(g) for g in grads]

    return run(BatchLevel.prepare(label, "dead", frame, outer), pull)


def push_forward(
    label: str,
    escape: Escape,
    frame: FrameType,
    outer: list,
    call: Callable[[list], Any],
    leaves: list,
    directions: list,
    has_aux: bool,
    strict: bool = False,
) -> tuple[list, Any, Any]:
    """Call a function of leaves at a new level, each with its direction.

    The ``(primal, tangent)`` of every leaf of the result, its structure, and the rest of
    it where there is `has_aux`. `outer` holds the tensors in whose levels this one nests.
    """
    level = JvpLevel.prepare(label, escape, frame, outer)
    return run(level, _push_forward, (call, leaves, directions, has_aux, strict))


def _push_forward(level: Any, given: tuple) -> tuple[list, Any, Any]:
    """The result of `push_forward`, at the level."""
    call, leaves, directions, has_aux, strict = given
    out = call(level.track(leaves, directions))
    aux: Any = None
    if has_aux:
        out, aux = split_aux(level, out)
    outputs, structure = arrays_of(level, out)
    if strict:
        _check_dependence(level, out, outputs)
    return [level.unwrap(y) for y in outputs], structure, aux


def _check_dependence(level: JvpLevel, out: Any, outputs: list) -> None:
    """Raise where a leaf of the result has no tangent."""
    for i, y in enumerate(outputs):
        if type(y) is not level.cls:
            raise ValueError(
                f"{level}: {paths(out, 'the result')[i]} does not depend on any primal, or only "
                f"by operations whose derivative is zero (rounding, comparing); its tangent is "
                f"zeros where strict=True is left out"
            )


def push_batch(
    label: str, at: Evaluation, basis: list, has_aux: bool, randomness: Randomness
) -> tuple[list, Any, Any]:
    """The tangents of the results for a batch of directions; see `push_forward` for the rest."""
    _, escape, frame, outer, _, _ = at

    def push(level: Any, _: Any) -> tuple:
        pairs, structure, aux = push_forward(
            *at, directions=level.insert(basis, [0] * len(basis), label), has_aux=has_aux
        )
        rows = [level.unwrap(t) for _, t in pairs]
        if randomness != "error":  # so that aux may vary along the batch: that of the first example
            leaves, tree = flatten(aux)
            first = [level.unwrap(x)[0] if type(x) is level.cls else x for x in leaves]
            aux = unflatten(tree, first)
        return rows, structure, aux

    level = BatchLevel.prepare(label, escape, frame, outer)
    level.randomness = randomness
    return run(level, push)
