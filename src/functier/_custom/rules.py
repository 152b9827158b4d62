"""The rules of a function of leaves, which `_custom.apply` applies, and those made of them for a
batch and for a derivative.

NOTE [flat rules]
    `Rules` take and give lists of leaves, and next to them a `form` that nobody here looks
    into (for pytrees, the structure of the result). So a layer for a batch, `Batched`, or
    for a derivative, `Pulled` and `Pushed`, does not know what is inside of it.
"""

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from .._core.numpy_facts import shape_of
from .._core.pytree import is_value
from .._core.tensor import Tensor
from .._levels.backward import backward
from .._levels.batch import BatchLevel
from .._levels.cotangents import fill_zeros, is_inexact
from .._levels.life import run
from .._levels.runs import Site, push_forward, record


class Rules:
    """A function of leaves and the rules that it has; see NOTE [flat rules].

    `fixed` holds the positions of leaves by which it is not differentiated. In `tangents`,
    cotangents and their results, None stands for zero.
    """

    name: str
    fixed: Sequence[int] = ()
    remedy = "give it a rule for forward mode, with defjvp"
    has_vjp = has_jvp = has_vmap = False

    def note(self, own: list[int], forward: bool) -> None:
        """Be told by which leaves the level differentiates that is handled next, and how."""

    def moving(self, outs: list, form: Any) -> list[int]:
        """The positions of the results that have a derivative."""
        return inexact(outs)

    def run(self, leaves: list) -> tuple[list, Any]:
        """The leaves of the result, and its form."""
        raise NotImplementedError

    def fwd(self, leaves: list) -> tuple[list, Any, list, Any]:
        """The same; and the leaves that `bwd` needs, with what else it needs."""
        raise NotImplementedError

    def bwd(self, saved: list, how: Any, cotangents: list) -> list:
        """The cotangent of each leaf."""
        raise NotImplementedError

    def jvp(self, leaves: list, tangents: list) -> tuple[list, Any, list]:
        """As `run`; and the tangent of each leaf of the result."""
        raise NotImplementedError

    def vmap(self, size: int, leaves: list, dims: list) -> tuple[list, Any, list]:
        """As `run`, for a batch along axis 0 where `dims` has 0 and not None; and the same
        of the leaves of the result.
        """
        raise NotImplementedError


def inexact(leaves: list) -> list[int]:
    """The positions of what has a derivative."""
    return [i for i, x in enumerate(leaves) if is_value(x) and is_inexact(x)]


def caller() -> FrameType:
    """The frame outside of this package that led here."""
    frame: Any = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "functier":
        frame = frame.f_back
    return frame


def tape_of(label: str, call: Callable, starts: list, others: list) -> tuple[list, list, list]:
    """The values and nodes of the results of ``call(starts)``, and the nodes of `starts`."""
    outer = [x for x in (*starts, *others) if isinstance(x, Tensor)]
    results, roots, inputs, _, _ = record(Site(label, "dead", caller(), outer), call, starts)
    return results, roots, inputs


# ---- batches ----


class Batched(Rules):
    """The rules of a function for a batch, each for a whole batch at once.

    `dims` has 0 for each leaf that is batched along its axis 0, None for the others.
    """

    def __init__(self, rules: Rules, level: Any, dims: list):
        self.rules, self.dims, self.size = rules, dims, level.size
        self.name, self.fixed = rules.name, rules.fixed
        self.has_vjp, self.has_jvp = rules.has_vjp, rules.has_jvp
        self.note, self.remedy = rules.note, rules.remedy  # type: ignore[method-assign]
        self.label = f"vmap({rules.name})"
        own = vars(level)
        self.options = {n: own[n] for n in ("randomness", "axis_name", "chunk") if n in own}

    def inside(self, call: Callable[[Any], Any], *given: list) -> Any:
        """The result of `call`, which gets a level for the batch."""
        outer = [x for leaves in given for x in leaves if isinstance(x, Tensor)]
        level = BatchLevel.prepare(self.label, "dead", caller(), outer)
        level.size = self.size
        vars(level).update(self.options)
        level.serves = not self.options
        return run(level, lambda level, _: call(level))

    def moving(self, outs: list, form: Any) -> list[int]:
        return self.rules.moving(outs, form[0])

    def enter(self, level: Any, leaves: list, dims: list) -> list:
        return level.insert(leaves, dims, f"an argument of {self.name}")

    def run(self, leaves: list) -> tuple[list, Any]:
        def body(level: Any) -> tuple:
            outs, form = self.rules.run(self.enter(level, leaves, self.dims))
            return *_left(level, outs), form

        outs, dims, form = self.inside(body, leaves)
        return outs, (form, dims)

    def fwd(self, leaves: list) -> tuple[list, Any, list, Any]:
        def body(level: Any) -> tuple:
            outs, form, saved, how = self.rules.fwd(self.enter(level, leaves, self.dims))
            # All of what has a derivative is batched: its cotangents are one an example.
            return *_left(level, outs, inexact(outs)), form, *_left(level, saved), how

        outs, dims, form, saved, saved_dims, how = self.inside(body, leaves)
        return outs, (form, dims), saved, (how, saved_dims, dims)

    def bwd(self, saved: list, how: Any, cotangents: list) -> list:
        how, saved_dims, dims = how
        dims = [None if g is None else dim for g, dim in zip(cotangents, dims)]

        def body(level: Any) -> list:
            inner = self.enter(level, saved, saved_dims)
            grads = self.rules.bwd(inner, how, self.enter(level, cotangents, dims))
            return [_sum(level, g, dim) for g, dim in zip(grads, self.dims)]

        return self.inside(body, saved, cotangents)

    def jvp(self, leaves: list, tangents: list) -> tuple[list, Any, list]:
        dims = [None if t is None else dim for t, dim in zip(tangents, self.dims)]

        def body(level: Any) -> tuple:
            inner = self.enter(level, leaves, self.dims)
            outs, form, moved = self.rules.jvp(inner, self.enter(level, tangents, dims))
            both = [i for i, t in enumerate(moved) if level.cls in (type(t), type(outs[i]))]
            outs, out_dims = _left(level, outs, both)
            return outs, out_dims, form, _left(level, moved, both)[0]

        outs, out_dims, form, moved = self.inside(body, leaves, tangents)
        return outs, (form, out_dims), moved


