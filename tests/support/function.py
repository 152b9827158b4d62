"""One command for one function: all checks of its rows, its planted faults, its coverage row.

``python tests/support/function.py numpy.sort special.erf`` takes at most ten seconds for each.
"""

import os
import random
import sys
import time
import warnings
from collections import Counter
from difflib import get_close_matches
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as for the tests, before NumPy is imported
if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # where the package `support` is

import numpy as np
import pytest

import samples
from functier._core.numpy_facts import name_of
from functier._core.table import UNSUPPORTED
from functier.protocol import Op
from functier.testing import operations
from nets.verdicts import Verdicts
from samples._row import Row
from support import checks, coverage_page, planted, scipy_coverage
from support.scipy_names import CONTINUOUS, DISCRETE
from support.surface import called, rows_of

SECONDS = 9.0
"""The processor's time for one function: the nets stop there, and what is left is said."""

# ---- names ----


def find(text: str) -> tuple[str, Any]:
    """Return the whole name of a function, and the function."""
    first, dot, rest = text.partition(".")
    text = {"np": "numpy", "sp": "scipy"}.get(first, first) + dot + rest
    whole = text.startswith(("numpy.", "scipy.", "functier.", "operator."))
    for name in [text] if whole else [f"numpy.{text}", f"scipy.{text}"]:
        try:
            func = resolve_name(name)
        except (ImportError, AttributeError, ValueError):
            continue
        if callable(func):
            return (name_of(func) if func in operations() else name), func
    known = {op.name for op in operations().values()} | set(map(name_of, UNSUPPORTED))
    known |= {f"scipy.{n}" for n in coverage_page.stored(scipy_coverage.PAGE.read_text())}
    near = get_close_matches(text if whole else f"numpy.{text}", known, 5)
    raise SystemExit(f"there is no function {text!r}; near names: {', '.join(near) or 'none'}")


def file_of(name: str, func: Any) -> str:
    """Return the file of samples that has most rows of functions declared as this one is."""

    def kind(func: Any) -> Any:
        home, library = planted.home_of(func), name_of(func).partition(".")[0]
        return home or (func in operations() and (operations()[func].family, library))

    own, part = kind(func), name.split(".")[1]
    there = {id(row) for f, rows in called().items() if own and kind(f) == own for row in rows}
    votes = Counter(n.partition(".")[0] for n, row in samples.named().items() if id(row) in there)
    likely = [f for f in samples.families() if f.startswith(f"scipy_{part}") or f == part]
    best = max(votes, key=votes.__getitem__, default=likely[0] if likely else "")
    return f"tests/samples/{best}.py" if best else "the file of its family in tests/samples"


# ---- checks, nets and faults ----


class Results:
    """The checks of each row that passed and failed, and the cases of nets that were left."""

    def __init__(self, rows: dict[str, Row]):
        self.rows, self.left = rows, []
        self.passed: dict[str, list[str]] = {name: [] for name in rows}
        self.failed: dict[str, list[str]] = {name: [] for name in rows}

    def run_checks(self) -> None:
        for kind, (_, applies) in checks.CHECKS.items():
            for name, row in self.rows.items():
                if applies(row):
                    try:
                        checks.run_check(kind, row, whole=True)
                        self.passed[name].append(kind)
                    except (Exception, pytest.fail.Exception) as error:
                        self.failed[name].append(f"{kind}: {brief(error)}")

    def run_nets(self, until: float) -> None:
        """Give each net its share of the time that is left; rows that have failed have none."""
        from nets.of_a_row import NETS  # they ask for the rows

        rows = {name: row for name, row in self.rows.items() if not self.failed[name]}
        for i, (net, (reasons, cases_of)) in enumerate(NETS.items()):
            now, counts = time.process_time(), {name: Verdicts(net, reasons) for name in rows}
            stop = now + (until - now) / (len(NETS) - i)
            cases = [(name, case) for name, row in rows.items() for case in cases_of(name, row)]
            random.Random(1).shuffle(cases)
            for k, (name, case) in enumerate(cases):
                if time.process_time() > stop:
                    self.left.append(f"{len(cases) - k} of {len(cases)} cases of {net}")
                    break
                try:
                    case(counts[name])
                except Exception as error:
                    self.failed[name].append(f"{net}: {brief(error)}")
            for name, found in counts.items():
                self.failed[name] += [f"{net}: {text}" for text in found.wrong]
                if found.total and not found.wrong:
                    self.passed[name].append(f"{net} ({found.total})")

    def show(self) -> None:
        """Print a line for each row, and what has failed."""
        for name, wrong in self.failed.items():
            print(f"{'FAILS' if wrong else 'pass '} {name}: {', '.join(self.passed[name])}")
            for text in wrong[:5] + [f"and {len(wrong) - 5} more"] * (len(wrong) > 5):
                print("      " + text.replace("\n", "\n        "))
        if self.left:
            print(f"left to `pytest tests/nets --full`: {'; '.join(self.left)}")


