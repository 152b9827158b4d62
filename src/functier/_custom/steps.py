"""Functions that a program calls as a whole, with their derivatives by transforms inside.

NOTE [a step under transforms]
    At a level that differentiates or batches, the step is another one: the result with its
    Jacobian, with a tangent, or for a batch, by functier's transforms of the function on plain
    values. So each derivative is the one that a call without a trace has, in any nesting.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.numpy_facts import shape_of
from .._core.tensor import Tensor
from .._levels.lineage import levels_of
from .._levels.runs import within
from .._transforms.jvp import jvp
from .._transforms.vjp import vjp
from .._transforms.vmap import vmap
from .apply import apply, level_among
from .rules import Rules, inexact, placed

MANY = 200
"""The size of the inputs from which on a derivative is computed backward, by a second call."""


def replaced(leaves: Sequence, own: list, values: Sequence) -> list:
    given = dict(zip(own, values))
    return [given.get(i, x) for i, x in enumerate(leaves)]


def joined(rest: Sequence, found: Sequence) -> list:
    """Return the results of which `found` has those that `rest` has None for."""
    return replaced(rest, [i for i, x in enumerate(rest) if x is None], found)


def divided(call: Callable, leaves: Sequence, own: list) -> Callable:
    """Return the results of floating point as a function of the leaves in `own`, and all others."""

    def results(*values: Any) -> tuple[list, list]:
        outs = call(*replaced(leaves, own, values))
        if any([np.result_type(x).kind == "c" for x in (*outs, *leaves)]):
            raise UnsupportedError("it has complex values")
        places = inexact(outs)
        return [outs[i] for i in places], [None if i in places else x for i, x in enumerate(outs)]

    return results


def pushed(call: Callable, own: list, n: int) -> Callable:
    """Return the function that gives results, and then the tangent of each; others have zeros."""

    def push(*given: Any) -> list:
        leaves, tangents = given[:n], given[n:]
        primals = tuple([leaves[i] for i in own])
        found, moved, rest = jvp(divided(call, leaves, own), primals, tangents, has_aux=True)
        places = [i for i, x in enumerate(rest) if x is None]
        outs = replaced(rest, places, found)
        return [*outs, *replaced([0.0] * len(outs), places, moved)]

    return push


def pulled(call: Callable, own: list, n: int, used: list) -> Callable:
    """Return the cotangents of the leaves in `own` as a function of those of the results `used`."""

    def pull(*given: Any) -> list:
        leaves, cotangents = given[:n], given[n:]
        primals = [leaves[i] for i in own]
        found, back, rest = vjp(divided(call, leaves, own), *primals, has_aux=True)
        places = [i for i, x in enumerate(rest) if x is None]
        known = dict(zip(used, cotangents))
        zeros = [np.zeros(shape_of(x)) for x in found]
        return list(back([known.get(i, zero) for i, zero in zip(places, zeros)]))

    return pull


def units_of(values: Sequence) -> tuple[list, list[int]]:
    """Return the directions of all elements of some arrays, for each array, and where they end."""
    sizes = [*map(size_of, values)]
    ends = [*accumulate(sizes)]
    rows = np.eye(sum(sizes))
    units = [
        np.reshape(rows[:, end - size : end], (len(rows), *shape_of(x)))
        for x, size, end in zip(values, sizes, ends)
    ]
    return units, ends


def with_jacobian(call: Callable, own: list) -> Callable:
    """Return the function that gives results, and for each leaf in `own` the rows of a Jacobian.

    These are for all elements of the results of floating point, one after the other.
    """

    def run(*leaves: Any) -> list:
        primals = [leaves[i] for i in own]
        found, back, rest = vjp(divided(call, leaves, own), *primals, has_aux=True)
        if not found:  # nothing has a derivative
            return [*rest, *[np.zeros((0, *shape_of(x))) for x in primals]]
        slopes = vmap(lambda *g: back(list(g)))(*units_of(found)[0])
        return [*joined(rest, found), *slopes]

    return run


COLUMNS = "the columns of a Jacobian"
"""The name of the batch of the directions that reverse mode asks for: they are solved together."""


def with_columns(call: Callable, own: list) -> Callable:
    """Return the function that `with_jacobian` returns, by forward derivatives."""

    def run(*leaves: Any) -> list:
        primals = tuple([leaves[i] for i in own])
        others: list = []

        def along(*directions: Any) -> Any:
            found, moved, rest = jvp(divided(call, leaves, own), primals, directions, has_aux=True)
            others[:] = found, rest
            return np.concatenate([np.reshape(x, -1) for x in moved])

        units, ends = units_of(primals)
        if ends[-1] == 1:
            table = np.reshape(along(*[x[0] for x in units]), (-1, 1))
        else:
            table = np.transpose(vmap(along, axis_name=COLUMNS)(*units))
        rows = [
            np.reshape(table[:, start:end], (-1, *shape_of(x)))
            for start, end, x in zip([0, *ends], ends, primals)
        ]
        found, rest = others
        return [*joined(rest, found), *rows]

    return run


def size_of(x: Any) -> int:
    return math.prod(shape_of(x))


class Step(Rules):
    """The rules of a function of leaves that a program calls as a whole.

    ``record(level, call, leaves)`` does so at the level of a trace, for it or a derivative; the
    call that it is given runs outside of all levels. Without it the program has the calls that the
    function makes, and the Jacobian for reverse mode is one of forward mode. `backward` asks for
    no Jacobian: reverse mode is a second call. Where the call is that of a batch, `batch` is the
    one of an example, with the axes of the leaves: each example has a Jacobian of its own.
    """

    has_vjp = has_jvp = has_vmap = True
    by_user = False

    def __init__(
        self, call: Callable, name: str, record: Callable | None = None, backward: bool = False,
        batch: tuple[Callable, Sequence] | None = None,
    ):  # fmt: skip
        self.call, self.name, self.record = call, name, record
        self.backward, self.batch = backward, batch
        self.own: list[int] = []

    def note(self, own: list[int], forward: bool) -> None:
        self.own = own

    def step(self, call: Callable, leaves: Sequence, batch: Any = None) -> list:
        """Return the results of a call at the levels of its leaves."""
        given, level = level_among(list(leaves), self.name)
        if level is None:
            return within(Tensor, call, *given)
        if level.guards:
            if self.record is None:
                return within(level.cls, call, *given)
            return self.record(level, partial(within, Tensor, call), given)
        return apply(Step(call, self.name, self.record, self.backward, batch), given)[0]

    def run(self, leaves: list) -> tuple[list, Any]:
        return self.step(self.call, leaves), None

    def jvp(self, leaves: list, tangents: list) -> tuple[list, Any, list]:
        own = [i for i, t in enumerate(tangents) if t is not None]
        call = pushed(self.call, own, len(leaves))
        found = self.step(call, [*leaves, *[tangents[i] for i in own]])
        outs, moved = found[: len(found) // 2], found[len(found) // 2 :]
        places = inexact(outs)
        return outs, None, placed(len(outs), places, [moved[i] for i in places])

    def fwd(self, leaves: list) -> tuple[list, Any, list, Any]:
        own, n = self.own, len(leaves)
        call, dims = self.batch or (self.call, [None] * n)
        shapes = [shape_of(leaves[i])[dims[i] is not None :] for i in own]
        if self.backward or sum(map(math.prod, shapes)) > MANY:
            return self.step(self.call, leaves), None, leaves, (own, n, None)
        run = with_columns(call, own) if self.record is None else with_jacobian(call, own)
        if self.batch is not None:
            run = vmap(run, in_dims=tuple(dims))
        found = self.step(run, leaves)
        outs, rows = found[: -len(own)], found[-len(own) :]
        axes = None if self.batch is None else [dims[i] for i in own]
        return outs, None, rows, (own, n, (axes, [(i, shape_of(outs[i])) for i in inexact(outs)]))

    def bwd(self, saved: list, info: Any, cotangents: list) -> list:
        own, n, form = info
        if form is None:
            used = [i for i, g in enumerate(cotangents) if g is not None]
            call = pulled(self.call, own, n, used)
            return placed(n, own, self.step(call, [*saved, *[cotangents[i] for i in used]]))
        axes, shapes = form
        lead = 0 if axes is None else 1
        given = [np.zeros(shape) if cotangents[i] is None else cotangents[i] for i, shape in shapes]
        parts = [np.reshape(g, (*shape[:lead], -1)) for g, (_, shape) in zip(given, shapes)]
        flat = parts[0] if len(parts) == 1 else np.concatenate(parts, lead)
        if axes is not None:
            return placed(n, own, [of_examples(flat, *pair) for pair in zip(saved, axes)])
        products = [
            np.dot(flat, rows) if len(shape_of(rows)) < 3 else np.tensordot(flat, rows, 1)
            for rows in saved
        ]
        return placed(n, own, products)

    def vmap(self, size: int, leaves: list, dims: list) -> tuple[list, Any, list]:
        call = vmap(lambda *given: self.call(*given), in_dims=tuple(dims))
        outs = self.step(call, leaves, (self.call, dims))
        return outs, None, [0] * len(outs)

    # ---- inside the call ----

    @staticmethod
    def errors(call: Callable, n: int, most: float) -> "Parts":
        """Return the errors of all derivatives around: see `Parts`."""
        return Parts(call, n, most)

    @staticmethod
    def has_examples() -> bool:
        """Return whether there is a batch around whose examples do not belong together."""
        levels = levels_of(AMBIENT.get())
        return any([level.batches and level.axis_name != COLUMNS for level in levels])


def of_examples(flat: Any, rows: Any, axis: int | None) -> Any:
    """Return the products of the examples' cotangents with rows; their sum without an axis."""
    if axis is None:
        return np.tensordot(flat, rows, 2)
    each = (*shape_of(flat), *[1] * (len(shape_of(rows)) - 2))
    return np.sum(np.reshape(flat, each) * rows, 1)


