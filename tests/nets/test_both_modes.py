"""Both modes: at zeros, ones, ties and infinities the Jacobian by vjp is that by jvp.

A case is a row of the sample table with other numbers. NumPy decides whether it is one: what
it refuses is left out. The Jacobian is taken column by column and row by row, of the real
and imaginary parts, so that complex rows have it too.
"""

import re

import numpy as np
import optree

import functier as ft
import samples
from faults.planted import nets as faulty
from nets.verdicts import Verdicts
from support.basics import silent
from support.checks import at, precision

REASONS = {
    "LinAlgError: singular matrix": "a matrix of zeros has no solution",
    "LinAlgError: Singular matrix": "the rules of determinants and factors solve with the matrix",
    r"LinAlgError: singular matrix: resolution failed at diagonal \d": "the rules of LU and "
    "Cholesky factors solve with a triangular factor, which has a zero on its diagonal",
    r"LinAlgError: A singular matrix detected: slice\(s\) \[0\]": "a pair of matrices of which the "
    "second one is singular has infinite eigenvalues",
    "LinAlgError: scipy.linalg.schur has no derivative where two eigenvalues are equal": "the "
    "vectors of equal eigenvalues are not determined, as those of eigh",
    r"LinAlgError: numpy\.linalg\.(svd|eigh|eig): (equal (singular |eigen)|a single one of several "
    "equal eigen)values": "they do not determine their vectors",
    r"ValueError: Each entry in 'x' must be greater": "a point that has no density",
    "LinAlgError: a derivative solves a Sylvester equation that has no unique": "a "
    "singular matrix, or one with opposite eigenvalues: polar factors, signs and roots jump there",
    r"ValueError: Rotation: the best rotation is not unique": "vectors that do not determine it",
    r"ValueError: Rotation: the values must be finite": "an eigenvalue problem with infinities",
    "FloatingPointError: finite_difference": "no finite values on both sides of a parameter",
    "UnsupportedError: a coefficient that is 0 is dropped": "NumPy leaves it out, by its value",
    r"ValueError: (Knots must be in a non-decreasing order|`x` must be strictly increasing)": "a "
    "spline without places in order",
    r"ValueError: scipy\.fft\.fht or ifht is singular": "a pole of the gamma function",
    r"ZeroDivisionError: complex division by zero": "the slope of an offset at the same pole",
    "ConversionError.*computes another formula where two numbers are the same": "the slope of that "
    "formula is another one",
    "LinAlgError: scipy.linalg.hessenberg has no derivative": "the other factor jumps there",
    "LinAlgError: logarithms and powers of a singular matrix": "they are infinite, or steep",
    "LinAlgError: Schur form not found": "LAPACK, of infinities",
    r"ValueError: scipy\.signal\.lfilter_zi: the first coefficient": "SciPy leaves zeros out",
    r"ValueError: scipy\.sparse\.linalg\.\w+ stopped early": "a singular or infinite system",
    r"UnsupportedError: scipy\.optimize\.root_scalar: the result has no": "a root without slope",
}
"""Refusals that are foreseen: what the message says, and why a user has to accept it."""

LAPACK = {"linalg", "orthogonal", "eig", "lstsq"}
"""Families that get no infinities, for which LAPACK promises nothing."""