def _left(level: Any, leaves: list, whole: Sequence[int] = ()) -> tuple[list, list]:
    """The leaves without `level`: batched along axis 0 where they vary or are in `whole`."""
    values, dims = [], []
    for i, x in enumerate(leaves):
        dim = 0 if x is not None and (type(x) is level.cls or i in whole) else None
        values.append(level.unwrap(x) if dim == 0 else level.lower(x))
        dims.append(dim)
    return values, dims


def _sum(level: Any, g: Any, dim: int | None) -> Any:
    """The cotangent of a leaf: one that is the same for the batch gets the sum over it."""
    if g is None:
        return None
    g = level.unwrap(g)
    return g if dim == 0 else np.sum(g, axis=0)


# ---- derivatives of batching rules ----
#
# Where a function has a batching rule alone, what is batched further out is the function's
# derivative. Its batching rule is the derivative of the function's.


class Derived(Rules):
    """A derivative of a function that has a batching rule and no other.

    Its leaves are those of the function, and one more for each position in `own`, or for
    each result.
    """

    has_vmap = True

    def __init__(self, rules: Rules, n: int, own: list, places: list):
        self.rules, self.n, self.own, self.places = rules, n, own, places
        self.name = rules.name

    def run(self, leaves: list) -> tuple[list, Any]:
        return self.derivative(self.rules.run, leaves)

    def vmap(self, size: int, leaves: list, dims: list) -> tuple[list, Any, list]:
        def wide(x: Any, dim: int | None) -> Any:
            return x if dim == 0 else np.broadcast_to(x, (size, *shape_of(x)))

        moving = {*self.own, *range(self.n, len(leaves))}
        leaves = [
            wide(x, dim) if i in moving else x for i, (x, dim) in enumerate(zip(leaves, dims))
        ]
        dims = [0 if i in moving else dim for i, dim in enumerate(dims[: self.n])]

        def batched(given: list) -> tuple[list, Any]:
            outs, form, out_dims = self.rules.vmap(size, given, dims)
            return [wide(x, d) if is_value(x) else x for x, d in zip(outs, out_dims)], form

        outs, form = self.derivative(batched, leaves)
        return outs, form, [0 if is_value(x) else None for x in outs]

    def derivative(self, call: Callable, leaves: list) -> tuple[list, Any]:
        raise NotImplementedError

    def replaced(self, values: list, moving: list) -> list:
        values = list(values)
        for i, x in zip(self.own, moving):
            values[i] = x
        return values


class Pulled(Derived):
    """The cotangents of the leaves in `own`, of cotangents of the results in `places`."""

    def derivative(self, call: Callable, leaves: list) -> tuple[list, Any]:
        values, cotangents = leaves[: self.n], leaves[self.n :]

        def results(moving: list) -> list:
            outs, _ = call(self.replaced(values, moving))
            return [outs[i] for i in self.places]

        starts = [values[i] for i in self.own]
        _, roots, inputs = tape_of(f"vjp({self.name})", results, starts, leaves)
        pairs = [(node, g) for node, g in zip(roots, cotangents) if node is not None]
        return fill_zeros(backward(pairs, inputs), starts), None


class Pushed(Derived):
    """The results, and after them their tangents, of tangents of the leaves in `own`."""

    def derivative(self, call: Callable, leaves: list) -> tuple[list, Any]:
        values, tangents = leaves[: self.n], leaves[self.n :]
        found: list = []

        def results(moving: list) -> list:
            outs, form = call(self.replaced(values, moving))
            found.extend((outs, form))
            return [outs[i] for i in inexact(outs)]

        starts = [values[i] for i in self.own]
        outer = [x for x in leaves if isinstance(x, Tensor)]
        site = Site(f"jvp({self.name})", "dead", caller(), outer)
        pairs, _, _ = push_forward(site, results, starts, tangents)
        outs, form = found
        places = inexact(outs)
        for i, (primal, _) in zip(places, pairs):
            outs[i] = primal
        return [*outs, *[t for _, t in pairs]], (form, places)
