"""The Markdown tables and the picture of a run, from the data of its JSON file."""

import math
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .first_calls import COLUMNS
from .libraries import COMPILING, EAGER, LIBRARIES
from .scaling import CURVES
from .timing import ratio, spread

NOTHING = "–"  # noqa: RUF001
ORDER = [*LIBRARIES, "numpy"]
TITLES = {"numpy": "by hand", "torch_ag": "torch.autograd"}
CHAIN_BOUND = 510
SUMS_BOUND = 3
THREADS_BOUND = 0.6


def title(name: str) -> str:
    return TITLES.get(name, name)


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def number(x: float) -> str:
    """With two or three digits that count."""
    for limit, form in ((0.1, ".2g"), (9.95, ".2f"), (99.5, ".1f")):
        if x < limit:
            return f"{x:{form}}"
    return f"{x:,.0f}"


def against(value: float, bound: float | None) -> str:
    """A figure with its bound; in bold where it is above it."""
    if bound is None:
        return number(value)
    return (
        f"{number(value)} (bound {bound:g})"
        if value <= bound
        else (f"**{number(value)}** (bound {bound:g})")
    )


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# ---- times and ratios ----


def best_eager(times: dict[str, list[float]]) -> str | None:
    """The fastest of the eager peers."""
    peers = [name for name in EAGER if name in times]
    return min(peers, key=lambda name: statistics.median(times[name]), default=None)


def present(workloads: dict[str, dict]) -> list[str]:
    """The libraries with any figures, in the order of the columns."""
    return [name for name in ORDER if any(name in w["times"] for w in workloads.values())]


def time_cell(rounds: list[float] | None) -> str:
    if rounds is None:
        return NOTHING
    wide = f" ±{spread(rounds):.0%}" if spread(rounds) > 0.1 else ""
    return duration(statistics.median(rounds)) + wide


def load_cell(share: float | None) -> str:
    return NOTHING if share is None else f"{share:.0%}"


def times_table(workloads: dict[str, dict]) -> str:
    names = present(workloads)
    rows = [
        [key, *(time_cell(w["times"].get(name)) for name in names), load_cell(w["other_load"])]
        for key, w in workloads.items()
    ]
    return table(["workload", *map(title, names), "other load"], rows)


def ratios_table(workloads: dict[str, dict]) -> str:
    others = [name for name in present(workloads) if name != "functier"]
    rows = []
    for key, w in workloads.items():
        times = w["times"]
        if "functier" not in times:
            continue
        best = best_eager(times)
        cells = [f"{number(ratio(times['functier'], times[best]))} {best}" if best else NOTHING]
        for name in others:
            value = ratio(times["functier"], times[name]) if name in times else None
            bound = w["bound"] if name == "numpy" else None
            cells.append(NOTHING if value is None else against(value, bound))
        rows.append([key, *cells])
    return table(["workload", "best eager peer", *map(title, others)], rows)


def first_calls_table(workloads: dict[str, dict]) -> str:
    """The first call and a warm one of what compiles, beside eager mode; "" without any."""
    names = [name for name in present(workloads) if name in COMPILING]
    if not names:
        return ""
    head = ["workload", "functier"]
    for name in names:
        head += [f"{name}, first", "warm"]
    rows = []
    for key, w in workloads.items():
        cells = [time_cell(w["times"].get("functier"))]
        for name in names:
            first = w["first_call"].get(name) if name in w["times"] else None
            cells += [NOTHING if first is None else duration(first)]
            cells += [time_cell(w["times"].get(name))]
        rows.append([key, *cells])
    return table(head, rows)


def compiled_table(workloads: dict[str, dict]) -> str:
    """The machine code of functier beside what else compiles; "" without any."""
    others = [name for name in present(workloads) if name in COMPILING and name != "functier_c"]
    rows = []
    for key, w in workloads.items():
        times = w["times"]
        if "functier_c" not in times:
            continue
        cells = []
        for name in [*others, "numpy"]:
            bound = w["compiled_bound"] if name == "jax_jit" else None
            value = ratio(times["functier_c"], times[name]) if name in times else None
            cells.append(NOTHING if value is None else against(value, bound))
        rows.append([key, *cells])
    return table(["workload", *map(title, [*others, "numpy"])], rows) if rows else ""


def notes(workloads: dict[str, dict]) -> list[str]:
    found = []
    for key, w in workloads.items():
        found += [f"- {key}, {name} is left out: {why}" for name, why in w["errors"].items()]
        compiled = w["first_call"].get("jax_jit", 0)
        if compiled > 1:
            found.append(f"- {key}: jax_jit compiles for {duration(compiled)}")
    return found


def loops_table(programs: dict[str, dict[str, dict[str, float]]]) -> str:
    """The first calls of functier, part by part, and those of JAX."""
    last = COLUMNS[-2:]
    with_jax = any(["jax_jit" in found for found in programs.values()])
    rows = []
    for name, found in programs.items():
        cells = [(found.get("functier", {}), k) for k in COLUMNS]
        cells += [(found.get("jax_jit", {}), k) for k in last] if with_jax else []
        rows.append([name, *[duration(times[k]) if k in times else NOTHING for times, k in cells]])
    head = [*COLUMNS, *([f"jax_jit, {k}" for k in last] if with_jax else [])]
    return table(["program", *head], rows)


# ---- memory, imports, scaling ----


def probe_rows(probes: dict[str, dict], cells: Any) -> list[list[str]]:
    """A row for each library: its cells, or why it has none."""
    return [
        [title(name), *([p["error"]] if "error" in p else cells(name, p))]
        for name, p in probes.items()
    ]


