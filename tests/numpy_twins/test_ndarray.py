"""`functier.numpy.ndarray`, and the other twins of classes: they are NumPy's but for tensors."""

import copy
import functools
import inspect
import pickle
import subprocess
import sys
import typing

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from functier.numpy import zeros as make_zeros
from functier.numpy.linalg import norm
from support.basics import raises

X = np.array([0.3, 0.7])
nd = fnp.ndarray
pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass")


def each_level(f):
    """Run a function of a tensor at each kind of level."""
    ft.vmap(f)(X[None])
    ft.jvp(f, (X,), (X,))
    ft.vjp(f, X)
    ft.vmap(lambda x: ft.vjp(f, x)[0])(X[None])


def test_arrays_and_tensors_are_instances():
    def f(x):
        assert isinstance(x, nd) and isinstance(x[:1], nd) and isinstance(fnp.zeros(()), nd)
        assert isinstance(x, (list, nd)) and isinstance(x, nd | None) and issubclass(type(x), nd)
        assert not isinstance(x[0], nd) and not isinstance(np.sum(x), nd)
        assert isinstance(x[0, ...], nd)
        return x

    each_level(f)
    for value in (X, np.zeros(()), np.matrix([[1.0]]), np.ma.array([1.0])):
        assert isinstance(value, nd)
    for value in (1.0, np.float64(1.0), [1.0], "a", None):
        assert not isinstance(value, nd)
    assert issubclass(np.ndarray, nd) and issubclass(np.matrix, nd) and not issubclass(list, nd)


def test_its_calls_make_numpys_arrays():
    assert type(nd((2, 3))) is np.ndarray and nd((2,), int).dtype == int
    buffer = bytearray(16)
    made = nd((2,), float, buffer)
    made[0] = 1.0
    assert np.frombuffer(buffer)[0] == 1.0
    assert type(nd.__new__(np.ndarray, (2,))) is np.ndarray

    def f(x):
        y = nd((2,))
        y[...] = x
        return y

    np.testing.assert_array_equal(ft.vmap(f)(X[None]), X[None])


def test_methods_by_class():
    assert nd.sum(X) == X.sum() and nd.mean(X, 0) == X.mean(0)
    assert [*map(nd.tolist, [X])] == [X.tolist()]
    assert nd.__add__(X, 1.0).tolist() == (X + 1.0).tolist()
    np.testing.assert_array_equal(ft.vmap(lambda x: nd.sum(x))(X[None]), [1.0])
    np.testing.assert_array_equal(ft.jvp(lambda x: nd.cumsum(x), (X,), (X,))[0], np.cumsum(X))
    raises(TypeError, lambda: nd.sum([1.0]))


def test_subclasses_are_numpys():
    class Named(nd):
        def __new__(cls, data, name):
            self = np.asarray(data).view(cls)
            self.name = name
            return self

        def __array_finalize__(self, source):
            self.name = getattr(source, "name", None)
            super().__array_finalize__(source)

    x = Named([1.0, 2.0], "a")
    assert type(Named) is type and Named.__mro__[1] is np.ndarray and type(x) is Named
    assert (x + 1).name == "a" and type(x[:1]) is Named and isinstance(x, nd)

    class Plus:
        pass

    class Both(Plus, nd):
        pass

    assert issubclass(Both, Plus) and Both.__mro__[2] is np.ndarray


def test_annotations_unions_and_generics():
    def f(x: nd, y: nd | None = None) -> nd[tuple[int], float]:
        return x

    hints = typing.get_type_hints(f)
    assert hints["x"] == np.ndarray and isinstance(None, hints["y"]) and isinstance(X, hints["y"])
    assert nd[typing.Any, float] == np.ndarray[typing.Any, float]
    assert (nd | None) == (np.ndarray | None) and typing.Union[nd, int]  # noqa: UP007
    assert inspect.signature(f).parameters["x"].annotation is nd


def test_it_equals_numpys_class():
    assert (
        nd == np.ndarray and np.ndarray == nd and nd != np.generic and hash(nd) == hash(np.ndarray)
    )
    assert {np.ndarray: 1}[nd] == 1 and {nd: 1}[np.ndarray] == 1 and type(X) in (nd, list)
    assert nd.__name__ == "ndarray" and nd.__doc__ == np.ndarray.__doc__ and issubclass(nd, object)


