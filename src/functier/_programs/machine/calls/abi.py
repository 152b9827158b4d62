"""C functions of Python and NumPy that machine code calls, and where objects have their parts.

NOTE [layouts that are looked at]
    Heads of arrays and of numbers are public structures of C. Their offsets are compared with
    objects that Python has made, once in each process. Where they differ (other builds of Python,
    other releases of NumPy), `reason` says so, and there is no machine code.
"""

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from ...._core.numpy_private import ARRAY_API
from ...._cpython.objects import (
    HEAD,
    OBJECT,
    TYPE,
    address_of,
    at,
    bytes_hold,
    floats_hold,
    function_at,
    function_of_python,
    read,
    text_at,
    why_not,
)

VALUE = HEAD
"""Offset of the value of a float, and of a number of NumPy's."""
DATA, NDIM, DIMS, STRIDES, DTYPE, FLAGS = [HEAD + 8 * i for i in (0, 1, 2, 3, 5, 6)]
ALIGNED = 0x100
"""The flag of an array whose elements are aligned."""

KINDS = "biufc"
"""Kinds of dtypes whose values are plain memory."""

FUNCTIONS = (
    "PyErr_CheckSignals", "PyErr_NoMemory", "PyErr_Occurred", "PyErr_SetNone",
    "PyEval_RestoreThread", "PyEval_SaveThread", "PyFloat_FromDouble", "PyBool_FromLong",
    "PyLong_AsLongLongAndOverflow", "PyLong_FromLongLong", "PyMem_RawFree", "PyMem_RawMalloc",
    "PyObject_Vectorcall", "PyTuple_New", "PyTuple_SetItem", "Py_DecRef", "PyGILState_Ensure",
    "PyGILState_Release", "PyLong_AsLongLong",
)  # fmt: skip
TABLE = {"PyArray_Scalar": 60, "PyArray_New": 93, "PyArray_EquivTypes": 182}
"""The places of functions in NumPy's table, which are the same for one major version."""


@lru_cache(1)
def table() -> Any:
    """Return NumPy's table of C functions."""
    unpack = function_of_python("PyCapsule_GetPointer", ctypes.c_void_p, OBJECT, ctypes.c_char_p)
    return ctypes.cast(unpack(ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


@lru_cache(1)
def addresses() -> dict[str, int]:
    """Return the addresses of functions and types, by their names in C."""
    found: dict[str, Any] = {name: address_of(name) for name in FUNCTIONS}
    for name, place in TABLE.items():
        found[name] = table()[place]
    found |= {
        "PyArray_Type": id(np.ndarray), "PyFloat_Type": id(float), "PyLong_Type": id(int),
        "Py_True": id(True), "Py_False": id(False),
    }  # fmt: skip
    return found


@lru_cache(1)
def reason() -> str:
    """Return why machine code cannot work with the objects of this process; else nothing."""
    try:
        if found := why_not():
            return found
        if not functions_hold():
            return "the C functions of this NumPy are unknown"
        if not arrays_hold():
            return "the arrays of this NumPy have an unknown layout"
        if not numbers_hold():
            return "numbers of this Python or NumPy have an unknown layout"
    except (AttributeError, ctypes.ArgumentError, ValueError) as error:
        return f"this Python or NumPy lacks a function: {error}"
    return ""


def functions_hold() -> bool:
    """Return whether NumPy's table has the functions that it should have."""
    if not bytes_hold():
        return False
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table()[0])
    if version() >> 24 != 2 or table()[2] != id(np.ndarray):
        return False
    known = addresses()
    double, single = np.dtype(float), np.dtype("f4")
    same = function_at(known["PyArray_EquivTypes"], ctypes.c_ubyte, OBJECT, OBJECT)
    if not same(double, np.dtype("f8", metadata={"a": 1})) or same(double, single):
        return False
    pointer = ctypes.c_void_p
    number = function_at(known["PyArray_Scalar"], OBJECT, pointer, OBJECT, pointer)
    value = ctypes.c_double(1.5)
    found = number(ctypes.addressof(value), double, None)
    if type(found) is not np.float64 or found != 1.5:
        return False
    new = function_at(
        known["PyArray_New"], OBJECT, OBJECT, ctypes.c_int, pointer, ctypes.c_int, pointer,
        pointer, ctypes.c_int, ctypes.c_int, pointer,
    )  # fmt: skip
    dims, strides = (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(4, 8)
    given = [ctypes.addressof(dims), single.num, ctypes.addressof(strides)]
    made = new(np.ndarray, 2, *given, None, 0, 0, None)
    return type(made) is np.ndarray and (made.shape, made.strides) == ((2, 3), (4, 8))


def arrays_hold() -> bool:
    """Return whether the head of an array is where it should be."""
    x = np.zeros((5, 8, 3), np.float32)[1:4, ::2]
    place = np.ndarray((3,), np.float32, x.tobytes(), 0)
    bent = np.frombuffer(bytearray(9), np.int8)[1:].view(np.int64)
    for y in (x, place, bent, np.array(1.0)):
        sizes = at(ctypes.c_int64 * y.ndim, read(ctypes.c_int64, y, DIMS) or id(y))
        steps = at(ctypes.c_int64 * y.ndim, read(ctypes.c_int64, y, STRIDES) or id(y))
        aligned = bool(read(ctypes.c_int, y, FLAGS) & ALIGNED)
        if not (
            read(ctypes.c_int64, y, TYPE) == id(np.ndarray)
            and read(ctypes.c_int64, y, DATA) == y.ctypes.data
            and read(ctypes.c_int, y, NDIM) == y.ndim
            and (*sizes,) == y.shape
            and (*steps,) == y.strides
            and read(ctypes.c_int64, y, DTYPE) == id(y.dtype)
            and aligned == y.flags.aligned
        ):
            return False
    return True


def numbers_hold() -> bool:
    """Return whether floats and NumPy's numbers have their values where they should be."""
    if not floats_hold(VALUE):
        return False
    for char in "?bBhHiIlLqQfdFD":
        x = np.array([1.25], np.dtype(char))[0]
        if read(ctypes.c_int64, x, TYPE) != id(type(x)):
            return False
        if text_at(id(x) + VALUE, x.dtype.itemsize) != x.tobytes():
            return False
    return True
