"""The functions that hooks can override, and their signatures; see `functier.overrides`."""

import ast
import builtins
import inspect
import operator
import sys
from collections.abc import Callable
from inspect import Parameter, Signature
from types import FunctionType
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.fft  # adds its functions to NumPy's list of functions that can be overridden

from .._core.methods import METHODS, ORDERING
from .._core.op import NO_VALUE
from .._core.tensor import CANONICAL, Tensor

DECORATED: WeakSet[Any] = WeakSet()
"""The functions that `tensor_function_dispatch` has decorated."""


def is_tensor_method_or_property(func: Any) -> bool:
    """Return True for a method, operator or property getter of `Tensor`.

    Such a function takes a tensor as its first argument. The hook of another class may be given
    such a function, too.

    Parameters
    ----------
    func : any
        A function that a hook has been given.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> f = is_tensor_method_or_property
    >>> f(Tensor.sum), f(Tensor.__add__), f(Tensor.T.__get__), f(np.sum), f(np.add)
    (True, True, True, False, False)
    """
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):
        return func.__name__ == "__get__" and any(p is owner for p in vars(Tensor).values())
    return getattr(Tensor, getattr(func, "__name__", ""), None) is func


# ---- what can be overridden ----


def get_overridable_functions() -> dict[Any, list[Callable]]:
    """Return the functions that hooks see, by their modules or `Tensor`.

    These are the functions and ufuncs that NumPy dispatches, the methods, operators and
    property getters of `Tensor`, and the functions with `tensor_function_dispatch`.

    Examples
    --------
    >>> import numpy as np
    >>> functions = get_overridable_functions()
    >>> [f.__name__ for f in functions[np.fft]][:3]
    ['fft', 'fft2', 'fftn']
    """
    table: dict[Any, dict[str, Callable]] = {np: {}, np.linalg: {}, np.fft: {}, Tensor: {}}
    ufuncs = np.testing.overrides.get_overridable_numpy_ufuncs()
    space: Any
    for space in (np, np.linalg):
        own = {f.__name__: f for f in vars(space).values() if isinstance(f, np.ufunc)}
        table[space].update((n, f) for n, f in own.items() if f in ufuncs)
    for func in np.testing.overrides.get_overridable_numpy_array_functions():
        space, name = sys.modules[func.__module__], func.__name__
        public = name[0] != "_" and getattr(space, name, None) is func
        if public and "like" not in signature_of(func).parameters:
            table.setdefault(space, {})[name] = func
    for name, member in vars(Tensor).items():
        getter = member.__get__ if isinstance(member, property) else member
        if isinstance(member, (property, FunctionType)) and getter in CANONICAL:
            table[Tensor][name] = getter
    for made in DECORATED:
        space = sys.modules[made.__module__]
        try:
            if operator.attrgetter(made.__qualname__)(space) is made:
                table.setdefault(space, {})[made.__qualname__] = made
        except AttributeError:
            continue  # it is local to a function
    return {space: [own[name] for name in sorted(own)] for space, own in table.items()}


def get_ignored_functions() -> frozenset[Callable]:
    """Return the functions that cannot be overridden.

    These are the callables of NumPy that do not dispatch (functions that create arrays dispatch
    on ``like=`` only), and the methods of `Tensor` that are not operations. Modes see the
    functions of NumPy if they are called through `functier.numpy`.

    Examples
    --------
    >>> import numpy as np
    >>> np.zeros in get_ignored_functions(), np.sum in get_ignored_functions()
    (True, False)
    """
    listed = get_overridable_functions()
    overridable = {f for functions in listed.values() for f in functions}
    found: set[Callable] = set()
    for space in (np, np.linalg, np.fft, np.random):
        for name, member in vars(space).items():
            if name[0] != "_" and callable(member) and not isinstance(member, type):
                if member not in overridable and hasattr(member, "__name__"):
                    found.add(member)
    for member in vars(Tensor).values():
        getter = member.__get__ if isinstance(member, property) else member
        if isinstance(member, (property, FunctionType)) and getter not in CANONICAL:
            found.add(getter)
    return frozenset(found)


def get_testing_overrides() -> dict[Callable, Callable]:
    """Return, for each function that can be overridden, a dummy that returns -1.

    The dummy has the signature of the function, and refuses other arguments. The table is for
    tests that a hook, or a set of implementations, covers all functions.

    Examples
    --------
    >>> import inspect
    >>> import numpy as np
    >>> dummy = get_testing_overrides()[np.outer]
    >>> inspect.signature(dummy)
    <Signature (a, b, out=None)>
    >>> dummy([1.0], [2.0])
    -1
    """
    listed = get_overridable_functions()
    return {func: _dummy(func) for functions in listed.values() for func in functions}


