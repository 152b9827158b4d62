"""The twins of builtins: Python's results on numbers, and loops and differences on tensors;
which calls of the source they stand for.
"""

import ast
import builtins
import collections.abc
import dis
import importlib.util
import inspect
import math
import numbers
import pickle
import typing

import numpy as np
import pytest
from adopt_support import module_of
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
import functier.numpy as fnp
from functier._adopt import calls
from functier._adopt.calls import complex_, float_, int_, isinstance_, max_, min_, sorted_, type_
from functier._cpython.code import loads_in
from functier._cpython.rewriting import Names, rewrite
from support.basics import raises

pytestmark = pytest.mark.inside(
    "Twins of builtins are called one by one, as code that calls them is another subject."
)

ODD = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, math.nan, math.inf, -math.inf]
numbers_ = st.sampled_from(ODD) | st.integers(-3, 3) | st.floats()
lists = st.lists(numbers_, max_size=5)


def outcome(f, *args, **kwargs):
    """A result with its type, or the error."""
    try:
        result = f(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    return type(result), repr(result)


# ---- without tensors ----


@given(lists, st.sampled_from([None, abs, lambda v: -v, str]), st.booleans(), numbers_)
def test_without_tensors_choices_are_the_builtins(values, key, reverse, default):
    for twin, builtin in ((max_, max), (min_, min)):
        for kwargs in ({}, {"key": key}, {"default": default}, {"key": key, "default": default}):
            forms = [values], [tuple(values)], [iter(values)], values, [np.array(values)], [default]
            again = [values], [tuple(values)], [iter(values)], values, [np.array(values)], [default]
            for args, same in zip(forms, again):
                assert outcome(twin, *args, **kwargs) == outcome(builtin, *same, **kwargs)
    for form in (list, tuple, iter, np.array):
        found = outcome(sorted_, form(values), key=key, reverse=reverse)
        assert found == outcome(sorted, form(values), key=key, reverse=reverse)


PLAIN = [
    *ODD, 3, True, 10**400, "12", " 2.5 ", "x", b"7", None, [], (1,), 1j, np.float32(0.5),
    np.int8(3), np.array(2.5), np.array([2.5]), np.ones(2), np.complex128(1), ...
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # a complex number of NumPy's loses its imaginary part
@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_without_tensors_numbers_are_the_builtins(value):
    for twin, builtin in ((float_, float), (int_, int), (complex_, complex)):
        assert outcome(twin, value) == outcome(builtin, value)
        for args, words in [((value, value), {}), ((value,), {"imag": 1}), ((value,), {"base": 8})]:
            found, expected = outcome(twin, *args, **words), outcome(builtin, *args, **words)
            assert found == expected or (twin is float_ and found[0] is expected[0] is TypeError)
        assert outcome(twin) == outcome(builtin)
    for classes in (float, int, (int, (str,)), np.ndarray, int | None, numbers.Real, 3):
        assert outcome(isinstance_, value, classes) == outcome(isinstance, value, classes)
    assert outcome(max_, value) == outcome(max, value)
    assert outcome(sorted_, value) == outcome(sorted, value)
    for kind, twin in calls.CALLERS.items():
        assert outcome(twin, value) == outcome(kind, value)


# ---- batches against loops ----


def columns(n):
    return st.lists(st.lists(st.sampled_from(ODD), min_size=n, max_size=n), min_size=1, max_size=4)


@given(columns(3), st.sampled_from([max_, min_]), st.sampled_from([None, abs, lambda v: -v]))
def test_a_batch_of_choices_is_a_loop(rows, twin, key):
    builtin = {max_: max, min_: min}[twin]
    batch = np.array(rows)
    expected = [builtin(*row, key=key) for row in rows]
    for call in (lambda x: twin(*x, key=key), lambda x: twin(x, key=key)):
        found = ft.vmap(call)(batch)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))  # of zeros and NaNs


