"""Optimization on manifolds: pymanopt."""

import numpy as np
import pymanopt
from pymanopt.manifolds import PoincareBall, Sphere, Stiefel, SymmetricPositiveDefinite
from pymanopt.optimizers import SteepestDescent
from pymanopt.optimizers.line_search import BackTrackingLineSearcher

from .call import call

FIRST = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.1]])
SECOND = np.array([[1.2, -0.4, 0.2], [-0.4, 1.9, 0.1], [0.2, 0.1, 0.8]])
FRAME = np.array([[0.8, 0.0], [0.6, 0.0], [0.0, 1.0]])
STEP = np.array([[0.2, -0.3], [0.1, 0.4], [-0.5, 0.2]])


@call(1.3, 0.7)
def positive(x):
    space = SymmetricPositiveDefinite(3)
    first, second = x[0] * FIRST, SECOND + x[1] * np.eye(3)
    middle = space.exp(first, 0.5 * space.log(first, second))
    return np.concatenate([[space.dist(first, second)], middle[0]])


@call(0.3, -0.2, 0.4, 0.1)
def ball(x):
    space = PoincareBall(2)
    middle = space.pair_mean(x[:2], x[2:])
    return np.concatenate([[space.dist(x[:2], x[2:])], middle])


@call(0.5, 0.8)
def frames(x):
    space = Stiefel(3, 2)
    along = space.projection(FRAME, x[0] * STEP + x[1] * STEP**2)
    return np.concatenate([space.retraction(FRAME, along), space.exp(FRAME, along)])


@call(0.5, 0.8, -0.3)
def sphere(x):
    space = Sphere(3)
    point = x / np.linalg.norm(x)
    along = space.log(point, np.array([0.6, 0.0, 0.8]))
    return np.concatenate([space.exp(point, 0.3 * along), space.retraction(point, along)])


@call(1.3, 0.7)
def descent(x):
    space, matrix = Sphere(3), x[0] * FIRST + x[1] * SECOND

    @pymanopt.function.numpy(space)
    def cost(point):
        return point @ matrix @ point

    @pymanopt.function.numpy(space)
    def slope(point):
        return 2.0 * matrix @ point

    problem = pymanopt.Problem(space, cost, euclidean_gradient=slope)
    search = BackTrackingLineSearcher(initial_step_size=0.2)
    found = SteepestDescent(search, max_iterations=3, verbosity=0).run(
        problem, initial_point=np.array([0.6, 0.0, 0.8])
    )
    return np.concatenate([found.point, [found.cost]])
