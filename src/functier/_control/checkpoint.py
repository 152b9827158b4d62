"""checkpoint: recompute intermediate values in the backward pass instead of saving them."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar

from .._core.pytree import check_callable, name_of_function
from .._core.tracebacks import checks_keywords, leave
from .._transforms.transformed import Transformed
from .regions import region

P = ParamSpec("P")
R = TypeVar("R")


@checks_keywords
def checkpoint(func: Callable[P, R]) -> Callable[P, R]:
    """Return `func` with its intermediate values recomputed in the backward pass.

    Reverse mode saves the values that the derivative of each operation needs. For a checkpointed
    function it saves only the arguments and the results, and runs the function again when the
    backward pass reaches it. A chain of n equal parts, each checkpointed, needs memory for n
    arguments and one part.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
        It may close over tensors. Both runs have to do the same: draws from a
        `functier.random` generator are repeated, draws from a NumPy generator are not. Its
        arguments may be written to after the call of `vjp`; an array that it closes over may
        be written to only after the backward pass.

    Returns
    -------
    callable
        A function with the signature and the results of `func`. Only reverse mode treats it
        differently: forward mode and `vmap` save nothing anyway.

    Raises
    ------
    RuntimeError
        In the backward pass, if the second run returned a different form or different numbers. (For
        large results, a sample of the elements and their sum are compared.)

    Notes
    -----
    A backward pass that is itself differentiated, as in ``grad(grad(f))``, is checkpointed too.
    Each additional order of derivatives costs another run.

    A loop of n steps, cut in halves that are checkpointed, and these in halves again, keeps
    about log2(n) states; each step runs about log2(n) times. See the second example.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> @checkpoint
    ... def block(x):
    ...     return np.sin(np.sin(np.sin(x)))
    >>> float(grad(lambda x: block(block(x)))(0.0))
    1.0

    A long loop, with 11 states kept:

    >>> def repeat(step, n):
    ...     if n == 1:
    ...         return step
    ...     first, second = repeat(step, n // 2), repeat(step, n - n // 2)
    ...     return checkpoint(lambda x, *args: second(first(x, *args), *args))
    >>> long = repeat(lambda x, rate: x + rate * np.sin(x), 1000)
    >>> np.round(grad(long, argnums=(0, 1))(0.1, 0.001), 6)
    array([  2.674355, 266.726092])
    """
    check_callable("checkpoint", func)
    label = f"checkpoint({name_of_function(func)})"

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        try:
            return region(label, lambda args, kwargs: func(*args, **kwargs), args, kwargs)
        except BaseException as error:
            leave(error, label, func, args, kwargs)
            raise

    return Transformed(checkpointed, func, "checkpoint", SimpleNamespace())
