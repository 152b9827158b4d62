"""Complex numbers of their real and imaginary parts."""

import numpy as np

from .._core.numpy_facts import align
from .._core.table import COMPLEX_OF
from .._core.types import Value
from .constructors import linear, primitive


def _complex_of(real: Value, imaginary: Value) -> Value:
    """Return ``real + 1j * imaginary``, where neither part spoils the other one.

    With an infinite part the formula gives NaN for the other, and it loses the sign of a zero.
    """
    dtype = np.result_type(real, imaginary, np.complex64)
    made = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imaginary)), dtype)
    made.real, made.imag = real, imaginary
    return made[()]


complex_of = primitive(_complex_of)
COMPLEX_OF.append(complex_of)

linear(
    complex_of,
    "real imaginary",
    "real imaginary",
    vmap=lambda k, *parts: complex_of(*align(k, parts)),
    vjp={"real": lambda g: np.real(g), "imaginary": lambda g: np.imag(g)},
)
