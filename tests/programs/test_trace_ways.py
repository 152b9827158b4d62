"""The ways of rules with recorded values, and every row of the samples as a program."""

import ast
from pathlib import Path

import numpy as np
import pytest

import functier as ft
import functier._rules
import functier.numpy
import samples
from faults.planted import programs as faulty
from support import checks
from support.basics import raises
from support.bits import difference
from support.row_cases import run, unforeseen

pytestmark = pytest.mark.inside("The sources of rules are read.")

# ---- the places that ask ----

PACKAGE = Path(functier._rules.__file__).parents[1]
FOLDERS = {"": PACKAGE / "_rules", "scipy.": PACKAGE / "scipy" / "_rules"}

PLACES = {
    "accumulation._slice_places": "more elements are repeated, which the rules leave out",
    "axes.broadcast_back": "it asks for the known type",
    "axes.is_known_false": "a choice is left out where no element needs it",
    "primitives.primitive.function": "Python's numbers are wrapped alike",
    "constructors.reduce_kernel.kernel": "the same function without its wrapper",
    "creation._arange": "the form is a guard",
    "scipy.stats.samples.arrange": "it asks for the known type",
    "elementwise._divide_by": "the same function, in place",
    "elementwise._imag": "the same zeros, which cannot be written to",
    "elementwise._subtract_from_one": "the same function, in place",
    "indexing._getitem_vmap": "the same function by another path",
    "indexing.read": "the same function by another path",
    "indexing.transpose_read": "the same function by another path",
    "insertion._picked": "the same function by another path",
    "join._broadcast_batch": "numbers are repeated alike",
    "join._concatenate_vmap": "numbers are repeated alike",
    "neural.windows": "a whole call of the program",
    "reduction._extrema": "equal shares are the same numbers, as truth values or not",
    "reduction._extremum_kernel.kernel": "the same function without its wrapper",
    "reduction._extremum_vjp": "zeros that are written to, or a choice of zeros",
    "reduction._mean_kernel": "the sum over the count, as NumPy computes it",
    "scipy.fft._is_plain": "a shortcut for Python's numbers, whose formula is the same",
    "scipy.ndimage.filters.dtype_of": "an array that would be written to is refused",
    "scipy.ndimage.sampling._result": "an array that would be written to is refused",
    "scatter.arrays_in": "it asks for the class of an index, which is plain",
    "shape._reshape": "the same function as a method",
    "windows._windows_vjp": "the same sums of pieces, by slices or by one index",
}
"""The rules that ask if a value is a plain array, and why a program has the same bits."""

CLASSES = {"ndarray", "Tensor", "float64", "PLAIN", "SCALARS", "VALUES", "INDEX_PARTS", "NUMBERS"}


def names_in(node):
    return {getattr(n, "attr", getattr(n, "id", None)) for n in ast.walk(node)}


