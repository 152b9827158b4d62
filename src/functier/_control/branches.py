"""Choices that may differ from example to example: cond and switch.

This is Python code over NumPy on tensors. Functions may close over tensors of any level, and
nothing here needs a derivative rule or a batching rule.
"""

from collections.abc import Sequence

import numpy as np

from .._core.numpy_facts import Function, PyTree, Value
from .._core.pytree import name_of_function
from .._core.tracebacks import checks_keywords
from .masks import Mask, bare, check_function, holds, integer, merge, narrow, truth


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
