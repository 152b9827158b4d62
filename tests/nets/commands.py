"""The command line of nets that run the numbered programs of a seed."""

import time
import traceback
import warnings
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any


def run_slice(found: Any, count: int, record: Callable) -> None:
    """Run so many programs of a net, record its summary, and require what it requires."""
    for number in range(count):
        found.run(number)
    record("net", found.counts.told(found.summary()))
    getattr(found, "settle", found.counts.settle)()


def main(text: str | None, net: Callable, programs: int = 200) -> int:
    """Run a net from the command line; return if anything was wrong.

    It prints what is wrong as it comes, and a summary. ``net(seed)`` makes the net, and
    ``net(seed, backend=...)`` one of compiled programs. It may have texts of what was `rounded`,
    and of loops that stayed `flat`.
    """
    parser = ArgumentParser(description=text)
    parser.add_argument("programs", nargs="?", type=int, default=programs)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first number")
    parser.add_argument("--number", type=int, help="one number, in detail")
    parser.add_argument("--most", type=int, default=10, help="stop after so many wrong cases")
    parser.add_argument("--backend", choices=("numpy", "llvm"))
    given = parser.parse_args()
    found = net(given.seed, **({"backend": given.backend} if given.backend else {}))
    numbers = range(given.start, given.start + given.programs)
    if given.number is not None:
        numbers = range(given.number, given.number + 1)
    wrong = found.counts.wrong
    start, shown = time.process_time(), 0
    for number in numbers:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.run(number)
        except Exception:
            print(f"the net itself failed at seed {given.seed}, number {number}")
            traceback.print_exc()
        for line in wrong[shown:]:
            print(line, "\n", flush=True)
        shown = len(wrong)
        if shown >= given.most:
            break
    print(f"{found.summary()}; {time.process_time() - start:.0f} s")
    for pattern, count in found.counts.refused.most_common():
        print(f"  {count:6} {pattern}")
    rounded = () if given.backend == "llvm" else getattr(found, "rounded", ())
    for line in (*getattr(found, "flat", ()), *rounded):
        print(line, "\n")
    return bool(wrong)
