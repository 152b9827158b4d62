"""One run of the benchmark, from start to end."""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import first_calls, libraries, memory, picture, report, scaling, threads
from .libraries import Library, Missing
from .timing import Clock, OtherLoad, choose_clock, interleave, settle, timed
from .trees import disagreement
from .workloads import WORKLOADS, Workload

SECTIONS = ("memory", "imports", "first calls", "threads", "scaling")


def run_workload(
    workload: Workload, libs: list[Library], clock: Clock, rounds: int
) -> dict[str, Any]:
    """The figures of one row: results are compared before anything is timed."""
    expected, floor = workload.expected(), workload.floor_call()
    calls, errors, first = {"numpy": floor} if floor else {}, {}, {}
    for lib in libs:
        if lib.name in workload.without:
            continue
        try:
            call = workload.call(lib)
            first[lib.name] = timed(call, clock)
            problem = disagreement(call(), expected)
        except Missing:
            continue
        except Exception as error:  # what a library cannot do is a result, and no reason to stop
            problem = f"{type(error).__name__}: {error}".split("\n")[0][:160]
        if problem:
            errors[lib.name] = problem
        else:
            calls[lib.name] = call
    settle()
    with OtherLoad() as load:
        times = interleave(calls, clock, rounds)
    return {
        "times": times,
        "errors": errors,
        "first_call": first,
        "other_load": load.share,
        "bound": workload.bound,
        "compiled_bound": workload.compiled_bound,
    }


def describe(libs: list[Library], threads: int | None) -> dict[str, str]:
    """The machine and the versions."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    versions = {lib.package: lib.version for lib in libs}
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "CPU": f"{(models or [platform.machine()])[0]} ({os.cpu_count()} cores)",
        "threads": str(threads or "all") + (", CPU time" if threads == 1 else ", wall time"),
        "Python": platform.python_version(),
        "numpy": np.__version__,
        **versions,
    }


def choose(only: str) -> tuple[list[Workload], list[str]]:
    """The workloads and the sections whose names contain one of the parts of `only`."""
    parts = only.split(",") if only else [""]
    names = [n for n in [*WORKLOADS, *SECTIONS] if any(part in n for part in parts)]
    return [WORKLOADS[n] for n in names if n in WORKLOADS], [n for n in names if n in SECTIONS]


def say(text: str) -> None:
    """Print at once: a run is long, and may be watched through a pipe."""
    print(text, flush=True)


def drawn(draw: Callable, figures: dict, path: Path) -> None:
    """Draw a picture, where matplotlib is installed."""
    try:
        draw(figures, path)
    except ImportError as error:
        say(f"no picture: {error}")


def run(args: argparse.Namespace) -> None:
    """Measure what is asked for; write the report after every step, so that a stop loses little."""
    libs = libraries.load(args.libs.split(","))
    names, clock = [lib.name for lib in libs], choose_clock(args.threads)
    workloads, sections = choose(args.only)
    if not workloads and not sections:
        raise SystemExit(f"--only {args.only}: there are {', '.join([*WORKLOADS, *SECTIONS])}")
    data: dict[str, Any] = {"meta": describe(libs, args.threads), "workloads": {}}
    out = Path(args.out)
    out.parent.mkdir(parents=True, exist_ok=True)

    def file(suffix: str) -> Path:
        return out.with_name(out.name + suffix)

    def save() -> None:
        file(".json").write_text(json.dumps(data), encoding="utf-8")
        file(".md").write_text(report.markdown(data), encoding="utf-8")

    for i, workload in enumerate(workloads, 1):
        row = run_workload(workload, libs, clock, args.rounds)
        data["workloads"][workload.name] = row
        save()
        cells = [f"{report.title(n)} {report.time_cell(row['times'].get(n))}" for n in row["times"]]
        load = report.load_cell(row["other_load"])
        line = [workload.name, *cells, *row["errors"].values(), f"other load {load}"]
        say(f"[{i}/{len(workloads)}] " + "  ".join(line))
    if "memory" in sections:
        say("memory")
        data["memory"] = memory.run_probes(names)
        save()
    if "imports" in sections:
        say("imports")
        data["imports"] = memory.import_times(names, max(args.rounds, 7))
        save()
    if "first calls" in sections:
        say("first calls")
        data["first_calls"] = first_calls.measure(names)
        save()
    if "threads" in sections and "functier_c" in names:
        say("threads")
        data["threads"] = threads.measure(args.rounds)
        save()
    if any(name in libraries.COMPILING for name in names) and workloads:
        drawn(picture.draw, data["workloads"], file("-compiled.png"))
    if "scaling" in sections:
        eager = [lib for lib in libs if lib.name not in libraries.COMPILING]  # that would scale
        data["scaling"] = {}
        for curve in scaling.CURVES:
            say(f"scaling: {curve.title}")
            data["scaling"][curve.name] = scaling.measure(curve, eager, clock)
            save()
        drawn(report.draw, data["scaling"], file(".png"))
    say("\n" + report.markdown(data))
    say(f"Written to {out}.*")
    own = {name for name in names if name.startswith("functier")}
    wrong = [n for n, row in data["workloads"].items() if own & row["errors"].keys()]
    if wrong:
        raise SystemExit(f"functier fails or is wrong: {', '.join(wrong)}")
