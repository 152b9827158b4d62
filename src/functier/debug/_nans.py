"""Finding where NaN comes from: debug_nans and detect_anomaly."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core.blocks import Block, block
from .._core.observers import Observer
from .._levels.lineage import AMBIENT, levels_of
from ._watching import LOOKING, WATCH, Watch, watch_level, watch_rule

DEBUGGER = Observer(WATCH, LOOKING.lift, level=watch_level, rule=watch_rule)


def debug_nans(nans: bool = True, infs: bool = True) -> Block[None]:
    """Raise at the first operation that makes a NaN or an infinity.

    A context manager, and a decorator (``@debug_nans()``). It looks at every NumPy call on
    a tensor of any level, and at every derivative rule in the backward pass.

    Parameters
    ----------
    nans, infs : bool
        What to look for. Both False switches it off again inside.

    Raises
    ------
    NonFiniteError
        Names the operation, the transform, how many elements are bad, the index and the
        example of the first, the operands' values there, and the line of your code; for a
        derivative rule also the cotangent, and the line of the operation it belongs to.
        A NaN is reported where no operand had one, an infinity where all operands were
        finite (elementwise operations are compared element by element). Values that were
        bad when they came in are reported as such, by their path among the arguments, at
        the first operation whose result they spoil.

    Notes
    -----
    Infinities that you write (the ``-inf`` of a mask) are no fault, and an operation may
    leave NaNs out, as `numpy.nanmean` does. But ``numpy.where(x > 0, numpy.log(x), 0)``
    is reported at the logarithm, which makes the NaN: clip its argument as well.

    It holds for the context (thread or task) that switches it on. Levels that it watches
    take the slow paths, and each call costs two passes over its result; without it the
    price is a few nanoseconds a level.

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
    _check_flags("debug_nans", nans=nans, infs=infs)
    return _watching(nans=nans, infs=infs)


def detect_anomaly(check_nan: bool = True) -> Block[None]:
    """Errors of the backward pass show the forward line that they belong to.

    A context manager, and a decorator; torch's anomaly mode. An exception in a derivative
    rule (a custom one, mostly), or a cotangent whose shape does not fit, carries a note
    with the stack of your code at the operation that recorded the rule.

    Parameters
    ----------
    check_nan : bool
        Whether a derivative rule that makes a NaN raises.

    Raises
    ------
    NonFiniteError
        See `debug_nans`, which looks at the forward pass, too, and at infinities.

    Notes
    -----
    The forward pass has to run inside. The stack is kept with each operation on the tape:
    for finding a fault, not for every day.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> with detect_anomaly(), np.errstate(all="ignore"):
    ...     y, pullback = ft.vjp(lambda x: np.sqrt(x) * 0.0, 0.0)
    ...     pullback(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    functier...NonFiniteError: ...the derivative of numpy.sqrt for its operand 'x' made 1 NaN...
    """
    _check_flags("detect_anomaly", check_nan=check_nan)
    return _watching(rules=check_nan, notes=True)


@block
def _watching(**options: bool) -> Iterator[None]:
    inside = (WATCH.get() or Watch())._replace(**options)
    yield from DEBUGGER.observing(inside, levels_of(AMBIENT.get()))


def _check_flags(name: str, **flags: Any) -> None:
    for option, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(
                f"{name}: {option}={value!r}; write True or False, and @{name}() with its "
                f"parentheses as a decorator"
            )
