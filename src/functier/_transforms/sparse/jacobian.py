"""sparse_jacobian, sparse_hessian and jacobian_pattern."""

from collections.abc import Callable
from typing import Any, Literal, ParamSpec

import numpy as np

from ..._core.numpy_facts import shape_of
from ..._core.pytree import flatten, is_value
from ..._core.tracebacks import checks_keywords, leave
from ..._cpython.frames import current_frame
from ..grad import grad
from ..points import Settings
from .colouring import Plan, pattern_of
from .points import PatternPoint, refuse_tensor
from .probing import entries, settle

P = ParamSpec("P")
JacobianMode = Literal["auto", "fwd", "rev"]
Escape = Literal["dead", "passthrough"]


def _scipy(label: str) -> Any:
    """Return the module scipy.sparse."""
    try:
        import scipy.sparse as sparse  # type: ignore[import-untyped]  # an extra
    except ImportError as error:
        raise ImportError(
            f"{label}: sparse arrays need SciPy, which is not installed; write "
            f"pip install 'functier[scipy]', in a checkout pip install '.[scipy]'"
        ) from error
    return sparse


def _transform(settings: Settings, pattern: Any, form: str, check: bool) -> Callable:
    """Return the function that sparse_jacobian or sparse_hessian returns."""
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

    def differentiate(point: PatternPoint, args: tuple, kwargs: dict) -> Any:
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
                        f"out to have it probed"
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

    def transformed(*args: Any, **kwargs: Any) -> Any:
        try:
            point = PatternPoint(settings, args, kwargs, current_frame(1))
            return differentiate(point, args, kwargs)
        except BaseException as error:
            leave(error, label, settings.func, args, kwargs)
            raise

    return transformed


def _matrix(csr_array: Any, plan: Plan, point: PatternPoint, data: Any) -> Any:
    """Return the sparse matrix of the entries that were read by a plan."""
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
            f"{label}: form='data' returns the entries of a known pattern; pass one, such as "
            f"pattern=jacobian_pattern({settings.name})(x)"
        )
    if form == "data" and check:
        raise ValueError(f"{label}: check=True needs the numbers; leave form='data' out")


@checks_keywords
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
    """Return a function that computes the Jacobian as a sparse matrix.

    One product with a vector computes several columns that share no row, or several rows
    that share no column: a tridiagonal Jacobian of any size takes 3 products. Needs SciPy
    (``functier[scipy]``).

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.
    pattern : scipy.sparse array or matrix, 2-d array of bool, (rows, cols), optional
        The places of the entries of the Jacobian; it may have more places. The stored zeros of
        a sparse array count. The pattern is not checked: if an entry is missing, others are
        wrong (see `check`). Without it the pattern is probed, and the result is right at
        every point (see Notes).
    argnames : str or tuple of str, optional
        The names of the arguments to differentiate with respect to, as in `grad`.
    mode : {"auto", "fwd", "rev"}
        Whether to use products of forward mode, of reverse mode, or those that are the
        fewest, which can be some of each.
    chunk_size : int, optional
        The number of products to compute at a time; None for all, which takes memory for as
        many inputs, outputs and intermediate values.
    holomorphic : bool
        Whether to return the complex derivative, as in `jacrev`.
    form : {"csr", "data"}
        Whether to return the matrix, or only its entries as an array, which works under
        `grad`, `vmap` and every other level. "data" needs a pattern.
    check : bool
        Whether to compare the product of the result and a random vector with that of the
        Jacobian, and raise an error if `pattern` lacks an entry at this point. It takes one
        more product.
    escape : {"dead", "passthrough"}
        What a tensor of the levels does once the call is over.

    Returns
    -------
    callable
        The function returns a `scipy.sparse.csr_array` of shape (elements of the output,
        elements of the input). Elements are counted in C order, those of one leaf or argument
        after the other. The dtype is that of the output (float32 for float16, which SciPy does
        not support). The structure is that of the pattern, sorted, so it may contain zeros.
        With ``form="data"`` the function returns an array of the entries, sorted by rows and
        columns. With `has_aux` it returns ``(jacobian, aux)``.

    Raises
    ------
    TypeError, ValueError
        As `jacfwd` and `jacrev`; and if the pattern has another shape than the Jacobian.
    ConversionError
        If entries of the matrix are tensors of a level around: see `form`.
    ImportError
        If SciPy is not installed.

    Notes
    -----
    A pattern that you pass is coloured once, when the transform is called. A call of the
    resulting function computes the products, in one call of `func` for each mode.

    Without a pattern the first call probes for it, by products with random vectors that are
    zero outside some blocks of columns. It divides the blocks with entries down to single
    columns. If each row has few entries, that takes about log(n) calls of `func` with a few
    products each; otherwise not many more products than the dense Jacobian. The pattern is
    that of one point: ``x**2`` has no entry at 0. So each result is checked by a product with
    a random vector. This finds every missing entry that is larger than the rounding errors of
    its row, except by a chance as small as these errors, and the pattern is probed again.
    Patterns are saved for each shape of the arguments. If a derivative is infinite or NaN, a
    row can be full of NaN, as `jacfwd` returns it (0 times infinity). Such a pattern is not
    saved, and the check ignores such a row. In mode "auto" probing may use reverse mode for
    long rows; if `func` does not support it, write ``mode="fwd"``.

    Colouring is greedy (Curtis, Powell and Reid, 1974; Coleman and More, 1983), and takes
    0.1 s for 100,000 columns. A band takes the smallest possible number of products.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian = sparse_jacobian(lambda x: np.diff(x) * x[1:])
    >>> jacobian(np.array([1.0, 2.0, 4.0])).toarray()
    array([[-2.,  3.,  0.],
           [ 0., -4.,  6.]])
    """
    given = dict(locals())

    def prepare(label: str) -> Callable:
        _refuse_pattern(label, argnums)
        return func

    settings = Settings.checked(
        "sparse_jacobian", func, argnums, argnames, prepare, mode, has_aux, holomorphic, False,
        chunk_size, escape,
    )  # fmt: skip
    return settings.transformed(_transform(settings, pattern, form, check), given)


