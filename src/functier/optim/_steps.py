"""Steps of gradient descent with momentum, and of Adam; and the checks that all steps share."""

from typing import Any, NamedTuple

import numpy as np

from .._core.border import check_leaf
from .._core.numpy_facts import Value, dtype_of, shape_of
from .._core.pytree import differing, flatten, instead_of, is_value, paths
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords
from .._levels.cotangents import cast

PyTree = Any
"""A pytree of arrays: parameters, or what goes with them."""


@checks_keywords
def momentum_init(params: PyTree) -> PyTree:
    """Return the initial state of `momentum`: zero velocities.

    Parameters
    ----------
    params : pytree
        Arrays of a floating-point or complex dtype, of any shapes.

    Returns
    -------
    pytree
        Zeros with the structure, shapes and dtypes of `params`.

    Raises
    ------
    TypeError
        If a leaf is not an array of a floating-point or complex dtype.

    Examples
    --------
    >>> import numpy as np
    >>> momentum_init({"w": np.ones(2)})
    {'w': array([0., 0.])}
    """
    leaves, structure = parameters("momentum_init", params)
    return structure.unflatten([np.zeros(shape_of(p), dtype_of(p)) for p in leaves])


@checks_keywords
def momentum(
    params: PyTree,
    grads: PyTree,
    state: PyTree,
    learning_rate: Value,
    momentum: Value = 0.9,
    nesterov: bool = False,
) -> tuple[PyTree, PyTree]:
    """Take one step of gradient descent with momentum.

    Parameters
    ----------
    params : pytree
        Arrays of a floating-point or complex dtype, of any shapes.
    grads : pytree
        The gradients, as `functier.grad` returns them: the structure and shapes of `params`.
    state : pytree
        The velocities: the result of `momentum_init`, or of the step before.
    learning_rate : scalar
        The factor of the velocity in the step.
    momentum : scalar
        The fraction of the velocity that is kept. With 0, the step is plain gradient descent.
    nesterov : bool
        Whether the step looks one velocity ahead.

    Returns
    -------
    params, state : pytree
        The next parameters and velocities, with the structure, shapes and dtypes of `params`.

    Raises
    ------
    TypeError
        If a leaf of `params` is not an array of a floating-point or complex dtype, or a number
        is not a real scalar.
    ValueError
        If `grads` or `state` does not have the structure and the shapes of `params`.

    Notes
    -----
    The velocity `v` becomes ``momentum * v + g`` with the gradient `g`. The step is
    ``-learning_rate * v`` with the new velocity (Polyak 1964), or with `nesterov`
    ``-learning_rate * (momentum * v + g)``: the method of Nesterov (1983), in the form of
    Sutskever et al. (2013), which takes the gradient at the parameters themselves.

    References
    ----------
    B. T. Polyak, *Some methods of speeding up the convergence of iteration methods*, 1964.

    Y. Nesterov, *A method for solving the convex programming problem with convergence rate
    O(1/k^2)*, 1983.

    I. Sutskever, J. Martens, G. Dahl, G. Hinton, *On the importance of initialization and
    momentum in deep learning*, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, optim
    >>> def loss(w):
    ...     return np.sum((w - np.array([1.0, 2.0])) ** 2)
    >>> w = np.zeros(2)
    >>> state = optim.momentum_init(w)
    >>> for _ in range(300):
    ...     w, state = optim.momentum(w, grad(loss)(w), state, learning_rate=0.1)
    >>> w.round(6)
    array([1., 2.])
    """
    label = "momentum"
    check_number(label, "learning_rate", learning_rate)
    check_number(label, "momentum", momentum)
    leaves, structure = parameters(label, params)
    slopes = matched(label, params, leaves, structure, grads, "grads")
    velocities = matched(label, params, leaves, structure, state, "state")
    moved, kept = [], []
    for p, g, v in zip(leaves, slopes, velocities):
        rate, keep = rounded(p, learning_rate, momentum)
        v = keep * v + g
        kept.append(v)
        moved.append(p - rate * (keep * v + g if nesterov else v))
    return structure.unflatten(moved), structure.unflatten(kept)


class AdamState(NamedTuple):
    """The state of `adam`: a named tuple, and a pytree.

    Attributes
    ----------
    step : int
        The number of steps so far.
    mean : pytree
        The running mean of the gradients, with the structure and shapes of the parameters.
    square : pytree
        The running mean of their squared sizes; it is real, even for complex parameters.
    """

    step: Value
    mean: PyTree
    square: PyTree


@checks_keywords
def adam_init(params: PyTree) -> AdamState:
    """Return the initial state of `adam`: zeros, and no steps.

    Parameters
    ----------
    params : pytree
        Arrays of a floating-point or complex dtype, of any shapes.

    Returns
    -------
    AdamState
        ``(0, mean, square)``, where both are zeros in the structure and shapes of `params`.

    Raises
    ------
    TypeError
        If a leaf is not an array of a floating-point or complex dtype.

    Examples
    --------
    >>> import numpy as np
    >>> adam_init(np.ones(2))
    AdamState(step=0, mean=array([0., 0.]), square=array([0., 0.]))
    """
    leaves, structure = parameters("adam_init", params)
    mean = [np.zeros(shape_of(p), dtype_of(p)) for p in leaves]
    square = [np.zeros(shape_of(p), _real(p)) for p in leaves]
    return AdamState(0, structure.unflatten(mean), structure.unflatten(square))


