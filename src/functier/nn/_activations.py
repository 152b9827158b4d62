"""The activation functions of layers, element by element."""

import math
from collections.abc import Callable

import numpy as np

from .._core.numpy_facts import Value
from . import _operations


def relu(input: Value) -> Value:
    """Compute ``max(input, 0)``, whose derivative at 0 is 0 (that of `numpy.maximum` is 1/2).

    Parameters
    ----------
    input : array

    Returns
    -------
    array of the shape of the input

    Examples
    --------
    >>> import numpy as np
    >>> relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return _operations.relu(input)


def leaky_relu(input: Value, negative_slope: float = 0.01) -> Value:
    """Return `input` where it is positive, and `negative_slope` times it elsewhere.

    Parameters
    ----------
    input : array
    negative_slope : float
        The slope below 0, and the derivative at 0.

    Returns
    -------
    array of the shape of the input

    Examples
    --------
    >>> import numpy as np
    >>> leaky_relu(np.array([-1.0, 2.0]), 0.1)
    array([-0.1,  2. ])
    """
    return np.where(input > 0, input, negative_slope * input)


def sigmoid(input: Value) -> Value:
    """Compute ``1 / (1 + exp(-input))`` without overflow.

    Parameters
    ----------
    input : array

    Returns
    -------
    array of the shape of the input

    Examples
    --------
    >>> import numpy as np
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    return _operations.sigmoid(input)


def tanh(input: Value) -> Value:
    """Compute the hyperbolic tangent: `numpy.tanh`.

    Parameters
    ----------
    input : array

    Returns
    -------
    array of the shape of the input

    Examples
    --------
    >>> float(tanh(0.0))
    0.0
    """
    return np.tanh(input)


def silu(input: Value) -> Value:
    """Compute ``input * sigmoid(input)``, also known as swish.

    Parameters
    ----------
    input : array

    Returns
    -------
    array of the shape of the input

    Examples
    --------
    >>> import numpy as np
    >>> silu(np.array([0.0, 1.0])).round(3)
    array([0.   , 0.731])
    """
    return input * _operations.sigmoid(input)


def softplus(input: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """Compute ``log(1 + exp(beta * input)) / beta`` without overflow.

    Parameters
    ----------
    input : array
    beta : float
    threshold : float
        Where ``beta * input`` is above it, the result is `input`, as in torch.

    Examples
    --------
    >>> import numpy as np
    >>> softplus(np.array([-1000.0, 1000.0]))
    array([   0., 1000.])
    """
    scaled = beta * input
    return np.where(scaled > threshold, input, np.logaddexp(scaled, 0) / beta)


def gelu(input: Value, approximate: str = "none") -> Value:
    """Compute ``input`` times the standard normal distribution function of ``input``.

    Parameters
    ----------
    input : array
    approximate : {"none", "tanh"}
        "none" needs SciPy (``pip install functier[scipy]``), for `scipy.special.erf`. "tanh"
        is ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``, within 0.0005 of it.

    Raises
    ------
    ImportError
        For "none" without SciPy.

    Examples
    --------
    >>> import numpy as np
    >>> gelu(np.array([-1.0, 0.0, 1.0]), approximate="tanh").round(3)
    array([-0.159,  0.   ,  0.841])
    """
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)
        return 0.5 * input * (1 + np.tanh(inner))
    if approximate != "none":
        raise ValueError(f"gelu: approximate={approximate!r}; it has to be 'none' or 'tanh'")
    return 0.5 * input * (1 + _erf()(input * math.sqrt(0.5)))


def _erf() -> Callable:
    try:
        import scipy.special as special  # type: ignore[import-untyped]  # an extra
    except ImportError as error:
        raise ImportError(
            "gelu: approximate='none' needs SciPy, which is not installed; write pip install "
            "'functier[scipy]', in a checkout pip install '.[scipy]', or approximate='tanh'"
        ) from error
    return special.erf
