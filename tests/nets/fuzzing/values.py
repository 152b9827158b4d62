"""Arrays for the fuzzer's operands: dtypes, styles of values, and layouts in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

DTYPES = {
    "f": ((np.float64, 0.8), (np.float32, 0.13), (np.float16, 0.07)),
    "c": ((np.complex128, 0.8), (np.complex64, 0.2)),
    "i": ((np.int64, 0.6), (np.int32, 0.2), (np.int8, 0.2)),
    "u": ((np.uint8, 0.7), (np.uint32, 0.3)),
    "b": ((np.bool_, 1.0),),
}
"""The dtypes of each kind, by its letter, and how often each is drawn."""

WEIGHTS = {"f": 0.7, "c": 0.14, "i": 0.08, "u": 0.03, "b": 0.05}
"""The weight of each kind, where an operand may be of several."""

LAYOUTS = ("F", "strided", "reversed", "broadcast")


def dtype_of_kinds(rng: np.random.Generator, kinds: str) -> np.dtype:
    """One dtype of the kinds, doubles most often."""
    weights = np.array([WEIGHTS[k] for k in kinds])
    kind = kinds[rng.choice(len(kinds), p=weights / weights.sum())]
    types, ps = zip(*DTYPES[kind])
    return np.dtype(types[rng.choice(len(types), p=ps)])


# ---- values ----


def _numbers(rng: np.random.Generator, shape: tuple, style: str) -> np.ndarray:
    if style == "positive":
        return rng.uniform(0.4, 2.5, shape)
    if style == "unit":
        return rng.uniform(-0.9, 0.9, shape)
    if style == "above":
        return rng.uniform(1.1, 3.0, shape)
    if style == "ties":
        return rng.integers(-2, 3, shape).astype(float)
    if style == "equal":
        return np.broadcast_to(rng.normal(), shape).copy()
    x = np.asarray(rng.normal(size=shape))
    if style == "large":
        return x * 50
    if style == "zeros":
        return x * (rng.random(shape) < 0.6)
    if style == "nan":
        return np.where(rng.random(shape) < 0.2, np.nan, x)
    if style == "inf":
        return np.where(rng.random(shape) < 0.2, np.inf * np.sign(x), x)
    return x


def make(rng: np.random.Generator, shape: tuple, dtype: Any, style: str = "normal") -> np.ndarray:
    """An array of this form whose values are of this style.

    ``sorted``: rising along the last axis. ``dominant``: well conditioned matrices.
    ``hermitian``, ``spd``: such matrices. ``low:high``: integers from this range.
    """
    dtype = np.dtype(dtype)
    if ":" in style:
        low, high = map(int, style.split(":"))
        return np.asarray(rng.integers(low, max(high, low + 1), shape)).astype(dtype)
    if style in ("dominant", "hermitian", "spd"):
        return _matrices(rng, shape, dtype, style)
    if style == "sorted":
        return np.sort(make(rng, shape, dtype), axis=-1) if shape else make(rng, shape, dtype)
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype.kind in "iu":
        if style == "large":
            return np.asarray(rng.integers(0 if dtype.kind == "u" else -100, 120, shape)).astype(
                dtype
            )
        positive = style in ("positive", "above")
        low = 1 if positive else 0 if dtype.kind == "u" else -3
        return np.asarray(rng.integers(low, 5, shape)).astype(dtype)
    x = _numbers(rng, shape, style)
    if dtype.kind == "c":
        x = x + 1j * _numbers(rng, shape, "normal" if style in ("nan", "inf") else style)
    return np.asarray(x).astype(dtype)


def _matrices(rng: np.random.Generator, shape: tuple, dtype: np.dtype, style: str) -> np.ndarray:
    n = shape[-1]
    x = make(rng, shape, dtype)
    if style == "dominant":
        return (x + (n + 1) * np.eye(*shape[-2:])).astype(dtype)
    adjoint = np.conj(np.swapaxes(x, -1, -2))
    if style == "hermitian":  # with gaps between the eigenvalues
        return ((x + adjoint) / 4 + np.diag(2.0 * np.arange(n))).astype(dtype)
    return (np.matmul(x, adjoint) + n * np.eye(n)).astype(dtype)


# ---- memory ----


def lay(x: np.ndarray, layout: str) -> np.ndarray:
    """The values of `x` in another order in memory."""
    if layout == "F":
        return np.asfortranarray(x) if x.ndim else x
    if layout in ("strided", "reversed") and x.ndim:
        step = 2 if layout == "strided" else -1
        index = tuple([slice(None, None, step)] * x.ndim)
        whole = np.zeros([n * abs(step) for n in x.shape], x.dtype)[index]
        whole[...] = x
        return whole
    return x


@dataclass
class Operand:
    """An array that a drawn program takes, and how to draw more of its like.

    Attributes
    ----------
    style : str
        What `make` is given for another example.
    layout : str
        What `lay` is given.
    shared : bool
        The same for every example of a batch.
    constant : bool
        Never differentiated: a mask, an index, what has no derivative by design.
    needs : str
        The operand without which this one is not batched or differentiated either: the
        array whose method is called with it.
    symmetric : bool
        A Hermitian matrix: so are its tangents.
    """

    name: str
    value: np.ndarray
    style: str = "normal"
    layout: str = "C"
    shared: bool = False
    constant: bool = False
    needs: str = ""
    axis: int | None = None  # along which the values are equal, in a zero-stride layout
    again: Callable | None = None
    extra: dict = field(default_factory=dict)

    @property
    def symmetric(self) -> bool:
        return self.style in ("hermitian", "spd")

    def another(self, rng: np.random.Generator) -> np.ndarray:
        """Another example of the same form."""
        if self.again is not None:
            return self.again(rng)
        return make(rng, self.value.shape, self.value.dtype, self.style)

    def differentiable(self) -> bool:
        return self.value.dtype.kind in "fc" and not self.constant


def literal(x: Any) -> str:
    """An expression that makes an array again."""
    x = np.asarray(x)
    if x.size == 0:
        return f"np.zeros({x.shape}, {x.dtype.name!r})"
    text = repr(x.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.array({text}, {x.dtype.name!r})"


def literal_laid(x: np.ndarray, layout: str) -> str:
    """An expression that makes an array again in a layout."""
    if layout == "F":
        return f"np.asfortranarray({literal(x)})"
    if layout in ("strided", "reversed"):
        return f"{literal(x)}  # laid out {layout}"
    if layout == "broadcast":
        return f"{literal(x)}  # zero strides"
    return literal(x)
