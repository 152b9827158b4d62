"""The rules of a function of leaves, and the rules that are derived for batches and derivatives.

NOTE [flat rules]
    `Rules` take and return lists of leaves, and with them a `form` that is opaque here (for
    pytrees, the structure of the result). So the rules of a batch, `BatchedRules`, and of a
    derivative, `VjpRules` and `JvpRules`, wrap any other rules.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from .._core.numpy_facts import Value, shape_of
from .._core.pytree import is_value
from .._core.tensor import Tensor
from .._cpython.frames import current_frame, outside
from .._levels.backward import backward
from .._levels.batch import BatchLevel
from .._levels.cotangents import fill_zeros, is_inexact
from .._levels.runs import Site, push_forward, record, run

T = TypeVar("T")

Call: TypeAlias = Callable[[list], tuple[list, Any]]
"""A function from leaves to the leaves of its result, and its form."""


class Rules:
    """A function of leaves and its rules; see NOTE [flat rules].

    `fixed` holds the positions of leaves that are not differentiated. In lists of tangents
    and cotangents None stands for zero. Rules that are not `by_user` are NumPy code.
    """

    name: str
    fixed: Sequence[int] = ()
    remedy = "give it a rule for forward mode, with defjvp"
    has_vjp = has_jvp = has_vmap = False
    by_user = True

    def note(self, own: list[int], forward: bool) -> None:
        """Take note of the leaves that the next level differentiates by, and of its mode."""

    def differentiable(self, outs: list, form: Any) -> list[int]:
        """Return the positions of the results that have a derivative."""
        return inexact(outs)

    def run(self, leaves: list) -> tuple[list, Any]:
        """Return the leaves of the result, and its form."""
        raise NotImplementedError

    def fwd(self, leaves: list) -> tuple[list, Any, list, Any]:
        """Return as `run`, and the saved leaves and other information for `bwd`."""
        raise NotImplementedError

    def bwd(self, saved: list, info: Any, cotangents: list) -> list:
        """Return the cotangent of each leaf."""
        raise NotImplementedError

    def jvp(self, leaves: list, tangents: list) -> tuple[list, Any, list]:
        """Return as `run`, and the tangent of each leaf of the result."""
        raise NotImplementedError

    def vmap(self, size: int, leaves: list, dims: list) -> tuple[list, Any, list]:
        """Return as `run` for a batch, and the batch axes of the leaves of the result.

        `dims` and these have 0 for each leaf that is batched along its axis 0, else None.
        """
        raise NotImplementedError


def inexact(leaves: list) -> list[int]:
    """Return the positions of the leaves of floating-point and complex dtypes."""
    return [i for i, x in enumerate(leaves) if is_value(x) and is_inexact(x)]


def placed(n: int, places: Iterable[int], values: Iterable) -> list:
    """Return `n` values: these at the places, and None elsewhere."""
    found: list = [None] * n
    for place, value in zip(places, values):
        found[place] = value
    return found


def caller() -> Any:
    """Return the innermost frame outside this package."""
    return outside(current_frame(1), ("functier",))


def tape_of(label: str, call: Callable, starts: list, others: list) -> tuple[list, list, list]:
    """Return the values and nodes of the results of ``call(starts)``, and the nodes of `starts`."""
    outer = [x for x in (*starts, *others) if isinstance(x, Tensor)]
    results, roots, inputs, _, _ = record(Site(label, "dead", caller(), outer), call, starts)
    return results, roots, inputs


# ---- batches ----


class BatchedRules(Rules):
    """The rules of a function for a batch: each rule runs once for the whole batch.

    `dims` has 0 for each leaf that is batched along its axis 0, else None.
    """

    def __init__(self, rules: Rules, level: BatchLevel, dims: list):
        self.rules, self.dims, self.size = rules, dims, level.size
        self.name, self.fixed = rules.name, rules.fixed
        self.has_vjp, self.has_jvp = rules.has_vjp, rules.has_jvp
        self.note, self.remedy = rules.note, rules.remedy  # type: ignore[method-assign]
        self.label = f"vmap({rules.name})"
        own = vars(level)
        self.options = {n: own[n] for n in ("randomness", "axis_name", "chunk") if n in own}

    def inside(self, call: Callable[[BatchLevel], T], *given: list) -> T:
        """Return the result of `call`, which gets a new level for the batch."""
        outer = [x for leaves in given for x in leaves if isinstance(x, Tensor)]
        level = BatchLevel.prepare(self.label, "dead", caller(), outer)
        level.size = self.size
        vars(level).update(self.options)
        level.serves = not self.options
        return run(level, lambda level, _: call(level))

    def differentiable(self, outs: list, form: Any) -> list[int]:
        return self.rules.differentiable(outs, form[0])

    def enter(self, level: BatchLevel, leaves: list, dims: list) -> list:
        return level.insert(leaves, dims, f"an argument of {self.name}")

    def run(self, leaves: list) -> tuple[list, Any]:
        def body(level: BatchLevel) -> tuple:
            outs, form = self.rules.run(self.enter(level, leaves, self.dims))
            return *_leave(level, outs), form

        outs, dims, form = self.inside(body, leaves)
        return outs, (form, dims)

    def fwd(self, leaves: list) -> tuple[list, Any, list, Any]:
        def body(level: BatchLevel) -> tuple:
            outs, form, saved, info = self.rules.fwd(self.enter(level, leaves, self.dims))
            # A result with a derivative is always batched: it has a cotangent per example.
            return *_leave(level, outs, inexact(outs)), form, *_leave(level, saved), info

        outs, dims, form, saved, saved_dims, info = self.inside(body, leaves)
        return outs, (form, dims), saved, (info, saved_dims, dims)

    def bwd(self, saved: list, info: Any, cotangents: list) -> list:
        info, saved_dims, dims = info
        dims = [None if g is None else dim for g, dim in zip(cotangents, dims)]

        def body(level: BatchLevel) -> list:
            inner = self.enter(level, saved, saved_dims)
            grads = self.rules.bwd(inner, info, self.enter(level, cotangents, dims))
            return [_sum(level, g, dim) for g, dim in zip(grads, self.dims)]

        return self.inside(body, saved, cotangents)

    def jvp(self, leaves: list, tangents: list) -> tuple[list, Any, list]:
        dims = [None if t is None else dim for t, dim in zip(tangents, self.dims)]

        def body(level: BatchLevel) -> tuple:
            inner = self.enter(level, leaves, self.dims)
            outs, form, tangents_out = self.rules.jvp(inner, self.enter(level, tangents, dims))
            both = [i for i, t in enumerate(tangents_out) if level.cls in (type(t), type(outs[i]))]
            outs, out_dims = _leave(level, outs, both)
            return outs, out_dims, form, _leave(level, tangents_out, both)[0]

        outs, out_dims, form, tangents_out = self.inside(body, leaves, tangents)
        return outs, (form, out_dims), tangents_out


def _leave(level: BatchLevel, leaves: list, whole: Sequence[int] = ()) -> tuple[list, list]:
    """Return the leaves without `level`, and their batch axes.

    A leaf is batched along axis 0 where it varies, or its position is in `whole`.
    """
    values, dims = [], []
    for i, x in enumerate(leaves):
        dim = 0 if x is not None and (type(x) is level.cls or i in whole) else None
        values.append(level.unwrap(x) if dim == 0 else level.lower(x))
        dims.append(dim)
    return values, dims


def _sum(level: BatchLevel, g: Value | None, dim: int | None) -> Value | None:
    """Return the cotangent of a leaf; if the leaf is not batched, the sum over the batch."""
    if g is None:
        return None
    g = level.unwrap(g)
    return g if dim == 0 else np.sum(g, axis=0)


# ---- derivatives of batching rules ----
#
# Where a function has only a batching rule, a level further out batches the derivative of the
# function. The batching rule of the derivative is the derivative of the function's.


class DerivativeRules(Rules):
    """The rules of a derivative of a function that has only a batching rule.

    The leaves are those of the function, and a (co)tangent for each position in `own`
    or each result in `places`.
    """

    has_vmap = True

    def __init__(self, rules: Rules, n: int, own: list, places: list):
        self.rules, self.n, self.own, self.places = rules, n, own, places
        self.name = rules.name

    def run(self, leaves: list) -> tuple[list, Any]:
        return self.derivative(self.rules.run, leaves)

    def vmap(self, size: int, leaves: list, dims: list) -> tuple[list, Any, list]:
        def broadcast(x: Value, dim: int | None) -> Value:
            return x if dim == 0 else np.broadcast_to(x, (size, *shape_of(x)))

        varying = {*self.own, *range(self.n, len(leaves))}
        leaves = [
            broadcast(x, dim) if i in varying else x for i, (x, dim) in enumerate(zip(leaves, dims))
        ]
        dims = [0 if i in varying else dim for i, dim in enumerate(dims[: self.n])]

        def batched(given: list) -> tuple[list, Any]:
            outs, form, out_dims = self.rules.vmap(size, given, dims)
            return [broadcast(x, d) if is_value(x) else x for x, d in zip(outs, out_dims)], form

        outs, form = self.derivative(batched, leaves)
        return outs, form, [0 if is_value(x) else None for x in outs]

    def derivative(self, call: Call, leaves: list) -> tuple[list, Any]:
        """Return the derivative of `call`, the function for one example or for a batch."""
        raise NotImplementedError

    def replace_own(self, values: list, variables: list) -> list:
        """Return `values` with `variables` at the positions in `own`."""
        given = dict(zip(self.own, variables))
        return [given.get(i, x) for i, x in enumerate(values)]


class VjpRules(DerivativeRules):
    """The rules of the map from cotangents of the results in `places` to those of `own`."""

    def derivative(self, call: Call, leaves: list) -> tuple[list, Any]:
        values, cotangents = leaves[: self.n], leaves[self.n :]

        def results(variables: list) -> list:
            outs, _ = call(self.replace_own(values, variables))
            return [outs[i] for i in self.places]

        starts = [values[i] for i in self.own]
        _, roots, inputs = tape_of(f"vjp({self.name})", results, starts, leaves)
        pairs = [(node, g) for node, g in zip(roots, cotangents) if node is not None]
        return fill_zeros(backward(pairs, inputs), starts), None


class JvpRules(DerivativeRules):
    """The rules of the map from tangents of `own` to the results, followed by their tangents."""

    def derivative(self, call: Call, leaves: list) -> tuple[list, Any]:
        values, tangents = leaves[: self.n], leaves[self.n :]
        found: list = []

        def results(variables: list) -> list:
            outs, form = call(self.replace_own(values, variables))
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
