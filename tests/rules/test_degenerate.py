"""Derivatives where a decomposition or a root is not unique."""

import numpy as np
import pytest

import functier as ft
from support.basics import raises

RANK_ONE = np.outer([1.0, 2.0, -1.0], [1.0, -1.0])


def test_a_symmetric_function_of_equal_eigenvalues_has_its_gradient():
    eye = np.eye(3)

    np.testing.assert_allclose(ft.grad(lambda x: np.sum(np.linalg.eigvals(x).real))(eye), eye)
    np.testing.assert_allclose(
        ft.grad(lambda x: np.sum(np.linalg.eig(x)[0].real ** 2))(eye), 2 * eye
    )
    np.testing.assert_allclose(ft.grad(lambda x: np.sum(np.linalg.svdvals(x)))(eye), eye)


VALUES = {
    "eigvalsh": np.linalg.eigvalsh,
    "eigh": lambda a: np.linalg.eigh(a)[0],
    "svdvals": lambda a: np.linalg.svdvals(a)[::-1],
    "svd": lambda a: np.linalg.svd(a)[1][::-1],
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", VALUES)
def test_a_single_one_of_equal_values_has_the_mean_of_their_gradients(name, dtype):
    """So neither rounding nor LAPACK's choice of vectors decides."""
    values, (matrix, direction) = VALUES[name], _of_equal_values()
    q = np.linalg.eigh(matrix)[1][:, :2]
    tolerance = 1e-4 if dtype is np.float32 else 1e-8
    for a in (np.diag([1.0, 1.0, 2.5, 4.0]), matrix):
        vectors = np.eye(4)[:, :2] if a is not matrix else q
        a, expected = a.astype(dtype), vectors @ vectors.T / 2
        for i in (0, 1):
            pick = np.flatnonzero(np.isclose(values(a), 1.0, rtol=1e-4))[i]
            one = ft.grad(lambda a, pick=pick: values(a)[pick])
            full = (lambda g: (g + g.T) / 2) if name.startswith("eig") else (lambda g: g)
            assert one(a).dtype == dtype
            np.testing.assert_allclose(full(one(a)), expected, atol=tolerance)
            np.testing.assert_allclose(full(ft.vmap(one)(a[None])[0]), expected, atol=tolerance)
        if name in ("eigvalsh", "svdvals"):
            t = ft.jvp(values, (a,), (direction.astype(dtype),))[1]
            np.testing.assert_allclose(t[pick], np.sum(expected * direction), rtol=1e-3)
    q = np.linalg.qr(direction)[0]
    if name == "svdvals":
        np.testing.assert_allclose(ft.grad(lambda q: np.linalg.norm(q, 2))(q), q / 4, atol=1e-12)


def test_a_single_one_of_equal_eigenvalues_of_any_matrix_is_refused():
    for f in (np.linalg.eigvals, lambda a: np.linalg.eig(a)[0]):
        for a in (np.eye(3), np.diag([1.0, 1.0, 2.0])):
            with pytest.raises(np.linalg.LinAlgError, match=r"eig: a single one.*numpy.sum\(w\)"):
                ft.grad(lambda a, f=f: np.real(f(a)[0]))(a)
            assert np.isfinite(ft.grad(lambda a, f=f: np.sum(np.real(f(a)) ** 3))(a)).all()
            assert np.isfinite(ft.grad(lambda a, f=f: np.max(np.real(f(a))))(a)).all()


def _of_equal_values(n=4):
    """Return a matrix with a double eigenvalue up to rounding, and a symmetric direction."""
    rng = np.random.default_rng(3)
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    direction = rng.normal(size=(n, n))
    return q @ np.diag([1.0, 1.0, 2.5, 4.0]) @ q.T, direction + direction.T


def _by_eigh(f, a):
    w, v = np.linalg.eigh((a + a.mT) / 2)
    return (v * f(w)) @ v.mT


def _by_svd(f, a):
    u, s, vh = np.linalg.svd(a)
    return (u * f(s)) @ vh


def _by_eig(f, a):
    w, v = np.linalg.eig(a)
    return np.real((v * f(w)) @ np.linalg.inv(v))


@pytest.mark.parametrize("function", [_by_eigh, _by_svd, _by_eig])
@pytest.mark.parametrize("matrix", [np.eye(4), _of_equal_values()[0]], ids=["eye", "rounded"])
def test_a_function_of_equal_values_and_their_vectors_is_refused(function, matrix):
    """The derivative is that of `f` between the two values, which no rule of a factor knows."""
    name = function.__name__.removeprefix("_by_")
    direction = _of_equal_values()[1]
    with pytest.raises(np.linalg.LinAlgError, match=rf"linalg.{name}: equal .*values do not"):
        ft.grad(lambda a: np.sum(direction * function(np.sqrt, a)))(matrix)
    with pytest.raises(np.linalg.LinAlgError):  # a single element, on which no value depends
        ft.grad(lambda a: function(np.sqrt, a)[0, 1])(matrix)
    with pytest.raises(np.linalg.LinAlgError, match=rf"linalg.{name}: equal .*values do not"):
        ft.jvp(lambda a: function(np.sqrt, a), (matrix,), (direction,))
    with pytest.raises(np.linalg.LinAlgError):  # of which nothing depends on the vectors by number
        ft.grad(lambda a: np.sum(direction * function(lambda w: w * w - 1.0, a)))(matrix)


@pytest.mark.parametrize("matrix", [np.eye(4), _of_equal_values()[0]], ids=["eye", "rounded"])
def test_a_space_of_equal_values_and_the_nearest_rotation_have_their_gradients(matrix):
    direction = np.random.default_rng(5).normal(size=(4, 4))
    weights = np.random.default_rng(6).normal(size=(4, 4))

    def rotation(a):
        u, _, vh = np.linalg.svd(a)
        return np.sum(weights * (u @ vh))

    def projection(a):
        w, v = np.linalg.eigh(a @ a.T)
        low = v[:, w < 2.0]  # which vectors is asked by the values, without a derivative
        return np.sum(weights * (low @ low.T))

    for f in (rotation, projection):
        step = 1e-6 * direction
        expected = (f(matrix + step) - f(matrix - step)) / 2e-6
        gradient = np.sum(ft.grad(f)(matrix) * direction)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)
        batch = np.stack([matrix, matrix + 0.1 * direction])
        rows = [np.sum(ft.grad(f)(a) * direction) for a in batch]
        both = ft.vmap(ft.grad(f))(batch)
        np.testing.assert_allclose(np.sum(both * direction, axis=(1, 2)), rows, rtol=1e-6)