def test_singledispatch_and_match():
    @functools.singledispatch
    def kind(x):
        return "other"

    @kind.register(nd)
    def _(x):
        return "array"

    @kind.register
    def _(x: float):
        return "number"

    assert (kind(X), kind(1.0), kind("a"), kind(np.matrix([[1]]))) == (
        "array", "number", "other", "array",
    )  # fmt: skip

    def f(x):
        assert kind(x) == "array"
        match x:
            case fnp.ndarray():
                return x
        raise AssertionError

    each_level(f)


POLYNOMIALS = {
    "polyder": lambda np, x: np.polyder(np.poly1d(x)),
    "polyint": lambda np, x: np.polyint(np.poly1d(x), 1),
    "polyadd": lambda np, x: np.polyadd(x, np.poly1d(x)),
    "polysub": lambda np, x: np.polysub(np.poly1d(x), 2.0),
    "polymul": lambda np, x: np.polymul(np.poly1d(x), np.poly1d([1.0, 2.0])),
    "polydiv": lambda np, x: np.polydiv(np.poly1d(x), [1.0, 0.3])[0],
    "roots": lambda np, x: np.abs(np.roots(np.poly1d(x))),
    "any function": lambda np, x: np.cumsum(np.poly1d(x)),
}
"""Functions of a polynomial."""


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_functions_of_polynomials(name):
    def f(np, x):
        found = POLYNOMIALS[name](np, x)
        assert (type(found).__name__ == "poly1d") is name.startswith("poly")
        return found(0.7) * 1.0 if name.startswith("poly") else found

    x, steps = np.array([1.3, -0.4, 2.1]), 1e-6 * np.eye(3)
    slopes = np.stack([(f(np, x + h) - f(np, x - h)) / 2e-6 for h in steps], axis=-1)
    own = functools.partial(f, fnp)
    np.testing.assert_allclose(ft.jacrev(own)(x), slopes, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ft.jacfwd(own)(x), slopes, rtol=1e-6, atol=1e-8)
    found = ft.vmap(own, branches="split")(np.stack([x, 2 * x]))
    np.testing.assert_allclose(found, [f(np, x), f(np, 2 * x)])


