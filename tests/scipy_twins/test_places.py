"""Trees, hulls and functions of windows: constants, messages, and what SciPy's classes keep."""

import numpy as np
import pytest
import scipy.ndimage
import scipy.spatial

import functier as ft
import functier.numpy as fnp
from functier.scipy import cluster, ndimage, spatial

POINTS = np.array([[0.0, 0.0], [2.0, 0.2], [0.3, 2.0], [2.2, 2.4], [0.8, 1.0], [1.4, 0.4]])
IMAGE = np.array([[0.3, -1.0, 2.0], [0.4, 1.5, -0.2], [1.1, 0.7, -0.8]])


def test_a_tree_of_plain_points_is_scipys():
    tree, plain = spatial.KDTree(POINTS), scipy.spatial.KDTree(POINTS)
    assert isinstance(tree, scipy.spatial.KDTree)
    for found, expected in zip(tree.query([1.0, 1.1], k=3), plain.query([1.0, 1.1], k=3)):
        np.testing.assert_array_equal(found, expected)
    assert tree.query_pairs(1.0) == plain.query_pairs(1.0)
    near = [t.sparse_distance_matrix(t, 1.0).toarray() for t in (tree, plain)]
    np.testing.assert_array_equal(*near)


def test_numbers_of_neighbours_are_constants():
    tree = spatial.KDTree(POINTS)
    found = ft.vmap(lambda x: tree.query(x, k=2)[1])(POINTS + 0.1)
    np.testing.assert_array_equal(found, tree.query(POINTS + 0.1, k=2)[1])
    distance, slope = ft.jvp(
        lambda x: tree.query(x, distance_upper_bound=0.5)[0],
        (np.array([[0.9, 1.0], [9.0, 9.0]]),), (np.ones((2, 2)),),
    )  # fmt: skip
    np.testing.assert_allclose(distance, [0.1, np.inf])
    np.testing.assert_allclose(slope, [1.0, 0.0])


def test_points_of_a_tree_have_derivatives():
    slope = ft.grad(lambda p: spatial.cKDTree(p).query(np.array([0.8, 1.2]))[0])(POINTS)
    expected = np.zeros_like(POINTS)
    expected[4] = 0.0, -1.0
    np.testing.assert_allclose(slope, expected, atol=1e-15)
    with pytest.raises(ft.UnsupportedError, match="distance_matrix"):
        ft.grad(lambda p: spatial.KDTree(p).sparse_distance_matrix(spatial.KDTree(POINTS), 1.0))(
            POINTS
        )


def test_a_hull_of_tensors_has_its_corners():
    def corners(p):
        hull = spatial.ConvexHull(p)
        return fnp.sum(hull.points[hull.vertices])

    slope = ft.grad(corners)(POINTS)
    inside = np.ones(len(POINTS), bool)
    inside[scipy.spatial.ConvexHull(POINTS).vertices] = False
    np.testing.assert_array_equal(slope, np.where(inside[:, None], 0.0, 1.0) * np.ones((1, 2)))


def test_clusters_are_refused_by_name():
    with pytest.raises(ft.UnsupportedError, match="compiled code"):
        ft.grad(lambda p: fnp.sum(cluster.vq.kmeans(p, POINTS[:2])[0]))(POINTS)
    with pytest.raises(ft.ConversionError, match="linkage"):
        ft.grad(lambda p: fnp.sum(cluster.hierarchy.linkage(p)))(POINTS)


@pytest.mark.parametrize("name", ["white_tophat", "grey_opening", "morphological_gradient"])
def test_morphology(name):
    func = getattr(ndimage, name)
    value, slope = ft.jvp(lambda x: func(x, size=2), (IMAGE,), (np.cos(IMAGE),))
    np.testing.assert_array_equal(value, getattr(scipy.ndimage, name)(IMAGE, size=2))
    step = 1e-6 * np.cos(IMAGE)
    differences = (func(IMAGE + step, size=2) - func(IMAGE - step, size=2)) / 2e-6
    np.testing.assert_allclose(slope, differences, atol=1e-7)


def test_a_window_function_may_branch_and_close_over_tensors():
    def image(a):
        return ndimage.generic_filter(IMAGE, lambda v: a * v[4] if v[4] > v[3] else v[0] * 2, 3)

    value, slope = ft.jvp(image, (3.0,), (1.0,))
    expected = scipy.ndimage.generic_filter(
        IMAGE, lambda v: 3 * v[4] if v[4] > v[3] else v[0] * 2, 3
    )
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(slope, (image(4.0) - image(3.0)), atol=1e-14)


def test_what_a_function_of_images_refuses():
    with pytest.raises(ft.UnsupportedError, match="output= is a plain array"):
        ft.grad(lambda x: ndimage.generic_filter(x, np.sum, 3, output=IMAGE))(IMAGE)
    with pytest.raises(ft.UnsupportedError, match="integers"):
        ft.jvp(lambda x: ndimage.generic_filter(x, np.sum, 3, output=int), (IMAGE,), (IMAGE,))
