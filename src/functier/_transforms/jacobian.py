"""Jacobians and Hessians: forward or reverse mode on a batch of unit vectors."""

import functools
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from .._core.numpy_facts import Function, PyTree, Structure, shape_of
from .._core.pytree import paths, unflatten
from .._core.tracebacks import checks_keywords, leave
from .._cpython.frames import current_frame
from .._levels.backward import backward
from .._levels.batch import Randomness
from .._levels.checks import REAL_RESULT, refuse
from .._levels.cotangents import complex_derivatives, fill_zeros
from .._levels.level import Escape
from .._levels.memory import own_memory
from .._levels.operands import check_units
from .._levels.options import check_choice
from .._levels.runs import Site, pull_rows, push_batch, push_forward, record
from .arguments import (
    choose,
    choose_complex,
    choose_real,
    nest,
    resolve_argnums,
    split_call,
)
from .chunks.chunk import Chunk
from .chunks.compute import in_chunks
from .chunks.join import Join
from .options import Options, check_options
from .transformed import Transformed
from .unit_vectors import blocks, fill_rows, first_axes_last, only_unit, units

if TYPE_CHECKING:
    from .declared import Jacobian

P = ParamSpec("P")
R = TypeVar("R")

COMPLEX_RESULT = (
    "reverse mode of its real part is half of the derivative: use jacfwd for a real input, "
    "holomorphic=True for a complex one, or return numpy.stack([numpy.real(y), numpy.imag(y)])"
)

# ---- what both modes share ----


def result_paths(structure: Structure, results: list) -> list[str]:
    """Return the path of each leaf of the result, for messages."""
    return paths(unflatten(structure, results), "the result")


def pair(jacobian: PyTree, aux: PyTree) -> tuple[PyTree, PyTree]:
    return jacobian, aux


# ---- reverse mode ----


