"""Descriptors in C, and classes that cannot change: where objects have their attributes."""

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