@checks_keywords
def adam(
    params: PyTree,
    grads: PyTree,
    state: AdamState,
    learning_rate: Value = 1e-3,
    b1: Value = 0.9,
    b2: Value = 0.999,
    eps: Value = 1e-8,
) -> tuple[PyTree, AdamState]:
    """Take one step of Adam.

    Parameters
    ----------
    params : pytree
        Arrays of a floating-point or complex dtype, of any shapes.
    grads : pytree
        The gradients, as `functier.grad` returns them: the structure and shapes of `params`.
    state : AdamState
        The result of `adam_init`, or of the step before.
    learning_rate : scalar
        About the size of the step in each element. For a schedule, pass each step its number.
    b1, b2 : scalar
        The fractions of the running means (of gradients, and of squares) that are kept; at least 0
        and less than 1.
    eps : scalar
        Added to the root of the mean square, in the denominator.

    Returns
    -------
    params : pytree
        The next parameters, with the structure, shapes and dtypes of `params`.
    state : AdamState
        The next state.

    Raises
    ------
    TypeError
        If a leaf of `params` is not an array of a floating-point or complex dtype, a number is
        not a real scalar, or `state` is not an `AdamState`.
    ValueError
        If `grads` or `state` does not have the structure and the shapes of `params`, if `b1` or
        `b2` is out of its range, or if `eps` rounds to 0 in the dtype of a leaf.

    Notes
    -----
    The formulas are those of Kingma and Ba (2015), algorithm 1. With the gradient `g`, at
    step `t`::

        mean   = b1 * mean + (1 - b1) * g
        square = b2 * square + (1 - b2) * abs(g) ** 2
        step   = -learning_rate * mean / (1 - b1**t) / (sqrt(square / (1 - b2**t)) + eps)

    The derivative of a step is also right where all gradients so far were zero, as for a weight
    behind a unit that is never active: the root of `square` is constant there.

    References
    ----------
    D. P. Kingma, J. Ba, *Adam: A Method for Stochastic Optimization*, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, optim
    >>> def loss(p):
    ...     return (p["x"] - 1.0) ** 2 + (p["y"] + 2.0) ** 2
    >>> params = {"x": 0.0, "y": 0.0}
    >>> state = optim.adam_init(params)
    >>> for _ in range(200):
    ...     params, state = optim.adam(params, grad(loss)(params), state, learning_rate=0.1)
    >>> float(loss(params)) < 1e-4
    True

    The derivative of the loss after three steps with respect to the learning rate:

    >>> def after(rate):
    ...     w = np.array([3.0, -1.0])
    ...     state = optim.adam_init(w)
    ...     for _ in range(3):
    ...         w, state = optim.adam(w, 2.0 * w, state, learning_rate=rate)
    ...     return np.sum(w * w)
    >>> grad(after)(0.1).round(3)
    np.float64(-20.312)
    """
    label = "adam"
    if not isinstance(state, tuple) or len(state) != 3:
        raise TypeError(
            f"{label}: state is a {type(state).__name__}, not an AdamState; pass "
            f"adam_init(params), or the state that the step before returned"
        )
    before, means, squares = state
    numbers = {"learning_rate": learning_rate, "b1": b1, "b2": b2, "eps": eps}
    for name, number in numbers.items():
        check_number(label, name, number)
    check_number(label, "state.step", before, "iu")
    for name in ("b1", "b2"):
        known = numbers[name]
        if isinstance(known, (int, float, np.number)) and not 0 <= known < 1:
            raise ValueError(f"{label}: {name}={known}; pass a number from 0 to less than 1")
    leaves, structure = parameters(label, params)
    slopes = matched(label, params, leaves, structure, grads, "grads")
    means = matched(label, params, leaves, structure, means, "state.mean")
    squares = matched(label, params, leaves, structure, squares, "state.square", real=True)
    _check_eps(label, params, leaves, eps)
    step = before + 1
    rate, scale = learning_rate / (1 - b1**step), np.sqrt(1 - b2**step)
    moved, kept_means, kept_squares = [], [], []
    for p, g, m, s in zip(leaves, slopes, means, squares):
        r, keep, take, keep_square, take_square, c, e = rounded(
            p, rate, b1, 1 - b1, b2, 1 - b2, scale, eps
        )
        m = keep * m + take * g
        s = keep_square * s + take_square * _square(g)
        moved.append(p - r * m / (_root(s) / c + e))
        kept_means.append(m)
        kept_squares.append(s)
    new = AdamState(step, structure.unflatten(kept_means), structure.unflatten(kept_squares))
    return structure.unflatten(moved), new


# ---- arguments ----


