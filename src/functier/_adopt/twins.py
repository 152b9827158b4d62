"""The twins of objects, found by identity: what functier has where a library has them.

The table is made of namespaces, name by name, when something is adopted for the first time. It
knows no function itself: what `functier.numpy` defines is a twin.
"""

import cmath
import copy
import functools
import math
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._core.adopted import ADOPTED
from .caches import CACHED, DECORATORS, cache, lru_cache, twin_of_cached
from .calls import BUILTINS, CALLERS, KINDS, OWNERS, callee, made_writable, owner
from .complex_mathematics import CMATH
from .elements import ELEMENTS
from .kernels import range_
from .mathematics import MATH
from .memories import returned, take_back
from .operators import SLOTS, UFUNC_CALLERS, UFUNCS
from .texts import text_of

PREFIX = "_functier "
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
    if type(value) is ModuleType and _is_public(value.__name__) and sys.modules.get(
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


def _is_public(name: str) -> bool:
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


# ---- what calls and imports in rewritten code look up ----


def variant(module: ModuleType, members: dict[str, Any], doc: str) -> ModuleType:
    """Return a module with some members, and those of another one where it has none.

    It is a module, so that a trace notes what a name means in it, and not all that it has.
    """
    made = ModuleType(module.__name__, doc)

    def load(name: str) -> Any:
        value = vars(made)[name] = getattr(module, name)
        return value

    vars(made).update(members, __file__=__file__, __getattr__=load)
    return made


CLASSES_OF_NUMPY = variant(
    fnp, dict(zip(("ndarray", "matrix"), CLASSES)),
    """The namespace `functier.numpy` with NumPy's own classes: ``type(x) is np.ndarray``.

    Calls of `isinstance` need no twin of it.
    """,
)  # fmt: skip
CALLEES = variant(
    fnp,
    {name: UFUNC_CALLERS[ufunc] for name, ufunc in UFUNCS.items()}
    | {name: CALLERS[kind] for name, kind in KINDS.items()},
    """The namespace `functier.numpy` where an attribute is called: ``np.float64(x)``.

    That of a ufunc may be asked for a method, too: ``np.maximum.reduce(xs)``.
    """,
)
DECORATORS_OF_PYTHON = variant(
    functools, {"lru_cache": lru_cache, "cache": cache},
    "The namespace `functools` where an attribute is called.",
)  # fmt: skip

CALLEE, OWNER, MADE, RETURNED = [f"{PREFIX}{x}" for x in ("callee", "owner", "made", "returned")]
RANGE = f"{PREFIX}range"
"""The aliases of the functions that what is called, what has a method, what arithmetic has made,
and what a function that keeps something returns go through.
"""

ALIASES: dict[str, Any] = {
    CALLEE: callee,
    OWNER: owner,
    MADE: made_writable,
    RETURNED: returned,
    RANGE: range_,
    f"{PREFIX}numpy": CALLEES,
    f"{PREFIX}numpy as classes": CLASSES_OF_NUMPY,
    f"{PREFIX}functools": DECORATORS_OF_PYTHON,
}
"""The aliases that globals of adopted modules have, and their objects."""

_CALLED: dict[int, str] = {}
for _builtin, _twin in (
    *BUILTINS.items(), *CALLERS.items(), *UFUNC_CALLERS.items(), (np.ndarray, fnp.ndarray),
    (np.matrix, fnp.matrix),
):  # fmt: skip
    _alias = f"{PREFIX}{_builtin.__name__}"
    if isinstance(_builtin, np.ufunc) or _builtin.__module__ != "builtins":
        _alias = f"{PREFIX}numpy.{_builtin.__name__}"
    _CALLED[id(_builtin)] = _alias
    ALIASES[_alias] = _twin


def alias_of_number_call(value: Any) -> str | None:
    """Return the alias for calls of a builtin or a type of numbers."""
    return None if isinstance(value, np.ufunc) else _CALLED.get(id(value))


def alias_of_call(value: Any) -> str | None:
    """Return the alias for calls of an object: a builtin, a type of numbers, or a ufunc."""
    return _CALLED.get(id(value))


def alias_of_owner(value: Any, name: str, called: bool, asked: bool) -> str | None:
    """Return the alias for NumPy where its attribute `name` means another than in its twin."""
    if name in UFUNCS and (called or asked) and (value is np or value is fnp):
        return f"{PREFIX}numpy"
    return alias_of_number_owner(value, name, called, asked)


def alias_of_number_owner(value: Any, name: str, called: bool, asked: bool) -> str | None:
    """Return the same, where a ufunc is NumPy's own."""
    if value is functools:
        return f"{PREFIX}functools" if getattr(functools, name, None) in DECORATORS else None
    if value is np or value is fnp:
        if name in KINDS and called:
            return f"{PREFIX}numpy"
        if name in ("ndarray", "matrix") and not called and not asked:
            return f"{PREFIX}numpy as classes"
    return None


def alias_of_module(name: str) -> str | None:
    """Return the name by which rewritten code imports the twin of a module, or None.

    An import statement returns the outermost package, so ``functier.numpy`` would not do.
    """
    root, _, rest = name.partition(".")
    twin: Any = {"math": MATH, "cmath": CMATH}.get(name)
    if twin is not None:
        pass
    elif name == "numpy" or _is_public(name) or name in MODULES:
        try:
            twin = load_module(MODULES.get(name, f"functier.{name}"))
        except ImportError:  # the statement is in code that does not run here
            return None
        if rest:
            alias_of_module(name.rpartition(".")[0])
    else:
        return None
    alias = f"functier-{root}{'.' if rest else ''}{rest}"
    sys.modules[alias] = twin
    return alias
