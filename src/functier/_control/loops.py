"""Branches and loops that may differ from example to example: cond, switch, while_loop, fori_loop.

This is Python code over NumPy on tensors. Functions may close over tensors of any level, and
nothing here needs a derivative rule or a batching rule.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.numpy_facts import Function, PyTree, Value
from .._core.pytree import flatten, name_of_function
from .._core.tracebacks import checks_keywords
from .given import ENDLESS, Repeats, recorder
from .masks import (
    Mask,
    bare,
    check_carry,
    check_function,
    holds,
    integer,
    is_weak,
    merge,
    narrow,
    truth,
)
from .schedule import is_planned, refuse_plan, run_steps


@checks_keywords
def cond(pred: Value, true_fun: Function, false_fun: Function, *operands: PyTree) -> PyTree:
    """Return ``true_fun(*operands)`` if `pred` holds, else ``false_fun(*operands)``.

    Under `vmap` the predicate may differ from example to example. A function that no
    example chooses does not run. If both run, `numpy.where` merges their results.

    Parameters
    ----------
    pred : scalar
        A truth value, or a real number, which counts as true if it is not 0.
    true_fun, false_fun : callable
        Functions of `operands`. They may close over tensors of any level.
    *operands : pytrees
        The arguments (PyTorch's tuple of operands is passed with a star). For an example that
        did not choose a function, its operands are replaced by those of an example that did,
        so it causes no exception, NaN or derivative. This applies to `operands` only: the
        values that a function closes over are those of all examples. (A predicate of a `cond`
        or loop inside the function counts for the examples that chose it.)

    Returns
    -------
    pytree
        The result of the chosen function. If examples differ, both functions have to return
        one structure, and for each leaf one shape and dtype (Python numbers adapt). If all
        examples choose one function, the result of the other is not checked.

    Raises
    ------
    TypeError
        If an argument is not a function, `pred` is not a real number, or the results of both
        functions differ in structure, shape or dtype. The message has the path.
    ValueError
        If `pred` is not a scalar.

    Notes
    -----
    If examples differ, the call takes the time and memory of both functions.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, vmap
    >>> def root(x):
    ...     return cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)
    >>> vmap(root)(np.array([4.0, 0.0, -1.0]))
    array([ 2.,  0., -0.])
    >>> vmap(grad(root))(np.array([4.0, 0.0, -1.0]))
    array([0.25, 0.  , 0.  ])
    """
    check_function("cond", "true_fun", true_fun)
    check_function("cond", "false_fun", false_fun)
    mask = Mask(truth("cond", "pred", pred))
    if mask.whole:
        return true_fun(*operands)
    if not mask.some:
        return false_fun(*operands)
    label = f"cond({name_of_function(true_fun)}, {name_of_function(false_fun)})"
    other = Mask(np.logical_not(mask.pred))
    first, second = mask.run(true_fun, operands), other.run(false_fun, operands)
    return merge(label, mask.pred, ("true_fun", "false_fun"), first, second)


@checks_keywords
def switch(index: Value, branches: Sequence[Function], *operands: PyTree) -> PyTree:
    """Return ``branches[index](*operands)``.

    Under `vmap` the index may differ from example to example. Only the branches that some
    example chooses run. `switch` generalizes `cond`, where operands and results are described.

    Parameters
    ----------
    index : scalar
        An integer from 0 to ``len(branches) - 1``.
    branches : sequence of callable
        Functions of `operands`.
    *operands : pytrees
        The arguments.

    Returns
    -------
    pytree
        The result of the chosen function.

    Raises
    ------
    IndexError
        If `index` is out of range. (JAX takes the first or the last branch.)
    TypeError, ValueError
        As `cond`; and if `branches` is empty, or `index` is not an integer scalar.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> def area(kind, a):
    ...     return switch(kind, [lambda a: a * a, lambda a: np.pi * a * a], a)
    >>> vmap(area)(np.array([0, 1]), np.array([2.0, 1.0]))
    array([4.        , 3.14159265])
    """
    branches = tuple(branches)
    if not branches:
        raise ValueError("switch: branches is empty; pass at least one function")
    for i, branch in enumerate(branches):
        check_function("switch", f"branches[{i}]", branch)
    label = f"switch({', '.join(name_of_function(b) for b in branches)})"
    if type(index) is not int:
        index = narrow(integer(label, "index", index))
    given, axes = bare(index, asks=False)
    n = len(branches)
    if axes and not holds(np.any(np.logical_or(given < 0, given >= n))):
        occurring = [i for i in range(n) if holds(np.any(np.equal(given, i)))] or [0]
    else:
        occurring = [int(i) for i in np.unique(bare(index)[0])]
    for i in occurring[0], occurring[-1]:
        if not 0 <= i < n:
            raise IndexError(
                f"{label}: index {i} is out of range; write an index from 0 to "
                f"{n - 1}, with numpy.clip where it can be another"
            )
    first, *rest = occurring
    if not rest:
        return branches[first](*operands)
    result: PyTree = None
    for i in occurring:
        mask = Mask(np.equal(index, i))
        out = mask.run(branches[i], operands)
        names = f"branches[{i}]", f"branches[{first}]"
        result = out if i == first else merge(label, mask.pred, names, out, result)
    return result


EACH = Mask(True)
"""The mask of all examples."""


@checks_keywords
def while_loop(cond_fun: Function, body_fun: Function, init_val: PyTree) -> PyTree:
    """Repeat ``val = body_fun(val)`` as long as ``cond_fun(val)`` holds, from `init_val` on.

    Under `vmap` the loop runs until it has ended for every example. An example that has
    finished keeps its value exactly; `body_fun` then gets the value of an unfinished example
    for it (see `cond`).

    Parameters
    ----------
    cond_fun : callable
        Takes the carry and returns a truth value.
    body_fun : callable
        Takes the carry and returns the next carry.
    init_val : pytree
        The first carry. A Python number takes the dtype that the first step gives it.

    Returns
    -------
    pytree
        The last carry, with the structure, shapes and dtypes of `init_val`.

    Raises
    ------
    TypeError
        If the carry changes its structure, a shape or a dtype. The message has the path, and
        a note names the iteration.
    ValueError
        If the result of `cond_fun` is not a scalar.

    Notes
    -----
    Reverse mode (which JAX's `while_loop` does not support) saves what `body_fun` records in
    every iteration. ``while_loop(cond_fun, checkpoint(body_fun), init_val)`` saves the carry
    of each iteration and the record of one, and runs the body twice. Forward mode and `vmap`
    save only the carry.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, vmap
    >>> def root(a):  # Newton's method
    ...     return while_loop(
    ...         lambda x: np.abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, 1.0 + 0 * a
    ...     )
    >>> vmap(root)(np.array([1.0, 4.0, 9.0]))
    array([1., 2., 3.])
    >>> vmap(grad(root))(np.array([4.0, 9.0])).round(6)
    array([0.25    , 0.166667])
    """
    check_function("while_loop", "cond_fun", cond_fun)
    check_function("while_loop", "body_fun", body_fun)
    label = f"while_loop({name_of_function(body_fun)})"
    refuse_plan(label, "ends when its condition says so")

    def body(carry: PyTree) -> PyTree:
        return check_carry(label, "body_fun", "init_val", carry, body_fun(carry))

    return _while(label, cond_fun, body, (init_val,), (cond_fun, body_fun))[-2]


def _while(
    label: str, cond: Function, body: Function, start: tuple, roots: tuple, whole: bool = True
) -> tuple:
    """Return the carry of a loop that ends with a condition, and whether that is the last one.

    `start` is the first carry, or the first index and it; `cond` and `body` take the same. Where
    the loop has to be run step by step, it may end before if it is not to run as a `whole`.
    """

    def unasked(follow: Value, operands: tuple) -> Mask | None:
        if level is None or any([is_weak(x) for x in flatten(operands[-1])[0]]):
            return None  # a number that examples keep is an array, so it has to be asked for them
        return Mask.unasked(follow)

    def state_of(operands: tuple) -> tuple:
        follow = truth(label, "the result of cond_fun", cond(*operands))
        mask = unasked(follow, operands)
        return (follow if mask is None else mask.some), follow, operands

    def advance(follow: Value, operands: tuple, mask: Mask) -> tuple:
        if level is not None:
            mask = unasked(follow, operands) or (EACH if loop.flagged else Mask(follow))
        fresh = mask.run(body, operands)
        if not mask.whole:
            fresh = merge(label, mask.pred, ("body_fun", "init_val"), fresh, operands[-1])
        return state_of((operands[0] + 1, fresh) if operands[1:] else (fresh,))

    def step(_: Any, state: tuple, xs: Any) -> tuple[tuple, None] | None:
        if not loop.flagged and not Mask(state[0]).some:
            return None
        return advance(state[1], state[2], EACH), None

    iteration = 0
    loop = Repeats(step, ENDLESS, (), roots, flagged=True)
    level = loop.level
    try:
        state = state_of(start)
        while not loop.ended and (whole or loop.flagged):
            mask = Mask(state[0])
            if not mask.some:
                return *state[2], True
            loop.flagged &= not mask.batched
            found = None if loop.level is None else loop.rest(iteration, state)
            if found is None:
                found = 1, advance(state[1], state[2], mask)
            steps, state, *_ = found
            iteration += steps
    except Exception as error:
        error.add_note(f"{label}: in iteration {iteration}")
        raise
    return *state[2], loop.ended


@checks_keywords
def fori_loop(
    lower: Value, upper: Value, body_fun: Function, init_val: PyTree, *, unroll: Any = None
) -> PyTree:
    """Repeat ``val = body_fun(i, val)`` for `i` in ``range(lower, upper)``, from `init_val` on.

    Parameters
    ----------
    lower, upper : scalar
        Integers. Under `vmap` they may differ from example to example: an example
        that has finished keeps its value, as in `while_loop`.
    body_fun : callable
        Takes the index and the carry, and returns the next carry. The index is an ``int`` if
        `lower` is the same for all examples.
    init_val : pytree
        The first carry. A Python number takes the dtype that the first step gives it.
    unroll : optional
        Accepted for compatibility with JAX, and ignored.

    Returns
    -------
    pytree
        The last carry, with the structure, shapes and dtypes of `init_val`.

    Raises
    ------
    TypeError, ValueError
        As `while_loop`, whose notes on memory apply here too; and if a bound is not an integer
        scalar.

    Notes
    -----
    `checkpoint` with slots saves a fixed number of carries of a function that calls this loop.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> def power(x, n):
    ...     return fori_loop(0, n, lambda i, y: y * x, 1.0)
    >>> vmap(power)(np.array([2.0, 3.0, 5.0]), np.array([3, 2, 0]))
    array([8., 9., 1.])
    """
    check_function("fori_loop", "body_fun", body_fun)
    label = f"fori_loop({name_of_function(body_fun)})"
    integer(label, "lower", lower)
    integer(label, "upper", upper)

    def body(i: Value, carry: PyTree) -> PyTree:
        return check_carry(label, "body_fun", "init_val", carry, body_fun(i, carry))

    level, begin = recorder(), lower
    lower_axes, upper_axes = bare(lower, asks=False)[1], bare(upper, asks=False)[1]
    batched = bool(lower_axes or upper_axes)
    if batched:
        refuse_plan(label, "has bounds that differ between examples")
    if batched or (
        level is not None and level.cls in (type(lower), type(upper)) and not is_planned()
    ):
        begin = lower if lower_axes or (level and type(lower) is level.cls) else int(lower)  # type: ignore[arg-type]
        lower, init_val, ended = _while(
            label, lambda i, _: i < upper, body, (begin, init_val), (body_fun,), batched
        )
        if ended:
            return init_val
    start, stop = bare(lower)[0], bare(upper)[0]
    numbers = range(int(start), int(stop))

    def step(i: Value, carry: PyTree, _: Any) -> tuple[PyTree, None]:
        return body(i, carry), None

    def steps(a: int, b: int, carry: PyTree, _: Any) -> tuple[PyTree, None]:
        loop = Repeats(step, b - a, (), (body_fun,), numbers[a:b])
        while a < b:
            try:
                found = None if loop.level is None else loop.rest(a - b + loop.n, carry)
                if found is None:
                    carry = body(numbers[a], carry)
                    a += 1
                    continue
                done, carry, *_ = found
            except Exception as error:
                error.add_note(f"{label}: in iteration {numbers[a] - int(bare(begin)[0])}")
                raise
            a += done
        return carry, None

    return run_steps(label, steps, len(numbers), init_val)[0]