def test_single_vectors_of_equal_values_are_refused():
    matrix, direction = _of_equal_values()
    for f in (
        lambda a: np.linalg.eigh(a)[1],
        lambda a: np.linalg.svd(a)[0],
        lambda a: np.real(np.linalg.eig(a)[1]),  # complex numbers since NumPy 2.5
    ):
        with pytest.raises(np.linalg.LinAlgError):
            ft.grad(lambda a, f=f: np.sum(direction * f(a)))(matrix)
        raises(np.linalg.LinAlgError, lambda: ft.jvp(f, (matrix,), (direction,)))


def test_what_uses_other_vectors_has_its_derivative():
    matrix, direction = _of_equal_values()
    weights = np.random.default_rng(6).normal(size=(4, 4))

    def largest(a):
        w, v = np.linalg.eigh(a)
        return np.sum(weights * np.outer(v[:, 3], v[:, 3])) * w[3]

    step = 1e-6 * direction
    expected = (largest(matrix + step) - largest(matrix - step)) / 2e-6
    gradient = np.sum(ft.grad(largest)(matrix) * direction)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def test_a_direction_that_keeps_the_vectors_has_its_tangent():
    matrix, _ = _of_equal_values()
    for f in (_by_eigh, _by_svd, _by_eig):
        value, tangent = ft.jvp(lambda a, f=f: f(np.sqrt, a), (matrix,), (np.eye(4),))
        np.testing.assert_allclose(tangent, np.linalg.inv(value) / 2, rtol=1e-6, atol=1e-9)


