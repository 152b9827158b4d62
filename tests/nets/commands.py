"""The command line of nets that run the numbered programs of a seed."""

import time
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Any


def make_parser(net: str, text: str | None, programs: int) -> ArgumentParser:
    """Return a parser with the options that all these nets have."""
    parser = ArgumentParser(prog=f"nets.{net}", description=text)
    parser.add_argument("programs", nargs="?", type=int, default=programs)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first number")
    parser.add_argument("--number", type=int, help="one number, in detail")
    parser.add_argument("--most", type=int, default=10, help="stop after so many wrong cases")
    return parser


def run_numbers(net: Any, given: Namespace) -> None:
    """Run the numbers that were asked for; print what is wrong as it comes, and a summary."""
    numbers = range(given.start, given.start + given.programs)
    if given.number is not None:
        numbers = range(given.number, given.number + 1)
    wrong = net.counts.wrong
    start, shown = time.process_time(), 0
    for number in numbers:
        try:
            net.run(number)
        except Exception:
            print(f"the net itself failed at seed {given.seed}, number {number}")
            traceback.print_exc()
        for text in wrong[shown:]:
            print(text, "\n", flush=True)
        shown = len(wrong)
        if shown >= given.most:
            break
    print(f"{net.summary()}; {time.process_time() - start:.0f} s")


def run_on_backends(args: Sequence[str], name: str, text: str | None, net: Callable) -> int:
    """Run a net of compiled programs from the command line; return if anything was wrong.

    ``net(seed, backend=...)`` makes it. It may have texts of what was `rounded`, and of loops that
    stayed `flat`.
    """
    parser = make_parser(name, text, 200)
    parser.add_argument("--backend", choices=("numpy", "llvm"), default="numpy")
    given = parser.parse_args(args)
    found = net(given.seed, backend=given.backend)
    run_numbers(found, given)
    for pattern, count in found.counts.refused.most_common():
        print(f"  {count:6} {pattern}")
    rounded = found.rounded if given.backend == "numpy" else ()
    for shown in (*getattr(found, "flat", ()), *rounded):
        print(shown, "\n")
    return bool(found.counts.wrong)
