"""The rooms of the tests: which command tests which part of the package quickly.

``python tests/support/rooms.py`` runs each quick command, or those of the rooms that are named, and
prints what it costs. The page on contributing has the same table.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Room:
    """Tests that are run together.

    Attributes
    ----------
    sources : str
        The files and folders of the package that they test.
    paths : str
        The folders of tests.
    """

    sources: str
    paths: str

    @property
    def command(self) -> str:
        return COMMAND if self is ROOMS["kernel"] else f"{COMMAND} {self.paths}"


COMMAND = ".venv/bin/python -m pytest -q -n auto"


ROOMS = {
    "kernel": Room(
        "_core _rules _levels _mutation _transforms errors protocol ops _rooms __init__ __main__",
        "tests/core tests/rules tests/levels tests/mutation tests/transforms",
    ),
    "the interpreter": Room("_cpython", "tests/cpython"),
    "loops and conditions": Room("_control", "tests/control"),
    "custom rules": Room("_custom overrides", "tests/custom tests/overrides"),
    "parts of batches": Room("_transforms.chunks", "tests/chunks"),
    "Dask arrays": Room("_dask", "tests/dask_arrays"),
    "recording": Room("_transforms.tracing", "tests/tracing"),
    "random numbers": Room("random", "tests/random"),
    "observers": Room("debug modes testing progress", "tests/debug tests/modes tests/testing"),
    "programs": Room("_programs", "tests/programs"),
    "machine code": Room("_programs.machine", "tests/machine"),
    "C libraries": Room("_export", "tests/export"),
    "arrays": Room("numpy", "tests/numpy_twins tests/array_api"),
    "adopted code": Room("_adopt", "tests/adopt"),
    "SciPy": Room("scipy", "tests/scipy_twins"),
    "networks": Room("nn optim", "tests/nn tests/optim tests/peers"),
    "sparse Jacobians": Room("_transforms.sparse", "tests/sparse_jacobians"),
    "Taylor series": Room("_transforms.series", "tests/taylor"),
    "documents and structure": Room("", "tests/project"),
    "faults that stand": Room("", "tests/open"),
}

MOST = {"kernel": 100}
"""CPU seconds that a command may cost; 60 for the others."""


def seconds(room: Room) -> tuple[float, int]:
    """Run the command of a room; return the CPU seconds that it cost, and its exit code."""
    before = os.times()
    program = [sys.executable, *room.command.split()[1:]]
    done = subprocess.run(program, cwd=ROOT, stdout=subprocess.DEVNULL)
    after = os.times()
    cost = after.children_user + after.children_system
    return cost - before.children_user - before.children_system, done.returncode


def table() -> str:
    """Return the table of the page on contributing."""
    lines = ["| room | of `src/functier` | quick command |", "|---|---|---|"]
    for name, room in ROOMS.items():
        sources = ", ".join(f"`{source}`" for source in room.sources.split())
        lines.append(f"| {name} | {sources} | `{room.command}` |")
    return "\n".join(lines)


def main(names: list[str]) -> int:
    worst = 0
    for name, room in ROOMS.items():
        if names and name not in names:
            continue
        cost, code = seconds(room)
        print(f"{name:25} {cost:6.1f} s of {MOST.get(name, 60):3}   exit {code}   {room.command}")
        sys.stdout.flush()
        worst = max(worst, code, cost > MOST.get(name, 60))
    return int(worst)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
