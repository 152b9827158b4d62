"""All names of NumPy: what each of them does inside a level.

A name is NumPy's own object (types of numbers, ufuncs, constants), or NumPy dispatches it (the
sample table has rows of these), or a table here has it.
"""

import importlib
import types
import warnings
from functools import cache

import numpy as np
import pytest
import scipy.linalg

import functier as ft
import functier.numpy as fnp
from support.rows import run_each

X = np.array([0.3, 0.7, 1.1])
MODULES = (
    "numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.lib.stride_tricks",
    "numpy.lib.scimath", "numpy.lib.array_utils", "numpy.lib.mixins", "numpy.polynomial",
    "numpy.polynomial.polynomial", "numpy.polynomial.chebyshev", "numpy.polynomial.polyutils",
    "numpy.testing", "numpy.exceptions", "numpy.dtypes",
)  # fmt: skip

TAKES = {
    "array": lambda np, x: np.array([[x[0], 1.0], [2.0, x[1]]]),
    "asarray": lambda np, x: np.asarray([x[0], 1.0]),
    "asanyarray": lambda np, x: np.asanyarray((x[0], [x[1]][0])),
    "asarray_chkfinite": lambda np, x: np.asarray_chkfinite([x[0], 1.0]),
    "ascontiguousarray": lambda np, x: np.ascontiguousarray([x[0], 1.0]),
    "asfortranarray": lambda np, x: np.asfortranarray([[x[0], 1.0]]),
    "require": lambda np, x: np.require([x[0], 1.0], float),
    "arange": lambda np, x: np.arange(3.0) * x[0],
    "zeros": lambda np, x: np.zeros(2) + x[0],
    "ones": lambda np, x: np.ones((2, 1)) * x[0],
    "empty": lambda np, x: np.empty(2) * 0 + x[0],
    "full": lambda np, x: np.full((2, 2), x[0]),
    "eye": lambda np, x: np.eye(3) @ x,
    "identity": lambda np, x: np.identity(3) @ x,
    "tri": lambda np, x: np.tri(3) @ x,
    "indices": lambda np, x: np.indices((3, 2)) * x[0],
    "fromiter": lambda np, x: np.fromiter((v * 2 for v in x), float),
    "fromfunction": lambda np, x: np.fromfunction(lambda i, j: i * x[0] + j, (2, 3)),
    "frompyfunc": lambda np, x: np.frompyfunc(lambda a, b: a * b, 2, 1)(x, x[0]).astype(float),
    "vectorize": lambda np, x: np.vectorize(lambda a, b: a * b + 1.0)(x, 2.0),
    "vectorize with a signature": lambda np, x: np.vectorize(
        lambda a, b: np.sum(a) * b, signature="(n),()->()"
    )(np.stack([x, x * 2]), x[:2]),
    "vectorize of two results": lambda np, x: np.vectorize(lambda a: (a * 2, a + 1), otypes="dd")(
        x
    )[1],
    "ndenumerate": lambda np, x: np.array([i[0] * v for i, v in np.ndenumerate(x)]),
    "nditer": lambda np, x: np.stack([v * 2 for v in np.nditer(x)]),
    "nditer of two": lambda np, x: np.stack([v * w for v, w in np.nditer([x, x[:, None]])]),
    "broadcast": lambda np, x: np.array([a * b for a, b in np.broadcast(x, x[:, None])]),
    "ndindex": lambda np, x: np.stack([x[i] * 2 for i in np.ndindex(x.shape)]),
    "r_": lambda np, x: np.r_[x[0], 1.0, x, 0:1:3j],
    "c_": lambda np, x: np.c_[x, [1.0, x[1], 2.0]],
    "mgrid": lambda np, x: np.mgrid[0 : x.shape[0], 0:2] * x[0],
    "ogrid": lambda np, x: np.ogrid[0:3] * x,
    "s_": lambda np, x: x[np.s_[1:]],
    "index_exp": lambda np, x: x[np.index_exp[1:]],
    "poly1d": lambda np, x: np.poly1d([1.0, 2.0, 3.0])(x),
    "isscalar": lambda np, x: x * np.isscalar(x[0]) + np.isscalar(x),
    "nonzero": lambda np, x: x[np.nonzero(x > 0)[0]],
    "flatnonzero": lambda np, x: x[np.flatnonzero([x[0] > 0, x[1] < 0, x[2] > 0])],
    "argwhere": lambda np, x: x[np.argwhere(x > 0)[:, 0]],
    "iterable": lambda np, x: x * np.iterable(x) + np.iterable(x[0]),
    "tril_indices": lambda np, x: np.outer(x, x)[np.tril_indices(3)],
    "triu_indices": lambda np, x: np.outer(x, x)[np.triu_indices(3, 1)],
    "mask_indices": lambda np, x: np.outer(x, x)[np.mask_indices(3, np.triu)],
    "diag_indices": lambda np, x: np.outer(x, x)[np.diag_indices(3)],
    "broadcast_shapes": lambda np, x: np.zeros(np.broadcast_shapes(x.shape, (2, 1))) + x,
    "hanning": lambda np, x: np.hanning(3) * x,
    "hamming": lambda np, x: np.hamming(3) * x,
    "bartlett": lambda np, x: np.bartlett(3) * x,
    "blackman": lambda np, x: np.blackman(3) * x,
    "kaiser": lambda np, x: np.kaiser(3, 2.0) * x,
    "isfortran": lambda np, x: x * np.isfortran(np.ones((2, 2))),
    "issubdtype": lambda np, x: x * np.issubdtype(x.dtype, np.floating),
    "isdtype": lambda np, x: x * np.isdtype(x.dtype, "real floating"),
    "as_strided": lambda np, x: np.lib.stride_tricks.as_strided(x, (2, 2), x.strides * 2) * 2.0,
    "as_strided of a view": lambda np, x: np.lib.stride_tricks.as_strided(
        np.stack([x, x * 2]).T[::-1], (2, 2, 2), (-16, 8, 0)
    ),
    "row_stack": lambda np, x: np.row_stack([x, x]),
    "frombuffer": lambda np, x: np.frombuffer(b"abc", np.uint8) * x,
    "fromstring": lambda np, x: np.fromstring("1 2 3", sep=" ") * x,
    "from_dlpack": lambda np, x: np.from_dlpack(X) * x,
    "promote_types": lambda np, x: x.astype(np.promote_types(x.dtype, "c16")),
    "mintypecode": lambda np, x: x.astype(np.mintypecode("fd")),
    "ndarray": lambda np, x: x * isinstance(x, np.ndarray) + isinstance(x[0], np.ndarray),
    "fft.fftfreq": lambda np, x: np.fft.fftfreq(3, 0.5) * x,
    "fft.rfftfreq": lambda np, x: np.fft.rfftfreq(4, 0.5) * x,
    "polynomial.Polynomial": lambda np, x: np.polynomial.Polynomial([x[0], 1.0, x[1]])(x),
    "polynomial.Polynomial.fit": lambda np, x: np.polynomial.Polynomial.fit(
        [0.0, 1.0, 2.0], x, 2
    )(0.5) + x,
    "polynomial.Chebyshev": lambda np, x: np.polynomial.Chebyshev(x).deriv()(0.5) + x,
    "polynomial.Legendre": lambda np, x: np.polynomial.Legendre(x)(x),
    "polynomial.Hermite": lambda np, x: np.polynomial.Hermite(x).integ()(x),
    "polynomial.HermiteE": lambda np, x: np.polynomial.HermiteE([x[0], 2.0])(x),
    "polynomial.Laguerre": lambda np, x: np.polynomial.Laguerre([1.0, 2.0])(x),
    "polynomial.polynomial.polyval": lambda np, x: np.polynomial.polynomial.polyval(x, [x[0], 2.0]),
    "polynomial.polynomial.polyvander": lambda np, x: np.polynomial.polynomial.polyvander(x, 2),
    "polynomial.chebyshev.chebval": lambda np, x: np.polynomial.chebyshev.chebval(x, x),
    "polynomial.polyutils.mapdomain": lambda np, x: np.polynomial.polyutils.mapdomain(
        x, [0.0, 1.0], [-1.0, 1.0]
    ),
    "testing": lambda np, x: [np.testing.assert_allclose(2 * x, x + x), x][1],
    "matrix": lambda np, x: np.matrix([x, [1.0, 2.0, x[0]]]).T.A1[:3],
    "asmatrix": lambda np, x: (np.asmatrix(x) * np.asmatrix(x).T)[0, 0] * x,
    "bmat": lambda np, x: np.bmat([[x, x]]).A1[1:4],
    "testing of lists": lambda np, x: [np.testing.assert_array_equal([x[0], 1], [x[0], 1.0]), x][1],
    "random.default_rng": lambda np, x: (np.random.default_rng(np.arange(3)) is not None) * x,
    "random.RandomState": lambda np, x: np.random.RandomState(0).rand(3) * x,
}  # fmt: skip
"""Each name in use inside a level: the result is NumPy's of the plain value."""

