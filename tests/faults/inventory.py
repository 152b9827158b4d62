"""The frozen inventory of faults: changed statements of the package, and tests that find each.

``mutations.jsonl`` has a line for each of 295 changes, drawn over all rooms by their lines. It is
data: what was found stays found. Commands, from the folder of the checkout::

    python tests/faults/inventory.py run     # plant each, run its tests, list what is not found
    python tests/faults/inventory.py draw    # list those whose statement has gone, draw others
    python tests/faults/inventory.py find    # look for tests that find those that have none yet
    python tests/faults/inventory.py counts HEAD~9  # compare the counts of faults with a commit's

``--of functier._core`` says which modules are meant. ``find`` takes tests, as pytest does, and
``--slow``; without them it takes all quick tests.
"""

import argparse
import ast
import functools
import io
import json
import math
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from faults.sites import Statement, changes, modules, path_of, statements  # noqa: E402

RECORDS = Path(__file__).with_name("mutations.jsonl")
SIZE = 295
SEED = 20260


# ---- the data ----


def read() -> list[dict]:
    """Return the records of the inventory."""
    return [json.loads(line) for line in RECORDS.read_text().splitlines()]


def store(records: list[dict]) -> None:
    records = sorted(records, key=lambda r: (r["room"], r["module"], r["function"], r["text"]))
    RECORDS.write_text("".join(f"{json.dumps(r, ensure_ascii=False)}\n" for r in records))


@functools.cache
def sites() -> dict[tuple, tuple[Statement, list[str]]]:
    """Return all statements that can be changed, with the words for their changes."""
    found = {}
    for module in modules():
        tree = ast.parse(path_of(module).read_text())
        for statement, node in statements(module, tree):
            words = [word for word, _ in changes(node)]
            if words:
                found[place(vars(statement))] = statement, words
    return found


def place(record: dict) -> tuple:
    """Return what names a statement."""
    return tuple(record[k] for k in ("module", "function", "text", "number"))


def gone(record: dict) -> bool:
    """Tell if the statement of a record, or what was changed in it, is no longer there."""
    statement, words = sites().get(place(record), (None, []))
    return statement is None or record["change"] not in words


def is_of(record: dict, module: str) -> bool:
    """Tell if a record that is still there is about a module, or one inside it."""
    return f"{record['module']}.".startswith(f"{module}.") and not gone(record)


def quotas() -> dict[str, int]:
    """Return how many changes each room has by its lines; each has one at least."""
    lines: Counter[str] = Counter()
    for statement, _ in sites().values():
        lines[statement.room] += statement.lines
    whole = {room: max(1, SIZE * n // lines.total()) for room, n in lines.items()}
    rest = {room: SIZE * n / lines.total() - whole[room] for room, n in lines.items()}
    for room in sorted(rest, key=rest.__getitem__, reverse=True)[: SIZE - sum(whole.values())]:
        whole[room] += 1
    return whole


def draw() -> None:
    """List the records whose statement has gone, and draw others of the same rooms."""
    records = read() if RECORDS.exists() else []
    for record in filter(gone, records):
        print(f"gone: {describe(record)}")
    kept = [r for r in records if not gone(r)]
    lost = Counter(r["room"] for r in records if gone(r))
    wanted = lost if records else Counter(quotas())
    taken = {place(r) for r in kept}
    for room, count in sorted(wanted.items()):
        source = random.Random(f"{SEED} {room} {len(kept)}")
        free = [(s, w) for key, (s, w) in sites().items() if s.room == room and key not in taken]
        for _ in range(count):
            [(statement, words)] = source.choices(free, [s.lines for s, _ in free])
            free.remove((statement, words))
            record = {"room": room, **vars(statement), "change": source.choice(words)}
            del record["lines"]
            kept.append(record)
            print(f"drawn: {describe(record)}")
    store(kept)


def describe(record: dict) -> str:
    where = f"{record['module'].removeprefix('functier.')}:{record['function']}"
    return f"{where}: {' '.join(record['text'].split())[:90]!r}: {record['change']}"


# ---- runs of pytest ----


def pytest(folder: Path, records: list[dict], args: list[str], limit: float) -> int:
    """Run pytest with records planted or noted; return its exit code, negative at a limit.

    The limit is in CPU seconds: on a busy machine each run would reach one of time. A run that
    waits forever is stopped after ten times as long.
    """
    spec = folder / "records.json"
    spec.write_text(json.dumps(records))
    arguments = folder / "arguments"
    arguments.write_text("\n".join(args))
    path = [str(TESTS / "faults" / "hook"), str(TESTS), os.environ.get("PYTHONPATH", "")]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir(), "functier-faults")),
        "FAULTS": str(spec),
        "FAULTS_REACHED": str(folder),
        "FAULTS_LIMIT": str(math.ceil(limit)),
    }
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # each run would compile the whole package again
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "faults.reach"]
    with (folder / "output").open("w") as output:
        try:
            done = subprocess.run(
                [*command, f"@{arguments}"],
                cwd=TESTS.parent,
                env=env,
                stdout=output,
                stderr=output,
                timeout=10 * limit,
            )
        except subprocess.TimeoutExpired:
            return -1
    return done.returncode


