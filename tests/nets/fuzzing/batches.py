"""`vmap`, and `vmap` of `vmap`, held to loops over the examples."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import functier as ft

from .draw import Program
from .references import Inconclusive, check_forms, form
from .setting import NumpyRefuses, Setting, Trial, hold


def loop_of(f: Callable, n: int, many: Sequence, dims: Sequence) -> list:
    """The results of a loop over examples, stacked; an example has its own dtype."""
    rows = []
    for j in range(n):
        xs = [x if d is None else np.take(x, j, d) if x.ndim == 1 else np.moveaxis(x, d, 0)[j]
              for x, d in zip(many, dims)]  # fmt: skip
        rows.append([np.asarray(y) for y in f(*xs)])
    for column in zip(*rows):
        if len({y.shape for y in column}) > 1:
            raise NumpyRefuses("the examples' results have differing shapes")
        if len({y.dtype for y in column}) > 1:
            raise Inconclusive
    if len({len(row) for row in rows}) > 1:
        raise NumpyRefuses("the examples have differing numbers of results")
    return [np.stack(column) for column in zip(*rows)]


INTERNAL = (AttributeError, UnboundLocalError, KeyError, AssertionError, RecursionError, NameError)
"""Errors that say nothing to a user, unless NumPy raises them."""


def raising(call: Callable, cause: BaseException) -> tuple[Callable, Callable]:
    """The run and the check of a trial that is right where `call` raises, as NumPy does."""

    def run() -> Any:
        try:
            result = call()
        except Exception as error:
            if isinstance(error, INTERNAL) and not isinstance(error, type(cause)):
                return f"raised {type(error).__name__}: {error}"
            return None
        return f"returned {result!r}"

    def check(result: Any) -> None:
        assert result is None, f"NumPy raises {type(cause).__name__}: {cause}; functier {result}"

    return run, check


def refused_too(
    s: Setting, reference: Callable, call: Callable, line: str, inputs: Sequence
) -> list:
    """The reference's result; where NumPy refuses, what has to refuse too goes with the error."""
    try:
        return reference()
    except NumpyRefuses as refusal:
        run, check = raising(call, refusal.__cause__ or refusal)
        refusal.trial = s.trial(line, dict(zip(s.names, inputs)), run, check)
        raise


BY_VALUE = {
    "np.emath.sqrt", "np.emath.log", "np.emath.log2", "np.emath.log10", "np.emath.power",
    "np.emath.logn", "np.emath.arccos", "np.emath.arcsin", "np.emath.arctanh", "np.roots",
    "np.real_if_close", "np.linalg.eig",
    "np.linalg.lstsq", "np.linalg.eigvals", "np.poly", "np.polydiv", "np.polymul",
}  # fmt: skip
"""Their results are real or complex, or of a length, by the values."""


def by_value(program: Program) -> bool:
    """Tell if a batch may go another way than its examples, to which it is stacked."""
    return len(program.steps) > 1 and bool(BY_VALUE & set(program.names))


def numpy_loop(f: Callable, n: int, many: Sequence, dims: Sequence) -> list:
    """`loop_of` where all that can raise is NumPy."""
    try:
        return loop_of(f, n, many, dims)
    except (NumpyRefuses, Inconclusive):
        raise
    except AttributeError:  # a method that the scalar of an example does not have
        raise Inconclusive from None
    except Exception as error:
        raise NumpyRefuses from error


def vmap(s: Setting) -> Trial:
    where, n = s.batched(), s.length()
    if by_value(s.program):
        raise Inconclusive
    inputs, dims = list(s.point), [None] * len(s.point)  # type: ignore[var-annotated]
    for i in where:
        many, dims[i] = s.place(s.batch(i, n))  # type: ignore[call-overload]
        inputs[i] = s.layout(many, s.operands[i])
    outs = [
        0 if s.rng.random() < 0.6 else int(s.rng.integers(-y.ndim - 1, y.ndim + 1))
        for y in s.values
    ]

    def reference(points: Sequence) -> list:
        loop = numpy_loop(s.f, n, points, dims)
        return [np.moveaxis(y, 0, out) for y, out in zip(loop, outs)]

    def call() -> Any:
        return ft.vmap(s.f, tuple(dims), tuple(outs))(*inputs)

    line = f"ft.vmap(f, {tuple(dims)}, {tuple(outs)})({', '.join(s.names)})"
    if n:
        expected = refused_too(s, lambda: reference(inputs), call, line, inputs)
        if len(expected) != len(outs):
            raise Inconclusive
    elif BY_VALUE & set(s.program.names):
        raise Inconclusive  # no example says what the dtype is
    else:
        expected = [
            np.moveaxis(np.zeros((0, *y.shape), y.dtype), 0, o) for y, o in zip(s.values, outs)
        ]

    def check(actual: Any) -> None:
        check_forms(actual, [form(e) for e in expected])
        hold(s, actual, expected, reference, inputs)

    return s.trial(line, dict(zip(s.names, inputs)), call, check)


def vmap_vmap(s: Setting) -> Trial:
    """Two batch levels, each operand varying along either, both or neither."""
    where = s.batched()
    n, m = s.length(False), s.length(False)
    if by_value(s.program):
        raise Inconclusive
    inputs = list(s.point)
    outer: list = [None] * len(inputs)
    within: list = [None] * len(inputs)
    for i in where:
        kind = s.rng.random()
        if kind < 0.5:
            many = s.batch(i, n * m).reshape(n, m, *s.point[i].shape)
            many, within[i] = _placed_inner(s, many)
        elif kind < 0.75:
            many = s.batch(i, n)
        else:
            many = s.batch(i, m)
            inputs[i], within[i] = s.place(many)
            continue
        inputs[i], outer[i] = s.place(many)
    if all(d is None for d in outer) or all(d is None for d in within):
        raise Inconclusive

    def reference(points: Sequence) -> list:
        def row(*xs: Any) -> list:
            return numpy_loop(s.f, m, xs, within)

        return numpy_loop(row, n, points, outer)

    def call() -> Any:
        return ft.vmap(ft.vmap(s.f, tuple(within)), tuple(outer))(*inputs)

    line = f"ft.vmap(ft.vmap(f, {tuple(within)}), {tuple(outer)})({', '.join(s.names)})"
    expected = refused_too(s, lambda: reference(inputs), call, line, inputs)

    def check(actual: Any) -> None:
        check_forms(actual, [form(e) for e in expected])
        hold(s, actual, expected, reference, inputs)

    return s.trial(line, dict(zip(s.names, inputs)), call, check)


def _placed_inner(s: Setting, many: np.ndarray) -> tuple[np.ndarray, int]:
    """Two batch axes; the second is put somewhere among the others."""
    nd = many.ndim - 1
    axis = 0 if s.rng.random() < 0.5 else int(s.rng.integers(0, nd))
    return np.moveaxis(many, 1, axis + 1), axis
