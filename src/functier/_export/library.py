"""A library: functions become object code, archives and a header, and can be called here."""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._core.errors import UnsupportedError
from .._core.pytree import flatten
from .._programs.machine.backend import unsuitable
from .._programs.machine.compiler import engine
from .._programs.machine.compiler.targets import Target
from .header import header_of
from .lowered import Lowered, Value, lowered
from .modules import bytes_of, module_of, static_of
from .objects import MEMORY, archive, symbols_of
from .soft import with_soft
from .targets import compiled, elf_of, is_elf, runs_here, target_of
from .wheel import write_wheel

__all__ = ["build"]

LINKERS = "cc", "gcc", "clang"


def build(
    path: Path, functions: Mapping[str, tuple], frame: Any, target: str, cpu: str | None,
    exact: bool, max_steps: int | None, shared: bool | None, wheel: str, version: str,
) -> dict[str, Any]:  # fmt: skip
    """Write the files of a library; return their paths, and the functions to call here."""
    goal = target_of(target, cpu, exact)
    if target == "native" and (missing := unsuitable()):
        raise UnsupportedError(f"export: {missing}")
    linker = next(filter(None, map(shutil.which, LINKERS)), None)
    shared = True if wheel else shared
    if shared and linker is None:
        raise UnsupportedError(
            f"export: a shared library needs a linker, one of {', '.join(LINKERS)}; the static "
            f"library needs none"
        )
    if shared and not runs_here(goal):
        raise UnsupportedError("export: a shared library is linked for this processor alone")
    found = [
        lowered(name, func, args, frame, goal, fastmath, max_steps)
        for name, (func, args, fastmath) in functions.items()
    ]
    text = module_of(found)
    own = [each.name for each in found]
    text, code = with_own(text, goal)
    needed = check_symbols(code, own, found)
    stem = path.name
    members = {f"{stem}.o": code if is_elf(goal) else compiled(text, goal)}
    names = {f"{stem}.o": own}
    for each in found:
        member = f"{each.name}_static.o"
        members[member] = compiled(static_of(each), goal)
        names[member] = [f"{each.name}_static"]
    path.parent.mkdir(parents=True, exist_ok=True)
    files = {
        "header": path.with_name(f"{stem}.h"), "object": path.with_name(f"{stem}.o"),
        "static": path.with_name(f"lib{stem}.a"),
    }  # fmt: skip
    text = header_of(stem, found, goal, needed, version)
    files["header"].write_bytes(text.encode("ascii", "backslashreplace"))
    files["object"].write_bytes(members[f"{stem}.o"])
    files["static"].write_bytes(archive(members, names))
    if linker is not None and shared is not False and runs_here(goal):
        files["shared"] = path.with_name(f"lib{stem}.so")
        link_shared(linker, members, files["shared"])
        if wheel:
            made = write_wheel(path.parent, stem, wheel, found, files["shared"], version)
            files["wheel"] = made
    called = {}
    if runs_here(goal):
        code = members[f"{stem}.o"]
        library = engine.link(code, own, {})
        called = {each.name: caller_of(each, library) for each in found}
    return {**files, "functions": called}


def with_own(text: str, goal: Target) -> tuple[str, bytes]:
    """Return a module with its own functions for instructions that the processor has not."""
    code = elf_of(text, goal)
    for _ in range(3):  # one of them may need another one
        more = with_soft(text, symbols_of(code)[1])
        if more == text:
            break
        text, code = more, elf_of(more, goal)
    return text, code


def check_symbols(code: bytes, own: Sequence[str], functions: Sequence[Lowered]) -> list[str]:
    """Return what object code needs of the compiler's runtime; refuse what is from elsewhere."""
    defined, needed = symbols_of(code)
    if defined != set(own):
        raise RuntimeError(f"export: the object code defines {sorted(defined ^ set(own))}")
    runtime = {x for x in needed if x in MEMORY or x.startswith("__")}
    runtime.discard("_GLOBAL_OFFSET_TABLE_")
    others = sorted(needed - runtime - {"_GLOBAL_OFFSET_TABLE_"})
    if others:
        raise UnsupportedError(
            f"export({', '.join(x.name for x in functions)}): the code would call "
            f"{', '.join(others)}, which is a part of a library that it may not need; another "
            f"target= or cpu= may have instructions for it"
        )
    return sorted(runtime)


def link_shared(linker: str, members: Mapping[str, bytes], path: Path) -> None:
    """Link a shared library."""
    with tempfile.TemporaryDirectory() as folder:
        own = []
        for name, code in members.items():
            own.append(Path(folder, name))
            own[-1].write_bytes(code)
        done = subprocess.run(
            [linker, "-shared", "-o", str(path), *map(str, own)], capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    if done.returncode:
        raise UnsupportedError(f"export: {linker} does not link the library: {done.stderr[-500:]}")


def caller_of(each: Lowered, library: Any) -> Callable:
    """Return a function of Python's that calls a function of the library."""
    count = len(each.inputs) + len(each.results) + 1
    own = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * count)(library[each.name])
    own.library = library  # type: ignore[attr-defined]  # which has the memory of the code

    def call(*args: Any) -> Any:
        leaves = [x for x in flatten(args)[0] if isinstance(x, (np.ndarray, np.generic, float))]
        if len(leaves) != len(each.inputs):
            raise TypeError(f"{each.name}: {len(each.inputs)} arrays and numbers are needed")
        given = [as_given(each, x, leaf) for x, leaf in zip(each.inputs, leaves)]
        results = [np.empty(x.shape, x.dtype) for x in each.results]
        work = np.empty(max(bytes_of(each), 1), np.uint8)
        status = own(*[x.ctypes.data for x in (*given, *results, work)])
        if status:
            raise ValueError(f"{each.name} returned the status {status}: see its header")
        made = [as_kind(x, y) for x, y in zip(each.results, results)]
        return each.structure.unflatten(made)

    call.__name__ = call.__qualname__ = each.name
    return call


def as_given(each: Lowered, x: Value, leaf: Any) -> np.ndarray:
    found = np.array(leaf, order="C")
    if found.shape != x.shape or found.dtype != x.dtype:
        raise TypeError(
            f"{each.name}: {x.path} is {found.dtype}{list(found.shape)}, and was "
            f"{x.dtype}{list(x.shape)} in the example"
        )
    return found


def as_kind(x: Value, y: np.ndarray) -> Any:
    """Return a result as the kind of value that it is in Python."""
    if x.kind is np.ndarray:
        return y
    return y[()] if x.kind not in (float, int, bool) else y.item()
