"""The life of a level, and calls of a function of leaves at a new one.

The life of a level: a body runs in it, and it ends even after an exception.
`run` does so for a function, `LevelContext` for a ``with`` block.
See NOTE [what cannot be interrupted] in `_core.blocks`.

Runs: calls of a function of leaves at a new grad or jvp level, and batches of directions.
Each level begins and ends with the call.
"""

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .._core.adopted import ADOPTED
from .._core.blocks import Entry, Exit, claim
from .._core.errors import REPLACING, reveal
from .._core.numpy_facts import PLAIN
from .._core.pytree import flatten, paths, unflatten
from .._core.tensor import Tensor
from .._core.tracebacks import leave
from .._cpython.frames import Frame, current_frame
from .._mutation.copies import check_lent
from .backward import backward
from .batch import BatchLevel, Randomness
from .checks import arrays_of, split_aux
from .grad import GradLevel
from .jvp import JvpLevel
from .level import ENDED, Escape, Level
from .lineage import AMBIENT
from .spares import give_back, is_held

T = TypeVar("T")


def run(level: Level, body: Callable[..., T], given: Any = ()) -> T:
    """Return ``body(level, given)``; `level` is ambient meanwhile, and ends after it.

    A later level may have its class: see `spares`. `given` is one value, as unpacking costs
    0.1 us.
    """
    cls, outer = level.cls, level.outer
    raised: BaseException | None = None
    try:
        AMBIENT.set(cls)
        result = body(level, given)
        if level.notes is not None and level.notes.partners:
            check_lent(level)
        if level.unanswered is not None:
            level.check_answered()
    except BaseException as error:
        raised = error
        if level.unanswered is not None or isinstance(error, REPLACING):
            _reveal(level, error)
        raise
    finally:
        # Not `level.end()`: a signal can interrupt a call before its first line.
        level.__class__ = ENDED[level.escape]  # type: ignore[assignment]
        inner = AMBIENT.set(outer).old_value
        if inner is not cls or not outer.level.live:
            level.restore_ambient(inner)
        if level.notes is not None:
            level.notes.rows = {}
        level.arguments = None
        del cls, inner  # they refer to the class
        if ADOPTED and level.escape == "dead" and not level.kind.guards and is_held(level):
            ADOPTED.methods["take_back"](level, is_held, raised)
        del raised  # it refers to this frame
    if level.serves:
        give_back(level)
    return result


def _reveal(level: Level, error: BaseException) -> None:
    """Raise the error of the level that was replaced by `error`, if it was."""
    refused, level.unanswered = level.unanswered, None  # its frames hold values
    try:
        if isinstance(error, REPLACING):
            reveal(error, refused)
    finally:
        del refused


def within(cls: type[Tensor], call: Callable[..., T], *args: Any) -> T:
    """Return ``call(*args)``; `cls` is ambient meanwhile."""
    outer = AMBIENT.get()
    try:
        AMBIENT.set(cls)
        return call(*args)
    finally:
        AMBIENT.set(outer)


def _leave(entry: Entry, kind: Any = None, error: Any = None, trace: Any = None) -> None:
    if entry.undo is None:
        entry.manager._end_by_hand()
    else:
        entry.undo()
    if isinstance(error, BaseException):
        leave(error)
    if isinstance(error, REPLACING):
        reveal(error)


class LevelContext:
    """A context manager and a decorator: the result of a transform without a function."""

    def __init__(
        self, kind: type[Level], label: str, escape: Escape, decorate: Callable, **options: Any
    ):
        self._form, self._decorate, self._options = (kind, label, escape), decorate, options
        self._by_hand: list[Level] = []

    def __enter__(self) -> Any:
        kind, label, escape = self._form
        level = kind.prepare(label, escape, current_frame(1), lexical=True)
        vars(level).update(self._options)  # no later level has this class
        guard = claim(self, functools.partial(_end, level))
        if guard is None:
            self._by_hand.append(level)
        else:
            vars(level)["live"] = guard  # false once the program has left the block
        AMBIENT.set(level.cls)
        return level.cls

    __exit__ = Exit(_leave)

    def _end_by_hand(self) -> None:
        current = AMBIENT.get()  # several threads may be in one context manager
        entered = [level for level in self._by_hand if level.cls is current] or self._by_hand
        level = entered[-1]
        self._by_hand.remove(level)
        _end(level)

    def __call__(self, func: Callable) -> Callable:
        return self._decorate(func)


def _end(level: Level) -> None:
    level.end()  # does nothing where it has ended
    if level.notes is not None:
        level.notes.rows = {}
    vars(level).pop("live", None)  # the guard need not call this again


ndarray = np.ndarray
LeafFunction = Callable[[list], Any]


@dataclass(slots=True)  # which costs half as much as a NamedTuple, in every jvp
class Site:
    """The place where a level is made: the arguments of `Level.prepare`."""

    label: str
    escape: Escape
    frame: Frame
    outer: Sequence[Tensor]  # the level nests in the levels of these


