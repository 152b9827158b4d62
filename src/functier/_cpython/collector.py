"""The collector, and counts of references: who holds an object, and what it holds."""

import gc
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import getweakrefcount, getweakrefs

from . import facts

COUNTS = facts.counts.holds
"""True where the interpreter counts references at once."""

observers = gc.callbacks
"""The functions that are told when a collection begins and ends."""

count_references: Any = getattr(sys, "getrefcount", None)
count_weak_references, weak_references = getweakrefcount, getweakrefs


def references_of_argument() -> int:
    """Return how many references a function makes by its argument: none where it borrows it.

    CPython does so since 3.14, where a variable of the caller holds the object.
    """
    x = object()
    return (lambda y: count_references(y))(x) - count_references(x) if COUNTS else 1


def instances_of(*classes: type) -> list[Any]:
    """Return the objects of these very classes."""
    facts.referrers.need()
    kinds = {*classes}
    return [x for x in gc.get_referrers(*classes) if type(x) in kinds]


def holders_of(values: list[Any]) -> list[Any]:
    """Return the objects that refer to some others; the list itself is one."""
    facts.referrers.need()
    return gc.get_referrers(*values)


def _refuse(x: Any) -> list[Any]:
    facts.referents.need()
    return []


parts_of: Callable[[Any], list[Any]] = gc.get_referents if facts.referents.holds else _refuse
"""Return what an object refers to."""


def namespace_of(cls: type) -> dict | None:
    """Return the dictionary that has the attributes of a class, or None where it is hidden."""
    found = gc.get_referents(cls) if facts.referents.holds else ()
    return next((part for part in found if type(part) is dict), None)


def containers_among(values: Iterable[Any]) -> Iterable[Any]:
    """Return the objects that may refer to others, as the collector knows."""
    return filter(gc.is_tracked, values) if facts.objects.holds else values


def all_containers() -> Collection[Any] | None:
    """Return all objects that may refer to others, or None where some are hidden."""
    return None if gc.get_freeze_count() or not facts.objects.holds else gc.get_objects()


@contextmanager
def resting() -> Iterator[None]:
    """Let the collector rest while many objects are made: it would look at them again and again."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def known_containers() -> Collection[Any]:
    """Return the objects that may refer to others, as far as they can be seen."""
    return gc.get_objects() if facts.objects.holds else []
