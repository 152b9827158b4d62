"""The loops of `functier` as Python loops: what they mean, in few lines."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import optree

import functier as ft


def element(xs: Any, i: int) -> Any:
    return optree.tree_map(lambda x: x[i], xs)


def stacked(rows: list) -> Any:
    return optree.tree_map(lambda *parts: np.stack(parts), *rows)


def scan(
    f: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple:
    n = len(optree.tree_leaves(xs)[0]) if length is None else length
    if not n:
        return ft.scan(f, init, xs, length, reverse)
    carry, rows = init, []
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, element(xs, i))
        rows.append(y)
    return carry, stacked(rows[::-1] if reverse else rows)


def fori_loop(lower: int, upper: int, body: Callable, init: Any) -> Any:
    for i in range(lower, upper):
        init = body(i, init)
    return init


def while_loop(test: Callable, body: Callable, init: Any) -> Any:
    while test(init):
        init = body(init)
    return init


def map(f: Callable, xs: Any) -> Any:
    n = len(optree.tree_leaves(xs)[0])
    return stacked([f(element(xs, i)) for i in range(n)]) if n else ft.map(f, xs)


def associative_scan(fn: Callable, elems: Any) -> Any:
    n = len(optree.tree_leaves(elems)[0])
    found: list = []
    for i in range(n):
        x = element(elems, slice(i, i + 1))
        found.append(fn(found[-1], x) if found else x)
    if not found:
        return elems
    return optree.tree_map(lambda *parts: np.concatenate(parts), *found)


LOOPS = SimpleNamespace(
    scan=scan, fori_loop=fori_loop, while_loop=while_loop, map=map,
    associative_scan=associative_scan,
)  # fmt: skip
