"""The table of facts: what functier takes from CPython, since when, and what happens without.

A fact is checked once, when somebody asks first whether it holds. Where it does not, the functions
of this room answer that they cannot see; their callers refuse, or go the plain way. So a result is
right in each interpreter, or there is none.
"""

import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any


class Fact:
    """What an interpreter does that Python does not promise.

    Attributes
    ----------
    since : str
        The first version of CPython that does.
    says : str
        What it does.
    without : str
        What happens where it does not.
    check : function
        Tells if this interpreter does.
    """

    def __init__(self, check: Callable[[], Any], since: str, says: str, without: str):
        self.check, self.since, self.says, self.without = check, since, says, without

    @cached_property
    def holds(self) -> bool:
        """True where this interpreter does what the fact says."""
        try:
            return bool(self.check())
        except Exception:  # of any kind: the interpreter has no such thing
            return False


FACTS: dict[str, Fact] = {}
"""The facts by their names, which are those of their checks."""


def fact(since: str, says: str, without: str) -> Callable[[Callable[[], Any]], Fact]:
    """Declare a fact, by a function that checks it."""

    def declare(check: Callable[[], Any]) -> Fact:
        FACTS[check.__name__] = found = Fact(check, since, says, without)
        return found

    return declare


# ---- frames ----


@fact(
    "2.1",
    says="sys._getframe(n) is the frame of the n-th caller, and f_back that of its caller",
    without="messages name no line, and levels of a with block are refused",
)
def callers() -> bool:
    frame: Any = sys._getframe(0)
    return frame.f_back is sys._getframe(1)
