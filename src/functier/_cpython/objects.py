"""Objects in C: where they have their attributes; memory by its number, heads, and functions.

NOTE [what the bytes of an object hold]
    ``id(x)`` is the address of an object. Its head has the number of references and the address of
    its class; the value of a float, and the contents of bytes, follow. `why_not` compares that with
    objects that Python has made.
"""

import ctypes
import sys
from collections.abc import Iterator
from types import (
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any

from . import facts

Slot = MemberDescriptorType
"""The class of what a class has for each name in its ``__slots__``."""

DESCRIPTORS: tuple[type, ...] = (
    MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType, GetSetDescriptorType,
    MemberDescriptorType,
)  # fmt: skip
"""The classes of attributes of classes in C, which cannot change."""

HEAP, FIXED = 1 << 9, 1 << 8
"""The flags of classes that are made at run time, and of those that cannot be changed."""


def is_fixed(kind: Any) -> bool:
    """Return whether the attributes of a class cannot change, as it is made in C."""
    facts.descriptors.need()
    return not kind.__flags__ & HEAP or bool(kind.__flags__ & FIXED)


def slots_of(kind: type) -> dict[str, Any]:
    """Return the descriptors of the slots of a class."""
    facts.descriptors.need()
    return {
        name: member
        for base in reversed(kind.__mro__) if base is not object
        for name, member in vars(base).items() if type(member) is MemberDescriptorType
    }  # fmt: skip


def values_in_slots(x: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object that are in slots, or computed in C, with their names."""
    for cls in type(x).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, (MemberDescriptorType, GetSetDescriptorType)):
                yield name, _read(member, x)


def _read(member: Any, x: Any) -> Any:
    try:
        return member.__get__(x)
    except Exception:  # an empty slot, or a getter in C that raises an error
        return None


def space_of(kind: type) -> Any:
    """Return the descriptor of the attribute ``__dict__`` of a class's objects, or None."""
    facts.descriptors.need()
    found = [vars(base).get("__dict__") for base in kind.__mro__ if base is not type]
    return next((x for x in found if type(x) is GetSetDescriptorType), None)


def has_plain_dict(kind: type) -> bool:
    """Return whether the attribute ``__dict__`` of a class's objects is Python's own."""
    facts.descriptors.need()
    found = [each.__dict__["__dict__"] for each in kind.__mro__ if "__dict__" in each.__dict__]
    return all([type(x) is GetSetDescriptorType for x in found])


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
    if "free-threading" in sys.version:
        return "this Python has no global lock"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return "the processor has no 64-bit addresses, or is big-endian"
    return "" if facts.addresses.holds else "the headers of objects have an unknown form"


def at(kind: Any, address: int) -> Any:
    """Return what is in memory, as a value of a type of C."""
    return kind.from_address(address)


def read(kind: Any, x: Any, offset: int) -> Any:
    """Return a part of an object in memory."""
    return kind.from_address(id(x) + offset).value


def window_at(address: int, offset: int, size: int) -> Any:
    """Return bytes of memory as an object whose `raw` are those of the moment."""
    return at(ctypes.c_char * size, address + offset)


def window(x: Any, kind: Any, size: int = 0) -> Any:
    """Return the bytes, or the first, that an object has as one of a class in C after its head."""
    return window_at(id(x), HEAD, size or kind.__basicsize__ - HEAD)


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
    # Bytes: the garbage collector empties structures of ctypes, and a builtin reads its own
    # until it has ended.
    method = bytes(Method(label, address, METH_FASTCALL, None))
    new = function_of_python("PyCFunction_NewEx", OBJECT, ctypes.c_void_p, OBJECT, ctypes.c_void_p)
    return new(id(method) + BYTES, (method, label, *owners), None)
