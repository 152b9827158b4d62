"""Jacobians and Hessians, from the public transforms and the checks of arguments."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np

from ._diff import choose
from ._grad import vjp
from ._jvp import jvp
from ._level import Escape
from ._pytree import check_callable, flatten, name_of_function, unflatten
from ._vmap import vmap

P = ParamSpec("P")


def _split(label: str, args: tuple, argnums: int | tuple[int, ...]) -> tuple[Any, Any, Callable]:
    """The leaves of the differentiated arguments, their tree, and a function that puts
    others in their place.
    """
    leaves, structure, nums = choose(label, args, argnums)

    def fill(values: Any) -> list:
        full = list(args)
        for n, value in zip(nums, values if isinstance(argnums, tuple) else (values,)):
            full[n] = value
        return full

    return leaves, structure, fill


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


def jacrev(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
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
        As `vjp`.

    Examples
    --------
    >>> import numpy as np
    >>> jacrev(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    check_callable("jacrev", func)
    label = f"jacrev({name_of_function(func)})"

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        leaves, structure, fill = _split(label, args, argnums)
        value, pullback, *aux = vjp(
            functools.wraps(func)(lambda x: func(*fill(x), **kwargs)),
            unflatten(structure, leaves),
            has_aux=has_aux,
            escape=escape,
        )
        outputs, out_structure = flatten(value)
        rows = vmap(lambda *g: tuple(flatten(pullback(unflatten(out_structure, list(g)))[0])[0]))(
            *_basis(outputs)
        )
        columns = [_pieces(r, outputs, front=True) for r in rows]
        table = [[column[i] for column in columns] for i in range(len(outputs))]
        result = _nested(out_structure, structure, table)
        return (result, *aux) if has_aux else result

    return jacobian


def jacfwd(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """The Jacobian of `func` by forward mode: one jvp for each input element.

    See `jacrev` for the parameters, the result and the errors.

    Examples
    --------
    >>> import numpy as np
    >>> jacfwd(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    check_callable("jacfwd", func)
    label = f"jacfwd({name_of_function(func)})"

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        leaves, structure, fill = _split(label, args, argnums)
        seen: list = []

        def push(*tangents: Any) -> tuple:
            _, moved, *aux = jvp(
                functools.wraps(func)(lambda x: func(*fill(x), **kwargs)),
                (unflatten(structure, leaves),),
                (unflatten(structure, list(tangents)),),
                has_aux=has_aux,
                escape=escape,
            )
            results, out_structure = flatten(moved)
            seen[:] = [out_structure, *aux]
            return tuple(results)

        columns = vmap(push, out_dims=-1, escape=escape)(*_basis(leaves))
        table = [_pieces(c, leaves, front=False) for c in columns]
        result = _nested(seen[0], structure, table)
        return (result, seen[1]) if has_aux else result

    return jacobian


def hessian(
    func: Callable[P, Any], argnums: int | tuple[int, ...] = 0, *, escape: Escape = "dead"
) -> Callable[P, Any]:
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
    check_callable("hessian", func)
    return jacfwd(jacrev(func, argnums, escape=escape), argnums, escape=escape)
