"""Tracebacks that end with the user's line, and notes that name the transform and its arguments."""

import asyncio
import gc
import os
import pickle
import traceback
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import functier as ft
from support.basics import FILES

XS = np.ones((4, 3))


def wrong(x):
    return np.sum(x @ np.ones(7))


def raised(call, *args):
    try:
        call(*args)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def names(error):
    """The functions in a traceback, without those before the call in `raised`."""
    found = traceback.extract_tb(error.__traceback__)
    assert not [f for f in found if f.filename.startswith(FILES)], found
    return [f.name for f in found[1:]]


def tangents(x):
    return (x,), (np.ones_like(x),)


TRANSFORMS = {
    "vmap": lambda f: ft.vmap(f)(XS),
    "vmap in chunks": lambda f: ft.vmap(f, chunk_size=2)(XS),
    "vmap in groups": lambda f: ft.vmap(f, branches="split")(XS),
    "grad": lambda f: ft.grad(f)(XS[0]),
    "value_and_grad": lambda f: ft.value_and_grad(f)(XS[0]),
    "vjp": lambda f: ft.vjp(f, XS[0]),
    "jvp": lambda f: ft.jvp(f, *tangents(XS[0])),
    "jacrev": lambda f: ft.jacrev(f)(XS[0]),
    "jacfwd": lambda f: ft.jacfwd(f)(XS[0]),
    "hessian": lambda f: ft.hessian(f)(XS[0]),
    "hvp": lambda f: ft.hvp(f, *tangents(XS[0])),
    "elementwise_grad": lambda f: ft.elementwise_grad(f)(XS[0]),
    "linearize": lambda f: ft.linearize(f, XS[0]),
    "linear_transpose": lambda f: ft.linear_transpose(f, XS[0]),
    "compile": lambda f: ft.compile(f, backend="numpy")(XS[0]),
    "compile of an inner function": lambda f: ft.grad(ft.compile(f, backend="numpy"))(XS[0]),
    "trace": lambda f: ft.trace(f)(XS[0]),
    "sparse_jacobian": lambda f: ft.sparse_jacobian(f)(XS[0]),
    "sparse_hessian": lambda f: ft.sparse_hessian(f)(XS[0]),
    "jacobian_pattern": lambda f: ft.jacobian_pattern(f)(XS[0]),
    "checkpoint": lambda f: ft.checkpoint(f)(XS[0]),
    "nested": lambda f: ft.vmap(ft.grad(f))(XS),
}


def test_a_compiled_function_that_runs_itself_shows_no_frame_of_its_own():
    for f in (wrong, lambda x: wrong(x) * len(open(os.devnull).read())):
        call = ft.compile(f, backend="numpy")
        with np.errstate(all="raise"):
            assert names(raised(call, XS[0]))[-1] == "wrong"
        for _ in range(2):
            assert names(raised(call, XS[0]))[-1] == "wrong"


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_the_last_line_is_the_users(transform):
    error = raised(transform, wrong)

    assert names(error) == ["<lambda>", "wrong"]
    assert any("wrong) got x: float64[" in note for note in error.__notes__)


def ruled(kind, rule):
    def make(f):
        made = kind(f)
        getattr(made, rule)(*[f] * (2 if rule == "defvjp" else 1))
        return made(XS[0])

    return make


def function(f):
    forward = staticmethod(lambda x: f(x))
    setup = staticmethod(lambda ctx, inputs, output: None)
    names = {"forward": forward, "setup_context": setup}
    return type("Mine", (ft.Function,), names).apply(XS[0])


