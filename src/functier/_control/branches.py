"""Choices that may differ from example to example: cond and switch.

Python over NumPy on tensors: functions may close over tensors of any level, and nothing
here needs a derivative or a batching rule.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.pytree import name_of_function
from .masks import Mask, bare, check_function, integer, merge, narrow, truth


def cond(pred: Any, true_fun: Callable, false_fun: Callable, *operands: Any) -> Any:
    """``true_fun(*operands)`` where `pred` holds, else ``false_fun(*operands)``.

    Under `vmap` the predicate may differ from example to example. A function that no
    example chooses does not run; where both run, their results are merged by `numpy.where`.

    Parameters
    ----------
    pred : scalar
        A truth value, or a real number that is true where it is not 0.
    true_fun, false_fun : callable
        Functions of `operands`, which may also close over tensors of any level.
    *operands : pytrees
        The arguments; PyTorch's tuple of operands is written with a star. What an example
        passes to the function that it did not choose is replaced by the value of one that
        did, so neither an exception nor a NaN nor a derivative comes of it. That holds
        for `operands` only: a function sees what it closes over for all examples. (What
        it asks by `cond` or a loop is answered for those that chose it.)

    Returns
    -------
    pytree
        What the chosen function returned. Where examples differ, both functions return
        one structure, and in each place one shape and dtype (Python numbers adapt). Where all
        choose one function the other does not run, so nothing is known of its result.

    Raises
    ------
    TypeError
        Where an argument is not a function, `pred` is not a real number, or results that are
        to be merged differ in structure, shape or dtype; the message has the path.
    ValueError
        Where `pred` is not a scalar.

    Notes
    -----
    Where examples differ, the time and the memory are those of both functions.

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
    mask = truth("cond", "pred", pred)
    if mask.whole:
        return true_fun(*operands)
    if not mask.some:
        return false_fun(*operands)
    label = f"cond({name_of_function(true_fun)}, {name_of_function(false_fun)})"
    other = Mask(np.logical_not(mask.pred))
    first, second = mask.run(true_fun, operands), other.run(false_fun, operands)
    return merge(label, mask.pred, ("true_fun", "false_fun"), first, second)


def switch(index: Any, branches: Sequence[Callable], *operands: Any) -> Any:
    """``branches[index](*operands)``, where `index` may differ from example to example.

    Only the branches that occur run; see `cond`, of which this is the general case, for
    what becomes of the operands, and what the results need.

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
        What the chosen function returned.

    Raises
    ------
    IndexError
        Where `index` is out of range. (JAX takes the first or the last branch.)
    TypeError, ValueError
        Where there is no branch, `index` is not an integer or not a scalar, and as in `cond`.

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
    given, axes = bare(index)
    occurring = [int(i) for i in np.unique(given)] or [0] if axes else [int(given)]
    for i in occurring[0], occurring[-1]:
        if not 0 <= i < len(branches):
            raise IndexError(
                f"{label}: index {i} is out of range; write an index from 0 to "
                f"{len(branches) - 1}, with numpy.clip where it can be another"
            )
    first, *rest = occurring
    if not rest:
        return branches[first](*operands)
    result: Any = None
    for i in occurring:
        mask = Mask(np.equal(index, i))
        own = mask.run(branches[i], operands)
        names = f"branches[{i}]", f"branches[{first}]"
        result = own if i == first else merge(label, mask.pred, names, own, result)
    return result
