"""Entries: generated functions that check the arguments of a call, and run a program.

An entry reads the leaves of dicts, lists and tuples by itself; other pytrees are flattened.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.numpy_facts import dtype_of
from .._core.pytree import flatten, is_value, unflatten
from .program import Changed, Program

ndarray = np.ndarray


class Mismatch(BaseException):
    """The arguments are not those that a program is for, or what it depends on has changed."""


class Slot:
    """A place in the structure of a result."""

    def __init__(self, number: int):
        self.number = number

    __array_ufunc__ = None  # counts as a leaf


def entry_of(program: Program, args: tuple, unchanged: Callable[[], bool]) -> Callable:
    """Return the entry of a program for arguments of the structure of `args`."""
    space: dict[str, Any] = {
        "run": program._run, "ndarray": ndarray, "Mismatch": Mismatch, "Changed": Changed,
        "unchanged": unchanged, "dtype_of": dtype_of,
    }  # fmt: skip
    lines: list[str] = []
    inputs: list[str] = []

    def leaf(x: Any, path: str) -> None:
        number = len(lines)
        own = f"v{number}"
        dynamic = program._forms[leaf.count] is not None  # type: ignore[attr-defined]
        leaf.count += 1  # type: ignore[attr-defined]
        lines.append(f"{own} = {path}")
        if not dynamic:
            space[f"k{number}"], space[f"t{number}"] = x, type(x)
            lines.append(
                f"if {own} is not k{number} and "
                f"(type({own}) is not t{number} or {own} != k{number}): raise Mismatch"
            )
            return
        if type(x) is ndarray:
            space[f"s{number}"], space[f"d{number}"] = x.shape, x.dtype
            lines.append(
                f"if type({own}) is not ndarray or {own}.shape != s{number} or "
                f"({own}.dtype is not d{number} and {own}.dtype != d{number}): raise Mismatch"
            )
        else:
            space[f"t{number}"] = type(x)
            lines.append(f"if type({own}) is not t{number}: raise Mismatch")
        inputs.append(own)

    leaf.count = 0  # type: ignore[attr-defined]

    def read(x: Any, path: str) -> None:
        kind = type(x)
        if kind is dict:
            number = len(lines)
            test = f"type({path}) is not dict or {path}.keys() != t{number}"
            lines.append(f"if {test}: raise Mismatch")
            space[f"t{number}"] = dict.fromkeys(x).keys()
            for key in sorted(x):
                read(x[key], f"{path}[{key!r}]")
        elif kind is tuple or kind is list:
            lines.append(
                f"if type({path}) is not {kind.__name__} or len({path}) != {len(x)}: raise Mismatch"
            )
            for i, part in enumerate(x):
                read(part, f"{path}[{i}]")
        elif x is None:
            lines.append(f"if {path} is not None: raise Mismatch")
        else:
            leaf(x, path)

    names = [f"a{i}" for i in range(len(args))]
    if all(map(is_simple, args)):
        for x, own in zip(args, names):
            read(x, own)
    else:
        space["flatten"], space["structure"] = flatten, program._structure
        lines += [
            f"leaves, given = flatten(({', '.join(names)},), 'compile', 'the arguments')",
            "if given != structure: raise Mismatch",
        ]
        for i, x in enumerate(flatten(args, "compile", "the arguments")[0]):
            leaf(x, f"leaves[{i}]")
    lines.append("if not unchanged(): raise Mismatch")
    lines.append(f"try: r = run({', '.join(inputs)})")
    lines.append("except Changed: raise Mismatch from None")
    lines.append(f"return {result_of(program, space)}")
    body = "\n".join(f"    {line}" for line in lines)
    exec(f"def entry({', '.join(names)}):\n{body}\n", space)
    return space["entry"]


def is_simple(x: Any) -> bool:
    """Tell if a pytree is made of dicts with sortable plain keys, lists and tuples."""
    kind = type(x)
    if kind is dict:
        return all([type(k) is str for k in x]) and all(map(is_simple, x.values()))
    if kind is tuple or kind is list:
        return all(map(is_simple, x))
    return x is None or is_value(x) or isinstance(x, (str, int))


def result_of(program: Program, space: dict[str, Any]) -> str:
    """Return the source of the result, whose leaves are in ``r``."""
    leaves = [Slot(i) for i in range(program._size)]
    probe = unflatten(program._out, leaves)

    def write(x: Any) -> str | None:
        kind = type(x)
        if kind is Slot:
            return f"r[{x.number}]"
        if kind is dict:
            parts = {k: write(v) for k, v in x.items()}
            if None in parts.values() or not all([type(k) is str for k in parts]):
                return None
            return "{" + ", ".join(f"{k!r}: {v}" for k, v in parts.items()) + "}"
        if kind is tuple or kind is list:
            own = [write(v) for v in x]
            if None in own:
                return None
            text = ", ".join(own)  # type: ignore[arg-type]
            return f"[{text}]" if kind is list else f"({text}{',' if len(own) == 1 else ''})"
        return "None" if x is None else None

    text = write(probe)
    if text is None:
        space["unflatten"], space["out"] = unflatten, program._out
        return "unflatten(out, list(r))"
    return text
