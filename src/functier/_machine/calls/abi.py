"""C functions of Python and NumPy that machine code calls, and where objects have their parts.

NOTE [layouts that are looked at]
    Heads of arrays and of numbers are public structures of C. Their offsets are compared with
    objects that Python has made, once in each process. Where they differ (other builds of Python,
    other releases of NumPy), `reason` says so, and there is no machine code.
"""

import ctypes
import sys
import sysconfig
from functools import lru_cache
from typing import Any

import numpy as np
import numpy._core._multiarray_umath as umath  # type: ignore[import-not-found]

HEAD = object.__basicsize__
TYPE = HEAD - 8
VALUE = HEAD
"""Offset of the value of a float, and of a number of NumPy's."""
DATA, NDIM, DIMS, STRIDES, DTYPE, FLAGS = [HEAD + 8 * i for i in (0, 1, 2, 3, 5, 6)]
ALIGNED = 0x100
"""The flag of an array whose elements are aligned."""

KINDS = "biufc"
"""Kinds of dtypes whose values are plain memory."""

FUNCTIONS = (
    "PyErr_NoMemory", "PyErr_Occurred", "PyErr_SetNone", "PyEval_RestoreThread",
    "PyEval_SaveThread", "PyFloat_FromDouble", "PyBool_FromLong", "PyLong_AsLongLongAndOverflow",
    "PyLong_FromLongLong", "PyMem_RawFree", "PyMem_RawMalloc", "PyObject_Vectorcall",
    "PyTuple_New", "PyTuple_SetItem", "Py_DecRef", "PyGILState_Ensure", "PyGILState_Release",
    "PyLong_AsLongLong",
)  # fmt: skip
TABLE = {"PyArray_Scalar": 60, "PyArray_New": 93, "PyArray_EquivTypes": 182}
"""The places of functions in NumPy's table, which are the same for one major version."""
METH_FASTCALL = 0x80


class Method(ctypes.Structure):
    """The head of a builtin, as Python reads it."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


NEW = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)


def builtin_at(address: int, name: str, owners: tuple) -> Any:
    """Return the builtin of a function in memory, which keeps the owners of its address."""
    label = name.encode()
    # Bytes, as the garbage collector empties structures of ctypes, and a builtin reads its own
    # until it has ended.
    method = bytes(Method(label, address, METH_FASTCALL, None))
    start = id(method) + bytes.__basicsize__ - 1
    return NEW(("PyCFunction_NewEx", ctypes.pythonapi))(start, (method, label, *owners), None)


@lru_cache(1)
def table() -> Any:
    """Return NumPy's table of C functions."""
    unpack = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return ctypes.cast(unpack(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


@lru_cache(1)
def addresses() -> dict[str, int]:
    """Return the addresses of functions and types, by their names in C."""
    found: dict[str, Any] = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        for name in FUNCTIONS
    }
    for name, place in TABLE.items():
        found[name] = table()[place]
    found |= {
        "PyArray_Type": id(np.ndarray), "PyFloat_Type": id(float), "PyLong_Type": id(int),
        "Py_True": id(True), "Py_False": id(False),
    }  # fmt: skip
    return found


def read(kind: Any, x: Any, offset: int) -> Any:
    """Return a part of an object in memory."""
    return kind.from_address(id(x) + offset).value


@lru_cache(1)
def reason() -> str:
    """Return why machine code cannot work with the objects of this process; else nothing."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} has no builtins of C"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python has no global lock"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return "the processor has no addresses of 64 bits, or is big-endian"
    try:
        if not functions_hold():
            return "the C functions of this NumPy are not those that are known"
        if not arrays_hold():
            return "the arrays of this NumPy have another layout than is known"
        if not numbers_hold():
            return "numbers of this Python or NumPy have another layout than is known"
    except (AttributeError, ctypes.ArgumentError, ImportError) as error:
        return f"this Python or NumPy lacks a function: {error}"
    return ""


def functions_hold() -> bool:
    """Tell if NumPy's table has the functions that it should have."""
    data = b"what bytes hold"
    if ctypes.string_at(id(data) + bytes.__basicsize__ - 1, len(data)) != data:
        return False
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table()[0])
    if version() >> 24 != 2 or table()[2] != id(np.ndarray):
        return False
    known = addresses()
    double, single = np.dtype(float), np.dtype("f4")
    same = ctypes.PYFUNCTYPE(ctypes.c_ubyte, ctypes.py_object, ctypes.py_object)(
        known["PyArray_EquivTypes"]
    )
    if not same(double, np.dtype("f8", metadata={"a": 1})) or same(double, single):
        return False
    pointer = ctypes.c_void_p
    number = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, ctypes.py_object, pointer)(
        known["PyArray_Scalar"]
    )
    value = ctypes.c_double(1.5)
    found = number(ctypes.addressof(value), double, None)
    if type(found) is not np.float64 or found != 1.5:
        return False
    new = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_int, pointer, ctypes.c_int, pointer,
        pointer, ctypes.c_int, ctypes.c_int, pointer,
    )(known["PyArray_New"])  # fmt: skip
    dims, strides = (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(4, 8)
    given = [ctypes.addressof(dims), single.num, ctypes.addressof(strides)]
    made = new(np.ndarray, 2, *given, None, 0, 0, None)
    return type(made) is np.ndarray and (made.shape, made.strides) == ((2, 3), (4, 8))


def arrays_hold() -> bool:
    """Tell if the head of an array is where it should be."""
    x = np.zeros((5, 8, 3), np.float32)[1:4, ::2]
    place = np.ndarray((3,), np.float32, x.tobytes(), 0)
    bent = np.frombuffer(bytearray(9), np.int8)[1:].view(np.int64)
    for y in (x, place, bent, np.array(1.0)):
        sizes = (ctypes.c_int64 * y.ndim).from_address(read(ctypes.c_int64, y, DIMS) or id(y))
        steps = (ctypes.c_int64 * y.ndim).from_address(read(ctypes.c_int64, y, STRIDES) or id(y))
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
    """Tell if floats and NumPy's numbers have their values where they should be."""
    if read(ctypes.c_double, 0.1, VALUE) != 0.1 or read(ctypes.c_int64, 0.1, TYPE) != id(float):
        return False
    for char in "?bBhHiIlLqQfdFD":
        x = np.array([1.25], np.dtype(char))[0]
        if read(ctypes.c_int64, x, TYPE) != id(type(x)):
            return False
        if ctypes.string_at(id(x) + VALUE, x.dtype.itemsize) != x.tobytes():
            return False
    return True
