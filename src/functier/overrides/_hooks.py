"""Hooks: the types that have one, their order, and the rules that a hook keeps."""

import functools
import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from inspect import Parameter
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from .._core.blocks import CALLS
from .._core.numpy_facts import name_of
from .._core.root import NOBODY, classes_in, dispatch
from .._core.tensor import Tensor, canonical
from .._cpython.code import reads
from ..modes._asking import STATE
from ._listing import (
    DECORATED,
)

F = TypeVar("F", bound=Callable)

# ---- joining the protocol ----


class TensorLike:
    """A mixin for classes with ``__tensor_function__`` that are not a `Tensor`.

    NumPy's functions look for the two methods of NumPy's protocol. This mixin defines them,
    and they pass each call on to the hook of the class. So ``np.mean(d)`` and
    ``np.add(array, d)`` reach the hook. Without the mixin the hook is called by the methods
    and operators of `Tensor`, and by functions with `tensor_function_dispatch`. The result of
    the hook is returned unchanged. The mixin has no storage.

    For operators between two such objects, or with a Python number, inherit from
    `numpy.lib.mixins.NDArrayOperatorsMixin` too.

    Examples
    --------
    >>> import numpy as np
    >>> class Diagonal(TensorLike):
    ...     def __init__(self, n, value):
    ...         self.n, self.value = n, value
    ...
    ...     @classmethod
    ...     def __tensor_function__(cls, func, types, args=(), kwargs=None):
    ...         if func is np.trace:
    ...             return args[0].n * args[0].value
    ...         return NotImplemented
    >>> np.trace(Diagonal(5, 2.0))
    10.0
    """

    __slots__ = ()

    @classmethod
    def __tensor_function__(
        cls, func: Callable, types: Iterable, args: tuple = (), kwargs: Any = None
    ) -> Any:
        """Handle a call; subclasses override it."""
        return NotImplemented

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        func = ufunc if method == "__call__" else getattr(ufunc, method)
        return dispatch(func, inputs, kwargs)

    def __array_function__(self, func: Callable, types: Iterable, args: tuple, kwargs: dict) -> Any:
        return dispatch(func, args, kwargs, (args, kwargs, self))  # it may have stood in like=


def tensor_function_dispatch(dispatcher: Callable[..., Iterable]) -> Callable[[F], F]:
    """Make a function or method of any library overridable.

    Parameters
    ----------
    dispatcher : callable
        A function with the parameters of the decorated one (defaults may differ). It returns
        an iterable of the relevant arguments, those that may override the function. Lists and
        tuples of arguments may be among them; arguments without a hook, such as None, are
        ignored.

    Returns
    -------
    callable
        The decorator. The decorated function keeps its name, documentation and signature, and
        can be pickled. The original function is its attribute ``_implementation``.

    Raises
    ------
    TypeError
        If the dispatcher does not have the parameters of the function.

    Notes
    -----
    If a relevant argument has a class with ``__tensor_function__`` that is neither `Tensor`
    nor a level, its hook is called, as for any NumPy function. (The hook of `Tensor` runs the
    implementation on the arguments as they are, and gives the result the class.) Otherwise
    the implementation runs, and transforms see its calls. The overhead is a call of the
    dispatcher and 0.7 us.

    Examples
    --------
    >>> import numpy as np
    >>> @tensor_function_dispatch(lambda x, weight=None: (x, weight))
    ... def scaled(x, weight=None):
    ...     return x if weight is None else x * weight
    >>> class Sub(Tensor):
    ...     pass
    >>> scaled(np.ones(2), Sub([2.0, 3.0]))
    Sub([2., 3.])
    """
    if not callable(dispatcher):
        raise TypeError(
            "tensor_function_dispatch takes a dispatcher, a function with the parameters of the "
            "decorated one that returns the arguments which may override it; write "
            "@tensor_function_dispatch(lambda x, y: (x, y))"
        )

    def decorate(function: Any) -> Any:
        _check_parameters(dispatcher, function)

        @functools.wraps(function)
        def public(*args: Any, **kwargs: Any) -> Any:
            try:
                relevant = tuple(dispatcher(*args, **kwargs))
            except TypeError:
                _check_arguments(function, args, kwargs)
                raise
            if not CALLS:
                types = classes_in(relevant)
                if not types or types == (Tensor,) or is_level(types[0]):
                    return function(*args, **kwargs)
            return handle_tensor_function(public, relevant, *args, **kwargs)

        public._implementation = function  # type: ignore[attr-defined]
        DECORATED.add(public)
        return public

    return decorate


