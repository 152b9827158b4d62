"""Statistics of distances: dcor."""

import dcor

from .call import call

SAMPLE = 0.3, 1.2, -0.7, 2.1, 0.9, -1.4, 0.2, 1.1, -0.5, 1.9, 0.6, -1.0


@call(*SAMPLE)
def covariance(x):
    return dcor.distance_covariance(x[:6], x[6:])


@call(*SAMPLE)
def correlation(x):
    return dcor.distance_correlation(x.reshape(6, 2), x[:6])


@call(*SAMPLE)
def energy(x):
    return dcor.energy_distance(x[:6], x[6:] + 0.5)


@call(*SAMPLE)
def partial(x):
    return dcor.partial_distance_correlation(x[:6], x[6:], x[:6] * x[6:])


@call(*SAMPLE)
def unbiased(x):
    return dcor.u_distance_correlation_sqr(x[:6], x[6:])
