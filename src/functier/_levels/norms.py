"""Norms at the kinks where they are zero: what notes them, and their powers without a kink.

A power of a norm is differentiated by half the square of the norm, whose rules are in `SQUARED`. In
reverse mode the node of the norm leads there; in forward mode its question where it moves does.
"""

from typing import Any

import numpy as np

from .._core.numpy_facts import Function, Value, shape_of
from .._core.op import Call, Op
from .._core.rule import POWERS, SQUARED, by_square, is_bent, kind_of, smooth_exponent
from .cotangents import add
from .kept import compare
from .second_look import (
    SPREADING,
    Kinks,
    Later,
    Looked,
    chosen_zero,
    kinked,
    kinks_of,
    rough,
    through,
)
from .tape import Node, node_of


def square_of(node: Node) -> Node | None:
    """Return the node of half the square of a norm, by that of the norm; None for others."""
    edges, edge = [], node[1:]
    while len(edge or ()) > 1:
        parent, rule, saved, fix, edge = edge
        half = compare if rule is compare else SQUARED.get(rule)
        if half is None:
            return None
        edges.append((parent, half, saved, fix))
    return node_of(edges) if edges else None


def is_norm(x: Any) -> bool:
    """Return whether a tensor is a norm, and not one that has the question of a norm."""
    moves = x._moves
    return type(moves) is Later and moves.norm is not None and moves.norm[0] is x._value


def push_power(moves: Later, x: Value, y: Value) -> Looked:
    """Return the tangent of a power of a norm, by that of half its square, and where it moves."""
    total: Any = None
    for rule, t, saved in moves.norm[1] if moves.norm else ():
        total = add(total, SQUARED[rule](t, *saved))
    return by_square(total, x, y), moves.args[0]


def moves_of(op: Op, rule: Function, x: Any, saved: tuple, ans: Value) -> Any:
    """Return where the result of a rule moves with the operand `x`."""
    kind, moves = kind_of(rule), x._moves
    if kind == "sum" and moves is None and saved[-1] is True and 0 not in shape_of(x._value):
        return None
    if kind in SPREADING:
        moves = through(rule, x._value, saved, moves)
    elif moves is not None and (kind is None or (kind == "kink" and op.family != "elementwise")):
        moves = rough(moves)
    for kink in kinks_at(rule, saved, ans):
        moves = kinked(moves, *kink)
        note_norm(moves, ans, [(rule, x._extra, saved)])
    return moves


def note_norm(moves: Any, ans: Value, norm: list) -> None:
    """Note the rules of a result, and what they were given, if it is a norm."""
    if norm and type(moves) is Later and all([rule in SQUARED for rule, *_ in norm]):
        moves.norm = ans, norm


def power_of_norm(op: Op, call: Call, values: list, moving: list[int]) -> Any:
    """Return the tangent of a power of a norm, and where it moves; None for other operations."""
    if op.func in POWERS and moving == [0] and is_norm(call.operands[0]):
        y = smooth_exponent(call)
        return None if y is None else push_power(call.operands[0]._moves, values[0], y)
    return None


def kinks_at(rule: Function, saved: tuple, ans: Value) -> Kinks:
    """Return the kink of an operation, at which its tangent is zero; of a choice, anywhere."""
    kind = kind_of(rule)
    if kind == "kink" or (kind == "power" and is_bent(saved[1])):
        return ((ans, 0),)
    return ((0, 0),) if kind == "choice" else ()


def settle_root(x: Any, t: Value, value: Value) -> Value:
    """Return the tangent of a square root, with 0 where that of `value` is: of a norm at 0."""
    flat = np.logical_and(np.equal(x._extra, 0), np.equal(value, 0))
    for kink in kinks_of(x._moves):
        flat = np.logical_and(flat, np.logical_not(np.any(np.equal(*kink))))
    chosen = chosen_zero(x._extra)
    return np.where(flat, 0 if chosen is None else chosen, t)[()]
