"""Every row of the sample table in other precisions; weak Python numbers; integers.

A row of double precision is run in single, half and extended precision, wherever NumPy's
own function takes it: all dtypes are NumPy's, and the derivatives are those in double.
"""

import dataclasses
import re
import warnings

import numpy as np
import optree
import pytest

import functier as ft
from faults.planted import levels as faulty
from functier.protocol import op, primitive
from samples._batch import free
from samples._row import row as row_of
from support.basics import close, equal, raises, silent
from support.checks import directions, form_of, function_of, leaves_of
from support.rows import run_each
from support.turns import families, in_turn

COMPLEX = {np.float16: np.complex64, np.float32: np.complex64, np.float64: np.complex128,
           np.longdouble: np.clongdouble}  # fmt: skip
"""Precisions, and the complex numbers that go with each."""

LEFT_OUT = {
    r"ufunc_methods\.obl_ang1": "SciPy's own function does not return in single precision",
    r"scipy_special\.mathieu": "SciPy's own functions are NaN in single precision",
    r"quantile\.quantile-d\[5\],d\[11\]-method=(inverted|closest|averaged)": "steps, at a step",
    r"polynomial\.polydiv-.\[.\],d\[": "which zeros lead, and are cut, depends on the precision",
    r"sorting\.partition": "the order of what is not sorted depends on the precision",
    r"lstsq\.lstsqresiduals": "a matrix whose rank depends on the precision",
    r"scipy_signal_rates\.forms-d\[2\],d\[3\],d\[1\]": "numpy.poly has no half precision",
    r"scipy_signal_designs\.forms-d\[3\],d\[\]": "float(x) of a tensor is no weak number",
    r"scipy_signal_designs\.waves-d\[12\],d\[\],d": "half precision leaves phases two digits",
    r"scipy_linalg_decompositions\.eig-d.*left=True": "the signs of vectors depend on it, too",
}
"""Rows that mean something else in another precision."""

DOUBLE = {
    r"lstsq\.": "NumPy solves it in double precision",
    r"join\.pad.*linear_ramp": "NumPy makes the ramp in double precision",
    r"scipy_integrate\.step": "SciPy integrates over the last interval in double precision",
    r"scipy_signal\.savgol_filter": "SciPy filters in double precision",
    r"scipy_signal_rates\.(powers|rates|segments)": "SciPy's windows have double precision",
    r"scipy_linalg_structured\.fiedler_companion": "SciPy fills a matrix of double precision",
    r"scipy_stats_tests\.differential_entropy": "SciPy's places have double precision",
    r"scipy_signal_designs\.forms": "SciPy's transforms of forms are in double precision",
    r"scipy_(ndimage|interpolate|spatial)\.": "SciPy computes them in double precision",
    r"scipy_(splines|places|rotation)\.": "SciPy computes them in double precision",
}
"""Rows of single precision whose derivatives are computed in double on the way."""


REFUSED = {
    r"scipy_\w+\..* as longdouble: TypeError: ufunc '(loggamma|eval_gegenbauer|boxcox|boxcox1p)'":
        "SciPy's ufuncs of these derivatives have no such loop",
    r"scipy_linalg_functions\..* as longdouble: error: Input must be a 3D C-contiguous array":
        "SciPy has exponentials of no such matrices, except of 2 rows or fewer",
    r"scipy_linalg_functions\.expm_\w+-.* as float16: ValueError: .*infs or NaNs":
        "SciPy's polynomials overflow",
    r"scipy_sparse\..* as float16: ValueError: scipy.sparse does not support dtype float16":
        "SciPy has no such matrices",
    r"scipy_sparse\..* as longdouble: TypeError: .* computes in double precision":
        "SciPy's result has another precision",
    r"scipy_signal\..* as float16: NotImplementedError: .*not supported":
        "SciPy has no such filters",
    r"scipy_signal\..* as float16: ValueError: .*(type|Unsupported)":
        "SciPy has no such convolutions",
    r"scipy_ndimage\..* as (float16|longdouble): RuntimeError: .*(not supported|Unsupported)":
        "SciPy has no such images",
    r"scipy_signal_rates\.neighbours.* as (float16|longdouble): ValueError: dtype":
        "SciPy has no such medians",
    r"scipy_(places|rotation|signal_designs|splines)\..* as (float16|longdouble): \w*rror: ":
        "SciPy computes them in double precision",
    r"scipy_signal\.freqz-.* as longdouble: ValueError: Unknown dtype":
        "SciPy has no such spectra",
}  # fmt: skip
"""Errors of SciPy's functions: of a row as it is, or of what its derivative is made of."""

