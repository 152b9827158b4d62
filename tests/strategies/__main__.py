"""Run the nets of drawn programs at random for hours, and say their counts.

From the folder of the checkout, for all nets or for those that are named::

    PYTHONPATH=tests python -m strategies --hours 8 writes programs

Each net in turn has a round of draws with a new seed, which is printed: a wrong program is shrunk,
printed, and kept in the folder ``.hypothesis``, from where the next run begins with it.
"""

import argparse
import importlib
import secrets
import sys
import time
import warnings
from pathlib import Path

from hypothesis import settings

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import conftest  # noqa: E402, F401  # which has the profiles
from strategies.nets import NETS  # noqa: E402


def load():
    """Import the tests that have nets."""
    for path in sorted(TESTS.glob("*/test_*.py")):
        if "from strategies.nets import" in path.read_text(encoding="utf-8"):
            importlib.import_module(".".join(path.relative_to(TESTS).with_suffix("").parts))


def run(names, hours, examples):
    """Run rounds until the time is over; return how many of them found something wrong."""
    load()
    totals = {name: NETS[name].counts() for name in names or NETS}
    wrong, end = 0, time.monotonic() + 3600 * hours
    while time.monotonic() < end:
        for name, counts in totals.items():
            seed = secrets.randbelow(1 << 32)
            try:
                NETS[name].run(counts, examples, seed, database=settings.default.database)
            except AssertionError as error:
                wrong += 1
                print(f"{name}, seed {seed}: {error}", *getattr(error, "__notes__", ()), sep="\n")
            print(f"{counts.summary()}; seed {seed}", flush=True)
            if time.monotonic() > end:
                break
    for counts in totals.values():
        for pattern, count in counts.refused.most_common():
            print(f"  {counts.name}: {count:6} {pattern}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--examples", type=int, default=500, help="draws of a round")
    given = parser.parse_args()
    settings.load_profile("long")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(run(given.names, given.hours, given.examples))


if __name__ == "__main__":
    sys.exit(main())
