"""check_leaks: each way to hold a tensor is found, with the chain of holders; nothing else is.

`test_leaks` runs these tests in a process of their own.
"""

import functools
import gc
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
import pytest

import functier as ft
from functier._core import blocks as _observers
from functier.debug import _leaks
from support.basics import HANG, has_all, message

XS = np.ones((3, 2))
CACHE: dict = {}
KEPT = None


@pytest.fixture(scope="module", autouse=True)
def frozen_heap():
    """Have searches look through all objects: the holders of these tests are among them."""


@pytest.fixture(autouse=True)
def _nothing_left():
    yield
    CACHE.clear()
    globals()["KEPT"] = None
    assert _observers.LEVELS == []
    assert _leaks.ENTERED.get() == ()


def leaks(call):
    """The LeakError of a block that runs `call`."""
    with pytest.raises(ft.LeakError) as error, ft.debug.check_leaks():
        call()
    return error.value


def keeping(keep):
    """A call of vmap whose function hands its tensor to `keep`."""

    def f(x):
        keep(x)
        return x * 2.0

    return lambda: ft.vmap(f)(XS)


# ---- the ways to hold a tensor ----


def test_a_global_container():
    error = leaks(keeping(lambda x: CACHE.setdefault("x", []).append(x)))

    assert error.paths == (f"{__name__}.CACHE['x'][0]",)
    has_all(
        str(error),
        "1 tensor is alive although its level has ended",
        f"a tensor of vmap(f) (Tensor <- vmap(f), made at {__file__}:",
        "float64 of shape (2,), is held by",
        error.paths[0],
    )


def test_the_path_is_python():
    error = leaks(keeping(lambda x: CACHE.setdefault("a", {}).setdefault(("k", 1), (0, [x]))))

    (path,) = error.paths
    leaked = eval(path.removeprefix(f"{__name__}."))
    assert isinstance(leaked, ft.Tensor)


def test_a_global():
    def keep(x):
        globals()["KEPT"] = x

    assert leaks(keeping(keep)).paths == (f"{__name__}.KEPT",)


def test_a_closure():
    def make():
        last = None

        def keep(x):
            nonlocal last
            last = x

        return keep

    globals()["KEPT"] = keep = make()
    (path,) = leaks(keeping(keep)).paths
    assert ".__closure__[0].cell_contents (keep closes over it as 'last')" in path


def remembering(x, seen=[], *, also={}):  # noqa: B006
    (seen.append if not seen else functools.partial(also.__setitem__, "k"))(x)


def test_default_arguments():
    try:
        assert leaks(keeping(remembering)).paths == (f"{__name__}.remembering.__defaults__[0][0]",)
        assert leaks(keeping(remembering)).paths == (
            f"{__name__}.remembering.__kwdefaults__['also']['k']",
        )
    finally:
        remembering.__defaults__[0].clear()
        remembering.__kwdefaults__["also"].clear()


class Slots:
    __slots__ = ("inside",)


class Holder:
    pass


@pytest.mark.parametrize("kind", [Holder, Slots])
def test_attributes(kind):
    CACHE["owner"] = kind()
    error = leaks(keeping(lambda x: setattr(CACHE["owner"], "inside", x)))

    assert error.paths == (f"{__name__}.CACHE['owner'].inside",)


def test_an_attribute_of_a_class():
    error = leaks(keeping(lambda x: setattr(Holder, "shared", x)))
    del Holder.shared

    assert error.paths == (f"{__name__}.Holder.shared",)


def test_a_generator():
    def numbers(x):
        y = x + 1.0
        yield y

    def keep(x):
        CACHE["g"] = numbers(x)
        next(CACHE["g"])

    error = leaks(keeping(keep))
    assert sorted(error.paths) == [
        f"{__name__}.CACHE['g'].gi_frame.f_locals[{name!r}]" for name in "xy"
    ]


