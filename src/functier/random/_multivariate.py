"""Multivariate normal draws that are differentiated by their mean and covariance."""

import warnings

import numpy as np

from .._core.errors import NoRuleError
from .._core.numpy_facts import Value, shape_of
from ._sampling import (
    Draw,
    Size,
    Source,
    as_shape,
    batch_levels,
    find_derivative_level,
    freeze,
    restore_levels,
    sample,
)

FACTORIZATIONS = {"svd", "eigh", "cholesky"}


def normal_vector(
    source: Source, mean: Value, cov: Value, size: Size, check_valid: str, tol: float, method: str
) -> Value:
    """Draw ``mean + A z`` with ``A A^T = cov``, where `mean` or `cov` is a tensor.

    Without derivatives `A` is the factor ``A0`` that `method` gives. With derivatives it is
    ``A0 L``, with the Cholesky factor `L` of ``A0^-1 cov A0^-T``, which is the identity;
    ``A0`` is held fixed. That has the covariance `cov` for all `cov`, and finite derivatives
    also where eigenvalues are equal, which those of the singular vectors are not; for
    "cholesky" it is the derivative of the Cholesky factor itself.
    """
    name = "multivariate_normal"
    levels = batch_levels((mean, cov), name)
    form, n = shape_of(cov), (*shape_of(mean), 0)[0]
    if form != (n, n) or len(shape_of(mean)) != 1:
        raise ValueError(
            f"rng.{name}(...): mean has shape {shape_of(mean)} and cov {form}; they have to be "
            f"(n,) and (n, n) for each example"
        )
    if method not in FACTORIZATIONS or check_valid not in ("warn", "raise", "ignore"):
        raise ValueError(
            f"rng.{name}(...): method={method!r} and check_valid={check_valid!r}; write one of "
            f"'svd', 'eigh', 'cholesky', and of 'warn', 'raise', 'ignore'"
        )
    value = freeze(cov, levels)
    factor, spread, valid = _factorize(value, method, tol)
    if check_valid != "ignore" and not valid:
        text = "covariance is not symmetric positive-semidefinite."  # NumPy's words
        if check_valid == "raise":
            raise ValueError(text)
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    standard = Draw(name, lambda stream, size: stream.standard_normal(size))
    z = sample(source, standard, (), (*as_shape(size), n), near=(mean, cov))
    a = restore_levels(factor, levels)
    level = find_derivative_level((cov,))
    if level is not None:
        if not np.all(np.min(spread, -1) > n * np.finfo(float).eps * np.max(spread, -1)):
            raise NoRuleError(
                f"{level}: cov is singular, and rng.{name}(...) has no derivative with respect to "
                f"it there; write cov + 1e-9 * numpy.eye(n)"
            )
        inverse = restore_levels(np.linalg.inv(factor), levels)
        whole = inverse @ cov @ np.swapaxes(inverse, -1, -2)
        a = a @ np.linalg.cholesky((whole + np.swapaxes(whole, -1, -2)) / 2)
    return z @ np.swapaxes(a, -1, -2) + mean


def _factorize(cov: Value, method: str, tol: float) -> tuple[Value, Value, bool]:
    """Return NumPy's factor of a covariance, the numbers that show if it is singular, and True
    where NumPy accepts the matrix as a covariance.
    """
    if method == "cholesky":
        factor = np.linalg.cholesky(cov)
        return factor, np.diagonal(factor, axis1=-2, axis2=-1) ** 2, True
    if method == "eigh":
        values, vectors = np.linalg.eigh(cov)
        valid = not np.any(values < -tol)
    else:
        vectors, values, right = np.linalg.svd(cov)
        turned = np.swapaxes(right, -1, -2) * values[..., None, :] @ right
        valid = np.allclose(turned, cov, rtol=tol, atol=tol)
    return vectors * np.sqrt(np.abs(values))[..., None, :], values, valid