def test_a_compiled_function_asks_if_all_elements_are_finite():
    compiled = ft.compile(lambda x: fnp.asarray_chkfinite(x) * 2.0)
    assert [compiled(np.array([v]))[0] for v in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    raises(ValueError, lambda: compiled(np.array([np.nan])), "must not contain infs or NaNs")


def test_pickling_and_copies():
    assert pickle.loads(pickle.dumps(nd)) is nd and copy.deepcopy(nd) is nd
    for name in ("zeros", "linalg.norm", "random.normal", "ndarray", "vectorize", "r_", "poly1d"):
        twin = functools.reduce(getattr, name.split("."), fnp)
        again = pickle.loads(pickle.dumps(twin))
        assert again is twin or type(again) is type(twin), name
    p = fnp.poly1d([1.0, 2.0])
    assert pickle.loads(pickle.dumps(p)) == p
    series = fnp.polynomial.Polynomial([1.0, 2.0])
    assert pickle.loads(pickle.dumps(series)) == series and copy.copy(series) == series


def test_instances_of_numpys_classes_are_those_of_the_twins():
    for name, made in {
        "poly1d": np.poly1d([1.0]),
        "vectorize": np.vectorize(abs),
        "nditer": np.nditer(X),
        "broadcast": np.broadcast(X, X),
        "ndenumerate": np.ndenumerate(X),
    }.items():
        twin = getattr(fnp, name)
        assert isinstance(made, twin) and not isinstance(1.0, twin), name
        assert issubclass(type(made), twin)
    assert isinstance(np.polynomial.Polynomial([1.0]), fnp.polynomial.Polynomial)
    assert isinstance(fnp.polynomial.Polynomial([1.0]), np.polynomial.Polynomial)
    assert fnp.poly1d([1.0, 2.0]) == np.poly1d([1.0, 2.0])


def test_outside_of_levels_classes_do_as_numpys():
    assert type(fnp.nditer(X)) is np.nditer and type(fnp.broadcast(X, X)) is np.broadcast
    assert type(fnp.ndenumerate(X)) is np.ndenumerate
    assert type(fnp.frompyfunc(abs, 1, 1)) is np.ufunc
    assert fnp.vectorize(lambda a: a * 2)(X).tolist() == (X * 2).tolist()
    assert fnp.r_[1:3, 5].tolist() == [1, 2, 5] and type(fnp.r_[1:3]) is np.ndarray
    assert type(fnp.r_["c", 1:3]) is np.matrix
    assert fnp.mgrid[0:2, 0:2].tolist() == np.mgrid[0:2, 0:2].tolist()
    assert inspect.signature(fnp.mean) == inspect.signature(np.mean)
    assert fnp.mean.__doc__ == np.mean.__doc__ and fnp.mean.__module__ == "functier.numpy"


def test_star_imports_and_names():
    names: dict = {}
    exec("from functier.numpy import *", names)
    assert set(np.__all__) <= set(names) and names["zeros"] is fnp.zeros
    np.testing.assert_allclose(ft.grad(lambda x: norm(x) + np.sum(make_zeros(2)))(X), X / norm(X))
    assert fnp.linalg.norm is norm and make_zeros is fnp.zeros


def test_an_iterator_writes_and_tells_its_index():
    def f(x):
        y = fnp.zeros((2, 2))
        it = fnp.nditer([y, x], flags=["multi_index"], op_flags=[["readwrite"], ["readonly"]])
        with it:
            for target, value in it:
                target[...] = value * (1 + it.multi_index[0])
        while not (it := fnp.nditer(x, flags=["c_index"])).finished and it.index < 1:
            assert it.iternext() or it.finished
            break
        return y

    expected = np.array([X, X * 2])
    np.testing.assert_allclose(ft.vmap(f)(X[None])[0], expected)
    np.testing.assert_allclose(ft.jvp(f, (X,), (X,))[1], expected)
    with pytest.raises(ft.UnsupportedError, match="external_loop"):
        ft.vmap(lambda x: next(iter(fnp.nditer(x, flags=["external_loop"]))))(X[None])


def test_the_order_of_an_iterator_is_that_of_the_memory():
    def f(np, x):
        y = np.reshape(np.stack([x, x * 2, x * 3]), (3, 2)).T
        return np.stack([v * 1.0 for v in np.nditer(y)]), np.stack([*np.nditer(y, order="C")])

    for a, b in zip(ft.jvp(lambda x: f(fnp, x), (X,), (X,))[0], f(np, X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_typing_is_numpys():
    from_twin, from_numpy = fnp.typing, np.typing
    assert from_twin.NDArray[np.float64] == from_numpy.NDArray[np.float64]
    assert from_twin.ArrayLike is from_numpy.ArrayLike and fnp.ma.add is np.ma.add


def test_the_finders_of_others_stay():
    """Also one whose class has the name of functier's."""
    program = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        return None

sys.meta_path.append(Finder())
import functier.numpy
assert [type(f) for f in sys.meta_path].count(Finder) == 1
"""
    subprocess.run([sys.executable, "-c", program], check=True)


CONVERSIONS = (
    np.asarray, np.asanyarray, np.array, np.ascontiguousarray, np.asfortranarray,
    np.asarray_chkfinite, np.require, np.atleast_1d, np.atleast_2d, np.atleast_3d,
)  # fmt: skip


@pytest.mark.parametrize("func", CONVERSIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [None, complex])
def test_a_number_as_an_array_has_the_axes_that_numpy_gives(func, dtype):
    given = {} if dtype is None or func.__name__.startswith("atleast") else {"dtype": dtype}
    wanted = func(0.3, **given)

    def f(x):
        y = getattr(fnp, func.__name__)(x, **given)
        assert (y.shape, y.dtype) == (wanted.shape, wanted.dtype)
        return y

    each_level(lambda x: np.real(f(x[0])))
    assert np.array_equal(ft.vmap(f)(X), np.stack([func(x, **given) for x in X]))
    if func is not np.asarray_chkfinite:  # which looks at values
        assert np.array_equal(ft.trace(f)(0.3)(0.4), func(0.4, **given))
