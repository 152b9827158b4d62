"""Rows for `scipy.ndimage`."""

import numpy as np

import functier.scipy.ndimage as nd

from ._row import normal, of, positive, row

F, C = np.float32, complex
CROSS = [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
PLACES = np.array([[0.3, 1.7, 2.2, -0.4, 3.4], [1.2, 0.6, 2.4, 0.8, 1.1]])

WHOLE = np.array([[1.0, 0.0, 2.0], [1.0, 2.0, 0.0]])


def at_places(function, x, places, **options):
    """A row whose places stay away from kinks in all examples."""
    return of("places", function, x, places, _like=near, **options)


def near(i, x, rng):
    if i == 0 or not np.any(x % 1):  # places at pixels, where most splines are smooth, stay there
        return rng.permuted(x)
    return x + 0.02 * rng.uniform(-1, 1, size=x.shape)


def turned(x):
    return nd.rotate(x, 25.0, reshape=False, mode="nearest")


ROWS = [
    of("linear", nd.correlate1d, normal(2, 5), normal(3), mode="mirror"),
    of("linear", nd.correlate1d, normal(4, 2, dtype=C), normal(2, dtype=C), 0, origin=-1),
    of("linear", nd.convolve1d, normal(5, dtype=F), normal(4), mode="wrap"),
    of("linear", nd.correlate, normal(3, 4), normal(2, 3), mode="constant", cval=0.3),
    of("linear", nd.convolve, normal(3, 4), normal(2, 2), mode="nearest", origin=(0, -1)),
    of("linear", nd.uniform_filter1d, normal(6), 4),
    of("linear", nd.uniform_filter, normal(4, 3), (2, 3), mode=["wrap", "mirror"]),
    of("linear", nd.sobel, normal(4, 3)),
    of("linear", nd.prewitt, normal(3, 4), 0, mode="constant"),
    of("linear", nd.laplace, normal(3, 4)),
    of("gaussians", nd.gaussian_filter1d, normal(2, 6), 0.8, order=1),
    of("gaussians", nd.gaussian_filter, normal(4, 5, dtype=F), (0.7, 0.9), truncate=2.0),
    of("gaussians", nd.gaussian_filter, normal(5), 0.8, order=3, mode="wrap"),
    of("gaussians", nd.gaussian_laplace, normal(4, 4), 0.6),
    of("gaussians", nd.gaussian_gradient_magnitude, normal(4, 4), 0.6),
    of("ranks", nd.median_filter, normal(4, 3), 3),
    of("ranks", nd.percentile_filter, normal(6), 40, size=3, mode="constant"),
    of("ranks", nd.rank_filter, normal(3, 4), -2, footprint=CROSS),
    of("ranks", nd.maximum_filter, normal(3, 4), 2, origin=-1),
    of("ranks", nd.minimum_filter1d, normal(5), 3, mode="mirror"),
    of("ranks", nd.grey_dilation, normal(4, 3), (2, 3)),
    of("ranks", nd.grey_erosion, normal(5), 2),
    row(nd.spline_filter1d, normal(2, 5)),
    row(nd.spline_filter1d, normal(4, 2, dtype=C), 4, 0, C, mode="reflect"),
    row(nd.spline_filter1d, normal(5), 5, mode="grid-wrap"),
    of("places", nd.spline_filter, normal(3, 4), 2),
    at_places(nd.map_coordinates, normal(4, 3), PLACES, order=3, mode="mirror"),
    at_places(nd.map_coordinates, normal(4, 3), PLACES, order=1, cval=0.5),
    at_places(nd.map_coordinates, normal(4, 3), PLACES, order=2, mode="grid-constant"),
    at_places(nd.map_coordinates, normal(4, 3, dtype=C), PLACES, order=4, mode="wrap"),
    at_places(nd.map_coordinates, normal(4, 3), WHOLE, order=2, mode="mirror"),
    at_places(nd.map_coordinates, normal(4, 3), WHOLE, order=4, mode="mirror"),
    at_places(nd.map_coordinates, normal(4, 3), WHOLE, order=5, mode="grid-wrap"),
    of("places", nd.shift, normal(4, 3), 0.3, order=1, mode="nearest"),
    # no row of places that are NaN or about 1e30: SciPy's own shift, of plain arrays, then crashes
    # (in the modes mirror, reflect, wrap and grid-wrap)
    of("places", nd.zoom, normal(3, 4, dtype=F), (2, 0.7), order=1),
    of("places", nd.affine_transform, normal(3, 3), positive(2, 2), 0.1, mode="mirror"),
    of("places", turned, normal(4, 3)),
]  # fmt: skip
