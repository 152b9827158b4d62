"""The figures of the house: its size, what rooms take from the kernel, and what it costs.

``python tests/support/figures.py`` prints them. All files of Python count, generated ones, too.

A name of the kernel is one that a file of `ROOMS` imports from another module of functier, or reads
from such a module that it imports as a whole. Those that functier exports do not count, from
whichever module they come, and neither do those of `_cpython` and `_core.numpy_private`, which say
what CPython and NumPy have, and know nothing of functier.

What only CPython promises is a subject of the room `_cpython`; the total is that of the others,
which ask it.

A room is on the floor above the highest room that it imports from. The front door `__init__`,
which imports from most rooms, has none.
"""

import ast
import functools
import gc
import graphlib
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # where the package `support` is

from support.sources import Package, count, is_document, is_in, parsed, statements, tree_of

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {"_programs", "_transforms.sparse", "numpy", "_adopt", "scipy", "optim", "nn"}
"""The rooms outside of the kernel: they use it by what is public, and by the kit of `kit`."""

OTHERS = {*ROOMS, "_cpython"}
"""The rooms whose names are none of the kernel."""

PARTS = {"_value": {"._value"}, "_extra": {"._extra"}}
"""The two parts of a tensor, which belong to the levels."""

CPYTHON = {
    "frames": {
        "sys._getframe", "sys._current_frames", "inspect.currentframe", "inspect.stack",
        "inspect.getframeinfo", "types.FrameType", ".f_back", ".f_builtins", ".f_code",
        ".f_globals", ".f_lasti", ".f_lineno", ".f_locals", ".f_trace*", ".gi_frame", ".cr_frame",
        ".ag_frame", ".tb_frame", ".tb_lasti",
    },
    "code": {
        ".__code__", ".co_*", ".gi_code", ".cr_code", ".ag_code", "types.CodeType", "dis.*",
        "opcode.*", "inspect.CO_*",
    },
    "gc": {
        "gc.get_referrers", "gc.get_referents", "gc.get_objects", "gc.freeze", "gc.unfreeze",
        "gc.is_tracked", "gc.callbacks",
    },
    "counts": {"sys.getrefcount", ".getrefcount", "weakref.getweakrefcount", "weakref.getweakrefs"},
    "C": {
        "ctypes.pythonapi", "ctypes.py_object", "ctypes.PYFUNCTYPE", "ctypes.string_at",
        ".from_address", ".__basicsize__", ".__dictoffset__", ".__flags__",
        "types.GetSetDescriptorType", "types.MemberDescriptorType", "types.WrapperDescriptorType",
    },
    "tracing": {
        "sys.settrace", "sys.gettrace", "sys.setprofile", "sys.getprofile", "sys.monitoring",
        "threading.settrace*", "threading.setprofile*",
    },
    "private": {"[!.]*._[!_]*", "_[!_]*"},
}  # fmt: skip
"""What only CPython promises, by kind: ``module.name`` of the standard library, or ``.attribute``.

A star is any end. The first kind that fits counts; `private` is for what else has an underscore in
the standard library. `id` does not count: who takes it for an address uses a name of C, too.
"""

Table = dict[str, dict[str, int | float]]
"""Rows by their names, with figures by the names of columns."""


# ---- what a file uses ----


def uses(tree: ast.AST) -> Iterator[str]:
    """The names that a file uses: ``module.name`` of the standard library, and ``.attribute``.

    A name that is imported counts at its import. A string that is a name counts as an attribute,
    as `getattr` takes it. Code in a string counts as code, and a docstring does not.
    """
    nodes, modules, silent = list(ast.walk(tree)), {}, set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [a for a in node.names if is_standard(a.name)]
            modules.update({a.asname or a.name: a.name for a in names})
            yield from [a.name for a in names]
        elif is_document(node):
            silent.add(node.value)
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module), names=names, level=0) if is_standard(module):
                yield from [f"{module}.{a.name}" for a in names]
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                yield f"{modules.get(owner, '')}.{name}"
            case ast.Attribute(attr=name) | ast.keyword(arg=name):
                yield f".{name}"  # a keyword: code.replace(co_names=...)
            case ast.Constant(value=str(text)) if node not in silent:
                yield from names_in(text)


def is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def names_in(text: str) -> Iterator[str]:
    """The names that are used in a string, which may be a name or code."""
    if text.isidentifier():
        yield f".{text}"
    for owner, name in re.findall(r"(\w*)\.([^\W\d]\w*)", text):
        yield f"{owner if is_standard(owner) else ''}.{name}"


@functools.cache
def kind_of(name: str) -> str:
    """Return the part of a tensor, or the kind of fact about CPython, that a name stands for."""
    for kind, patterns in [*PARTS.items(), *CPYTHON.items()]:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return kind
    return ""


def kinds(tree: ast.AST) -> Iterator[str]:
    """The kinds of the names that a file uses, where they have one."""
    return filter(None, map(kind_of, uses(tree)))


# ---- what a room has ----