IMPRECISE = {
    r"scipy_linalg_functions\.fractional_matrix_power-D.* as longdouble":
        "SciPy's own result has single precision",
    r"scipy_signal_designs\.freqz_zpk-d.* as longdouble":
        "NumPy finds roots in double precision",
    r"scipy_linalg_decompositions\.sl\.schurcomplex-d.* as longdouble":
        "SciPy turns a real matrix of extended precision into single complex numbers",
}  # fmt: skip
"""Rows whose derivatives are those of a less precise result, and compared in single precision."""


def matches(name, patterns):
    return any(re.match(pattern, name) for pattern in patterns)


def of_precision(row, kind, chars="dD"):
    """The row with its operands of double precision (or of `chars`) in another one."""

    def cast(x):
        if not isinstance(x, np.ndarray) or x.dtype.char not in chars:
            return x
        return x.astype(kind if x.dtype.kind == "f" else COMPLEX[kind])

    args, kwargs = optree.tree_map(cast, (row.args, row.kwargs))
    return dataclasses.replace(row, args=args, kwargs=kwargs)


def of_double(rows):
    """The rows that have operands of double precision."""
    found = {}
    for name, row in rows.items():
        chars = {x.dtype.char for x in row.leaves}
        if not chars & set("dD") or chars & set("efFgG") or matches(name, LEFT_OUT):
            continue
        found[name] = row
    return found


def near(actual, expected, kind):
    """Equal at the precision of `kind`, relative to the largest element."""
    for a, b in zip(actual, expected, strict=True):
        b = np.asarray(b).astype(np.asarray(a).dtype)  # what is too large for it is infinite
        scale = max(1.0, float(np.max(np.abs(b), initial=0, where=np.isfinite(b))))
        tolerance = 100 * max(float(np.finfo(kind).eps), float(np.finfo(float).eps))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)


def check_batch(row, expected):
    dims = tuple(0 if i in free(row) else None for i in range(len(row.leaves)))
    many = [np.stack([x, x]) if d == 0 else x for x, d in zip(row.leaves, dims)]
    batched = ft.vmap(leaves_of(row), dims)(*many)

    assert [y.dtype for y in batched] == [y.dtype for y in expected]


def check_derivatives(row, double, kind, expected, single):
    f, points = function_of(row)
    g, wide = function_of(double)
    tangents = directions(points, 0)
    with faulty.narrowing() as narrowed:
        value, moved = ft.jvp(f, tuple(points), tangents)
        again, pullback = ft.vjp(f, *points)
        cotangents = list(directions(value, 100))
        pulled = pullback(cotangents)
    forms = [form_of(y) for y in expected if y.dtype.kind in "fc"]

    assert [form_of(y) for y in value] == [form_of(y) for y in again] == forms
    assert [form_of(t) for t in moved] == forms
    assert [form_of(c) for c in pulled] == [form_of(x) for x in points]
    assert not (single and narrowed), "a rule computes in double precision"
    widened = tuple(t.astype(x.dtype) for t, x in zip(tangents, wide))
    values, steps = ft.jvp(g, tuple(wide), widened)
    near(moved, steps, kind)
    given = [c.astype(np.result_type(y)) for c, y in zip(cotangents, values)]
    near(pulled, ft.vjp(g, *wide)[1](given), kind)


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("family", "kind"), in_turn(families(), [np.float32, np.float16, np.longdouble])
)
def test_rows_of(family, kind, rows_of):
    """In each precision all dtypes are NumPy's, and the derivatives those in double."""
    own = of_double(rows_of(family))
    run_each({name: (name, row) for name, row in own.items()}, lambda r: check_or_refuse(*r, kind))