@overload
def jacrev(  # type: ignore[overload-overlap]  # its signatures take numbers alone
    func: np.ufunc, argnums: int | tuple[int, ...] = 0, has_aux: Literal[False] = False, *,
    chunk_size: int | None = None, holomorphic: bool = False, escape: Escape = "dead",
) -> Callable[..., Any]: ...  # fmt: skip
@overload
def jacrev(
    func: Callable[P, R], argnums: Literal[0] = 0, has_aux: Literal[False] = False,
    *, argnames: None = None, chunk_size: int | None = None,
    holomorphic: bool = False, allow_int: Literal[False] = False, escape: Escape = "dead",
) -> "Jacobian[P, R]": ...  # fmt: skip
@overload
def jacrev(
    func: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False,
    *, argnames: str | tuple[str, ...] | None = None, chunk_size: int | None = None,
    holomorphic: bool = False, allow_int: bool = False, escape: Escape = "dead",
) -> Callable[P, Any]: ...  # fmt: skip
@checks_keywords
def jacrev(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    argnames: str | tuple[str, ...] | None = None,
    chunk_size: int | None = None,
    holomorphic: bool = False,
    allow_int: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """Return a function that computes the Jacobian by reverse mode.

    It computes one vector-Jacobian product for each element of the output.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.
    argnames : str or tuple of str, optional
        The names of the arguments to differentiate with respect to, instead of `argnums`;
        see `grad`.
    chunk_size : int, optional
        The number of rows of the Jacobian (output elements) to compute at once; None for
        all. `func` is called once in any case. A batched backward pass takes memory of the
        order of `chunk_size` times the function's intermediate values; with 1 the rows are
        computed in a loop without a batch.
    holomorphic : bool
        Whether to return the complex derivative of complex results with respect to complex
        inputs. `func` has to be holomorphic in them; this is not checked.
    allow_int : bool
        Whether to accept inputs of an integer or boolean dtype, as constants; their
        Jacobian is zeros of dtype float64.
    escape : {"dead", "passthrough"}
        What a tensor of the levels does once the call is over.

    Returns
    -------
    callable
        The function returns, for an output of shape ``s`` and an argument of shape ``r``, an
        array of shape ``s + r``; for pytrees, the tree of the output with the tree of the
        argument for each leaf. With `has_aux`, it returns ``(jacobian, aux)``.

    Raises
    ------
    TypeError, ValueError
        As `vjp`; if `chunk_size` is not a positive int; if a result is complex and
        `holomorphic` is not set, or the other way round.

    Notes
    -----
    Without `holomorphic`, a row for a complex input is the gradient in the convention of
    `grad`. Each mode refuses what it would differentiate by half: `jacrev` refuses a complex
    result, since it would use only its real part, and `jacfwd` a complex input, since it would
    move only its real part. torch.func refuses complex numbers in both places.

    To get the value of ``f`` from the same call as its Jacobian, return it as `aux`:
    ``jacrev(lambda x: (f(x),) * 2, has_aux=True)(x)`` is ``(jacobian, value)``.

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
    options = Options(argnums, has_aux, argnames, holomorphic, allow_int, escape, chunk_size)
    return Transformed(reverse("jacrev", func, options), func, "jacrev", options)


def reverse(transform: str, func: Function, options: Options, give: Callable = pair) -> Function:
    """Return a function for the Jacobian by reverse mode; messages name `transform`.

    With `has_aux` it returns what `give` makes of the Jacobian and the auxiliary result.
    """
    name = check_options(transform, func, options.escape, options.chunk_size)
    options.check_flags(transform, func)
    label = f"{transform}({name})"
    argnums = resolve_argnums(label, func, options.argnums, options.argnames)
    has_aux, holomorphic, allow_int = options.has_aux, options.holomorphic, options.allow_int
    escape, chunk_size = options.escape, options.chunk_size
    select = choose_complex if holomorphic else choose
    wrong = REAL_RESULT if holomorphic else COMPLEX_RESULT

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        try:
            leaves, structure, outer, call = split_call(
                label, func, args, kwargs, argnums, select, allow_int
            )
            frame = current_frame(1)
            results, roots, inputs, out_structure, aux = record(
                Site(label, escape, frame, outer), call, leaves, has_aux
            )
            refuse(label, results, not holomorphic, wrong, result_paths, out_structure, results)
            check_units(label, results)
            sizes = [prod(shape_of(y)) for y in results]
            total: int | None = None
            if sizes == [1]:
                pairs = [
                    (node, g) for node, g in zip(roots, only_unit(results)) if node is not None
                ]
                roots.clear()
                rows = fill_zeros(backward(pairs, inputs), leaves)
            else:
                total = sum(sizes)
                site = Site(label, "dead", frame, outer)
                if chunk_size is None or chunk_size >= total:
                    rows = pull_rows(site, roots, units(results, sizes, 0, total), inputs)
                    fill_rows(rows, leaves, total)
                else:
                    rows = _pull_in_chunks(site, roots, results, inputs, leaves, chunk_size)
            if holomorphic:
                rows = complex_derivatives(rows)
            columns = [blocks(r, results, total) for r in own_memory(rows)]
            table = zip(*columns) if columns else [()] * len(results)
            result = nest(out_structure, structure, table, results)
            return give(result, aux) if has_aux else result
        except BaseException as error:
            leave(error, label, func, args, kwargs)
            raise

    return jacobian


def _pull_in_chunks(
    site: Site, roots: list, results: list, inputs: list, leaves: list, chunk_size: int
) -> list:
    """Do as `pull_rows` for `chunk_size` unit vectors at a time; for 1, without a batch level."""
    sizes = [prod(shape_of(y)) for y in results]

    def rows_of(chunk: Chunk, *basis: Any) -> list:
        nodes = roots if chunk.stop == chunk.size else list(roots)  # the last one frees the tape
        if chunk_size == 1:
            pairs = [(node, g[0]) for node, g in zip(nodes, basis) if node is not None]
            nodes.clear()
            found = backward(pairs, inputs, given=True)
            rows = [None if g is None else np.expand_dims(g, 0) for g in found]
        else:
            rows = pull_rows(site, nodes, list(basis), inputs)
        fill_rows(rows, leaves, chunk.stop - chunk.start)
        return rows

    return in_chunks(
        rows_of, sum(sizes), chunk_size,
        lambda start, stop: (tuple(units(results, sizes, start, stop)), {}),
        Join(site.label, 0),
    )  # fmt: skip


# ---- forward mode ----


@overload
def jacfwd(  # type: ignore[overload-overlap]  # its signatures take numbers alone
    func: np.ufunc, argnums: int | tuple[int, ...] = 0, has_aux: Literal[False] = False, *,
    chunk_size: int | None = None, holomorphic: bool = False, escape: Escape = "dead",
) -> Callable[..., Any]: ...  # fmt: skip
@overload
def jacfwd(
    func: Callable[P, R], argnums: Literal[0] = 0, has_aux: Literal[False] = False,
    *, argnames: None = None, chunk_size: int | None = None,
    randomness: Randomness = "error", holomorphic: bool = False,
    allow_int: Literal[False] = False, escape: Escape = "dead",
) -> "Jacobian[P, R]": ...  # fmt: skip
@overload
def jacfwd(
    func: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False,
    *, argnames: str | tuple[str, ...] | None = None, chunk_size: int | None = None,
    randomness: Randomness = "error", holomorphic: bool = False, allow_int: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]: ...  # fmt: skip
@checks_keywords
def jacfwd(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    argnames: str | tuple[str, ...] | None = None,
    chunk_size: int | None = None,
    randomness: Randomness = "error",
    holomorphic: bool = False,
    allow_int: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """Return a function that computes the Jacobian by forward mode.

    It computes one Jacobian-vector product for each element of the input.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to; each is an array or
        a pytree.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.
    argnames : str or tuple of str, optional
        The names of the arguments to differentiate with respect to, instead of `argnums`;
        see `grad`.
    chunk_size : int, optional
        The number of columns of the Jacobian (input elements) to compute at once; None for
        all. `func` is called once for each chunk, and `aux` comes from the first call. With 1
        the columns are computed in a loop without a batch: a random draw is then the same
        for all of them, where it would otherwise raise an error.
    randomness : {"error", "different", "same"}
        What a draw from a `functier.random` generator in `func` does: raise an error, return
        different numbers for each column, or return the same numbers for all.
    holomorphic : bool
        Whether to return the complex derivative with respect to complex inputs. `func` has to
        be holomorphic in them; this is not checked.
    allow_int : bool
        Whether to accept inputs of an integer or boolean dtype, as constants; their Jacobian is
        zeros of dtype float64.
    escape : {"dead", "passthrough"}
        What a tensor of the levels does once the call is over.

    Returns
    -------
    callable
        The function returns the Jacobian, in the form that `jacrev` gives it; with `has_aux`,
        ``(jacobian, aux)``.

    Raises
    ------
    TypeError, ValueError
        As `jacrev`. Complex inputs need `holomorphic`.

    Examples
    --------
    >>> import numpy as np
    >>> jacfwd(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    options = Options(
        argnums, has_aux, argnames, holomorphic, allow_int, escape, chunk_size, randomness
    )
    return Transformed(forward("jacfwd", func, options), func, "jacfwd", options)


def forward(transform: str, func: Function, options: Options, give: Callable = pair) -> Function:
    """Return a function for the Jacobian by forward mode; messages name `transform`."""
    name = check_options(transform, func, options.escape, options.chunk_size)
    options.check_flags(transform, func)
    label = f"{transform}({name})"
    argnums = resolve_argnums(label, func, options.argnums, options.argnames)
    has_aux, holomorphic, allow_int = options.has_aux, options.holomorphic, options.allow_int
    escape, chunk_size, randomness = options.escape, options.chunk_size, options.randomness
    check_choice(transform, func, "randomness", randomness)
    select = choose_complex if holomorphic else choose_real

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        try:
            leaves, structure, outer, call = split_call(
                label, func, args, kwargs, argnums, select, allow_int
            )
            frame = current_frame(1)
            sizes = [prod(shape_of(x)) for x in leaves]
            site = Site(label, escape, frame, outer)
            total: int | None = None
            if sizes == [1] or not sizes:
                pairs, out_structure, aux = push_forward(
                    site, call, leaves, only_unit(leaves) if sizes else [], has_aux
                )
                rows = [t for _, t in pairs]
            else:
                total = sum(sizes)
                if chunk_size is None or chunk_size >= total:
                    basis = units(leaves, sizes, 0, total)
                    rows, out_structure, aux = push_batch(
                        label, site, call, leaves, basis, has_aux, randomness
                    )
                else:
                    rows, out_structure, aux = _push_in_chunks(
                        label, site, call, leaves, has_aux, randomness, chunk_size
                    )
            if holomorphic:  # a tangent has the dtype of its result
                refuse(label, rows, False, REAL_RESULT, result_paths, out_structure, rows)
            ndims = [len(shape_of(x)) for x in leaves]
            table = [
                map(first_axes_last, blocks(r, leaves, total), ndims) for r in own_memory(rows)
            ]
            result = nest(out_structure, structure, table, rows, total is not None)
            return give(result, aux) if has_aux else result
        except BaseException as error:
            leave(error, label, func, args, kwargs)
            raise

    return jacobian


def _push_in_chunks(
    label: str, site: Site, call: Callable[[list], PyTree], leaves: list, has_aux: bool,
    randomness: Randomness, chunk_size: int,
) -> tuple[list, Structure, PyTree]:  # fmt: skip
    """Do as `push_batch` for `chunk_size` unit vectors at a time; for 1, without a batch level."""
    sizes = [prod(shape_of(x)) for x in leaves]
    first: list = []

    def rows_of(chunk: Chunk, *basis: Any) -> list:
        if chunk_size == 1:
            pairs, *rest = push_forward(site, call, leaves, [t[0] for t in basis], has_aux)
            rows = [np.expand_dims(t, 0) for _, t in pairs]
        else:
            rows, *rest = push_batch(label, site, call, leaves, list(basis), has_aux, randomness)
        if not chunk.index:
            first.extend(rest)
        return rows

    rows = in_chunks(
        rows_of, sum(sizes), chunk_size,
        lambda start, stop: (tuple(units(leaves, sizes, start, stop)), {}), Join(label, 0),
        randomness=randomness,
    )  # fmt: skip
    structure, aux = first
    return rows, structure, aux


# ---- both modes ----


@overload
def hessian(
    func: Callable[P, R], argnums: Literal[0] = 0, has_aux: Literal[False] = False,
    *, argnames: None = None, chunk_size: int | None = None,
    randomness: Randomness = "error", holomorphic: bool = False,
    allow_int: Literal[False] = False, escape: Escape = "dead",
) -> "Jacobian[P, R]": ...  # fmt: skip
@overload
def hessian(
    func: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False,
    *, argnames: str | tuple[str, ...] | None = None, chunk_size: int | None = None,
    randomness: Randomness = "error", holomorphic: bool = False, allow_int: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]: ...  # fmt: skip
@checks_keywords
def hessian(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    argnames: str | tuple[str, ...] | None = None,
    chunk_size: int | None = None,
    randomness: Randomness = "error",
    holomorphic: bool = False,
    allow_int: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """Return a function that computes the Hessian by forward over reverse mode.

    Parameters
    ----------
    func : callable
        Returns a real scalar, or ``(scalar, aux)`` with `has_aux`.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to; each is an array or
        a pytree.
    has_aux : bool
        Whether `func` returns ``(scalar, aux)``.
    argnames : str or tuple of str, optional
        The names of the arguments to differentiate with respect to, instead of `argnums`;
        see `grad`.
    chunk_size : int, optional
        The number of columns of the Hessian to compute at once, with one call of `func` and
        one backward pass for each chunk; None for all.
    randomness : {"error", "different", "same"}
        What a draw from a `functier.random` generator in `func` does: raise an error, return
        different numbers for each column, or return the same numbers for all.
    holomorphic : bool
        Whether to return the complex derivative with respect to complex inputs. `func` has to
        be holomorphic in them; this is not checked.
    allow_int : bool
        Whether to accept inputs of an integer or boolean dtype, as constants; their Hessian is
        zeros of dtype float64.
    escape : {"dead", "passthrough"}
        What a tensor of the levels does once the call is over.

    Returns
    -------
    callable
        The function returns the Hessian, which has the axes (or the tree) of the argument
        twice; with `has_aux`, ``(hessian, aux)``.

    Raises
    ------
    TypeError, ValueError
        As `jacrev` and `jacfwd`. Complex inputs need `holomorphic`.

    Examples
    --------
    >>> import numpy as np
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    options = Options(
        argnums, has_aux, argnames, holomorphic, allow_int, escape, chunk_size, randomness
    )
    gradient = functools.wraps(func)(reverse("hessian", func, options))
    return Transformed(forward("hessian", gradient, options), func, "hessian", options)
