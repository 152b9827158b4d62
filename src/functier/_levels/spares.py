"""Spare classes: the class of a level that has ended serves a later level, where nobody can tell.

Imports nothing of the package.

NOTE [a class is used again where nobody can tell]
    Minting costs more than the rest of a small call, and a new class starts with cold
    caches. So a transform that returns leaves its class as a spare, and the next level of that
    kind under the same enclosing class takes it, if nobody holds it. A program that holds a
    class could compare it with that of the next level, or use an escaped tensor in it. For
    such a program the next level gets a new class.

NOTE [who holds a class]
    CPython counts. The numbers of references to a fresh class and to its parts are facts of
    the interpreter, the same for all kinds, and so are those that its spare classes add. One
    more reference is a holder: an instance, a variable, a container, a frame, a picture of all
    objects. A weak reference is one, too: with a callback it adds to the count of weak
    references; without, CPython shares one object with the class's base, so the references to
    that object count. The weak references of optree do not count: by them it remembers that a
    class is not a named tuple, which stays true when the class serves again. The caches of
    abstract base classes cannot be told from their registers, so they count as holders. The
    tuple of classes, the dictionary and the level lead to the class, and are counted like it.

    An attribute can be set without holding the class. `LevelType` notes that, and the class
    serves no later level.

    The numbers are asked for when a class is given back, and when it is taken by the thread
    that has removed it from where it waited. They are compared with the facts, never with a
    count of another moment. A brief holder (a collection's callback, a debugger in another
    thread) makes them too high: the class is left alone. Only a program that lists all classes
    can get hold of a spare one. Then the class is not taken, but its base may be, and the
    program can see that.
"""

import gc
import sys
from collections.abc import Callable
from typing import Any
from weakref import getweakrefcount, getweakrefs, ref

import optree

ALONE, ASKING = 3, 1
"""The references to a class that nobody holds, a fact of the kind (`Level.alone`): from its tuple
of classes, and twice from its level. `ASKING` is the reference of the caller that asks.
"""

ORDER, REFERENCE, NAMES, LEVEL, WEAK = 3, 3, 3, 5, 1
"""The references that `is_alone` counts to the parts of a class that nobody holds, and the weak
ones to the class.

Facts of CPython 3.11 to 3.13. Where an interpreter has others nothing is used again.
"""

COUNTS = sys.implementation.name == "cpython" and "free-threading" not in sys.version
"""Whether the interpreter counts references, each at once."""

getrefcount: Any = getattr(sys, "getrefcount", None)
_fits: bool | None = None  # whether the facts are this interpreter's; None: not known yet


class LevelType(type):
    """The class of level classes, which notices where an attribute of one is set or deleted."""

    level: Any

    def __setattr__(cls, name: str, value: Any) -> None:
        cls.level.serves = False
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        cls.level.serves = False
        super().__delattr__(name)


def note(level: Any) -> None:
    """Record the counts of references to the new class of `level` while nobody holds it."""
    cls = level.cls
    names = next(part for part in gc.get_referents(cls) if type(part) is dict)
    level.expected = [level.alone + ASKING, ORDER, REFERENCE, NAMES, LEVEL, WEAK]
    level.parts = (cls, cls.__mro__, ref(cls), names, level), level.expected
    level.nested = 0


def verified(make: Callable[[], Any]) -> bool:
    """Whether the facts are this interpreter's, by the class of the level that `make` makes.

    A holder at the moment of the first question leaves the answer at False.
    """
    global _fits
    if _fits is None:
        level = make() if COUNTS else None
        _fits = level is not None and is_alone(level)
    return _fits


def give_back(level: Any) -> None:
    """Let a later level have the class of `level`, which has ended, if nobody holds it."""
    if level.spare or level.nested:  # there are nested spares, or were the last time
        _count(level)
    if getrefcount(level.cls) == level.expected[0]:
        level.home[level.key] = level


def _count(level: Any) -> None:
    """Note how often the spare classes nested in that of `level`, and their levels, refer to it.

    Each has it in its ``__mro__``; a child has its parent as its base, too, twice, and mostly as
    what was ambient before.
    """
    nested = children = by_levels = 0
    cls = level.cls
    for child in tuple(level.spare.values()):
        nested += 1 + child.nested
        children += 3 if child.outer is cls else 2
        by_levels += child.parent is level
    level.nested = nested
    level.expected[0] = level.alone + ASKING + nested + children
    level.expected[4] = LEVEL + by_levels


def is_alone(level: Any) -> bool:
    """Whether nobody holds the spare `level`, which the caller has in one variable alone."""
    parts, expected = level.parts
    found = [*map(getrefcount, parts), getweakrefcount(parts[0])]
    return found == expected or (found[:-1] == expected[:-1] and _is_only_cached(level))


class _Probe:
    """A class that optree has met."""


optree.tree_leaves([_Probe()])  # type: ignore[arg-type]  # of any type
CACHES = {type(r.__callback__.__self__) for r in getweakrefs(_Probe) if r.__callback__}
"""The types of the objects that optree's weak references call when a class goes."""


def _is_only_cached(level: Any) -> bool:
    """Whether the weak references to a class are those of its base and of optree's caches.

    These stay as long as the class does, so that their number need not be looked into again.
    """
    callbacks = [r.__callback__ for r in getweakrefs(level.cls)]
    callbacks.remove(None)
    known = all(type(getattr(call, "__self__", None)) in CACHES for call in callbacks)
    if known:
        level.expected[-1] = WEAK + len(callbacks)
    return known
