"""The cost of a node that a trace records: in units of the eager gradient, and in its parts.

CPU time, the least of several calls. Run: ``python -m bench.recording`` in ``tests``.
"""

import gc
import time
from collections.abc import Callable

import functier as ft
from functier._cpython.frames import current_frame
from functier._programs import passes, trace
from unrolled import LOOPS, gradient

STEPS = {
    "pendulum": 1000, "network": 200, "kalman": 500, "bodies": 200, "heat": 100, "writes": 500,
    "seidel": 50,
}  # fmt: skip


def seconds(call: Callable, times: int = 5) -> float:
    """Return the least CPU time of some calls."""
    found = []
    for _ in range(times):
        gc.collect()
        begin = time.process_time()
        call()
        found.append(time.process_time() - begin)
    return min(found)


def row(name: str) -> tuple[int, list[float]]:
    """Return the nodes that are recorded, and the time for one in each part."""
    f, args = gradient(LOOPS[name], STEPS[name])
    graphs = []

    def kept(graph: passes.Graph) -> passes.Graph:
        graphs.append((graph, len(graph.nodes)))
        return graph

    def recorded(keep: bool | None, run: Callable) -> float:
        optimized, trace.optimized = trace.optimized, run
        try:
            return seconds(
                lambda: trace.record(f, args, {}, current_frame(0), "compile", keep=keep)
            )
        finally:
            trace.optimized = optimized

    eager, plain = seconds(lambda: f(*args)), recorded(None, kept)
    told, whole = recorded(True, kept), recorded(True, passes.optimized)
    nodes = graphs[0][1]
    parts = eager, plain - eager, told - plain, whole - told, whole
    return nodes, [part / nodes * 1e6 for part in parts]


def main() -> None:
    heads = "eager", "recording", "facts", "passes", "in all"
    print(f"{'us a node':12}{'nodes':>8}", *[f"{head:>10}" for head in heads], f"{'ratio':>8}")
    for name in LOOPS:
        nodes, parts = row(name)
        print(f"{name:12}{nodes:8}", *[f"{x:10.1f}" for x in parts], f"{parts[-1] / parts[0]:8.1f}")


if __name__ == "__main__":
    ft.grad(lambda x: x)(1.0)
    main()
