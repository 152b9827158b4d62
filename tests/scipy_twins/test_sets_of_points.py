"""Trees, hulls and triangulations of points that differ from example to example."""

import numpy as np
import pytest
import scipy.spatial as plain

import functier as ft
import functier.numpy as fnp
from faults.planted import scipy as faulty
from functier.scipy import spatial
from support import differences
from support.differences import check

POINTS = np.array([[0.0, 0.1], [2.0, 0.2], [0.3, 2.0], [2.2, 2.4], [0.85, 1.05], [1.4, 0.4]])
PLACES = np.array([[0.8, 1.2], [2.0, 2.0], [0.1, 0.3]])
NESTINGS = [
    ("grad",), ("jvp",), ("vmap",), ("vmap", "grad"), ("grad", "vmap"), ("vmap", "jvp"),
]  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::functier.FallbackWarning")


def barycentric(s, np, p):
    t = s.Delaunay(p)
    k = t.find_simplex(PLACES)
    maps = t.transform[k]
    b = np.einsum("kij,kj->ki", maps[:, :2], PLACES - maps[:, 2])
    return np.sum(b**2) + np.sum(k)


NUMBERS = {
    "the nearest": lambda s, np, p: s.KDTree(p).query(PLACES)[0],
    "of its own": lambda s, np, p: s.cKDTree(p).query(p + 0.1)[0],
    "several": lambda s, np, p: s.KDTree(p, leafsize=2).query(PLACES, k=3)[0],
    "numbers": lambda s, np, p: p[s.KDTree(p).query(PLACES, k=2)[1]] ** 2,
    "a list of numbers": lambda s, np, p: s.KDTree(p).query(p[0], k=[2])[0],
    "a norm": lambda s, np, p: s.KDTree(p).query(PLACES, p=1)[0],
    "within a bound": lambda s, np, p: np.minimum(
        s.KDTree(p).query(PLACES, distance_upper_bound=0.5)[0], 7.0
    ),
    "sorted": lambda s, np, p: np.sort(s.KDTree(p).query(p, k=2)[0][:, 1])[::-1],
    "bounds": lambda s, np, p: s.KDTree(p).maxes - s.KDTree(p).mins,
    "the data": lambda s, np, p: np.asarray(s.KDTree(p).data) ** 2,
    "a distance that moves": lambda s, np, p: s.KDTree(POINTS).query(p[:2] + 0.1)[0] * p[0, 1],
    "lengths": lambda s, np, p: (
        np.sum(p) * s.KDTree(p).query_ball_point(PLACES, 1.037, return_length=True)
    ),
    "counts": lambda s, np, p: (
        p[0, 1] * s.KDTree(p).count_neighbors(s.KDTree(PLACES), [0.537, 1.037])
    ),
    "counts of itself": lambda s, np, p: p[0, 1] * s.KDTree(p).count_neighbors(s.KDTree(p), 1.0),
}
"""Functions with arrays of numbers alone, which run in any batch."""

ANSWERS = {
    "lists": lambda s, np, p: np.sum(p[s.KDTree(p).query_ball_point(PLACES[0], 1.037)] ** 2),
    "several lists": lambda s, np, p: sum(
        np.sum(p[np.array(i, int)] ** 2) for i in s.KDTree(p).query_ball_point(PLACES, 1.137)
    ),
    "pairs": lambda s, np, p: sum(
        np.sum((p[i] - p[j]) ** 2) for i, j in s.KDTree(p).query_pairs(1.2)
    ),
    "an array of pairs": lambda s, np, p: np.sum(
        p[s.cKDTree(p).query_pairs(1.2, output_type="ndarray")] ** 3
    ),
    "of two trees": lambda s, np, p: sum(
        np.sum(p[i]) ** 2 for i in s.KDTree(PLACES).query_ball_tree(s.KDTree(p), 1.037)
    ),
    "a volume": lambda s, np, p: s.ConvexHull(p).volume * s.ConvexHull(p).area,
    "corners": lambda s, np, p: np.sum(p[s.ConvexHull(p).vertices] ** 2),
    "equations": lambda s, np, p: np.sum(s.ConvexHull(p).equations ** 3),
    "bounds of a hull": lambda s, np, p: s.ConvexHull(p).min_bound * s.ConvexHull(p).max_bound,
    "the hull's points": lambda s, np, p: s.ConvexHull(p).points ** 2,
    "triangles": lambda s, np, p: np.sum(
        np.linalg.norm(p[s.Delaunay(p).simplices][:, 0] - p[s.Delaunay(p).simplices][:, 1], axis=1)
    ),
    "coordinates in triangles": barycentric,
}
"""Functions with lists or facets, which examples have to share."""

PROGRAMS = {**NUMBERS, **ANSWERS}
OTHERS = np.array([[0.4, 1.9], [1.1, 0.3], [2.1, 0.1], [0.2, 0.0], [1.9, 2.2], [1.0, 1.1]])
BATCH = np.stack([POINTS, OTHERS, POINTS + 0.01, OTHERS[::-1] * 1.01])


