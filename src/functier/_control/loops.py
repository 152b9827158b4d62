"""Loops whose length may differ from example to example: while_loop and fori_loop.

Like `branches`, this is Python code over NumPy on tensors.
"""

from itertools import count
from typing import Any

import numpy as np

from .._core.keywords import checks_keywords
from .._core.pytree import name_of_function
from .._core.types import Function, PyTree, Value
from .given import ENDLESS, Repeats, recorder
from .masks import Mask, bare, check_carry, check_function, integer, merge, truth
from .schedule import is_planned, refuse_plan, run_steps


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

    return _while(label, cond_fun, body, init_val, (cond_fun, body_fun))[0]


def _while(
    label: str, cond: Function, body: Function, init: PyTree, roots: tuple, whole: bool = True
) -> tuple[PyTree, bool]:
    """Return the carry of a loop that ends with a condition, and whether that is the last one.

    Where it has to be run step by step, it may end before if it is not to run as a `whole`.
    """

    def follows(carry: PyTree) -> Value:
        return truth(label, "the result of cond_fun", cond(carry))

    def step(_: Any, state: tuple, xs: Any) -> tuple[tuple, None] | None:
        if loop.flagged:
            carry = body(state[1])
        else:
            mask = Mask(state[0])
            if not mask.some:
                return None
            carry = _advance(label, mask, body, (state[1],), state[1])
        return (follows(carry), carry), None

    carry, iteration = init, 0
    loop = Repeats(step, ENDLESS, (), roots, flagged=True)
    try:
        follow = follows(carry)
        while not loop.ended and (whole or loop.flagged):
            mask = Mask(follow)
            if not mask.some:
                return carry, True
            loop.flagged &= not mask.batched
            found = None if loop.level is None else loop.rest(iteration, (follow, carry))
            if found is None:
                carry = _advance(label, mask, body, (carry,), carry)
                found = 1, (follows(carry), carry)
            steps, (follow, carry), *_ = found
            iteration += steps
    except Exception as error:
        error.add_note(f"{label}: in iteration {iteration}")
        raise
    return carry, loop.ended


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
    level, begin = recorder(), lower
    if level is not None and level.cls in (type(lower), type(upper)) and not is_planned():
        begin = lower if type(lower) is level.cls else int(lower)  # type: ignore[arg-type]

        def counted(state: tuple) -> tuple:
            i, carry = state
            return i + 1, check_carry(label, "body_fun", "init_val", carry, body_fun(i, carry))

        (lower, init_val), ended = _while(
            label, lambda state: state[0] < upper, counted, (begin, init_val), (body_fun,), False
        )
        if ended:
            return init_val
    start, lower_axes = bare(lower)
    stop, upper_axes = bare(upper)
    if lower_axes or upper_axes:
        refuse_plan(label, "has bounds that differ between examples")
        return _fori_of_examples(label, lower, upper, body_fun, init_val)
    numbers = range(int(start), int(stop))

    def step(i: Value, carry: PyTree, _: Any) -> tuple[PyTree, None]:
        return check_carry(label, "body_fun", "init_val", carry, body_fun(i, carry)), None

    def steps(a: int, b: int, carry: PyTree, _: Any) -> tuple[PyTree, None]:
        loop = Repeats(step, b - a, (), (body_fun,), numbers[a:b])
        while a < b:
            try:
                found = None if loop.level is None else loop.rest(a - b + loop.n, carry)
                if found is None:
                    after = body_fun(numbers[a], carry)
                    carry = check_carry(label, "body_fun", "init_val", carry, after)
                    a += 1
                    continue
                done, carry, *_ = found
            except Exception as error:
                error.add_note(f"{label}: in iteration {numbers[a] - int(bare(begin)[0])}")
                raise
            a += done
        return carry, None

    return run_steps(label, steps, len(numbers), init_val)[0]


def _fori_of_examples(
    label: str, lower: Value, upper: Value, body_fun: Function, init_val: PyTree
) -> PyTree:
    """Return the carry of a loop whose bounds differ from example to example."""

    def body(i: Value, carry: PyTree) -> PyTree:
        return check_carry(label, "body_fun", "init_val", carry, body_fun(i, carry))

    i = lower if bare(lower)[1] else int(bare(lower)[0])
    carry = init_val
    for step in count():
        try:
            mask = Mask(np.less(i, upper))
            if not mask.some:
                break
            carry = _advance(label, mask, body, (i, carry), carry)
        except Exception as error:
            error.add_note(f"{label}: in iteration {step}")
            raise
        i = i + 1
    return carry


def _advance(label: str, mask: Mask, body: Function, operands: tuple, carry: PyTree) -> PyTree:
    """Return the carry after one more step of the unfinished examples; the others keep theirs."""
    fresh = mask.run(body, operands)
    return fresh if mask.whole else merge(label, mask.pred, ("body_fun", "init_val"), fresh, carry)
