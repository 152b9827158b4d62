"""The rules of custom_vjp and its like, which take pytrees, as rules of leaves.

The results of the rules are checked here, and cast to the dtypes of the values they belong to.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.numpy_facts import PyTree, Shape, Structure, Value, dtype_of, shape_of
from .._core.pytree import (
    describe,
    flatten,
    is_value,
    leaves_or_none,
    paths,
    prefix_leaves,
    unflatten,
)
from .._levels.cotangents import add, cast_from_rule, is_inexact, zeros
from .rules import Rules, placed

Form = tuple[Shape, np.dtype] | None
"""The shape and dtype of a leaf that has a derivative."""


def call_rule(name: str, rule: str, expected: str, func: Callable, *args: Any) -> Any:
    """Return ``func(*args)``; if the number of arguments is wrong, the error names the rule."""
    try:
        return func(*args)
    except TypeError as error:
        try:
            inspect.signature(func).bind(*args)
        except TypeError as cause:
            raise TypeError(
                f"{name}: {rule} is called with {len(args)} arguments, but does not accept them "
                f"({cause}); write {expected}"
            ) from error
        except ValueError:  # of some functions written in C
            pass
        raise


def form_of(x: Value) -> Form:
    """Return the shape and dtype of a leaf that has a derivative, else None."""
    return (shape_of(x), dtype_of(x)) if is_value(x) and is_inexact(x) else None


class PytreeCall(Rules):
    """The rules of `custom` for the leaves of arguments; a form is the structure of a result.

    `parts` has the leaves and the structure of each argument. The object keeps only the
    structures, since a tape refers to it.

    `custom` has the function, ``fun``, and its rules ``_fwd``, ``_bwd``, ``_jvp``,
    ``_partials`` and ``_batch`` or None, as `functier.custom_vjp` describes them; and
    ``nondiff``, the positions of the arguments that are not differentiated.
    """

    wanted = 2  # what stays unchecked after this call: see `Custom`

    def __init__(self, custom: Any, parts: list[tuple[list, Structure]]):
        self.custom, self.name = custom, custom.__name__
        self.has_vjp = custom._fwd is not None
        self.has_jvp = custom._jvp is not None or custom._partials is not None
        self.has_vmap = custom._batch is not None
        self.structures = [(structure, len(part)) for part, structure in parts]
        self.diff = [n for n in range(len(parts)) if n not in custom.nondiff]
        if custom.nondiff:
            place = [n for n, (part, _) in enumerate(parts) for _ in part]
            self.fixed = [i for i, n in enumerate(place) if n in custom.nondiff]

    def note(self, own: list[int], forward: bool) -> None:
        self.wanted = int(forward or self.has_vjp)

    def args(self, leaves: list, wanted: Sequence[int] | None = None) -> list:
        """Return the arguments that consist of `leaves`, or those at the positions `wanted`."""
        found, start = [], 0
        for i, (structure, n) in enumerate(self.structures):
            if wanted is None or i in wanted:
                found.append(unflatten(structure, leaves[start : start + n]))
            start += n
        return found

    def run(self, leaves: list) -> tuple[list, Structure]:
        return flatten(self.custom.fun(*self.args(leaves)))

    def fwd(self, leaves: list) -> tuple[list, Structure, list, tuple]:
        assert self.custom._fwd is not None
        args = self.args(leaves)
        result = call_rule(self.name, "fwd", "fwd(*args)", self.custom._fwd, *args)
        out, residuals = self.pair(result, "fwd", "(out, residuals)")
        outs, form = flatten(out)
        saved, structure = flatten(residuals)
        forms = list(map(form_of, leaves)), list(map(_cotangent_form, outs))
        info = structure, len(saved), form, forms
        return outs, form, saved + [leaves[i] for i in self.fixed], info

    def bwd(self, saved: list, info: Any, cotangents: list) -> list:
        assert self.custom._bwd is not None
        structure, n, form, (in_forms, out_forms) = info
        given = [
            np.zeros(*f)[()] if g is None and f is not None else g
            for g, f in zip(cotangents, out_forms)
        ]
        nondiff = self.args(placed(len(in_forms), self.fixed, saved[n:]), self.custom.nondiff)
        residuals = unflatten(structure, saved[:n])
        result = call_rule(
            self.name, "bwd", f"bwd({'nondiff, ' * len(nondiff)}residuals, cotangent)",
            self.custom._bwd, *nondiff, residuals, unflatten(form, given),
        )  # fmt: skip
        return self.cotangents(result, in_forms)

    def cotangents(self, result: Any, forms: list) -> list:
        """Return the cotangent of every leaf from the result of a backward rule, checked."""
        if not isinstance(result, (tuple, list)) or len(result) != len(self.diff):
            got = f"{len(result)} of them" if isinstance(result, (tuple, list)) else (
                describe(result)
            )  # fmt: skip
            raise TypeError(
                f"{self.name}: bwd returned {got}, but a tuple with the cotangent of each of the "
                f"{len(self.diff)} differentiated arguments was expected, None for zero; for one "
                f"argument write return (x_bar,)"
            )
        found: list = []
        for n, (structure, count) in enumerate(self.structures):
            if n not in self.diff:
                found += [None] * count
                continue
            own = forms[len(found) : len(found) + count]
            like = functools.partial(_like, structure, own)
            given = result[self.diff.index(n)]
            leaves = leaves_or_none(given, structure, count, like)
            if leaves is None:
                raise TypeError(
                    f"{self.name}: the cotangent of args[{n}] that bwd returned is "
                    f"{describe(given)}, but {describe(like())} was expected, the structure of "
                    f"the argument, or None for zero"
                )
            found += self.cast_all(
                leaves, own, lambda i: f"cotangent of {paths(like(), f'args[{n}]')[i]} that bwd"
            )
        return found

    def cast_all(self, given: list, forms: list, what: Callable[[int], str]) -> list:
        """Return (co)tangents as `cast` does, and None for leaves without a derivative."""
        return [
            None if g is None or form is None else self.cast(g, form, functools.partial(what, i))
            for i, (g, form) in enumerate(zip(given, forms))
        ]

    def cast(self, g: Any, form: tuple[Shape, np.dtype], what: Callable[[], str]) -> Value:
        """Return a (co)tangent with the dtype of its value, and check its shape.

        ``what()`` names it and its rule: ``cotangent of args[0] that bwd``.
        """
        shape, dtype = form
        if not is_value(g) or shape_of(g) != shape:
            got = f"shape {shape_of(g)}" if is_value(g) else f"type {type(g).__name__}"
            raise ValueError(
                f"{self.name}: the {what()} returned has {got}, but an array of shape {shape} was "
                f"expected, or None for zero"
            )
        return cast_from_rule(self.name, lambda: f"the {what()} returned", g, dtype)

    def jvp(self, leaves: list, tangents: list) -> tuple[list, Structure, list]:
        custom = self.custom
        if custom._partials is not None:
            return self.sum_of_partials(custom._partials, leaves, tangents)
        assert custom._jvp is not None
        nondiff, primals = self.args(leaves, custom.nondiff), self.args(leaves, self.diff)
        primal_tangents = self.args(_fill(tangents, leaves), self.diff)
        result = call_rule(
            self.name, "the jvp rule", f"rule({'nondiff, ' * len(nondiff)}primals, tangents)",
            custom._jvp, *nondiff, tuple(primals), tuple(primal_tangents),
        )  # fmt: skip
        out, tangent_out = self.pair(result, "the jvp rule", "(out, tangent_out)")
        outs, form = flatten(out)
        return outs, form, self.tangents(tangent_out, out, outs, form)

    def sum_of_partials(
        self, partials: tuple, leaves: list, tangents: list
    ) -> tuple[list, Structure, list]:
        args = self.args(leaves)
        if len(partials) != len(args):
            raise TypeError(
                f"{self.name}: defjvps was given {len(partials)} rules, but the function was "
                f"called with {len(args)} arguments; pass a rule or None for each"
            )
        out = self.custom(*args)
        outs, form = flatten(out)
        total: list = [None] * len(outs)
        start = 0
        for rule, (structure, n) in zip(partials, self.structures):
            own, values = tangents[start : start + n], leaves[start : start + n]
            start += n
            if rule is None or all(t is None for t in own):
                continue
            tangent = unflatten(structure, _fill(own, values))
            expected = "rule(tangent, out, *primals)"
            tangent_out = call_rule(
                self.name, "a rule of defjvps", expected, rule, tangent, out, *args
            )
            total = list(map(add, total, self.tangents(tangent_out, out, outs, form)))
        return outs, form, total

    def tangents(self, tangent: PyTree, out: PyTree, outs: list, form: Structure) -> list:
        """Return the tangent of every leaf of `out` from the result of a jvp rule, checked."""
        leaves = leaves_or_none(tangent, form, len(outs), lambda: out)
        if leaves is None:
            raise TypeError(
                f"{self.name}: the tangent that the jvp rule returned is {describe(tangent)}, but "
                f"{describe(out)} was expected, the structure of the result"
            )
        name = lambda i: f"tangent of {paths(out, 'the result')[i]} that the jvp rule"  # noqa: E731
        return self.cast_all(leaves, list(map(form_of, outs)), name)

    def vmap(self, size: int, leaves: list, dims: list) -> tuple[list, Structure, list]:
        assert self.custom._batch is not None
        batched = tuple(self.args([dim == 0 for dim in dims]))
        result = call_rule(
            self.name, "the vmap rule", "rule(axis_size, in_batched, *args)", self.custom._batch,
            size, batched, *self.args(leaves),
        )  # fmt: skip
        out, out_batched = self.pair(result, "the vmap rule", "(out, out_batched)")
        outs, form = flatten(out)
        flags = prefix_leaves(out_batched, out, self.name, "out_batched", entry="bool")
        for i, (x, flag) in enumerate(zip(outs, flags)):
            if not isinstance(flag, (bool, np.bool)):
                raise TypeError(
                    f"{self.name}: out_batched of the vmap rule has {flag!r} for "
                    f"{paths(out, 'the result')[i]}; write True or False"
                )
            if flag and (not is_value(x) or shape_of(x)[:1] != (size,)):
                got = describe(x) if is_value(x) else f"a {type(x).__name__}"
                raise ValueError(
                    f"{self.name}: {paths(out, 'the result')[i]} of the vmap rule is {got}, but by "
                    f"out_batched its axis 0 is the batch axis, of size {size}; return False "
                    f"where the result is not batched"
                )
        return outs, form, [0 if flag else None for flag in flags]

    def pair(self, result: Any, rule: str, expected: str) -> Any:
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"{self.name}: {rule} returned {describe(result)}, but a tuple {expected} was "
                f"expected"
            )
        return result


def _fill(tangents: list, values: list) -> list:
    return [zeros(x) if t is None and is_value(x) else t for t, x in zip(tangents, values)]


def _cotangent_form(x: Value) -> Form:
    return (shape_of(x), dtype_of(x)) if is_value(x) else None


def _like(structure: Structure, forms: list[Form]) -> PyTree:
    """Return a tree of arrays of some forms, for messages; the arrays take no memory."""
    return unflatten(
        structure, [0 if f is None else np.broadcast_to(f[1].type(0), f[0]) for f in forms]
    )
