"""Traced functions with modules, modes, debuggers, executors and Python's functions in them."""

import copy
import math
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

import functier as ft
from faults.planted import programs as faulty
from functier import modes, nn
from functier import random as ftr
from strategies.outcomes import difference
from support.basics import raises
from support.compiling import check

X = np.array([0.5, -1.0, 2.0])
CALLS = (X,), (X + 1,), (X,)


# ---- modules ----


def net():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def loss(model, x):
    return np.sum(model(x) ** 2)


def test_modules_as_arguments():
    one, two = net(), net()

    check(loss, (one, X), (two, X + 1), programs=1)
    check(ft.grad(loss), (one, X), (two, X + 1), programs=1)
    check(ft.vmap(ft.grad(loss), (None, 0)), (one, np.outer(X, X)), programs=1)
    frozen = net().eval()
    check(loss, (one, X), (frozen, X), (two, X), programs=2)  # `training` is part of the structure


def test_a_module_as_the_function_has_its_arrays_as_arguments():
    model = net()
    compiled = check(model, *CALLS, programs=1)
    check(lambda x: ft.compile(model)(x), *CALLS)
    for change in (
        lambda: model[0].weight.__setitem__(..., 0.5),
        lambda: setattr(model[2], "bias", nn.Parameter(np.ones(1))),
        lambda: compiled(X),
    ):
        change()
        assert difference(compiled(X), model(X)) is None
    again = pickle.loads(pickle.dumps(compiled))
    assert difference(again(X), model(X)) is None
    model.train(False)
    assert difference(compiled(X), model(X)) is None


def test_the_parts_of_a_functional_call():
    model = net()
    given = dict(model.named_parameters())
    f = ft.grad(lambda p, x: np.sum(ft.functional_call(model, p, (x,))))

    check(f, (given, X), ({name: nn.Parameter(2 * p) for name, p in given.items()}, X), programs=1)


def test_hooks_of_modules():
    model = net()
    model[0].register_forward_hook(lambda module, args, out: 2 * out)

    check(model, *CALLS)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", np.zeros(3))
        self.calls = 0


class Counts(Counting):
    def forward(self, x):
        self.calls += 1
        return x


class Replaces(Counting):
    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x
        return x - self.mean


class Writes(Counting):
    def forward(self, x):
        self.mean[...] = 0.9 * self.mean + 0.1 * x
        return x - self.mean


@pytest.mark.parametrize("kind", [Counts, Replaces, Writes])
def test_modules_that_change_themselves_are_refused(kind):
    with pytest.raises(ft.MutationError, match="later calls of the program would not do"):
        ft.compile(kind())(X)


def test_containers_that_change_are_refused():
    def adds(d):
        d["b"] = d["a"] * 2
        return d["b"]

    for f in (adds, lambda d: d.pop("a"), lambda d: d.update(a=d["a"] * 2)):
        raises(ft.MutationError, lambda: ft.compile(f)({"a": X}), "change a copy")
    check(lambda d: ft.grad(lambda d: np.sum(adds(d)))(d), ({"a": X},))  # of a copy
    check(lambda d: adds(dict(d)), ({"a": X},))


def test_dropout_draws_anew():
    one, two = (nn.Dropout(0.5, generator=3) for _ in range(2))
    compiled = ft.compile(one)
    for _ in range(5):
        assert difference(compiled(X), two(X)) is None
    assert len(compiled.programs) == 1
    assert "draw" in compiled.programs[0].source
    with pytest.raises(TypeError, match="which a file of arrays cannot hold"):
        compiled.programs[0].save("unused.py")


# ---- Python's functions of numbers ----


def or_negative(ask):
    def f(x):
        try:
            return x * ask(x)
        except (ValueError, OverflowError):
            return -x

    return f


@pytest.mark.parametrize("ask", [int, round, lambda x: range(3)[int(x)], bool])
def test_answers_that_raise_are_answers(ask):
    values = math.nan, 1.2, math.inf, 2.5, 0.2

    check(or_negative(ask), *[(x,) for x in values])
    check(or_negative(ask), *[(np.float64(x),) for x in values])


def test_numbers_of_python_are_rounded_by_python():
    check(lambda x: (round(x, 2), round(x) * 1.5), (2.675,), (1.005,), (-0.5,))
    check(lambda x: (round(x[0]), round(x[0], 1), np.round(x)), (X,), (X + 0.26,))
    check(lambda x, y: (divmod(x, y), divmod(7, x)), (7.5, 2.0), (-1.0, 3.0))
    compiled = ft.compile(lambda x, y: divmod(x, y))
    compiled(1.0, 2.0)
    raises(ZeroDivisionError, lambda: compiled(1.0, 0.0))


