"""Code is made at the first call of a function, and nobody can tell."""

import inspect
import threading
import warnings

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft

SIGNATURES = [
    "x", "x, /", "x, y=2.0", "x, /, y=2.0, *, k=3.0", "*args", "x, *rest, k=1.0, **words",
    "*, x=1.0, y=2.0", "x, **words", "x, y=1.0, *args, a=1.0, b=2.0, **words",
]  # fmt: skip


@pytest.mark.parametrize("signature", SIGNATURES)
@pytest.mark.parametrize("inside", [False, True], ids=["global", "closure"])
def test_a_first_call_gets_what_it_is_given_by_each_kind_of_parameter(signature, inside, tmp_path):
    names = ", ".join(inspect.signature(eval(f"lambda {signature}: 0")).parameters)
    text = f"def f({signature}):\n    return float(z), w, {names}\n"
    if inside:
        inner = text.replace("\n", "\n    ")
        text = f"def around(w, z):\n    {inner}return f\nf = around(1.0, 2.0)\n"
    module = module_of(tmp_path, f"w, z = 1.0, 2.0\n{text}")
    calls = [
        ((), {}), ((5.0,), {}), ((5.0, 6.0), {"k": 7.0}), ((), {"x": 5.0, "q": 9.0})
    ]  # fmt: skip
    wanted = [outcome(module.f, call) for call in calls]
    shown = inspect.signature(module.f), inspect.getsource(module.f)
    assert len({*map(str, wanted)}) > 2
    for call, result in zip(calls, wanted):
        with ft.adopt(module):
            assert (inspect.signature(module.f), inspect.getsource(module.f)) == shown
            assert outcome(module.f, call) == result == outcome(module.f, call)


def outcome(f, call):
    try:
        return f(*call[0], **call[1])
    except TypeError as error:
        return str(error)


FRAMES = """
import sys, warnings
from warnings import warn

def told():
    warnings.warn("told", stacklevel=3)
    warn("its caller", stacklevel=2)
    frames = sys._getframe(), sys._getframe(1), sys._getframe(2), sys._getframe(3)
    return [frame.f_code.co_name for frame in frames]

def middle():
    return told()

def outer():
    return middle()

def walked():
    return sys._getframe().f_back.f_code.co_name
"""


def test_who_looks_at_callers_finds_the_same_ones_at_the_first_call(tmp_path):
    module = module_of(tmp_path, FRAMES)

    def look():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = module.outer(), module.walked()
        return found, [(w.filename, w.lineno, str(w.message)) for w in caught]

    wanted = look()
    assert wanted[0] == (["told", "middle", "outer", "look"], "look")
    with ft.adopt(module):
        assert look() == wanted == look()


def test_code_is_made_for_functions_that_are_called_and_for_no_others(tmp_path):
    text = "".join([f"def f{i}(x):\n    return float(x) * {i}\n" for i in range(20)])
    module = module_of(tmp_path, text)

    def waiting():
        codes = [getattr(module, f"f{i}").__code__ for i in range(20)]
        return [i for i, code in enumerate(codes) if code.co_names == ("_functier first",)]

    with ft.adopt(module):
        assert waiting() == [*range(20)]
        assert ft.grad(module.f3)(2.0) == ft.grad(module.f3)(1.0) == 3.0
        assert waiting() == [*range(3), *range(4, 20)]
        made = module.f3.__code__
    with ft.adopt(module):
        assert module.f3.__code__ is made and ft.grad(module.f3)(2.0) == 3.0


def test_functions_with_one_code_get_the_other_code_together(tmp_path):
    text = "def around(k):\n    def f(x):\n        return float(x) * k\n    return f\n"
    module = module_of(tmp_path, f"{text}a, b = around(2.0), around(3.0)\n")
    code = module.a.__code__
    with ft.adopt(module):
        assert ft.grad(module.a)(1.0) == 2.0
        assert module.a.__code__ is module.b.__code__ is not code
        assert ft.grad(module.b)(1.0) == 3.0
    assert module.a.__code__ is module.b.__code__ is code


def test_first_calls_of_several_threads_at_once(tmp_path):
    module = module_of(tmp_path, "def f(x):\n    return float(x) ** 2\n")
    found, barrier = [], threading.Barrier(4)

    def run():
        barrier.wait()
        found.append(ft.grad(module.f)(3.0))

    with ft.adopt(module):
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [6.0] * 4


def test_compile_makes_the_code_of_what_it_replays(tmp_path):
    text = "def inner(x, k=2.0):\n    return float(x) * k\ndef f(x):\n    return inner(x) ** 2\n"
    module = module_of(tmp_path, text)
    with ft.adopt(module):
        step = ft.compile(ft.grad(module.f))
        assert [step(x) for x in (1.0, 2.0, 3.0)] == [8.0, 16.0, 24.0]
        assert np.allclose(ft.vmap(module.f)(np.arange(3.0)), [0.0, 4.0, 16.0])