FUNCTIONS = {
    "scan": lambda f: ft.scan(lambda c, x: (f(x), x), XS[0], XS),
    "map": lambda f: ft.map(f, XS),
    "associative_scan": lambda f: ft.associative_scan(lambda a, b: f(a), XS),
    "cond": lambda f: ft.cond(True, f, f, XS[0]),
    "switch": lambda f: ft.switch(0, [f], XS[0]),
    "while_loop": lambda f: ft.while_loop(lambda x: True, f, XS[0]),
    "fori_loop": lambda f: ft.fori_loop(0, 3, lambda i, x: f(x), XS[0]),
    "custom_root": lambda f: ft.custom_root(f, XS[0], lambda f, x: f(x), lambda g, y: y),
    "custom_linear_solve": lambda f: ft.custom_linear_solve(f, XS[0], lambda f, x: f(x)),
    "custom_vjp": ruled(ft.custom_vjp, "defvjp"),
    "custom_jvp": ruled(ft.custom_jvp, "defjvp"),
    "custom_vmap": ruled(ft.custom_vmap, "def_vmap"),
    "sequential_vmap": lambda f: ft.sequential_vmap(f)(XS[0]),
    "custom_op": lambda f: ft.custom_op("tracebacks::wrong", f)(XS[0]),
    "Function": function,
    "gradcheck": lambda f: ft.testing.gradcheck(f, (XS[0],)),
    "check_grads": lambda f: ft.testing.check_grads(f, (XS[0],), 1),
    "check_vmap": lambda f: ft.testing.check_vmap(f, (XS[0],)),
}