@given(columns(4), st.booleans(), st.sampled_from([None, abs, lambda v: -v]))
def test_a_batch_of_sorts_is_a_loop(rows, reverse, key):
    batch = np.array(rows)
    sort = lambda x: np.stack(sorted_(x, key=key, reverse=reverse))  # noqa: E731
    if np.isnan(batch).any():
        raises(ValueError, lambda: ft.vmap(sort)(batch), "sorted: a key is NaN in an example")
        return
    expected = [sorted(row, key=key, reverse=reverse) for row in rows]
    found = ft.vmap(sort)(batch)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@given(columns(3), st.sampled_from([max_, min_]))
def test_the_derivative_of_a_choice_goes_to_the_chosen_one(rows, twin):
    better = {max_: np.greater, min_: np.less}[twin]
    batch = np.array(rows)
    for row, slope in zip(rows, ft.vmap(ft.grad(lambda x: twin(*x)))(batch)):
        chosen = 0
        for i in (1, 2):
            chosen = i if better(row[i], row[chosen]) else chosen
        assert slope.tolist() == np.eye(3)[chosen].tolist()
        assert ft.grad(lambda x: twin(*x))(np.array(row)).tolist() == slope.tolist()
        same = [ft.jvp(lambda x: twin(*x), (np.array(row),), (t,))[1] for t in np.eye(3)]
        assert same == slope.tolist()


@given(st.lists(st.integers(0, 2), min_size=4, max_size=4), st.booleans())
def test_equal_keys_keep_their_order_for_the_derivative(row, reverse):
    weights = np.array([1.0, 10.0, 100.0, 1000.0])
    x = np.array(row, float)
    order = sorted(range(4), key=lambda i: row[i], reverse=reverse)
    expected = np.zeros(4)
    expected[order] = weights
    f = lambda x: np.sum(np.stack(sorted_(x, reverse=reverse)) * weights)  # noqa: E731
    assert ft.grad(f)(x).tolist() == expected.tolist()
    assert ft.vmap(ft.grad(f))(x[None]).tolist() == [expected.tolist()]


@given(st.lists(st.sampled_from([v for v in ODD if v == v and abs(v) < 9]), min_size=1))
def test_a_batch_of_numbers_is_a_loop(row):
    x = np.array(row)
    assert ft.vmap(int_)(x).tolist() == [int(v) for v in row]
    np.testing.assert_array_equal(ft.vmap(float_)(x.astype(np.float32)), x)
    z, y = ft.vmap(complex_)(x, x[::-1]), [complex(a, b) for a, b in zip(row, row[::-1])]
    assert repr(z.tolist()) == repr(y)


