"""Addresses: memory by its number, the heads of objects, and functions of C.

NOTE [what the bytes of an object hold]
    ``id(x)`` is the address of an object. Its head has the number of references and the address of
    its class; the value of a float, and the contents of bytes, follow. `why_not` compares that with
    objects that Python has made.
"""

import ctypes
import sys
import sysconfig
from typing import Any

from . import facts

HEAD = object.__basicsize__
"""The bytes of the head of an object; its value follows."""
TYPE = HEAD - 8
"""The offset of the address of its class."""
BYTES = bytes.__basicsize__ - 1
"""The offset of the contents of a bytes object."""

OBJECT = ctypes.py_object
"""The type of C for objects of Python, whose references are counted."""

METH_FASTCALL = 0x80


def why_not() -> str:
    """Return why the addresses of objects tell nothing in this interpreter; else nothing."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} has no builtins of C"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python has no global lock"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return "the processor has no addresses of 64 bits, or is big-endian"
    return "" if facts.addresses.holds else "the heads of objects have another form than is known"


def at(kind: Any, address: int) -> Any:
    """Return what is in memory, as a value of a type of C."""
    return kind.from_address(address)


def read(kind: Any, x: Any, offset: int) -> Any:
    """Return a part of an object in memory."""
    return kind.from_address(id(x) + offset).value


def text_at(address: int, size: int = -1) -> bytes:
    """Return so many bytes of memory, or those before the first zero."""
    return ctypes.string_at(address, size)


def bytes_hold() -> bool:
    """Return whether the contents of bytes are where they should be."""
    data = b"what bytes hold"
    return text_at(id(data) + BYTES, len(data)) == data


def floats_hold(offset: int) -> bool:
    """Return whether floats have their class, and their value at this place."""
    found = read(ctypes.c_double, 0.1, offset), read(ctypes.c_int64, 0.1, TYPE)
    return found == (0.1, id(float))


# ---- functions of C ----


def function_at(address: Any, result: Any, *parameters: Any) -> Any:
    """Return the function of C that is at an address, for calls that keep Python's lock."""
    return ctypes.PYFUNCTYPE(result, *parameters)(address)


def function_of_python(name: str, result: Any, *parameters: Any) -> Any:
    """Return a function of Python's own interface in C."""
    return ctypes.PYFUNCTYPE(result, *parameters)((name, ctypes.pythonapi))


def address_of(name: str) -> int | None:
    """Return the address of a function of Python's own interface in C."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value


class Method(ctypes.Structure):
    """The head of a builtin, as Python reads it."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


def builtin_at(address: int, name: str, owners: tuple) -> Any:
    """Return the builtin of a function in memory, which keeps the owners of its address."""
    label = name.encode()
    # Bytes, as the garbage collector empties structures of ctypes, and a builtin reads its own
    # until it has ended.
    method = bytes(Method(label, address, METH_FASTCALL, None))
    new = function_of_python("PyCFunction_NewEx", OBJECT, ctypes.c_void_p, OBJECT, ctypes.c_void_p)
    return new(id(method) + BYTES, (method, label, *owners), None)