def _check_parameters(dispatcher: Callable, function: Callable) -> None:
    expected, given = inspect.signature(function), inspect.signature(dispatcher)
    forms = [[(p.name, p.kind) for p in s.parameters.values()] for s in (expected, given)]
    if forms[0] != forms[1]:
        raise TypeError(
            f"tensor_function_dispatch: {name_of(function)} has the parameters {expected}, but its "
            f"dispatcher has {given}; give the dispatcher the same parameters"
        )


def _check_arguments(function: Callable, args: tuple, kwargs: dict) -> None:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{function.__name__}() {error}") from None


def is_level(cls: type) -> bool:
    """Return True where a class is that of a transform's level."""
    return issubclass(cls, Tensor) and cls.level.depth > 0


def has_tensor_function(relevant: Iterable) -> bool:
    """Return True if one of the arguments, or a mode, overrides functions.

    An instance of `Tensor` itself does not, and neither does a tensor of a level, which sees the
    calls inside a function.

    Parameters
    ----------
    relevant : iterable
        The arguments that may override the function.

    Returns
    -------
    bool

    Examples
    --------
    >>> class Sub(Tensor):
    ...     pass
    >>> has_tensor_function([Sub([1.0])]), has_tensor_function([Tensor([1.0])])
    (True, False)
    """
    return bool(STATE.get().functions) or any(
        cls is not Tensor and not is_level(cls) for cls in classes_in(tuple(relevant))
    )


def handle_tensor_function(func: Callable, relevant: Iterable, /, *args: Any, **kwargs: Any) -> Any:
    """Call the modes and the hooks of the relevant arguments for ``func(*args, **kwargs)``.

    It is for libraries that call `has_tensor_function` inside `func`.

    Parameters
    ----------
    func : callable
        The function, which the hooks get.
    relevant : iterable
        The arguments whose hooks are called, the first one first.
    *args, **kwargs
        The arguments of `func`.

    Returns
    -------
    object
        The result of the first mode or hook that does not decline.

    Raises
    ------
    TypeError
        If there are hooks and all of them decline.

    Examples
    --------
    >>> class Sub(Tensor):
    ...     @classmethod
    ...     def __tensor_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"the hook, for {func.__name__}"
    >>> def scaled(x):
    ...     if has_tensor_function([x]):
    ...         return handle_tensor_function(scaled, [x], x)
    ...     return 2 * x
    >>> scaled(3.0), scaled(Sub([1.0]))
    (6.0, 'the hook, for scaled')
    """
    if CALLS:
        answer = CALLS[0](func, args, kwargs)
        if answer is not NOBODY:
            return answer
    relevant = tuple(relevant)
    types = classes_in(relevant)
    if not types or types == (Tensor,) or is_level(types[0]):
        return getattr(func, "_implementation", func)(*args, **kwargs)
    return dispatch(func, args, kwargs, relevant)


def as_subclass(x: Any, cls: type[Tensor]) -> Any:
    """Return an array or tensor as an instance of a class, with the same memory.

    No hook is called.

    Parameters
    ----------
    x : array or Tensor
    cls : type
        A subclass of `Tensor`.

    Returns
    -------
    Tensor
        An instance of `cls`.

    Examples
    --------
    >>> import numpy as np
    >>> class Sub(Tensor):
    ...     pass
    >>> array = np.zeros(2)
    >>> as_subclass(array, Sub)[0] = 1.0
    >>> array
    array([1., 0.])
    """
    return (x if isinstance(x, Tensor) else Tensor(x)).as_subclass(cls)


# ---- without dispatch ----


def implementation(func: Callable) -> Callable:
    """Return a function that computes `func` without calling hooks.

    Parameters
    ----------
    func : callable
        A function, ufunc, method or property getter that can be overridden.

    Returns
    -------
    callable
        A function of the same arguments. It computes with the values of instances of `Tensor`
        and its subclasses. If there are any, the result is a `Tensor`; ``as_subclass`` turns it
        into a subclass. Duck arrays are passed to NumPy's implementation.

    Examples
    --------
    The generic hook of the RFC, written out:

    >>> import numpy as np
    >>> class Sub(Tensor):
    ...     @classmethod
    ...     def __tensor_function__(cls, func, types, args=(), kwargs=None):
    ...         if not all(issubclass(cls, t) for t in types):
    ...             return NotImplemented
    ...         result = implementation(func)(*args, **(kwargs or {}))
    ...         return result.as_subclass(cls) if isinstance(result, Tensor) else result
    >>> Sub([1.0, 2.0]) + 1
    Sub([2., 3.])
    """
    if type(func) is FunctionType and hasattr(func, "_implementation"):
        return func._implementation

    def computed(*args: Any, **kwargs: Any) -> Any:
        call, given, options = canonical(func, args, kwargs)
        types = classes_in(given, options)
        if not all(issubclass(cls, Tensor) for cls in types):
            call = getattr(call, "_implementation", call)
        if not types:
            return call(*given, **options)
        return Tensor.level.dispatch(Tensor, call, given, options)

    return functools.update_wrapper(computed, func, assigned=("__name__", "__doc__"), updated=())


