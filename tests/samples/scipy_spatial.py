"""Rows for `scipy.spatial`."""

import numpy as np

import functier.scipy.spatial as spatial
import functier.scipy.spatial.distance as distance

from ._row import normal, of, positive, row, unit

F = np.float32

MEET = np.array([0.0, 1.5, -0.7])
"""A vector whose first number is that of what it is compared with."""


def matrix_to_vector(v):
    """Both directions of `squareform`."""
    return distance.squareform(distance.squareform(v)) ** 2


ROWS = [
    of("of two", distance.euclidean, normal(3), normal(3)),
    of("of two", distance.minkowski, normal(3), normal(3), 3, positive(3), _empty=False),
    of("of two", distance.sqeuclidean, normal(3), normal(3)),
    of("of two", distance.cityblock, normal(3), normal(3), positive(3), _empty=False),
    of("of two", distance.chebyshev, normal(3), normal(3)),
    of("of two", distance.cosine, normal(3), normal(3)),
    of("of two", distance.correlation, normal(4), normal(4), positive(4), _empty=False),
    of("of two", distance.braycurtis, positive(3), positive(3)),
    of("of two", distance.canberra, positive(3), positive(3)),
    of("of two", distance.seuclidean, normal(3), normal(3), positive(3), _empty=False),
    of("of two", distance.mahalanobis, normal(2), normal(2), np.array([[2.0, 0.3], [0.3, 1.5]]),
       _shared=(2,)),
    of("of two", distance.jensenshannon, positive(3, 2), positive(3, 2), 2.0, axis=1),
    of("of pairs", distance.cdist, normal(3, 2), normal(2, 2)),
    of("of pairs", distance.cdist, normal(4, 2), normal(2, 2), "seuclidean"),
    of("of pairs", distance.cdist, positive(2, 3), positive(2, 3), "minkowski", p=1.5),
    of("of pairs", distance.pdist, unit(4, 3), "correlation"),
    of("of pairs", distance.pdist, normal(5, 2), "mahalanobis"),
    of("of pairs", distance.pdist, normal(3, 2, dtype=F)),
    of("of pairs", spatial.distance_matrix, normal(3, 2), normal(2, 2), 1),
    *[of("of pairs", spatial.minkowski_distance, MEET, normal(2, 3) * MEET, p) for p in (2, 4)],
    *[of("powers", spatial.minkowski_distance_p, MEET, normal(3) * MEET, p) for p in (2, 4)],
    of("of pairs", distance.squareform, normal(6)),
    row(matrix_to_vector, normal(3)),
]  # fmt: skip
