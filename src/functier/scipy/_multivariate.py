"""Twins of the distributions of `scipy.stats` of vectors.

SciPy's code, run on twins, checks and shapes the parameters. It goes on with the eigenvectors of
the covariance, whose derivative does not exist where two eigenvalues are equal. Here a covariance
that is a tensor has a Cholesky factor, and SciPy gives the root of a plain one.
"""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._core.numpy_facts import Value
from .._core.root import classes_in
from .._core.tensor import Tensor
from .._cpython.functions import copy_function
from .._mutation.array import settle
from .._rules.constructors import check_values
from ._distributions import takes_tensors
from ._namespaces import twin_of
from ._private import special

LOG_2PI = np.log(2 * np.pi)


def twin_in_copy(value: Any, path: str) -> Any:
    return fnp if value is np else twin_of(value, path)


def scipys(func: Any) -> FunctionType:
    """Return SciPy's code of a function, run on twins."""
    return copy_function(func, twin_in_copy)


def squeezed(x: Value) -> Value:
    return np.squeeze(x)


def distance(dev: Value, cov: Any, rank: int) -> tuple[Value, Value]:
    """Return the squared distance of vectors from 0, and the logarithmic determinant.

    `cov` is a covariance of SciPy or a matrix, of which the lower triangle counts.
    """
    if isinstance(cov, stats.Covariance):
        if np.any(cov.rank < rank):
            raise UnsupportedError(
                "scipy.stats: a singular covariance is not supported for tensors; write the "
                "density of the coordinates in which it is regular"
            )
        root = cov.whiten(np.eye(rank))
        return np.sum(np.square(np.matmul(dev, root)), axis=-1), cov.log_pdet
    factor = np.linalg.cholesky(cov)
    white = np.linalg.solve(factor, np.moveaxis(dev, -1, 0).reshape(rank, -1))
    square = np.sum(np.square(white), axis=0).reshape(dev.shape[:-1])
    return square, 2 * np.sum(np.log(np.linalg.diagonal(factor)))


def covariance(self: Any, mean: Value, cov: Any, allow_singular: bool) -> tuple[int, Value, Any]:
    """Return the dimension, the mean and the covariance: SciPy's object where it is plain."""
    original = type(self).original
    if isinstance(cov, stats.Covariance):
        dim = cov.shape[-1]
        mean = np.zeros(dim) if mean is None else fnp.asarray(mean, dtype=float)
        return dim, mean, cov
    if classes_in(cov):
        process = scipys(original._process_parameters_psd)
        return process(self, None, mean, cov)
    dim, mean, _ = scipys(original._process_parameters_psd)(self, None, mean, cov)
    return dim, mean, original._process_parameters(self, np.zeros(dim), cov, allow_singular)[2]


class Normal:
    """The methods of `multivariate_normal`."""

    def logpdf(
        self: Any, x: Value, mean: Any = None, cov: Any = 1, allow_singular: bool = False
    ) -> Value:
        dim, mean, cov = covariance(self, mean, cov, allow_singular)
        x = scipys(type(self).original._process_quantiles)(self, x, dim)
        square, log_det = distance(x - mean, cov, dim)
        return squeezed(-0.5 * (dim * LOG_2PI + log_det + square))

    def pdf(self: Any, *args: Any, **kwargs: Any) -> Value:
        return np.exp(self.logpdf(*args, **kwargs))

    def entropy(self: Any, mean: Any = None, cov: Any = 1) -> Value:
        dim, _, cov = covariance(self, mean, cov, True)
        return 0.5 * (dim * (LOG_2PI + 1) + distance(np.zeros(dim), cov, dim)[1])


def student_parameters(self: Any, loc: Any, shape: Any, df: Any) -> tuple[int, Any, Any, Any]:
    """Return the dimension, and the parameters of Student's distribution with their checks."""
    dim, loc, shape, _ = scipys(type(self).original._process_parameters)(self, loc, shape, 1)
    df = fnp.asarray(1 if df is None else df, dtype=float)
    passes = lambda v: np.all(np.greater(v, 0))  # noqa: E731
    return dim, loc, shape, check_values(df, passes, "'df' must be greater than zero.")