def outer_tensors(
    leaves: list, args: tuple = (), chosen: Collection[int] = (), label: object = "functier"
) -> list[Tensor]:
    """Return the tensors among the arguments: a level nests in the levels of all of them.

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
    site: Site, call: LeafFunction, leaves: list, has_aux: bool = False
) -> tuple[list, list, list, Any, Any]:
    """Call a function of leaves at a new level that records its tape.

    Returns
    -------
    tuple
        The values of the leaves of the result, the node of each (None where it does not
        depend on the input), the nodes of `leaves`, the structure of the result, and the rest
        of it where there is `has_aux`.
    """
    level = GradLevel.prepare(site.label, site.escape, site.frame, site.outer)
    return run(level, _record, (call, leaves, has_aux))


def _record(level: GradLevel, given: tuple) -> tuple[list, list, list, Any, Any]:
    """Compute the result of `record` at the level."""
    call, leaves, has_aux = given
    tracked = level.track(leaves)
    level.arguments = [tracked, None, None]
    inputs = [x._extra for x in tracked]
    out = call(tracked)
    aux: Any = None
    if has_aux:
        out, aux = split_aux(level, out)
    outputs, structure = arrays_of(level, out)
    results = [level.lower(y) for y in outputs]
    roots = [(y._extra if type(y) is level.cls else None) for y in outputs]
    return results, roots, inputs, structure, aux


def pull_rows(site: Site, roots: list, basis: list, inputs: list) -> list:
    """Return the cotangents of `inputs` for all the unit vectors of the outputs at once."""

    def pull(level: BatchLevel, _: Any) -> list:
        cotangents = level.insert(basis, [0] * len(basis), site.label)
        pairs = [(node, g) for node, g in zip(roots, cotangents) if node is not None]
        roots.clear()  # so that the backward pass frees the tape
        del cotangents
        grads = backward(pairs, inputs, given=True)
        return [None if g is None else level.unwrap(g) for g in grads]

    return run(BatchLevel.prepare(site.label, site.escape, site.frame, site.outer), pull)


def push_forward(
    site: Site,
    call: LeafFunction,
    leaves: list,
    directions: list,
    has_aux: bool = False,
    strict: bool = False,
) -> tuple[list, Any, Any]:
    """Call a function of leaves at a new level, each with its direction.

    Returns
    -------
    tuple
        The ``(primal, tangent)`` of every leaf of the result, its structure, and the rest of it
        where there is `has_aux`.
    """
    level = JvpLevel.prepare(site.label, site.escape, site.frame, site.outer)
    return run(level, _push_forward, (call, leaves, directions, has_aux, strict))


def _push_forward(level: JvpLevel, given: tuple) -> tuple[list, Any, Any]:
    """Compute the result of `push_forward` at the level."""
    call, leaves, directions, has_aux, strict = given
    tracked = level.track(leaves, directions)
    level.arguments = [tracked, None, None]
    out = call(tracked)
    aux: Any = None
    if has_aux:
        out, aux = split_aux(level, out)
    outputs, structure = arrays_of(level, out)
    if strict:
        for i, y in enumerate(outputs):
            if type(y) is not level.cls:
                raise ValueError(
                    f"{level}: {paths(out, 'the result')[i]} does not depend on any primal, or "
                    f"only through operations whose derivative is zero (rounding, comparing); "
                    f"without strict=True its tangent is zeros"
                )
    return [level.unwrap(y) for y in outputs], structure, aux


def _slope(site: Site, call: LeafFunction, directions: list) -> LeafFunction:
    """Return the derivative of a function of leaves along a direction, as such a function."""

    def slope(leaves: list) -> Any:
        around = Site(site.label, site.escape, site.frame, [*site.outer, *leaves])
        pairs, structure, _ = push_forward(around, call, leaves, directions)
        return unflatten(structure, [t for _, t in pairs])

    return slope


def push_batch(
    label: str,
    site: Site,
    call: LeafFunction,
    leaves: list,
    basis: list,
    has_aux: bool = False,
    randomness: Randomness = "error",
    twice: bool = False,
) -> tuple[list, Any, Any]:
    """Compute the tangents of the results for a batch of directions, as `push_forward` does.

    `label` is that of the level of the batch; the other level is made at `site`. With `twice`
    they are second derivatives, each along one direction.
    """

    def push(level: BatchLevel, _: Any) -> tuple:
        directions = level.insert(basis, [0] * len(basis), label)
        inner = _slope(site, call, directions) if twice else call
        pairs, structure, aux = push_forward(site, inner, leaves, directions, has_aux)
        rows = [level.unwrap(t) for _, t in pairs]
        if has_aux:  # a solver's values have the batch, and draws vary along it
            values, tree = flatten(aux)
            first = [level.unwrap(x)[0] if type(x) is level.cls else x for x in values]
            aux = unflatten(tree, first)
        return rows, structure, aux

    level = BatchLevel.prepare(label, site.escape, site.frame, site.outer)
    level.randomness = randomness
    return run(level, push)
