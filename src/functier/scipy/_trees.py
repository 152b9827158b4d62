"""Twins for `scipy.spatial`: trees of points, convex hulls and triangulations.

NOTE [neighbours are constants]
    SciPy searches among plain values. The distances to the neighbours that it has found, and the
    volume and the area of the hull, are NumPy code of the points.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial as spatial  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._rules.indexing import read_at
from .._transforms.stop_gradient import stop_gradient
from ._problems import has_tensor
from ._rules.spatial.places import look_up, look_up_among
from ._sets_of_points import (
    NOTHING,
    as_points,
    for_plain_points,
    plain_points,
    refused,
    shared_answer,
)


class Tree:
    """The methods of both classes of trees; `_own` has points that are tensors.

    `_each` tells that the points differ from example to example. The object then holds those of
    one: see NOTE [an object for each example] in `_sets_of_points`.
    """

    _own: Any = None
    _each = False
    _plain: Any

    def __init__(self, data: Any, *args: Any, **options: Any):
        if has_tensor(data):
            self._own = as_points(data, "KDTree")
            data, self._each = plain_points(self._own, f"scipy.spatial.{type(self).__name__}")
            self._made: tuple = args, options, {}
        super().__init__(data, *args, **options)  # type: ignore[call-arg]

    def _of(self, points: Any) -> Any:
        """Return SciPy's tree of the points of an example."""
        if not self._each:
            return self
        args, options, trees = self._made
        key = points.tobytes()
        if key not in trees:
            trees[key] = self._plain(points, *args, **options)
        return trees[key]

    @property
    def _operand(self) -> Any:
        return self._own if self._each else NOTHING

    def _name(self, method: str) -> str:
        return f"scipy.spatial.{type(self).__name__}.{method}"

    def query(
        self, x: Any, k: Any = 1, eps: float = 0.0, p: float = 2.0,
        distance_upper_bound: float = np.inf, workers: int = 1,
    ) -> Any:  # fmt: skip
        """Return the distances of the nearest points, and their numbers."""
        rest = k, eps, p, distance_upper_bound, workers
        if self._own is None and not has_tensor(x):
            return super().query(x, *rest)  # type: ignore[misc]
        if getattr(self, "boxsize", None) is not None:
            raise self._refused("query", "a tree with boxsize=", "leave boxsize out")

        def search(points: Any, x: Any, _: Any) -> Any:
            return np.asarray(self._plain.query(self._of(points), x, *rest)[1])

        x = as_points(x, "KDTree")
        data = self.data
        if self._each:
            found = look_up_among(self._own, x, NOTHING, search, self._name("query"))
        elif has_tensor(x):
            found = look_up(x, lambda x: search(None, x, None))
        else:
            found = search(None, x, None)
        missing = found == np.shape(data)[0]
        near = read_at(data, np.where(missing, 0, found))
        several = np.ndim(found) == np.ndim(x)
        distances = np.linalg.norm((x[..., None, :] if several else x) - near, ord=p, axis=-1)
        return np.where(missing, np.inf, distances), found

    def query_ball_point(
        self, x: Any, r: Any, p: float = 2.0, eps: float = 0.0, workers: int = 1,
        return_sorted: Any = None, return_length: bool = False,
    ) -> Any:  # fmt: skip
        """Return the numbers of the points within a distance."""
        rest = p, eps, workers, return_sorted, return_length
        if not self._each and not has_tensor(x, r):
            return super().query_ball_point(x, r, *rest)  # type: ignore[misc]

        def ask(points: Any, x: Any, r: Any) -> Any:
            return self._plain.query_ball_point(self._of(points), x, r, *rest)

        operands = self._operand, fnp.asarray(x), fnp.asarray(r)
        name = self._name("query_ball_point")
        if return_length:
            return look_up_among(*operands, lambda *own: np.asarray(ask(*own)), name)
        return shared_answer(name, ask, *operands)

    def query_pairs(self, r: Any, *args: Any, **options: Any) -> Any:
        """Return the pairs of points within a distance."""
        if not self._each and not has_tensor(r):
            return super().query_pairs(r, *args, **options)  # type: ignore[misc]

        def ask(points: Any, _: Any, r: Any) -> Any:
            return self._plain.query_pairs(self._of(points), float(r), *args, **options)

        operands = self._operand, NOTHING, fnp.asarray(r)
        return shared_answer(self._name("query_pairs"), ask, *operands)

    def query_ball_tree(self, other: Any, r: Any, *args: Any, **options: Any) -> Any:
        """Return the numbers of the points of another tree within a distance of each point."""
        ask, operands = self._with("query_ball_tree", other, r, args, options)
        if operands is None:
            return super().query_ball_tree(other, r, *args, **options)  # type: ignore[misc]
        return shared_answer(
            self._name("query_ball_tree"), lambda *own: ask(*own[:2], float(own[2])), *operands
        )

    def count_neighbors(self, other: Any, r: Any, *args: Any, **options: Any) -> Any:
        """Return how many pairs of points of two trees are within distances."""
        if has_tensor(*args, *_inside(options.get("weights"))):
            remedy = "sum them with the truths of numpy.less(scipy.spatial.distance_matrix(...), r)"
            raise self._refused("count_neighbors", "weights=", remedy)
        ask, operands = self._with("count_neighbors", other, r, args, options)
        if operands is None:
            return super().count_neighbors(other, r, *args, **options)  # type: ignore[misc]
        name = self._name("count_neighbors")
        return look_up_among(*operands, lambda *own: np.asarray(ask(*own)), name)

    def _with(
        self, method: str, other: Any, r: Any, args: tuple, options: dict
    ) -> tuple[Callable, tuple | None]:
        """Return a method for an example of this and another tree, and the operands of it.

        There are none where both trees have plain points.
        """
        each = isinstance(other, Tree) and other._each

        def ask(points: Any, others: Any, r: Any) -> Any:
            tree = other._of(others) if each else other
            return getattr(self._plain, method)(self._of(points), tree, r, *args, **options)

        if not self._each and not each and not has_tensor(r):
            return ask, None
        return ask, (self._operand, other._own if each else NOTHING, fnp.asarray(r))

    def sparse_distance_matrix(self, other: Any, *args: Any, **options: Any) -> Any:
        """Return the distances to the points of another tree that are near."""
        if self._own is not None or getattr(other, "_own", None) is not None:
            remedy = "write scipy.spatial.distance_matrix"
            raise self._refused("sparse_distance_matrix", "a tree of tensors", remedy)
        return super().sparse_distance_matrix(other, *args, **options)  # type: ignore[misc]

    @property
    def data(self) -> Any:
        return super().data if self._own is None else self._own  # type: ignore[misc]

    @property
    def mins(self) -> Any:
        return super().mins if self._own is None else np.min(self._own, axis=0)  # type: ignore[misc]

    @property
    def maxes(self) -> Any:
        return super().maxes if self._own is None else np.max(self._own, axis=0)  # type: ignore[misc]

    @property
    def indices(self) -> Any:
        self._check_shared("indices")
        return super().indices  # type: ignore[misc]

    @property
    def tree(self) -> Any:
        self._check_shared("tree")
        return super().tree  # type: ignore[misc]

    def _check_shared(self, name: str) -> None:
        """Raise where each example has a tree, for an attribute that a single one has."""
        if self._each:
            remedy = "write functier.sequential_vmap for the function that asks for it"
            raise self._refused(name, "a tree of points that differ between examples", remedy)

    def _refused(self, method: str, what: str, remedy: str) -> UnsupportedError:
        return refused(f"{type(self).__name__}.{method}", what, remedy)