class Student:
    """The methods of `multivariate_t`."""

    def logpdf(self: Any, x: Value, loc: Any = None, shape: Any = 1, df: Any = 1) -> Value:
        dim, loc, matrix, df = student_parameters(self, loc, shape, df)
        x = scipys(type(self).original._process_quantiles)(self, x, dim)
        square, log_det = distance(x - loc, matrix, dim)
        normal = -0.5 * (dim * LOG_2PI + log_det + square)
        finite = np.isfinite(df)
        df = np.where(finite, df, 1.0)
        half = 0.5 * (df + dim)
        level = special.gammaln(half) - special.gammaln(0.5 * df)
        level = level - dim / 2 * np.log(df * np.pi) - 0.5 * log_det
        return squeezed(np.where(finite, level - half * np.log1p(square / df), normal))

    def pdf(self: Any, x: Value, loc: Any = None, shape: Any = 1, df: Any = 1) -> Value:
        return np.exp(self.logpdf(x, loc, shape, df))

    def _frozen(
        self: Any,
        loc: Any = None,
        shape: Any = 1,
        df: Any = 1,
        allow_singular: bool = False,
        seed: Any = None,
    ) -> tuple:
        """Return what a frozen distribution keeps: `entropy` finds the dimension in the shape."""
        return student_parameters(self, loc, shape, df)[1:]

    def entropy(self: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Value:
        dim, _, shape, df = student_parameters(self, None, shape, df)
        log_det = distance(np.zeros(dim), shape, dim)[1]
        large = np.greater(df, 1e5)  # where the formula cancels, the first terms in 1 / df are it
        far = 0.5 * dim * (LOG_2PI + 1) + dim / df * (1 - (dim - 2) / (4 * df))
        df = np.where(large, 1.0, df)
        half, whole = 0.5 * df, 0.5 * (df + dim)
        level = special.gammaln(half) - special.gammaln(whole) + 0.5 * dim * np.log(df * np.pi)
        near = level + whole * (special.psi(whole) - special.psi(half))
        return np.where(large, far, near) + 0.5 * log_det


def concentrations(alpha: Any) -> Value:
    """Return the parameters of a Dirichlet distribution with their checks."""
    alpha = fnp.asarray(alpha)
    stats.dirichlet.mean(np.ones(alpha.shape))  # SciPy's error where the shape is wrong
    passes = lambda v: np.all(np.greater(v, 0))  # noqa: E731
    return check_values(alpha, passes, "All parameters must be greater than 0")


def proportions(x: Any, alpha: Value) -> Value:
    """Return numbers whose sum is 1, with their checks; the last one may be missing."""
    x, n = fnp.asarray(x), alpha.shape[0]
    stats.dirichlet.logpdf(np.broadcast_to(1 / n, x.shape), np.ones(n))  # SciPy's error for a shape
    if x.shape[0] != n:
        x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
    for passes, message in SIMPLEX:
        x = check_values(x, passes, message)
    check_values(
        np.sum(x, axis=0), is_one, "The input vector 'x' must lie within the normal simplex."
    )
    column = np.reshape(alpha, (-1, *(1,) * (x.ndim - 1)))
    bad = np.logical_and(np.equal(x, 0), np.less(column, 1))
    text = "Each entry in 'x' must be greater than zero if its alpha is less than one."
    return np.where(check_values(bad, lambda v: not np.any(v), text), np.nan, x)


def is_one(total: Value) -> Value:
    return np.all(np.absolute(total - 1) <= 1e-9)


SIMPLEX: tuple[tuple[Callable, str], ...] = (
    (
        lambda x: np.all(np.greater_equal(x, 0)),
        "Each entry in 'x' must be greater than or equal to zero.",
    ),
    (lambda x: np.all(np.less_equal(x, 1)), "Each entry in 'x' must be smaller or equal one."),
)


class Dirichlet:
    """The methods of `dirichlet`."""

    def logpdf(self: Any, x: Any, alpha: Any) -> Value:
        alpha = concentrations(alpha)
        x = proportions(x, alpha)
        column = np.reshape(alpha, (-1, *(1,) * (x.ndim - 1)))
        return squeezed(np.sum(special.xlogy(column - 1, x), axis=0) - log_beta(alpha))

    def pdf(self: Any, x: Any, alpha: Any) -> Value:
        return np.exp(self.logpdf(x, alpha))

    def mean(self: Any, alpha: Any) -> Value:
        alpha = concentrations(alpha)
        return squeezed(alpha / np.sum(alpha))

    def cov(self: Any, alpha: Any) -> Value:
        alpha = concentrations(alpha)
        a = alpha / np.sum(alpha)
        return squeezed((np.diag(a) - np.outer(a, a)) / (np.sum(alpha) + 1))

    def var(self: Any, alpha: Any) -> Value:
        alpha = concentrations(alpha)
        a = alpha / np.sum(alpha)
        return squeezed(a * (1 - a) / (np.sum(alpha) + 1))

    def entropy(self: Any, alpha: Any) -> Value:
        alpha = concentrations(alpha)
        total, parts = np.sum(alpha), np.sum((alpha - 1) * special.psi(alpha))
        return log_beta(alpha) + (total - alpha.shape[0]) * special.psi(total) - parts


def log_beta(alpha: Value) -> Value:
    return np.sum(special.gammaln(alpha)) - special.gammaln(np.sum(alpha))


def refused(path: str) -> Callable:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"{path} does not take tensors; write it with functions of NumPy")

    return method


