"""Finite differences: findiff."""

import numpy as np
from findiff import PDE, BoundaryConditions, Diff, Gradient, Identity, Laplacian

from .call import call

X = np.linspace(0.0, 1.0, 12)
GRID = np.meshgrid(X, X, indexing="ij")


def field(x):
    return np.sin(x[0] * GRID[0]) * np.exp(x[1] * GRID[1])


@call(2.0, 0.7)
def slopes(x):
    return Gradient(h=[X[1], X[1]], acc=4)(field(x))[:, ::4, ::4]


@call(2.0, 0.7)
def curved(x):
    return Laplacian(h=[X[1], X[1]])(field(x))[::4, ::4]


@call(2.0, 0.7, 0.3)
def mixed(x):
    operator = x[2] * Diff(0, X[1]) * Diff(1, X[1]) + Diff(0, X[1]) ** 2 - Identity()
    return operator(field(x))[::4, ::4]


@call(1.5, 0.3, 0.8)
def solved(x):
    bounds = BoundaryConditions((12,))
    bounds[0], bounds[-1] = x[1], x[2]
    return PDE(Diff(0, X[1]) ** 2 - Identity(), x[0] * np.cos(X), bounds).solve()


@call(0.0, 0.1, 0.25, 0.45, 0.6, 0.9, 1.0)
def uneven(x):
    return Diff(0, x, acc=2)(np.exp(np.linspace(0.0, 1.0, 7)))
