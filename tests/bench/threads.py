"""Machine code in two threads beside one: wall time, one call after the other."""

import os
import time

from .libraries import MachineCode
from .workloads import WORKLOADS

NAMES = ("elementwise_1e7",)


def measure(rounds: int, names: tuple[str, ...] = NAMES) -> dict[str, dict[str, list[float]]]:
    """The seconds of calls in turn; none where there is one core."""
    if not hasattr(os, "sched_setaffinity"):
        return seconds(rounds, names) if (os.cpu_count() or 1) > 1 else {}
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        return seconds(rounds, names) if len(os.sched_getaffinity(0)) > 1 else {}
    finally:
        os.sched_setaffinity(0, before)


def seconds(rounds: int, names: tuple[str, ...]) -> dict[str, dict[str, list[float]]]:
    found = {}
    for name in names:
        calls = {str(n): WORKLOADS[name].call(MachineCode(n)) for n in (1, 2)}
        times: dict[str, list[float]] = {n: [] for n in calls}
        for call in calls.values():
            call()
        for _ in range(rounds):
            for n, call in calls.items():
                start = time.perf_counter()
                call()
                times[n].append(time.perf_counter() - start)
        found[name] = times
    return found
