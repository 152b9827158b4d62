"""Machine code for programs, where the library that makes it is there."""

import importlib
import importlib.util
from typing import Any

from .program import Program


def machine_of(
    program: Program, graph: Any, fastmath: bool, threads: int, bounded: bool
) -> list[Any]:
    """Let a program with this graph run as machine code; return what is to say about it.

    The files of that import this one.
    """
    try:
        backend: Any = importlib.import_module("functier._programs.machine.backend")
    except Exception as error:  # llvmlite is found, and cannot be loaded
        return [f"no machine code: {type(error).__name__}: {error}"]
    return backend.use_machine(program, graph, fastmath, threads, bounded)


def has_llvm() -> bool:
    """Return whether the library that makes machine code can be imported."""
    return importlib.util.find_spec("llvmlite") is not None
