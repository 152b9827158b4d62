"""Games: Nashpy."""

import nashpy
import numpy as np

from .call import call

ROWS = np.array([[0.0, 2.0, 1.0], [3.0, 0.5, 0.0], [1.0, 0.2, 2.5]])
COLUMNS = np.array([[2.0, 0.3, 1.0], [0.0, 1.5, 0.4], [1.1, 2.0, 0.0]])


def game(x):
    return nashpy.Game(x[0] * ROWS, COLUMNS + x[1] * ROWS.T)


@call(1.3, 0.1, 0.2, 0.5)
def payoffs(x):
    return game(x)[np.array([x[2], 1.0 - x[2], 0.0]), np.array([x[3], 0.3, 0.7 - x[3]])]


@call(1.3, 0.1)
def supports(x):
    return np.concatenate([part for pair in game(x).support_enumeration() for part in pair])


@call(1.3, 0.1)
def pivoted(x):
    row, column = game(x).lemke_howson(initial_dropped_label=0)
    return np.concatenate([row, column])


@call(1.3, 0.2, 0.3)
def dynamics(x):
    start = np.array([x[1], x[2], 1.0 - x[1] - x[2]])
    return nashpy.Game(x[0] * ROWS).replicator_dynamics(y0=start, timepoints=[0.0, 0.5, 1.0])


@call(1.3, 0.1)
def values(x):
    zero_sum = nashpy.Game(x[0] * ROWS + x[1] * COLUMNS)
    return np.concatenate(zero_sum.linear_program())
