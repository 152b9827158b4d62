"""Sparse Jacobians and Hessians: a few products for all entries of a pattern."""

import functools
import sys
from collections.abc import Callable
from typing import Any, Literal, ParamSpec

import numpy as np

from .._core.numpy_facts import shape_of
from .._core.pytree import flatten, is_value
from .._levels.level import Escape
from .._transforms.arguments import resolve_argnums
from .._transforms.grad import grad
from .._transforms.jacobian import check_options
from .colouring import Plan, pattern_of
from .probing import entries, settle
from .products import Point, Settings, refuse_tensor

P = ParamSpec("P")
JacobianMode = Literal["auto", "fwd", "rev"]


def _scipy(label: str) -> Any:
    """The module scipy.sparse."""
    try:
        import scipy.sparse as sparse  # type: ignore[import-untyped]  # an extra
    except ImportError as error:
        raise ImportError(
            f"{label}: sparse arrays need SciPy, which is not installed; write "
            f"pip install 'functier[scipy]'"
        ) from error
    return sparse


def _transform(settings: Settings, pattern: Any, form: str, check: bool) -> Callable:
    """What sparse_jacobian and sparse_hessian share."""
    label = settings.label
    _check_options(settings, pattern, form, check)
    csr_array = _scipy(label).csr_array if form == "csr" else None
    mode = settings.mode
    given: Plan | None = None
    if pattern is not None:
        places = pattern_of(label, pattern)
        if settings.symmetric and not places.is_symmetric():
            raise ValueError(
                f"{label}: the pattern is not symmetric, as a Hessian is; pass pattern + pattern.T"
            )
        given = Plan(places, mode)
    kept: dict[tuple, Plan] = {}

    @functools.wraps(settings.func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        point = Point(settings, args, kwargs, sys._getframe(1))
        if csr_array is None:
            assert given is not None
            data, _ = entries(given, point)
            return (data, point.aux) if settings.has_aux else data

        for leaf in point.outer:
            refuse_tensor(leaf, settings)
        if given is not None:
            data, product = entries(given, point, check)
            matrix = _matrix(csr_array, given, point, data)
            if check:
                sample = given.sample
                off = np.flatnonzero(sample.off(data, product) > 1)
                if len(off):
                    what = "rows" if sample.mode == "fwd" else "columns"
                    raise ValueError(
                        f"{label}: the pattern lacks entries of the Jacobian at this point, in "
                        f"{len(off)} {what}, such as {off[0]}; add them, or leave the pattern "
                        f"out, so that it is probed"
                    )
        else:
            leaves = flatten((args, kwargs))[0]
            key = tuple([shape_of(x) for x in leaves if is_value(x)])
            plan, data, keep = settle(point, kept.get(key))
            if keep:
                if len(kept) >= 16 and key not in kept:
                    kept.pop(next(iter(kept)))
                kept[key] = plan
            matrix = _matrix(csr_array, plan, point, data)
        return (matrix, point.aux) if settings.has_aux else matrix

    return transformed


def _matrix(csr_array: Any, plan: Plan, point: Point, data: Any) -> Any:
    """The sparse matrix of the entries that were read by a plan."""
    refuse_tensor(data, point.settings)
    indices, indptr = plan.pattern.index(point.m, point.n)
    data = np.asarray(data)
    if data.dtype == np.float16:  # which SciPy does not have
        data = data.astype(np.float32)
    out = csr_array((data, indices, indptr), shape=(point.m, point.n))
    out.has_canonical_format = True
    return out


def _check_options(settings: Settings, pattern: Any, form: str, check: bool) -> None:
    label = settings.label
    for option, value, known in (
        ("mode", settings.mode, ("auto", "fwd", "rev")),
        ("form", form, ("csr", "data")),
    ):
        if value not in known:
            raise ValueError(f"{label}: {option}={value!r}; write one of {known}")
    if form == "data" and pattern is None:
        raise ValueError(
            f"{label}: form='data' returns the entries of a pattern that you know; give one, such "
            f"as pattern=jacobian_pattern({settings.name})(x)"
        )
    if form == "data" and check:
        raise ValueError(f"{label}: check=True needs the numbers; leave form='data' out")


def sparse_jacobian(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    pattern: Any = None,
    argnames: str | tuple[str, ...] | None = None,
    mode: JacobianMode = "auto",
    chunk_size: int | None = None,
    holomorphic: bool = False,
    form: Literal["csr", "data"] = "csr",
    check: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """The Jacobian of `func` as a sparse matrix, from a few products with vectors.

    Columns that share no row are computed by one product, rows that share no column too:
    a tridiagonal Jacobian of any size takes 3 products. Needs SciPy (``functier[scipy]``).

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees that returns such.
    argnums : int or tuple of int
        Which positional arguments to differentiate by.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.
    pattern : scipy.sparse array or matrix, 2-d array of bool, (rows, cols), optional
        Where the Jacobian has entries, or more. Stored zeros of a sparse array count. It
        is trusted: where an entry is missing, others are wrong (see `check`). Without it
        the pattern is probed, and the result is right at every point (see Notes).
    argnames : str or tuple of str, optional
        Which arguments to differentiate by, by name, as in `grad`.
    mode : {"auto", "fwd", "rev"}
        Whether to use products of forward mode, of reverse mode, or what takes the fewest,
        which can be some of each.
    chunk_size : int, optional
        How many products to compute at a time; all of them without it, which takes memory
        for as many inputs, outputs and intermediate results.
    holomorphic : bool
        Whether the result is the complex derivative, as in `jacrev`.
    form : {"csr", "data"}
        What to return: the matrix, or its entries alone, which work under `grad`, `vmap`
        and every other level. Needs a pattern.
    check : bool
        Whether to compare a product of the result with a random vector, and raise where
        the pattern that was given lacks an entry at this point. Takes one product more.
    escape : {"dead", "passthrough"}
        What a tensor of the levels does once the call is over.

    Returns
    -------
    callable
        Returns a `scipy.sparse.csr_array` of shape (elements of the output, elements of
        the input), both counted in C order, one after the other for the leaves of pytrees
        and for several arguments. Its dtype is the output's (float32 for float16, which
        SciPy does not have), its structure that of the pattern, sorted: it can hold zeros.
        With ``form="data"`` an array of the entries, row by row and by columns in each row.
        With `has_aux`, ``(jacobian, aux)``.

    Raises
    ------
    TypeError, ValueError
        As `jacfwd` and `jacrev`; where the pattern is of another shape than the Jacobian.
    ConversionError
        Where numbers for the matrix are tensors of a level around: see `form`.
    ImportError
        Where SciPy is not installed.

    Notes
    -----
    A pattern that is given is coloured once, when the transform is made: a call computes
    products, all in one call of `func` for each mode, and puts the entries in place.

    A pattern that is not given is found in the first call: by products with random vectors
    that are 0 in some blocks of columns, of which those with entries are divided, down to
    single columns. That takes about log(n) calls of `func`, of a few products each where
    each row has few entries, and not many more in all than the dense Jacobian does. It is
    the pattern at that point: ``x**2`` has no entry at 0. So every result is multiplied by
    a random vector, and compared: an entry that is missing, and is not as small as rounding
    errors of its row, shows, but for a chance as small as these errors; the pattern is then
    probed again. Patterns are kept for each shape of the arguments. Where a derivative is
    infinite or NaN, a row can be full of NaN, as `jacfwd` returns it (0 times infinity);
    such a pattern is not kept, and one that is kept is not asked for more in such a row.
    Probing in mode "auto" may use reverse mode for long rows: where `func` has none, write
    ``mode="fwd"``.

    Colouring is greedy (Curtis, Powell and Reid, 1974; Coleman and More, 1983), and takes
    0.1 s for 100,000 columns; a band takes the fewest products there are.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian = sparse_jacobian(lambda x: np.diff(x) * x[1:])
    >>> jacobian(np.array([1.0, 2.0, 4.0])).toarray()
    array([[-2.,  3.,  0.],
           [ 0., -4.,  6.]])
    """
    name = check_options("sparse_jacobian", func, escape, chunk_size)
    _refuse_pattern(f"sparse_jacobian({name})", argnums)
    selection = resolve_argnums(f"sparse_jacobian({name})", func, argnums, argnames)
    settings = Settings(
        "sparse_jacobian", func, name, selection, mode, has_aux, holomorphic, False, chunk_size,
        escape,
    )  # fmt: skip
    return _transform(settings, pattern, form, check)


def sparse_hessian(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    pattern: Any = None,
    argnames: str | tuple[str, ...] | None = None,
    chunk_size: int | None = None,
    holomorphic: bool = False,
    form: Literal["csr", "data"] = "csr",
    check: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """The Hessian of a scalar function as a sparse matrix, from Hessian-vector products.

    Each product is forward over reverse mode. A few full rows, which are full columns too,
    are read from products with their unit vectors.

    See `sparse_jacobian` for the parameters, the result and the errors. A pattern has to be
    symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> hessian = sparse_hessian(lambda x: np.sum(np.diff(x) ** 4))
    >>> hessian(np.array([1.0, 2.0, 4.0])).toarray()
    array([[ 12., -12.,   0.],
           [-12.,  60., -48.],
           [  0., -48.,  48.]])
    """
    name = check_options("sparse_hessian", func, escape, chunk_size)
    _refuse_pattern(f"sparse_hessian({name})", argnums)
    slope = grad(func, argnums, has_aux, argnames=argnames, holomorphic=holomorphic, escape=escape)
    selection = resolve_argnums(f"sparse_hessian({name})", func, argnums, argnames)
    settings = Settings(
        "sparse_hessian", slope, name, selection, "auto", has_aux, holomorphic, True, chunk_size,
        escape,
    )  # fmt: skip
    return _transform(settings, pattern, form, check)


def jacobian_pattern(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    argnames: str | tuple[str, ...] | None = None,
    mode: JacobianMode = "auto",
    chunk_size: int | None = None,
    holomorphic: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """Where the Jacobian of `func` has entries at a point.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees that returns such.
    argnums, has_aux, argnames, mode, chunk_size, holomorphic, escape
        As in `sparse_jacobian`.

    Returns
    -------
    callable
        Returns a `scipy.sparse.csr_array` of bool, of the shape that `sparse_jacobian` has:
        true where the Jacobian is not 0, or not finite, at this point, with probability one.
        With `has_aux`, ``(pattern, aux)``. The sum of the patterns of several points is the
        pattern for all of them; it can be given to `sparse_jacobian`, whose notes say how it
        is found.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian_pattern(np.diff)(np.ones(3)).toarray()
    array([[ True,  True, False],
           [False,  True,  True]])
    """
    name = check_options("jacobian_pattern", func, escape, chunk_size)
    selection = resolve_argnums(f"jacobian_pattern({name})", func, argnums, argnames)
    settings = Settings(
        "jacobian_pattern", func, name, selection, mode, has_aux, holomorphic, False, chunk_size,
        escape,
    )  # fmt: skip
    _check_options(settings, None, "csr", False)
    csr_array = _scipy(settings.label).csr_array

    @functools.wraps(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        point = Point(settings, args, kwargs, sys._getframe(1))
        for leaf in point.outer:
            refuse_tensor(leaf, settings)
        plan, _, _ = settle(point, None)
        matrix = _matrix(csr_array, plan, point, np.ones(len(plan.pattern.cols), bool))
        return (matrix, point.aux) if has_aux else matrix

    return transformed


def _refuse_pattern(label: str, argnums: Any) -> None:
    """Raise where a matrix stands at the place of `argnums`: a pattern is passed by its name."""
    if len(getattr(argnums, "shape", ())) == 2:
        raise TypeError(
            f"{label}: argnums is a {type(argnums).__name__} of shape {argnums.shape}; write "
            f"pattern=... where it is the pattern, and {label.partition('(')[0]}(f)(x) where it is "
            f"an argument of the function"
        )
