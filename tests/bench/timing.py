"""Interleaved rounds, their medians and ratios, and the load that others put on the machine."""

import gc
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

SLICE = 0.03
"""Seconds that each round gives to each library."""

Clock = Callable[[], float]


def choose_clock(threads: int | None) -> Clock:
    """CPU time for one thread, which neighbours on the machine do not stretch; else wall time."""
    return time.process_time if threads == 1 else time.perf_counter


def timed(call: Callable, clock: Clock, repeats: int = 1) -> float:
    """Seconds a call."""
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def settle() -> None:
    """Collect garbage, and keep the collector from what is left.

    The objects of one library must not slow the collections that another one causes.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def interleave(calls: dict[str, Callable], clock: Clock, rounds: int) -> dict[str, list[float]]:
    """The seconds of each call in each round.

    Every round runs every call for about the same time, and starts with another one, so
    that drift of the machine and what one leaves in the caches hit all alike.
    """
    names = list(calls)
    repeats = {}
    for name, call in calls.items():
        shortest = timed(call, clock)
        if shortest < SLICE:
            shortest = min(timed(call, clock) for _ in range(3))
        repeats[name] = max(1, round(SLICE / max(shortest, 1e-9)))
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % max(1, len(names))
        for name in names[first:] + names[:first]:
            time.sleep(SLICE)  # the worker threads of the one before stop spinning
            calls[name]()
            seconds[name].append(timed(calls[name], clock, repeats[name]))
    return seconds


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median over the rounds of the ratio within a round."""
    return statistics.median(a / b for a, b in zip(ours, theirs))


def spread(rounds: Sequence[float]) -> float:
    """The distance between the quartiles, as a part of the median."""
    low, middle, high = statistics.quantiles(rounds, n=4, method="inclusive")
    return (high - low) / middle


class OtherLoad:
    """The share of the whole machine that other processes use inside a ``with`` block."""

    share: float | None = None
    """None where the system does not tell."""

    def __enter__(self) -> "OtherLoad":
        self.before = self.ticks()
        return self

    def __exit__(self, *exception: object) -> None:
        after = self.ticks()
        if self.before and after and after[1] > self.before[1]:
            others, total = (b - a for a, b in zip(self.before, after))
            self.share = min(1.0, max(0.0, others / total))  # time that is idle can go back

    @staticmethod
    def ticks() -> tuple[float, float] | None:
        """Ticks of the machine's clock: those of other processes, and all."""
        stat = Path("/proc/stat")
        if not stat.exists():
            return None
        user, nice, system, idle, wait, *rest = map(
            int, stat.read_text().split("\n")[0].split()[1:9]
        )
        busy = user + nice + system + sum(rest)
        own = sum(os.times()[:4]) * os.sysconf("SC_CLK_TCK")
        return busy - own, busy + idle + wait