def test_a_defective_matrix_has_no_finite_gradient_of_its_eigenvalues():
    jordan = np.array([[1.0, 1.0], [0.0, 1.0]])
    try:
        gradient = ft.grad(lambda x: np.real(np.linalg.eigvals(x)[0]))(jordan)
    except np.linalg.LinAlgError:
        return
    assert not np.isfinite(gradient).all() or np.abs(gradient).max() > 1e10


def test_least_squares_of_less_than_full_rank_are_those_of_the_pseudoinverse():
    b = np.array([1.0, 0.5, 3.0])

    def by_lstsq(a):
        return np.sum(np.linalg.lstsq(a, b, 1e-10)[0] ** 3)

    def by_pinv(a):
        return np.sum((np.linalg.pinv(a, 1e-10) @ b) ** 3)

    assert np.linalg.lstsq(RANK_ONE, b)[2] == 1
    np.testing.assert_allclose(ft.grad(by_lstsq)(RANK_ONE), ft.grad(by_pinv)(RANK_ONE), 1e-6, 1e-12)


def test_a_batch_of_differing_ranks_has_no_residuals_of_one_shape():
    batch = np.stack([RANK_ONE, RANK_ONE + np.eye(3, 2)])
    b = np.ones(3)

    raises(ft.DataDependentError, lambda: ft.vmap(lambda a: np.linalg.lstsq(a, b))(batch), "rank")
    solutions = ft.vmap(lambda a: np.linalg.pinv(a, 1e-10) @ b)(batch)
    np.testing.assert_allclose(solutions, [np.linalg.lstsq(a, b)[0] for a in batch])


def test_a_matrix_without_full_rank_has_no_gradient_of_its_orthogonal_factor():
    for mode in ("reduced", "complete"):
        with np.errstate(all="ignore"):
            try:
                gradient = ft.grad(lambda x, m=mode: np.sum(np.linalg.qr(x, m)[0]))(RANK_ONE)
            except np.linalg.LinAlgError:
                continue
        assert not np.isfinite(gradient).all() or np.abs(gradient).max() > 1e10


def test_columns_that_complete_a_basis_follow_the_others():
    """The projection onto a null space, with the columns of either decomposition."""
    x = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]])
    t = np.array([[0.2, 0.1, -0.4], [1.0, 0.3, 0.6]])

    def by_svd(x):
        v = np.linalg.svd(x)[2][2:].T
        return v @ v.T

    def by_qr(x):
        q = np.linalg.qr(x.T, mode="complete")[0][:, 2:]
        return q @ q.T

    def by_pinv(x):
        return np.eye(3) - np.linalg.pinv(x) @ x

    expected = ft.jvp(by_pinv, (x,), (t,))[1]
    for f in (by_svd, by_qr):
        np.testing.assert_allclose(ft.jvp(f, (x,), (t,))[1], expected)
        np.testing.assert_allclose(ft.jacrev(f)(x), ft.jacrev(by_pinv)(x), atol=1e-12)


def test_a_multiple_root_has_no_finite_derivative():
    with np.errstate(all="ignore"):
        jacobian = ft.jacfwd(np.roots)(np.array([1.0, -2.0, 1.0]))

    assert not np.isfinite(jacobian).all() or np.abs(jacobian).max() > 1e6


def test_roots_at_zero_move_with_the_last_coefficient():
    jacobian = ft.jacfwd(np.roots)(np.array([1.0, -2.0, 0.0]))

    np.testing.assert_allclose(jacobian, [[-2.0, -1.0, -0.5], [0.0, 0.0, 0.5]], atol=1e-12)