def _inside(weights: Any) -> tuple:
    return weights if isinstance(weights, tuple) else (weights,)


class KDTree(Tree, spatial.KDTree):
    __doc__ = spatial.KDTree.__doc__
    _plain = spatial.KDTree


class cKDTree(Tree, spatial.cKDTree):
    __doc__ = spatial.cKDTree.__doc__
    _plain = spatial.cKDTree


class Facets:
    """The common part of a hull and a triangulation: the facets are the same for all examples.

    `_own` has the points.
    """

    _own: Any = None
    _each = False
    _plain: Any

    def __init__(self, points: Any, *args: Any, **options: Any):
        name = type(self).__name__
        if not has_tensor(points):
            super().__init__(points, *args, **options)  # type: ignore[call-arg]
            return
        if options.get("incremental") or self._is_incremental(args):
            raise refused(name, "incremental=True", "give all points at once")
        own = as_points(points, name)
        plain, self._each = plain_points(own, f"scipy.spatial.{name}")
        self._made = args, options
        if self._each:
            ask = lambda points, *_: self._plain(points, *args, **options)  # noqa: E731
            plain = shared_answer(f"scipy.spatial.{name}", ask, own, NOTHING, NOTHING).points
        super().__init__(plain, *args, **options)  # type: ignore[call-arg]
        self._own = own
        self.min_bound, self.max_bound = np.min(own, axis=0), np.max(own, axis=0)
        self._measure()

    def _is_incremental(self, args: tuple) -> bool:
        return bool(args and args[0])

    def _measure(self) -> None:
        """Note what follows from the points and the facets."""

    @property
    def points(self) -> Any:
        own = self._own
        return super().points if own is None or not has_tensor(own) else own  # type: ignore[misc]


