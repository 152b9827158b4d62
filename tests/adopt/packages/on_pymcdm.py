"""Decisions by several criteria: pymcdm."""

import numpy as np
from pymcdm import weights
from pymcdm.methods import COPRAS, PROMETHEE_II, TOPSIS, VIKOR

from .call import call

TABLE = 3.0, 250.0, 16.0, 4.2, 210.0, 19.0, 2.5, 300.0, 12.0, 3.6, 275.0, 17.0
SHARES, TYPES = np.array([0.5, 0.2, 0.3]), np.array([1, -1, 1])


@call(*TABLE)
def ideal(x):
    return TOPSIS()(x.reshape(4, 3), SHARES, TYPES)


@call(*TABLE)
def compromise(x):
    return VIKOR()(x.reshape(4, 3), SHARES, TYPES)


@call(*TABLE)
def proportional(x):
    return COPRAS()(x.reshape(4, 3), SHARES, TYPES)


@call(0.5, 0.2, 0.3)
def preferred(x):
    return PROMETHEE_II("usual")(np.array(TABLE).reshape(4, 3), x, TYPES)


@call(*TABLE)
def weighted(x):
    matrix = x.reshape(4, 3)
    return np.array([weights.critic_weights(matrix), weights.entropy_weights(matrix)])
