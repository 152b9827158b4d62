"""debug_nans and detect_anomaly: the origin of NaNs and infinities."""

from .._core.blocks import Block
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
