"""Kalman filters: pykalman."""

import numpy as np
from pykalman import KalmanFilter

from .call import call

OBSERVED = np.array([[1.0, 0.0], [0.9, 0.2], [0.6, 0.1], [0.8, 0.4]])
DATA = 1.0, 0.0, 0.9, 0.2, 0.6, 0.1, 0.8, 0.4


def model(**words):
    """Return a filter of a state of two numbers."""
    return KalmanFilter(
        transition_matrices=np.array([[1.0, 0.1], [-0.1, 0.9]]),
        observation_matrices=np.eye(2),
        initial_state_mean=np.zeros(2),
        **words,
    )


@call(*DATA)
def filtered(x):
    return model().filter(x.reshape(4, 2))[0]


@call(*DATA)
def smoothed(x):
    return model().smooth(x.reshape(4, 2))[0]


@call(0.3, 0.7)
def likelihood(x):
    found = model(transition_covariance=x[0] * np.eye(2), observation_covariance=x[1] * np.eye(2))
    return found.loglikelihood(OBSERVED)


@call(0.3, 0.7)
def covariances(x):
    return model(transition_covariance=np.diag(x)).filter(OBSERVED)[1]


@call(0.8, 0.5)
def updated(x):
    mean, _ = model().filter_update(np.zeros(2), np.eye(2), observation=x)
    return mean
