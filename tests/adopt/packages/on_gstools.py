"""Geostatistics: gstools."""

import gstools as gs
import numpy as np

from .call import call

PLACES = np.array([[0.3, 1.9, 1.1, 3.3, 4.7], [0.2, 0.8, 2.2, 1.0, 3.8]])


@call(1.5, 2.0, 0.1)
def variogram(x):
    model = gs.Gaussian(dim=2, var=x[0], len_scale=x[1], nugget=x[2])
    return model.variogram(np.linspace(0.5, 4.0, 5))


@call(0.5, 1.0, 3.0)
def covariance(x):
    return gs.Matern(dim=1, var=1.3, len_scale=2.0, nu=1.5).covariance(x)


@call(0.47, 0.56, 0.74, 1.47, 1.74)
def kriging(x):
    krige = gs.krige.Ordinary(gs.Exponential(dim=2, var=0.5, len_scale=2.0), PLACES, x)
    return krige([[1.0, 2.0], [1.5, 0.5]], return_var=False)


@call(1.0, 2.0, 0.7)
def spectrum(x):
    return gs.Exponential(dim=3, var=x[0], len_scale=x[1]).spectral_density(x[2])


@call(0.6, 1.7, 2.9)
def normalized(x):
    return gs.normalizer.BoxCox(lmbda=0.4).normalize(x)