def check_or_refuse(name, row, kind):
    case = f"{name} as {kind.__name__}"
    try:
        check_row(name, row, kind, np.float32 if matches(case, IMPRECISE) else kind)
    except AssertionError:
        raise
    except Exception as error:
        if not matches(f"{case}: {type(error).__name__}: {error}", REFUSED):
            raise


def check_row(name, row, kind, precision=None):
    row = of_precision(row, kind)
    with silent():
        try:
            expected = [np.asarray(y) for y in leaves_of(row)(*row.leaves)]
        except TypeError:
            return  # NumPy refuses it: there is nothing to be as
        if row.vmap and free(row):
            check_batch(row, expected)
        if row.differentiated() and row.order:
            chars = {y.dtype.char for y in expected}
            single = kind is np.float32 and chars <= set("fF?lq") and not matches(name, DOUBLE)
            double = of_precision(row, np.float64, "efFgG")  # at the same, rounded points
            check_derivatives(row, double, precision or kind, expected, single)


@pytest.mark.usefixtures("declarations")
@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_a_rule_that_computes_in_double_is_found(mode):
    sine = primitive(lambda x: np.sin(x))
    rules = {"jvp": {"x": lambda t, x: t * np.cos(x)}, "vjp": {"x": lambda g, x: g * np.cos(x)}}
    rules[mode] = {"x": lambda g, x: g * np.cos(x) * np.float64(1)}
    op(sine, "x", vmap=lambda k, x: np.sin(x), **rules)
    with pytest.raises(AssertionError, match=r"in double|dtype\('float64'\)"):
        check_row("planted", row_of(sine, np.ones(2)), np.float32)


# ---- Python numbers are weak, as NumPy's rules say (NEP 50) ----

X = np.float32([0.5, -1.25, 2.0])
WEAK = {
    "arithmetic": lambda x: (2 * x + 1.0) / 3 - x**2 + 2.0**x,
    "ufuncs": lambda x: np.maximum(np.multiply(x, 2.0), np.add(1, x)),
    "where": lambda x: np.where(x > 0, x, 0.0) + np.where(x < 0, 1, x),
    "clip": lambda x: np.clip(x, -1.0, 1),
    "choose": lambda x: np.choose(np.array([0, 1, 2]), [x, 2, 1.5]),
    "select": lambda x: np.select([x > 0, x < -1], [x, 2.0 * x], 0.5),
    "linspace": lambda x: np.linspace(0.0, x, 4),
    "interp": lambda x: np.sinc(x) * np.hypot(x, 2.0),
    "scalar of a reduction": lambda x: np.sum(x) * 2.0 + np.mean(x) / 3,
    "complex": lambda x: x * 2j + 1.0,
    "integers": lambda x: x * np.arange(3, dtype=np.int8) + True,
    "strong scalar": lambda x: x * np.float64(2.0),
    "strong integer": lambda x: x * np.int64(2),
    "strong array": lambda x: x + np.ones(()),
}


@pytest.fixture(params=WEAK.values(), ids=WEAK)
def weak(request):
    return request.param


@pytest.mark.parametrize("x", [X, np.float16(X), np.longdouble(X), np.complex64(X)], ids=str)
def test_scalars_are_as_weak_as_for_numpy(weak, x):
    if x.dtype.kind == "c" and weak in (WEAK["clip"], WEAK["interp"]):
        return  # NumPy has no order, and no hypot, of complex numbers
    expected = weak(x)
    value, tangent = ft.jvp(weak, (x,), (np.ones_like(x),))
    again, pullback = ft.vjp(weak, x)

    equal(value, expected)
    equal(again, expected)
    assert tangent.dtype == expected.dtype
    assert pullback(np.ones_like(expected))[0].dtype == x.dtype
    close(ft.vmap(weak, out_dims=-1)(np.stack([x, x], -1).T), np.stack([expected] * 2, -1), 1e-5)
    nested = ft.vmap(lambda x: ft.jvp(weak, (x,), (np.ones_like(x),))[1])(np.stack([x, x]))
    close(nested, np.stack([tangent, tangent]), 1e-5)