def test_the_traceback_of_an_exception():
    def fail(x):
        y = x - 1.0
        raise ValueError(f"{y.shape}")

    def call():
        try:
            ft.vmap(fail)(XS)
        except ValueError as error:
            CACHE["error"] = error

    paths = leaks(call).paths
    assert any("CACHE['error'].__traceback__.tb_next" in path for path in paths)
    assert any(path.endswith(".tb_frame.f_locals['y']") for path in paths)


@pytest.mark.parametrize("size", [None, 8])
def test_a_cache_of_calls(size):
    @functools.lru_cache(size)
    def cached(key):
        return CACHE.pop(key)

    def keep(x):
        CACHE["now"] = x
        KEPT("now")

    globals()["KEPT"] = cached
    del cached
    (path,) = leaks(keeping(keep)).paths
    assert path.startswith(f"{__name__}.KEPT.<lru_cache_wrapper>")


@pytest.mark.parametrize(
    ("put", "text"),
    [
        (lambda x: CACHE.setdefault("d", __import__("collections").deque()).append(x), "['d']"),
        (lambda x: CACHE.setdefault("p", functools.partial(abs, x)), "['p'].args[0]"),
        (lambda x: CACHE.setdefault("m", x.sum), "['m'].__self__"),
        (lambda x: CACHE.setdefault("n", types.SimpleNamespace(v=[x])), "['n'].v[0]"),
        (lambda x: CACHE.setdefault("i", iter([x])), "['i']"),
    ],
    ids=["deque", "partial", "method", "namespace", "iterator"],
)
def test_other_containers(put, text):
    (path,) = leaks(keeping(put)).paths

    assert path.startswith(f"{__name__}.CACHE")
    assert text in path


def test_a_variable_of_a_running_function():
    kept = []
    error = leaks(keeping(kept.append))

    (path,) = error.paths
    assert path.startswith("kept[0] (a variable of test_a_variable_of_a_running_function, ")
    assert __file__ in path


def test_a_variable_of_another_thread():
    ready, done, threads = threading.Event(), threading.Event(), []

    def wait(local):
        ready.wait(HANG)
        done.wait(HANG)
        return local

    def keep(x):
        threads.append(threading.Thread(target=wait, args=([x],)))
        threads[0].start()
        ready.set()

    try:
        (path,) = leaks(keeping(keep)).paths
    finally:
        done.set()
        threads[0].join()
    assert "_args" in path or path.startswith("local[0] (a variable of ")


def test_a_holder_that_nobody_sees():
    hidden = np.empty((), object)  # arrays are not known to the garbage collector
    error = leaks(keeping(lambda x: hidden.fill([x])))

    assert error.paths == (
        "objects that the garbage collector cannot trace to a name in 100 steps",
    )


def test_a_chain_of_many_holders():
    def keep(x):
        for _ in range(50):
            x = [x]
        CACHE["deep"] = x

    assert leaks(keeping(keep)).paths == (f"{__name__}.CACHE['deep']{'[0]' * 50}",)


# ---- which tensors ----


def test_tensors_of_every_transform():
    def keep(x):
        CACHE[len(CACHE)] = x
        return np.sum(x)

    x = np.ones(2)
    for label, call in {
        "grad(keep)": lambda: ft.grad(keep)(x),
        "vjp(keep)": lambda: ft.vjp(keep, x),
        "jvp(keep)": lambda: ft.jvp(keep, (x,), (x,)),
        "hessian(keep) (Tensor <- hessian(keep)": lambda: ft.hessian(keep)(x),
    }.items():
        assert f"a tensor of {label}" in str(leaks(call)).replace(" at depth 3", "")
        CACHE.clear()


def test_a_pullback_that_holds_tensors_of_a_level_that_has_ended():
    def f(x):
        CACHE["pullback"] = ft.vjp(lambda y: np.sin(y) * x, x)[1]
        return x

    error = leaks(lambda: ft.vmap(f)(XS))
    assert all("vmap(f)" in line for line in str(error).splitlines() if "a tensor of" in line)
    assert any("vjp_fn closes over it as" in path for path in error.paths)