def failing(folder: Path, code: int, tests: list[str]) -> list[str]:
    """Return the tests that failed in a run; the one that ran, where all ended with it."""
    if code in (0, 5):
        return []
    failed, started = told(folder, "failed"), told(folder, "start")
    return list(dict.fromkeys(failed)) or started[-1:] or tests[:1]


def told(folder: Path, word: str) -> list[str]:
    """Return the tests of which a run told that they started, or failed."""
    lines = (folder / "told").read_text().splitlines() if (folder / "told").exists() else []
    return [line.removeprefix(f"{word} ") for line in lines if line.startswith(f"{word} ")]


def written(folder: Path) -> Iterator[tuple[str, float, list[int]]]:
    """Yield the tests of a run that did not fail: their CPU seconds, and what they reached."""
    failed = set(told(folder, "failed"))
    for path in folder.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            test, seconds, numbers = json.loads(line)
            if test not in failed:
                yield test, seconds, numbers


def tried(record: dict, costs: dict[str, float], *options: str) -> list[str]:
    """Return which of some tests, given with their seconds, fail where a record is planted."""
    if not costs:
        return []
    with tempfile.TemporaryDirectory() as name:
        folder, tests = Path(name), list(costs)
        limit = 60 + 10 * sum(costs.values())  # a fault may make a loop endless
        code = pytest(folder, [record], ["-p", "no:xdist", *options, *tests], limit)
        return failing(folder, code, tests)


def each(function, records: list[dict]) -> Iterator[tuple[dict, list[str]]]:
    """Yield each record with what a function returns for it, as many at once as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for i, (record, found) in enumerate(zip(records, pool.map(function, records))):
            print(f"{i + 1}/{len(records)} {'found' if found else 'NOT FOUND'} {describe(record)}")
            sys.stdout.flush()
            yield record, found


# ---- tests that find a change ----

BATCHES = (30, 4), (150, 20), (600, 60), (3000, 150)
"""How many tests are tried after each other, and CPU seconds that they may cost."""


def find(of: str, tests: list[str], slow: bool) -> None:
    """Look for tests that find the records that have none, among some tests."""
    options = ["--slow"] if slow else []
    missing = [r for r in read() if not {"tests", "nothing"} & set(r) and is_of(r, of)]
    notes = [{**r, "note": i} for i, r in enumerate(missing)]
    reached = reach(notes, [*options, *tests])
    numbers = {place(r): i for i, r in enumerate(missing)}

    def search(record):
        return searched(record, reached.get(numbers[place(record)], []), options)

    for record, found in each(search, missing):
        if found:
            new = {**record, "tests": found, **({"slow": True} if slow else {})}
            store([new if place(r) == place(record) else r for r in read()])


def reach(notes: list[dict], args: list[str]) -> dict[int, list[tuple[str, float]]]:
    """Run tests once; return for each noted statement those that reach it, with their seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stripped = [{k: v for k, v in r.items() if k != "change"} for r in notes]
        code = pytest(folder, stripped, ["-n", "auto", *args], 7200)
        output = (folder / "output").read_text().splitlines()
        print(f"all statements noted: pytest ended with {code}: {output[-1] if output else ''}")
        costs: dict[str, float] = {}
        found: dict[int, dict[str, int]] = {}
        for test, seconds, numbers in written(folder):
            costs[test] = max(costs.get(test, 0.0), seconds)
            for number in numbers:
                found.setdefault(number, {})[test] = len(numbers)
    return {
        number: sorted(
            ((test, costs[test]) for test in tests),
            key=lambda pair: (pair[1] + 0.01) * (1 + tests[pair[0]] / 10),
        )
        for number, tests in found.items()
    }


def searched(record: dict, candidates: list[tuple[str, float]], options: list[str]) -> list[str]:
    """Return up to three tests that fail where a record is planted: the cheap ones are tried."""
    at = 0
    for count, seconds in BATCHES:
        batch: dict[str, float] = {}
        while at < len(candidates) and len(batch) < count and sum(batch.values()) < seconds:
            test, batch[test] = candidates[at]
            at += 1
        found = tried(record, batch, "--maxfail=3", *options)
        if found:
            return found[:3]
    return []


