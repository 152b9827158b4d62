"""Memory, garbage and imports: each measured in a new process.

``python -m bench.memory PROBE LIBRARY`` is what `probe` runs.
"""

import ctypes
import gc
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import libraries
from .libraries import Library
from .workloads.arrays import Elementwise
from .workloads.writes import Sums

CALLS = 200_000
PATIENCE = 20.0
"""Seconds of calls after which a slow library has shown what it leaves behind."""


def resident(key: str = "VmRSS") -> int:
    """Bytes of memory that this process has (``VmRSS``) or has had (``VmHWM``)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) * 1024


def give_back() -> None:
    """Let the system have memory that is free: a peak would not show that it is taken again."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # another library of C
        pass


def compiles(lib: Library | None) -> bool:
    """Tell if the first call of a form compiles: it is made before anything is measured."""
    return lib is not None and lib.name in libraries.COMPILING


# ---- the probes: what a process of its own runs ----


def chain(lib: Library, n: int = 200_000) -> dict[str, float]:
    """The peak of the gradient of 1000 operations, in arrays of the input's size.

    The backward pass needs the input of each sine and the result of each tanh: 500 arrays.
    """

    def f(x: Any) -> Any:
        for _ in range(250):
            x = lib.np.tanh(lib.np.sin(x * 1.01 + 0.1))
        return x.sum()

    gradient, x = lib.finish(lib.grad(f)), lib.array(np.linspace(-1, 1, n))
    gradient(x if compiles(lib) else x[:100])  # what is allocated once
    gc.collect()
    give_back()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before = resident()
    gradient(x)
    return {"peak": (resident("VmHWM") - before) / (8 * n)}


class Collections:
    """The time that the garbage collector takes inside a ``with`` block."""

    def __enter__(self) -> "Collections":
        self.seconds = self.started = 0.0
        gc.callbacks.append(self.note)
        return self

    def __exit__(self, *exception: object) -> None:
        gc.callbacks.remove(self.note)

    def note(self, phase: str, info: dict) -> None:
        if phase == "start":
            self.started = time.process_time()
        else:
            self.seconds += time.process_time() - self.started


def calls(lib: Library) -> dict[str, float]:
    """Many calls of ``grad(f)``: how the process grows, and the collector's share of the time."""
    x = lib.array(np.linspace(0, 1, 3))

    def f(x: Any) -> Any:
        return lib.np.sum(lib.np.sin(x) * x)

    compiled = lib.finish(lib.grad(f)) if lib.name in libraries.COMPILING else None
    call = (lambda: compiled(x)) if compiled else (lambda: lib.grad(f)(x))
    for _ in range(2000):
        call()
    gc.collect()
    done, before, start = 0, resident(), time.process_time()
    with Collections() as collections:
        while done < CALLS and time.process_time() - start < PATIENCE:
            for _ in range(1000):
                call()
            done += 1000
        seconds = time.process_time() - start
    grown = resident() - before
    gc.collect()
    return {
        "calls": done,
        "microseconds": seconds / done * 1e6,
        "collector_share": collections.seconds / seconds,
        "grown": grown,
        "grown_after_collection": resident() - before,
    }


class Allocations:
    """The memory that is allocated inside a ``with`` block, in all and at the peak.

    tracemalloc knows what is held now and at most; what was allocated in all is the sum of
    the rises from one bytecode to the next, for NumPy allocates inside of one.
    """

    def __enter__(self) -> "Allocations":
        self.total = self.peak = 0
        tracemalloc.start()
        self.base = self.size = tracemalloc.get_traced_memory()[0]
        sys.settrace(self.trace)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.settrace(None)
        self.note()
        tracemalloc.stop()

    def trace(self, frame: Any, event: str, argument: Any) -> Callable:
        frame.f_trace_opcodes = True
        self.note()
        return self.trace

    def note(self) -> None:
        size, peak = tracemalloc.get_traced_memory()
        self.total += max(0, peak - self.size)
        self.peak = max(self.peak, peak - self.base)
        self.size = size
        tracemalloc.reset_peak()