@pytest.mark.parametrize("number", [2.0, 3])
def test_a_differentiated_python_number_is_weak(number):
    value = ft.value_and_grad(lambda a: np.sum(X * a))(float(number))[0]

    assert value.dtype == np.float32
    assert ft.vjp(lambda a: X * a, float(number))[0].dtype == np.float32
    assert ft.jvp(lambda a: X * a, (2.0,), (1.0,))[1].dtype == np.float32


def test_second_derivatives_stay_single(weak):
    if not np.isrealobj(weak(X)) or weak(X).dtype != np.float32:
        return
    f = lambda x: np.sum(weak(x))  # noqa: E731

    assert ft.hessian(f)(X).dtype == np.float32
    assert ft.grad(lambda x: np.sum(ft.grad(f)(x)))(X).dtype == np.float32
    assert ft.jacfwd(ft.jacfwd(f))(X).dtype == np.float32


# ---- integers and booleans pass through ----

WHOLE = [
    np.array([3, 1, 2]),
    np.int8([1, -2, 3]),
    np.uint16([1, 2, 3]),
    np.array([True, False, True]),
]


@pytest.mark.parametrize("n", WHOLE, ids=lambda n: n.dtype.name)
def test_integers_and_booleans_pass_through(n):
    def f(x):
        return x * 2, n, n[::-1], np.sum(n), x > 0, x.astype(n.dtype)

    expected = f(X)
    value, moved = ft.jvp(f, (X,), (X,))
    again = ft.vjp(f, X)[0]
    batched = ft.vmap(f)(np.stack([X, X]))
    for k, e in enumerate(expected):
        equal(value[k], e)
        equal(again[k], e)
        equal(batched[k], np.stack([e, e]))
    equal(moved[0], X * 2)
    assert not any(np.any(t) for t in moved[1:])


@pytest.mark.parametrize("n", WHOLE, ids=lambda n: n.dtype.name)
def test_transforms_hand_integer_arguments_on(n):
    seen = []

    def f(x, n):
        seen.append(n)
        return np.sum(x * n), n

    equal(ft.grad(f, has_aux=True)(X, n)[1], n)
    assert ft.grad(f, has_aux=True)(X, n)[0].dtype == np.float32
    assert all(m is n for m in seen)
    equal(ft.vmap(lambda m: m)(n), n)
    equal(ft.vmap(lambda m: m + m)(n), n + n)
    equal(ft.jacrev(lambda x, n: x * n)(X, n), np.diag(n).astype(np.float32))
    raises(TypeError, lambda: ft.grad(np.sum)(n), f"dtype {n.dtype}")


# ---- what NumPy makes of narrow integers and truth values, under vmap ----

BOOL, BYTE = np.array([[True, True]]), np.array([[200, 200]], np.uint8)
NARROW = {
    "convolve": (lambda a: np.convolve(a, np.ones(2, a.dtype)), (BOOL, BYTE, np.int32(BYTE))),
    "correlate": (lambda a: np.correlate(a, a, "full"), (BOOL, BYTE, np.int32(BYTE))),
    "polymul": (lambda a: np.polymul(a, a), (BOOL, BYTE, np.int32(BYTE))),
    "polyval": (lambda a: np.polyval(a, a), (BOOL, BYTE, np.int32(BYTE))),
    "median": (np.median, (BOOL, BYTE, np.complex64(BYTE))),
    "quantile": (lambda a: np.quantile(a, np.float64(0.3)), (BYTE, np.float32(BYTE))),
    "quantile, weak": (lambda a: np.quantile(a, 0.3), (BYTE, np.float32(BYTE))),
    "outer": (lambda a: np.add.outer(a, 1.5), (BOOL, BYTE, np.float32(BYTE))),
    "pad": (lambda a: np.pad(a, 1, "reflect", reflect_type="odd"), (BOOL, BYTE)),
    "logaddexp": (np.logaddexp.reduce, (BOOL, BYTE, np.int64(BYTE))),
    "logaddexp2": (np.logaddexp2.reduce, (BOOL, BYTE, np.int64(BYTE))),
    "maximum": (lambda a: np.maximum.reduce(a, where=a > 0, initial=0.25), (BYTE,)),
    "histogram": (lambda a: np.histogram(a, 2, weights=a)[0], (BYTE,)),
    "unwrap": (lambda a: np.unwrap(a, period=4), (np.int8([[1, 5, 2]]),)),
}


