"""Jacobians and Hessians: forward or reverse mode on a batch of unit vectors."""

import functools
import sys
from collections.abc import Callable
from math import prod
from types import FrameType
from typing import Any, ParamSpec

import numpy as np

from ._batch import BatchLevel
from ._diff import (
    REAL_RESULT,
    choose,
    choose_complex,
    choose_real,
    complex_derivatives,
    filled,
    owned,
    refuse,
)  # fmt: skip
from ._grad import outer_tensors, taped
from ._jvp import pushed
from ._level import Escape
from ._numpy import dtype_of, shape_of
from ._pytree import check_callable, name_of_function, paths, unflatten
from ._tape import backward, one

P = ParamSpec("P")

# ---- what both modes share ----


def _split(
    label: str,
    func: Callable,
    args: tuple,
    kwargs: dict,
    argnums: int | tuple[int, ...],
    select: Callable,
) -> tuple[list, Any, list, Callable]:
    """The leaves of the differentiated arguments, their tree, the tensors among all
    arguments, and `func` as a function of the leaves.
    """
    leaves, structure, chosen = select(label, args, argnums, kwargs)
    given = (*args, kwargs) if kwargs else args

    def call(inner: list) -> Any:
        picked, full = unflatten(structure, inner), list(args)
        for n, value in zip(chosen, picked if isinstance(argnums, tuple) else (picked,)):
            full[n] = value
        return func(*full, **kwargs)

    return leaves, structure, outer_tensors(leaves, given, chosen), call


def _basis(values: list) -> tuple[list, int | None]:
    """For each value, unit vectors of all values together, shape (total, *value.shape);
    and how many there are.

    The only one of a single value comes without an axis (None): it needs no batch.
    """
    sizes = [prod(shape_of(x)) for x in values]
    if sizes == [1]:
        shape = shape_of(values[0])
        return [np.ones(shape, dtype_of(values[0])) if shape else one(values[0])], None
    total, start, parts = sum(sizes), 0, []
    for x, n in zip(values, sizes):
        part = np.zeros((total, *shape_of(x)), dtype_of(x))
        part.reshape(-1)[start * n : (start + n) * n : n + 1] = 1
        parts.append(part)
        start += n
    return parts, total


def _blocks(rows: Any, values: list, total: int | None) -> list:
    """Split the axis of all unit vectors into the axes of each value."""
    form, start, blocks = shape_of(rows), 0, []
    if total is None:
        shape = shape_of(values[0])
        return [rows.reshape(shape + form) if shape else rows]
    for x in values:
        shape = shape_of(x)
        stop = start + prod(shape)
        block = rows if len(values) == 1 else rows[start:stop]
        blocks.append(block if len(shape) == 1 else block.reshape(shape + form[1:]))
        start = stop
    return blocks


COMPLEX_RESULT = (
    "reverse mode of its real part is half of the derivative: use jacfwd for a real input, "
    "holomorphic=True for a complex one, or return numpy.stack([numpy.real(y), numpy.imag(y)])"
)


def _result_paths(structure: Any, results: list) -> list[str]:
    return paths(unflatten(structure, results), "the result")


def _nested(outer: Any, inner: Any, table: Any) -> Any:
    """A pytree of the outer structure, of pytrees of the inner one."""
    return unflatten(outer, [unflatten(inner, list(row)) for row in table])


# ---- the transforms ----


