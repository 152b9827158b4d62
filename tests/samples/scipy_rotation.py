"""Rows for `scipy.spatial.transform`: rotations by each form, and computing with them."""

import numpy as np

from functier.scipy.spatial.transform import Rotation, Slerp

from ._row import row

V = np.array([0.3, -0.5, 0.8])
W = np.array([[0.3, -0.5, 0.8], [0.1, 0.4, -0.2], [-0.8, 0.3, 0.6]])
POINTS = np.array([[1.0, 2.0, 0.5], [0.2, -0.7, 0.4]])
ZERO = np.zeros(3)
ANGLES = np.array([0.4, 0.7, -0.5])
WEIGHTS = np.array([1.0, 2.0, 3.0])


def of(family, function, *args, **options):
    """A row of a family of composites, of which a quick run has the first row only."""
    return row(function, *args, _name=family, _like=near, **options)


def near(i, x, rng):
    """Another example, on the same side of where forms change."""
    return x * (1 + 0.1 * rng.uniform(-1, 1, size=x.shape))


def small(i, x, rng):
    return x + 1e-4 * rng.normal(size=x.shape)


def joined(rotations):
    return Rotation.concatenate([rotations, Rotation.identity()]).as_quat()


ROWS = [
    of("from_rotvec", lambda v, p: Rotation.from_rotvec(v).apply(p), V, POINTS),
    of("from_rotvec", lambda v: Rotation.from_rotvec(20 * v, degrees=True).as_matrix(), W),
    row(lambda v: Rotation.from_rotvec(v).as_quat(), ZERO, _name="at zero", _like=small),
    row(lambda v: Rotation.from_rotvec(v).as_rotvec(), ZERO, _name="at zero", _like=small),
    of("from_quat", lambda q: Rotation.from_quat(q).as_quat(), np.append(V, 2.0)),
    of("from_quat",
       lambda q: Rotation.from_quat(q, scalar_first=True).as_quat(True, scalar_first=True),
       np.append(V, 2.0)),
    of("from_matrix", lambda m: Rotation.from_matrix(m).as_quat(),
       np.array([[0.9, 0.2, 0.1], [-0.3, 1.1, 0.2], [0.1, 0.0, 0.8]])),
    of("from_mrp", lambda p: Rotation.from_mrp(p).as_mrp(), 0.6 * V),
    of("from_euler", lambda a: Rotation.from_euler("xyz", a).as_quat(), ANGLES),
    of("from_euler", lambda a: Rotation.from_euler("ZX", 9 * a, degrees=True).as_mrp(), W[:, :2]),
    of("from_euler", lambda a: Rotation.from_euler("y", a).as_matrix(), W[:, :1]),
    of("as_euler", lambda v: Rotation.from_rotvec(v).as_euler("ZYX", degrees=True), V),
    of("as_euler", lambda v: Rotation.from_rotvec(v).as_euler("zxz"), W),
    of("products", lambda v, w: (Rotation.from_rotvec(v) * Rotation.from_rotvec(w).inv() ** 2)
       .as_matrix(), V, W),
    of("products", lambda v, n: (Rotation.from_rotvec(v) ** n[()]).as_rotvec(), V, np.array(0.3)),
    of("products", lambda v: Rotation.from_rotvec(v).magnitude(), W),
    of("mean", lambda v, w: Rotation.from_rotvec(v).mean(w).as_matrix(), W, WEIGHTS),
    of("mean", lambda v: Rotation.from_rotvec(np.stack([v, v])).mean().as_matrix(), V),
    of("align_vectors", lambda a, b: Rotation.align_vectors(a, b)[0].as_matrix(), W, W[::-1]),
    of("align_vectors", lambda a, w: Rotation.align_vectors(a, POINTS, w)[1], W[:2], WEIGHTS[:2]),
    of("sequences", lambda v: joined(Rotation.from_rotvec(v)[1:]), W),
    of("Slerp", lambda v, t: Slerp(np.arange(3.0), Rotation.from_rotvec(v))(t).as_rotvec(),
       W, np.array([0.4, 1.3])),
]  # fmt: skip
