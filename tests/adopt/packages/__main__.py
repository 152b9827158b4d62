"""Install packages and run their calls.

``python -m adopt.packages install FOLDER [PACKAGE...]``
    Install the packages of `packages.tsv` into a folder.
``python -m adopt.packages run FOLDER [PACKAGE...]``
    Run their calls, each package in a process of its folder; print a line for each call and mode.
``python -m adopt.packages page RESULTS``
    Write the page "Works with" of the site from what ``run`` has printed.
``python -m adopt.packages hashes``
    Print the SHA-256 of the files with calls.
"""

import collections
import csv
import hashlib
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import functier as ft

HERE, SITE = Path(__file__).parent, "site-packages"
with open(HERE / "packages.tsv", newline="") as lines:
    PACKAGES = {row["package"]: row for row in csv.DictReader(lines, delimiter="\t")}


def install(folder: str, names: list[str]) -> None:
    """Install packages into a folder, with the NumPy and SciPy that are here.

    Its name is that of such folders, as messages tell code that is installed from that of users.
    """
    folder = str(Path(folder) / SITE)
    wanted = [f"{name}=={PACKAGES[name]['version']}" for name in names]
    wanted += [f"{name}=={version(name)}" for name in ("numpy", "scipy")]
    command = [sys.executable, "-m", "pip", "install", "-q", "--target", folder, *wanted]
    subprocess.run(command, check=True)


def run(folder: str, names: list[str]) -> None:
    """Run the calls of packages and print what became of them."""
    counts: collections.Counter = collections.Counter()
    paths = [str(Path(folder) / SITE), str(HERE.parent.parent), *sys.path[1:]]
    for name in names:
        command = [sys.executable, "-m", "adopt.packages", "calls", name]
        space = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
        done = subprocess.run(command, env=space, capture_output=True, text=True)
        rows = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "["]
        if done.returncode:
            print(f"{name}: failed: {done.stderr[-1000:]}")
        for row in rows:
            print("\t".join(map(str, row)), flush=True)
            if row[2] != "path":
                counts[row[2], row[3].partition(":")[0]] += 1
    for (mode, what), count in sorted(counts.items()):
        print(f"{mode}: {what} {count}")


def calls(name: str) -> None:
    """Run the calls of one package, in this process."""
    from .trials import MODES, Trial, path_of

    warnings.simplefilter("ignore")
    row = PACKAGES[name]
    module = importlib.import_module(f"{__package__}.{row['module']}")
    found = [(key, f) for key, f in vars(module).items() if hasattr(f, "given")]
    trials, paths = {}, {}
    for key, f in found:
        try:
            trials[key] = Trial(f)
            paths[key] = path_of(f, row["imported"])
        except Exception as error:
            print(json.dumps([name, key, "path", f"unusable: {type(error).__name__}: {error}"]))
    start = time.perf_counter()
    with ft.adopt(row["imported"], module.__name__):
        for key, trial in trials.items():
            print(json.dumps([name, key, "path", paths[key], time.perf_counter() - start]))
            for mode in MODES:
                print(json.dumps([name, key, mode, trial.run(mode)]), flush=True)


def interval(parts: list[tuple[int, int]]) -> str:
    """Return the share of calls that are right, and its interval of 95 %, by packages.

    It is Wilson's, for so many independent calls as vary like the shares of the packages do;
    where these do not vary, a package counts as one.

    Parameters
    ----------
    parts : list of tuple
        For each package how many calls are right, and how many there are.
    """
    right, whole = map(sum, zip(*parts))
    share, packages = right / whole, len(parts)
    spread = sum([(r - share * n) ** 2 for r, n in parts]) / whole**2
    spread *= packages / max(packages - 1, 1)
    size = min(whole, share * (1 - share) / spread) if spread else packages
    z = 1.96
    middle, scale = share + z**2 / (2 * size), 1 + z**2 / size
    half = z * (share * (1 - share) / size + z**2 / (4 * size**2)) ** 0.5
    ends = [round(100 * end / scale) for end in (middle - half, middle + half)]
    return f"{100 * share:.0f} % ({ends[0]} to {ends[1]} %)"


def page(results: str) -> None:
    """Write the page of the site from the lines that `run` has printed."""
    counts: collections.Counter = collections.Counter()
    for line in Path(results).read_text().splitlines():
        name, _, mode, *rest = (*line.split("\t"), "", "", "")
        if name in PACKAGES:
            counts[name, mode, rest[0] == "right"] += 1
    modes = "grad", "jvp", "vmap", "vmap(grad)", "compile"
    tried = sorted({name for name, *_ in counts})
    shares = [
        interval([
            (counts[name, m, True], counts[name, m, True] + counts[name, m, False])
            for name in tried
        ])
        for m in modes
    ]  # fmt: skip
    rows = [" | ".join(["| *all*", "", "", *shares]) + " |"]
    for name, row in PACKAGES.items():
        found = [(counts[name, m, True], counts[name, m, False]) for m in modes]
        cells = [f"{right} of {right + other}" for right, other in found if right + other]
        if cells:
            rows.append(" | ".join([f"| {name}", row["version"], row["field"], *cells]) + " |")
    text = (HERE / "page.md").read_text().format(
        date=time.strftime("%B %Y"), numpy=version("numpy"), scipy=version("scipy"),
        rows="\n".join(rows),
    )  # fmt: skip
    target = HERE.parents[2] / "design" / "site" / "pages" / "howto" / "works-with.md"
    target.write_text(text)


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    if command == "hashes":
        for file in sorted(HERE.glob("on_*.py")):
            print(hashlib.sha256(file.read_bytes()).hexdigest(), file.name)
    elif command in ("calls", "page"):
        {"calls": calls, "page": page}[command](words[0])
    else:
        {"install": install, "run": run}[command](words[0], words[1:] or list(PACKAGES))