LEFT_OUT = {
    r"^composite\.interp": "NumPy asks for increasing points, which these are not",
    r"^by_value\.logn.* zero": "of complex numbers 1 / 0 is NaN or infinite as it is written",
    r"^contraction\.(outer|multi_dot).*(infinity|mixed)": "in reverse mode zero wins over "
    "an infinite operand; forward mode looks where a derivative can be infinite",
    r"^contraction\.matmul-(d\[2,3\],)?D.*(infinity|mixed)": "NumPy's product of an infinity and a "
    "complex number has NaN in a part, which is one entry of the derivative here, not there",
    r"^composite\.gradient.*(infinity|mixed)": "an infinite distance divides elsewhere",
    r"^constant\.<lambda>": "some of these read memory that nobody has written",
    r"^linalg\.eighcomplex.*ties": "equal eigenvalues do not determine their vectors",
    r"^orthogonal\.svd.*(ones|ties)": "rank one, as orthogonal.qr",
    r"^linalg\.cond-d\[3,3\]-2, (ones|ties)": "rank one, too",
    r"^polynomial\.poly-.*ties": "equal eigenvalues",
    r"^scipy_stats_tests\.combined.*mudholkar.*(zero|ones)": "infinite scores, as the next one",
    r"^scipy_stats_tests\.student.*ties": "equal samples: of one mode zero wins over infinity",
    r"^scipy_stats_tests\.fromstats.*(infinity|mixed)": "the same of infinite means",
    r"^orthogonal\.qr.*(ones|ties)": "rank one, of which rounding errors make 1e-17",
    r"^scipy_linalg_decompositions\.qr_multiply.*(ones|ties) in \(0": "as orthogonal.qr",
    r"^scipy_linalg_decompositions\.sl\.lu_solve-D.*ties in \(0, 1\)": "equal columns: a singular "
    "matrix, of whose last pivot rounding errors make 1e-17",
    r"^polynomial\.polyfit.*(infinity|mixed)": "LAPACK, too",
    r"^quantile.*(infinity|mixed)": "between two infinities there is no number to interpolate",
    r"^join\.pad.*median.*infinity": "as quantile",
    r"^scipy_fftpack\.irfft.*infinity": "one mode adds the infinity to a number, the other to NaN",
    r"^scipy_places\.directed_hausdorff.*(infinity|mixed)": "the distance of infinite points",
    r"^scipy_stats_multivariate\..*infinity": "the density of an infinite point",
    r"^scipy_stats_tests\.energy_distance.*ones": "a root of zero, as of equal samples",
    r"multiply\.reduce.*initial.*(infinity|mixed)": "0 * inf of what the mask leaves out, by jvp",
    r"^scipy_linalg_decompositions\.(qr|rq|sl\.qrpivoting)-.*(ones|ties)": "rank one, as above",
    r"^scipy_linalg_decompositions\.eigvals-d\[3,3\],d.*ties": "singular, but for rounding",
    r"^scipy_linalg_functions\.onthecut.*ties": "a singular matrix, too",
    r"^scipy_rotation\.align_vectors.*(infinity|mixed)": "SciPy does not return",
    r"^scipy_signal_designs\.iircomb.*ones": "a pole of a tangent: rounding shows",
    r"^scipy_signal_rates\.forms-d\[2\],d\[3\]-0\.5.*infinity": "SciPy drops zeros, by value",
    r"^scipy_sparse\.spsolve.*infinity": "SuperLU, as LAPACK",
}
"""Cases that are not judged, and why."""

ROWS = {name: row for name, row in samples.named().items() if row.differentiated() and row.order}
LOUD = {
    r"^scipy_(fftpack|integrate|interpolate|linalg\w+|ndimage|places|s\w+)\..*(infinity|mixed)": (
        "an infinite factor meets a zero in one mode, which is NaN, and not in the other"
    ),
    r"^scipy_interpolate\.interp1d.*(zeros|ones)": "two equal places are divided by 0",
    r"^scipy_spatial\.oftwo": "the root of a distance that is 0, or an inverse that is",
    r"^scipy_stats\.(entropy.*a zero|likelihoods.*ties)": "a logarithm of 0",
    r"^scipy_stats\.(angles|one_angle).*ones": "equal angles: the root of 0",
    r"^scipy_stats_tests\.f_oneway": "equal samples: 0 / 0",
}
"""Cases in which one mode has NaN or an infinity, which nobody takes for a derivative, where the
other one has a number: the numbers that both have are judged. The value, too, may be such."""

SLICE = list(ROWS)[::24]
LARGEST = 64
"""The number of columns and rows of a Jacobian that are looked at."""


# ---- cases ----


def ties(x, rng):
    return rng.choice(x.reshape(-1)[:2], x.shape)


