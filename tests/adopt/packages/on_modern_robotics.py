"""Robots: modern-robotics."""

import modern_robotics as mr
import numpy as np

from .call import call

HOME = np.array([[-1.0, 0, 0, 0], [0, 1, 0, 6], [0, 0, -1, 2], [0, 0, 0, 1]])
SCREWS = np.array([[0.0, 0, 1, 4, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, -1, -6, 0, -0.1]]).T


@call(1.5, 3.0, 0.7)
def forward(x):
    return mr.FKinSpace(HOME, SCREWS, x)


@call(1.5, 3.0, 0.7)
def jacobian(x):
    return mr.JacobianBody(SCREWS, x)


@call(0.3, 0.2, -0.4)
def logarithm(x):
    return mr.MatrixLog3(mr.MatrixExp3(mr.VecToso3(x)))


@call(0.3, 0.2, -0.4, 1.0, 0.5, 2.0)
def transform(x):
    return mr.MatrixExp6(mr.VecTose3(x))


@call(2.0, 0.6)
def timing(x):
    return mr.QuinticTimeScaling(x[0], x[1])
