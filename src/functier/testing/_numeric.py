"""Functions of pytrees as functions of real vectors, their differences, and tolerances.

NOTE [steps and tolerances]
    The step is the cube root of the precision (machine epsilon) of the coarsest dtype among
    inputs and results: 6e-6 in double, 5e-3 in single, 0.1 in half; times the square root of
    an input that is larger than 1. The error of a central difference is about the square of
    the step, in rounding and in truncation, where the function and its third derivative are
    of the order of 1. The tolerances are the step itself. Values that differ are compared
    again with differences of a higher order.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .._core.errors import GradcheckError
from .._core.numpy_facts import PyTree, Value, dtype_of, shape_of
from .._core.pytree import flatten, is_value, name_of_function, paths, unflatten
from .._custom.differences import (
    central,
    copy_value,
    extrapolated,
    real_vector,
    real_view,
    step_along,
)


def is_inexact(x: Value) -> bool:
    return is_value(x) and dtype_of(x).kind in "fc"


class Problem:
    """A function at a point, as a function of the leaves that can be differentiated by.

    Other leaves (integers, strings) stay as they are, and only results of a floating-point or
    complex dtype count.
    """

    grows = True  # True for a step that is larger where an input is

    def __init__(self, label: str, func: Callable, args: PyTree, root: str):
        self.label, self.func = f"{label}({name_of_function(func)})", func
        self.given, self.structure = flatten(args)
        self.chosen = [i for i, x in enumerate(self.given) if is_inexact(x)]
        where = paths(args, root)
        self.inputs = [where[i] for i in self.chosen]
        self.point = [copy_value(self.given[i]) for i in self.chosen]
        if not self.point:
            raise ValueError(
                f"{self.label}: none of the {root} is of a floating-point or complex dtype, so "
                f"there is nothing to differentiate by; pass x.astype(float)"
            )
        before = [copy_value(x) for x in self.point]
        out = self.run(before)
        self.check_unchanged(before, self.point)
        leaves, where = flatten(out)[0], paths(out, "the result")
        self.outputs = [p for p, y in zip(where, leaves) if is_inexact(y)]
        if not self.outputs:
            raise ValueError(
                f"{self.label}: the function returned nothing of a floating-point or complex "
                f"dtype, so there is nothing to differentiate"
            )
        self.value = [copy_value(y) for y in leaves if is_inexact(y)]
        dtypes = [dtype_of(x) for x in (*self.point, *self.value)]
        self.step = max(float(np.finfo(d).eps) for d in dtypes) ** (1 / 3)

    def run(self, leaves: Sequence) -> PyTree:
        """Return the result for other values of the chosen leaves, which it must not change."""
        given = list(self.given)
        for i, x in zip(self.chosen, leaves):
            given[i] = x
        return self.func(*unflatten(self.structure, given))

    def __call__(self, *leaves: Value) -> list:
        """Return the floating-point results, a list of leaves."""
        return [y for y in flatten(self.run(leaves))[0] if is_inexact(y)]

    def at(self, leaves: Sequence) -> np.ndarray:
        """Return the results for plain values as one real vector."""
        before = [copy_value(x) for x in leaves]
        values = self(*leaves)
        self.check_unchanged(leaves, before)
        forms = [(shape_of(y), dtype_of(y)) for y in values]
        if forms != [(shape_of(y), dtype_of(y)) for y in self.value]:
            raise GradcheckError(
                f"{self.label}: the results have the shapes and dtypes {forms} near the point, but "
                f"{[(shape_of(y), dtype_of(y)) for y in self.value]} at it"
            )
        return real_vector(values)

    def check_unchanged(self, leaves: Sequence, before: Sequence) -> None:
        for x, b, path in zip(leaves, before, self.inputs):
            if not np.array_equal(x, b, equal_nan=True):
                raise GradcheckError(
                    f"{self.label}: the function changes {path} in place; let it work on a copy"
                )

    def scale(self, x: Value) -> float:
        """Return the factor of the step for `x`: large numbers have fewer decimals."""
        return max(1.0, float(np.max(np.abs(x)))) ** 0.5 if self.grows and np.size(x) else 1.0

    def difference(self, tangents: Sequence, h: float) -> np.ndarray:
        """Return the central difference along `tangents`, in the precision of the inputs."""
        h *= max([1.0, *(self.scale(x) for x, t in zip(self.point, tangents) if np.any(t))])
        ends = []
        for sign in (1, -1):
            moved = [step_along(x, t, sign * h) for x, t in zip(self.point, tangents)]
            ends.append(self.at(moved))
        return central(ends, 2 * h)

    def jacobian(self, h: float) -> np.ndarray:
        """Return the numerical Jacobian, a real matrix."""
        columns = []
        for i, x in enumerate(self.point):
            for k in range(real_vector([x]).size):
                columns.append(self.column(i, k, h))
        return np.stack(columns, 1) if columns else np.zeros((real_vector(self.value).size, 0))

    def column(self, i: int, k: int, h: float) -> np.ndarray:
        """Return the central difference along coordinate `k` of leaf `i`.

        It is divided by the step after rounding, which differs from `h` where x is large.
        """
        x = self.point[i]
        h, ends, where = h * self.scale(real_view(x)[k]), [], []
        for sign in (1, -1):
            moved = np.array(x, order="C")
            view = real_view(moved)
            view[k] += sign * h
            where.append(view[k])
            ends.append(self.at([*self.point[:i], moved[()], *self.point[i + 1 :]]))
        return central(ends, where[0] - where[1])

    # ---- the coordinates ----

    def rows(self) -> list[tuple[str, str]]:
        """Return the path and the element of each coordinate of the results."""
        return coordinates(self.outputs, self.value)

    def columns(self) -> list[tuple[str, str]]:
        return coordinates(self.inputs, self.point)


class Differences:
    """Finite differences of one step, and finer ones for values that differ from these.

    The finer ones are extrapolated from the step, its half and its quarter (Romberg), so
    that their error is of the sixth order: near a pole the second order is not enough.
    """

    def __init__(self, problem: Problem, make: Callable[[float], np.ndarray], eps: float | None):
        self.make, self.given, self.step = make, eps is not None, eps or problem.step
        problem.grows = eps is None
        self.coarse = make(self.step)
        self.fine: np.ndarray | None = None

    def against(self, compare: Callable[[np.ndarray], None]) -> None:
        """Compare with the coarse differences, and if that raises with the finer ones."""
        if self.fine is None:
            try:
                return compare(self.coarse)
            except GradcheckError:
                if self.given:
                    raise
            row = [self.coarse]
            for n in (2, 4):
                row = extrapolated(row, self.make(self.step / n), 2, 2)
            self.fine = row[-1]
        return compare(self.fine)


def coordinates(names: list[str], values: list) -> list[tuple[str, str]]:
    found = []
    for name, v in zip(names, values):
        complex_ = dtype_of(v).kind == "c"
        for index in np.ndindex(shape_of(v)):
            element = f"element {index}" if index else "its value"
            parts = [f"the real part of {element}", f"the imaginary part of {element}"]
            found += [(name, part) for part in (parts if complex_ else [element])]
    return found


def random_like(values: Sequence, seed: int, gaps: bool = False) -> list:
    """Draw (co)tangents in the form of the values; with `gaps` they are not contiguous."""
    rng, found = np.random.default_rng(seed), []
    for v in values:
        shape = shape_of(v)
        wide = (*shape[:-1], 2 * shape[-1]) if gaps and shape else shape
        x = rng.normal(size=wide)
        if dtype_of(v).kind == "c":
            x = x + 1j * rng.normal(size=wide)
        x = np.asarray(x).astype(dtype_of(v))
        found.append(x[..., ::2] if gaps and shape else x[()])
    return found


# ---- comparisons, and their messages ----


class Comparison(NamedTuple):
    """The labels and tolerances with which two matrices are compared.

    Attributes
    ----------
    label, mode : str
        The check with its function, and the derivative that is checked.
    rows, columns : list of (str, str)
        The path and the coordinate that each row (column) of the matrices stands for.
    atol, rtol : float
        The tolerances: ``atol + rtol * abs(numerical)``.
    names : (str, str)
        The names of the two matrices in messages.
    """

    label: str
    mode: str
    rows: list[tuple[str, str]]
    columns: list[tuple[str, str]]
    atol: float
    rtol: float
    names: tuple[str, str] = ("numerical", "analytical")


def compare(numerical: np.ndarray, analytical: np.ndarray, how: Comparison) -> None:
    """Raise where two matrices differ, with both blocks around the worst place."""
    label, mode, rows, columns, atol, rtol, names = how
    if np.isnan(numerical).any():
        i, j = map(int, np.argwhere(np.isnan(numerical))[0])
        raise GradcheckError(
            f"{label}: the {names[0]} derivative of {rows[i][0]} by {columns[j][0]} is NaN, in "
            f"{rows[i][1]} by {columns[j][1]}; check at a point around which the function is finite"
        )
    with np.errstate(invalid="ignore"):
        off = np.abs(analytical - numerical)
    off[analytical == numerical] = 0  # infinities
    excess = off - atol - rtol * np.abs(numerical)
    excess = np.where(np.isnan(excess), np.inf, excess)
    if not excess.size or not (excess > 0).any():
        return
    i, j = map(int, np.unravel_index(np.argmax(excess), excess.shape))
    (out, element), (given, direction) = rows[i], columns[j]
    in_rows = [r for r, (path, _) in enumerate(rows) if path == out]
    in_columns = [c for c, (path, _) in enumerate(columns) if path == given]
    blocks = [m[np.ix_(in_rows, in_columns)] for m in (numerical, analytical)]
    wrong = int((excess[np.ix_(in_rows, in_columns)] > 0).sum())
    a, b = float(numerical[i, j]), float(analytical[i, j])
    raise GradcheckError(
        f"{label}: {mode} is wrong: the derivative of {out} by {given}\n"
        f"  differs in {wrong} of {blocks[0].size} elements, most in {element} of {out} "
        f"by {direction} of {given}:\n"
        f"  {names[0]} {a!r}, {names[1]} {b!r}, difference {float(off[i, j])!r} "
        f"(atol={atol:.3g}, rtol={rtol:.3g})\n"
        f"  {names[0]}:\n{_format_block(blocks[0])}\n  {names[1]}:\n{_format_block(blocks[1])}"
    )


def _format_block(block: np.ndarray) -> str:
    with np.printoptions(threshold=64, edgeitems=3, linewidth=96):
        return "    " + str(block).replace("\n", "\n    ")


def check_forms(label: str, mode: str, names: list[str], found: Sequence, wanted: Sequence) -> None:
    """Raise where shapes or dtypes are not the expected ones."""
    if len(found) != len(wanted):
        raise GradcheckError(f"{label}: {mode} gave {len(found)} values, expected {len(wanted)}")
    for name, x, y in zip(names, found, wanted):
        if (shape_of(x), dtype_of(x)) != (shape_of(y), dtype_of(y)):
            raise GradcheckError(
                f"{label}: {mode} gave {dtype_of(x)} of shape {shape_of(x)} for {name}, which is "
                f"{dtype_of(y)} of shape {shape_of(y)}"
            )
