"""Rotations: those of plain numbers, orders of derivatives, warnings, and what is refused."""

import numpy as np
import pytest
import scipy.spatial.transform

import functier as ft
import functier.numpy as fnp
from functier.scipy.spatial.transform import Rotation, Slerp

V = np.array([0.3, -0.5, 0.8])
POINT = np.array([1.0, 2.0, 0.5])
PLAIN = scipy.spatial.transform.Rotation


def test_a_rotation_that_was_made_outside_takes_tensors():
    made = Rotation.from_rotvec(V)
    assert isinstance(PLAIN.from_rotvec(V), Rotation)
    np.testing.assert_array_equal(made.as_matrix(), PLAIN.from_rotvec(V).as_matrix())
    jacobian = ft.jacfwd(made.apply)(POINT)
    np.testing.assert_allclose(jacobian, made.as_matrix(), rtol=1e-14)
    both = ft.vmap(lambda v: (PLAIN.from_rotvec(V) * Rotation.from_rotvec(v)).as_quat())(np.eye(3))
    expected = (PLAIN.from_rotvec(V) * PLAIN.from_rotvec(np.eye(3))).as_quat()
    np.testing.assert_allclose(both, expected, rtol=1e-14)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_mean_has_all_derivatives(order):
    """The mean of turns by t and 3 t about one axis is the turn by 2 t."""

    def mean(t):
        turns = fnp.stack([t, 3 * t])[:, None] * np.array([0.0, 0.0, 1.0])
        return fnp.sin(Rotation.from_rotvec(turns).mean().magnitude())

    f = mean
    for _ in range(order):
        f = ft.grad(f)
    np.testing.assert_allclose(f(0.3), np.imag(np.exp(0.6j) * 2j**order), rtol=1e-9)


def test_a_gimbal_lock_warns():
    def angles(t):
        return Rotation.from_euler("xyz", fnp.stack([0.1 * t, np.pi / 2, 0.0 * t])).as_euler("xyz")

    with pytest.warns(UserWarning, match="Gimbal lock"):
        ft.vmap(angles)(np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: Rotation.from_quat(0 * x * np.ones(4)), "zero norm"),
        (lambda x: Rotation.from_matrix(-x * np.eye(3)), "Non-positive determinant"),
        (lambda x: Rotation.from_rotvec(x * np.ones(4)), "to have shape"),
        (lambda x: Rotation.from_euler("xyx", x * np.ones(2)), "xpected"),
        (lambda x: Rotation.from_euler("xxy", x * np.ones(3)), "consecutive axes"),
        (lambda x: Slerp([0, 1], Rotation.from_rotvec(x * np.eye(3)[:2]))(x + 2), "within"),
        (lambda x: Rotation.from_rotvec(x * V)[0], "not subscriptable"),
        (lambda x: Rotation.align_vectors(x * V, V), "two vectors or more"),
        (lambda x: Rotation.from_rotvec(x * V).reduce(Rotation.identity(1)), "by its index"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises((ValueError, TypeError, ft.UnsupportedError), match=message):
        ft.jvp(call, (1.0,), (1.0,))
