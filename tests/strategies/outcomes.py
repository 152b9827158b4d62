"""Outcomes of calls (results, writes, errors), and their differences."""

from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import optree

import functier as ft
from functier._programs import passes, stores
from functier._programs.entries import Mismatch

BUGS = NameError, UnboundLocalError, TypeError, AttributeError, KeyError, IndexError, SystemError
"""Errors that no call of a program raises, but the program itself."""


class Outcome(NamedTuple):
    """The result or the error of a call, the arguments then, and what the call has left."""

    result: Any
    given: tuple
    left: str = ""


def outcome(f, args, around=None):
    """Call a function with copies of arguments; `around` starts anew and shows what is left."""
    given = tuple([x.copy() for x in args])
    if around:
        around.restart()
    try:
        result = f(*given)
    except Exception as error:
        result = error
    return Outcome(result, given, around.left() if around else "")


def others(args, number):
    """Return arguments of the same forms: some are near, others are not."""
    g = np.random.default_rng(number)
    found = []
    for x in args:
        kind = np.result_type(x).kind
        if kind in "iub":
            found.append(g.permutation(np.ravel(x)).reshape(np.shape(x)))
            continue
        moved = np.round(g.uniform(-1.0, 1.0, np.shape(x)), 2) + 0.003
        if kind == "c":
            moved = moved + 1j * np.round(g.uniform(-1.0, 1.0, np.shape(x)), 2)
        found.append(x + np.asarray(moved * (1e-3 if number % 2 else 1.0)).astype(x.dtype)[()])
    return tuple(found)


# ---- what differs ----


def leaves_of(tree):
    if isinstance(tree, dict):
        return [x for k in tree for x in (k, *leaves_of(tree[k]))]
    if isinstance(tree, (tuple, list)):
        return [type(tree), len(tree), *[x for part in tree for x in leaves_of(part)]]
    return [tree]


def kind_of(x):
    """Return the type of a leaf; NumPy's numbers are arrays without axes."""
    return np.ndarray if isinstance(x, np.generic) else type(x)


def shown(x):
    if isinstance(x, np.ndarray):
        return np.array2string(x, precision=17, threshold=30).replace("\n", "")[:250]
    return f"{type(x).__name__}: {x}"[:200]


def difference(found, expected):
    """Say how two results differ, to the last bit; all NaNs are alike."""
    if isinstance(expected, Exception):
        return f"eager mode raises {type(expected).__name__}: {expected}"
    a, b = leaves_of(found), leaves_of(expected)
    if len(a) != len(b):
        return "another structure"
    for i, (x, y) in enumerate(zip(a, b)):
        if kind_of(x) is not kind_of(y):
            return f"result {i} is a {type(x).__name__}, expected a {type(y).__name__}"
        if isinstance(y, (np.ndarray, np.generic, float, complex)):
            u, v = np.asarray(x), np.asarray(y)
            if (u.shape, u.dtype) != (v.shape, v.dtype):
                return f"result {i} has the form {u.dtype}{u.shape}, expected {v.dtype}{v.shape}"
            if not np.array_equal(u, v, equal_nan=u.dtype.kind in "fc"):
                return f"result {i}: got {shown(u)}, expected {shown(v)}"
            real = [w.real if w.dtype.kind == "c" else w for w in (u, v)]
            if u.dtype.kind in "fc" and (np.signbit(real[0]) != np.signbit(real[1]))[u == u].any():
                return f"result {i}: a zero of another sign"
        elif x != y:
            return f"result {i}: got {x!r}, expected {y!r}"
    return None


def difference_in_memory(found, expected):
    """Say which leaves differ in their type, or in the order in memory."""
    for x, y in zip(optree.tree_leaves(found), optree.tree_leaves(expected)):
        if type(x) is not type(y):
            return f"a {type(x).__name__}, expected a {type(y).__name__}"
        if type(x) is np.ndarray and x.strides != y.strides:
            return f"strides {x.strides}, expected {y.strides}"
    return None