DTYPES = [bool, np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_each_dtype(dtype):
    x = np.array([0, 1, 1], dtype) * dtype(1)
    assert ft.vmap(float_)(x).dtype == np.float64
    assert ft.vmap(int_)(x).dtype == np.int64
    assert ft.vmap(lambda v: int_(v) - 2)(x).tolist() == [-2, -1, -1]
    assert ft.vmap(complex_)(x).dtype == np.complex128
    if np.dtype(dtype).kind == "f":
        assert type(ft.jvp(float_, (x[1],), (x[1],))[1]) is np.float64
        assert ft.grad(float_)(x[1]).dtype == dtype
        assert ft.grad(lambda v: int_(v) * v)(x[1]) == 1.0


def test_a_kept_derivative_of_a_complex_number():
    f = lambda x: abs(complex_(x, x * x) * complex_(0.0, imag=x)) ** 2  # noqa: E731
    g = lambda x: (x**2 + x**4) * x**2  # noqa: E731
    for x in (0.7, -1.3):
        assert np.isclose(ft.grad(f)(x), ft.grad(g)(x))
        assert np.isclose(ft.jvp(f, (x,), (1.0,))[1], ft.grad(g)(x))
    assert np.isclose(ft.vmap(ft.grad(f))(np.array([0.7]))[0], ft.grad(g)(0.7))


# ---- errors are Python's, also of one example ----


def one(x):
    """A key that is `x` for one of two items, larger in some examples and smaller in others."""
    return lambda v: x if v == "a" else 1.5


BAD = [
    (int_, [1.0, math.nan], ValueError, "cannot convert float NaN to integer"),
    (int_, [1.0, math.inf], OverflowError, "cannot convert float infinity to integer"),
    (int_, [1.0, 1e30], OverflowError, "of an example exceeds an int64"),
    (float_, [1j, 1.0], TypeError, "a real number is needed, not complex128"),
    (int_, [1j, 1.0], TypeError, "a real number is needed, not complex128"),
    (float_, [[1.0, 2.0]], TypeError, "only 0-dimensional arrays"),
    (int_, [[1.0, 2.0]], TypeError, "only 0-dimensional arrays"),
    (complex_, [[1.0, 2.0]], TypeError, "only 0-dimensional arrays"),
    (lambda x: complex_(0.0, x), [1.0, math.inf], ValueError, "y is not finite"),
    (lambda x: max_(x, x + 1), [[1.0, 2.0]], ValueError, "truth value of an array"),
    (lambda x: max_("ab", key=one(x)), [1.0, 2.0], ft.DataDependentError, "bool"),
    (lambda x: max_((x, 1), (1.5, 2)), [1.0, 2.0], ft.DataDependentError, "bool"),
    (lambda x: sorted_([x - 1.5 + 0j, 0j]), [1.0, 2.0], ft.DataDependentError, "bool"),
    (lambda x: sorted_("ab", key=one(x)), [1.0, 2.0], ft.DataDependentError, "bool"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "error", "text"), BAD)
def test_errors_under_vmap(f, x, error, text):
    with pytest.raises(error, match=text):
        ft.vmap(f)(np.array(x))


@pytest.mark.parametrize("value", [math.nan, math.inf, np.ones(2), 1j])
def test_errors_under_grad(value):
    for twin, builtin in ((int_, int), (float_, float)):
        try:
            builtin(value)
        except (TypeError, ValueError, OverflowError) as error:
            with pytest.raises(type(error)):
                ft.grad(lambda x: twin(x * 1.0), holomorphic=value == 1j)(np.asarray(value) * 1.0)


# ---- isinstance ----

CLASSES = [
    float, int, complex, bool, np.float64, np.float32, np.generic, np.number, np.integer,
    np.ndarray,
    numbers.Number, numbers.Real, numbers.Integral, collections.abc.Iterable, collections.abc.Sized,
    (int, float), (str, (np.ndarray, list)), int | float, float | None, str, object,
    typing.SupportsFloat, typing.SupportsIndex,
]  # fmt: skip


@pytest.mark.parametrize("classes", CLASSES, ids=str)
@pytest.mark.parametrize("dtype", [bool, np.int64, np.uint8, np.float32, np.float64, complex])
def test_a_tensor_answers_as_what_numpy_has(classes, dtype):
    xs = np.ones((2, 3), dtype)

    def ask(x):
        found.extend([isinstance_(v, classes) for v in (x, x[0], x[0, ...], np.sum(x))])
        return x

    answers = []
    for run in (ask, ft.vmap(ask)):
        found = []
        run(xs[0] if run is ask else xs)
        answers.append(found)
    if np.dtype(dtype).kind in "fc":
        found = []
        ft.vjp(ask, xs[0])
        answers.append(found)
        found = []
        ft.jvp(ask, (xs[0],), (xs[0],))
        answers.append(found)
    assert all(found == answers[0] for found in answers[1:]), answers


def test_a_tensor_has_the_class_that_numpy_has():
    """With Python's numbers under grad and jvp, with NumPy's under vmap and in a loop."""

    def ask(x):
        found.append([type_(v) for v in (x, x * 2, -x, np.sin(x), np.stack([x, x]))])
        return x * 1.0

    for x in (2.5, np.float64(2.5), np.float32(2.5)):
        found = []
        ask(x)
        ft.grad(ask)(x)
        ft.jvp(ask, (x,), (x,))
        ft.grad(ft.grad(ask))(x)
        assert found[1:] == 3 * found[:1]
    for xs in (np.ones(2), np.ones(2, np.float32), np.ones(2, int), np.ones((2, 3))):
        found = []
        ask(xs[0])
        ft.vmap(ask)(xs)
        if xs.dtype.kind == "f":
            ft.vmap(ft.jacrev(ask))(xs)
            ft.jacfwd(ft.vmap(ask))(xs)
        assert all([kinds == found[0] for kinds in found]), found


ASKING = """
import numpy as np

def f(d, kinds=()):
    if type(d) == float or type(d) is np.float64:
        return 3.0 * d
    return d * d if type(d) is np.ndarray and type(d) not in (list, tuple) else "neither"

def make(base):
    return type("Made", (base,), {"kind": type(base).__name__})
"""


def test_adopted_code_that_asks_for_a_type_takes_the_same_path(tmp_path):
    module = module_of(tmp_path, ASKING)
    with ft.adopt(module):
        assert ft.grad(module.f)(2.0) == 3.0 and ft.grad(module.f)(np.float64(2.0)) == 3.0
        assert ft.vmap(module.f)(np.array([1.0, 2.0])).tolist() == [3.0, 6.0]
        assert ft.vmap(ft.grad(module.f))(np.array([1.0, 2.0])).tolist() == [3.0, 3.0]
        assert ft.vmap(module.f)(np.full((2, 2), 3.0)).tolist() == [[9.0, 9.0]] * 2
        assert ft.jvp(module.f, (np.array([2.0]),), (np.ones(1),))[1].tolist() == [4.0]
        made = module.make(int)
        assert (made.kind, made.__module__) == ("type", module.__name__)


def test_type_is_the_builtin_else():
    class Meta(type):
        pass

    class Sub(ft.Tensor):
        pass

    for x in (1, None, np.ones(2), Meta, ft.tensor(2.5), Sub(np.ones(2)), [], type):
        assert type_(x) is type(x)
    for args in [(), (1, 2), ("A", (), 3), ("A", [], {})]:
        assert outcome(type_, *args) == outcome(type, *args)
    made, expected = type_("A", (Sub,), {"a": 1}), type("A", (Sub,), {"a": 1})
    assert (made.__module__, made.__qualname__, made.a) == (__name__, "A", 1)
    assert made.__mro__[1:] == expected.__mro__[1:] and type_("A", (), {"__module__": "m"})
    assert type(type_("A", (Meta("B", (), {}),), {})) is Meta
    y = fnp.zeros(())
    assert ft.grad(lambda x: x * (type_(fnp.zeros(())) is np.ndarray))(2.0) == 1.0
    assert type_(y) is np.ndarray


def test_arrays_that_take_writes_and_classes_for_tensors():
    def f(x):
        y = fnp.zeros(())
        assert isinstance_(y, np.ndarray) and not isinstance_(y, float)
        y[...] = x
        assert isinstance_(y, np.ndarray) and not isinstance_(y, float)
        assert isinstance_(x, ft.Tensor) and isinstance_(x, (str, ft.Tensor))
        assert isinstance_(x, ft.Tensor | str) and not isinstance_(x, type("Sub", (ft.Tensor,), {}))
        assert float_(y).ndim == 0 and not isinstance_(float_(y), np.ndarray)
        return y * 1.0

    assert ft.vmap(f)(np.ones(2)).tolist() == [1.0, 1.0] and ft.grad(f)(2.0) == 1.0
    assert float_(ft.tensor(2.5)) == 2.5 and int_(ft.tensor(2.5)) == 2
    assert isinstance_(ft.tensor(2.5), ft.Tensor) and not isinstance_(ft.tensor(2.5), float)


def test_float_is_a_number_that_later_writes_do_not_change():
    def f(x):
        y = x[0, ...]
        v = float_(y)
        y[...] = 7.0
        return v + x[0]

    assert f(np.array([2.0])) == 9.0
    assert ft.vmap(f)(np.array([[2.0], [3.0]])).tolist() == [9.0, 10.0]
    assert ft.grad(f)(np.array([2.0])).tolist() == [1.0]


def test_a_dead_tensor_is_refused():
    with ft.vmap() as B:
        x = B(np.ones(3))
    asking = lambda v: isinstance_(v, float)  # noqa: E731
    for call in (float_, int_, complex_, lambda v: max_(v, 1.0), asking, type_):
        raises(ft.EscapedTensorError, lambda: call(x))


def test_a_function_that_some_examples_chose_has_no_errors_of_the_others():
    f = lambda x: ft.cond(x > 0, lambda v: int_(1 / v) * v, lambda v: v * 0, x)  # noqa: E731
    with np.errstate(divide="ignore"):
        assert ft.vmap(f)(np.array([0.0, 0.3])).tolist() == [0.0, 3 * 0.3]


def test_twins_are_pickled_by_their_names():
    for twin in (float_, int_, complex_, max_, min_, sorted_, isinstance_, type_):
        assert pickle.loads(pickle.dumps(twin)) is twin


# ---- planted faults ----


FAULTS = {
    "numpy.maximum": (
        "_extremum",
        lambda builtin, better, args, kwargs: (np.maximum if builtin is max else np.minimum)(
            *(args if len(args) > 1 else list(args[0]))[:2]
        ),
        "test_a_batch_of_choices_is_a_loop",
    ),
    "the last of equal values": (
        "_select",
        lambda chosen, a, b: np.where(b > a, b, a),
        "test_a_batch_of_choices_is_a_loop",
    ),
    "no signs": ("_joined", lambda x, y: x + 1j * y, "test_a_batch_of_numbers_is_a_loop"),
    "the class of the tensor": (
        "class_of",
        lambda x: type(x),
        "test_a_tensor_has_the_class_that_numpy_has",
    ),
    "NumPy's class for a number of Python's": (
        "class_of",
        lambda x: np.float64,
        "test_a_tensor_has_the_class_that_numpy_has",
    ),
    "a class": (
        "likeness",
        lambda x: np.empty(x.shape, x.dtype),
        "test_a_tensor_answers_as_what_numpy_has",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, monkeypatch):
    name, value, test = FAULTS[fault]
    assert inspect.isfunction(getattr(calls, name))
    monkeypatch.setattr(calls, name, value)
    with pytest.raises((AssertionError, BaseExceptionGroup)):
        if test == "test_a_tensor_answers_as_what_numpy_has":
            test_a_tensor_answers_as_what_numpy_has(float, np.float64)
        else:
            globals()[test]()


# ---- The call sites in code objects are those of the syntax tree, in real source files ----


CALLED = {
    "float",
    "int",
    "max",
    "min",
    "sorted",
    "isinstance",
    "str",
    "len",
    "type",
    "tuple",
    "getattr",
}
FILES = [
    "argparse", "ast", "asyncio.base_events", "contextlib", "dataclasses", "csv",
    "enum", "fractions", "functools", "inspect", "numpy.lib._function_base_impl", "statistics",
    "tarfile", "textwrap", "turtle", "typing", "unittest.mock",
]  # fmt: skip


def names():
    aliases = {id(getattr(builtins, name)): f"_functier {name}" for name in CALLED}
    nothing = lambda *_: None  # noqa: E731
    return Names({}, lambda value: aliases.get(id(value)), nothing, nothing)


def place(instruction):
    return instruction.positions.lineno, instruction.positions.col_offset


def sites(code, prefix=""):
    """The places of the globals that are looked up by a name with this prefix."""
    return {
        (i.argval.removeprefix(prefix), *place(i))
        for inner in loads_in(code)
        for i in dis.get_instructions(inner)
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME") and i.argval.startswith(prefix)
    }


@pytest.mark.parametrize("name", FILES)
def test_calls_are_those_of_the_syntax_tree(name):
    spec = importlib.util.find_spec(name)
    if spec is None:
        pytest.skip(f"no {name}")
    text = spec.loader.get_source(name)
    code, tree = compile(text, name, "exec"), ast.parse(text)
    calls = {
        (n.func.id, n.func.lineno, n.func.col_offset)
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in CALLED
    }
    new = rewrite(code, names())
    found = sites(new, "_functier ")

    assert found == calls & sites(code)
    assert found


LISTED = "co_names", "co_code", "co_lnotab", "co_linetable"
"""Attributes with other bytes: the places of the instructions are compared one by one."""


def test_the_code_is_otherwise_the_same():
    code = np.polyfit.__wrapped__.__code__ if hasattr(np.polyfit, "__wrapped__") else None
    code = code or np.polyfit._implementation.__code__
    new = rewrite(code, names())

    assert new is not code and rewrite(new, names()) is new
    for name in dir(code):
        if name.startswith("co_") and name not in LISTED:
            if not callable(getattr(code, name)):
                assert getattr(new, name) == getattr(code, name), name
    assert list(new.co_positions()) == list(code.co_positions())