def test_many_are_counted():
    error = leaks(keeping(lambda x: CACHE.setdefault("x", []).extend(x + i for i in range(20))))

    assert len(error.paths) == _leaks.SHOWN
    has_all(str(error), "20 tensors are alive although their levels have ended", "and 15 more")


def test_a_tensor_that_another_one_holds_is_not_shown_beside_it():
    def f(x):
        CACHE["tape"] = ft.grad(lambda y: np.sum(CACHE.setdefault("y", y * x)))(x)
        return x

    error = leaks(lambda: ft.vmap(f)(XS))
    assert f"{__name__}.CACHE['y']" in error.paths
    assert not any("._value" in path or "._extra" in path for path in error.paths)


def test_levels_of_with_blocks():
    def call():
        with ft.vmap() as V:
            CACHE["x"] = V(XS)

    has_all(str(leaks(call)), "a tensor of vmap() (Tensor <- vmap(), made at")


# ---- no false alarms ----


def test_programs_that_leak_nothing():
    def f(x):
        return np.sum(np.sin(x) * x)

    with ft.debug.check_leaks():
        ft.vmap(f)(XS)
        ft.hessian(f)(XS[0])
        pullback = ft.vjp(f, XS)[1]
        pullback(1.0)
        for _ in range(20):
            ft.vmap(ft.grad(f))(XS)
        with pytest.raises(TypeError):
            ft.grad(lambda x: x)("text")
        with pytest.raises(ZeroDivisionError):
            ft.vmap(lambda x: x + 1 / 0)(XS)
        try:
            ft.vmap(lambda x: x + 1 / 0)(XS)
        except ZeroDivisionError as error:
            seen = str(error)
    assert seen


def cube(x):
    return np.sum(x**3)


@ft.custom_vjp
def sine(x):
    return np.sin(x)


sine.defvjp(lambda x: (sine(x), x), lambda x, g: (g * np.cos(x),))

KEEPING = {
    "vjp": lambda: ft.vjp(cube, XS),
    "checkpoint": lambda: ft.vjp(ft.checkpoint(cube), XS),
    "checkpoint that closes over": lambda: ft.vjp(lambda x: ft.checkpoint(lambda c: c * x)(x), XS),
    "checkpoint in vmap": lambda: ft.vjp(ft.vmap(ft.checkpoint(cube)), XS),
    "checkpoint with slots": lambda: ft.vjp(
        lambda x: ft.checkpoint(lambda c: c * x, slots=2, steps=5)(x), XS
    ),
    "vjp in checkpoint": lambda: ft.vjp(ft.checkpoint(lambda x: ft.vjp(cube, x)[1](1.0)[0]), XS),
    "checkpoint in scan": lambda: ft.vjp(
        lambda x: ft.scan(ft.checkpoint(lambda c, y: (c * y, c)), x[0], x)[0], XS[0]
    ),
    "custom_vjp": lambda: ft.vjp(sine, XS),
    "custom_root": lambda: ft.vjp(
        lambda a: ft.custom_root(
            lambda x: x**3 - a, 1.0, lambda f, x: 2.0, lambda g, y: y / g(1.0)
        ),
        8.0,
    ),
    "cond": lambda: ft.vjp(lambda x: ft.cond(True, np.sin, np.cos, x), XS),
    "fori_loop": lambda: ft.vjp(lambda x: ft.fori_loop(0, 3, lambda i, c: c * x, x), XS),
}


