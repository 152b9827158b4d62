"""A row of the sample table: one call of one NumPy function."""

import functools
import inspect
import re
import sys
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optree

GENERATORS: dict[str, np.random.Generator] = {}
"""One generator a family module, so that no row depends on what else is imported, or run."""


@dataclass(frozen=True, eq=False)
class Row:
    """`func(*args, **kwargs)`; every array among the arguments is an operand.

    Attributes
    ----------
    diff : tuple of int or None
        Which operands (in the order of the flattened arguments) are differentiated;
        None: all of a floating-point or complex dtype. Empty: a constant operation.
    order : int
        How many derivatives exist where the row stands.
    vmap : bool
        False where the operation has to refuse a batch (its shape depends on the data).
    loop : bool
        True where vmap runs in the loop fallback, with its warning.
    empty : bool
        False where Python code asks for values, which a batch without examples does not have.
    shared : tuple of int
        Operands that cannot differ from example to example.
    like : callable or None
        ``like(i, x, rng)``: another example of operand `i`, where shuffling the elements
        of `x` will not do (a sorted array, a positive definite matrix).
    """

    func: Callable
    args: tuple
    kwargs: dict = field(default_factory=dict)
    diff: tuple[int, ...] | None = None
    order: int = 2
    vmap: bool = True
    loop: bool = False
    empty: bool = True
    shared: tuple[int, ...] = ()
    like: Callable | None = None
    name: str = ""

    @functools.cached_property
    def flat(self) -> tuple[list, Any]:
        """The leaves of the arguments, arrays or not, and their structure."""
        return optree.tree_flatten((self.args, self.kwargs))

    @functools.cached_property
    def leaves(self) -> tuple:
        """The operands."""
        return tuple(x for x in self.flat[0] if is_array(x))

    @functools.cached_property
    def eps(self) -> float:
        """The spacing of the coarsest floating-point dtype of operands and results."""
        values = [*self.leaves, *map(np.asarray, optree.tree_leaves(self.call(*self.leaves)))]
        return max((np.finfo(x.dtype).eps for x in values if x.dtype.kind in "fc"), default=0.0)

    @functools.cached_property
    def drawn(self) -> dict:
        """The examples of operands that were drawn, by the operand and their number."""
        return {}

    @property
    def operation(self) -> Callable:
        """The function whose record the operation has: SciPy's own for a twin."""
        func = self.func
        return func.__wrapped__ if getattr(func, "__module__", "") == "functier.scipy" else func

    def call(self, *operands: Any) -> Any:
        """The call on other operands."""
        (leaves, structure), given = self.flat, iter(operands)
        values = [next(given) if is_array(x) else x for x in leaves]
        args, kwargs = optree.tree_unflatten(structure, values)
        return self.func(*args, **kwargs)

    def differentiated(self) -> tuple[int, ...]:
        if self.diff is not None:
            return self.diff
        return tuple(i for i, x in enumerate(self.leaves) if x.dtype.kind in "fc")

    def __str__(self) -> str:
        shapes = ",".join(f"{x.dtype.char}{list(x.shape)}" for x in self.leaves)
        options = ",".join(f"{k}={v}" for k, v in self.kwargs.items() if is_static(v))
        statics = ",".join(str(a) for a in self.args if is_static(a))[:30]
        name = self.name or getattr(self.func, "__name__", str(self.func))
        text = "-".join(t for t in (name, shapes, statics, options) if t)
        return re.sub(r" at 0x[0-9a-f]*|\s", "", text)


def is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def is_static(x: Any) -> bool:
    return not any(is_array(leaf) for leaf in optree.tree_leaves(x))


def row(func: Callable, *args: Any, **kwargs: Any) -> Row:
    """A row; the options of `Row` are written with an underscore: ``_order=1``."""
    own = {k[1:]: kwargs.pop(k) for k in list(kwargs) if k.startswith("_")}
    return Row(func, args, kwargs, **own)


def has(func: Callable, parameter: str) -> bool:
    """Tell if this NumPy's `func` has a parameter that came with a later NumPy."""
    return parameter in inspect.signature(func).parameters


def of(family: str, function: Callable, *args: Any, **options: Any) -> Row:
    """A row of a family of composites, of which a quick run has the first row only."""
    return row(function, *args, _name=family, **options)


def as_it_is(i: int, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same example again: of bad values that have to be where a mask hides them."""
    return x


def deprecated(func: Callable) -> Callable:
    """A function that warns where NumPy runs it; functier does not run it, and so must not."""

    def call(*args: Any) -> Any:
        if any(type(x) is not np.ndarray for x in args):
            return func(*args)
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            return func(*args)

    call.__name__ = func.__name__
    return call


def rng() -> np.random.Generator:
    """The generator of the module whose code asks for numbers, while it or a family is imported.

    A test that asks later would get other numbers after other tests.
    """
    frame: Any = sys._getframe(1)
    while frame.f_globals["__name__"] == __name__:
        frame = frame.f_back
    name = frame.f_globals["__name__"]
    while not _is_import(frame, name):
        frame = frame.f_back
        assert frame is not None, f"{name} draws for a test, which needs a generator of its own"
    if name not in GENERATORS:
        GENERATORS[name] = np.random.default_rng(zlib.crc32(name.encode()))
    return GENERATORS[name]


def _is_import(frame: Any, name: str) -> bool:
    module = frame.f_globals["__name__"]
    return frame.f_code.co_name == "<module>" and (module == name or module.startswith("samples."))


def normal(*shape: int, dtype: Any = float) -> np.ndarray:
    """Distinct normal numbers, away from kinks and from each other."""
    x = rng().normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng().normal(size=shape)
    return x.astype(dtype)


def positive(*shape: int, dtype: Any = float) -> np.ndarray:
    return rng().uniform(0.5, 2.0, size=shape).astype(dtype)


def unit(*shape: int, dtype: Any = float) -> np.ndarray:
    """Numbers between -0.9 and 0.9."""
    return rng().uniform(-0.9, 0.9, size=shape).astype(dtype)


def integers(low: int, high: int, *shape: int) -> np.ndarray:
    return rng().integers(low, high, size=shape)


def booleans(*shape: int) -> np.ndarray:
    return rng().random(shape) < 0.5
