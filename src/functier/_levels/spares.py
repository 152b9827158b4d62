"""Spare classes: a later level takes the class of a level that has ended, if nobody can tell.

NOTE [a class is used again where nobody can tell]
    To create a class costs more than the rest of a small call, and a new class starts with cold
    caches. So a transform leaves its class as a spare when it returns. The next level of that
    kind inside the same enclosing class takes it, if nobody holds it. A program that holds a
    class could compare it with that of the next level, or use an escaped tensor in it. For
    such a program the next level gets a new class.

NOTE [who holds a class]
    CPython counts references. The counts of a new class and of its parts are facts of the
    interpreter, the same for all kinds, and so is the number that its spare classes add. One
    more reference is a holder: an instance, a variable, a container, a frame, a list of all
    objects. A weak reference is a holder, too. With a callback it adds to the count of weak
    references; without one, CPython shares one object with the base of the class, so the
    references to that object are counted. The weak references of optree do not count: by these
    it remembers that a class is not a named tuple, which stays true. The caches of abstract base
    classes look like their registers, so they count as holders. The tuple of classes, the
    dictionary and the level lead to the class, and are counted like it.

    A program can set an attribute without holding the class. `LevelType` notes that, and no
    later level gets the class.

    The counts are read when a class is given back, and when a thread takes it, after it has
    removed it from the spares. They are compared with the facts, never with an earlier count. A
    brief holder (a callback of the collector, a debugger in another thread) makes them too high,
    and the class is not used. Only a program that lists all classes can refer to a spare one.
    Then nobody takes the class, but its base may be taken, and the program can see that.
"""

from collections.abc import Callable
from typing import Any
from weakref import ref

import optree

from .._cpython import facts
from .._cpython.collector import (
    COUNTS,
    count_references,
    count_weak_references,
    namespace_of,
    references_of_argument,
    weak_references,
)

ALONE, ASKING = 3, 1
"""The number of references to a class that nobody holds: from its tuple of classes, and two from
its level. It is a fact of the kind, `Level.alone`. `ASKING` is the reference of the caller.
"""

ORDER, REFERENCE, NAMES, LEVEL, WEAK = 3, 3, 3, 4 + references_of_argument(), 1
"""The numbers of references to the parts of a class that nobody holds, and of weak references to
the class, for `is_alone`.

They are facts of CPython 3.11 to 3.14. An interpreter with other facts uses no class again.
"""

_fits: bool | None = None  # True where the facts hold in this interpreter; None: not known yet


class LevelType(type):
    """The class of level classes; it notes that a program sets or deletes an attribute of one."""

    level: Any

    def __repr__(cls) -> str:
        return f"<class 'functier {cls.__name__} at depth {cls.level.depth}'>"  # not of NumPy

    def __setattr__(cls, name: str, value: Any) -> None:
        cls.level.serves = False
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        cls.level.serves = False
        super().__delattr__(name)


def record_counts(level: Any) -> None:
    """Record the counts of references to the new class of `level` while nobody holds it."""
    cls = level.cls
    names = namespace_of(cls)
    level.expected = [level.alone + ASKING, ORDER, REFERENCE, NAMES, LEVEL, WEAK]
    level.parts = (cls, cls.__mro__, ref(cls), names, level), level.expected
    level.nested = 0


def facts_hold(make: Callable[[], Any]) -> bool:
    """Return whether the facts hold in this interpreter, by the class of a level from `make`.

    The answer stays False if somebody holds that class during the first call.
    """
    global _fits
    if _fits is None:
        level = make() if COUNTS and facts.referents.holds else None
        _fits = level is not None and is_alone(level)
    return _fits


def give_back(level: Any) -> None:
    """Let a later level have the class of `level`, which has ended, if nobody holds it."""
    if level.spare or level.nested:  # it has nested spares, or had some the last time
        _count_nested(level)
    if count_references(level.cls) == level.expected[0]:
        level.home[level.key] = level


def is_held(level: Any) -> bool:
    """Return whether somebody holds the class of `level`, which has ended, or may hold it."""
    if not level.serves:
        return True
    if level.spare or level.nested:
        _count_nested(level)
    return count_references(level.cls) != level.expected[0]


def _count_nested(level: Any) -> None:
    """Add the references of the spare classes nested in that of `level`, and of their levels.

    Each has it in its ``__mro__``. A child also has it as its base, which makes two, and mostly
    as the class that was ambient before.
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
    """Return whether nobody holds the spare `level`, which the caller has in a single variable."""
    parts, expected = level.parts
    found = [*map(count_references, parts), count_weak_references(parts[0])]
    return found == expected or (found[:-1] == expected[:-1] and _is_only_cached(level))


class _Probe:
    """A class for optree to refer to."""


optree.tree_leaves([_Probe()])  # type: ignore[arg-type]  # of any type
CACHES = {type(r.__callback__.__self__) for r in weak_references(_Probe) if r.__callback__}
"""The types of the objects that optree's weak references call when a class is freed."""


def _is_only_cached(level: Any) -> bool:
    """Return whether the weak references to a class are those of its base and of optree's caches.

    These stay as long as the class, so their number is kept for the next time.
    """
    callbacks = [r.__callback__ for r in weak_references(level.cls)]
    callbacks.remove(None)
    known = all(type(getattr(call, "__self__", None)) in CACHES for call in callbacks)
    if known:
        level.expected[-1] = WEAK + len(callbacks)
    return known
