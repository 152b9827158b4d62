"""`scipy.linalg` under transforms: SciPy's errors, what is refused, and stacks of matrices."""

import numpy as np
import optree
import pytest
import scipy.linalg

import functier as ft
import functier.scipy.linalg as sl
from samples.scipy_linalg import NAMED
from support.basics import raises

A = np.array([[4.0, 1.0, 0.5], [0.3, 3.0, -1.0], [0.2, 0.7, 5.0]])
B = np.ones(3)
NAN = np.where(np.eye(3) > 0, np.nan, A)
TALL = np.ones((4, 3))
STACK = A + np.arange(2.0)[:, None, None]


def moved(function, x):
    """The results of a function under jvp."""
    return ft.jvp(lambda x: optree.tree_leaves(function(x)), (x,), (np.ones_like(x),))[0]


ERRORS = [
    ("singular", lambda m, a: m.solve(a, B), np.ones((3, 3))),
    ("not finite", lambda m, a: m.solve(a, B), NAN),
    ("not square", lambda m, a: m.solve(a, B), TALL),
    ("rows", lambda m, a: m.solve(a, np.ones(4)), A),
    ("structure", lambda m, a: m.solve(a, B, assume_a="round"), A),
    ("indefinite", lambda m, a: m.solve(a, B, assume_a="pos"), -A),
    ("complex", lambda m, a: m.solve(a, B, transposed=True), A + 0j),
    ("triangular", lambda m, a: m.solve_triangular(a, B), 0 * A),
    ("triangular columns", lambda m, a: m.solve_triangular(a, np.ones((3, 2))), 0 * A),
    ("inv", lambda m, a: m.inv(a), 0 * A),
    ("det", lambda m, a: m.det(a), TALL),
    ("cholesky", lambda m, a: m.cholesky(a), -A),
    ("cho_solve", lambda m, a: m.cho_solve((a, True), np.ones(4)), A),
    ("lu_solve", lambda m, a: m.lu_solve((a, np.arange(3)), B, 5), A),
    ("qr", lambda m, a: m.qr(a, mode="round"), A),
    ("svd", lambda m, a: m.svd(a, lapack_driver="round"), A),
    ("eigh driver", lambda m, a: m.eigh(a, driver="gv"), A),
    ("eigh part", lambda m, a: m.eigh(a, subset_by_index=[2, 5]), A),
    ("eigh type", lambda m, a: m.eigh(a, np.eye(3), type=4), A),
    ("tridiagonal", lambda m, d: m.eigh_tridiagonal(d, np.ones(5)), B),
    ("eig", lambda m, a: m.eig(a), TALL),
    ("pinv", lambda m, a: m.pinv(a, rtol=-1), A),
    ("lstsq", lambda m, a: m.lstsq(a, np.ones(5)), A),
    ("schur", lambda m, a: m.schur(a, output="round"), A),
    ("schur sort", lambda m, a: m.schur(a, sort="round"), A),
    ("rsf2csf", lambda m, a: m.rsf2csf(a, np.eye(4)), A),
    ("matrix_balance", lambda m, a: m.matrix_balance(a), TALL),
    ("eig_banded", lambda m, a: m.eig_banded(a, select="i", select_range=(1, 7)), A),
    ("qr_multiply", lambda m, a: m.qr_multiply(a, np.ones((2, 3))), TALL),
    ("qr_multiply mode", lambda m, a: m.qr_multiply(a, B, "round"), A),
    ("diagsvd", lambda m, s: m.diagsvd(s, 4, 5), B),
]


