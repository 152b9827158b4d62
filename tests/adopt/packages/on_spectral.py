"""Hyperspectral images: spectral."""

import numpy as np
import spectral

from .call import call

DATA = tuple(float(v) for v in np.round(1.5 + np.sin(1.7 * np.arange(24.0) ** 1.5), 2))


@call(*DATA)
def angles(x):
    members = np.array([[1.0, 0.5, 0.2], [0.3, 0.9, 0.4]])
    return spectral.spectral_angles(x.reshape(2, 4, 3), members)


@call(*DATA)
def vegetation(x):
    return spectral.ndvi(x.reshape(2, 4, 3), 0, 2)


@call(*DATA)
def anomalies(x):
    return spectral.rx(x.reshape(2, 4, 3))


@call(*DATA)
def components(x):
    return spectral.principal_components(x.reshape(2, 4, 3)).eigenvalues


@call(*DATA)
def matched(x):
    return spectral.matched_filter(x.reshape(2, 4, 3), np.array([1.0, 0.5, 0.2]))