def one_of_them(value):
    def put(x, rng):
        x = x.copy()
        if x.size:
            x.reshape(-1)[rng.integers(x.size)] = value
        return x

    return put


def mixed(x, rng):
    pool = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 2.0]
    special = rng.choice(np.array(pool), x.shape)
    return np.where(rng.random(x.shape) < 0.5, special.astype(x.dtype), x)


KINDS = {
    "zeros": lambda x, rng: np.zeros_like(x),
    "negative zeros": lambda x, rng: np.full_like(x, -0.0),
    "ones": lambda x, rng: np.ones_like(x),
    "ties": lambda x, rng: ties(x, rng) if x.size else x,
    "a zero": one_of_them(0.0),
    "an infinity": one_of_them(np.inf),
    "a negative infinity": one_of_them(-np.inf),
    "mixed": mixed,
}
"""Special values that replace those of an operand."""


def cases(row, seed):
    """``(what, operands)``: special values for all the differentiated operands, and for each."""
    where = row.differentiated()
    for kind, make in KINDS.items():
        for chosen in [where, *([(i,) for i in where] if len(where) > 1 else ())]:
            rng = np.random.default_rng(seed)
            leaves = list(row.leaves)
            for i in chosen:
                leaves[i] = np.asarray(make(leaves[i], rng))
            yield f"{kind} in {chosen}", leaves


# ---- Jacobians of real and imaginary parts ----


def parts(values):
    """Real and imaginary parts of arrays, one after the other."""
    columns = []
    for x in values:
        x = np.asarray(x)
        columns.append(np.real(x).reshape(-1).astype(float))
        if x.dtype.kind == "c":
            columns.append(np.imag(x).reshape(-1).astype(float))
    return np.concatenate(columns) if columns else np.zeros(0)


def units(values):
    """The unit vectors of the real and imaginary parts, and their numbers."""
    n = len(parts(values))
    for k in range(n) if n <= LARGEST else np.linspace(0, n - 1, LARGEST).astype(int):
        found, start = [], 0
        for x in values:
            x = np.asarray(x)
            unit = np.zeros(x.shape, x.dtype)
            for factor in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
                if 0 <= k - start < x.size:
                    unit.reshape(-1)[k - start] = factor
                start += x.size
            found.append(unit)
        yield k, found


def jacobians(f, points):
    """The value by both modes, and the entries of the Jacobian that both were asked for."""
    value, pullback = ft.vjp(f, *points)
    forward = {k: parts(ft.jvp(f, tuple(points), tuple(t))[1]) for k, t in units(points)}
    reverse = {k: parts(pullback(g)) for k, g in units(value)}
    moved = ft.jvp(f, tuple(points), tuple(np.zeros_like(x) for x in points))[0]
    columns, rows = list(forward), list(reverse)
    by_jvp = np.array([[forward[j][i] for j in columns] for i in rows])
    by_vjp = np.array([[reverse[i][j] for j in columns] for i in rows])
    shape = len(rows), len(columns)
    return value, moved, by_jvp.reshape(shape), by_vjp.reshape(shape)


def same_numbers(actual, expected, rtol, loud=False):
    """Raise where values differ; NaN for an infinity is the order of operations.

    With `loud` it may stand for a number, too.
    """
    a, b = optree.tree_leaves(actual), optree.tree_leaves(expected)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert np.shape(x) == np.shape(y), f"shape {np.shape(x)}, expected {np.shape(y)}"
        finite = np.isfinite(x)
        if loud:
            finite &= np.isfinite(y)
        else:
            np.testing.assert_array_equal(finite, np.isfinite(y), "finite in other places")
        x, y = np.where(finite, x, 0), np.where(finite, y, 0)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


