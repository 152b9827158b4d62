"""writes: arrays that a function refills although a derivative keeps them."""

from .._core.blocks import Block
from ._watching import check_flags, watching


def writes(check: bool = True) -> Block[None]:
    """Raise an error if a derivative reads a plain array that has been written to since.

    This is a context manager and a decorator (``@writes()``). An operation on ``x`` and a plain
    array keeps the array for its derivative. Reverse mode copies the array, or records enough of a
    large one to see most changes. It does not see a change to an argument of the transform itself,
    or to parts of a large matrix that was multiplied by a vector; the gradient is then wrong.
    Inside the block, each operation records the full contents of the arrays that it keeps, and the
    backward pass compares.

    Parameters
    ----------
    check : bool
        Whether to check. With False an inner block is not checked.

    Raises
    ------
    MutationError
        The message names the transform, the operation that kept the array, the variable with
        the array, its shape and dtype, the lines of your code, and what to write: a copy
        (``buffer.copy()``), or an array that the function makes by `functier.numpy`.

    Notes
    -----
    The forward pass has to run inside the block. The backward pass may run outside: a
    function that `vjp` or `linearize` returns raises the error when it is called.

    An array that no derivative reads is not reported, such as an operand of an addition. Neither is
    one that is written to after the function has returned, since `vjp` and `linearize` copy what
    they keep. Forward mode computes immediately and keeps nothing. A function under `checkpoint`
    runs again, and compares its results itself.

    The block applies to its context (thread or task). Inside it, calls take the slow paths, and
    each operation reads the arrays that it keeps once more. Before Python 3.13, arrays in the local
    variables of a function stay in memory until it returns, because the block looks at their names.
    Outside the block nothing is slower.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> point = np.ones(2)
    >>> def f(x):
    ...     y = np.sum(x * x)
    ...     point[:] = 2.0
    ...     return y
    >>> with writes():
    ...     ft.grad(f)(point)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    functier...MutationError: grad(f): the derivative of numpy.multiply for its operand 'x' would read point, float64 of shape (2,), which was written to after numpy.multiply had kept it: element (0,) was 1.0 and is 2.0...
    """  # noqa: E501
    check_flags("writes", check=check)
    return watching(writes=check)
