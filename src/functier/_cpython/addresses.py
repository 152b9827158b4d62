"""Addresses: memory by its number, slots in C, and the types of descriptors."""

from collections.abc import Iterator
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

SLOTS = MemberDescriptorType, GetSetDescriptorType


def slots_of(x: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object that are in slots, or computed in C, with their names."""
    for cls in type(x).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, SLOTS):
                yield name, _read(member, x)


def _read(member: Any, x: Any) -> Any:
    try:
        return member.__get__(x)
    except Exception:  # an empty slot, or a getter in C that raises an error
        return None
