"""Profiling: functions that the interpreter tells of each call while code runs."""

import sys
from collections.abc import Callable
from typing import Any

from . import facts

hook: Callable[[], Any] = sys.getprofile
"""Return the function that hears of calls in this thread, or None."""

set_hook: Callable[[Any], None] = sys.setprofile
"""Let another function hear of calls in this thread, or none."""


class Hearing:
    """A block in which Python tells `note` of each call; a profiler of the user hears it, too.

    One in C hears of none, and goes on after the block.
    """

    def __init__(self, note: Callable) -> None:
        self.note = note

    def __enter__(self) -> Callable:
        facts.profile.need()
        before: Any = hook()
        own, self.before = self.note, before
        if hasattr(before, "disable"):
            before.disable()
        elif before is not None:

            def note(frame: Any, event: str, argument: Any) -> None:
                own(frame, event, argument)
                before(frame, event, argument)

            self.note = note
        set_hook(self.note)
        return self.note

    def __exit__(self, *exception: Any) -> None:
        on = not hasattr(self.before, "disable")
        set_hook(self.before if on else None)
        if not on:
            self.before.enable()


def hook_of_calls(seen: dict[int, Any], enter: Callable) -> Callable:
    """Return a hook that calls ``enter(code, names, frame)`` where code begins with new globals.

    `seen` has the globals of code that needs no such call, by its number.
    """

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            code, names = frame.f_code, frame.f_globals
            if seen.get(id(code)) is not names:
                enter(code, names, frame)

    return note
