"""Meshes: trimesh."""

import numpy as np
import trimesh

from .call import call

CORNERS = 0.0, 0.0, 0.1, 1.0, 0.1, 0.0, 0.2, 1.0, 0.0, 0.1, 0.2, 1.0
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


@call(*CORNERS)
def volume(x):
    return trimesh.Trimesh(vertices=x.reshape(4, 3), faces=FACES, process=False).volume


@call(*CORNERS)
def inertia(x):
    return trimesh.Trimesh(vertices=x.reshape(4, 3), faces=FACES, process=False).moment_inertia


@call(0.3, -0.2, 0.9)
def rotation(x):
    return trimesh.transformations.euler_matrix(x[0], x[1], x[2])


@call(0.4, 0.2, 0.5)
def nearest(x):
    triangle = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.1], [0.0, 1.0, 0.0]]])
    return trimesh.triangles.closest_point(triangle, x.reshape(1, 3))


@call(*CORNERS[:9])
def normal(x):
    return trimesh.triangles.normals(x.reshape(1, 3, 3))[0]
