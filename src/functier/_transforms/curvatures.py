"""A Jacobian with its value, and second derivatives without the Hessian."""

import functools
from collections.abc import Callable
from math import prod
from types import SimpleNamespace
from typing import Any, Literal, ParamSpec

import numpy as np

from .._core.numpy_facts import Function, PyTree, Value, dtype_of, shape_of
from .._core.pytree import describe, flatten, is_value, unflatten
from .._core.tracebacks import checks_keywords, leave
from .._cpython.frames import current_frame
from .._levels.batch import Randomness
from .._levels.level import Escape
from .._levels.memory import own_memory
from .._levels.options import check_choice
from .._levels.runs import Site, push_batch
from .arguments import choose_real, resolve_argnums, split_call
from .chunks.chunk import Chunk
from .chunks.compute import in_chunks
from .chunks.join import Join
from .jacobian import forward, reverse
from .options import Options, check_options
from .transformed import Transformed
from .unit_vectors import blocks, units

P = ParamSpec("P")


@checks_keywords
def value_and_jacobian(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    mode: Literal["reverse", "forward"] = "reverse",
    argnames: str | tuple[str, ...] | None = None,
    chunk_size: int | None = None,
    holomorphic: bool = False,
    allow_int: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """Return a function that computes the value and the Jacobian from one call of `func`.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays;
        ``(output, aux)`` with `has_aux`.
    argnums, has_aux, argnames, chunk_size, holomorphic, allow_int, escape
        As for `jacrev`.
    mode : {"reverse", "forward"}
        Whether the Jacobian is that of `jacrev`, by its rows, or that of `jacfwd`, by its columns.

    Returns
    -------
    callable
        The function returns ``(value, jacobian)``; with `has_aux`, ``((value, aux), jacobian)``.

    Raises
    ------
    TypeError, ValueError
        As `jacrev` and `jacfwd`.

    Notes
    -----
    `func` is called once, or in forward mode once for each chunk: the value is then that of the
    first call.

    Examples
    --------
    >>> import numpy as np
    >>> value, jacobian = value_and_jacobian(np.square)(np.array([1.0, 2.0]))
    >>> value, jacobian
    (array([1., 4.]), array([[2., 0.],
           [0., 4.]]))
    """
    name = "value_and_jacobian"
    check_choice(name, func, "mode", mode)

    @functools.wraps(func)
    def twice(*args: Any, **kwargs: Any) -> tuple:
        out = func(*args, **kwargs)
        if not has_aux:
            return out, out
        if not isinstance(out, tuple) or len(out) != 2:
            return out  # type: ignore[return-value]  # which is refused as that of `jacrev`
        return out[0], out

    own = Options(argnums, True, argnames, holomorphic, allow_int, escape, chunk_size)
    make = reverse if mode == "reverse" else forward
    call = make(name, twice, own, lambda jacobian, value: (value, jacobian))
    given = SimpleNamespace(
        argnums=argnums, has_aux=has_aux, mode=mode, argnames=argnames, chunk_size=chunk_size,
        holomorphic=holomorphic, allow_int=allow_int, escape=escape,
    )  # fmt: skip
    return Transformed(call, func, name, given)


@checks_keywords
def hessian_diagonal(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    argnames: str | tuple[str, ...] | None = None,
    chunk_size: int | None = None,
    randomness: Randomness = "error",
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """Return a function that computes the diagonal of the Hessian, without the Hessian.

    Parameters
    ----------
    func : callable
        Returns a real scalar.
    argnums, argnames, escape
        As for `hessian`.
    chunk_size : int, optional
        The number of elements of the diagonal to compute at once; None for all. Memory is that of
        `func` times this number.
    randomness : {"error", "different", "same"}
        What a draw from a `functier.random` generator in `func` does, as in `hessian`.

    Returns
    -------
    callable
        The function returns the second derivative by each element, with the shapes and pytree
        structure of the differentiated argument.

    Raises
    ------
    TypeError, ValueError
        As `hessian`, for real inputs.

    Notes
    -----
    Each element is a second derivative along a unit vector, by forward mode in forward mode: `func`
    runs once for each element, all of a chunk together. Where each element of the result depends
    on one element of the argument, one pass is enough, as in `elementwise_grad`.

    Examples
    --------
    >>> import numpy as np
    >>> hessian_diagonal(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([ 6., 12.])
    """
    name = "hessian_diagonal"
    options = Options(argnums, False, argnames, False, False, escape, chunk_size, randomness)

    def give(rows: PyTree, leaves: list, structure: Any, label: str) -> PyTree:
        if not is_value(rows) or len(shape_of(rows)) != 1:
            out = describe(rows) if not is_value(rows) else f"shape {shape_of(rows)[1:]}"
            raise ValueError(
                f"{label}: the function returned {out}; return one real scalar, or use laplacian"
            )
        if dtype_of(rows).kind == "c":
            raise TypeError(
                f"{label}: the function returned {dtype_of(rows)}; return a real scalar"
            )
        return unflatten(structure, own_memory(blocks(rows, leaves, shape_of(rows)[0])))

    return Transformed(_along_axes(name, func, options, give), func, name, options)


@checks_keywords
def laplacian(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    argnames: str | tuple[str, ...] | None = None,
    chunk_size: int | None = None,
    randomness: Randomness = "error",
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """Return a function that computes the Laplacian: the sum of the unmixed second derivatives.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
    argnums, argnames, chunk_size, randomness, escape
        As for `hessian_diagonal`. The sum is over all elements of the differentiated arguments.

    Returns
    -------
    callable
        The function returns the Laplacian of each element of the result of `func`, in its form.

    Raises
    ------
    TypeError, ValueError
        As `jacfwd`, for real inputs.

    Examples
    --------
    >>> import numpy as np
    >>> float(laplacian(lambda x: np.sum(x**3))(np.array([1.0, 2.0])))
    18.0
    """
    options = Options(argnums, False, argnames, False, False, escape, chunk_size, randomness)

    def give(rows: PyTree, leaves: list, structure: Any, label: str) -> PyTree:
        parts, form = flatten(rows)
        return unflatten(form, own_memory([np.sum(row, axis=0) for row in parts]))

    return Transformed(_along_axes("laplacian", func, options, give), func, "laplacian", options)


def _along_axes(transform: str, func: Function, options: Options, give: Callable) -> Function:
    """Return a function for what `give` makes of the second derivatives along all unit vectors.

    Its first axis is that of the unit vectors.
    """
    name = check_options(transform, func, options.escape, options.chunk_size)
    label = f"{transform}({name})"
    argnums = resolve_argnums(label, func, options.argnums, options.argnames)
    check_choice(transform, func, "randomness", options.randomness)

    def derivatives(*args: Any, **kwargs: Any) -> Any:
        try:
            leaves, structure, outer, call = split_call(
                label, func, args, kwargs, argnums, choose_real
            )
            site = Site(label, options.escape, current_frame(1), outer)
            sizes = [prod(shape_of(x)) for x in leaves]

            def of_chunk(chunk: Chunk, *basis: Value) -> PyTree:
                rows, form, _ = push_batch(
                    label, site, call, leaves, list(basis), False, options.randomness, True
                )
                return unflatten(form, rows)

            rows = in_chunks(
                of_chunk, sum(sizes), options.chunk_size or max(1, sum(sizes)),
                lambda start, stop: (tuple(units(leaves, sizes, start, stop)), {}),
                Join(label, 0), randomness=options.randomness,
            )  # fmt: skip
            return give(rows, leaves, structure, label)
        except BaseException as error:
            leave(error, label, func, args, kwargs)
            raise

    return derivatives
