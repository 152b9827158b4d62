"""Modes: what they see, in which order, where they are off, and the three that are shipped."""

import asyncio
import contextlib
import io
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import functier as ft
import functier.numpy as fnp
from functier import modes, overrides
from functier._core import blocks as _observers
from functier.modes import _asking as _asking
from support.basics import close, equal, in_thread, raises, recorder
from support.programs import TRANSFORMS, apply, programs, starts

pytestmark = pytest.mark.inside("Modes leave nothing behind in the state.")

A = np.array([[1.0, 2.0], [3.0, 4.0]])


class Log(modes.TensorFunctionMode):
    """Notes what it sees, under a name, and computes it."""

    def __init__(self, name="", log=None):
        self.name, self.seen = name, [] if log is None else log

    def __tensor_function__(self, func, types, args=(), kwargs=None):
        self.seen.append((self.name, func) if self.name else func)
        return func(*args, **(kwargs or {}))


class Operations(modes.TensorDispatchMode):
    """Notes the operations that are computed, with the shapes of their operands."""

    def __init__(self):
        self.seen = []

    def __tensor_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append((func, tuple(np.shape(a) for a in args if hasattr(a, "shape"))))
        return func(*args, **(kwargs or {}))


def nothing_is_left():
    assert not _observers.CALLS and not _observers.OPERATIONS
    assert not any("mode" in f.__module__ for f in _observers.LEVELS)
    assert _asking.STATE.get() == _asking.State()


@pytest.fixture(autouse=True)
def clean():
    nothing_is_left()
    yield
    nothing_is_left()


# ---- what modes see ----