def jacrev(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """The Jacobian of `func` by reverse mode: one vjp for each output element.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees that returns such.
    argnums : int or tuple of int
        Which positional arguments to differentiate by.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.
    holomorphic : bool
        Whether the result is the complex derivative: of complex results by complex
        inputs, in which `func` has to be holomorphic (that is not checked).
    escape : {"dead", "passthrough"}
        What a tensor of the levels does once the call is over.

    Returns
    -------
    callable
        Returns, for an output of shape ``s`` and an argument of shape ``r``, an array of
        shape ``s + r``; for pytrees, the output's tree with the argument's tree in each
        leaf's place. With `has_aux`, ``(jacobian, aux)``.

    Raises
    ------
    TypeError, ValueError
        As `vjp`; where a result is complex and `holomorphic` is not given, or the other
        way round.

    Notes
    -----
    Without `holomorphic` a row for a complex input is what `grad` returns, in its
    convention. A mode that would see half of the derivative only refuses: `jacrev` a
    complex result (of which it differentiates the real part), `jacfwd` a complex input (of
    which it moves the real part). torch.func refuses complex numbers in both places.

    Examples
    --------
    >>> import numpy as np
    >>> jacrev(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> jacrev(np.square, holomorphic=True)(np.array([1.0, 2.0j]))
    array([[2.+0.j, 0.+0.j],
           [0.+0.j, 0.+4.j]])
    """
    check_callable("jacrev", func)
    label = f"jacrev({name_of_function(func)})"
    inner_label = f"vjp({name_of_function(func)})"
    select = choose_complex if holomorphic else choose
    wrong = REAL_RESULT if holomorphic else COMPLEX_RESULT

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        leaves, structure, outer, call = _split(label, func, args, kwargs, argnums, select)
        frame = sys._getframe(1)
        results, roots, inputs, out_structure, aux = taped(
            inner_label, escape, frame, outer, call, leaves, has_aux
        )
        refuse(label, results, not holomorphic, wrong, _result_paths, out_structure, results)
        basis, total = _basis(results)
        if total is None:
            pairs = [(node, g) for node, g in zip(roots, basis) if node is not None]
            roots.clear()
            rows = filled(backward(pairs, inputs), leaves)
        else:
            rows = _pulled(label, frame, outer, roots, basis, inputs)
            for i, x in enumerate(leaves):
                if rows[i] is None:
                    rows[i] = np.zeros((total, *shape_of(x)), dtype_of(x))
        if holomorphic:
            rows = complex_derivatives(rows)
        table = zip(*[_blocks(r, results, total) for r in owned(rows)])
        result = _nested(out_structure, structure, table)
        return (result, aux) if has_aux else result

    return jacobian


def _pulled(
    label: str, frame: FrameType, outer: list, roots: list, basis: list, inputs: list
) -> list:
    """The cotangents of `inputs` for all the unit vectors of the outputs at once."""
    level = BatchLevel.enter(label, "dead", frame, outer)
    try:
        cotangents = level.insert(basis, [0] * len(basis), label)
        pairs = [(node, g) for node, g in zip(roots, cotangents) if node is not None]
        roots.clear()  # so that the tape goes while the backward pass goes on
        del cotangents
        grads = backward(pairs, inputs)
        rows = [None if g is None else level.unwrap(g) for g in grads]
        del grads
    finally:
        level.exit()
    level.recycle()
    return rows


def jacfwd(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """The Jacobian of `func` by forward mode: one jvp for each input element.

    See `jacrev` for the parameters, the result and the errors. Without `holomorphic` the
    inputs have to be real; a result may be complex.

    Examples
    --------
    >>> import numpy as np
    >>> jacfwd(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    check_callable("jacfwd", func)
    label = f"jacfwd({name_of_function(func)})"
    inner_label = f"jvp({name_of_function(func)})"
    select = choose_complex if holomorphic else choose_real

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        leaves, structure, outer, call = _split(label, func, args, kwargs, argnums, select)
        frame = sys._getframe(1)
        basis, total = _basis(leaves)
        run = inner_label, escape, frame, outer, call, leaves
        if total is None:
            pairs, out_structure, aux = pushed(*run, basis, has_aux)
            rows = [t for _, t in pairs]
        else:
            level = BatchLevel.enter(label, escape, frame, outer)
            try:
                pairs, out_structure, aux = pushed(
                    *run, level.insert(basis, [0] * len(basis), label), has_aux
                )
                rows = [level.unwrap(t) for _, t in pairs]
                del pairs
            finally:
                level.exit()
            level.recycle()
        if holomorphic:  # a tangent has the dtype of its result
            refuse(label, rows, False, REAL_RESULT, _result_paths, out_structure, rows)
        ndims = [len(shape_of(x)) for x in leaves]
        table = [map(_turned, _blocks(r, leaves, total), ndims) for r in owned(rows)]
        result = _nested(out_structure, structure, table)
        return (result, aux) if has_aux else result

    return jacobian


def _turned(block: Any, n: int) -> Any:
    """`block` with its first `n` axes last."""
    ndim = len(shape_of(block))
    return block.transpose((*range(n, ndim), *range(n))) if 0 < n < ndim else block


def hessian(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    holomorphic: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """The Hessian of `func`: forward over reverse mode.

    See `jacrev` for the parameters and the errors; the result has the argument's axes
    (or tree) twice. Complex inputs need `holomorphic`.

    Examples
    --------
    >>> import numpy as np
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    check_callable("hessian", func)
    options: Any = {"holomorphic": holomorphic, "escape": escape}
    return jacfwd(jacrev(func, argnums, **options), argnums, **options)