def parameters(label: str, params: PyTree) -> tuple[list, Any]:
    """Return the leaves of the parameters, checked, and their structure."""
    leaves, structure = flatten(params, label, "params")
    for i, p in enumerate(leaves):
        if type(p) is np.ndarray and p.dtype.kind == "f":
            continue
        if not is_value(p):
            raise TypeError(
                f"{label}: {paths(params, 'params')[i]} is a {type(p).__name__}, not an array; "
                f"{instead_of(p)}"
            )
        check_leaf(label, lambda i=i: paths(params, "params")[i], p)
        if dtype_of(p).kind not in "fc":
            where = paths(params, "params")[i]
            convert = f"float({where})" if type(p) in (int, bool) else f"{where}.astype(float)"
            raise TypeError(
                f"{label}: {where} has dtype {dtype_of(p)}, and a step would round to integers; "
                f"write {convert}, or leave it out of params"
            )
    return leaves, structure


def matched(
    label: str, params: PyTree, leaves: list, structure: Any, tree: PyTree, name: str,
    real: bool = False,
) -> list:  # fmt: skip
    """Return the leaves of an argument that goes with `params`, in the dtypes of these.

    With `real` they have the real dtypes of complex parameters.
    """
    found, own = flatten(tree, label, name)
    if own != structure or len(found) != len(leaves):
        if texts := differing(tree, params):
            raise ValueError(
                f"{label}: {name} has the structure {texts[0]}, and params has {texts[1]}; "
                f"{_advice(label, name)}"
            )
    matched = []
    for i, (p, x) in enumerate(zip(leaves, found)):
        dtype = _real(p) if real else dtype_of(p)
        if type(x) is np.ndarray and x.dtype == dtype and x.shape == shape_of(p):
            matched.append(x)
            continue
        if not is_value(x) or shape_of(x) != shape_of(p):
            given = f"has shape {shape_of(x)}" if is_value(x) else f"is a {type(x).__name__}"
            raise ValueError(
                f"{label}: {paths(tree, name)[i]} {given}, and {paths(params, 'params')[i]} has "
                f"shape {shape_of(p)}; {_advice(label, name)}"
            )
        check_leaf(label, lambda i=i: paths(tree, name)[i], x)
        if dtype_of(x).kind not in "biufc" or (dtype_of(x).kind == "c") > (dtype.kind == "c"):
            raise TypeError(
                f"{label}: {paths(tree, name)[i]} has dtype {dtype_of(x)}, and "
                f"{paths(params, 'params')[i]} has {dtype_of(p)}; {_advice(label, name)}"
            )
        matched.append(cast(x, dtype))
    return matched


def _advice(label: str, name: str) -> str:
    if name == "grads":
        return "pass the gradient with respect to params, such as grad(loss)(params)"
    return (
        f"pass {label}_init(params) with these parameters, or the state that the step before "
        f"returned (under vmap, as an argument with the in_dims of params)"
    )


def check_number(label: str, name: str, x: Any, kinds: str = "iuf") -> None:
    """Raise where `x` is not a scalar of a dtype of these kinds."""
    if type(x) is int or (type(x) is float and "f" in kinds):
        return
    if callable(x):
        raise TypeError(f"{label}: {name} is a function; pass its value at this step, a number")
    if not is_value(x):
        raise TypeError(f"{label}: {name} is a {type(x).__name__}; pass a number")
    check_leaf(label, name, x)
    if shape_of(x) != () or dtype_of(x).kind not in kinds:
        noun = "real number" if "f" in kinds else "integer"
        raise TypeError(
            f"{label}: {name} has dtype {dtype_of(x)} and shape {shape_of(x)}; pass one {noun} "
            f"(for one {noun} for each of several fits, call the step in vmap)"
        )


def _check_eps(label: str, params: PyTree, leaves: list, eps: Value) -> None:
    """Raise where `eps` is lost in the dtype of a leaf: zero divided by zero would follow."""
    if not isinstance(eps, (int, float, np.number)):
        return
    for i, p in enumerate(leaves):
        if eps and not _real(p).type(eps):
            raise ValueError(
                f"{label}: eps={eps} is 0 in the dtype of {paths(params, 'params')[i]}, "
                f"{dtype_of(p)}; pass a larger one, such as "
                f"{np.finfo(_real(p)).tiny:.0e}"
            )


def _real(p: Value) -> np.dtype:
    """Return the dtype of the real part of a parameter."""
    dtype = dtype_of(p)
    return dtype if dtype.kind == "f" else np.finfo(dtype).dtype


def rounded(p: Value, *numbers: Value) -> list:
    """Return numbers that leave the dtype of a parameter as it is: Python's, or cast ones."""
    dtype = _real(p)
    return [x if type(x) in (int, float) else cast(x, dtype) for x in numbers]


def _root(s: Value) -> Value:
    """Return the root of a mean square, with the derivative 0 at 0.

    There all gradients were 0, and so is their mean, which the root divides: the root has a kink
    and the step has none.
    """
    if not isinstance(s, Tensor):
        return np.sqrt(s)
    still = s == 0
    return np.where(still, 0.0, np.sqrt(np.where(still, 1.0, s)))


def _square(g: Value) -> Value:
    """Return the square of the absolute value."""
    return np.real(g * np.conj(g)) if dtype_of(g).kind == "c" else g * g
