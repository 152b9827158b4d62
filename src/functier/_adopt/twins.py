"""The twins of objects, found by identity: what functier has where a library has them.

The table is made of namespaces, name by name, when something is adopted for the first time. It
knows no function itself: what `functier.numpy` defines is a twin.
"""

import cmath
import copy
import math
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._core.adopted import ADOPTED
from .caches import CACHED, DECORATORS, twin_of_cached
from .calls import OWNERS
from .complex_mathematics import CMATH
from .elements import ELEMENTS
from .mathematics import MATH
from .memories import take_back
from .operators import SLOTS
from .texts import text_of

PRIVATE = ("numpy.core", "numpy.distutils", "numpy.f2py")

MODULES: dict[str, str] = {
    name: f"functier.{name}"
    for name in (
        "numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.lib", "numpy.lib.scimath",
        "numpy.lib.stride_tricks", "numpy.ma", "numpy.polynomial", "numpy.polynomial.polynomial",
        "numpy.polynomial.chebyshev", "numpy.polynomial.legendre",
        "scipy", "scipy.cluster.vq", "scipy.fft", "scipy.fftpack", "scipy.integrate",
        "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal",
        "scipy.signal.windows", "scipy.sparse", "scipy.sparse.csgraph",
        "scipy.sparse.linalg", "scipy.spatial", "scipy.spatial.distance",
        "scipy.spatial.transform", "scipy.special", "scipy.stats",
    )
}  # fmt: skip
"""Modules whose functions have twins, and the modules with these.

Those of SciPy count where they have been imported.
"""

NUMBERS: dict[ModuleType, Any] = {math: MATH, cmath: CMATH}
"""Modules of functions of numbers, and their twins."""

CLASSES = np.ndarray, np.matrix
"""Classes of arrays: only calls of them, and their methods, meet twins."""

MIRRORS = f"{fnp.__name__}.", "functier.scipy."
"""The beginnings of the names of modules with twins."""

_TWINS: dict[int, tuple[Any, Any]] = {}
_ORIGINALS: dict[int, tuple[Any, Any]] = {}


def load_module(name: str) -> ModuleType:
    """Import a module of NumPy or SciPy, or the one with its twins."""
    return import_module(name)


def load_twins() -> None:
    """Fill the table; later calls add the modules that have been imported since."""
    ADOPTED.methods.update(ELEMENTS, __repr__=text_of, take_back=take_back)
    for decorator, twin in DECORATORS.items():
        _note(decorator, twin)
    for source, module in NUMBERS.items():
        _note(source, module)
        for name, twin in vars(module).items():
            if name[0] != "_":
                _note(getattr(source, name), twin)
    for slot, twin in SLOTS.items():
        _note(slot, twin)
    for name, other in MODULES.items():
        if name.startswith("numpy"):
            load_module(name)
        module = sys.modules.get(name)
        if module is None or id(module) in _TWINS:
            continue
        namespace = load_module(other)
        for attribute, value in list(vars(module).items()):
            if attribute[0] != "_" and not isinstance(value, ModuleType):
                twin = getattr(namespace, attribute, value)
                _note(value, twin)
                if hasattr(type(twin), "owner_of"):
                    OWNERS[value] = twin.owner_of
        _note(module, namespace)


def _note(value: Any, twin: Any) -> None:
    if twin is not value and not any(value is c for c in CLASSES):
        _TWINS.setdefault(id(value), (value, twin))
        _ORIGINALS.setdefault(id(twin), (twin, value))


def twin_of(value: Any) -> Any:
    """Return the twin of an object, or None."""
    found = _TWINS.get(id(value))
    if found is not None:
        return found[1]
    if type(value) is ModuleType and is_public(value.__name__) and sys.modules.get(
        value.__name__
    ) is value:  # fmt: skip
        return load_module(f"functier.{value.__name__}")
    return None


def twin_of_object(value: Any) -> Any:
    """Return the twin of an object, or None.

    Functions with a cache have one, too, and so do instances of classes with twins that inherit
    from them, such as the splines that a package has made before. What they keep has one, too:
    the function of ``np.vectorize(math.sin)``.
    """
    if type(value) is CACHED:
        return twin_of_cached(value)
    found = _TWINS.get(id(type(value)))
    if found is None or not takes_instances(*found):
        return twin_of(value)
    twin = copy.copy(value)
    try:
        twin.__class__ = found[1]
    except TypeError:  # another layout, as of a class in C
        return None
    kept = getattr(twin, "__dict__", {})
    kept.update({name: twin_of(v) for name, v in kept.items() if twin_of(v) is not None})
    return twin


def takes_instances(kind: type, twin: Any) -> bool:
    """Return whether an instance of a class is one of its twin, too: that has the same parts.

    Abstract classes are not asked: they would take a twin for the original, to which it is equal.
    """
    inherits = isinstance(twin, type) and any([c is kind for c in twin.__mro__])
    return inherits and not hasattr(twin, "keeps_more")


def is_public(name: str) -> bool:
    return name.startswith("numpy.") and "._" not in name and not name.startswith(PRIVATE)


def original_of(value: Any) -> Any:
    """Return the object that `value` is the twin of, or None."""
    found = _ORIGINALS.get(id(value))
    if found is not None:
        return found[1]
    if not issubclass(type(value), ModuleType):
        return None
    name = object.__getattribute__(value, "__dict__").get("__name__") or ""  # loads no lazy one
    if name.startswith(MIRRORS) and sys.modules.get(name) is value:
        return sys.modules.get(name.removeprefix("functier."))
    return None


def dispatches(value: Any) -> bool:
    """Return whether an object of NumPy takes tensors itself, so that it needs no twin."""
    return isinstance(value, (np.ufunc, type(np.sum)))