@pytest.mark.parametrize("call, x", [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
def test_wrong_arguments_raise_scipys_errors(call, x):
    with pytest.raises(Exception) as expected:
        call(scipy.linalg, x)
    with pytest.raises(type(expected.value)) as found:
        moved(lambda a: call(sl, a), x)

    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "call, x",
    [
        (lambda m, a: m.solve(a, B), STACK),
        (lambda m, a: m.solve(a, 2.0 * np.ones((2, 3, 1)), assume_a="sym"), A),
        (lambda m, a: m.solve_triangular(a, np.ones((3, 2)), lower=True), STACK),
        (lambda m, a: m.lu(a), STACK),
        (lambda m, a: m.qr(a, mode="economic"), STACK),
        (lambda m, a: m.rq(a), STACK[:, :2]),
        (lambda m, a: m.svd(a), STACK),
        (lambda m, a: m.eigvalsh(a, np.eye(3)), STACK),
        (lambda m, a: m.lstsq(a, B)[0], STACK),
        (lambda m, a: m.rsf2csf(*m.schur(a)), STACK),
        (lambda m, a: m.eig_banded(a), STACK),
    ],
    ids="solve sym triangular lu qr rq svd eigvalsh lstsq schur eig_banded".split(),
)
@pytest.mark.skipif(not hasattr(scipy.linalg.qr, "__wrapped__"), reason="SciPy without stacks")
def test_stacks_of_matrices(call, x):
    expected = optree.tree_leaves(call(scipy.linalg, x))

    for y, z in zip(moved(lambda a: call(sl, a), x), expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(not hasattr(scipy.linalg.qr, "__wrapped__"), reason="SciPy without stacks")
def test_a_list_of_stacks_is_a_list_under_vmap():
    x = np.stack([STACK, STACK + 1, STACK - 2])

    found = ft.vmap(sl.polar)(x)
    assert type(found) is type(scipy.linalg.polar(STACK)) is list
    for y, z in zip(found, zip(*map(scipy.linalg.polar, x)), strict=True):
        np.testing.assert_allclose(y, np.stack(z), rtol=1e-12)
    assert [y.shape for y in ft.vmap(sl.polar)(x[:0])] == [(0, 2, 3, 3)] * 2
    assert type(ft.vmap(sl.polar)(STACK)) is tuple, "as of one matrix"


EMPTY = (
    "inv",
    "det",
    "pinv",
    "pinvh",
    "lu",
    "qr",
    "rq",
    "svd",
    "svdvals",
    "eigh",
    "eig",
    "schur",
    "hessenberg",
)


@pytest.mark.parametrize("name", EMPTY)
def test_empty_matrices(name):
    expected = optree.tree_leaves(getattr(scipy.linalg, name)(np.zeros((0, 0))))
    found = moved(getattr(sl, name), np.zeros((0, 0)))

    assert [np.shape(x) for x in found] == [np.shape(x) for x in expected]


@pytest.mark.parametrize(
    "call, remedy",
    [
        (lambda a: sl.qr(a, mode="raw"), "economic"),
        (lambda a: sl.eig(a, np.eye(3), homogeneous_eigvals=True), "leave it out"),
        (lambda a: sl.eig(a, np.eye(3), left=True, right=False), "left=True alone"),
        (lambda a: sl.eig_banded(a + 1j), "eigvals_banded"),
        (lambda a: sl.ldl(a), "cholesky"),
        (lambda a: sl.solve_circulant(a[0], a[1]), "circulant"),
    ],
    ids=["qr", "homogeneous", "left", "banded", "ldl", "circulant"],
)
def test_forms_that_are_refused(call, remedy):
    with pytest.raises(ft.UnsupportedError, match=remedy):
        moved(call, A)


TURN = np.array([[0.6, 0.8], [-0.8, 0.6]])


@pytest.mark.parametrize(
    "x, output, message",
    [
        (np.diag([1.0, 2.0, 1.0]), "real", "two eigenvalues are equal"),
        (np.eye(2), "complex", "two eigenvalues are equal"),
        (TURN, "real", "write output='complex'"),
    ],
    ids=["real", "complex", "rotation"],
)
def test_a_form_of_schur_that_jumps_has_no_derivative(x, output, message):
    def function(a):
        return sl.schur(a, output)[0]

    with pytest.raises(np.linalg.LinAlgError, match=message):
        moved(function, x)
    with pytest.raises(np.linalg.LinAlgError, match=message):
        ft.vjp(function, x)[1](np.ones_like(function(x)))
    np.testing.assert_array_equal(ft.vmap(function)(x[None]), function(x)[None])
    moved(lambda a: np.diagonal(sl.schur(a, "complex")[0]), TURN)


C = A + 1j * np.diag([0.3, -0.2, 0.1]) + 0.1j * A.T
ROW = A[:1]
FIVE = np.concatenate([A, B[None], ROW**2])[:, :2]


def projector(q):
    return q @ q.mT.conj()


CHOICES = {  # what depends on the choice, what does not, and at which matrix
    "null_space": (lambda q: q[0, 0], projector, sl.null_space, ROW),
    "orth": (lambda q: q[0, 0], projector, sl.orth, A[:, :2]),
    "svd": (
        lambda u: np.real(u[0, 0]), lambda u: projector(u[:, :1]), lambda a: np.linalg.svd(a)[0], C,
    ),
    "svd of a tall matrix": (
        lambda u: u[0, 2], lambda u: projector(u[:, 2:]), lambda a: np.linalg.svd(a)[0], FIVE,
    ),
    "svd of a wide matrix": (
        lambda u: u[0, 2], lambda u: projector(u[:, 2:]), lambda a: sl.svd(a.mT)[2].mT, FIVE,
    ),
    "qr": (
        lambda q: q[0, 2], lambda q: projector(q[:, 2:]),
        lambda a: np.linalg.qr(a, "complete")[0], FIVE,
    ),
    "qr of a complex matrix": (
        lambda q: np.real(q[0, 2]), lambda q: projector(q[:, 2:]),
        lambda a: sl.rq(a.mT)[1][::-1].mT, FIVE[:3] + 1j,
    ),
    "schur": (
        lambda z: np.real(z[0, 0]), lambda z: projector(z[:, :1]), lambda a: sl.schur(a)[1], C,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_a_gradient_that_depends_on_a_choice_of_lapack_is_refused(name):
    depends, same, vectors, x = CHOICES[name]
    step = 1e-6 * np.cos(np.arange(x.size)).reshape(x.shape)

    def mixed(a, much):
        q = vectors(a)
        return np.real(same(q)[0, 1]) + much * depends(q)

    def settled(a):
        return mixed(a, 0.0)

    def slope(a):
        return np.sum(ft.grad(settled)(a) * step).real

    def difference(f):
        return (f(x + step) - f(x - step)) / 2

    message = f"{name.partition(' ')[0]}: the gradient depends on the"
    compiled = ft.compile(ft.grad(mixed))
    np.testing.assert_allclose(compiled(x, 0.0), ft.grad(settled)(x))  # one that it may have kept
    several = [compiled, ft.grad(mixed), ft.jacrev(mixed), ft.vmap(ft.grad(mixed), (0, None))]
    for f, point in zip(several, (x, x, x, x[None])):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            f(point, 1.0)
    np.testing.assert_allclose(slope(x), difference(settled), rtol=1e-5)
    second = np.sum(ft.grad(slope)(x) * step).real
    np.testing.assert_allclose(second, difference(slope), rtol=1e-5)


def test_a_form_of_hessenberg_that_jumps_has_no_derivative():
    with pytest.raises(np.linalg.LinAlgError, match="hessenberg has no derivative"):
        moved(sl.hessenberg, np.eye(3))


def test_numbers_of_sorted_eigenvalues_are_those_of_each_example():
    found = ft.vmap(lambda a: sl.schur(a, sort="lhp")[2])(np.stack([A, -A, A - 4 * np.eye(3)]))

    np.testing.assert_array_equal(
        found, [0, 3, scipy.linalg.schur(A - 4 * np.eye(3), sort="lhp")[2]]
    )


def test_values_that_are_no_pairs_are_refused():
    with pytest.raises(ValueError, match="one beside the other"):
        moved(lambda a: sl.cdf2rdf(B + 1j * np.array([1, 0, -1]), a), A)


def test_a_number_is_no_matrix_of_an_equation():
    """For SciPy it has another meaning."""
    with pytest.raises(ValueError, match="must have the same shape"):
        moved(lambda a: sl.solve_discrete_lyapunov(a[:1, :1], A), A)


def test_a_form_that_is_no_form_of_schur_is_refused():
    with pytest.raises(ValueError, match="not a real Schur form"):
        moved(lambda a: sl.rsf2csf(a, np.eye(3)), A)


def test_complex_vectors_of_a_pair_have_no_derivative():
    turning = np.array([[0.0, 1.0], [-2.0, 0.0]])

    raises(ft.NoRuleError, lambda: moved(lambda a: sl.eig(a, np.eye(2)), turning), "eigvals")
    moved(lambda a: sl.eigvals(a, np.eye(2)), turning)


def test_arguments_are_not_overwritten():
    a, b = np.asfortranarray(A), np.asfortranarray(np.ones((3, 2)))
    before = a.copy(), b.copy()
    ft.jvp(lambda a, b: sl.solve(a, b, overwrite_a=True, overwrite_b=True), (a, b), (a, b))
    ft.vmap(lambda a: sl.lu(a, overwrite_a=True))(a[None])
    ft.vjp(lambda a: sl.qr(a, overwrite_a=True), a)
    ft.vjp(lambda a: sl.eigh(a, overwrite_a=True)[0], a)

    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])


@pytest.mark.skipif(not NAMED, reason="SciPy without names of structures")
@pytest.mark.parametrize("kind", ["upper triangular", "lower triangular", "symmetric"])
def test_both_modes_read_the_same_part_of_a_matrix(kind):
    solve = lambda b: sl.solve(A, b, assume_a=kind)  # noqa: E731

    np.testing.assert_allclose(ft.jacrev(solve)(B), ft.jacfwd(solve)(B))


def test_ranks_that_differ_from_example_to_example_are_refused():
    many = np.stack([np.ones((3, 2)), np.eye(3, 2)])

    raises(ft.DataDependentError, lambda: ft.vmap(lambda a: sl.lstsq(a, B)[1])(many), "example")