def problem_of(found, expected, strict=False):
    """Say how two outcomes differ; strict ones have their results in the same order in memory."""
    a, b = found.result, expected.result
    if isinstance(a, Exception) or isinstance(b, Exception):
        if type(a) is not type(b):
            return f"got {shown(a)}, expected {shown(b)}"
    elif (problem := difference(a, b)) or (strict and (problem := difference_in_memory(a, b))):
        return problem
    # A program is refused before its first write, eager mode at one of them.
    is_refused = isinstance(a, ft.LevelError)
    if not is_refused and (problem := difference(found.given, expected.given)):
        return f"of the arguments: {problem}"
    return None if found.left == expected.left else f"left {found.left}, not {expected.left}"


def is_rounding(found, expected, single=False):
    """Tell if two trees of one form differ in their last bits, or in the sign of a zero.

    Where arguments are `single`, wider results have their errors.
    """
    a, b = leaves_of(found), leaves_of(expected)
    if len(a) != len(b) or isinstance(expected, Exception):
        return False
    for x, y in zip(a, b):
        if kind_of(x) is not kind_of(y):
            return False
        if isinstance(y, (np.ndarray, np.generic, float, complex)):
            if np.shape(x) != np.shape(y) or np.result_type(x) != np.result_type(y):
                return False
            size = 1 + np.max(np.abs(y), initial=0.0, where=np.isfinite(y))
            room = 1e-12 if np.result_type(y).char in "dDgG" and not single else 3e-5
            if not np.allclose(x, y, rtol=room, atol=room * size, equal_nan=True):
                return False
        elif x != y:
            return False
    return True


def is_single(args):
    return any(np.result_type(x) == np.float32 for x in args)


# ---- compiled functions ----


def failing(compiled, inputs):
    """Say how a program of a compiled function fails, after which it would be traced again."""
    for args in inputs:
        for variant in compiled._variants:
            try:
                variant.entry(*[x.copy() for x in args])
            except BUGS as error:
                return f"its program fails: {shown(error)}"
            except (Mismatch, Exception):
                pass
    return None


def judge_compiled(
    judge,
    f,
    inputs,
    calls,
    *,
    backend="numpy",
    around=None,
    eager=None,
    exact=True,
    steps_of=lambda error: (),
):
    """Compare a compiled function with eager mode at each call, by the number of its input.

    Return the function, or None where the verdict is known. Where `exact` says so, a result that
    differs by rounding is noted as such.
    `steps_of` returns the steps that an error names.
    """
    compiled = ft.compile(f, backend=backend, warm=True)
    eager = eager or [outcome(f, args, around) for args in inputs]
    for call, i in enumerate(calls):
        found = outcome(compiled, inputs[i], around)
        a, b = found.result, eager[i].result
        if isinstance(a, Exception) and type(a) is not type(b):
            if not isinstance(b, Exception) or judge.counts.foreseen(a):
                judge.refuse(a)
            else:
                judge.unclear("both refuse, in other words")
            return None
        problem = problem_of(found, eager[i])
        if problem is None and isinstance(b, Exception) and steps_of(a) != steps_of(b):
            problem = f"{shown(a)} in {steps_of(a)}, expected {steps_of(b)}"
        if problem and is_rounding(found[:2], eager[i][:2], is_single(inputs[i])):
            if exact and backend == "numpy":
                judge.counts.rounded.append(f"call {call}: {problem}")
        elif problem:
            judge.wrong(f"call {call}: {problem}")
    return compiled


@contextmanager
def rolling(roll):
    """Make loops of steps by a function of a graph."""
    before = passes.PASSES["roll"]
    passes.PASSES["roll"] = roll
    try:
        yield
    finally:
        passes.PASSES["roll"] = before


@contextmanager
def large(size):
    """Let values from so many bytes on be large: their memory is freed and used again."""
    before = stores.LARGE
    stores.LARGE = size
    try:
        yield
    finally:
        stores.LARGE = before
