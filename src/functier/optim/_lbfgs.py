"""Steps of L-BFGS, with a backtracking line search."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._control.loops import while_loop
from .._core.numpy_facts import Value, dtype_of, shape_of
from .._core.pytree import flatten
from .._core.tracebacks import checks_keywords
from .._transforms.grad import value_and_grad
from ._steps import PyTree, check_number, matched, parameters, rounded

DECREASE = 1e-4
"""The part of the decrease that the slope promises, which a step has to reach (Armijo)."""
HALVINGS = 40
CURVATURE = 1e-10
"""Pairs of less curvature, relative to the change of the gradient, are left out."""


class LbfgsState(NamedTuple):
    """The state of `lbfgs`: a named tuple, and a pytree.

    Attributes
    ----------
    step : int
        The number of steps so far.
    value : scalar
        The loss of the parameters.
    gradient : pytree
        The gradient of the loss, with the structure and shapes of the parameters.
    moves, changes : pytree
        The last moves of the parameters and changes of the gradient, the newest first, in an
        additional first axis.
    weights : array
        One over the curvature along each move; 0 where there is none yet.
    """

    step: Value
    value: Value
    gradient: PyTree
    moves: PyTree
    changes: PyTree
    weights: Value


@checks_keywords
def lbfgs_init(loss: Callable, params: PyTree, memory: int = 10) -> LbfgsState:
    """Return the initial state of `lbfgs`: the loss, its gradient, and no moves.

    Parameters
    ----------
    loss : callable
        A function of the parameters that returns a real scalar.
    params : pytree
        Arrays of a floating-point or complex dtype, of any shapes.
    memory : int
        The number of moves that are kept.

    Returns
    -------
    LbfgsState

    Raises
    ------
    TypeError
        If a leaf is not an array of a floating-point or complex dtype, or the loss is not a real
        scalar.
    ValueError
        If `memory` is less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> state = lbfgs_init(lambda w: np.sum(w * w), np.ones(2), memory=3)
    >>> float(state.value), state.gradient, state.moves.shape
    (2.0, array([2., 2.]), (3, 2))
    """
    leaves, structure = parameters("lbfgs_init", params)
    if not isinstance(memory, (int, np.integer)) or memory < 1:
        raise ValueError(f"lbfgs_init: memory={memory!r}; write how many moves to keep, at least 1")
    value, gradient = value_and_grad(loss)(params)
    moves, changes = [
        structure.unflatten([np.zeros((memory, *shape_of(p)), dtype_of(p)) for p in leaves])
        for _ in range(2)
    ]
    return LbfgsState(0, value, gradient, moves, changes, np.zeros(memory))


@checks_keywords
def lbfgs(
    loss: Callable, params: PyTree, state: LbfgsState, learning_rate: Value = 1.0
) -> tuple[PyTree, LbfgsState]:
    """Take one step of L-BFGS.

    Parameters
    ----------
    loss : callable
        The function of the parameters that `lbfgs_init` got.
    params : pytree
        Arrays of a floating-point or complex dtype, of any shapes.
    state : LbfgsState
        The result of `lbfgs_init`, or of the step before.
    learning_rate : scalar
        The length of the first trial of a step, in units of the quasi-Newton step.

    Returns
    -------
    params : pytree
        The next parameters, with the structure, shapes and dtypes of `params`. Where no step along
        the direction decreases the loss, they are the same.
    state : LbfgsState
        The next state.

    Raises
    ------
    TypeError
        If a leaf of `params` is not an array of a floating-point or complex dtype, or `state` is
        not an `LbfgsState`.
    ValueError
        If the state does not have the structure and the shapes of `params`.

    Notes
    -----
    The direction is that of the two loops of Nocedal (1980). A step is halved until the loss
    decreases by a small part of what its slope promises. So a step calls `loss` once for each
    trial, and once more with its gradient; it does not depend on the size of the gradients.

    References
    ----------
    J. Nocedal, *Updating quasi-Newton matrices with limited storage*, 1980.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import optim
    >>> def rosenbrock(p):
    ...     return (1 - p["x"]) ** 2 + 100 * (p["y"] - p["x"] ** 2) ** 2
    >>> params = {"x": -1.2, "y": 1.0}
    >>> state = optim.lbfgs_init(rosenbrock, params)
    >>> for _ in range(60):
    ...     params, state = optim.lbfgs(rosenbrock, params, state)
    >>> float(rosenbrock(params)) < 1e-12
    True
    """
    label = "lbfgs"
    if not isinstance(state, tuple) or len(state) != 6:
        raise TypeError(
            f"{label}: state is a {type(state).__name__}, not an LbfgsState; pass "
            f"lbfgs_init(loss, params), or the state that the step before returned"
        )
    count, value, gradient, moves, changes, weights = state
    check_number(label, "learning_rate", learning_rate)
    leaves, structure = parameters(label, params)
    slopes = matched(label, params, leaves, structure, gradient, "state.gradient")
    kept = flatten(moves, label)[0], flatten(changes, label)[0]
    along = [-q for q in _newton(slopes, *kept, weights)]
    promised = _dot(slopes, along)

    def at(t: Value) -> PyTree:
        return structure.unflatten([p + rounded(p, t)[0] * d for p, d in zip(leaves, along)])

    def decreases(t: Value) -> Value:
        return loss(at(t)) <= value + DECREASE * t * promised  # False for NaN, too

    t, _ = while_loop(
        lambda s: np.logical_and(np.logical_not(decreases(s[0])), s[1] < HALVINGS),
        lambda s: (s[0] / 2, s[1] + 1), (learning_rate + 0 * value, 0),
    )  # fmt: skip
    t = np.where(decreases(t), t, 0.0)
    new = at(t)
    value, gradient = value_and_grad(loss)(new)
    turned = [g - old for g, old in zip(flatten(gradient, label)[0], slopes)]
    moved = [rounded(p, t)[0] * d for p, d in zip(leaves, along)]
    bend = _dot(moved, turned)
    least = 4 * float(np.finfo(dtype_of(bend)).tiny)  # one over it is finite
    good = bend > np.maximum(CURVATURE * _dot(turned, turned), least)
    weight = np.where(good, 1 / np.where(good, bend, 1.0), 0.0)
    moves = structure.unflatten(_pushed(good, moved, kept[0]))
    changes = structure.unflatten(_pushed(good, turned, kept[1]))
    (weights,) = _pushed(good, [weight], [weights])
    return new, LbfgsState(count + 1, value, gradient, moves, changes, weights)


def _dot(xs: list, ys: list) -> Value:
    """Return the real inner product of two lists of arrays."""
    return sum([np.sum(np.real(np.conj(x) * y)) for x, y in zip(xs, ys)])


def _pushed(good: Value, new: list, kept: list) -> list:
    """Return what is kept with the new in front and without the oldest, where the new is good."""
    return [
        np.where(good, np.concatenate([np.expand_dims(x, 0), xs[:-1]]), xs)
        for x, xs in zip(new, kept)
    ]


def _newton(slopes: list, moves: list, changes: list, weights: Value) -> list:
    """Return the inverse of the approximate Hessian times the gradient: Nocedal's two loops."""
    memory, parts, q = shape_of(weights)[0], [], slopes
    for i in range(memory):
        parts.append(weights[i] * _dot([s[i] for s in moves], q))
        q = [x - rounded(x, parts[i])[0] * y[i] for x, y in zip(q, changes)]
    newest = [y[0] for y in changes]
    known = weights[0] > 0
    bend = _dot(newest, newest) * weights[0]
    first = 1 / np.maximum(1.0, np.sqrt(_dot(slopes, slopes)))  # a move of at most 1
    scale = np.where(known, 1 / np.where(known, bend, 1.0), first)
    q = [rounded(x, scale)[0] * x for x in q]
    for i in reversed(range(memory)):
        rest = parts[i] - weights[i] * _dot([y[i] for y in changes], q)
        q = [x + rounded(x, rest)[0] * s[i] for x, s in zip(q, moves)]
    return q
