"""debug_nans, detect_anomaly, full_tracebacks and writes: blocks in which levels are watched."""

from collections.abc import Iterator

from .._core.blocks import Block, block, setting
from .._core.errors import SHOWN
from ._watching import check_flags, watching


def debug_nans(nans: bool = True, infs: bool = True) -> Block[None]:
    """Raise an error at the first operation that makes a NaN or an infinity.

    This is a context manager and a decorator (``@debug_nans()``). It checks every NumPy call
    on a tensor of any level, and every derivative rule in the backward pass.

    Parameters
    ----------
    nans, infs : bool
        Whether to look for NaNs and for infinities. With both False, an inner block is not checked.

    Raises
    ------
    NonFiniteError
        The message names the operation, the transform, the number of bad elements, the index
        and the example of the first, the values of the operands there, and the line of your
        code; for a derivative rule also the cotangent, and the line of its operation. A NaN
        is reported if no operand had one, and an infinity if all operands were finite
        (elementwise operations are compared element by element). Arguments that are not
        finite are reported by their path, at the first operation whose result is bad because
        of them.

    Notes
    -----
    Infinities that you write, such as the ``-inf`` of a mask, are not reported, and neither is
    an operation that ignores NaNs, such as `numpy.nanmean`. But ``numpy.where(x > 0,
    numpy.log(x), 0)`` is reported at the logarithm, which makes the NaN: clip its argument as
    well.

    The block applies to its context (thread or task). Inside it, calls take the slow paths, and two
    more passes over each result. Outside it, a level costs a few nanoseconds more.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> with debug_nans():
    ...     ft.grad(lambda x: np.sum(np.sqrt(x)))(np.array([1.0, 0.0]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    functier...NonFiniteError: ...the derivative of numpy.sqrt for its operand 'x' made 1 infinity...
    """  # noqa: E501
    check_flags("debug_nans", nans=nans, infs=infs)
    return watching(nans=nans, infs=infs)


def detect_anomaly(check_nan: bool = True) -> Block[None]:
    """Show the line of the forward pass in errors of the backward pass.

    This is a context manager and a decorator, like torch's anomaly mode. An exception in a
    derivative rule (usually a custom one), or a cotangent of a wrong shape, gets a note with
    the stack of your code at the operation that recorded the rule.

    Parameters
    ----------
    check_nan : bool
        Whether to raise an error if a derivative rule makes a NaN.

    Raises
    ------
    NonFiniteError
        See `debug_nans`, which also checks the forward pass and infinities.

    Notes
    -----
    The forward pass has to run inside the block. It saves the stack of each operation on the
    tape, which is too slow for production.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> with detect_anomaly(), np.errstate(all="ignore"):
    ...     y, pullback = ft.vjp(lambda x: np.cos(np.sqrt(x)), 0.0)
    ...     pullback(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    functier...NonFiniteError: ...the derivative of numpy.sqrt for its operand 'x' made 1 NaN...
    """
    check_flags("detect_anomaly", check_nan=check_nan)
    return watching(rules=check_nan, notes=True)


@block
def full_tracebacks(full: bool = True) -> Iterator[None]:
    """Show functier's own frames in the tracebacks of errors.

    This is a context manager and a decorator (``@full_tracebacks()``). By default, when an error
    leaves the call of a transform, its traceback has only the frames of your code and of other
    libraries, so its last line is yours. For each transform, the innermost first, a note on the
    error names it and the forms of its arguments.

    Parameters
    ----------
    full : bool
        Whether to show functier's frames. With False they are hidden in an inner block.

    Notes
    -----
    The environment variable ``FUNCTIER_TRACEBACKS=full`` does the same for the whole program,
    outside such blocks. The block applies to its context (thread or task). Frames are hidden when
    the error leaves a transform, so a debugger that stops where it is raised sees all of them.

    Examples
    --------
    >>> import traceback
    >>> import numpy as np
    >>> import functier as ft
    >>> def frames():
    ...     try:
    ...         ft.grad(lambda x: x @ np.ones(4))(np.ones(3))
    ...     except ValueError as error:
    ...         return len(traceback.extract_tb(error.__traceback__)), error.__notes__
    >>> frames()
    (2, ['grad(<lambda>) got x: float64[3]'])
    >>> with full_tracebacks():
    ...     frames()[0] > 2
    True
    """
    check_flags("full_tracebacks", full=full)
    yield from setting(SHOWN, full)


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