# ---- names ----


def resolve_name(func: Callable) -> str:
    """Return the name of a function as users write it.

    Parameters
    ----------
    func : callable
        A function of any library, or a method or property getter of `Tensor`.

    Returns
    -------
    str
        The name, from the package on.

    Examples
    --------
    >>> import numpy as np
    >>> resolve_name(np.linalg.norm), resolve_name(np.add.reduce)
    ('numpy.linalg.norm', 'numpy.add.reduce')
    >>> resolve_name(Tensor.sum), resolve_name(Tensor.T.__get__)
    ('functier.Tensor.sum', 'functier.Tensor.T.__get__')
    """
    return name_of(func)


def get_function(name: str, module: str | None = None) -> Callable:
    """Return the function with a name; the inverse of `resolve_name`.

    Parameters
    ----------
    name : str
        The name in the module, with dots; the full name if `module` is left out.
    module : str, optional
        The name of the module, as in ``func.__module__``.

    Raises
    ------
    AttributeError
        If the module has no such name.

    Examples
    --------
    >>> import numpy as np
    >>> get_function("linalg.norm", "numpy") is np.linalg.norm
    True
    >>> get_function("functier.Tensor.sum") is Tensor.sum
    True
    """
    if module is None:
        module, _, name = name.partition(".")
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


# ---- looking at a hook ----


def lint_hook(cls: type) -> list[str]:
    """Return the problems of the hooks that `cls` defines or inherits, each as one sentence.

    A hook that does not read `types` also answers for classes that it does not know, and so
    mixes unrelated class trees; see the design note on the protocol. It is enough to pass
    `types` on to ``super().__tensor_function__``.

    Parameters
    ----------
    cls : type
        A class with ``__tensor_function__``, which may be a `Tensor` or a mode.

    Returns
    -------
    list of str
        The problems; empty if there are none. The linter reads the code and does not call a
        hook.

    Examples
    --------
    >>> class Careless(Tensor):
    ...     @classmethod
    ...     def __tensor_function__(cls, func, types, args=(), kwargs=None):
    ...         return cls(func(*[a.elem() for a in args]))
    >>> [text] = lint_hook(Careless)
    >>> text
    "Careless.__tensor_function__ never looks at 'types'; return NotImplemented where a class \
in it is one that the hook does not know, or hand it on to super().__tensor_function__"
    """
    if not hasattr(cls, "__tensor_function__") and not hasattr(cls, "__tensor_dispatch__"):
        raise TypeError(f"lint_hook: {cls!r} has no __tensor_function__")
    is_mode = getattr(cls, "is_mode", False)
    found = []
    for name in ("__tensor_function__", "__tensor_dispatch__"):
        owner = next((c for c in cls.__mro__ if name in vars(c)), None)
        if owner in (None, Tensor, TensorLike) or getattr(owner, "is_generic", False):
            continue
        member, where = vars(owner)[name], f"{owner.__name__}.{name}"
        if not isinstance(member, classmethod) and not is_mode:
            kind = "staticmethod" if isinstance(member, staticmethod) else "method of instances"
            found.append(f"{where} is a {kind}; write @classmethod above it")
        hook = inspect.unwrap(getattr(member, "__func__", member))
        if not isinstance(hook, FunctionType):
            continue
        parameters = [*inspect.signature(hook).parameters.values()]
        places = [p for p in parameters if p.kind < Parameter.VAR_POSITIONAL]
        if isinstance(member, staticmethod):
            places = [Parameter("cls", Parameter.POSITIONAL_ONLY), *places]
        if len(places) != 5 and not any(p.kind is Parameter.VAR_POSITIONAL for p in parameters):
            found.append(
                f"{where} has the parameters {inspect.signature(hook)}; write "
                f"(cls, func, types, args=(), kwargs=None)"
            )
        elif name == "__tensor_function__" and len(places) > 2 and not reads(hook, places[2].name):
            found.append(
                f"{where} never looks at {places[2].name!r}; return NotImplemented where a class "
                f"in it is one that the hook does not know, or hand it on to super().{name}"
            )
    return found