def twin_methods(original: type, own: dict[str, Callable]) -> dict[str, Any]:
    """Return the methods of a twin: `own`, and those of SciPy that do not take tensors."""
    name = original.__name__.removesuffix("_gen")
    made = {n: as_call(m, name) for n, m in own.items() if n[0] != "_"}
    for other in ("cdf", "logcdf", "rvs", "fit", "marginal", "mean", "var", "cov"):
        if hasattr(original, other) and other not in made:
            made[other] = refused(f"scipy.stats.{name}.{other}")
    return {n: takes_tensors(m, getattr(original, n)) for n, m in made.items()}


def as_call(method: Callable, name: str) -> Callable:
    """Return `method`, of which a level that notes calls has SciPy's own as one call.

    So a program computes what SciPy computes of plain arguments, to the last bit.
    """

    def function(*args: Any, **kwargs: Any) -> Any:
        return getattr(getattr(stats, name), method.__name__)(*args, **kwargs)

    function.__name__ = function.__qualname__ = f"{name}_{method.__name__}"
    globals()[function.__name__] = function  # where a program finds it

    def chosen(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = settle(args), settle(kwargs)
        inner: Any = (*classes_in(*args, *kwargs.values()), Tensor)[0]
        level = inner.level
        if level.depth and level.kind.guards:
            return level.missing(function, args, kwargs)
        return method(self, *args, **kwargs)

    return chosen


def frozen_methods(frozen: type, twin: Any) -> dict[str, Any]:
    """Return the methods of a frozen distribution: the twin's, of what it was given.

    They leave out what a method does not know, such as ``allow_singular``.
    """

    def method(name: str) -> Callable:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            given, named = self.given
            if not self.of_tensors and not classes_in(*args, *kwargs.values()):
                return getattr(frozen, name)(self, *args, **kwargs)
            known = inspect.signature(getattr(original, name)).parameters
            given, named = given[: len(known)], {k: v for k, v in named.items() if k in known}
            return getattr(twin, name)(*args, *given, **kwargs, **named)

        return call

    original = type(twin).original
    names = ("logpdf", "pdf", "cdf", "logcdf", "rvs", "entropy", "mean", "var", "cov", "marginal")
    return {n: method(n) for n in names if callable(getattr(frozen, n, None))}


def make_twin(original: Any, own: dict[str, Callable], example: list[float]) -> Any:
    """Return the twin of a distribution of SciPy; `example` is a parameter that it takes."""
    kind, frozen = type(original), type(original(example))
    members = {"__module__": "functier.scipy.stats", "__doc__": kind.__doc__, "original": kind}
    twin_class: Any = type(kind.__name__, (kind,), {**members, **twin_methods(kind, own)})
    twin = object.__new__(twin_class)
    twin.__dict__ = original.__dict__
    methods = frozen_methods(frozen, twin)
    made: Any = type(frozen.__name__, (frozen,), {**members, **methods})

    def freeze(self: Any, *args: Any, **kwargs: Any) -> Any:
        of_tensors = bool(classes_in(*args, *kwargs.values()))
        args = (*args[:1], *map(_copy_matrix, args[1:2]), *args[2:])
        kwargs = {k: _copy_matrix(x) if k in ("cov", "shape") else x for k, x in kwargs.items()}
        if of_tensors:  # which SciPy's class cannot hold
            found = object.__new__(made)
        else:
            found = original(*args, **kwargs)
            if type(found) is not frozen:  # a distribution of another name is the limit
                return found
            found.__class__ = made
        given = args, {k: v for k, v in kwargs.items() if k not in OPTIONS}
        keep = own.get("_frozen")
        found.of_tensors = of_tensors
        found.given = (keep(self, *args, **kwargs), {}) if keep else given
        return found

    twin_class.__call__ = freeze
    twin_class.__reduce__ = lambda self: (find_twin, (kind.__name__,))
    return twin


def _copy_matrix(x: Any) -> Any:
    """Return a matrix as it is now: SciPy factors it when the distribution is made."""
    return fnp.array(x) if np.ndim(x) else x


OPTIONS = {"seed", "maxpts", "abseps", "releps"}
"""Arguments of a frozen distribution beyond the parameters."""


def find_twin(name: str) -> Any:
    """Return the twin whose class has a name, by which it is pickled."""
    return next(twin for _, twin in TWINS if type(twin).__name__ == name)


TWINS: list[tuple[Any, Any]] = [
    (original, make_twin(original, dict(vars(methods)), example))
    for original, methods, example in (
        (stats.multivariate_normal, Normal, [0.0]),
        (stats.multivariate_t, Student, [0.0]),
        (stats.dirichlet, Dirichlet, [1.0, 1.0]),
    )
]