def _dummy(func: Callable) -> Callable:
    signature = signature_of(func)

    def dummy(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    dummy.__name__ = dummy.__qualname__ = getattr(func, "__name__", "dummy")
    dummy.__signature__ = signature  # type: ignore[attr-defined]
    return dummy


# ---- signatures ----

ODD = {
    "astype": "self, dtype, order='K', casting='unsafe', subok=True, copy=True",
    "clip": "self, min=None, max=None, **kwargs",
    "compress": "self, condition, axis=None, **kwargs",
    "flatten": "self, order='C'",
    "reshape": "self, /, *shape, order='C', copy=None",
    "transpose": "self, /, *axes",
    "__getitem__": "self, index, /",
    "__setitem__": "self, index, value, /",
    "__round__": "self, decimals=0",
    **dict.fromkeys(("__neg__", "__pos__", "__abs__", "__invert__"), "self, /"),
}
"""The methods whose parameters differ from `self` and those of the function."""


SPELLED = {
    "(a1, a2, ...)": "arrays", "[x, y]": "x=None, y=None",
    "[start,] stop[, step,]": "start_or_stop, /, stop=None, step=1",
}  # fmt: skip
"""Parameters of docstrings that are not in Python's syntax."""


def signature_of(func: Any) -> Signature:
    """Return the documented signature of an overridable function.

    NumPy before 2.4 gives some of them in the docstring only.
    """
    if isinstance(getattr(func, "__self__", None), property):
        return _signature("self, /")
    if is_tensor_method_or_property(func):
        name = func.__name__
        meaning = METHODS.get(name) or ORDERING.get(name)
        if name in ODD or name[:2] == "__" or meaning is None:
            return _signature(ODD.get(name, "self, other, /"))
        own = signature_of(meaning)
        first, *rest = own.parameters.values()
        return own.replace(parameters=[first.replace(name="self"), *rest])
    try:
        return inspect.signature(func)
    except ValueError:
        pass
    if isinstance(func, np.ufunc):
        ins = ", ".join(f"x{i + 1}" for i in range(func.nin)) if func.nin > 1 else "x"
        only = "axes=NO_VALUE, axis=NO_VALUE, keepdims=False" if func.signature else "where=True"
        return _signature(
            f"{ins}, /, out={None if func.nout == 1 else (None,) * func.nout}, *, {only}, "
            f"casting='same_kind', order='K', dtype=None, subok=True, signature=None"
        )
    text = (func.__doc__ or "").strip().partition("\n\n")[0].replace("\n", " ")
    text = text.strip().removeprefix(f"{func.__name__}(").removesuffix(")")
    for documented, spelled in SPELLED.items():
        text = text.replace(documented, spelled)
    return _signature(text)


def _signature(text: str) -> Signature:
    """Return the signature with parameters in Python's syntax; defaults are literals."""
    given = ast.parse(f"def f({text}): pass").body[0].args  # type: ignore[attr-defined]
    positional = [*given.posonlyargs, *given.args]
    empty = Parameter.empty
    defaults = [empty] * (len(positional) - len(given.defaults)) + [*given.defaults]
    found: list[tuple[Any, Any, Any]] = []
    for i, (arg, default) in enumerate(zip(positional, defaults)):
        early = i < len(given.posonlyargs)
        kind = Parameter.POSITIONAL_ONLY if early else Parameter.POSITIONAL_OR_KEYWORD
        found.append((arg, kind, default))
    if given.vararg:
        found.append((given.vararg, Parameter.VAR_POSITIONAL, empty))
    for arg, default in zip(given.kwonlyargs, given.kw_defaults):
        found.append((arg, Parameter.KEYWORD_ONLY, empty if default is None else default))
    if given.kwarg:
        found.append((given.kwarg, Parameter.VAR_KEYWORD, empty))
    return Signature([Parameter(a.arg, kind, default=_literal(d)) for a, kind, d in found])


def _literal(node: Any) -> Any:
    if isinstance(node, ast.Name):  # dtype=float
        return NO_VALUE if node.id == "NO_VALUE" else getattr(builtins, node.id)
    return node if node is Parameter.empty else ast.literal_eval(node)