@pytest.mark.parametrize("nesting", NESTINGS, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_points_of_examples_that_are_alike(name, nesting, monkeypatch):
    near = lambda names, x: np.stack([x, x + 1e-5]) if "vmap" in names else x.copy()  # noqa: E731
    monkeypatch.setattr(differences, "inputs", near)
    f = PROGRAMS[name]
    check(nesting, lambda p: f(spatial, fnp, p), POINTS, lambda p: f(plain, np, p))


@pytest.mark.parametrize("name", PROGRAMS)
def test_points_of_examples_that_differ(name):
    f = PROGRAMS[name]
    wanted = np.stack([f(plain, np, p) for p in BATCH])
    branches = "error" if name in NUMBERS else "split"
    g = lambda p: f(spatial, fnp, p)  # noqa: E731
    np.testing.assert_allclose(ft.vmap(g, branches=branches)(BATCH), wanted, rtol=1e-13)
    total = lambda p: np.sum(np.sin(g(p)))  # noqa: E731
    found = ft.vmap(ft.grad(total), branches=branches)(BATCH)
    np.testing.assert_allclose(found, [ft.grad(total)(p) for p in BATCH], rtol=1e-12, atol=1e-14)
    outside = ft.grad(lambda b: np.sum(np.sin(ft.vmap(g, branches=branches)(b))))(BATCH)
    np.testing.assert_allclose(outside, found, rtol=1e-12, atol=1e-14)
    if name in ANSWERS and name not in ("bounds of a hull", "the hull's points"):
        with pytest.raises(ft.DataDependentError, match=r"scipy.spatial.*branches='split'"):
            ft.vmap(g)(BATCH)


def test_the_remedy_of_the_message_works():
    near = lambda s, p: np.sum(p[s.KDTree(p).query_ball_point(PLACES[0], 1.037)])  # noqa: E731
    f = ft.sequential_vmap(lambda p: near(spatial, p))
    wanted = [near(plain, p) for p in BATCH]
    np.testing.assert_allclose(ft.vmap(f)(BATCH), wanted)


def test_orders_and_forms_are_those_of_scipy():
    def f(p):
        tree, own = spatial.KDTree(p), plain.KDTree(POINTS)
        assert tree.query_ball_point(PLACES[0], 2.0) == own.query_ball_point(PLACES[0], 2.0)
        found, wanted = [t.query_ball_point(PLACES, [1.0, 1.5, 0.1]) for t in (tree, own)]
        assert found.tolist() == wanted.tolist() and found.dtype == object
        assert tree.query_pairs(1.5) == own.query_pairs(1.5)
        assert type(tree.query_ball_point(PLACES[0], 0.8 + 0.0 * p[0, 0])) is list
        assert tree.query_ball_tree(own, 0.5) == own.query_ball_tree(own, 0.5)
        assert (tree.n, tree.m, tree.leafsize) == (own.n, own.m, own.leafsize)
        t = spatial.Delaunay(p)
        assert t.simplices.tolist() == plain.Delaunay(POINTS).simplices.tolist()
        return p

    ft.jvp(f, (POINTS,), (POINTS,))
    ft.vmap(f)(np.stack([POINTS, POINTS]))
    ft.vmap(f)(np.stack([POINTS, POINTS + 1e-9]))


REFUSED = {
    "weights": lambda p: spatial.KDTree(p).count_neighbors(
        spatial.KDTree(p), 1.0, weights=(p[:, 0], p[:, 1])
    ),
    "a sparse matrix": lambda p: spatial.KDTree(p).sparse_distance_matrix(spatial.KDTree(p), 1.0),
    "a sparse matrix by a keyword": lambda p: spatial.KDTree(POINTS).sparse_distance_matrix(
        other=spatial.KDTree(p), max_distance=1.0
    ),
    "a box": lambda p: spatial.KDTree(p, boxsize=9.0).query(PLACES)[0],
    "planes": lambda p: spatial.Delaunay(p).plane_distance(PLACES),
    "lifted": lambda p: spatial.Delaunay(p).lift_points(PLACES),
    "equations": lambda p: spatial.Delaunay(p).equations,
    "incremental": lambda p: spatial.ConvexHull(p, incremental=True).volume,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_by_name(name):
    with pytest.raises(ft.UnsupportedError, match=r"scipy.spatial.\w+.*; \w+"):
        ft.grad(lambda p: np.sum(REFUSED[name](p)))(POINTS)
    with pytest.raises(ft.UnsupportedError, match=r"scipy.spatial.\w+.*; \w+"):
        ft.vmap(REFUSED[name])(np.stack([POINTS, POINTS + 1e-9]))
    for attribute in ("tree", "indices"):
        with pytest.raises(ft.UnsupportedError, match="sequential_vmap"):
            ft.vmap(lambda p, a=attribute: (getattr(spatial.KDTree(p), a), p)[1])(BATCH)


@pytest.mark.parametrize("fault", faulty.FAULTS_OF_SETS_OF_POINTS)
def test_a_planted_fault_is_found(fault, monkeypatch):
    plant, row = faulty.FAULTS_OF_SETS_OF_POINTS[fault]
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        test_points_of_examples_that_differ(row)