USES = {
    "function": (lambda x: np.sum(x), np.sum),
    "ufunc": (lambda x: np.sin(x), np.sin),
    "reflected ufunc": (lambda x: np.add(A, x), np.add),
    "reduce": (lambda x: np.add.reduce(x), np.add.reduce),
    "sequence": (lambda x: np.concatenate([x, x]), np.concatenate),
    "method": (lambda x: x.sum(), ft.Tensor.sum),
    "reshape": (lambda x: x.reshape(-1), ft.Tensor.reshape),
    "add": (lambda x: x + 1, ft.Tensor.__add__),
    "radd": (lambda x: 1 - x, ft.Tensor.__rsub__),
    "array_add": (lambda x: A + x, np.add),
    "neg": (lambda x: -x, ft.Tensor.__neg__),
    "matmul": (lambda x: x @ A, ft.Tensor.__matmul__),
    "getitem": (lambda x: x[0], ft.Tensor.__getitem__),
    "property": (lambda x: x.T, ft.Tensor.T.__get__),
    "sort": (lambda x: x.copy().sort(), ft.Tensor.copy),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", ["plain", "subclass", "vmap", "grad", "jvp", "two"])
def test_a_mode_sees_every_call_on_tensors_of_any_class_and_level(use, kind):
    """F14, F16: what was written, and the result is what it is without a mode"""
    call, func = USES[use]
    enter = {"vmap": ft.vmap, "grad": ft.grad, "jvp": ft.jvp}
    if kind in enter:
        with enter[kind]() as level:
            x = level(A, A) if kind == "jvp" else level(np.stack([A] * 3) if kind == "vmap" else A)
            check(call, func, x)
    elif kind == "two":
        with ft.vmap() as B, ft.grad() as G:
            check(call, func, G(B(np.stack([A] * 3))))
    else:
        check(call, func, (ft.Tensor if kind == "plain" else recorder())(A.copy()))


def check(call, func, x):
    expected = call(x)
    with Log() as mode:
        out = call(x)
    assert mode.seen[0] == func
    assert type(out) is type(expected)
    values = [v.elem() if isinstance(v, ft.Tensor) else v for v in (out, expected)]
    while isinstance(values[0], ft.Tensor):
        values = [v.elem() for v in values]
    if out is not None:
        equal(*values)


@pytest.mark.parametrize("cls", [ft.Tensor, recorder()])
def test_a_mode_runs_before_hooks_and_sees_each_call_once(cls):
    """F16: functions, methods, operators, items and properties."""
    x = cls(A)
    with Log() as mode:
        np.sum(x), x.sum(), x + 1, x[0], x.T, np.var(x)
    assert mode.seen[:4] == [np.sum, ft.Tensor.sum, ft.Tensor.__add__, ft.Tensor.__getitem__]
    assert mode.seen[4:] == [ft.Tensor.T.__get__, np.var]


def test_a_mode_can_change_the_call_the_arguments_and_the_result():
    class Swap(modes.TensorFunctionMode):
        def __tensor_function__(self, func, types, args=(), kwargs=None):
            if func is np.sin:
                return np.cos(*args)
            return "answer" if func is np.mean else NotImplemented

    f = ft.vmap(lambda x: np.sin(x) * 2)
    with Swap():
        equal(f(A), np.cos(A) * 2)
        assert np.mean(ft.tensor(A)) == "answer"
    equal(f(A), np.sin(A) * 2)


def test_a_mode_sees_levels_that_were_entered_before_it():
    def f(x):
        with Log() as mode:
            y = np.sin(x) + 1
        seen.extend(mode.seen)
        return y * 2

    seen = []
    equal(ft.vmap(ft.vmap(f))(A), (np.sin(A) + 1) * 2)
    assert seen == [np.sin, ft.Tensor.__add__]
    equal(ft.grad(lambda x: f(x))(0.5), np.cos(0.5) * 2)


def test_contiguous_levels_stay_one_wrapper_under_a_mode():
    with Operations() as mode:
        out = ft.vmap(lambda x: ft.vmap(lambda y: x + y)(np.ones((15, 2))))(np.ones((10, 2)))
    assert out.shape == (10, 15, 2)
    assert [call for call in mode.seen if call[0] is np.add] == [(np.add, ((10, 1, 2), (1, 15, 2)))]


def test_a_mode_sees_functions_of_other_libraries():
    @overrides.tensor_function_dispatch(lambda x: (x,))
    def double(x):
        return x + x

    with Log() as mode:
        equal(double(A), A + A)
        assert type(double(ft.tensor(A))) is ft.Tensor
        equal(ft.vmap(double)(A), A + A)
    assert mode.seen == [double] * 3
    assert not overrides.has_tensor_function([A])
    with mode:
        assert overrides.has_tensor_function([A])


# ---- order, switching off and on ----


def test_the_innermost_mode_is_asked_first():
    """F16: it hands the call on to the outer one."""
    log = []
    with Log("outer", log), Log("inner", log):
        ft.vmap(np.sin)(A)
        np.cos(ft.tensor(A))
    assert log == [
        ("inner", np.sin), ("outer", np.sin), ("inner", np.cos), ("outer", np.cos)
    ]  # fmt: skip


def test_a_mode_is_off_in_its_own_handler_and_on_again_by_with_self():
    """F16: it does not see what its handler calls outside of such a block."""

    class Again(modes.TensorFunctionMode):
        seen: list = []  # noqa: RUF012

        def __tensor_function__(self, func, types, args=(), kwargs=None):
            self.seen.append(func)
            if func is np.sin:
                np.cos(*args)  # unseen
                with self:
                    np.tan(*args)
                np.exp(*args)  # unseen
            return func(*args, **(kwargs or {}))

    mode = Again()
    with mode:
        ft.vmap(np.sin)(A)
        np.sqrt(ft.tensor(A))
    assert mode.seen == [np.sin, np.tan, np.sqrt]


@pytest.mark.parametrize("use", [np.sin, lambda x: x + 1, lambda x: ft.vmap(np.sin)(A)])
def test_a_mode_that_comes_back_to_itself_without_end_is_named(use):
    """A43, B31: the error says which mode it is, and how it came back."""

    class Endless(modes.TensorFunctionMode):
        def __tensor_function__(self, func, types, args=(), kwargs=None):
            with self:
                return func(*args, **(kwargs or {}))

    with pytest.raises(overrides.HookRecursionError) as error, Endless():
        use(ft.tensor(A))
    assert "Endless.__tensor_function__ switches itself on again and calls" in str(error.value)


def test_a_mode_can_be_entered_again():
    log = []
    mode = Log("m", log)
    with mode, mode:
        np.sin(ft.tensor(A))
    with mode:
        np.sin(ft.tensor(A))
    assert len(log) == 3


def test_not_implemented_leaves_a_call_to_the_next_mode_and_then_to_the_hooks():
    """F16: each is asked in turn."""
    Recorder = recorder()
    log = []
    with Log("outer", log), modes.TensorFunctionMode(), modes.TensorDispatchMode():
        equal((Recorder(A) + 1).elem(), A + 1)
        with modes.TensorFunctionMode():
            equal(ft.vmap(np.sin)(A), np.sin(A))
    assert log == [("outer", ft.Tensor.__add__), ("outer", np.sin)]
    assert Recorder.functions == [ft.Tensor.__add__]


def test_exceptions_pass_and_restore():
    class Breaks(modes.TensorFunctionMode):
        def __tensor_function__(self, func, types, args=(), kwargs=None):
            raise error

    error = KeyError("mine")
    log = []
    with Log("outer", log):
        with pytest.raises(KeyError) as caught, Breaks():
            ft.vmap(np.sin)(A)
        assert caught.value is error
        np.sin(ft.tensor(A))
    assert log == [("outer", np.sin)]


def test_a_mode_holds_in_its_own_context_alone():
    log = []
    with ft.vmap() as B:
        x = B(A)
        with Log("here", log):
            in_thread(lambda: (np.sin(ft.tensor(A)), x + 1, ft.grad(np.sum)(A)))
            assert log == []
            in_thread(lambda: log.append(Log("there").__enter__() and None))
            x + 1
        ((_, undo),) = _asking.BY_HAND  # the mode that the thread has taken with it
        _asking.BY_HAND.clear()
        undo()
    assert log == [None, ("here", ft.Tensor.__add__)]


def test_a_mode_holds_in_its_own_task_alone():
    async def worker(mode, turns):
        with mode:
            for _ in range(turns):
                await asyncio.sleep(0)
                equal(ft.vmap(np.sin)(A), np.sin(A))

    async def main():
        await asyncio.gather(worker(first, 3), worker(second, 2))

    first, second = Log(), Log()
    asyncio.run(main())
    assert (first.seen, second.seen) == ([np.sin] * 3, [np.sin] * 2)


def test_one_mode_in_two_threads():
    mode = Log()

    def run():
        with mode:
            return ft.vmap(np.sin)(A)

    with mode:
        equal(in_thread(run), np.sin(A))
        np.cos(ft.tensor(A))
    assert mode.seen == [np.sin, np.cos]


def test_levels_forget_a_mode():
    with ft.vmap() as B, ft.grad() as G:
        kinds = [type(B.level), type(G.level)]
        with Log(), Log():
            assert all(issubclass(type(c.level), _asking.ModeLevel) for c in (B, G))
        assert [type(B.level), type(G.level)] == kinds
    with Log():
        ft.vmap(np.sin)(A)
    assert type(ft.vmap(lambda x: (kinds.append(type(type(x).level)), x)[1])(A)) is np.ndarray
    assert kinds[-1] is kinds[0]


@pytest.mark.parametrize("first", ["mode", "debug"])
def test_a_mode_together_with_debugging(first):
    both = [Log(), ft.debug.debug_nans()]
    with both[first == "debug"], both[first == "mode"]:
        equal(ft.vmap(np.sin)(A), np.sin(A))
        raises(ft.NonFiniteError, lambda: ft.vmap(np.log)(A - 1))
    assert both[0].seen == [np.sin, np.log]


def test_python_mode_and_no_dispatch_together():
    """B31: what keeps a mode that computes with its own tensors from recursing"""

    class Doubled(ft.Tensor):
        pass

    class Doubling(modes.TensorFunctionMode):
        def __tensor_function__(self, func, types, args=(), kwargs=None):
            with self, ft.no_dispatch(Doubled):
                return Doubled(2 * func(*args, **(kwargs or {})))

    x = Doubled(A)
    with Doubling():
        out = np.add(x, 1.0)
    assert type(out) is Doubled
    equal(out.elem(), 2 * (A + 1))


# ---- calls without tensors ----


def test_creation_functions_are_seen_through_the_namespace():
    """F14, F15: functions without tensor inputs"""
    with Log() as mode:
        equal(fnp.zeros(3), np.zeros(3))
        equal(fnp.arange(2, 5), np.arange(2, 5))
        equal(fnp.linalg.inv(A), np.linalg.inv(A))
        equal(fnp.fft.fft(A), np.fft.fft(A))
        fnp.random.seed(0)
        fnp.random.normal(size=2)
    assert mode.seen == [
        np.zeros, np.arange, np.linalg.inv, np.fft.fft, np.random.seed, np.random.normal
    ]  # fmt: skip
    assert fnp.add is np.add  # which has methods, and sees modes where it gets a tensor


def test_draws_of_a_generator_are_seen_through_the_namespace():
    """F14: a mode sees what is drawn."""
    with Log() as mode:
        rng = fnp.random.default_rng(0)
        draws = rng.normal(size=3), rng.integers(5)
    assert isinstance(rng, np.random.Generator)
    expected = np.random.default_rng(0)
    equal(draws[0], expected.normal(size=3))
    equal(draws[1], expected.integers(5))
    assert mode.seen == [
        ft.random.Generator.normal, ft.random.Generator.integers
    ]  # fmt: skip
    assert fnp.random.default_rng(rng) is rng
    assert fnp.random.default_rng(own := ft.random.default_rng(0)) is own
    with Log() as mode:
        out = ft.vmap(lambda x: x + rng.normal(size=2), randomness="different")(np.zeros((3, 2)))
    assert mode.seen == [ft.random.Generator.normal, ft.Tensor.__add__]
    assert len({*out.ravel()}) == 6


def test_the_namespace_is_numpys():
    assert fnp.float64 is np.float64 and fnp.ndarray == np.ndarray and fnp.pi == np.pi
    assert fnp.sum.__name__ == "sum" and fnp.sum.__doc__ == np.sum.__doc__
    assert fnp.linalg.LinAlgError is np.linalg.LinAlgError and fnp.linalg.inv is fnp.linalg.inv
    assert set(dir(np)) <= set(dir(fnp)) and "inv" in dir(fnp.linalg)
    assert fnp.newaxis is None and fnp.s_ is np.s_
    with pytest.raises(AttributeError, match="no attribute 'summ'"):
        fnp.summ  # noqa: B018
    equal(ft.grad(lambda x: fnp.sum(fnp.sin(x)))(A), np.cos(A))
    equal(fnp.random.default_rng(3).random(2), np.random.default_rng(3).random(2))
    for func in (fnp.sum, fnp.add, fnp.linalg.inv, fnp.random.default_rng, fnp.Generator.normal):
        assert pickle.loads(pickle.dumps(func)) is func
    rng = pickle.loads(pickle.dumps(fnp.random.default_rng(0)))
    assert type(rng) is fnp.Generator and rng.normal() == np.random.default_rng(0).normal()
    for name in np.__all__:
        assert hasattr(fnp, name) or not hasattr(np, name)


def test_a_mode_can_answer_creation():
    """F14, B28: what is made in a function belongs to the class that the mode says"""

    class Made(ft.Tensor):
        pass

    class Owning(modes.TensorFunctionMode):
        def __tensor_function__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return Made(out) if isinstance(out, np.ndarray) and not types else out

    with Owning():
        x = fnp.ones(3) + 1
    assert type(x) is Made
    equal(x.elem(), np.full(3, 2.0))


# ---- modes for operations ----


def test_operations_are_seen_after_the_levels_have_acted():
    with Operations() as mode:
        out = ft.vmap(ft.grad(lambda x: np.sum(np.sin(x))))(np.ones((4, 3)))
    assert type(out) is np.ndarray
    close(out, np.cos(np.ones((4, 3))))
    assert mode.seen[:2] == [(np.sin, ((4, 3),)), (np.sum, ((4, 3),))]
    assert (np.cos, ((4, 3),)) in mode.seen


@pytest.mark.parametrize("run", [
    lambda x: ft.grad(lambda x: np.sum(np.sin(x) @ x))(x),
    lambda x: ft.value_and_grad(lambda x: np.sum(np.exp(x)))(x),
    lambda x: ft.vmap(lambda r: np.linalg.norm(r) + r.mean())(x),
    lambda x: ft.jvp(np.tanh, (x,), (x,)), lambda x: ft.jacfwd(np.tanh)(x),
    lambda x: ft.hessian(lambda x: np.sum(x**3))(x), lambda x: ft.jacrev(np.cumsum)(x),
    lambda x: ft.vmap(ft.vmap(np.sin), 1, 1)(x), lambda x: ft.vmap(lambda r: r)(x),
    lambda x: ft.grad(lambda x: np.sum(x))(x), lambda x: np.var(ft.tensor(x)).elem(),
])  # fmt: skip
@pytest.mark.parametrize("cls", [Operations, Log, modes.LoggingMode])
def test_results_are_the_same_under_a_mode(run, cls):
    x = A.copy()
    expected = run(x)
    with cls():
        out = run(x)
    for a, e in zip(*[v if isinstance(v, tuple) else (v,) for v in (out, expected)]):
        equal(a, e)
        if cls is not Operations:
            continue
        assert np.shares_memory(a, x) == np.shares_memory(e, x)
    equal(x, A)


NESTINGS = st.lists(st.sampled_from(TRANSFORMS), min_size=1, max_size=4)


def agrees(modes_on, nesting, program, start):
    """Check that a random program has the same result under modes."""
    expected = apply(nesting, program, [start])
    with contextlib.ExitStack() as stack:
        for mode in modes_on:
            stack.enter_context(mode)
        out = apply(nesting, program, [start])
    assert np.shape(out) == np.shape(expected)
    return np.allclose(out, expected, rtol=1e-12, atol=1e-12 * np.max(np.abs(expected), initial=1))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(nesting=NESTINGS, program=programs, start=starts)
def test_random_programs_have_the_same_results_under_modes(nesting, program, start):
    assert agrees([Log(), Operations()], nesting, program, start)
    assert agrees([modes.LoggingMode(), modes.FlopCounterMode()], nesting, program, start)


def test_a_mode_that_computes_something_else_is_found():
    class Wrong(modes.TensorDispatchMode):
        def __tensor_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {})) * (1.001 if func is np.tanh else 1)

    start = np.array([0.3, -0.8])
    for nesting in (["vmap"], ["vmap", "grad"]):
        assert not agrees([Wrong()], nesting, [("tanh", 0, 0)], start)