def allocation(lib: Library | None, n: int = 10**7) -> dict[str, float]:
    """Bytes an element that the elementwise gradient allocates; without a library, by hand."""
    small, large = Elementwise(1000), Elementwise(n)
    call = large.call(lib) if lib else large.floor_call()
    (small.call(lib) if lib else small.floor_call())()  # what is allocated once
    if compiles(lib):
        call()
    with Allocations() as allocations:
        call()
    return {"total": allocations.total / n, "peak": allocations.peak / n}


def sums(lib: Library | None, n: int = 10**5) -> dict[str, float]:
    """The peak of sums in place in forward mode, in arrays; without a library, by hand."""
    small, large = Sums(100), Sums(n)
    call = large.call(lib) if lib else large.floor_call()
    (small.call(lib) if lib else small.floor_call())()  # what is allocated once
    if compiles(lib):
        call()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    call()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return {"peak": peak / (8 * n)}


PROBES = {probe.__name__: probe for probe in (chain, calls, allocation, sums)}


# ---- from outside ----


def environment() -> dict[str, str]:
    """The environment in which a new process finds this package."""
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def probe(name: str, library: str) -> dict[str, Any]:
    """The figures of one probe, or why there are none."""
    command = [sys.executable, "-m", "bench.memory", name, library]
    done = subprocess.run(command, env=environment(), capture_output=True, encoding="utf-8")
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["?"])[-1][:100]}
    return json.loads(done.stdout.splitlines()[-1])


def run_probes(names: list[str]) -> dict[str, dict]:
    """All probes of all named libraries."""
    numpy_based = [n for n in names if libraries.LIBRARIES[n].uses_numpy]
    return {
        "chain": {n: probe("chain", n) for n in names},
        "calls": {n: probe("calls", n) for n in names},
        "allocation": {n: probe("allocation", n) for n in [*numpy_based, "numpy"]},
        "sums": {n: probe("sums", n) for n in [*numpy_based, "numpy"] if n not in Sums.without},
    }


FIRST_GRADIENT = "import functier; functier.grad(lambda x: x * x)(3.0)"

STARTS = {
    "numpy": ("", "import numpy"),
    "optree, beyond numpy": ("import numpy", "import optree"),
    "functier, beyond both": ("import numpy, optree", "import functier"),
    "functier and a first gradient, beyond both": ("import numpy, optree", FIRST_GRADIENT),
    "torch, beyond numpy": ("import numpy", "import torch"),
    "jax, beyond numpy": ("import numpy", "import jax"),
    "autograd, beyond numpy": ("import numpy", "import autograd.numpy"),
    "mygrad, beyond numpy": ("import numpy", "import mygrad"),
}
"""What a fresh process runs before it is timed, and what is timed."""


def import_times(names: list[str], rounds: int) -> dict[str, float]:
    """Milliseconds of CPU time, medians of fresh processes, with bytecode for all of them."""
    packages = {libraries.LIBRARIES[n].package for n in names} | {"numpy", "optree"}
    chosen = {k: v for k, v in STARTS.items() if re.match(r"\w+", k)[0] in packages}
    found: dict[str, list[float]] = {k: [] for k in chosen}
    with tempfile.TemporaryDirectory() as cache:  # a setting may keep it from being written
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(rounds + 1):
            for title, (before, timed) in chosen.items():
                code = f"import time\n{before}\nt = time.process_time()\n{timed}\n"
                code += "print(time.process_time() - t)"
                command = [sys.executable, "-c", code]
                done = subprocess.run(command, check=True, capture_output=True, env=environment)
                found[title].append(float(done.stdout) * 1e3)
    return {k: statistics.median(v[1:]) for k, v in found.items()}  # the first writes it


if __name__ == "__main__":
    chosen = None if sys.argv[2] == "numpy" else libraries.LIBRARIES[sys.argv[2]]()
    print(json.dumps(PROBES[sys.argv[1]](chosen)))
