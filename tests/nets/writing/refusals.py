"""Statements that NumPy refuses, and functier has to refuse."""

import random

import numpy as np

from .program import Line, Program

STATEMENTS = (
    "{a}[99] = 0.0", "{a}[..., 99] += 1.0", "{a}[0, 0, 0, 0, 0] = 1.0", "{a}['x'] = 1.0",
    "{a}[:] = np.zeros({more})", "{a} += np.zeros({more})",
    "np.add(np.zeros({more}), {a}, out={a})", "np.sum({a}, axis=0, out={a})",
    "{a}[...] = 1j", "{a} *= 1j", "np.multiply({a}, 1j, out={a})", "{a}.fill(1j)",
    "np.copyto({a}, 1j)", "np.put({a}, [999], 1.0)",
    "np.put_along_axis({a}, np.array([0]), 1.0, 7)",
    "np.broadcast_to({a}, {wide})[...] = 1.0", "np.broadcast_to({a}, {wide})[0] += 1.0",
    "np.diagonal({a})[...] = 1.0", "np.fill_diagonal(np.ravel({a}), 1.0)",
    "{a}.sort(axis=5)", "np.take({a}, [99], out={a})",
    "np.maximum({a}, 1j, out={a})", "{a}[[0, 99]] = {a}[[0, 0]]", "{a}.flat[999] = 1.0",
    "np.copyto({a}, np.zeros({more}))", "{a}[np.array([True] * 77)] = 1.0", "{a}[0.5] = 1.0",
    "{a}.partition(77)", "np.dot({a}, {a}, out={a}[:0])", "{a}.real[...] = np.zeros({more})",
)  # fmt: skip


def refused_line(r: random.Random, program: Program) -> Line | None:
    """A statement for the end of a program; None where NumPy takes it."""
    space = {"np": np, "fnp": np} | {n: v.copy() for n, v in program.args.items()}
    for line in program.lines:
        exec(line.text, space)
    arrays = [
        n for n, v in space.items()
        if type(v) is np.ndarray and v.dtype.kind == "f" and n not in ("c", "k") and v.ndim
    ]  # fmt: skip
    a = r.choice(arrays)
    shape = space[a].shape
    text = r.choice(STATEMENTS).format(a=a, more=(*shape, 5), wide=(2, *shape))
    try:
        exec(text, space)
    except Exception:
        return Line(text)
    return None
