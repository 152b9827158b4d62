"""Jacobians and Hessians, from the public transforms only."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ._grad import vjp
from ._jvp import jvp
from ._pytree import flatten, unflatten
from ._vmap import vmap


def _split(args: tuple, argnums: int | tuple[int, ...]) -> tuple[Any, Callable]:
    """The differentiated arguments, and a function that puts others in their place."""
    nums = argnums if isinstance(argnums, tuple) else (argnums,)
    chosen = tuple(args[n] for n in nums) if isinstance(argnums, tuple) else args[argnums]

    def fill(values: Any) -> list:
        full = list(args)
        for n, value in zip(nums, values if isinstance(argnums, tuple) else (values,)):
            full[n] = value
        return full

    return chosen, fill


def _basis(leaves: list) -> list:
    """For each leaf, unit vectors of all leaves together: shape (total, *leaf.shape)."""
    sizes = [int(np.size(x)) for x in leaves]
    total, start, parts = sum(sizes), 0, []
    for x, n in zip(leaves, sizes):
        eye = np.eye(total, n, k=-start, dtype=np.result_type(x))
        parts.append(eye.reshape(total, *np.shape(x)))
        start += n
    return parts


def _pieces(rows: Any, leaves: list, front: bool) -> list:
    """Split the axis of all unit vectors into one block of axes for each leaf."""
    pieces, start = [], 0
    for x in leaves:
        n, shape = int(np.size(x)), np.shape(x)
        if front:
            block = np.reshape(rows[start : start + n], shape + np.shape(rows)[1:])
        else:
            block = np.reshape(rows[..., start : start + n], np.shape(rows)[:-1] + shape)
        pieces.append(block)
        start += n
    return pieces


def _nested(outer: Any, inner: Any, table: list[list]) -> Any:
    """A pytree of the outer structure, of pytrees of the inner one."""
    return unflatten(outer, [unflatten(inner, row) for row in table])


def jacrev(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """The Jacobian of `func` by reverse mode: one vjp for each output element.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees that returns such.
    argnums : int or tuple of int
        Which positional arguments to differentiate by.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.

    Returns
    -------
    callable
        Returns, for an output of shape ``s`` and an argument of shape ``r``, an array of
        shape ``s + r``; for pytrees, the output's tree with the argument's tree in each
        leaf's place. With `has_aux`, ``(jacobian, aux)``.

    Raises
    ------
    TypeError, ValueError
        As `vjp`.

    Examples
    --------
    >>> import numpy as np
    >>> jacrev(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, fill = _split(args, argnums)
        value, pullback, *aux = vjp(
            functools.wraps(func)(lambda x: func(*fill(x), **kwargs)), chosen, has_aux=has_aux
        )
        outputs, out_structure = flatten(value)
        structure = flatten(chosen)[1]
        rows = vmap(lambda *g: tuple(flatten(pullback(unflatten(out_structure, list(g)))[0])[0]))(
            *_basis(outputs)
        )
        columns = [_pieces(r, outputs, front=True) for r in rows]
        table = [[column[i] for column in columns] for i in range(len(outputs))]
        result = _nested(out_structure, structure, table)
        return (result, *aux) if has_aux else result

    return jacobian


def jacfwd(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """The Jacobian of `func` by forward mode: one jvp for each input element.

    See `jacrev` for the parameters, the result and the errors.

    Examples
    --------
    >>> import numpy as np
    >>> jacfwd(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, fill = _split(args, argnums)
        leaves, structure = flatten(chosen)
        seen: list = []

        def push(*tangents: Any) -> tuple:
            _, moved, *aux = jvp(
                functools.wraps(func)(lambda x: func(*fill(x), **kwargs)),
                (chosen,),
                (unflatten(structure, list(tangents)),),
                has_aux=has_aux,
            )
            results, out_structure = flatten(moved)
            seen[:] = [out_structure, *aux]
            return tuple(results)

        columns = vmap(push, out_dims=-1)(*_basis(leaves))
        table = [_pieces(c, leaves, front=False) for c in columns]
        result = _nested(seen[0], structure, table)
        return (result, seen[1]) if has_aux else result

    return jacobian


def hessian(func: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """The Hessian of `func`: forward over reverse mode.

    See `jacrev` for the parameters and the errors; the result has the argument's axes
    (or tree) twice.

    Examples
    --------
    >>> import numpy as np
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
