"""Loops whose end may differ from example to example: while_loop and fori_loop.

Python over NumPy on tensors, as `branches`.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from .._core.pytree import name_of_function
from .masks import Mask, bare, check_carry, check_function, integer, merge, truth


def while_loop(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
    """``val = body_fun(val)`` as long as ``cond_fun(val)`` holds, from `init_val` on.

    Under `vmap` the loop goes on while it does for any example. An example that has
    finished keeps its value exactly, and `body_fun` sees the value of one that has not in
    its place (see `cond`).

    Parameters
    ----------
    cond_fun : callable
        From the carry to a truth value.
    body_fun : callable
        From the carry to the next one.
    init_val : pytree
        The first carry. A Python number takes the dtype that the first step gives it.

    Returns
    -------
    pytree
        The last carry, of the structure, shapes and dtypes of `init_val`.

    Raises
    ------
    TypeError
        Where the carry changes its structure, a shape or a dtype; the message has the
        path, and a note tells the iteration.
    ValueError
        Where the result of `cond_fun` is not a scalar.

    Notes
    -----
    Reverse mode (which JAX's does not have) keeps what `body_fun` records in every
    iteration. ``while_loop(cond_fun, checkpoint(body_fun), init_val)`` keeps the carry of
    each iteration, and what the body records once, for its time once more. Forward mode
    and `vmap` keep nothing beyond the carry.

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
    carry = init_val
    for iteration in count():
        try:
            mask = truth(label, "the result of cond_fun", cond_fun(carry))
            if not mask.some:
                break
            carry = _advance(label, "init_val", mask, body_fun, (carry,), carry)
        except Exception as error:
            error.add_note(f"{label}: in iteration {iteration}")
            raise
    return carry


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable, init_val: Any, *, unroll: Any = None
) -> Any:
    """``val = body_fun(i, val)`` for `i` from `lower` to ``upper - 1``, from `init_val` on.

    Parameters
    ----------
    lower, upper : scalar
        Integers. Under `vmap` they may differ from example to example: an example
        that has finished keeps its value, as in `while_loop`.
    body_fun : callable
        From the index and the carry to the next carry. The index is an ``int`` where
        `lower` is the same for all examples.
    init_val : pytree
        The first carry. A Python number takes the dtype that the first step gives it.
    unroll : optional
        For JAX's sake; there is nothing to unroll.

    Returns
    -------
    pytree
        The last carry, of the structure, shapes and dtypes of `init_val`.

    Raises
    ------
    TypeError, ValueError
        Where a bound is not an integer or not a scalar, and as in `while_loop`, whose notes on
        memory hold here too.

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
    start, lower_axes = bare(lower)
    stop, upper_axes = bare(upper)
    i = lower if lower_axes else int(start)
    carry = init_val
    steps: Any = count() if lower_axes or upper_axes else range(int(stop) - int(start))
    for step in steps:
        try:
            if lower_axes or upper_axes:
                mask = Mask(np.less(i, upper))
                if not mask.some:
                    break
                carry = _advance(label, "init_val", mask, body_fun, (i, carry), carry)
            else:
                carry = check_carry(label, "body_fun", "init_val", carry, body_fun(i, carry))
        except Exception as error:
            error.add_note(f"{label}: in iteration {step}")
            raise
        i = i + 1
    return carry


def _advance(label: str, root: str, mask: Mask, call: Callable, operands: tuple, carry: Any) -> Any:
    """The carry after one more step of the examples that go on; the others keep theirs."""
    func = "body_fun"
    fresh = check_carry(label, func, root, carry, mask.run(call, operands))
    return fresh if mask.whole else merge(label, mask.pred, (func, root), fresh, carry)
