"""Rows for trees, hulls, clusters, shapes of points, and functions of images that are given."""

import numpy as np

import functier.numpy as fnp
from functier.scipy import cluster, ndimage, spatial

from ._row import normal, row

POINTS = np.array([[0.0, 0.0], [2.0, 0.2], [0.3, 2.0], [2.2, 2.4], [0.8, 1.0], [1.4, 0.4]])
AT = np.array([[0.5, 0.3], [1.9, 2.0], [1.1, 0.85]])
LABELS = np.array([[0, 1, 1, 2], [2, 2, 0, 1], [1, 0, 2, 3]])
SPECTRUM = np.fft.fft2(np.arange(12.0).reshape(3, 4) ** 1.5 % 7)


def of(family, function, *args, **options):
    """A row of a family of composites, of which a quick run has the first row only."""
    return row(function, *args, **{"_name": family, "_like": near, **options})


def near(i, x, rng):
    """Other points with the same neighbours."""
    return (x * (1 + 0.02 * rng.uniform(-1, 1, size=x.shape))).astype(x.dtype)


ROWS = [
    of("KDTree", lambda x: spatial.KDTree(POINTS).query(x, k=2)[0], AT),
    of("KDTree", lambda p, x: spatial.cKDTree(p).query(x, p=1)[0], POINTS, AT, _shared=(0,)),
    of("ConvexHull", lambda p: spatial.ConvexHull(p).volume, POINTS, _shared=(0,)),
    of("ConvexHull", lambda p: spatial.ConvexHull(p).area, normal(7, 3), _shared=(0,)),
    of("vq", lambda x, c: cluster.vq.vq(x, c)[1], POINTS + 0.1, AT),
    of("whiten", lambda x: cluster.vq.whiten(x), POINTS),
    of("directed_hausdorff", lambda u, v: spatial.distance.directed_hausdorff(u, v)[0],
       POINTS + 0.1, AT),
    of("procrustes", lambda x: spatial.procrustes(POINTS[:3], x)[1], AT, _empty=False),
    of("procrustes", lambda x: spatial.procrustes(POINTS[:3], x)[2], AT, _empty=False),
    of("geometric_slerp", lambda t: spatial.geometric_slerp(np.eye(3)[0], np.eye(3)[1], t),
       np.array([0.2, 0.7]), _empty=False),
    of("generic_filter", lambda x: ndimage.generic_filter(x, lambda v: fnp.sum(v**2), 3),
       normal(3, 4)),
    of("generic_filter", lambda x: ndimage.generic_filter(
        x, lambda v, a: fnp.max(v) * a, footprint=[[1, 0], [1, 1]], mode="wrap",
        extra_arguments=(2.0,)), normal(3, 4)),
    of("geometric_transform", lambda x: ndimage.geometric_transform(
        x, lambda i: (i[0] * 0.9 + 0.3, i[1] * 0.8), order=1), normal(3, 4)),
    of("generic_laplace", lambda x: ndimage.generic_laplace(
        x, lambda x, axis, *more: ndimage.correlate1d(x, [1, -2, 1], axis, *more)), normal(3, 4)),
    of("measurements", lambda x: ndimage.mean(x, LABELS, [1, 2, 3]), normal(3, 4)),
    of("measurements", lambda x: ndimage.variance(x, LABELS, [1, 2]), normal(3, 4)),
    of("measurements", lambda x: fnp.stack(ndimage.center_of_mass(x)), np.exp(normal(3, 4))),
    of("fourier", ndimage.fourier_shift, SPECTRUM, np.array([0.3, -1.2])),
    of("fourier", lambda x, s: ndimage.fourier_gaussian(x, s, 7, 1), SPECTRUM.real, np.array(0.7)),
    of("fourier", ndimage.fourier_uniform, SPECTRUM, 1.5),
]  # fmt: skip
