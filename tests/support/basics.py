"""Helpers of several test files: strict equality, and tensors that record the calls they see."""

import gc
import os
import re
import sys
import threading
import time
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from types import CodeType
from typing import Any

import numpy as np
import optree
import pytest

import functier as ft
from functier._core.table import PENDING, load
from functier._cpython import facts
from functier._levels import level as _level

LEVEL_ERRORS = (ft.LevelError, ft.EscapedTensorError)

HANG = 300
"""Seconds after which a wait gives up, so that a hang ends; a busy machine is not so slow."""

FILES = os.path.dirname(ft.__file__) + os.sep, "<functier "
"""The beginning of the names of files whose frames are functier's."""

HAS_PROGRAMS = pytest.mark.skipif(not facts.bytecode.holds, reason=facts.bytecode.without)
"""The mark of tests that want `compile` to run a program."""


@contextmanager
def silent():
    """Let neither Python nor NumPy warn."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def model(x, *rest):
    """A function whose name a message has to have."""
    return x


def loss(x, *rest):
    """Such a function, with a scalar result."""
    return np.sum(x)


def equal(actual: Any, expected: Any) -> None:
    """Equal in shape, dtype and every element; a tensor is no array."""
    assert not isinstance(actual, ft.Tensor), f"a tensor: {actual!r}"
    a, e = np.asarray(actual), np.asarray(expected)
    assert a.shape == e.shape, f"shape {a.shape}, expected {e.shape}"
    assert a.dtype == e.dtype, f"dtype {a.dtype}, expected {e.dtype}"
    np.testing.assert_array_equal(a, e)


def close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Like `equal`, up to rounding."""
    assert not isinstance(actual, ft.Tensor), f"a tensor: {actual!r}"
    a, e = np.asarray(actual), np.asarray(expected)
    assert a.shape == e.shape, f"shape {a.shape}, expected {e.shape}"
    assert a.dtype == e.dtype, f"dtype {a.dtype}, expected {e.dtype}"
    np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance)


def alike(actual: Any, expected: Any, *tolerance: float, compare: Any = close) -> None:
    """`close` trees of arrays, of one structure; or `equal` ones, with another comparison."""
    assert optree.tree_structure(actual) == optree.tree_structure(expected)
    optree.tree_map(lambda a, e: compare(a, e, *tolerance), actual, expected)


def recorder() -> type[ft.Tensor]:
    """A fresh subclass of Tensor whose hooks note every call in lists on the class."""

    class Recorder(ft.Tensor):
        functions: list = []  # noqa: RUF012
        operations: list = []  # noqa: RUF012

        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            cls.functions.append(func)
            return super().__tensor_function__(func, types, args, kwargs)

        @classmethod
        def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
            shapes = tuple(a.shape for a in args if hasattr(a, "shape"))
            cls.operations.append((func, shapes))
            return super().__tensor_dispatch__(func, types, args, kwargs)

    Recorder.functions, Recorder.operations = [], []
    return Recorder


def message(error: Any) -> str:
    """The text of the exception that `pytest.raises` caught, and its note on the levels."""
    notes = getattr(error.value, "__notes__", ()) if isinstance(error.value, ft.LevelError) else ()
    return "\n".join([str(error.value), *notes])


def has_all(text: str, *parts: str) -> None:
    """Every part stands in the text; `` | `` is between parts that are written in one string."""
    missing = [p for p in " | ".join(parts).split(" | ") if p not in text]
    assert not missing, f"{missing} not in {text!r}"


def raises(kind: type, call: Any, *parts: str) -> None:
    """`call` raises `kind` with all `parts` in its text, and restores the ambient level."""
    before = _level.AMBIENT.get()
    with pytest.raises(kind) as error:
        call()
    assert type(error.value) is kind
    has_all(message(error), *parts)
    assert _level.AMBIENT.get() is before
    if issubclass(kind, ft.LevelError):
        has_all(message(error), "levels: Tensor <- ", ", made at ")
    assert not re.search(r"array\(\[+[-\d]", message(error))  # forms, not data


def no_level_is_left() -> None:
    """Fail where a level is still ambient."""
    assert _level.AMBIENT.get() is ft.Tensor


def line_of(file: str, text: str) -> str:
    """Return the file and line of the line that begins with `text`, as messages name it."""
    with open(file) as lines:
        for n, line in enumerate(lines, 1):
            if line.strip().startswith(text):
                return f"{file}:{n}"
    raise AssertionError(f"no line with {text!r}")


def at(index: Any, value: Any) -> Any:
    """Return a function that writes `value` at an index of its argument."""

    def write(y):
        y[index] = value

    return write


def plus(value: Any) -> Any:
    """Return a function that adds `value` to its argument in place."""

    def write(y):
        y += value

    return write


def plain(x: Any) -> Any:
    """A plain array from a tensor, a tuple or list of them, or a value."""
    if isinstance(x, (tuple, list)):
        return type(x)(plain(y) for y in x)
    return x.elem() if isinstance(x, ft.Tensor) else x


def same(actual: Any, expected: Any) -> None:
    """Like `equal`, for tensors and tuples of them."""
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple) and len(actual) == len(expected)
        for a, e in zip(actual, expected):
            same(a, e)
    else:
        equal(plain(actual), expected)


def everywhere(use: Any) -> None:
    """Run `use` on a plain tensor, a user's, and one of each transform's level."""
    a = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]])
    use(ft.tensor(a))
    use(type("Sub", (ft.Tensor,), {})(a))
    with ft.vmap() as V:
        use(V(a))
    with ft.grad() as G:
        use(G(a))
    with ft.jvp() as F:
        use(F(a, a))


def calls_of(f: Any) -> int:
    """Count the calls of functions in the second ``f()``: time depends on the machine's load."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("c_call", "call")

    f()
    sys.setprofile(count)
    try:
        f()
    finally:
        sys.setprofile(None)
    return calls


def wait_until(condition: Any) -> None:
    """Wait until ``condition()`` is true, which another thread brings about."""
    for _ in range(HANG * 1000):
        if condition():
            return
        time.sleep(0.001)
    raise AssertionError("a hang")


def in_threads(work: Any, arguments: Any) -> list:
    """The results of calls that start together, each in another thread."""
    arguments = list(arguments)
    start = threading.Barrier(len(arguments))

    def run(x):
        start.wait(HANG)
        return work(x)

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(run, arguments, timeout=HANG))


def in_thread(f: Any) -> Any:
    """The result of ``f()`` in another thread, or its exception."""
    return in_threads(lambda _: f(), [None])[0]


def held(call: Any) -> tuple:
    """The result of a call, the bytes that it keeps, and those that it needs at most."""
    gc.collect()
    tracemalloc.start()
    try:
        result = call()
        return result, *tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


def load_all():
    """Declare every operation, also those that wait until one of their functions is met."""
    load()
    for module in list(PENDING):
        load(module)
    for name in ("products", "systems"):
        import_module(f"functier.scipy._rules.sparse.{name}")
    import_module("functier.scipy._statistics")
    assert ft.nn.functional and ft.random.Generator and ft.jet  # these load their own, too


def bare(x):
    """The value under all levels: what a rule must never do."""
    while isinstance(x, ft.Tensor):
        x = x.elem()
    return x


def ours(func: Any) -> Any:
    """Return a function of the tests as one of the package's: a trace sees into others."""
    func.__code__ = func.__code__.replace(co_filename=ft.__file__, co_consts=tuple(
        c.replace(co_filename=ft.__file__) if isinstance(c, CodeType) else c
        for c in func.__code__.co_consts
    ))  # fmt: skip
    return func
