"""The line that says what takes long, while a program is made."""

import time
import warnings
from operator import itemgetter
from typing import Any

from .loops import count_calls
from .rolling import written_out

PATIENCE = 5.0
"""After so many seconds a user wants to know."""


def tell_if_slow(begin: float, label: str, what: str, graph: Any, stacklevel: int) -> None:
    """Warn if something has taken long since `begin`, and say what to write."""
    seconds = time.perf_counter() - begin
    if seconds < PATIENCE or graph is None:
        return
    _, longest = max(written_out(graph), key=itemgetter(0), default=(0, ""))
    remedy = (
        f"these are not a loop: {longest}; make them alike, with numbers of the same type and "
        f"arrays of the same shape, or write the loop with functier.scan, which records one step"
        if longest
        else "each step of a Python loop is recorded; functier.scan and functier.fori_loop record "
        "one step for all"
    )
    warnings.warn(
        f"{label}: {what} took {seconds:.0f} s, for {count_calls(graph):,} calls; {remedy}",
        RuntimeWarning,
        stacklevel=stacklevel,
    )