def test_gradients_are_plain_arrays_of_their_own():
    x = A.copy()
    with Operations():
        g = ft.grad(lambda x: np.sum(x * x))(x)
        h = ft.grad(lambda x, y: np.sum(x), argnums=(0, 1))(x, x)
    assert type(g) is np.ndarray and type(h[0]) is type(h[1]) is np.ndarray
    g[...] = 0.0
    h[0][...] = 7.0
    equal(x, A)


def test_composite_functions_come_in_their_parts():
    for x in (ft.tensor(A), recorder()(A)):
        with Operations() as mode:
            np.var(x)
        functions = [f for f, _ in mode.seen]
        assert np.var not in functions and np.multiply in functions


def test_an_operation_on_a_users_tensor_comes_before_its_lower_hook():
    """F16: the mode for operations is asked first."""
    Recorder = recorder()
    x = Recorder(A)
    with Operations() as mode:
        out = np.sin(x) + 1
        ft.vmap(np.cos)(x)
    assert type(out) is Recorder
    assert [f for f, _ in mode.seen] == [np.sin, np.add, np.cos]
    assert Recorder.functions == [np.sin, ft.Tensor.__add__, np.cos]
    assert [f for f, _ in Recorder.operations] == [np.sin, np.add, np.cos]


def test_plain_arrays_of_the_namespace_are_seen():
    with Operations() as mode:
        x = fnp.ones((2, 2)) @ A
        fnp.var(A)
    assert isinstance(x, np.ndarray)
    functions = [f for f, _ in mode.seen]
    assert functions[:2] == [np.ones, np.matmul]
    assert np.multiply in functions and np.var not in functions
    y = x + 1  # the mode is off
    assert type(y) is np.ndarray