@pytest.mark.parametrize(
    ("f", "x"),
    [pytest.param(f, x, id=f"{name}-{x.dtype}") for name, (f, xs) in NARROW.items() for x in xs],
)
def test_a_batch_has_the_dtype_of_its_examples(f, x):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        expected = np.stack([f(a) for a in x])
        actual = ft.vmap(f)(x)

    assert actual.dtype == expected.dtype
    close(actual, expected, 1e-5)


def test_the_smallest_exponent_does_not_wrap_around():
    x, n = np.array([1.01]), np.int8([-128])

    close(ft.grad(lambda x: np.sum(x**n))(x), -128 * x**-129.0)


@pytest.mark.parametrize("x", [np.int8(3), np.uint8(3), np.uint64(3)])
def test_the_logarithm_of_a_base_is_precise(x):
    close(ft.grad(lambda y: np.power(x, y))(2.5), 3**2.5 * np.log(3.0), 1e-14)
    close(ft.grad(lambda y: np.float_power(x, y))(2.5), 3**2.5 * np.log(3.0), 1e-14)


@pytest.mark.parametrize("p", [1, -1, np.inf, -np.inf, "fro", 2, -2, None])
def test_the_condition_number_of_a_singular_example_is_infinite(p):
    a = np.stack([np.ones((3, 3)), np.diag([1.0, 2.0, 3.0]), np.full((3, 3), np.nan)])
    with np.errstate(all="ignore"):
        if p in (2, -2, None):
            a = a[:2]  # no singular values of NaN
        expected = [np.linalg.cond(x, p) for x in a]

        close(ft.vmap(lambda x: np.linalg.cond(x, p))(a), expected, 1e-6)


def test_the_gradient_of_a_number_is_a_number():
    for f in np.i0, lambda p: np.atleast_1d(p).sum(), lambda p: np.reshape(p, (1,))[0]:
        for x in 1.0, np.float32(1):
            assert isinstance(ft.grad(f)(x), (float, np.floating))
    close(ft.grad(np.i0)(1.0), 0.565159103992485)


def test_a_number_counts_as_an_array_of_one_axis_as_in_numpy():
    for f in (np.sum, np.prod, np.max, np.any, np.cumsum, np.cumprod, np.argmax, np.nansum, np.ptp):
        expected = np.stack([f(x, axis=0) for x in np.arange(3.0)])
        equal(ft.vmap(lambda x, f=f: f(x, axis=0))(np.arange(3.0)), expected)
    raises(np.exceptions.AxisError, lambda: ft.vmap(lambda x: np.mean(x, axis=0))(np.arange(3.0)))


@pytest.mark.parametrize("q", [1.5, [0.5, -0.1]])
def test_quantiles_of_a_batch_are_in_their_range(q):
    with pytest.raises(ValueError, match="Quantiles must be in the range"):
        ft.vmap(lambda q: np.quantile(np.arange(3.0), q))(np.atleast_1d(q))
    with pytest.raises(ValueError, match="Percentiles must be in the range"):
        ft.vmap(lambda q: np.percentile(np.arange(3.0), 100 * q))(np.atleast_1d(q))