def test_examples_whose_results_differ_in_length_are_refused():
    with pytest.raises(ft.DataDependentError, match="number of roots"):
        ft.vmap(np.roots)(np.array([[1.0, 2.0, 3.0], [0.0, 2.0, 3.0]]))
    with pytest.raises(ft.DataDependentError, match="leading zeros"):
        ft.vmap(lambda p: np.polymul(p, p))(np.array([[1.0, 2.0], [0.0, 2.0]]))
    with pytest.raises(ft.DataDependentError, match="number of bins"):
        ft.vmap(lambda x: np.histogram(x, "fd")[0])(np.array([np.arange(9.0), np.arange(9.0) ** 4]))
    with pytest.raises(ft.DataDependentError, match="number of places"):
        ft.vmap(lambda i: np.delete(np.arange(4.0), i))(np.array([[1, 1], [1, 2]]))


def test_a_batch_is_complex_where_one_example_is():
    x = np.array([[1.0, 4.0], [1.0, -4.0]])

    assert ft.vmap(np.emath.sqrt)(x[:1]).dtype == float
    np.testing.assert_array_equal(ft.vmap(np.emath.sqrt)(x), np.emath.sqrt(x))
    assert ft.grad(lambda x: np.sum(np.emath.sqrt(x).imag))(x[1])[1] == -0.25


def test_a_running_extremum_has_the_gradient_of_the_elements_that_it_shows():
    x = np.array([1.0, 3.0, 2.0, 3.0, 5.0])
    gradient = ft.grad(lambda x: np.sum(np.maximum.accumulate(x)))(x)

    np.testing.assert_array_equal(gradient, [1, 2.5, 0, 0.5, 1])


def test_least_squares_keep_every_singular_value_where_rcond_is_zero():
    a, b = np.diag([1.0, 1e-17]), np.array([2.0, 1e-17])
    found = ft.vmap(lambda a: np.linalg.lstsq(a, b, rcond=0.0)[0])(np.stack([a, 2 * a]))
    np.testing.assert_allclose(found, [[2.0, 1.0], [1.0, 0.5]], rtol=1e-12)


@pytest.mark.parametrize("f", [
    lambda a: np.linalg.pinv(a, 0.3), lambda a: ft.scipy.linalg.pinv(a, atol=0.1),
    lambda a: np.linalg.pinv(a @ a.T, 0.2, hermitian=True),
    lambda a: np.linalg.lstsq(a, np.ones(2), 0.3)[0],
])  # fmt: skip
@pytest.mark.parametrize("transform", [ft.jacfwd, ft.jacrev, lambda f: ft.compile(ft.jacrev(f))])
def test_a_pseudo_inverse_that_leaves_out_more_than_zeros_is_refused(transform, f):
    """Its formula is that of a matrix of the rank that stays."""
    a = np.array([[-0.06, -0.08], [-0.1, -0.09]])
    with pytest.raises(np.linalg.LinAlgError, match="leaves out singular values that are not zero"):
        transform(f)(a)

    k = 1  # what the message says to write instead

    def written(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return (vh[:k].mT.conj() / s[:k]) @ u[:, :k].mT.conj()

    np.testing.assert_allclose(written(a), np.linalg.pinv(a, 0.3), 1e-12)
    ft.testing.check_grads(written, (a,), order=1)


def test_a_least_squares_solution_of_a_cut_matrix_has_a_derivative_by_the_right_side():
    a, b = np.array([[-0.06, -0.08], [-0.1, -0.09]]), np.ones(2)
    found = ft.jacrev(lambda b: np.linalg.lstsq(a, b, 0.3)[0])(b)
    np.testing.assert_allclose(found, np.linalg.pinv(a, 0.3), 1e-10)