def asks(node):
    """True where an expression asks for the class of a value."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
        return bool(names_in(node.args[1]) & CLASSES)
    if not isinstance(node, ast.Compare):
        return False
    typed = {"type", "kind"} & names_in(node)
    return bool(typed and names_in(node) & CLASSES)


def places(source, name):
    """The functions of a file that ask for the class of a value."""
    found = set()

    def visit(node, own):
        for child in ast.iter_child_nodes(node):
            if asks(child):
                found.add(own)
            inner = isinstance(child, (ast.FunctionDef, ast.ClassDef))
            visit(child, f"{own}.{child.name}" if inner else own)

    visit(ast.parse(source), name)
    return found


def test_rules_that_ask_by_class_have_a_reason():
    found = set()
    for start, folder in FOLDERS.items():
        for path in folder.rglob("*.py"):
            name = start + ".".join(path.relative_to(folder).with_suffix("").parts)
            found |= places(path.read_text(), name)
    found |= places((PACKAGE / "nn" / "_operations.py").read_text(), "neural")

    assert found == set(PLACES)


def test_a_rule_that_asks_is_found():
    source = "def rule(g):\n    return g.sum() if type(g) is np.ndarray else np.sum(g)"

    assert places(source, "rules") == {"rules.rule"}


# ---- orders in memory, and signs of zeros ----


def same(f, *args):
    assert difference(ft.trace(f)(*args)(*args), f(*args)) is None


X = np.random.default_rng(0).normal(size=(40, 60))
ZERO = np.array([-0.0, 1.0, 2.0])


ORDERS = [
    lambda x: ft.jvp(lambda x: (x.T, x.T), (x,), (np.sin(x),))[1],
    lambda x: ft.vjp(lambda x: x.T, x)[1](np.sin(x.T)[:, ::-1]),
    lambda x: ft.grad(lambda x: np.sum(np.sum(x, 0) * 0.1))(x),
    lambda x: ft.grad(lambda x: np.mean(x.T * np.arange(40.0)))(x),
    lambda x: ft.vmap(lambda x: (x, x), 1, 0)(x)[1],
    lambda x: np.stack(ft.grad(lambda x, y: np.sum(x.T @ y), (0, 1))(x, x[:, ::-1])),
]


@pytest.mark.parametrize("f", ORDERS)
def test_later_sums_are_in_the_same_order(f):
    def total(x):
        y = [np.asarray(part) if type(part) is np.ndarray else part for part in flat(f(x))]
        return [np.sum(part[1:, 2:]) for part in y] + [np.sum(part) for part in y]

    same(total, X)


def flat(values):
    return list(values) if isinstance(values, (tuple, list)) else [values]


def test_a_store_is_read_in_the_order_of_its_copy():
    def f(x):
        a = ft.numpy.zeros(2400)
        a[...] = np.ravel(x)
        b = a.reshape(40, 60)[::-1].T
        b[0, 0] = x[0, 0]
        return np.sum(b), b

    same(lambda x: ft.jvp(f, (x,), (np.cos(x),))[1], X)
    same(lambda x: ft.vmap(f)(np.stack([x, x + 1])), X)


def replaced(x):
    y = ft.numpy.array(x * 1.0j)
    np.nan_to_num(y, copy=False)
    return y


def added(x):
    y = ft.numpy.array(x)
    np.add.at(y, y > 1, np.sin(x[0]))
    return y


SIGNS = [
    lambda x: ft.vjp(np.sum, x)[1](x[0]),
    lambda x: ft.grad(lambda x: np.sum(np.sort(x) * ZERO))(x),
    lambda x: ft.jvp(ft.grad(lambda x: np.sum(np.sort(x) * ZERO)), (x,), (x,)),
    lambda x: ft.jvp(added, (x,), (-0.0 * x,))[1],
    lambda x: ft.vmap(lambda x: np.max(x, -1))(np.zeros((2, 200, 3)) * np.sin(3 * x)),
    lambda x: ft.grad(lambda x: np.sum(-np.max(x, -1)))(np.ones((1500, 1)) * x),
    lambda x: np.conjugate(np.conjugate(x * 1j) * 1.0),
    lambda x: np.conjugate((x + complex(np.inf, 1)) * 1.0),
    lambda x: np.conjugate((x - x - 1j) / 1.0),
    replaced,
]


@pytest.mark.parametrize("f", SIGNS)
def test_zeros_keep_their_sign(f):
    with np.errstate(invalid="ignore"):
        same(f, ZERO)
        same(f, -ZERO)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x.transpose(),
        lambda x: x.reshape(-1),
        lambda x: x.ravel(),
        lambda x: x.swapaxes(0, 1),
        lambda x: x[None].squeeze(0),
        lambda x: x[1:],
        lambda x: np.reshape(x, -1),
    ],
)
def test_views_are_written_through(view):
    def f(x):
        y = view(x)
        y[-1] = 7.0
        z = view(x)
        return x, y, z

    program = ft.trace(f)(X.copy())

    assert difference(program(X.copy()), f(X.copy())) is None


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        lambda f: ft.trace(f)(X[0]),
        lambda f: lambda x: ft.jvp(f, (x,), (x,))[0],
        lambda f: lambda x: [y[0] for y in ft.vmap(f)(x[None])],
    ],
)
def test_a_number_of_a_point_is_no_view_of_it(transform):
    def f(x):
        y = x * 1.0
        point = y[..., 1]
        point[...] = 5.0
        number = np.flip(point)
        before = number
        number -= 1.0
        return before, number, y[1]

    assert [float(v) for v in transform(f)(X[0])] == [5.0, 4.0, 5.0]


# ---- errors that depend on values ----


def test_a_nan_for_a_whole_number_is_an_error():
    def f(x):
        y = ft.numpy.zeros(3, int)
        y[0] = x
        return y

    program = ft.compile(f, backend="numpy")
    assert program(1.0)[0] == 1

    raises(ValueError, lambda: program(np.float64(np.nan)), "cannot convert float NaN")


def test_edges_that_fall_are_an_error():
    f = ft.vmap(lambda x, edges: np.histogram(x, edges)[0], (0, None))
    program = ft.compile(f, backend="numpy")
    program(X, np.arange(3.0))

    raises(ValueError, lambda: program(X, -np.arange(3.0)), "increase monotonically")


# ---- planted faults ----


def test_a_copy_in_another_order_is_found(monkeypatch):
    faulty.copy_in_another_order(monkeypatch)

    raises(AssertionError, lambda: test_later_sums_are_in_the_same_order(ORDERS[0]))


def test_a_lost_sign_is_found(monkeypatch):
    faulty.lost_sign(monkeypatch)

    with pytest.raises(AssertionError):
        test_zeros_keep_their_sign(SIGNS[0])


def test_a_complex_identity_is_found(monkeypatch):
    faulty.complex_identity(monkeypatch)

    with pytest.raises(AssertionError):
        test_zeros_keep_their_sign(lambda x: np.conjugate((x + complex(np.inf, 1)) * 1.0))


@pytest.mark.parametrize("number", [0.3, 0.5 + 0.2j])
@pytest.mark.parametrize("made", [np.asarray, np.array, np.asanyarray, np.ascontiguousarray])
def test_an_array_of_a_number_of_python(made, number):
    twin = getattr(functier.numpy, made.__name__)
    ways = [lambda x: twin(x) * 2, lambda x: ft.jvp(lambda x: twin(x) ** 2, (x,), (x,))]
    for f in ways:
        assert difference(ft.trace(f)(number)(number), f(number)) is None


def test_functions_of_scipy_that_call_functions_are_steps():
    integrate = pytest.importorskip("functier.scipy.integrate")
    optimize = pytest.importorskip("functier.scipy.optimize")
    f = lambda a: integrate.quad(lambda t: np.exp(-a * t), 0, 1)[0]  # noqa: E731
    g = lambda a: optimize.brentq(lambda t: t * t - a, 0.0, 2.0)  # noqa: E731
    for h in (f, g, ft.grad(f), ft.grad(g)):
        program = ft.trace(h)(np.float64(0.3))
        np.testing.assert_allclose(program(np.float64(0.4)), h(np.float64(0.4)), rtol=1e-9)
    still = ft.trace(lambda x: x * integrate.quad(np.exp, 0, 1)[0])(X)
    assert difference(still(X), X * integrate.quad(np.exp, 0, 1)[0]) is None


def test_functions_of_scipy_take_arrays_that_the_function_makes():
    linalg = pytest.importorskip("functier.scipy.linalg")
    f = lambda b: linalg.solve(functier.numpy.eye(3) * functier.numpy.ones((3, 3)), b)  # noqa: E731
    b = np.arange(3.0)
    assert difference(ft.trace(f)(b)(b + 1), f(b + 1)) is None


# ---- every row of the samples as a program ----


MOST_REFUSED = 0.03


def check(rows, second=False):
    counts, found = run(rows, second)

    assert not unforeseen(found), counts
    assert counts["refused"] <= MOST_REFUSED * sum(counts.values())


def share(rows, config, first, *, one_in):
    """Return a part of the rows, a quick run's is small; with ``--slow --full`` all of them."""
    step = one_in[config.getoption("--slow")]
    return rows if config.getoption("--full") else dict(list(rows.items())[first::step])


