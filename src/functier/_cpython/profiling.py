"""Profiling: functions that the interpreter tells of each call while code runs."""

import sys
from collections.abc import Callable
from typing import Any

getprofile, setprofile = sys.getprofile, sys.setprofile


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
