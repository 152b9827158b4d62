"""Twins for `scipy.spatial`: trees of points and convex hulls.

NOTE [neighbours are constants]
    SciPy searches among plain values. The distances to the neighbours that it has found, and the
    volume and the area of the hull, are NumPy code of the points.
"""

import math
from typing import Any

import numpy as np
import scipy.spatial as spatial  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._rules.indexing import read_at
from .._rules.scipy.spatial.places import as_constant, look_up
from ._problems import has_tensor


def _points(x: Any) -> Any:
    x = fnp.asarray(x)
    if x.dtype.kind == "c":
        raise TypeError("KDTree does not work with complex data")
    return x if x.dtype == float else np.astype(x, float)


class Tree:
    """The methods of both classes of trees; `_own` has points that are tensors."""

    _own: Any = None

    def __init__(self, data: Any, *args: Any, **options: Any):
        if has_tensor(data):
            self._own = _points(data)
            data = as_constant(self._own, f"scipy.spatial.{type(self).__name__}", "points")
        super().__init__(data, *args, **options)  # type: ignore[call-arg]

    def query(
        self, x: Any, k: Any = 1, eps: float = 0.0, p: float = 2.0,
        distance_upper_bound: float = np.inf, workers: int = 1,
    ) -> Any:  # fmt: skip
        """Return the distances of the nearest points, and their numbers."""
        super_query = super().query  # type: ignore[misc]
        if self._own is None and not has_tensor(x):
            return super_query(x, k, eps, p, distance_upper_bound, workers)
        if getattr(self, "boxsize", None) is not None:
            raise self._refused("query", "a tree with boxsize=", "leave boxsize out")

        def search(x: Any) -> Any:
            return np.asarray(super_query(x, k, eps, p, distance_upper_bound, workers)[1])

        x = _points(x)
        data = self.data
        found = look_up(x, search) if has_tensor(x) else search(x)
        missing = found == np.shape(data)[0]
        near = read_at(data, np.where(missing, 0, found))
        several = np.ndim(found) == np.ndim(x)
        distances = np.linalg.norm((x[..., None, :] if several else x) - near, ord=p, axis=-1)
        return np.where(missing, np.inf, distances), found

    def query_ball_point(self, x: Any, *args: Any, **options: Any) -> Any:
        """Return the numbers of the points within a distance."""
        if has_tensor(x):
            x = as_constant(x, f"scipy.spatial.{type(self).__name__}.query_ball_point", "places")
        return super().query_ball_point(x, *args, **options)  # type: ignore[misc]

    def sparse_distance_matrix(self, *args: Any, **options: Any) -> Any:
        """Return the distances to the points of another tree that are near."""
        if self._own is not None or (args and getattr(args[0], "_own", None) is not None):
            remedy = "write scipy.spatial.distance_matrix"
            raise self._refused("sparse_distance_matrix", "a tree of tensors", remedy)
        return super().sparse_distance_matrix(*args, **options)  # type: ignore[misc]

    @property
    def data(self) -> Any:
        return super().data if self._own is None else self._own  # type: ignore[misc]

    def _refused(self, method: str, what: str, remedy: str) -> UnsupportedError:
        return UnsupportedError(
            f"scipy.spatial.{type(self).__name__}.{method}: {what} is not supported for tensors; "
            f"{remedy}"
        )


class KDTree(Tree, spatial.KDTree):
    __doc__ = spatial.KDTree.__doc__


class cKDTree(Tree, spatial.cKDTree):
    __doc__ = spatial.cKDTree.__doc__


class ConvexHull(spatial.ConvexHull):
    __doc__ = spatial.ConvexHull.__doc__

    def __init__(self, points: Any, incremental: bool = False, qhull_options: Any = None):
        if not has_tensor(points):
            super().__init__(points, incremental, qhull_options)
            return
        if incremental:
            raise UnsupportedError(
                "scipy.spatial.ConvexHull: incremental=True is not supported for tensors; give "
                "all points at once"
            )
        points = _points(points)
        plain = as_constant(points, "scipy.spatial.ConvexHull", "points")
        super().__init__(plain, False, qhull_options)
        d = np.shape(plain)[1]
        facets = points[np.asarray(self.simplices)]  # (facet, vertex, coordinate)
        spokes = facets - np.mean(plain, axis=0)
        edges = facets[:, 1:] - facets[:, :1]
        gram = np.matmul(edges, np.swapaxes(edges, -1, -2))
        self.volume = np.sum(np.abs(np.linalg.det(spokes))) / math.factorial(d)
        self.area = np.sum(np.sqrt(np.linalg.det(gram))) / math.factorial(d - 1)
        self._points = points

    @property
    def points(self) -> Any:
        own = getattr(self, "_points", None)
        return super().points if own is None or not has_tensor(own) else own


TWINS: list[tuple[Any, Any]] = [
    (spatial.KDTree, KDTree), (spatial.cKDTree, cKDTree), (spatial.ConvexHull, ConvexHull),
]  # fmt: skip
"""Pairs of an object of SciPy and its twin."""
