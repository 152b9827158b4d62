"""Taylor series of functions: jet, and taylor for a function of one number."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.numpy_facts import Structure
from ..._core.pytree import (
    check_callable,
    differing,
    flatten,
    name_of_function,
    paths,
    unflatten,
)
from ..._core.tracebacks import checks_keywords, leave
from ..._levels.checks import arrays_of, check_inputs, match
from ..._levels.memory import own_memory, show_plain
from ...protocol import run
from .level import SeriesLevel, zero

CALL = "jet(f, (x,), ([v, w],))"


@checks_keywords
def jet(
    func: Callable, primals: tuple, series: tuple, *, factorial_scaled: bool = True
) -> tuple[Any, Any]:
    """Compute the Taylor series of `func` along a curve, from the series of the curve.

    The curve is ``x(t)``, with `primals` at ``t = 0`` and its derivatives there in `series`. The
    result has the value and the derivatives of ``func(x(t))``. One pass computes all derivatives up
    to order n, and costs about as much as n * n / 2 calls of `func`; nested `jvp` costs 2**n.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
    primals : tuple
        The arguments.
    series : tuple
        The structure of `primals`, with a list for each array: its derivatives with respect to
        ``t``, of orders 1, 2 and so on, each with its shape. All lists have the same length, which
        is the order of the result.
    factorial_scaled : bool
        Whether the series of the input and of the result are derivatives. Otherwise they are the
        coefficients of the powers of ``t``, which are the derivatives divided by factorials.

    Returns
    -------
    tuple
        ``(output, series_out)``: the value, and with the same structure a list of derivatives for
        each array. For an integer array, the list has zeros.

    Raises
    ------
    TypeError
        If `primals` or `series` is not a tuple, or a primal is not a floating-point array.
    ValueError
        If `series` does not have the structure of `primals`, a term does not have the shape of its
        primal, or the lists have different lengths.
    NoRuleError
        If the function uses an operation that has no derivative rule.

    See Also
    --------
    taylor : The coefficients of a function of one number.
    jvp : The first derivative alone.

    Notes
    -----
    The names, their order and the scaling are those of ``jax.experimental.jet``. The derivative of
    every order is the same as from nested `jvp`, at kinks too.

    Examples
    --------
    The first three derivatives of ``sin(x(t))`` for ``x(t) = 1 + 2 t``:

    >>> import numpy as np
    >>> value, (first, second, third) = jet(np.sin, (1.0,), ([2.0, 0.0, 0.0],))
    >>> print(np.isclose([first, second, third], [2 * np.cos(1), -4 * np.sin(1), -8 * np.cos(1)]))
    [ True  True  True]
    """
    check_callable("jet", func)
    label = f"jet({name_of_function(func)})"
    try:
        if not isinstance(primals, (tuple, list)) or not isinstance(series, (tuple, list)):
            raise TypeError(
                f"{label}: primals and series have to be tuples with one entry for each argument; "
                f"write {CALL}"
            )
        primals = tuple(primals)
        leaves, structure = flatten(primals, label, "primals")
        if not leaves:
            raise ValueError(f"{label}: no primals were given; call {CALL}")
        check_inputs(label, leaves, paths, primals, "primals")
        terms = _terms(label, leaves, structure, tuple(series))
        factors = [math.factorial(k) if factorial_scaled else 1 for k in range(1, len(terms) + 1)]
        terms = [[c if f == 1 else c / f for c in row] for row, f in zip(terms, factors)]
        values, found, out = _run(label, func, leaves, structure, terms)
        rows = [[c if f == 1 else c * f for c, f in zip(row, factors)] for row in found]
        return unflatten(out, values), unflatten(out, rows)
    except BaseException as error:
        leave(error, label, func, primals)
        raise


@checks_keywords
def taylor(func: Callable, x: Any, order: int) -> Any:
    """Compute the Taylor coefficients of ``func(x + t)`` in the number ``t``.

    Parameters
    ----------
    func : callable
        A function of an array or a pytree of arrays, which returns an array or a pytree of arrays.
    x : array or pytree of arrays
        The point; the number is added to each element.
    order : int
        The highest power.

    Returns
    -------
    array or pytree of arrays
        For each array of the result, an array with an extra axis in front: element k, from 0 to
        `order`, is the coefficient of ``t**k`` in ``func(x + t)``, in the order of
        `numpy.polynomial`.

    Raises
    ------
    TypeError
        If an array in `x` does not have a floating-point dtype.
    ValueError
        If `order` is negative.
    NoRuleError
        If the function uses an operation that has no derivative rule.

    See Also
    --------
    jet : The series along any curve, scaled as derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> c = taylor(lambda x: 1 / x, 2.0, 4)
    >>> print(c)
    [ 0.5     -0.25     0.125   -0.0625   0.03125]
    >>> print(np.isclose(np.polynomial.Polynomial(c)(0.1), 1 / 2.1, rtol=1e-6))
    True
    """
    check_callable("taylor", func)
    label = f"taylor({name_of_function(func)})"
    try:
        if order < 0:
            raise ValueError(f"{label}: the order is {order}; pass 0 or more")
        leaves, structure = flatten(x, label, "x")
        check_inputs(label, leaves, paths, x, "x")
        terms = [[np.ones_like(x) if k == 1 else None for x in leaves] for k in range(1, order + 1)]
        values, found, out = _run(
            label, lambda *args: func(unflatten(structure, list(args))), leaves, None, terms
        )
        return unflatten(out, [np.stack([v, *row]) for v, row in zip(values, found)])
    except BaseException as error:
        leave(error, label, func, x)
        raise


def _terms(label: str, leaves: list, structure: Structure, series: tuple) -> list[list]:
    """Return the terms of each order, one for each leaf, checked."""
    given, _ = flatten(series, label, "series")
    order, rest = divmod(len(given), len(leaves))
    rows = [given[i * order : (i + 1) * order] for i in range(len(leaves))]
    texts = None
    for kind in (list, tuple):
        texts = differing(series, unflatten(structure, [kind(row) for row in rows]))
        if texts is None:
            break
    if rest or texts is not None:
        raise ValueError(
            f"{label}: series does not have the structure of primals with a list of {order} terms "
            f"for each array{f', but {texts[0]}' if texts else ''}; pass lists of one length, "
            f"{CALL}"
        )
    return [
        match(label, leaves, structure, unflatten(structure, list(column)), "term", "primals")
        for column in zip(*rows)
    ]


def _run(
    label: str, func: Callable, leaves: list, structure: Structure | None, terms: list[list]
) -> tuple[list, list[list], Structure]:
    """Return the values of the result, the coefficients of each, and its structure."""
    order = len(terms)

    def body(level: SeriesLevel) -> tuple:
        level.order = order
        made = [level.tensor(x, [row[i] for row in terms]) for i, x in enumerate(leaves)]
        level.arguments = [made, None, None]
        outputs, out = arrays_of(level, func(*(unflatten(structure, made) if structure else made)))
        rows = [[level.coefficient(y, k) for k in range(order + 1)] for y in outputs]
        return rows, out

    given = [*leaves, *[c for row in terms for c in row if c is not None]]
    rows, out = run(SeriesLevel, label, given, body)
    values = [row[0] for row in rows]
    found = [zero(row[0]) if c is None else c for row in rows for c in row[1:]]
    found = own_memory(found, [*given, *values])
    return show_plain(values), [found[i * order : (i + 1) * order] for i in range(len(rows))], out
