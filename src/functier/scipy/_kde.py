"""The twin of `scipy.stats.gaussian_kde`, whose data, weights, bandwidth and points take tensors.

NOTE [SciPy's class with NumPy's code]
    The twin is a subclass of SciPy's class. For plain numbers its methods are SciPy's. Where a
    tensor takes part, the densities are NumPy code: the data and the points are multiplied by the
    inverse of the Cholesky factor of the kernel's covariance, so that the kernel is round.
"""

import math
from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
from scipy import stats

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._core.numpy_facts import Value
from .._core.root import classes_in
from ..numpy._functions import make_new_writable


class gaussian_kde(stats.gaussian_kde):  # type: ignore[misc]
    """`scipy.stats.gaussian_kde`, which takes tensors inside a transform.

    Parameters
    ----------
    dataset : array of shape (d, n), or (n,)
        The n points of d dimensions.
    bw_method : str, number or callable, optional
        The rule for the bandwidth: "scott", "silverman", a factor, or a function of this object
        that returns a factor.
    weights : array of shape (n,), optional
        The weights of the points.

    Raises
    ------
    UnsupportedError
        If `integrate_box` or `resample` of tensors is called.

    Examples
    --------
    >>> import numpy as np
    >>> import functier.scipy.stats as stats
    >>> from functier import grad
    >>> def density(points, x):
    ...     return stats.gaussian_kde(points, bw_method=0.5)(x)[0]
    >>> grad(density)(np.array([0.0, 1.0, 3.0]), 1.5).round(3)
    array([ 0.047,  0.116, -0.042])
    """

    def __init__(self, dataset: Value, bw_method: Any = None, weights: Value = None):
        if not classes_in(dataset, bw_method, weights):
            super().__init__(dataset, bw_method, weights)
            return
        self.dataset = fnp.atleast_2d(fnp.asarray(dataset))
        if not np.size(self.dataset) > 1:
            raise ValueError("`dataset` input should have multiple elements.")
        self.d, self.n = np.shape(self.dataset)
        if weights is not None:
            weights = np.astype(fnp.atleast_1d(fnp.asarray(weights)), float)
            if np.ndim(weights) != 1:
                raise ValueError("`weights` input should be one-dimensional.")
            if np.shape(weights)[0] != self.n:
                raise ValueError("`weights` input should be of length n")
            self._weights = weights / np.sum(weights)
            self._neff = 1 / np.sum(self._weights * self._weights)
        if self.d > self.n:
            raise ValueError(
                f"scipy.stats.gaussian_kde: {self.d} dimensions and {self.n} points: the "
                f"covariance is singular; each column of `dataset` is a point, so the dataset may "
                f"have to be transposed"
            )
        try:
            self.set_bandwidth(bw_method=bw_method)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(
                "scipy.stats.gaussian_kde: the points lie in a subspace of fewer dimensions, so "
                "that their covariance is singular; leave dimensions out"
            ) from error

    # ---- the kernel ----

    def set_bandwidth(self, bw_method: Any = None) -> None:
        if bw_method is not None and classes_in(bw_method):
            if np.ndim(bw_method):
                raise ValueError(
                    "`bw_method` should be 'scott', 'silverman', a scalar or a callable."
                )
            self._bw_method = "use constant"
            self.covariance_factor = lambda: bw_method
            self._compute_covariance()
        else:
            super().set_bandwidth(bw_method)

    def _compute_covariance(self) -> None:
        self.factor = self.covariance_factor()
        if not classes_in(self.dataset, self.weights, self.factor):
            super()._compute_covariance()
            return
        if not hasattr(self, "_data_cho_cov"):
            self._data_covariance = self._covariance_of_data()
            self._data_cho_cov = np.linalg.cholesky(self._data_covariance)
        self.covariance = self._data_covariance * self.factor**2
        self.cho_cov = self._data_cho_cov * self.factor
        scaled = np.diagonal(self.cho_cov) * math.sqrt(2 * math.pi)
        self.log_det = 2 * np.sum(np.log(scaled))

    def _covariance_of_data(self) -> Value:
        data = np.cov(self.dataset, rowvar=True, bias=False, aweights=self.weights)
        return np.reshape(data, (self.d, self.d))

    @property
    def inv_cov(self) -> Value:
        self.factor = self.covariance_factor()
        self._data_covariance = self._covariance_of_data()
        return np.linalg.inv(self._data_covariance) / self.factor**2

    def _is_plain(self, *values: Any) -> bool:
        return not classes_in(self.dataset, self.weights, self.cho_cov, *values)

    # ---- densities ----

    def evaluate(self, points: Value) -> Value:
        if self._is_plain(points):
            return make_new_writable(super().evaluate(points), (points,))
        energies = self._energies(points)
        return np.matmul(np.exp(-energies), self.weights) / self._volume()

    def __call__(self, points: Value) -> Value:
        return self.evaluate(points)

    def pdf(self, x: Value) -> Value:
        return self.evaluate(x)

    def logpdf(self, x: Value) -> Value:
        if self._is_plain(x):
            return make_new_writable(super().logpdf(x), (x,))
        energies = self._energies(x)
        least = np.min(energies, axis=1, keepdims=True)
        total = np.matmul(np.exp(least - energies), self.weights)
        return np.log(total) - least[:, 0] - np.log(self._volume())

    def _energies(self, points: Value) -> Value:
        """Return half the squared distance of each point to each of the data."""
        points = fnp.atleast_2d(fnp.asarray(points))
        d, m = np.shape(points)
        if d != self.d:
            if d != 1 or m != self.d:
                raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")
            points = np.reshape(points, (self.d, 1))
        x, data = (np.linalg.solve(self.cho_cov, v) for v in (points, self.dataset))
        return sum((x[i][:, None] - data[i]) ** 2 for i in range(self.d)) / 2

    def _volume(self) -> Value:
        return (2 * math.pi) ** (self.d / 2) * np.prod(np.diagonal(self.cho_cov))

    # ---- integrals ----

    def integrate_box_1d(self, low: Value, high: Value) -> Value:
        if self._is_plain(low, high):
            return super().integrate_box_1d(low, high)
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        data, deviation = self.dataset[0], np.sqrt(self.covariance[0, 0])
        high, low = ((end - data) / deviation for end in (high, low))
        return np.sum(self.weights * (special.ndtr(high) - special.ndtr(low)))

    def integrate_gaussian(self, mean: Value, cov: Value) -> Value:
        if self._is_plain(mean, cov):
            return super().integrate_gaussian(mean, cov)
        mean = fnp.atleast_1d(np.squeeze(fnp.asarray(mean)))
        cov = fnp.atleast_2d(fnp.asarray(cov))
        if np.shape(mean) != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if np.shape(cov) != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        difference = self.dataset - mean[:, None]
        return np.sum(self.weights * _normal_density(difference, self.covariance + cov))

    def integrate_kde(self, other: Any) -> Value:
        if self._is_plain(other.dataset, other.weights, other.covariance):
            return super().integrate_kde(other)
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        difference = self.dataset[:, :, None] - other.dataset[:, None, :]
        difference = np.reshape(difference, (self.d, self.n * other.n))
        density = _normal_density(difference, self.covariance + other.covariance)
        return np.sum(np.ravel(self.weights[:, None] * other.weights) * density)

    def integrate_box(self, low_bounds: Value, high_bounds: Value, *args: Any, **kw: Any) -> Value:
        if not self._is_plain(low_bounds, high_bounds):
            raise UnsupportedError(
                "scipy.stats.gaussian_kde.integrate_box is not supported for tensors, because "
                "SciPy integrates with random numbers; write integrate_box_1d for one dimension"
            )
        return super().integrate_box(low_bounds, high_bounds, *args, **kw)

    def resample(self, size: Any = None, seed: Any = None) -> Value:
        if not self._is_plain():
            raise UnsupportedError(
                "scipy.stats.gaussian_kde.resample is not supported for tensors; draw "
                "indices i and normal numbers z with functier.random, and write "
                "dataset[:, i] + kde.cho_cov @ z"
            )
        return super().resample(size, seed)

    def marginal(self, dimensions: Any) -> "gaussian_kde":
        if self._is_plain(self.factor):
            return super().marginal(dimensions)
        kept = np.atleast_1d(dimensions)
        if not np.issubdtype(kept.dtype, np.integer):
            raise ValueError(
                "Elements of `dimensions` must be integers - the indices of the marginal "
                "variables being retained."
            )
        if np.any((kept < -self.d) | (kept >= self.d)):
            raise ValueError(f"Dimensions {kept} are invalid for a distribution in {self.d}.")
        kept = kept % self.d
        if len(np.unique(kept)) != len(kept):
            raise ValueError("All elements of `dimensions` must be unique.")
        return gaussian_kde(self.dataset[kept], self.covariance_factor(), self.weights)


def _normal_density(difference: Value, covariance: Value) -> Value:
    """Return the normal density at each column."""
    energies = np.sum(difference * np.linalg.solve(covariance, difference), axis=0) / 2
    root = np.linalg.cholesky(covariance)
    volume = (2 * math.pi) ** (np.shape(difference)[0] / 2) * np.prod(np.diagonal(root))
    return np.exp(-energies) / volume


TWINS: list[tuple[Any, Any]] = [(stats.gaussian_kde, gaussian_kde)]
"""Pairs of an object of SciPy and its twin."""
