"""Images of brains: nibabel."""

import numpy as np
from nibabel import affines, eulerangles, quaternions
from nibabel.nicom.dwiparams import B2q

from .call import call


@call(0.3, -0.2, 0.9)
def rotation(x):
    return eulerangles.euler2mat(x[0], x[1], x[2])


@call(0.3, -0.2, 0.9)
def angles(x):
    return np.array(eulerangles.mat2euler(eulerangles.euler2mat(x[0], x[1], x[2])))


@call(0.9, 0.1, 0.2, 0.3)
def turned(x):
    return quaternions.rotate_vector(np.array([1.0, 2.0, 3.0]), x / np.sqrt(np.dot(x, x)))


@call(2.0, 0.1, 0.2, 3.0, 10.0, -4.0)
def sizes(x):
    affine = affines.from_matvec(np.array([[x[0], x[1], 0], [x[2], x[3], 0], [0, 0.1, 2]]), x[3:])
    return np.concatenate([affines.voxel_sizes(affine), affines.obliquity(affine)])


@call(3.0, 1.0, 0.5)
def direction(x):
    return B2q(100.0 * np.outer(x, x))
