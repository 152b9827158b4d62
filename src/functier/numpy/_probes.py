"""Plain values of one example, by which NumPy tells the class of a result.

NOTE [NumPy is asked for the class of a result]
    The sum of an instance of a subclass is an instance, its mean too, but not its dot product.
    NumPy has no rule for this, so NumPy is asked: each operation also runs on the plain values of
    one example, as instances of a `Probe`. Where that gives a probe, the result is an instance.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._control.masks import bare, narrow
from .._mutation.array import settle

ndarray = np.ndarray

KINDS: dict[type, tuple[Callable[[Any, str], Any] | None, dict[str, Any]]] = {}
"""Classes of NumPy that may be over a tensor: the twins that their code runs on, and members that
take precedence."""


class Probe(ndarray):
    """Plain values of one example; `source` is the instance that NumPy makes a result like."""

    kind: type
    source: Any = None
    wrapped = False

    def __array_finalize__(self, obj: Any) -> None:
        self.source = getattr(obj, "source", None)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        made = super().__array_wrap__(array, context, return_scalar)
        if isinstance(made, Probe):
            made.wrapped = True
        return made


PROBES: dict[type, type[Probe]] = {}
"""The classes of probes, by the subclasses."""


def example(x: Any) -> Any:
    """Return the values of the first example of a tensor."""
    ndim = x.ndim
    values = bare(narrow(settle(x)))[0]
    axes = np.ndim(values) - ndim
    if axes and 0 in np.shape(values)[:axes]:
        return np.ones(np.shape(values)[axes:], values.dtype)[()]
    return values[(0,) * axes] if axes else values


def probe_class(kind: type) -> type[Probe]:
    """Return the class of the probes of a subclass: these inherit from each other, too."""
    if kind is ndarray:
        return Probe
    if kind not in PROBES:
        given = [probe_class(b) for b in kind.__bases__ if issubclass(b, ndarray)]
        bases = dict.fromkeys(given + ([kind] if kind in KINDS else []))
        priority = getattr(kind, "__array_priority__", 0.0)
        members: dict[str, Any] = {"kind": kind, "__array_priority__": priority}
        if kind in KINDS:  # which is NumPy's own, and may change the shape
            members["__array_finalize__"] = _finalize
        PROBES[kind] = type(kind.__name__, tuple(bases), members)
    return PROBES[kind]


def _finalize(self: Any, obj: Any) -> None:
    Probe.__array_finalize__(self, obj)
    self.kind.__array_finalize__(self, obj)
