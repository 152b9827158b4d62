"""Kinds of code that packages have: each is right under an adoption, or refused by name."""

import importlib
import sys

import numpy as np
import pytest
from adopt_support import importable, module_of, write

import functier as ft

X, H = 1.3, 1e-6


def check(f):
    """Compare gradient, tangent and batch with differences and a loop."""
    slope = (f(X + H) - f(X - H)) / (2 * H)
    np.testing.assert_allclose(ft.grad(f)(X), slope, rtol=1e-6)
    np.testing.assert_allclose(ft.jvp(f, (X,), (1.0,))[1], slope, rtol=1e-6)
    batch = np.array([X, 1.7])
    np.testing.assert_allclose(ft.vmap(f)(batch), [f(x) for x in batch])


REPLACED = {
    "subclass": """
        import math, sys, types
        class Module(types.ModuleType):
            def f(self, x):
                return math.sin(x) * math.exp(x)
        sys.modules[__name__] = Module(__name__)
        """,
    "object": """
        import math, sys
        class Thing:
            def f(self, x):
                return math.sin(x) * math.exp(x)
        sys.modules[__name__] = Thing()
        """,
}


@pytest.mark.parametrize("kind", REPLACED)
def test_a_module_that_an_object_has_replaced(tmp_path, kind):
    write(tmp_path, {"replaced.py": REPLACED[kind], "user.py": "import replaced\ng = replaced.f\n"})
    with importable(tmp_path):
        user = importlib.import_module("user")
        names = user.g.__func__.__globals__
        before = dict(names)
        with ft.adopt("user") as adopted:
            check(user.g)
            assert "1 modules and 1 that they call" in repr(adopted)
        assert names == before and names["math"] is sys.modules["math"]
        with ft.adopt("replaced"):
            check(user.g)


MODULE = """
    import copy, math, functools
    import numpy as np
    from scipy import interpolate, linalg, sparse

    __sin = math.sin
    __numbers = {"exp": math.exp}

    class Hidden:
        __cos = math.cos
        def go(self, x):
            return self.__cos(x)

    def two_underscores(x):
        return __sin(x) * __numbers["exp"](x) * Hidden().go(x)

    NUMBER = np.float64

    def as_number(x, kind=None):
        kind = NUMBER if kind is None else kind
        return kind(x)

    def types_in_variables(x):
        def inner(y):
            return kind(y) * 2.0
        kind, largest = np.float64, max
        return as_number(x) ** 2 + as_number(x, float) + inner(x) + largest(x, 0.5)

    class Pair:
        def __init__(self, *parts):
            self.parts = parts
        def __array__(self, dtype=None, copy=None):
            return np.array(self.parts, dtype=dtype)

    def array_by_method(x):
        return np.sum(np.asarray(Pair(x, 2.0)) ** 2) + np.array(Pair(x, x), dtype=float)[0]

    class Cell:
        def __init__(self, parts):
            self.parts = np.array(parts, dtype=float)
        def __array__(self, dtype=None, copy=None):
            return np.array(self.parts, dtype=dtype)
        def scaled(self, x):
            self.parts[:] = Cell([2.0, 3.0])
            held = np.zeros(2)
            held[:] = self
            return np.sum(held * x) + np.sum(np.asarray(self)) * x

    def read_by_numpy(x):
        return Cell([1.0, 1.0]).scaled(x)

        def __len__(self):
            return len(self.parts)
        def transpose(self, *axes):
            raise TypeError("asked for by a rule")

    def array_by_a_rule(x):
        found = np.dot(np.array([x, 2.0]), Cell([[1.0, 2.0], [3.0, 4.0]])) ** 2
        found[found > 1e3] = 0.0
        return np.sum(found)

    def copied_number(x):
        numbers = copy.deepcopy([x * 2.0]) + [copy.copy(x), np.float64(x * 3.0).copy()]
        return sum([y * isinstance(y, float) for y in numbers])

    def shared_memory(x):
        a = np.zeros((2, 2))
        a[0, 0] = x
        b = (x * np.eye(2)).T
        part = b[:1]
        part[0, 0] = x**2
        pairs = (a, a.T[1:]), (b, part), (a[0], a[1]), (a, b), (a, np.ones(2))
        shares = [np.may_share_memory(*pair) for pair in pairs]
        shares += [np.shares_memory(*pair) for pair in pairs]
        return sum([x**i for i, shared in enumerate(shares) if shared])

    def conjugates(x):
        a = sparse.csr_array(([x + 1j, 2.0 * x], ([0, 1], [1, 0])), shape=(2, 2))
        return np.real(np.sum(np.conj(a) @ np.array([1.0, 2.0j])))

    TABLE = np.array([1.0, 4.0, 9.0])

    def taken_items(x):
        order = np.argsort(np.array([x, 1.5, 0.1]))
        return np.sum(TABLE[order] * x) + TABLE[np.array([x, 0.0, 5.0]) > 1.0].sum() * x

    def whole(x):
        return math.floor(x * 3.0) * x + math.ceil(x) * x + math.trunc(-x) * x

    PLACES = np.linspace(0.0, 3.0, 7)
    VALUES = np.sin(PLACES)

    def spline(kind):
        if kind == "grid":
            return interpolate.RegularGridInterpolator((PLACES,), VALUES)
        if kind in ("linear", "nearest", "cubic", "slinear", 2):
            return interpolate.interp1d(PLACES, VALUES, kind)
        return getattr(interpolate, kind)(PLACES, VALUES)

    CACHE = {}

    class Keeper:
        def __init__(self):
            self.found = {}
        def at(self, kind, x):
            if kind not in self.found:
                self.found[kind] = spline(kind)
            return self.found[kind](np.array([x]))[0]

    KEEPER = Keeper()

    def kept_spline(kind, x):
        return KEEPER.at(kind, x)

    LAST, _FOUND = [None], None

    def kept_in_a_list(x):
        if LAST[0] is None:
            LAST[0] = x * 2.0
        return LAST[0] * 1.0

    def kept_in_a_name(x):
        global _FOUND
        if _FOUND is None:
            _FOUND = np.array([x, 2.0])
        return _FOUND.sum()

    class Lazy:
        def __init__(self, x):
            self.x = x
        @functools.cached_property
        def square(self):
            return self.x**2

    SHARED = Lazy(1.0)

    def kept_by_a_property(x):
        SHARED.x = x
        return SHARED.square * 1.0

    def new_property(x):
        return Lazy(x).square

    SINES = np.vectorize(math.sin)
    EXPONENTIALS = np.vectorize(linalg.expm, signature="(m,m)->(m,m)")

    def vectorized(x):
        return SINES(np.array([x, 2.0])) @ EXPONENTIALS(np.array([[x, 1.0], [0.5, x]]))[0]
"""


