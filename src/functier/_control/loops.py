"""Loops whose length may differ from example to example: while_loop and fori_loop.

Like `branches`, this is Python code over NumPy on tensors.
"""

from typing import Any

from .._core.numpy_facts import Function, PyTree, Value
from .._core.pytree import flatten, name_of_function
from .._core.tracebacks import checks_keywords
from .given import ENDLESS, Repeats, recorder
from .masks import Mask, bare, check_carry, check_function, integer, is_weak, merge, truth
from .schedule import is_planned, refuse_plan, run_steps

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