# ---- modes and debuggers ----


class Twice(modes.TensorFunctionMode):
    def __tensor_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return 2 * out if func is np.sin else out


OBSERVERS = [
    Twice, modes.LoggingMode, modes.FlopCounterMode, ft.debug.debug_nans,
    ft.debug.detect_anomaly,
]  # fmt: skip


def sines(x):
    return np.sum(np.sin(x) * x)


@pytest.mark.parametrize("observer", OBSERVERS)
def test_a_compiled_function_is_called_as_it_is_where_somebody_observes(observer):
    for f in (sines, ft.grad(sines)):
        compiled, late = ft.compile(f), ft.compile(f)
        expected = compiled(X)
        with observer():
            seen = f(X)
            for g in (compiled, late):
                assert difference(g(X), seen) is None
        for g in (compiled, late):
            assert difference(g(X), expected) is None
    assert difference(seen, expected) is None or observer is Twice


@pytest.mark.parametrize("observer", OBSERVERS)
def test_what_observes_a_trace_is_refused(observer):
    def inside(x):
        with observer():
            return sines(x)

    def caught(x):
        try:
            return inside(x)
        except ft.LevelError:
            return x

    for f in (inside, caught, ft.grad(inside)):
        raises(ft.LevelError, lambda: ft.compile(f)(X), "a mode or a debugger is on")
    with observer(), pytest.raises(ft.LevelError, match="a mode or a debugger is on"):
        ft.trace(sines)(X)
    assert difference(ft.trace(sines)(X)(X), sines(X)) is None


def test_debug_nans_sees_a_compiled_function():
    compiled = ft.compile(ft.grad(lambda x: np.sum(x * np.log(x))))
    compiled(X + 2)

    with ft.debug.debug_nans(), pytest.raises(ft.NonFiniteError):
        compiled(X * 0)


def test_check_leaks_is_no_part_of_a_program():
    def f(x):
        with ft.debug.check_leaks():
            return ft.grad(sines)(x)

    check(f, *CALLS, programs=1)


# ---- levels that are switched off, users' classes, executors ----


class Louder(ft.Tensor):
    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        with ft.no_dispatch(cls):
            return 2 * func(*args, **(kwargs or {}))


def off(x):
    with ft.no_dispatch(type(x)) if isinstance(x, ft.Tensor) else nullcontext():
        return x * 2


def test_no_dispatch():
    check(ft.vmap(off), *CALLS)
    assert np.array_equal(ft.compile(off)(X), off(X))
    raises(ft.LevelError, lambda: ft.trace(off)(X), "return x from the function")


def test_users_classes():
    check(lambda x: x * float(np.sum(Louder([1.0, 2.0]))), *CALLS)
    check(lambda x: np.sum(Louder(np.ones(3))) * x, *CALLS)
    compiled = ft.compile(lambda x: np.sum(x) * 1.5)
    compiled(X)
    assert difference(compiled(Louder(X)), np.sum(Louder(X)) * 1.5) is None
    with pytest.raises(ft.LevelError, match="levels stay outermost"):
        ft.compile(lambda x: np.sum(Louder(x)))(X)


def test_chunks_and_executors():
    square = lambda x: x * x  # noqa: E731
    check(ft.vmap(square, chunk_size=2), *CALLS)
    check(ft.jacrev(np.sin, chunk_size=2), *CALLS)
    with ThreadPoolExecutor(2) as pool:
        f = ft.vmap(square, chunk_size=2, executor=pool)
        check(f, *CALLS)
        check(ft.grad(lambda x: np.sum(f(x))), *CALLS)
        check(lambda x: sum(pool.map(square, [x, x + 1])), *CALLS)