def brief(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return "\n".join([type(error).__name__, *lines[:6]])


def plant_faults(func: Any, rows: dict[str, Row]) -> tuple[list[str], bool]:
    """Say what finds each fault in the rules of a function; tell if none is missed.

    The rules of private operations of its room, which its rows run, are among them.
    """
    own, room = operations().get(func), planted.room_of(func)

    def belongs(record: Op) -> bool:
        public = record.name.startswith(("numpy.", "scipy.", "_operator."))
        return record is own or (not public and planted.room_of(record.func) in (room, ""))

    records = list(filter(belongs, operations().values()))
    kinds = (
        (planted.every_rule(records), planted.rows_of_rules, planted.wrong_derivative),
        (planted.batched(records), planted.rows_of_batching_rules, planted.wrong_batch),
    )
    missed, lines = False, []
    for rules, running, wrong in kinds:
        run = running(rules, rows) if rules else {}
        for key, rule in rules.items():
            mine = own is not None and key.partition(":")[0] == own.name
            what = f"fault in {key}:"
            if not mine and key not in run:
                continue
            if key in planted.LEFT_OUT:
                lines.append(f"{what} not planted, as {planted.LEFT_OUT[key]}")
                continue
            found, others = wrong(rule, run.get(key, {}))[1], None
            if mine and not found:
                others = wrong(rule, running({key: rule}, samples.chosen()).get(key, {}))[1]
                missed |= not others
            text = "NOT FOUND by its rows" if mine else "not found, nor needs to be by these rows"
            text = f"found by {', '.join(found[0])}" if found else text
            lines.append(f"{what} {text}" + (f", but by {', '.join(others[0])}" if others else ""))
    return lines or ["no faults: it has no rules, and is made of other functions"], not missed


# ---- coverage ----


def cover(name: str, func: Any) -> list[str]:
    """Write the row of the function to its page, and say what it is."""
    pages = scipy_coverage if name.startswith("scipy.") else coverage_page
    new = pages.entries({scipy_coverage.public(func) or name.removeprefix("scipy.")})
    text = pages.PAGE.read_text()
    before = coverage_page.stored(text)
    now = pages.page(dict(sorted((before | new).items())))
    same = f"{'SciPy' if pages is scipy_coverage else 'NumPy'} {pages.version()}," in text
    if same and now != text:
        pages.PAGE.write_text(now)
    lines = [f"no coverage: {pages.PAGE.name} does not list it"] * (not new)
    for n, words in new.items():
        change = "as before" if before.get(n) == words else f"before: {before.get(n, 'no row')}"
        change = change if same else "not written, as the page is that of another version"
        lines.append(f"coverage of `{n}`: {' | '.join(words)} ({change})")
    return lines


# ---- the command ----


def check(name: str, func: Any, until: float) -> bool:
    """Check one function and print what was found; tell if all is right."""
    rows = rows_of(name, func)
    results, lines = Results(rows), []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        results.run_checks()
        right = not any(results.failed.values())
        if rows and right:
            warnings.simplefilter("ignore")
            lines, right = plant_faults(func, rows)
        lines += cover(name, func)
        warnings.simplefilter("error")
        results.run_nets(until)
    print(f"\n{name}: {len(rows)} rows of samples")
    results.show()
    right = right and not any(results.failed.values())
    if not rows:
        reason = why_without(name, func)
        right = bool(reason)
        print(reason or f"it needs rows: add one to {file_of(name, func)}")
    print(*lines, sep="\n")
    return right


def why_without(name: str, func: Any) -> str:
    """Say why a function has no rows, if it needs none."""
    short = name.removeprefix("scipy.")
    if func in UNSUPPORTED:
        return f"it is not supported: {UNSUPPORTED[func]}"
    if func in operations() and operations()[func].family == "writing":
        return "it writes to its argument: see tests/mutation"
    if short in (*scipy_coverage.trials(), *[f"stats.{n}" for n in (*CONTINUOUS, *DISCRETE)]):
        return "its coverage is that of one call: see scipy_coverage.py, tests/scipy_twins"
    return ""


def main(names: list[str], began: float | None = None) -> int:
    """Check some functions; return 1 if anything is wrong."""
    found, right = [find(name) for name in names], True
    if began is not None and all(name.startswith("numpy.") for name, _ in found):
        samples.LEFT_OUT.add("scipy_")  # which take a second
    for name, func in found:
        start, began = time.process_time() if began is None else began, None
        right &= check(name, func, start + SECONDS)
        print(f"{time.process_time() - start:.1f} seconds of the processor")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], 0.0) if sys.argv[1:] else __doc__)
