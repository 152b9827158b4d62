"""full_tracebacks: functier's own frames in tracebacks."""

from collections.abc import Iterator

from .._core.blocks import block, setting
from .._core.errors import SHOWN
from ._watching import check_flags


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