def passing(records: list[dict], *options: str) -> dict[str, float]:
    """Run the tests of records with nothing planted; return those that pass, with their seconds.

    pytest runs nothing, and ends as if the package could not be imported, where it is given a test
    that is no longer there: it is given the files.
    """
    names = {test for r in records for test in r.get("tests", [])}
    files = {name.partition("::")[0] for name in names}
    files = sorted(file for file in files if (TESTS.parent / file).exists())
    if not files:
        return {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "asked").write_text("\n".join(names))
        pytest(folder, [], ["-n", "auto", *options, *files], 7200)
        costs = {test: seconds for test, seconds, _ in written(folder)}
    for test in sorted(names - set(costs)):
        print(f"is not there, is slow, or fails: {test}")
    return costs


def run(of: str) -> int:
    """Plant each record and run its tests; list what is not found, and return how many."""
    records = [r for r in read() if is_of(r, of)]

    costs = {
        slow: passing([r for r in records if r.get("slow", False) == slow], *options)
        for slow, options in ((False, ()), (True, ("--slow",)))
    }

    def again(record):
        slow = record.get("slow", False)
        known = {test: costs[slow][test] for test in record["tests"] if test in costs[slow]}
        return tried(record, known, "-x", *(["--slow"] if slow else []))

    counts: Counter[str] = Counter()
    for _, found in each(again, [r for r in records if "tests" in r]):
        counts["found" if found else "not found"] += 1
    counts["change nothing"] = sum("nothing" in r for r in records)
    counts["without tests"] = sum(not {"tests", "nothing"} & set(r) for r in records)
    for record in filter(gone, read()):
        print(f"gone: {describe(record)}")
    print(f"{len(records)} faults: " + ", ".join(f"{n} {word}" for word, n in counts.items()))
    return counts["not found"] + counts["without tests"]


# ---- what is found, before and after ----


def files_at(commit: str | None) -> dict[str, str]:
    """Return the texts below ``tests`` that have counts, of a commit or of the checkout."""
    if commit is None:
        paths = [*TESTS.rglob("test_*.py"), *TESTS.glob("faults/*.jsonl")]
        return {p.relative_to(TESTS.parent).as_posix(): p.read_text("utf-8") for p in paths}

    def git(*words: str) -> bytes:
        command = ["git", "-C", str(TESTS.parent), *words]
        return subprocess.run(command, check=True, capture_output=True).stdout

    packed = git("archive", commit, "tests")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {
            member.name: archive.extractfile(member).read().decode()  # type: ignore[union-attr]
            for member in archive
            if re.search(r"/test_\w+\.py$|^tests/faults/.*\.jsonl$", member.name)
        }


def counted(files: dict[str, str]) -> dict[str, int]:
    """Return the counts of what is found, of what stands, and of all tests."""
    frozen = [json.loads(x) for x in files["tests/faults/mutations.jsonl"].splitlines()]
    rules = [json.loads(x) for x in files["tests/faults/rules.jsonl"].splitlines()]
    functions = {
        name: len(re.findall(r"^ *def test_", text, re.MULTILINE))
        for name, text in files.items()
        if name.endswith(".py")
    }
    return {
        "frozen changes with tests": sum("tests" in r for r in frozen),
        "frozen changes without": sum(not {"tests", "nothing"} & set(r) for r in frozen),
        "planted faults of rules": len(rules),
        "rows that find them": sum(len(pairs) for _, pairs in rules),
        "faults that stand": sum(n for k, n in functions.items() if k.startswith("tests/open/")),
        "tests": sum(functions.values()),
    }


def counts(commit: str) -> int:
    """Print the counts of a commit and of the checkout; return how many faults are found less."""
    before, after = counted(files_at(commit)), counted(files_at(None))
    for name in after:
        print(f"{name:28}{before[name]:8}{after[name]:8}{after[name] - before[name]:+8}")
    found = "frozen changes with tests", "planted faults of rules"
    return sum(max(0, before[name] - after[name]) for name in found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=("run", "draw", "find", "counts"))
    parser.add_argument("tests", nargs="*", default=["tests"], help="where to find tests; a commit")
    parser.add_argument("--of", default="functier", help="the modules whose changes are meant")
    parser.add_argument("--slow", action="store_true", help="find with slow tests, too")
    given = parser.parse_args()
    if given.command == "draw":
        draw()
    elif given.command == "find":
        find(given.of, given.tests, given.slow)
    elif given.command == "counts":
        return min(counts(given.tests[0]), 1)
    else:
        return min(run(given.of), 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
