"""Questions of Python about values of a trace: classes, texts and flags are as without one;
tensors that get out of a trace.
"""

import collections.abc
import copy
import fractions
import functools
import numbers
import os
import pickle
import sys
import threading
import warnings

import numpy as np
import pytest

import functier as ft
from faults.planted import programs as faulty
from strategies.outcomes import difference
from support.basics import HANG, raises
from support.compiling import check

X = np.array([0.5, -1.0, 2.0])
GIVEN = [
    2.0, -0.0, float("nan"), 1j, np.float32(2.0), np.float64(2.0), np.array(2.0), X,
    X.astype("f4"), np.zeros((2, 0)),
]  # fmt: skip

dispatched = functools.singledispatch(lambda v: "another")
for kind in (float, complex, np.ndarray, np.floating):
    dispatched.register(kind)(lambda v, name=kind.__name__: name)


def dispatched_inside(x):
    kind_of = functools.singledispatch(lambda v: "another")
    for kind in (float, np.ndarray):
        kind_of.register(kind)(lambda v, name=kind.__name__: name)
    return kind_of(x)


class Kinds:
    @functools.singledispatchmethod
    def of(self, v):
        return "another"

    @of.register
    def _(self, v: float):
        return "float"


CLASSES = {
    "array": lambda x: isinstance(x, np.ndarray),
    "float": lambda x: isinstance(x, float),
    "one of several": lambda x: isinstance(x, (int, float, np.ndarray)),
    "number of NumPy": lambda x: isinstance(x, np.generic),
    "real number": lambda x: isinstance(x, numbers.Real),
    "sum": lambda x: isinstance(np.sum(x), float),
    "product": lambda x: isinstance(x * x, np.ndarray),
    "tensor": lambda x: isinstance(x * 1, (list, tuple, str, dict)),
    "attribute": lambda x: x.__class__.__name__,
    "dispatch": dispatched,
    "dispatch inside": dispatched_inside,
    "dispatch of a method": lambda x: Kinds().of(x),
    "scalar": np.isscalar,
    "iterable": lambda x: isinstance(x, collections.abc.Hashable) and 0,
}  # fmt: skip
TEXTS = {
    "str": str,
    "repr": repr,
    "f-string": lambda x: f"{x}",
    "in a list": lambda x: str([x]),
    "of a part": lambda x: f"{np.sum(x):.3f}|{np.sum(x)!r}",
    "percent": lambda x: "%.2f|%s" % (np.sum(x.real), x),  # noqa: UP031
    "join": lambda x: "".join(["a", str(x)]),
}


@pytest.mark.parametrize("name", [*CLASSES, *TEXTS])
@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_answers_are_those_of_the_plain_function(name, backend):
    answer = {**CLASSES, **TEXTS}[name]

    def f(x):
        return x * 2, answer(x)

    for first, second in zip(GIVEN, [*GIVEN[1:], X + 1]):
        compiled = ft.compile(f, backend=backend)
        for x in (first, first, second, first):
            found, wanted = compiled(x), f(x)
            assert found[1] == wanted[1], x
            assert difference(found[0], wanted[0]) is None
        assert compiled._traced in (1, 2) or "dispatch" in name


@pytest.mark.parametrize("name", [*CLASSES, *TEXTS])
def test_tensors_of_inner_levels_answer_as_without_a_trace(name):
    answer = {**CLASSES, **TEXTS}[name]

    def f(x):
        return np.sum(x * x) * len(str(answer(x)))

    for x in (X, 2.0):
        assert np.array_equal(ft.compile(ft.grad(f))(x), ft.grad(f)(x))


def test_a_text_is_a_guard():
    compiled = ft.compile(lambda x: x * len(str(x)), backend="numpy")
    for x in (2.0, 2.0, 2.25, 2.0):
        assert compiled(x) == x * len(str(x))
    assert compiled._traced == 2
    assert "str(x), in line" in compiled.explain()
    program = ft.trace(lambda x: x * (2 if f"{x:.1f}" == "2.0" else 3))(2.0)
    assert program(2.01) == 4.02
    raises(ValueError, lambda: program(3.0), "format(x, '.1f')")


def test_libraries_see_the_class_of_the_level():
    seen = {}
    for name in ("functier.user", "numpy", "scipy.linalg", "users"):
        space = {"__name__": name}
        file = f"{os.sep}site-packages{os.sep}{name}.py"  # which decides for other levels
        exec(compile("ask = lambda x, kind: isinstance(x, kind)", file, "exec"), space)
        ft.compile(lambda x, ask=space["ask"]: x * ask(x, np.ndarray))(X)
        seen[name] = ft.compile(lambda x, ask=space["ask"]: x * ask(x, np.ndarray))(X)[0] != 0
    assert [*seen.values()] == [False, False, False, True]


def test_a_tensor_that_has_escaped_describes_itself():
    kept = []
    ft.trace(lambda x: kept.append(x) or x * 2)(X)
    assert "which has ended" in str(kept[0])
    assert not isinstance(kept[0], np.ndarray)


def test_flags_of_arguments():
    def f(x):
        return x * (2.0 if x[1:].flags.writeable else 3.0), np.sum(x).flags.writeable

    compiled = ft.compile(f, backend="numpy")
    x = X.copy()
    for writeable in (True, False, True):
        x.flags.writeable = writeable
        assert np.array_equal(compiled(x)[0], f(x)[0])
    assert compiled._traced == 2
    for sets in (lambda x: x.setflags(write=False), lambda x: setattr(x.flags, "writeable", False)):
        raises(ft.UnsupportedError, lambda: ft.compile(sets)(X))
        ft.grad(lambda x, sets=sets: sets(x) or np.sum(x))(X)


