"""Functions that fill arrays with their first values."""

import math

import numpy as np

from .._core.numpy_facts import Value
from ..random._sampling import Seed
from ._random import generator_of

GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0), "selu": 0.75,
}  # fmt: skip


def _write(name: str, tensor: np.ndarray, values: Value) -> np.ndarray:
    if not isinstance(tensor, np.ndarray):
        raise TypeError(
            f"{name}: an array is needed, to write to, got {type(tensor).__name__}; initialize "
            f"parameters outside of transforms"
        )
    tensor[...] = values
    return tensor


def uniform_(
    tensor: np.ndarray, a: float = 0.0, b: float = 1.0, generator: Seed = None
) -> np.ndarray:
    """Fill with uniform numbers from `a` to `b`.

    Parameters
    ----------
    tensor : array
        The array to write to, such as a `Parameter`.
    a, b : float
        The bounds.
    generator : seed or generator, optional
        By default that of `functier.nn.manual_seed`.

    Returns
    -------
    array
        The array itself.

    Examples
    --------
    >>> import numpy as np
    >>> w = uniform_(np.empty((2, 3)), -0.1, 0.1, generator=0)
    >>> bool((abs(w) <= 0.1).all())
    True
    """
    return _write("uniform_", tensor, generator_of(generator).uniform(a, b, np.shape(tensor)))


def normal_(
    tensor: np.ndarray, mean: float = 0.0, std: float = 1.0, generator: Seed = None
) -> np.ndarray:
    """Fill with normal numbers with this mean and standard deviation.

    Parameters
    ----------
    tensor : array
        The array to write to, such as a `Parameter`.
    mean, std : float
    generator : seed or generator, optional
        By default that of `functier.nn.manual_seed`.

    Returns
    -------
    array
        The array itself.

    Examples
    --------
    >>> import numpy as np
    >>> w = normal_(np.empty((2, 3)), 5.0, 0.1, generator=0)
    >>> bool((abs(w - 5.0) < 1.0).all())
    True
    """
    return _write("normal_", tensor, generator_of(generator).normal(mean, std, np.shape(tensor)))


def constant_(tensor: np.ndarray, val: Value) -> np.ndarray:
    """Fill with one number.

    Parameters
    ----------
    tensor : array
        The array to write to, such as a `Parameter`.
    val : float

    Returns
    -------
    array
        The array itself.

    Examples
    --------
    >>> import numpy as np
    >>> constant_(np.empty(3), 0.5)
    array([0.5, 0.5, 0.5])
    """
    return _write("constant_", tensor, val)


def zeros_(tensor: np.ndarray) -> np.ndarray:
    """Fill with zeros.

    Parameters
    ----------
    tensor : array
        The array to write to, such as a `Parameter`.

    Returns
    -------
    array
        The array itself.

    Examples
    --------
    >>> import numpy as np
    >>> zeros_(np.ones(3))
    array([0., 0., 0.])
    """
    return _write("zeros_", tensor, 0)


def ones_(tensor: np.ndarray) -> np.ndarray:
    """Fill with ones.

    Parameters
    ----------
    tensor : array
        The array to write to, such as a `Parameter`.

    Returns
    -------
    array
        The array itself.

    Examples
    --------
    >>> import numpy as np
    >>> ones_(np.zeros(3))
    array([1., 1., 1.])
    """
    return _write("ones_", tensor, 1)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the recommended factor of the standard deviation for a nonlinearity.

    Parameters
    ----------
    nonlinearity : str
        "linear", "conv1d", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
    param : float, optional
        The slope of "leaky_relu" below 0; 0.01 by default.

    Returns
    -------
    float

    Examples
    --------
    >>> round(calculate_gain("relu"), 4)
    1.4142
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in GAINS:
        raise ValueError(
            f"calculate_gain: nonlinearity={nonlinearity!r}; it has to be 'leaky_relu' or one of "
            f"{list(GAINS)}"
        )
    return GAINS[nonlinearity]


def fans(tensor: np.ndarray) -> tuple[int, int]:
    """Return the number of inputs of each output element, and of outputs of each input element."""
    shape = np.shape(tensor)
    if len(shape) < 2:
        raise ValueError(
            f"init: the fan of an array with fewer than two axes is not defined, got the shape "
            f"{shape}; use uniform_ or normal_ with a scale"
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def xavier_uniform_(tensor: np.ndarray, gain: float = 1.0, generator: Seed = None) -> np.ndarray:
    """Fill with uniform numbers of variance ``gain**2 * 2 / (fan_in + fan_out)``.

    See Glorot and Bengio (2010).

    Parameters
    ----------
    tensor : array of shape (outputs, inputs, *kernel)
        The weight to write to.
    gain : float
        As `calculate_gain` returns it.
    generator : seed or generator, optional
        By default that of `functier.nn.manual_seed`.

    Returns
    -------
    array
        The array itself.

    Examples
    --------
    >>> import numpy as np
    >>> w = xavier_uniform_(np.empty((2, 4)), generator=0)
    >>> bool((abs(w) <= 1.0).all())
    True
    """
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: np.ndarray, gain: float = 1.0, generator: Seed = None) -> np.ndarray:
    """Fill with normal numbers of variance ``gain**2 * 2 / (fan_in + fan_out)``.

    See Glorot and Bengio (2010).

    Parameters
    ----------
    tensor : array of shape (outputs, inputs, *kernel)
        The weight to write to.
    gain : float
        As `calculate_gain` returns it.
    generator : seed or generator, optional
        By default that of `functier.nn.manual_seed`.

    Returns
    -------
    array
        The array itself.

    Examples
    --------
    >>> import numpy as np
    >>> w = xavier_normal_(np.empty((100, 100)), generator=0)
    >>> round(float(np.std(w)), 2)
    0.1
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def _kaiming_std(tensor: np.ndarray, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"kaiming: mode={mode!r}; it has to be 'fan_in' or 'fan_out'")
    fan = fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


def kaiming_uniform_(
    tensor: np.ndarray, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Seed = None,
) -> np.ndarray:  # fmt: skip
    """Fill with uniform numbers of variance ``gain**2 / fan`` (He et al., 2015).

    Parameters
    ----------
    tensor : array of shape (outputs, inputs, *kernel)
        The weight to write to.
    a : float
        The slope of "leaky_relu" below 0.
    mode : {"fan_in", "fan_out"}
        Whether the fan is the number of inputs of an output, which preserves the size of values, or
        the number of outputs of an input, which preserves the size of gradients.
    nonlinearity : str
        As `calculate_gain` takes it.
    generator : seed or generator, optional
        By default that of `functier.nn.manual_seed`.

    Returns
    -------
    array
        The array itself.

    Examples
    --------
    >>> import numpy as np
    >>> w = kaiming_uniform_(np.empty((3, 6)), nonlinearity="relu", generator=0)
    >>> bool((abs(w) <= 1.0).all())
    True
    """
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: np.ndarray, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Seed = None,
) -> np.ndarray:  # fmt: skip
    """Fill with normal numbers of variance ``gain**2 / fan`` (He et al., 2015).

    Parameters
    ----------
    tensor : array of shape (outputs, inputs, *kernel)
        The weight to write to.
    a, mode, nonlinearity
        As in `kaiming_uniform_`.
    generator : seed or generator, optional
        By default that of `functier.nn.manual_seed`.

    Returns
    -------
    array
        The array itself.

    Examples
    --------
    >>> import numpy as np
    >>> w = kaiming_normal_(np.empty((100, 50)), nonlinearity="relu", generator=0)
    >>> round(float(np.std(w)), 1)
    0.2
    """
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)