def memory_tables(memory: dict[str, dict]) -> list[str]:
    def peak(bound: int) -> Any:
        return lambda name, p: [against(p["peak"], bound if name == "functier" else None)]

    def calls(name: str, p: dict) -> list[str]:
        growth = [f"{p[k] / 1024:.0f} kB" for k in ("grown", "grown_after_collection")]
        us, share = duration(p["microseconds"] * 1e-6), f"{p['collector_share']:.1%}"
        return [f"{p['calls']:,}", us, share, *growth]

    def allocated(name: str, p: dict) -> list[str]:
        return [f"{p['total']:.1f}", f"{p['peak']:.1f}"]

    head = ["", "calls", "each", "in the collector", "growth", "after a collection"]
    return [
        "### Peak memory of the gradient of 1000 operations, in arrays of the input's size",
        table(["", "peak"], probe_rows(memory["chain"], peak(CHAIN_BOUND))),
        "### Many calls of `grad(f)`: the garbage collector, and how the process grows",
        table(head, probe_rows(memory["calls"], calls)),
        "### Bytes an element that the gradient of `elementwise_1e7` allocates (16 are its result)",
        table(["", "in all", "peak"], probe_rows(memory["allocation"], allocated)),
        "### Peak memory of 1000 sums in place under jvp, in arrays beyond the inputs",
        table(["", "peak"], probe_rows(memory["sums"], peak(SUMS_BOUND))),
    ]


def scaling_table(curve: Any, found: dict[str, dict]) -> str:
    names = [name for name in ORDER if name in found]
    rows = []
    for n in map(str, curve.sizes):
        rounds = [found[name].get(n) for name in names]
        if any(rounds):
            cells = [duration(statistics.median(r)) if r else NOTHING for r in rounds]
            rows.append([f"{int(n):,}", *cells])
    return table([curve.axis, *map(title, names)], rows)


def markdown(data: dict[str, Any]) -> str:
    """The whole report."""
    meta = ", ".join(f"{key} {value}" for key, value in data["meta"].items())
    parts = [meta]
    if workloads := data.get("workloads"):
        parts += ["### Median time of a call (± distance of the quartiles, above 10 %)"]
        parts += [times_table(workloads)]
        parts += ["### functier's time as a multiple of each other's (median over the rounds)"]
        parts += [ratios_table(workloads), "\n".join(notes(workloads))]
        if compiled := compiled_table(workloads):
            parts += ["### functier_c's time as a multiple of that of other compilers", compiled]
        if first := first_calls_table(workloads):
            parts += ["### What compiles: the first call, and the median of a warm one", first]
    if memory := data.get("memory"):
        parts += memory_tables(memory)
    if imports := data.get("imports"):
        rows = [[name, f"{ms:.1f}"] for name, ms in imports.items()]
        parts += ["### Import, CPU time", table(["", "ms"], rows)]
    if found := data.get("first_calls"):
        parts += ["### First calls of compiled gradients with loops, CPU time", loops_table(found)]
    if threads := data.get("threads"):
        head = ["workload", "one thread", "two", "ratio"]
        cells = [
            [name, *[duration(min(found[k])) for k in "12"],
             against(min(found["2"]) / min(found["1"]), THREADS_BOUND)]
            for name, found in threads.items()
        ]  # fmt: skip
        parts += ["### Machine code in two threads: the least wall time", table(head, cells)]
    for curve in CURVES:
        if found := data.get("scaling", {}).get(curve.name):
            parts += [f"### {curve.title}: time of one operation", scaling_table(curve, found)]
    return "\n\n".join(filter(None, parts)) + "\n"


COLOURS = {
    "functier": "#c0392b", "torch": "#e67e22", "torch_ag": "#6e4b1f", "jax": "#2471a3",
    "autograd": "#1e8449", "mygrad": "#7d3c98", "numpy": "black",
}  # fmt: skip


LOOKS = {
    "functier": {"linewidth": 2.5, "markersize": 6, "zorder": 3},
    "numpy": {"linewidth": 1.2, "markersize": 4, "linestyle": "--"},
    "": {"linewidth": 1.2, "markersize": 4},
}
"""Of functier, of NumPy by hand, and of the peers."""


def draw(scaling: dict[str, dict], path: Path) -> None:
    """Three panels: the time of one operation over the tape, the batch and the nesting."""
    from matplotlib.figure import Figure  # not installed where only tables are wanted

    figure = Figure(figsize=(15, 5), layout="constrained")
    shown = {}
    for axes, curve in zip(figure.subplots(1, len(CURVES)), CURVES):
        found = scaling.get(curve.name, {})
        for name in (n for n in ORDER if n in found):
            sizes = [int(n) for n in found[name]]
            values = [statistics.median(rounds) * 1e6 for rounds in found[name].values()]
            look = LOOKS.get(name, LOOKS[""])
            (line,) = axes.plot(sizes, values, color=COLOURS.get(name), marker="o", **look)
            shown[title(name)] = line
        axes.set(title=curve.title, xlabel=curve.axis, ylabel="time of one operation (µs)")
        axes.set_yscale("log")
        if curve.name == "depth":
            axes.set_xticks(curve.sizes)
        else:
            axes.set_xscale("log")
        whole_decades(axes)
        axes.grid(alpha=0.3)
    figure.legend(
        shown.values(), shown, loc="outside lower center", ncols=len(shown), frameon=False
    )
    figure.savefig(path, dpi=130)


def whole_decades(axes: Any) -> None:
    """End the vertical axis at powers of ten, so that a flat line looks flat."""
    low, high = axes.get_ylim()
    axes.set_ylim(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.yaxis.set_minor_formatter("")
