"""Geometry of objects in space: scikit-spatial."""

import numpy as np
from skspatial.objects import Line, Plane, Points, Sphere, Triangle, Vector

from .call import call


@call(1.0, 0.2, 0.5, -0.3, 0.8, 0.1)
def angles(x):
    a, b = Vector(x[:3]), Vector(x[3:])
    return np.array([a.angle_between(b), a.unit().scalar_projection(b), *a.project_vector(b)])


@call(1.0, 0.2, 0.5, -0.3, 0.8, 0.1, 0.4, 0.6, 2.0)
def lines(x):
    line = Line(x[:3], x[3:6])
    other = Line.from_points(x[6:], [1.0, 1.0, -1.0])
    return np.array([line.distance_point(x[6:]), line.distance_line(other)])


@call(0.1, 0.2, 1.0, 0.4, 0.3, 1.2, 2.0, 0.7, 0.9)
def planes(x):
    plane = Plane.from_points(x[:3], x[3:6], x[6:])
    met = plane.intersect_line(Line([0.0, 0.0, 0.0], [0.3, 0.1, 1.0]))
    return np.array([*met, plane.distance_point_signed([1.0, 1.0, 1.0])])


@call(0.1, 0.2, 1.0, 0.4, 0.3, 1.2, 2.0, 0.7, 0.9, -0.4, 1.1, 0.5)
def best(x):
    points = Points(x.reshape(4, 3))
    sphere = Sphere.best_fit(points)
    return np.array([*points.centroid(), *sphere.point, sphere.radius])


@call(0.0, 0.1, 2.0, 0.3, 0.7, 1.8)
def triangle(x):
    found = Triangle(x[:2], x[2:4], x[4:])
    return np.array([found.area(), found.perimeter(), found.angle("A"), *found.orthocenter()])