@checks_keywords
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
    """Return a function that computes the Hessian of a scalar function as a sparse matrix.

    It computes Hessian-vector products by forward over reverse mode. A few full rows, which are
    also full columns, come from products with their unit vectors.

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
    pattern : scipy.sparse array or matrix, 2-d array of bool, (rows, cols), optional
        The places of the entries, which have to be symmetric. Without it the pattern is probed.
    chunk_size : int, optional
        The number of products to compute at a time; None for all.
    holomorphic : bool
        Whether to return the complex derivative with respect to complex inputs. `func` has to
        be holomorphic in them; this is not checked.
    form : {"csr", "data"}
        Whether to return the matrix, or only its entries as an array. "data" needs a pattern.
    check : bool
        Whether to raise an error if `pattern` lacks an entry at this point. It takes one more
        product.
    escape : {"dead", "passthrough"}
        What a tensor of the levels does once the call is over.

    Returns
    -------
    callable
        The function returns a `scipy.sparse.csr_array`, or with ``form="data"`` its entries,
        as `sparse_jacobian` does; with `has_aux`, ``(hessian, aux)``.

    Raises
    ------
    TypeError, ValueError, ConversionError, ImportError
        As `sparse_jacobian`; and if the pattern is not symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> hessian = sparse_hessian(lambda x: np.sum(np.diff(x) ** 4))
    >>> hessian(np.array([1.0, 2.0, 4.0])).toarray()
    array([[ 12., -12.,   0.],
           [-12.,  60., -48.],
           [  0., -48.,  48.]])
    """
    given = dict(locals())

    def prepare(label: str) -> Callable:
        _refuse_pattern(label, argnums)
        return grad(
            func, argnums, has_aux, argnames=argnames, holomorphic=holomorphic, escape=escape
        )

    settings = Settings.checked(
        "sparse_hessian", func, argnums, argnames, prepare, "auto", has_aux, holomorphic, True,
        chunk_size, escape,
    )  # fmt: skip
    return settings.transformed(_transform(settings, pattern, form, check), given)


@checks_keywords
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
    """Return a function that finds the places of the entries of the Jacobian at a point.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
    argnums, has_aux, argnames, mode, chunk_size, holomorphic, escape
        As in `sparse_jacobian`.

    Returns
    -------
    callable
        The function returns a `scipy.sparse.csr_array` of bool, with the shape of the result of
        `sparse_jacobian`. It is true where the Jacobian is not 0, or not finite, at this point,
        with probability one. With `has_aux` it returns ``(pattern, aux)``. The sum of the
        patterns of several points is a pattern for all of them, which can be passed to
        `sparse_jacobian`; its notes describe the search.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian_pattern(np.diff)(np.ones(3)).toarray()
    array([[ True,  True, False],
           [False,  True,  True]])
    """
    given = dict(locals())
    settings = Settings.checked(
        "jacobian_pattern", func, argnums, argnames, lambda label: func, mode, has_aux,
        holomorphic, False, chunk_size, escape,
    )  # fmt: skip
    _check_options(settings, None, "csr", False)
    csr_array = _scipy(settings.label).csr_array

    def transformed(*args: Any, **kwargs: Any) -> Any:
        try:
            point = PatternPoint(settings, args, kwargs, current_frame(1))
            for leaf in point.outer:
                refuse_tensor(leaf, settings)
            plan, _, _ = settle(point, None)
            matrix = _matrix(csr_array, plan, point, np.ones(len(plan.pattern.cols), bool))
            return (matrix, point.aux) if has_aux else matrix
        except BaseException as error:
            leave(error, settings.label, func, args, kwargs)
            raise

    return settings.transformed(transformed, given)


def _refuse_pattern(label: str, argnums: Any) -> None:
    """Raise an error where `argnums` is a matrix: a pattern is passed by keyword."""
    if len(getattr(argnums, "shape", ())) == 2:
        raise TypeError(
            f"{label}: argnums is a {type(argnums).__name__} of shape {argnums.shape}; write "
            f"pattern=... if it is the pattern, or {label.partition('(')[0]}(f)(x) if it is an "
            f"argument of the function"
        )