class ConvexHull(Facets, spatial.ConvexHull):
    __doc__ = spatial.ConvexHull.__doc__
    _plain = spatial.ConvexHull

    def _measure(self) -> None:
        points = self._own
        d = np.shape(points)[1]
        facets = points[np.asarray(self.simplices)]  # (facet, vertex, coordinate)
        inside = stop_gradient(np.mean(points, axis=0))
        spokes = facets - inside
        edges = facets[:, 1:] - facets[:, :1]
        gram = np.matmul(edges, np.swapaxes(edges, -1, -2))
        self.volume = np.sum(np.abs(np.linalg.det(spokes))) / math.factorial(d)
        self.area = np.sum(np.sqrt(np.linalg.det(gram))) / math.factorial(d - 1)
        columns = [np.delete(np.arange(d), j) for j in range(d)]
        normals = np.stack(
            [(-1) ** j * np.linalg.det(edges[..., c]) for j, c in enumerate(columns)], -1
        )
        normals = normals / np.linalg.norm(normals, axis=-1, keepdims=True)
        outward = np.sum(normals * spokes[:, 0], axis=-1, keepdims=True) > 0
        normals = np.where(outward, normals, -normals)
        offsets = -np.sum(normals * facets[:, 0], axis=-1, keepdims=True)
        self.equations = np.concatenate([normals, offsets], axis=-1)


class Delaunay(Facets, spatial.Delaunay):
    __doc__ = spatial.Delaunay.__doc__
    _plain = spatial.Delaunay
    equations, paraboloid_scale, paraboloid_shift = map(
        for_plain_points, ("equations", "paraboloid_scale", "paraboloid_shift")
    )

    def _is_incremental(self, args: tuple) -> bool:
        return len(args) > 1 and bool(args[1])

    @property
    def transform(self) -> Any:
        """The maps from coordinates to the barycentric ones of each simplex."""
        if self._own is None:
            return super().transform
        corners = self._own[np.asarray(self.simplices)]
        last = corners[:, -1:]
        edges = np.swapaxes(corners[:, :-1] - last, -1, -2)
        return np.concatenate([np.linalg.inv(edges), last], axis=1)

    def find_simplex(self, xi: Any, bruteforce: bool = False, tol: Any = None) -> Any:
        """Return the numbers of the simplices that contain points, or -1."""
        if self._own is None and not has_tensor(xi):
            return super().find_simplex(xi, bruteforce, tol)
        base = self._plain
        if self._each:
            args, options = self._made

            def search(points: Any, x: Any, _: Any) -> Any:
                return base.find_simplex(base(points, *args, **options), x, bruteforce, tol)

            name = "scipy.spatial.Delaunay.find_simplex"
            return look_up_among(self._own, fnp.asarray(xi), NOTHING, search, name)
        plain = (
            base(self._points, *self._made[0], **self._made[1]) if self._own is not None else self
        )
        if not has_tensor(xi):
            return plain.find_simplex(xi, bruteforce, tol)
        return look_up(fnp.asarray(xi), lambda x: base.find_simplex(plain, x, bruteforce, tol))

    def plane_distance(self, xi: Any) -> Any:
        """Return the distances of points to the planes of the simplices."""
        self._refuse("plane_distance", xi)
        return super().plane_distance(xi)

    def lift_points(self, x: Any) -> Any:
        """Return points on the paraboloid."""
        self._refuse("lift_points", x)
        return super().lift_points(x)

    def _refuse(self, method: str, x: Any) -> None:
        if self._own is not None or has_tensor(x):
            remedy = "write scipy.spatial.distance.cdist for distances"
            raise refused(f"Delaunay.{method}", "a tensor", remedy)


TWINS: list[tuple[Any, Any]] = [
    (spatial.KDTree, KDTree), (spatial.cKDTree, cKDTree), (spatial.ConvexHull, ConvexHull),
    (spatial.Delaunay, Delaunay),
]  # fmt: skip
"""Pairs of an object of SciPy and its twin."""
