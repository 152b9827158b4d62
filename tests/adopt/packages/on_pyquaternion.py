"""Rotations: pyquaternion."""

from pyquaternion import Quaternion

from .call import call


@call(0.3, 1.0, 2.0, 3.0)
def rotated(x):
    return Quaternion(axis=[0.0, 0.6, 0.8], angle=x[0]).rotate(x[1:])


@call(0.9, 0.1, 0.2, 0.3)
def matrix(x):
    return Quaternion(x).rotation_matrix


@call(0.3, 0.9, 0.1, -0.2, 0.3)
def between(x):
    start = Quaternion(axis=[1.0, 0.0, 0.0], angle=0.4)
    return Quaternion.slerp(start, Quaternion(x[1:]).normalised, amount=x[0]).elements


@call(0.2, 0.1, -0.3, 0.5)
def logarithm(x):
    return Quaternion.log(Quaternion.exp(Quaternion(x))).elements


@call(0.9, 0.1, 0.2, 0.3)
def angles(x):
    q = Quaternion(array=x) * Quaternion(0.8, 0.0, 0.6, 0.0)
    return q.inverse.degrees
