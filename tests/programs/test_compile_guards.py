"""Answers, arguments and modules that a compiled function depends on: no result is stale.

What else the code reads is changed in `nets.stale`.
"""

import collections
import functools
import importlib
import sys
import textwrap
import types

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from faults.planted import programs as faulty
from strategies.outcomes import difference
from support.basics import raises
from support.compiling import called as check


def module(text, name="user_module"):
    """Return a module with this source."""
    made = types.ModuleType(name)
    made.np = np
    exec(textwrap.dedent(text), vars(made))
    return made


def check_change(f, change, *args, before=lambda: None):
    """After a change of what it reads, the function is traced again, or raises where asked to."""
    before()
    traces, raises = ft.compile(f), ft.compile(f, on_change="raise")
    for compiled in (traces, raises):
        assert difference(compiled(*args), f(*args)) is None
        assert difference(compiled(*args), f(*args)) is None
    assert len(traces.programs) == 1
    change()
    with pytest.raises(RuntimeError, match="has changed since the function was traced"):
        raises(*args)
    assert difference(traces(*args), f(*args)) is None


X = np.array([0.5, -1.0, 2.0])

# ---- answers ----

ANSWERS = {
    "truth": (lambda x: x if np.sum(x) > 0 else -x, X, -X),
    "not": (lambda x: x if not x[0] else 2 * x, X, X * 0),
    "while": (lambda x: [x := x / 2 for _ in iter(lambda: bool(np.max(x) > 1), False)], X, 4 * X),
    "int": (lambda x: x * int(x[2]), X, X + 1, X + 2),
    "index": (lambda x: x[np.argmax(x)], X, -X),
    "range": (lambda x: sum(x[0] * i for i in range(int(x[2]))), X, 3 * X),
    "slice": (lambda x: x[: int(np.argmax(x))], X, -X),
    "mask": (lambda x: x[x > 0], X, -X, X + 1, X - 5),
    "mask of equal counts": (lambda x: x[x > 0] * np.array([1.0, 2.0]), X, X[::-1].copy()),
    "nonzero": (lambda x: np.nonzero(x > 0)[0], X, -X),
    "unique": (lambda x: np.unique(x), X, X * 0),
    "where": (lambda x: np.where(x > 0)[0] * 2, X, -X),
    "len": (lambda x: len(x[x > 0]) * x, X, -X),
    "list": (lambda x: [1, 2, 3][np.argmin(x)] * x, X, -X),
    "equality": (lambda x: x if x[0] == 0.5 else x * 0, X, X + 1),
    "any": (lambda x: x if any(x > 1) else -x, X, -X),
    "sort by": (lambda x: sorted(x, key=lambda v: v), X, -X),
    "max of Python": (lambda x: max(x), X, -X),
    "match": (lambda x: {True: x, False: -x}[bool(x[0] > 0)], X, -X),
    "assert": (lambda x: x, X, -X),
    "nan": (lambda x: x if np.isnan(x[0]) else -x, X, X * np.nan),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(name):
    f, *points = ANSWERS[name]

    check(f, *[(x,) for x in points])


SIZES = {
    "extract": lambda x: np.extract(x > 0, x),
    "compress": lambda x: x.compress(x > 0),
    "trim_zeros": lambda x: np.trim_zeros(x * (x > 0)),
    "roots": lambda x: np.abs(np.roots(x * (x > 0))),
    "delete": lambda x: np.delete(x, x > 0),
    "insert": lambda x: np.insert(x, x > 0, 1.0),
    "split": lambda x: np.split(x, np.array([1]) + (x[:1] > 0))[0],
    "ix_": lambda x: np.ix_(x > 0)[0] * 1.0,
    "polymul": lambda x: np.polymul(x * (x > 0), [1.0, 2.0]),
    "union1d": lambda x: np.union1d(x, [2.0]),
    "intersect1d": lambda x: np.intersect1d(x, [2.0, 0.5]),
    "setdiff1d": lambda x: np.setdiff1d(x, [2.0]),
    "setxor1d": lambda x: np.setxor1d(ar1=x, ar2=np.array([2.0])),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name):
    """How many elements there are is an answer, of functions that are made of others, too."""
    f = SIZES[name]
    points = [(X,), (-X,), (X - 3,)]
    assert len({f(*x).size for x in points}) > 1
    assert check(lambda x: f(x) * len(f(x)), *points).programs
    program = ft.trace(f)(X)
    raises(ValueError, lambda: [program(*x) for x in points], "differs from the trace")


def inverse(a):
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return a * 7


def quotient(x):
    try:
        with np.errstate(all="raise"):
            return 1 / x
    except FloatingPointError:
        return x * 0


def element(x):
    try:
        return x[int(x[0])]
    except IndexError:
        return -x[0]


def checked(x):
    if x[0] < 0:
        raise KeyError("negative")
    return x


ERRORS = {
    "inverse": (inverse, np.eye(2), np.zeros((2, 2))),
    "quotient": (quotient, X, X * 0),
    "element": (element, X, X + 5),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_that_are_caught_are_answers(name):
    f, *points = ERRORS[name]

    check(f, *[(x,) for x in points])
    check(f, *[(x,) for x in points[::-1]])


def test_a_branch_is_chosen_before_what_follows_fails():
    def f(a):
        return a if np.sum(a) < 1 else np.linalg.inv(a)

    check(f, (np.eye(2),), (np.zeros((2, 2)),))


def test_an_error_of_the_function_is_raised():
    compiled = ft.compile(checked)
    compiled(X)

    raises(KeyError, lambda: compiled(-X), "negative")
    assert np.array_equal(compiled(X), X)


# ---- what the code names ----


def test_a_function_among_the_arguments():
    c = 2.0

    def g(x):
        return c * x

    def change():
        nonlocal c
        c = 3.0

    check_change(lambda h, x: h(x), change, g, X)
    check(lambda h, x: h(x), (np.sin, X), (np.cos, X), (g, X))


@pytest.mark.parametrize("kind", ["Python's", "C's"])
def test_under_a_profiler(kind):
    import cProfile

    user = module("c = 2.0\ndef f(x): return c * x")
    profile = cProfile.Profile()
    seen = []

    def enable():
        if kind == "C's":
            profile.enable()
        else:
            sys.setprofile(lambda *given: seen.append(given[1]))

    enable()
    before = sys.getprofile()
    try:
        compiled = ft.compile(user.f)
        compiled(1.0)
        assert (sys.getprofile() is before) or kind == "C's"
    finally:
        profile.disable()
        sys.setprofile(None)
    user.c = 3.0

    assert compiled(1.0) == 3.0
    assert kind == "C's" or "call" in seen


CALLBACKS = {
    "frompyfunc": "u = np.frompyfunc(lambda v: c * v, 1, 1)\nf = lambda x: u(x)",
    "apply_along_axis": "f = lambda x: np.apply_along_axis(lambda v: c * v, 0, x)",
    "piecewise": "f = lambda x: np.piecewise(x, [x > 0], [lambda v: c * v, lambda v: v])",
    "generator of arrays": "def g(x): yield from (c * x, x)\nf = lambda x: np.stack([*g(x)])",
    "objects": "class A:\n def __mul__(self, x): return c * x\n __rmul__ = __mul__\n"
               "a = np.array([A()])\nf = lambda x: np.sum(a * 2.0) * x",
    "custom rule": "import functier\n@functier.custom_jvp\ndef g(x): return c * x\n"
                   "g.defjvp(lambda p, t: (g(*p), c * t[0]))\n"
                   "f = lambda x: functier.jvp(g, (x,), (x,))[1]",
    "backward": "import functier\n@functier.custom_vjp\ndef g(x): return x * 1.0\n"
                "g.defvjp(lambda x: (g(x), x), lambda x, t: (c * t,))\n"
                "f = functier.grad(lambda x: np.sum(g(x)))",
}  # fmt: skip


@pytest.mark.parametrize("name", CALLBACKS)
def test_globals_of_functions_that_numpy_calls(name):
    user = module(f"c = 2.0\n{CALLBACKS[name]}")

    check_change(user.f, lambda: setattr(user, "c", 3.0), X)


# ---- the arguments ----

Point = collections.namedtuple("Point", "x y")
FORMS = [
    1.0, -0.0, 1, True, 1j, np.float32(1), np.float64(1), np.float16(1), np.complex64(1),
    np.int64(1), np.int8(1), np.bool_(True), np.array(1.0), np.array(1.0, "f4"), np.array(1),
    np.ones(3), np.ones(3, "f4"), np.ones(3, ">f8"), np.ones(2), np.ones((3, 1)), np.ones((0, 3)),
    np.ones(3, int), np.ones(3, bool), np.ones(3, complex),
]  # fmt: skip


def test_forms(monkeypatch):
    faulty.forms(monkeypatch)
    weak = np.ones(2, "f4")

    check(lambda x: (x * 2 + x, (x * 2) * weak[0], np.sin(x)), *[(x,) for x in FORMS])


def over(tree):
    """Combine the leaves of a pytree in their order."""
    if isinstance(tree, dict):
        return functools.reduce(lambda t, k: 2 * t + over(tree[k]), tree, 0.0)
    if isinstance(tree, (list, tuple)):
        return functools.reduce(lambda t, v: 3 * t + over(v), tree, type(tree) is list)
    return 0.5 if tree is None else tree


TREES = [
    [1.0, 2.0], (1.0, 2.0), [1.0, 2.0, 3.0], {"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0},
    {"a": 1.0, "c": 2.0}, {"a": 1.0}, {"a": [1.0, None]}, {"a": [1.0, 2.0]}, None, (1.0, None),
    Point(1.0, 2.0), {"a": {"x": 1.0, "y": 2.0}}, {"a": {"y": 2.0, "x": 1.0}}, (), [], {},
    collections.OrderedDict(b=2.0, a=1.0), collections.OrderedDict(a=1.0, b=2.0),
    Point({"b": 2.0, "a": 1.0}, 1.0), Point({"a": 1.0, "b": 2.0}, 1.0), {1: 1.0, 0: 2.0},
    {0: 2.0, 1: 1.0},
]  # fmt: skip


def test_structures(monkeypatch):
    faulty.structures(monkeypatch)

    check(over, *[(tree,) for tree in TREES])


def test_keywords():
    def f(x, *, y=1.0, **more):
        return functools.reduce(lambda t, k: 2 * t + more[k], more, x * y)

    compiled = ft.compile(f)
    for _ in range(2):
        for given in ({}, {"y": 2.0}, {"y": 3.0}, {"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0},
                      {"y": X}, {"y": 2}, {"y": 3}, {"a": 5.0, "b": -2.0}):  # fmt: skip
            assert difference(compiled(X, **given), f(X, **given)) is None, given
    raises(TypeError, lambda: compiled(y=1.0))


def test_strides():
    """Functions sum in the order of memory, so that other strides give other last bits."""
    x = np.random.default_rng(0).normal(size=(41, 41))
    others = (x,), (x.T,), (np.repeat(x, 2, 0)[::2],), (x[::-1],), (x[:, ::-1].T,)

    check(lambda x: np.sum(x @ x.T * 0.1, axis=0), *others)
    check(ft.grad(lambda x: np.sum(np.einsum("ij,kj->ik", x, np.sin(x)) ** 2)), *others)
    check(ft.grad(lambda x: np.sum(np.linalg.norm(np.tensordot(x, x, 1) + x.T, axis=1))), *others)
    check(lambda x: np.sum(np.cos(x) + np.ones((41, 41))), *others)


# ---- planted faults ----


def test_a_watch_that_stays_off_is_found(monkeypatch):
    user = module(f"c = 2.0\n{CALLBACKS['frompyfunc']}")
    texts = []
    for plant in (lambda patch: None, faulty.watch_that_stays_off):
        plant(monkeypatch)
        compiled = ft.compile(user.f)
        compiled(X)
        texts.append(compiled.explain())

    assert "depends on: the global c of <lambda>" in texts[0]
    assert "depends on: the global c of <lambda>" not in texts[1]


def test_an_error_that_is_not_noted_is_found(monkeypatch):
    faulty.an_error_that_is_not_noted(monkeypatch)

    with pytest.raises(AssertionError):
        test_errors_that_are_caught_are_answers("inverse")


def test_a_form_that_is_not_checked_is_found(monkeypatch):
    faulty.form_that_is_not_checked(monkeypatch)

    with pytest.raises(AssertionError):
        check(over, (TREES[-4],), (TREES[-3],), (TREES[-2],), (TREES[-1],))


class Answering:
    """Answers every attribute."""

    def __getattr__(self, name):
        raise RuntimeError(f"{name} was asked for")


ANSWERING = Answering()


def test_a_global_object_runs_no_code_of_its_class():
    assert ft.compile(lambda x: x * (ANSWERING is not None))(2.0) == 2.0


IMPORTS = {
    "relative": "from .settings import rate",
    "of a module": "from . import settings; rate = settings.rate",
    "absolute": "import user_pack.settings as found; rate = found.rate",
    "importlib": "rate = importlib.import_module('.settings', __package__).rate",
    "getattr": "rate = getattr(importlib.import_module('user_pack.settings'), 'rate')",
    "vars": "rate = vars(importlib.import_module('user_pack.settings'))['rate']",
    "__import__": "rate = __import__('settings', globals(), None, ('rate',), 1).rate",
}


@pytest.mark.parametrize("loaded", [True, False])
@pytest.mark.parametrize("way", IMPORTS)
def test_a_module_that_the_function_imports_is_watched(way, loaded, tmp_path, monkeypatch):
    (tmp_path / "user_pack").mkdir()
    text = f"import importlib, inspect\ndef f(x):\n    {IMPORTS[way]}\n    return x * rate\n"
    files = {"__init__": "", "settings": "rate = 2.0\ndef g(): pass\n", "model": text}
    for name, source in files.items():
        (tmp_path / f"user_pack/{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    names = ["user_pack", "user_pack.model", "user_pack.settings"]
    try:
        model = importlib.import_module("user_pack.model")
        if loaded:
            importlib.import_module("user_pack.settings")
        compiled = ft.compile(model.f)
        assert compiled(1.0) == compiled(1.0) == 2.0
        sys.modules["user_pack.settings"].rate = 3.0
        assert compiled(1.0) == 3.0
    finally:
        for name in names:
            sys.modules.pop(name, None)


def test_a_write_to_a_module_that_importlib_gives_is_made_in_each_call(monkeypatch):
    user = module("rate = 2.0", "user_settings")
    monkeypatch.setitem(sys.modules, "user_settings", user)

    def f(x):
        importlib.import_module("user_settings").rate = 5.0
        return x * 2.0

    compiled = ft.compile(f)
    for _ in range(3):
        user.rate = 2.0
        assert (compiled(1.0), user.rate) == (2.0, 5.0)


STANDING = """
class Base:
    def __init__(self, module):
        self.module = module
    def __getattr__(self, name):
        return getattr(self.module, name)
class Standing(Base):
    def __getattr__(self, name):
        return super().__getattr__(name)
rate = 2.0
def f(x):
    import user_module
    return x * stand.rate * user_module.rate
"""


def test_an_object_that_a_package_puts_in_its_place_may_hold_the_classes_of_the_code(monkeypatch):
    user = module(STANDING)
    user.stand = user.Standing(user)
    monkeypatch.setitem(sys.modules, user.__name__, user.stand)
    compiled = check(user.f, (3.0,), (4.0,))
    assert len(compiled.programs) == 1
    user.rate = 3.0
    assert compiled(3.0) == 27.0


def test_versions_of_python_have_no_state():
    def f(x):
        return x * 2.0 if sys.version_info >= (3, 11) and sys.float_info.max > 1.0 else x

    assert "not watched" not in check(f, (3.0,), (np.ones(3),)).explain()


def test_a_mask_that_is_used_several_times_is_compared_once_and_values_are_let_go():
    def f(x):
        y, z = fnp.zeros(600), x * 1.0
        for _ in range(3):
            mask = np.abs(y) < 2.0
            y[mask] = y[mask] * 0.5 + z[mask]
            z[mask] = z[mask] * 1.5
        return y, z

    fast = check(f, (np.ones(600),), (np.linspace(0.0, 3.0, 600),))
    text, _ = fast.programs[0]._replay.written()
    assert text.count("raise Changed") == 2  # the first mask is a constant
    assert " del " in text


def test_a_mask_that_is_written_twice_is_compared_once():
    def f(x):
        y = x * 2.0
        y[y > 0] = y[y > 0] ** 2
        return y

    fast = check(f, (X,), (-X,), (X,), (X + 5,))
    text, _ = fast.programs[0]._replay.written()
    assert text.count("raise Changed") == 1
    assert fast.programs[0].source.count("raise ValueError") == 1


def test_defaults_that_are_replaced_by_equal_ones():
    def scaled(x, by=2.0):
        return x * by

    fast = ft.compile(lambda x: scaled(x))
    assert fast(3.0) == fast(3.0) == 6.0
    for by, found in ((2.0, 6.0), (4.0, 12.0), (2.0, 6.0)):
        scaled.__defaults__ = (by,)
        assert fast(3.0) == found
    scaled.__kwdefaults__ = {}
    assert fast(3.0) == 6.0