def test_an_operation_can_be_changed_below_a_transform():
    class Single(modes.TensorDispatchMode):
        """Computes products in single precision."""

        def __tensor_dispatch__(self, func, types, args=(), kwargs=None):
            if func in (np.matmul, np.dot):
                return func(*[a.astype("f") for a in args]).astype("d")
            return NotImplemented

    f = ft.vmap(lambda x, w: x @ w, (0, None))
    x, w = np.random.default_rng(0).normal(size=(2, 3, 3))
    with Single():
        out = f(x, w)
    equal(out, (x.astype("f") @ w.astype("f")).astype("d"))
    assert not np.array_equal(out, f(x, w))


def test_two_modes_for_operations():
    with Operations() as outer, Operations() as inner:
        ft.vmap(np.sin)(A)
    assert inner.seen == outer.seen == [(np.sin, ((2, 2),))]


# ---- the shipped modes ----


def test_the_trace_shows_which_level_handled_what():
    """F17: each call beside the level, and what it has called indented below."""
    stream = io.StringIO()

    def outer(x):
        return ft.vmap(lambda y: np.sin(x) @ y)(A)

    def loss(x):
        return np.sum(outer(x))

    with modes.LoggingMode(stream) as log:
        ft.grad(loss)(np.ones(2))
    assert log.lines[:6] == [
        "grad(loss): numpy.sin(f8[2])",
        "  numpy: numpy.sin(f8[2])",
        "vmap(<lambda>): numpy.matmul(f8[2], f8[2])",
        "  grad(loss): numpy.matmul(f8[2, 2], f8[2])",
        "    numpy: numpy.matmul(f8[2, 2], f8[2])",
        "grad(loss): numpy.sum(f8[2])",
    ] or "\n".join(log.lines)
    assert stream.getvalue() == str(log) + "\n"