def sizes(folder: Path, parse: Callable = ast.parse, loose: str = "") -> tuple[Table, dict]:
    """Return the sizes of the rooms in a folder, and the lengths of its files.

    A loose file is a room, or else in the one that is called `loose`.
    """
    rooms: Table = {}
    lengths = {}
    for path in sorted(folder.rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(folder)
        lengths[name.as_posix()] = len(text.splitlines())
        own = {"files": 1, "lines": lengths[name.as_posix()], **count(text, parse(text))._asdict()}
        inner = ".".join(name.parts[:2])
        outer = name.parts[0] if len(name.parts) > 1 else loose or name.stem
        room_of = inner if inner in ROOMS else outer
        row = rooms.setdefault(room_of, dict.fromkeys(own, 0))
        row |= {key: row[key] + n for key, n in own.items()}
    return rooms, lengths


def kernel_names(package: Package) -> dict[str, set[str]]:
    """Return the names of the kernel that each room outside takes, public ones among them."""
    modules = {f"functier.{package.name_of(p)}".removesuffix(".__init__") for p in package.files}
    return {
        name: {n for path in package.files_of(name) for n in _kernel_names(package, path, modules)}
        for name in sorted(filter(package.files_of, ROOMS))
    }


def _kernel_names(package: Package, path: Path, modules: set[str]) -> Iterator[str]:
    whole, tree = {}, tree_of(path)
    for node in statements(tree):
        if isinstance(node, ast.ImportFrom):
            origin = ".".join(package.origin(path, node))
            for a in node.names:
                name = f"{origin}.{a.name}"
                if not origin.startswith("functier") or any(is_in(name, r) for r in OTHERS):
                    continue
                if name in modules:
                    whole[a.asname or a.name] = name
                elif origin != "functier._core.numpy_private":
                    yield name
    for node in ast.walk(tree) if whole else ():
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in whole:
            yield f"{whole[node.value.id]}.{node.attr}"  # type: ignore[attr-defined]


PUBLIC = """
import functier, importlib
doors = "protocol", "errors", "modes", "overrides", "random", "debug", "testing", "progress"
doors = [functier, *[importlib.import_module(f"functier.{{name}}") for name in doors]]
public = {{id(getattr(door, name)) for door in doors for name in door.__all__}}
for name in {names}:
    module, _, name = name.rpartition(".")
    if id(getattr(importlib.import_module(module), name)) in public:
        print(f"{{module}}.{{name}}")
"""
"""A program that prints the names among `names` whose objects functier exports."""


def kit_names(package: Package) -> dict[str, set[str]]:
    """Return the names of the kernel that each room takes, but for those that are public."""
    taken = kernel_names(package)
    names = sorted(set().union(*taken.values()))
    public = set(run(package.folder.parents[1], PUBLIC.format(names=names)).split())
    return {name: own - public for name, own in taken.items()}


def floors(package: Package, rooms: Iterable[str]) -> dict[str, int]:
    """Return the floor of each room; the lowest is 1."""
    below = {name: package.imported_rooms(name) - {"__init__"} for name in rooms}
    found: dict[str, int] = {}
    for name in graphlib.TopologicalSorter(below).static_order():
        found[name] = 1 + max([found[other] for other in below.get(name, ())], default=0)
    return found


def run(root: Path, script: str) -> str:
    """Return what a fresh process prints, with the package of a checkout."""
    env = {**os.environ, "PYTHONPATH": str(root / "src")}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=True)
    return done.stdout.decode()


# ---- the tables ----


def figures(root: Path) -> dict[str, Table]:
    """Return the tables of a checkout."""
    package = Package(root / "src" / "functier")
    rooms, lengths = sizes(package.folder, parsed)
    tests, lengths_of_tests = sizes(root / "tests", loose="(files)")
    floor = floors(package, rooms.keys() - {"__init__"})
    rooms = {name: rooms[name] for name in sorted(rooms, key=lambda n: (floor.get(n, 99), n))}
    taken, cpython = kit_names(package), {}
    for name, row in rooms.items():
        facts = Counter(k for path in package.files_of(name) for k in kinds(tree_of(path)))
        row |= {"floor": floor[name]} if name in floor else {}
        row |= {part: facts[part] for part in PARTS} if name != "_levels" else {}
        if name in taken:
            row["kernel names"] = len(taken[name])
        if facts.keys() & CPYTHON:
            cpython[name] = {kind: facts[kind] for kind in CPYTHON}
            cpython[name]["all"] = sum(cpython[name].values())
    of_cpython = cpython.pop("_cpython", {})
    every, top = set().union(*taken.values()), max(floor.values())
    house = {
        "rooms that are folders": sum((package.folder / name).is_dir() for name in rooms),
        "floors": top,
        "files of src over 500 lines": sum(n > 500 for n in lengths.values()),
        "files of tests over 500 lines": sum(n > 500 for n in lengths_of_tests.values()),
    }
    return {
        "src": with_total(rooms, floor=top, **{"kernel names": len(every)}),
        "tests": with_total(tests),
        "what only CPython promises": {"_cpython": of_cpython, **with_total(cpython)},
        "house": {name: {"": n} for name, n in house.items()},
        "longest files of src": longest(lengths),
        "longest files of tests": longest(lengths_of_tests),
    }


def with_total(rows: Table, **given: int) -> Table:
    """Return the rows and their sums, except where a total is given."""
    total: Counter = Counter()
    for row in rows.values():
        total.update(row)
    return {**rows, "total": {**total, **given}}


def longest(lengths: dict[str, int]) -> Table:
    """Return the ten longest files."""
    names = sorted(lengths, key=lambda name: -lengths[name])[:10]
    return {name: {"lines": lengths[name]} for name in names}


def text_of(title: str, table: Table) -> str:
    """Return a table as aligned text."""
    columns = list(dict.fromkeys(c for row in table.values() for c in row))
    lines = [[title, *columns]]
    lines += [[name, *[f"{row.get(c, '-')}" for c in columns]] for name, row in table.items()]
    widths = [max(map(len, column)) for column in zip(*lines)]
    texts = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in texts)


if __name__ == "__main__":
    gc.disable()  # syntax trees have no cycles; the search for them takes half of the time
    print("\n\n".join(text_of(title, table) for title, table in figures(ROOT).items()))