def agree(by_jvp, by_vjp, rtol, loud=False):
    """Raise where entries differ.

    Of a product with a unit vector an entry is NaN where an infinite factor meets one of the
    zeros: then, and only then, another entry of the same row by jvp, or column by vjp, is
    infinite or NaN in the other mode. With `loud` any entry may be.
    """
    if max(by_jvp.shape) == LARGEST:  # the infinite factor may not be among these
        by_jvp = np.where(np.isnan(by_vjp), by_vjp, by_jvp)
        by_vjp = np.where(np.isnan(by_jvp), by_jvp, by_vjp)
    finite_f, finite_r = np.isfinite(by_jvp), np.isfinite(by_vjp)
    meets_f = (~finite_r).sum(1, keepdims=True) - ~finite_r > 0
    meets_r = (~finite_f).sum(0, keepdims=True) - ~finite_f > 0
    nan_f, nan_r = np.isnan(by_jvp), np.isnan(by_vjp)
    excused = (nan_f & nan_r) | (nan_f & meets_f) | (nan_r & meets_r)
    both = finite_f & finite_r
    excused |= loud & ~both
    scale = np.abs(np.where(both, by_jvp, 0)).max(initial=1)
    with np.errstate(invalid="ignore"):
        close = np.where(both, np.abs(by_jvp - by_vjp) <= rtol * scale, by_jvp == by_vjp)
    wrong = ~(close | excused)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise AssertionError(
            f"{wrong.sum()} of {wrong.size} entries differ, the first at {i, j}: {by_jvp[i, j]} by "
            f"jvp, {by_vjp[i, j]} by vjp"
        )


HANGING = {"hyp1f1"}
"""Functions of SciPy that never return at an infinity."""


def is_case(name, row, what, leaves):
    infinite = any(np.isinf(x).any() for x in leaves if x.dtype.kind in "fc")
    if infinite and (row.func.__name__ in HANGING or name.partition(".")[0] in LAPACK):
        return False
    return not any(re.search(pattern, f"{name}, {what}") for pattern in LEFT_OUT)


def judge(counts, name, row, seed=0):
    positions = row.differentiated()
    for what, leaves in cases(row, seed):
        if not is_case(name, row, what, leaves):
            continue
        try:
            expected = at(row, tuple(range(len(leaves))))[0](*leaves)
        except Exception:  # NumPy, too, does not take these
            continue
        f, _ = at(row, positions)
        points = [leaves[i] for i in positions]
        rtol = precision(row, 1e-8, 1e-3)

        loud = any(re.search(pattern, f"{name}, {what}") for pattern in LOUD)

        def check(found, expected=expected, rtol=rtol, loud=loud):
            value, moved, by_jvp, by_vjp = found
            same_numbers(value, expected, rtol, loud)
            same_numbers(moved, expected, rtol, loud)
            agree(by_jvp, by_vjp, rtol, loud)

        counts.judge(f"{name}, {what}", lambda f=f, points=points: jacobians(f, points), check)


def is_judged(name):
    """Tell if the modes are to agree at a row, wherever it stands in its family."""
    return name in ROWS


def run(counts, names):
    with silent():
        for name in names:
            judge(counts, name, ROWS[name])


def test_both_modes(verdicts, full):
    counts = verdicts("both modes at special values", REASONS)
    run(counts, list(ROWS) if full else SLICE)
    counts.settle()


# ---- planted faults ----


def faults(names):
    counts = Verdicts("planted", REASONS)
    run(counts, names)
    return counts.wrong


def rows_of(text):
    return [name for name in ROWS if text in name]


def test_slices_that_read_beyond_their_end(monkeypatch):
    """The case of reduceat: its slices as rows, padded with elements of other slices."""
    names = rows_of("divide.reduceat")
    assert not faults(names)
    faulty.slices_that_read_beyond_their_end(monkeypatch)

    assert any("nan by vjp" in text for text in faults(names))


def test_numbers_for_an_equation_that_has_no_solution(monkeypatch):
    """LAPACK perturbs the matrices of a singular one."""
    names = rows_of("solve_continuous_lyapunov")
    assert not faults(names)
    faulty.numbers_for_a_singular_equation(monkeypatch)

    assert any("by jvp" in text for text in faults(names))
