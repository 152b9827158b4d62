"""Complex numbers of their real and imaginary parts."""

import numpy as np

from .._core.numpy_facts import Value
from .constructors import elementwise, primitive


def _complex_of(real: Value, imaginary: Value) -> Value:
    """Return ``real + 1j * imaginary``, where neither part spoils the other one.

    With an infinite part the formula gives NaN for the other, and it loses the sign of a zero.
    """
    dtype = np.result_type(real, imaginary, np.complex64)
    made = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imaginary)), dtype)
    made.real, made.imag = real, imaginary
    return made[()]


complex_of = primitive(_complex_of)

elementwise(
    complex_of,
    lambda g: complex_of(g, np.zeros_like(g)),
    lambda g: complex_of(np.zeros_like(g), g),
    params="real imaginary",
    holomorphic=False,
    vjp={"real": lambda g: np.real(g), "imaginary": lambda g: np.imag(g)},
)
