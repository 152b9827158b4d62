"""Questions of Python about values of a trace: classes, texts and flags are as without one."""

import collections.abc
import functools
import numbers

import numpy as np
import pytest

import functier as ft
from functier._programs import questions
from nets.programs import difference
from support import raises

X = np.array([0.5, -1.0, 2.0])
GIVEN = [
    2.0, -0.0, float("nan"), 1j, np.float32(2.0), np.float64(2.0), np.array(2.0), X,
    X.astype("f4"), np.zeros((2, 0)),
]  # fmt: skip

dispatched = functools.singledispatch(lambda v: "another")
for kind in (float, complex, np.ndarray, np.floating):
    dispatched.register(kind)(lambda v, name=kind.__name__: name)

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
        assert compiled._traced in (1, 2) or name == "dispatch"


@pytest.mark.parametrize("name", [*CLASSES, *TEXTS])
def test_tensors_of_inner_levels_answer_as_without_a_trace(name):
    answer = {**CLASSES, **TEXTS}[name]

    def f(x):
        answers.append(answer(x))
        return np.sum(x * x)

    answers = []
    for x in (X, 2.0):
        ft.grad(f)(x)
        ft.compile(ft.grad(f))(x)
        assert answers[-1] == answers[-2]


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
        exec("ask = lambda x, kind: isinstance(x, kind)", space)
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
    monkeypatch.setattr(questions, "KINDS", ())
    raises(AssertionError, lambda: test_answers_are_those_of_the_plain_function("array", "numpy"))