@pytest.mark.parametrize("call", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_last_line_is_the_users_outside_of_transforms(call):
    found = names(raised(call, wrong))

    assert found[-1] == "wrong"
    assert {*found} <= {"<lambda>", "make", "function", "wrong"}


def test_the_call_of_a_module_ends_with_the_users_line():
    class Network(ft.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = ft.nn.Linear(2, 2)

        def forward(self, x):
            return self.first(x)

    error = raised(Network(), XS)
    assert names(error) == ["forward"] and "its module first" in error.__notes__[0]


def test_the_pullback_of_a_checkpoint_ends_with_the_users_line():
    runs = []

    def second(x):
        runs.append(x)
        return wrong(x) if len(runs) > 1 else np.sum(x)

    assert names(raised(ft.grad(ft.checkpoint(second)), XS[0])) == ["second", "wrong"]


CALLS = {
    "an argument": lambda: ft.grad(np.sum)(np.ones(3, int)),
    "no function": lambda: ft.grad(3),
    "a keyword": lambda: ft.vmap(np.sin, in_axes=0),
    "a pullback": lambda: ft.vjp(np.sin, 1.0)[1](np.ones(2)),
    "a linear function": lambda: ft.linearize(np.sin, 1.0)[1](np.ones(2)),
    "an axis": lambda: ft.psum(XS, "i"),
    "a rule": lambda: ft.custom_vjp(np.sin)(XS),
    "a test": lambda: ft.testing.gradcheck(np.sin, (1.0,), epsilon=1e-3),
    "a size": lambda: ft.vmap(np.add)(XS, XS[:2]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_mistakes_in_a_call_end_with_the_call(call):
    error = raised(call)

    assert names(error) == ["<lambda>"] and not hasattr(error, "__notes__")


def test_blocks_hide_frames_too():
    def block():
        with ft.grad() as G:
            wrong(G(XS[0]))

    assert names(raised(block)) == ["block", "wrong"]


def test_notes_name_the_transforms_and_the_arguments_from_the_inside_out():
    def loss(w, data, *, scale):
        return np.sum(w["a"] @ data) * scale

    call = ft.vmap(ft.grad(loss), (None, 0))
    error = raised(lambda: call({"a": np.ones(2)}, XS, scale=2.0))

    assert error.__notes__ == [
        "grad(loss) got w: {'a': float64[2]}, data: float64[3], scale: float",
        "vmap(loss) got w: {'a': float64[2]}, data: float64[4, 3], scale: float",
    ]
    assert str(error) in traceback.format_exception_only(error)[0]
    refused = raised(lambda: ft.grad(lambda x: float(x))(1.0))
    assert "grad(" in str(refused) and len(refused.__notes__) == 1  # that on the levels


def test_causes_contexts_and_groups():
    def f(x):
        try:
            wrong(x)
        except ValueError as error:
            try:
                wrong(x[:2])
            except ValueError as other:
                raise ExceptionGroup("both", [other, KeyError(1)]) from error

    group = raised(ft.vmap(f), XS)
    assert names(group) == ["f"]
    for error in (group.__cause__, group.exceptions[0], group.__context__):
        found = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        assert found == ["f", "wrong"]
    assert raised(ft.vmap(lambda x: (_ for _ in ()).throw(group)), XS) is group  # a cycle ends

    def loop(x):
        error = ValueError("mine")
        error.__context__ = other = KeyError(1)
        other.__context__ = error
        raise error

    assert names(raised(ft.grad(loop), 1.0)) == ["loop"]


def test_generators_and_tasks():
    def rows(x):
        yield x
        yield wrong(x)

    assert names(raised(ft.vmap(lambda x: sum(rows(x))), XS)) == ["<lambda>", "rows", "wrong"]

    async def work():
        await asyncio.sleep(0)
        return ft.grad(wrong)(XS[0])

    found = names(raised(asyncio.run, work()))
    assert found[-2:] == ["work", "wrong"]
    with ThreadPoolExecutor(1) as pool:
        assert names(raised(pool.submit(ft.grad(wrong), XS[0]).result))[-1] == "wrong"


def test_every_error_comes_out_as_it_was():
    class Stubborn(Exception):
        __notes__ = 3

        def __str__(self):
            raise RuntimeError

    for kind in (Stubborn, KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration):

        def f(x, kind=kind):
            raise kind

        error = raised(ft.vmap(ft.grad(f)), XS)
        assert type(error) is kind and names(error) == ["f"]
    again = ValueError("one object")

    def g(x):
        raise again

    for _ in range(3):
        raised(ft.grad(g), 1.0)
    assert again.__notes__ == ["grad(g) got x: float"]
    assert pickle.loads(pickle.dumps(again)).__notes__ == again.__notes__


def test_a_recursion_without_end():
    def f(x):
        return ft.grad(f)(x)

    assert type(raised(f, 1.0)) is RecursionError


def test_the_frames_can_be_shown(monkeypatch):
    with ft.debug.full_tracebacks():
        shown = traceback.extract_tb(raised(ft.grad(wrong), XS[0]).__traceback__)
        with ft.debug.full_tracebacks(False):
            names(raised(ft.grad(wrong), XS[0]))
    assert any(f.filename.startswith(FILES) for f in shown)
    names(raised(ft.grad(wrong), XS[0]))
    monkeypatch.setenv("FUNCTIER_TRACEBACKS", "full")
    with pytest.raises(AssertionError):
        names(raised(ft.grad(wrong), XS[0]))
    with (
        pytest.raises(TypeError, match="full_tracebacks: full='yes'"),
        ft.debug.full_tracebacks("yes"),
    ):
        pass


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_an_error_keeps_no_array_of_functier_and_leaves_no_cycle(transform):
    """Once it was handled nothing is left, without the collector."""

    class Mark:
        pass

    def f(x):
        mark = Mark()
        seen.append(weakref.ref(mark))
        raise ValueError(str(type(mark)))

    seen = []
    gc.disable()
    try:
        raised(transform, f)
        assert seen and all(ref() is None for ref in seen)
    finally:
        gc.enable()


def test_pytest_shows_the_users_lines(monkeypatch):
    monkeypatch.setenv("PY_COLORS", "0")  # none among the words, whatever the terminal has
    error = raised(ft.vmap(ft.grad(wrong)), XS)
    text = str(pytest.ExceptionInfo.from_exception(error).getrepr())

    assert "return np.sum(x @ np.ones(7))" in text
    assert not any(os.path.join("functier", room) in text for room in ("_core", "_transforms"))