def test_the_trace_without_operations_and_of_users_classes():
    """F17: functions alone, with the class that has handled each."""

    class Unit(ft.Tensor):
        pass

    with modes.LoggingMode(operations=False) as log:
        ft.vmap(lambda x: np.concatenate([x, (x,)[0]], axis=0) + 1)(Unit(A))
        fnp.zeros((2, 3), dtype=int)
    assert log.lines == [
        "vmap(<lambda>): numpy.concatenate([f8[2], f8[2]], axis=0)",
        "  Unit: numpy.concatenate([f8[2, 2], f8[2, 2]], 1)",
        "vmap(<lambda>): Tensor.__add__(f8[4], 1)",
        "  Unit: numpy.add(f8[2, 4], 1)",
        "numpy: numpy.zeros((2, 3), dtype=int)",
    ]


def test_the_order_of_the_calls_in_a_log():
    """F17: the log of functions, and that of operations"""
    with Log() as functions, Operations() as operations:
        ft.vmap(lambda x: (x + 1).mean() * 2)(A)
    assert functions.seen == [ft.Tensor.__add__, ft.Tensor.mean, ft.Tensor.__mul__]
    assert [f for f, _ in operations.seen] == [np.add, np.mean, np.multiply]


FLOPS = {
    "matmul": (lambda a, b: a @ b, 2 * 3 * 4 * 5),
    "einsum": (lambda a, b: np.einsum("ij,jk->ik", a, b), 2 * 3 * 4 * 5),
    "einsum list": (lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2]), 2 * 3 * 4 * 5),
    "einsum dots": (lambda a, b: np.einsum("...j,jk->...k", a, b), 2 * 3 * 4 * 5),
    "dot": (lambda a, b: np.dot(a, b), 2 * 3 * 4 * 5),
    "tensordot": (lambda a, b: np.tensordot(a, b, 1), 2 * 3 * 4 * 5),
    "inner": (lambda a, b: np.inner(a, b.T), 2 * 3 * 4 * 5),
    "vecdot": (lambda a, b: np.vecdot(a, a), 2 * 3 * 4),
    "outer": (lambda a, b: np.multiply.outer(a, b), 12 * 20),
    "sin": (lambda a, b: np.sin(a), 12), "where": (lambda a, b: np.where(a > 0, a, 0.0), 24),
    "sum": (lambda a, b: np.sum(a, axis=0), 12), "reduce": (lambda a, b: np.add.reduce(a), 12),
    "inv": (lambda a, b: np.linalg.inv(a[:3, :3]), 2 * 27),
    "solve": (lambda a, b: np.linalg.solve(a[:3, :3], b[:3]), 2 / 3 * 27 + 2 * 9 * 5),
    "svd": (lambda a, b: np.linalg.svd(a)[0], 14 * 4 * 9 + 8 * 27),
    "cholesky": (lambda a, b: np.linalg.cholesky(a[:, :3].T @ a[:, :3] + np.eye(3)), 9 + 54 + 9),
    "fft": (lambda a, b: np.fft.fft(a), 5 * 12 * 2),
    "rfft": (lambda a, b: np.fft.rfft(a), 2.5 * 12 * 2),
    "fft2": (lambda a, b: np.fft.fft2(a), 5 * 12 * np.log2(12)),
    "convolve": (lambda a, b: np.convolve(a[0], b[:, 0]), 4 * 4 + 4 * 7),
    "reshape": (lambda a, b: a.reshape(-1).T, 0), "getitem": (lambda a, b: a[0], 0),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOPS)