def test_code_that_answers_no_questions_is_found(monkeypatch):
    faulty.code_that_answers_no_questions(monkeypatch)
    raises(AssertionError, lambda: test_answers_are_those_of_the_plain_function("array", "numpy"))


# ---- Recorded tensors that get out of a trace, and traces that get into each other's way ----


def loss(x):
    return np.sum(np.sin(x) * x)


@pytest.fixture(autouse=True)
def state():
    """Nothing stays switched on."""
    before = sys.getprofile()
    yield
    assert sys.getprofile() is before


# ---- a tensor of a trace that has ended ----


def escaped():
    """A tensor of a trace that has ended."""
    kept = []
    ft.trace(lambda x: (kept.append(x * 2), x)[1])(X)
    return kept[0]


USES = {
    "operator": lambda x: x + 1,
    "ufunc": np.sin,
    "function": np.sum,
    "index": lambda x: x[0],
    "bool": lambda x: bool(x[0] > 0),
    "in the next trace": lambda x: ft.trace(lambda y: x + y)(X),
    "in grad": lambda x: ft.grad(lambda y: np.sum(x * y))(X),
    "as an argument": ft.compile(loss),
    "as an argument of trace": lambda x: ft.trace(loss)(x),
    "as an argument of a program": lambda x: ft.trace(loss)(X)(x),
    "pickle": pickle.dumps,
    "copy": copy.deepcopy,
    "asarray": np.asarray,
}


@pytest.mark.parametrize("name", USES)
def test_an_escaped_tensor_is_refused(name):
    with pytest.raises((ft.LevelError, TypeError), match=r"return it from the function|trace the"):
        USES[name](escaped())


def test_a_thread_that_lives_longer_than_the_trace():
    found, go = [], threading.Event()

    def f(x):
        def work():
            go.wait(HANG)
            try:
                found.append(x + 1)
            except ft.LevelError as error:
                found.append(error)

        found.append(threading.Thread(target=work))
        found[0].start()
        return x * 2

    ft.trace(f)(X)
    go.set()
    found[0].join()

    assert isinstance(found[1], ft.EscapedTensorError)


def test_a_thread_inside_the_trace():
    def f(x):
        found = []
        thread = threading.Thread(target=lambda: found.append(np.sin(x) * 3))
        thread.start()
        thread.join()
        return found[0] * x

    check(f, (X,), (X + 1,), programs=0)  # what it reads there is not seen


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Held(Slotted):
    pass


def coroutine(x):
    async def run():
        return x * 2

    with warnings.catch_warnings(action="ignore"):
        return run()


OBJECTS = {
    "generator": lambda x: (x * i for i in range(3)),
    "coroutine": coroutine,
    "closure": lambda x: lambda y: x * y,
    "pullback": lambda x: ft.vjp(np.sin, x),
    "partial": lambda x: functools.partial(np.add, x),
    "method": lambda x: Slotted(x).__init__,
    "object": lambda x: [Held(x)],
    "slots": lambda x: (x, Slotted(x)),
    "iterator": lambda x: iter([x]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OBJECTS)
def test_results_with_values_inside_are_refused(name):
    for call in (ft.compile(OBJECTS[name]), ft.trace(OBJECTS[name])):
        raises(ft.LevelError, lambda: call(X), "whose values would be those of the trace")


def test_plain_results_are_part_of_the_program():
    compiled = ft.compile(lambda x: (x * 2, "a", None, np.float64, fractions.Fraction, np.sin))

    for _ in range(2):
        assert compiled(X)[1:] == ("a", None, np.float64, fractions.Fraction, np.sin)


# ---- traces inside transforms, and inside each other ----


@pytest.mark.parametrize("transform", [ft.grad, ft.vmap, ft.trace, ft.hessian])
@pytest.mark.parametrize("inner", ["arrays", "a closure", "the tensor"])
def test_a_trace_is_outermost(transform, inner):
    def f(x):
        def g(y):
            return np.sum(x * y) if inner == "a closure" else np.sum(y)

        return ft.trace(g)(x if inner == "the tensor" else X)(X) * np.sum(x)

    where = "an argument is a tensor of" if inner == "the tensor" else "the call is inside"
    with pytest.raises(ft.LevelError, match=f"{where} .*, and a trace must be outermost"):
        transform(f)(X)


def test_a_trace_in_a_block_of_a_level():
    with ft.vmap():
        with pytest.raises(ft.LevelError, match="a trace must be outermost"):
            ft.trace(loss)(X)
        assert ft.compile(loss)(X) == loss(X)  # as the message says


def test_a_compiled_function_closes_over_tensors_of_other_levels():
    def f(x):
        return np.sum(ft.compile(lambda y: x * np.sin(y))(X))

    assert np.array_equal(ft.grad(f)(X), np.sin(X))
    check(f, (X,), (X + 1,), programs=1)


# ---- errors, recursion and forks ----


def test_recursion_without_an_end():
    def f(x):
        return f(x * 2)

    for call in (ft.compile(f), ft.trace(ft.grad(f)), ft.compile(ft.vmap(f))):
        with pytest.raises(RecursionError):
            call(X)
    assert ft.compile(loss)(X) == loss(X)


def test_an_interrupt():
    def f(x):
        np.sin(x)
        raise KeyboardInterrupt

    for call in (ft.compile(f), ft.trace(ft.grad(f))):
        with pytest.raises(KeyboardInterrupt):
            call(X)


# ---- planted faults ----


def test_a_result_that_is_not_looked_at_is_found(monkeypatch):
    faulty.result_that_is_not_looked_at(monkeypatch)

    raises(pytest.fail.Exception, lambda: test_results_with_values_inside_are_refused("object"))