NO_ARRAYS = set(
    """
    test info show_config show_runtime get_include base_repr binary_repr datetime_data geterr
    geterrcall seterr seterrcall getbufsize setbufsize get_printoptions set_printoptions
    printoptions format_float_positional format_float_scientific typename
    byte_bounds normalize_axis_index normalize_axis_tuple set_default_printstyle
""".split()
)
"""Functions that neither take arrays of numbers nor make any."""

FILES = set("fromfile fromregex genfromtxt load loadtxt memmap".split())
"""Functions that read files: they make arrays."""

REFUSED = {
    "nested_iters": (lambda np, x: np.nested_iters([x, x], [[0], []]), "would (turn|lose)"),
    "float64": (lambda np, x: np.float64(x[0]), "would (turn|lose)"),
}
"""Names that take no tensor, and a part of what they say."""

BY_MODULE = ("numpy.random", "numpy.testing", "numpy.polynomial.")
"""Modules of functions of one kind: rows of `TAKES` stand for all of them."""


def names_of(module):
    return sorted(getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"])


def is_numpys_own(value):
    """True where the name is bound to NumPy's object itself."""
    simple = isinstance(value, (np.ufunc, types.ModuleType)) or not callable(value)
    return simple or isinstance(value, type)


def covered(module, name, value, twin):
    """Why a name needs no row, or a row's name."""
    if isinstance(value, types.ModuleType):
        return value is twin or isinstance(twin, types.ModuleType)
    rows = {row.partition(" ")[0].rpartition(".")[2] for row in TAKES}
    if name in rows or name in NO_ARRAYS or name in FILES or name in REFUSED:
        return True
    if twin is value:
        return is_numpys_own(value)
    if hasattr(value, "_implementation"):
        return hasattr(twin, "__wrapped__")
    return module.startswith(BY_MODULE) and hasattr(twin, "__wrapped__")


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_known(module):
    """NumPy's own object, dispatched by NumPy, or with a row."""
    numpys = importlib.import_module(module)
    twins = importlib.import_module(f"functier.{module}")
    assert set(dir(numpys)) <= set(dir(twins))
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        pairs = {n: (getattr(numpys, n), getattr(twins, n)) for n in names_of(numpys)}
    unknown = [n for n, pair in pairs.items() if not covered(module, n, *pair)]
    assert not unknown


def test_types_of_numbers_and_ufuncs_are_numpys():
    for name in names_of(np):
        value = getattr(np, name, None)
        if isinstance(value, np.ufunc) or (
            isinstance(value, type) and issubclass(value, np.generic)
        ):
            assert getattr(fnp, name) is value


def values(y):
    """A result of plain NumPy as floats."""
    return np.asarray(y, complex if np.iscomplexobj(y) else float)


def check(f):
    """Under vmap, jvp, grad and two of them: NumPy's value, and the derivative of differences."""
    expected = values(f(np, X.copy()))
    weights = np.cos(np.arange(expected.size)).reshape(expected.shape)

    def total(x):
        y = f(fnp, x)
        return np.sum(np.real(y) * weights)

    def plain(x):
        return np.sum(np.real(values(f(np, x))) * weights)

    step = 1e-6 * np.eye(3)
    slopes = np.array([(plain(X + e) - plain(X - e)) / 2e-6 for e in step])
    batch = ft.vmap(lambda x: f(fnp, x))(np.stack([X, X + 0.1]))
    np.testing.assert_allclose(values(batch[0]), expected, rtol=1e-12)
    np.testing.assert_allclose(values(batch[1]), values(f(np, X + 0.1)), rtol=1e-12)
    np.testing.assert_allclose(values(ft.jvp(lambda x: f(fnp, x), (X,), (X,))[0]), expected)
    np.testing.assert_allclose(ft.grad(total)(X), slopes, atol=1e-7)
    both = ft.vmap(ft.grad(total))(np.stack([X, X]))
    np.testing.assert_allclose(both, np.stack([slopes, slopes]), atol=1e-7)


@pytest.mark.filterwarnings("ignore")
def test_names_take_tensors():
    run_each(TAKES, check)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_names_that_refuse_tensors_say_so():
    def test(row):
        f, text = row
        for run in (lambda f: ft.vmap(f)(np.stack([X, -X])), lambda f: ft.jvp(f, (X,), (X,))):
            with pytest.raises((TypeError, ft.LevelError), match=text):
                run(lambda x: f(fnp, x))

    run_each(REFUSED, test)


MAKERS = {
    "zeros": lambda np: np.zeros(3), "ones": lambda np: np.ones(3), "empty": lambda np: np.empty(3),
    "full": lambda np: np.full(3, 2.0), "arange": lambda np: np.arange(3.0),
    "array": lambda np: np.array([1.0, 2.0, 3.0]), "asarray": lambda np: np.asarray([1.0, 2, 3]),
    "copy": lambda np: np.copy(X), "array of an array": lambda np: np.array(X),
    "linspace": lambda np: np.linspace(0, 1, 3), "logspace": lambda np: np.logspace(0, 1, 3),
    "geomspace": lambda np: np.geomspace(1, 2, 3), "zeros_like": lambda np: np.zeros_like(X),
    "full_like": lambda np: np.full_like(X, 2), "diag": lambda np: np.diag([1.0, 2, 3])[0],
    "eye": lambda np: np.eye(3)[1], "tile": lambda np: np.tile([1.0], 3),
    "repeat": lambda np: np.repeat(1.0, 3),
    "concatenate": lambda np: np.concatenate([X[:1], X[1:]]),
    "stack": lambda np: np.stack([1.0, 2.0, 3.0]), "dot": lambda np: np.dot(np.eye(3), X),
    "outer": lambda np: np.outer(X, X)[0], "cumsum": lambda np: np.cumsum(X),
    "where": lambda np: np.where(X > 0.5, X, 0.0), "sort": lambda np: np.sort(X),
    "inv": lambda np: np.linalg.inv(np.diag([1.0, 2, 4]))[0], "r_": lambda np: np.r_[0.0:3.0],
    "mgrid": lambda np: np.mgrid[0.0:3.0], "meshgrid": lambda np: np.meshgrid(X, X)[0][0],
    "rand": lambda np: np.random.RandomState(0).rand(3) * 0 + np.random.rand(3),
    "block": lambda np: np.block([X]),
    "frombuffer, copied": lambda np: np.array(np.frombuffer(b"abc", np.uint8), float),
    "fromiter": lambda np: np.fromiter([1.0, 2.0, 3.0], float),
    "gradient": lambda np: np.gradient(X),
    "broadcast_to, copied": lambda np: np.broadcast_to(1.0, 3).copy(),
    "apply_along_axis": lambda np: np.apply_along_axis(lambda r: r * 2, 0, X),
    "loadtxt": lambda np: np.loadtxt(["1 2 3"]), "indices": lambda np: np.indices((3,), float)[0],
}  # fmt: skip


def test_what_is_made_inside_a_level_takes_tensors():
    """By a write, an operator in place, an index and a method with a tensor."""

    def f(x, make):
        y = make(fnp)
        y[0] = x[0]
        y += x
        y[1:] *= 2.0
        return y.dot(x) * 0 + y * 0 + x

    def test(make):
        for run in (lambda f: ft.vmap(f)(X[None]), lambda f: ft.jvp(f, (X,), (X,))[:1]):
            np.testing.assert_array_equal(run(lambda x: f(x, make))[0], X)

    known = {"rand", "broadcast_to, copied"}  # sums, and methods, of plain arrays from outside
    run_each({name: make for name, make in MAKERS.items() if name not in known}, test)


def test_views_of_arrays_from_outside_stay_plain():
    """A write to them is NumPy's, and one of a tensor raises."""
    own = np.arange(6.0)
    views = {
        "asarray": lambda: fnp.asarray(own), "reshape": lambda: fnp.reshape(own, (2, 3)),
        "ravel": lambda: fnp.ravel(own), "transpose": lambda: fnp.transpose(own),
        "atleast_2d": lambda: fnp.atleast_2d(own), "split": lambda: fnp.split(own, 2)[0],
        "broadcast_to": lambda: fnp.broadcast_to(own, (2, 6)), "real": lambda: fnp.real(own),
        "frombuffer": lambda: fnp.frombuffer(b"abcd", np.uint8),
    }  # fmt: skip
    with ft.vmap() as level:
        level(np.ones(2))
        for name, make in views.items():
            assert type(make()) is np.ndarray, name
        made = fnp.asarray(own)
        made[0] = 7.0
    assert own[0] == 7.0


def test_plain_arrays_from_outside_name_the_line():
    outside = np.zeros(3)

    def f(x):
        outside[0] = x[0]
        return x

    with pytest.raises(ft.LevelError, match=r"functier\.numpy"):
        ft.vmap(f)(np.stack([X, -X]))


def test_an_array_that_met_no_tensor_is_plain():
    """It indexes plain arrays, enters compiled code, is cached and outlives the level."""
    kept = []

    @cache
    def grid(n):
        return fnp.linspace(0.0, 1.0, n)

    def f(x):
        where = fnp.array([2, 0])
        matrix = fnp.eye(3) * 2.0
        kept.append(grid(3))
        return x[where] * X[where] + scipy.linalg.lu_factor(matrix)[0][0, 0] * grid(3)[1:]

    for run in (lambda: ft.vmap(f)(X[None])[0], lambda: ft.jvp(f, (X,), (X,))[0]):
        np.testing.assert_allclose(run(), X[[2, 0]] ** 2 + [1.0, 2.0])
    assert isinstance(kept[0], ft.Tensor)
    np.testing.assert_array_equal(np.asarray(kept[0]) + 1, [1.0, 1.5, 2.0])


STRIDED = {
    "windows": lambda y, strided: strided(y, (2, 2), y.strides * 2),
    "a column": lambda y, strided: strided(np.stack([y, y]), (2, 2), (24, 8)),
    "of a transpose": lambda y, strided: strided(np.stack([y, y]).T, (3, 2), (8, 24)),
}


@pytest.mark.parametrize("how", STRIDED)
@pytest.mark.parametrize("begins", [False, True])
def test_a_view_by_strides_is_one(how, begins):
    """Writes to it and to its base are seen by both; strides that leave the array are refused."""

    def f(x, strided=fnp.lib.stride_tricks.as_strided):
        y = x * 2.0
        if begins:
            y[1] = 4.0
        z = STRIDED[how](y, strided)
        y[0] = 5.0
        z[:, 0] *= 3.0
        return y * 1.0, z * 1.0

    wanted = f(X, np.lib.stride_tricks.as_strided)
    for found in ([y[0] for y in ft.vmap(f)(X[None])], ft.jvp(f, (X,), (X,))[0]):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    strided = fnp.lib.stride_tricks.as_strided
    with pytest.raises(ValueError, match="outside of the elements of x"):
        ft.vmap(lambda x: strided(x, (4, 2), x.strides * 2))(X[None])