def test_flops_of_an_operation(name):
    call, expected = FLOPS[name]
    a, b = (
        np.random.default_rng(0).normal(size=32)[:32].reshape(32)[:12].reshape(3, 4),
        np.ones((4, 5)),
    )
    with modes.FlopCounterMode() as flops:
        call(ft.tensor(a), ft.tensor(b))
    assert flops.total == int(expected)


def test_flops_of_a_batch_and_of_a_gradient():
    x, w = np.ones((32, 8)), np.ones((8, 4))
    with modes.FlopCounterMode() as flops:
        ft.vmap(lambda r: r @ w)(x)
    assert flops.total == 2 * 32 * 8 * 4
    with modes.FlopCounterMode() as flops:
        ft.grad(lambda w: np.sum(np.tanh(x @ w)))(w)
    products = sum(
        n for name, (_, n) in flops.counts.items() if name in ("numpy.matmul", "numpy.dot")
    )
    assert products == 2 * (2 * 32 * 8 * 4)  # forward, and the derivative by w alone
    lines = str(flops).splitlines()
    assert lines[0].split() == ["function", "calls", "operations", "share"]
    assert lines[1].startswith("numpy.matmul") and lines[-1].split()[0] == "total"
    assert int(lines[-1].split()[2].replace(",", "")) == flops.total