@pytest.fixture
def module(tmp_path):
    return module_of(tmp_path, MODULE)


CODES = """
    two_underscores array_by_method read_by_numpy new_property types_in_variables array_by_a_rule
    copied_number shared_memory conjugates whole vectorized
""".split()


@pytest.mark.parametrize("name", CODES)
def test_code_of_a_kind(module, name):
    f = getattr(module, name)
    with ft.adopt(module):
        check(f)
        if name != "new_property":
            compiled = ft.compile(f)
            found, expected = [[g(x) for x in (X, 1.7, 0.4, X)] for g in (compiled, f)]
            bits = 1e-14 if name == "vectorized" else 0  # LAPACK's depend on where arrays lie
            np.testing.assert_allclose(found, expected, rtol=bits)


def test_items_of_a_table_are_taken_by_places_that_a_program_computes(module):
    f = module.taken_items
    with ft.adopt(module):
        compiled, slope = ft.compile(f), ft.compile(ft.grad(f))
        assert [compiled(x) for x in (X, 1.7, 0.4, X)] == [f(x) for x in (X, 1.7, 0.4, X)]
        assert len(compiled.programs) == 3
        np.testing.assert_allclose([slope(x) for x in (X, 1.7)], [f(x) / x for x in (X, 1.7)])


def test_code_of_a_library_may_stay_as_it_is(tmp_path):
    folder = tmp_path / "site-packages"
    text = "import numpy as np\ndef f(x):\n    return np.sum(x**2) + len(x.tobytes())\n"
    write(folder, {"untouched.py": text})
    with importable(folder):
        f = importlib.import_module("untouched").f
        with ft.adopt("untouched"), pytest.raises(ft.ConversionError) as caught:
            ft.grad(f)(np.ones(2))
        assert "line 3 of untouched.py may stay as it is" in "".join(caught.value.__notes__)
        np.testing.assert_allclose(ft.grad(ft.finite_difference(f))(np.ones(2)), [2.0, 2.0])
        with pytest.raises(ft.ConversionError) as caught:
            ft.grad(f)(np.ones(2))  # adopting it would help first
        assert "may stay" not in "".join(caught.value.__notes__)


SPLINES = (
    "CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "InterpolatedUnivariateSpline",
    "UnivariateSpline", "make_interp_spline", "grid", "linear", "nearest", "cubic", "slinear", 2,
)  # fmt: skip


@pytest.mark.parametrize("kind", SPLINES)
def test_objects_of_scipy_that_were_kept_before_the_adoption(module, kind):
    plain = module.kept_spline(kind, X)
    kept = module.KEEPER.found[kind]
    with ft.adopt(module):
        check(lambda x: module.kept_spline(kind, x))
        assert module.kept_spline(kind, X) == plain
    assert module.KEEPER.found[kind] is kept


@pytest.mark.parametrize(
    "name, kept",
    [("kept_in_a_list", 2 * X), ("kept_in_a_name", X + 2.0), ("kept_by_a_property", X**2)],
)
def test_what_a_module_keeps_for_all_calls_is_a_constant_of_later_ones(module, name, kept):
    f = getattr(module, name)
    with ft.adopt(module):
        assert ft.grad(f)(X) != 0.0
        assert f(X + 1.0) == pytest.approx(kept, abs=1e-15)
        assert ft.grad(f)(X + 1.0) == 0.0
    assert f(X + 1.0) == pytest.approx(kept, abs=1e-15)