# ---- the errors of derivatives in a loop ----


class Parts(Rules):
    """All derivatives of an error beside the error, as one array.

    A batch of directions that belong together is one array, too; other examples have one each.
    ``call(x, atol, rtol, *states)`` returns the error of `x`, an array of `n` numbers. More than
    `most` directions that belong together raise `NotImplementedError`, as does reverse mode.
    """

    name, by_user, has_jvp, has_vmap = "a loop of SciPy's", False, True, True

    def __init__(self, call: Callable, n: int, most: float):
        self.call = call
        self.together: dict[type, bool] = {}  # by the class around a batch
        levels, directions = levels_of(AMBIENT.get()), []
        for level, around in itertools.pairwise(levels):
            if level.batches:
                self.together[level.cls.__base__] = level.axis_name == COLUMNS
            elif level.differentiates == "forward":
                joint = around.batches and around.axis_name == COLUMNS
                directions.append(around.size if joint else 1)
            else:
                raise NotImplementedError  # reverse mode of a loop sees no derivatives
        if any(self.together.values()) and n * sum(directions) >= most:
            raise NotImplementedError  # reverse mode takes the adjoint
        self.count: int = n * math.prod([1 + m for m in directions])

    def of(self, *leaves: Any) -> Any:
        """Return the array of all numbers, as a constant of derivatives."""
        (found,), _ = apply(self, [*leaves])
        return found

    def run(self, leaves: list) -> tuple[list, Any]:
        return [self.call(*leaves)], None

    def jvp(self, leaves: list, tangents: list) -> tuple[list, Any, list]:
        x, *others = tangents
        found = self.of(*leaves)
        if x is not None:
            others = [np.zeros(shape_of(y)) if t is None else t for y, t in zip(leaves[1:], others)]
            found = np.concatenate([found, self.of(x, *leaves[1:3], *others[2:])], -1)
        return [found], None, [None]

    def vmap(self, size: int, leaves: list, dims: list) -> tuple[list, Any, list]:
        each = copy(self)
        each.call = vmap(self.call, in_dims=tuple(dims))
        found = each.of(*leaves)
        if not self.together[AMBIENT.get()]:
            return [found], None, [0]
        shape = shape_of(found)
        return [np.reshape(np.moveaxis(found, 0, -2), (*shape[1:-1], -1))], None, [None]
