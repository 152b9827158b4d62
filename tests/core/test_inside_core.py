"""Tests of the core that look inside: tables of methods and of memory."""

import types

import numpy as np
import pytest

import functier as ft
from functier import overrides
from functier._core.hidden import MEMORY
from functier._core.reached import reached
from support.basics import raises, recorder, same

pytestmark = pytest.mark.inside("Which methods and attributes share memory is in tables.")


# ---- rfc ----


A = np.array([[1.0, 2.0], [3.0, 4.0]])


class S(ft.Tensor):
    """A subclass that defines nothing but a class attribute."""

    a = 1


METHOD_ARGUMENTS = {
    "argpartition": (1,), "astype": (int,), "choose": ([A, A],), "clip": (0, 1),
    "compress": ([True, False], 0), "dot": (A,), "fill": (2.5,), "partition": (1,),
    "put": ([0, 3], 2.5), "repeat": (2,),
    "reshape": (-1,), "searchsorted": (1.0,), "swapaxes": (0, 1), "take": (0,),
    "to_device": ("cpu",),
}  # fmt: skip


ATTRIBUTES = {
    "base", "ctypes", "data", "flags", "itemsize", "nbytes", "strides"
}  # fmt: skip
"""Attributes about the memory of an array, which a tensor does not show."""


GONE = {"itemset", "newbyteorder", "ptp", "tostring"}
"""Names that NumPy 2.1 still has, to say that they are gone."""


@pytest.mark.parametrize("name", [n for n in dir(np.ndarray) if n[0] != "_" and n not in GONE])
def test_every_public_attribute_of_an_array(name):
    """A04, A52: those that give arrays give the class"""
    x = S((A[0] if name in ("choose", "searchsorted") else A).copy())
    x = S(np.array([0, 1])) if name == "choose" else x
    if name in ATTRIBUTES:
        assert not hasattr(x, name) and hasattr(x.elem(), name)
    elif name in MEMORY:
        raises(ft.UnsupportedError, lambda: getattr(x, name)(), "elem()")
    elif name in ("shape", "dtype", "ndim", "size", "device"):
        assert getattr(x, name) == getattr(x.elem(), name)
    elif name in ("item", "tolist"):
        assert getattr(S([2.0]), name)() in (2.0, [2.0])
    elif name == "flat":
        assert [float(v) for v in x.flat] == [*A.flat]
    else:
        out, array = getattr(x, name), x.elem().copy()
        expected = getattr(array, name)
        if callable(expected):
            args = METHOD_ARGUMENTS.get(name, ())
            out, expected = out(*args), expected(*args)
        if expected is None:  # it has written to the array
            out, expected = x, array
        assert all(type(o) is S for o in (out if isinstance(out, tuple) else (out,)))
        same(out, expected)


EXEMPT = {
    "__new__", "__tensor_function__", "__tensor_dispatch__", "__array_ufunc__",
    "__array_function__", "__array_namespace__", "unwrap", "gradient",  # the protocol, and levels
    "elem", "parts", "join", "as_subclass", "shape", "ndim", "size", "dtype", "flat",
    "__len__", "__iter__",  # form
    "device", "to_device", "__dlpack__", "__dlpack_device__",
    "__bool__", "__int__", "__index__", "__float__", "__complex__", "__array__", "item", "tolist",
    "as_integer_ratio", "__getnewargs__", "__format__", "__repr__", "__str__",
    "_repr_html_", "__hash__",
    "__class__",  # which only adopted code is shown in another way
    "__dir__", "__annotate_func__",  # the latter since Python 3.14
    "__contains__", "__copy__", "__deepcopy__",  # made of operations that are seen
    "fill", "put", "view",  # item assignments, and a slice
    *MEMORY,  # these raise
}  # fmt: skip


def test_what_of_a_tensor_goes_through_the_hook():
    """A52, A09: all methods but these; see design/source-documents.md"""
    seen = {f.__self__ if f.__name__ == "__get__" else f for f in
            overrides.get_overridable_functions()[ft.Tensor]}  # fmt: skip
    for name, member in vars(ft.Tensor).items():
        if isinstance(member, (types.FunctionType, property, classmethod, staticmethod)):
            assert (member in seen) != (name in EXEMPT), name
    Recorder = recorder()
    x = Recorder(A)
    len(x), x.shape, x.dtype, repr(x), x.elem(), bool(Recorder(1.0))
    assert Recorder.functions == []
    assert 1.0 in x and list(x) and x.__copy__() is not x
    assert Recorder.functions[0] is ft.Tensor.__eq__


def test_a_function_with_an_assertion_does_not_reach_all_tests():
    """Pytest's rewriter has it name functions, by which its session is reached."""

    def f(x):
        assert x is not None, x
        return np.sin(x)

    assert len(reached([f])) < 50