BRANCHES = {
    "while_loop of a batch": ft.vmap(lambda x: ft.while_loop(lambda c: c < 5, lambda c: c + 1, x)),
    "scan of a batch": ft.vmap(lambda x: ft.scan(lambda c, v: (c + v, c * v), x, X)),
    "cond of a batch": ft.grad(
        lambda x: np.sum(ft.vmap(lambda v: ft.cond(v > 1, np.sin, lambda y: y * 3, v))(x))
    ),
    "switch": lambda x: ft.switch(np.argmax(x), [np.sin, np.cos, np.tanh], x),
    "checkpoint twice": ft.hessian(lambda x: np.sum(ft.checkpoint(sines)(x) ** 2)),
    "checkpoint in scan": ft.grad(
        lambda x: np.sum(ft.scan(ft.checkpoint(lambda c, v: (np.sin(c * v), c)), 1.0, x)[1])
    ),
    "associative_scan": lambda x: ft.associative_scan(np.add, x),
    "linear_transpose": lambda x: ft.linear_transpose(lambda y: 3 * y, X)(x),
    "psum": ft.vmap(lambda x: x * ft.psum(x, "i"), axis_name="i"),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_control_flow(name):
    check(BRANCHES[name], *CALLS, (X[::-1].copy(),))


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_draws_of_a_batch(randomness):
    one, two = ftr.default_rng(1), ftr.default_rng(1)
    f, g = [ft.vmap(lambda x, r=r: x * r.normal(), randomness=randomness) for r in (one, two)]
    compiled = ft.compile(f)

    for n in range(3):
        assert difference(compiled(X + n), g(X + n)) is None


# ---- messages ----


def relu(x):
    return x if x > 0 else 0.0 * x


def taken(x):
    keep = x > 0
    return np.sum(x[keep])


def repeated(x):
    return np.repeat(x, x.astype(int) + 1)


@pytest.mark.parametrize(
    ("f", "first", "later", "text"),
    [
        (relu, 2.0, -1.0, "bool(t1), in line"),
        (taken, X, -X, "keep, which sets the shape of x[...], in line"),
        (repeated, X + 1, X + 2, "t2, which sets the shape of numpy.repeat(...), in line"),
        (lambda x: x * int(x), 2.5, 3.5, "int(x), in line"),
        (lambda x: ft.cond(x > 1, np.sin, np.cos, x), 2.0, 0.0, "a choice or a loop has asked"),
    ],
)
def test_messages_name_what_was_written(f, first, later, text):
    program = ft.trace(f)(first)

    raises(ValueError, lambda: program(later), text)
    assert re.search(
        r"raise ValueError\(.* differs from the trace, in line \d+ of ", program.source
    )
    compiled = ft.compile(f)
    for x in (first, later, first):
        assert difference(compiled(x), f(x)) is None  # as the message says
    assert text in compiled.explain()


def test_the_warning_names_the_answer_that_changes():
    compiled = ft.compile(lambda x: x * (1 if x > -1 else 2) * int(x))

    with pytest.warns(RuntimeWarning, match=r"a different answer each time, int\(x\), in line \d+"):
        for n in range(20):
            compiled(float(n))


def test_a_loop_of_a_batch_depends_on_its_predicate_alone():
    loop = ft.vmap(lambda x: ft.while_loop(lambda c: c < 5, lambda c: c + 1, x))

    check(loop, (X,), (X + 0.25,), (X + 0.125,), programs=1)


# ---- planted faults ----


def test_a_change_that_is_not_looked_for_is_found(monkeypatch):
    faulty.change_that_is_not_looked_for(monkeypatch)

    raises(pytest.fail.Exception, test_containers_that_change_are_refused)
    raises(pytest.fail.Exception, lambda: test_modules_that_change_themselves_are_refused(Counts))


def test_a_mode_that_is_not_looked_for_is_found(monkeypatch):
    faulty.mode_that_is_not_looked_for(monkeypatch)

    with pytest.raises(AssertionError):
        test_a_compiled_function_is_called_as_it_is_where_somebody_observes(Twice)


def test_an_array_of_a_container_that_is_written_to_stays_in_it():
    """A write inside an inner level turns the tensor into an array, which is the same object."""

    def write(given, t):
        x = given["x"]
        view = x[1:]
        view += x[:1] * 2
        return t * np.sum(x)

    def f(given):
        return ft.jvp(lambda t: write(given, t), (3.0,), (1.0,))[1]

    given = {"x": np.array([1.0, 2.0, 3.0]), "more": {"y": np.ones(2)}}
    for _ in range(2):  # also as a function that has written before
        assert ft.trace(f)(copy.deepcopy(given))(copy.deepcopy(given)) == 10.0


def test_a_size_that_code_reads_is_that_of_the_trace(monkeypatch):
    def sized(a):
        return a * np.extract(a > 0.5, a).size

    few, many = np.array([0.1, 0.2, 0.9]), np.array([0.1, 0.8, 0.9])
    raises(ValueError, lambda: ft.trace(sized)(few)(many), "np.size(", " of sized, differs")
    faulty.size_that_code_reads_is_that_of_the_trace(monkeypatch)
    assert not np.array_equal(ft.trace(sized)(few)(many), sized(many))