def test_rows_are_equal_to_the_last_bit(rows, request):
    check(share(rows, request.config, 0, one_in=(12, 4)))


def test_second_derivatives_are_equal_to_the_last_bit(rows, request):
    check(share(rows, request.config, 1, one_in=(120, 18)), second=True)


def test_ways_for_large_arrays(rows, request, monkeypatch):
    """All arrays count as large: the backward pass and rules write in place."""
    faulty.ways_for_large_arrays(monkeypatch)
    check(share(rows, request.config, 2, one_in=(120, 24)), second=True)


# ---- planted faults ----


@pytest.fixture
def some_rows():
    rows = samples.chosen()
    return {name: rows[name] for name in list(rows)[::40]}


def test_a_wrong_identity_is_found(some_rows, monkeypatch):
    faulty.wrong_identity(monkeypatch)

    assert run({n: r for n, r in samples.chosen().items() if n.startswith("elementwise.sin-")})[1]


def test_a_wrong_spelling_is_found(some_rows, monkeypatch):
    faulty.wrong_spelling(monkeypatch)

    assert run(some_rows)[1]


def test_a_value_that_is_not_recorded_is_found(some_rows, monkeypatch):

    faulty.value_that_is_not_recorded(monkeypatch)
    rows = {n: r for n, r in samples.chosen().items() if n.startswith("reduction.sum-")}
    program = {}
    for name, row in rows.items():
        f = checks.leaves_of(row)
        program[name] = ft.trace(f)(*row.leaves)
        again = [x + 1 for x in row.leaves]
        assert difference(program[name](*again), f(*again))
