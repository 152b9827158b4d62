"""The picture of compiled code: the times of each row, as parts of those of NumPy by hand.

python tests/bench/picture.py tests/bench/output/bench.json design/compiled.png
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # where the package ``bench`` is

from bench.timing import ratio

LOOKS = {
    "jax_jit": ("JAX jit", "#2471a3", "s"),
    "torch_compile": ("torch.compile, NumPy code", "#e67e22", "D"),
    "functier_np": ("functier, NumPy calls", "#e6a09a", "o"),
    "functier_c": ("functier, machine code", "#c0392b", "o"),
}
"""For each library: its name, its colour and its mark. The last one is drawn on top."""


def shares(workloads: dict[str, dict]) -> dict[str, dict[str, float]]:
    """For each row with code by hand, the time of each library as a part of that."""
    found = {}
    for name, row in workloads.items():
        times = row["times"]
        if "numpy" in times:
            parts = {lib: ratio(times[lib], times["numpy"]) for lib in LOOKS if lib in times}
            if parts:
                found[name] = parts
    return found


def draw(workloads: dict[str, dict], path: Path) -> None:
    """Draw a line for each row, those with the largest gain of machine code first."""
    from matplotlib.figure import Figure  # not installed where only tables are wanted

    found = shares(workloads)
    rows = sorted(found, key=lambda name: found[name].get("functier_c", math.inf), reverse=True)
    figure = Figure(figsize=(9, 1.6 + 0.24 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    for k, (lib, (label, colour, mark)) in enumerate(LOOKS.items()):
        points = [(found[name][lib], i) for i, name in enumerate(rows) if lib in found[name]]
        if points:
            size = 7 if lib == "functier_c" else 5
            given: dict[str, Any] = {"color": colour, "marker": mark, "markersize": size}
            axes.plot(*zip(*points), linestyle="", label=label, zorder=3 + k, **given)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_yticks(range(len(rows)), [name.replace("_", " ") for name in rows])
    axes.set_xlabel("time of a call as a part of NumPy by hand (one thread; left is faster)")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(alpha=0.3)
    axes.margins(y=0.02)
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    source, target = sys.argv[1:]
    draw(json.loads(Path(source).read_text(encoding="utf-8"))["workloads"], Path(target))