@pytest.mark.parametrize("name", [*KEEPING, "linearize", "linear_transpose"])
def test_what_a_pullback_needs_is_no_leak(name):
    more = {
        "linearize": lambda: ft.linearize(ft.checkpoint(cube), XS),
        "linear_transpose": lambda: (0, ft.linear_transpose(lambda x: 3.0 * x, XS)),
    }
    with ft.debug.check_leaks():
        value, pullback = {**KEEPING, **more}[name]()
    with ft.debug.check_leaks():
        result = pullback(XS if name.startswith("linear") else np.ones_like(value))
    assert result is not None


def test_a_leak_beside_a_pullback_that_needs_the_tensor():
    def f(x):
        CACHE["x"] = x
        return np.sum(x)

    def call():
        CACHE["kept"] = ft.vjp(lambda x: ft.checkpoint(f)(x * 2.0), XS)

    assert leaks(call).paths == (f"{__name__}.CACHE['x']",)


def test_a_level_around_the_block_is_not_looked_at():
    def f(x):
        with ft.debug.check_leaks():
            y = ft.grad(np.sin)(x[0])
        return y

    assert ft.vmap(f)(XS).shape == (3,)


def test_a_level_that_is_open_is_not_looked_at():
    def rows():
        with ft.vmap() as V:
            x = V(XS)
            yield V.unwrap(x)
            yield V.unwrap(x + 1.0)

    with ft.debug.check_leaks():
        running = rows()
        next(running)
    assert next(running).shape == (3, 2)


def test_tensors_of_before_are_not_reported():
    ft.vmap(lambda x: CACHE.setdefault("x", x))(XS)
    with ft.debug.check_leaks():
        ft.vmap(np.sin)(XS)


def test_a_block_that_raises_is_not_checked():
    with pytest.raises(KeyError, match="mine"), ft.debug.check_leaks():
        keeping(lambda x: CACHE.setdefault("x", x))()
        raise KeyError("mine")


def test_passthrough_is_meant_to_stay():
    with ft.debug.check_leaks():
        ft.vmap(lambda x: CACHE.setdefault("x", x), escape="passthrough")(XS)


def test_cycles_are_collected_first():
    def keep(x):
        cycle = [x]
        cycle.append(cycle)

    gc.disable()
    try:
        with ft.debug.check_leaks():
            keeping(keep)()
    finally:
        gc.enable()


# ---- where it is on ----


def test_as_a_decorator():
    @ft.debug.check_leaks()
    def run():
        keeping(lambda x: CACHE.setdefault("x", x))()

    with pytest.raises(ft.LeakError):
        run()


def test_warning():
    with pytest.warns(ft.LeakWarning, match=r"CACHE\['x'\]") as caught:
        with ft.debug.check_leaks(action="warn"):
            keeping(lambda x: CACHE.setdefault("x", x))()

    assert caught[0].filename == __file__


def test_nested_blocks():
    with pytest.raises(ft.LeakError) as outer, ft.debug.check_leaks():
        with pytest.raises(ft.LeakError), ft.debug.check_leaks():
            keeping(lambda x: CACHE.setdefault("x", x))()
        with ft.debug.check_leaks():
            ft.vmap(np.sin)(XS)

    assert "CACHE['x']" in message(outer)


def test_other_threads_are_not_looked_at_unless_they_share_the_context():
    call = keeping(lambda x: CACHE.setdefault(len(CACHE), x))
    with ThreadPoolExecutor(1) as pool:
        with ft.debug.check_leaks():
            pool.submit(call).result()
        with pytest.raises(ft.LeakError), ft.debug.check_leaks():
            pool.submit(copy_context().run, call).result()


def test_together_with_debugging():
    with ft.debug.debug_nans():
        assert leaks(keeping(lambda x: CACHE.setdefault("x", x))).paths == (
            f"{__name__}.CACHE['x']",
        )


def test_wrong_action():
    with pytest.raises(ValueError, match="action='stop'; write 'raise' or 'warn'"):
        ft.debug.check_leaks(action="stop")
    with pytest.raises(ValueError, match=r"write .* @check_leaks\(\) with its parentheses"):

        @ft.debug.check_leaks
        def f():
            pass
