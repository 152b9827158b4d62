"""Level 0: the dispatch protocol, and what plain tensors and users' subclasses do."""

import math
from collections.abc import Callable, Collection
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np

from .._cpython.frames import Frame, caller_of, calls_of, code_at, current_frame, variables_at
from .blocks import CALLS, OPERATIONS
from .border import check_leaf, check_reach, is_convertible
from .errors import HookRecursionError, LevelError
from .foreign_operators import operate
from .methods import INPLACE, OPERATORS
from .numpy_facts import PLAIN, Function, Index, Shape, Value, attributed, name_of, named
from .subclasses import OVER_TENSORS
from .tensor import Tensor, canonical

new = object.__new__
GETITEM: Callable = getattr(Tensor, "__getitem__")  # noqa: B009  # `_core.methods` gives it
SETITEM = Tensor.__setitem__

DISABLED: ContextVar[frozenset[type]] = ContextVar("disabled", default=frozenset())
"""The classes whose hooks `no_dispatch` has switched off."""

NOBODY: Any = object()
"""The answer of `CALLS` where no mode of this context has one."""


def opts_out(value: Value) -> bool:
    """Return whether an operator returns ``NotImplemented``, so that `value` answers it."""
    if type(value) in PLAIN or isinstance(value, (Tensor, list, tuple, np.generic)):
        return False
    if type(value) in OVER_TENSORS:
        return True
    if hasattr(value, "__array_ufunc__"):
        return value.__array_ufunc__ is None
    return not is_convertible(value) and not isinstance(value, (int, float, complex))


def tree_map(f: Callable, value: Any) -> Any:
    """Apply `f` to the items of nested lists, tuples and dicts, and keep the containers."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([tree_map(f, v) for v in value])
    if kind is dict:
        return {k: tree_map(f, v) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        items = [tree_map(f, v) for v in value]
        more = getattr(value, "__dict__", None)
        return attributed(kind, items, tree_map(f, more)) if more else named(kind, items)
    return f(value)


def classes_in(*values: Any) -> tuple[type, ...]:
    """Return the distinct classes with an upper hook among `values`, in dispatch order.

    Instances of subclasses over tensors come first; then level classes, the innermost before
    those it is nested in; then subclasses before superclasses; then left to right.
    """
    found: list[type] = []
    _collect(values, found)
    return tuple(found)


def _collect(values: Any, found: list[type]) -> None:
    for value in values:
        cls = type(value)
        if cls in PLAIN or cls in found:
            continue
        if hasattr(cls, "__tensor_function__"):
            _insert(cls, found)
        elif cls is list or cls is tuple or hasattr(cls, "_fields"):
            _collect(value, found)
        elif cls is dict:
            _collect(value.values(), found)


def _insert(cls: Any, found: list[type]) -> None:
    if not found:
        return found.append(cls)
    depth = _depth(cls)
    for i, other in enumerate(found):
        if depth > _depth(other) or issubclass(cls, other):
            return found.insert(i, cls)
    found.append(cls)


def _depth(cls: Any) -> float:
    if issubclass(cls, Tensor):
        return cls.level.depth
    return math.inf if cls in OVER_TENSORS else 0


def dispatch_lists(func: Function, args: tuple, kwargs: dict) -> Any:
    """Call `func`, whose arguments may hold tensors in lists, which NumPy's dispatch overlooks."""
    types = classes_in(*args, *kwargs.values())
    if not types:
        return func(*args, **kwargs)
    first = types[0]
    if CALLS or DISABLED.get() or not (issubclass(first, Tensor) and first.level.depth):
        return dispatch(func, args, kwargs)
    return first.level.called(func, args, kwargs)


def dispatch(func: Function, args: tuple, kwargs: dict, relevant: Any = None) -> Any:
    """Ask the hooks of the classes among the arguments, or in `relevant`, until one answers."""
    disabled = DISABLED.get()
    if disabled:
        args, kwargs, relevant = tree_map(lambda v: strip(v, disabled), (args, kwargs, relevant))
    types = classes_in(*args, *kwargs.values()) if relevant is None else classes_in(relevant)
    if not types:
        func, args, kwargs = canonical(func, args, kwargs)
        return func(*args, **kwargs)
    if CALLS:
        answer = CALLS[0](func, args, kwargs)
        if answer is not NOBODY:
            return answer
    first = types[0]
    if first is Tensor and len(types) == 1 and not OPERATIONS:
        return first.level.dispatch(first, *canonical(func, args, kwargs))
    if issubclass(first, Tensor) and first.level.depth:
        return first.level.called(*canonical(func, args, kwargs))
    for cls in types:
        try:
            result = cls.__tensor_function__(func, types, args, kwargs)  # type: ignore[attr-defined]
        except RecursionError as error:
            raise endless(error, cls, func) from None
        if result is not NotImplemented:
            return result
    names = ", ".join(cls.__name__ for cls in types)
    raise TypeError(
        f"no implementation found for {name_of(func)!r} on types that implement "
        f"__tensor_function__: [{names}]"
    )


def endless(error: RecursionError, cls: type, func: Function) -> RecursionError:
    """Return the error for a hook of `cls` that calls `func` on its instances without end.

    Return `error` as it is for any other recursion that is too deep.
    """
    if isinstance(error, HookRecursionError):
        return error
    times, own = 0, current_frame(1)
    for frame in calls_of(code_at(own), caller_of(own)):
        times += _asks_hook(frame, cls, func)
        if times == 20:
            break
    else:
        return error
    hook, name = f"{cls.__name__}.__tensor_function__", name_of(func)
    if getattr(cls, "is_mode", False):
        return HookRecursionError(
            f"{hook} switches itself on again and calls {name}, which calls {hook} again, without "
            f"end; call {name} outside of `with self`, or inside `with functier.no_dispatch(...)` "
            f"of the class of its arguments"
        )
    return HookRecursionError(
        f"{hook} calls {name} on its own instances, which calls {hook} again, without end; "
        f"call super().__tensor_function__(func, types, args, kwargs), which computes it, or take "
        f"the values out first, or call {name} inside `with functier.no_dispatch({cls.__name__})`"
    )


def _asks_hook(frame: Frame, cls: type, func: Function) -> bool:
    """Return whether a frame of the dispatch asks the hook of `cls` for `func`."""
    names = variables_at(frame)
    return names.get("func") == func and names.get("cls") is cls


def strip(value: Value, classes: Collection[type]) -> Value:
    """Return `value`, or the value that it wraps where its class is one of `classes`."""
    while type(value) in classes:
        value = value.elem()
    return value


def convert_to(value: Value, how: str | Function, *args: Any) -> Any:
    """Convert a value by ``float``, ``bool``, ``numpy.asarray``, ``item`` or another function."""
    if how in ("numpy.asarray", "__dlpack__"):
        dtype, copy = args
        return np.array(value, dtype, copy=copy)
    if how == "pickle.dumps":
        return value
    if how == "format":
        return format(np.asarray(value).item(), *args)
    if how == "str" or how == "repr":
        return args[0](value)
    if how == "as_integer_ratio":
        return np.asarray(value).item().as_integer_ratio()
    if isinstance(how, str):
        return getattr(value if hasattr(value, how) else np.asarray(value), how)(*args)
    return how(value)


def _plain_value(x: Any) -> Any:
    """Return `x`, or the value of a tensor of level 0."""
    return x._value if isinstance(x, Tensor) and not x.level.depth else x


class RootLevel:
    """The level of plain tensors and of users' subclasses: depth 0, plain NumPy."""

    depth, live, generator, in_generator = 0, True, None, False
    batches, differentiates, records, guards = False, None, False, False  # see `Level`
    forgotten = nullcontext
    notes, quiet = None, None  # see `Level`
    forwards_methods = True  # a method is passed on itself, not the function that it means

    def __init__(self) -> None:
        self.spare: dict = {}  # as of a level

    def make(self, cls: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(data, Tensor):
            if data.level.depth:
                raise data.level.refusal(
                    LevelError,
                    f"{cls.__name__}(x) would put a tensor of this level inside a plain one, and "
                    f"levels stay outermost; pass {cls.__name__}(array) to the transform",
                )
            data = data._value
        if (args or kwargs) and cls.__init__ is object.__init__:
            raise TypeError(
                f"{cls.__name__}(data) takes the data alone; write {cls.__name__}(numpy.asarray("
                f"data, dtype)) for another dtype"
            )
        if not hasattr(data, "__array_ufunc__"):
            data = np.asarray(data)
        check_leaf(cls.__name__, "data", data)
        x: Any = new(cls)
        x._value = data
        return x

    def elem(self, x: Tensor) -> Value:
        return x._value

    def class_of(self, x: Tensor) -> type:
        return type(x)

    def unwrap(self, x: Value) -> Value:
        return x._value if isinstance(x, Tensor) and not x.level.depth else x

    def gradient(self, output: Any, inputs: Any) -> Any:
        raise LevelError("gradient: write G.gradient(y, x) with the class of `with grad() as G`")

    def as_subclass(self, x: Tensor, cls: type[Tensor]) -> Tensor:
        if not issubclass(cls, Tensor) or cls.level.depth:
            raise TypeError(f"as_subclass: {cls!r} is not a subclass of Tensor that can be made")
        y: Any = new(cls)
        y._value = x._value
        return y

    def shape(self, x: Tensor) -> Shape:
        return x._value.shape

    def dtype(self, x: Tensor) -> np.dtype:
        return x._value.dtype

    def unary(self, func: np.ufunc, x: Any) -> Any:
        return dispatch(OPERATORS[func][0], (x,), {})

    def binary(self, func: np.ufunc, a: Any, b: Any) -> Any:
        mine = isinstance(a, Tensor)
        x, other = (a, b) if mine else (b, a)
        if opts_out(other) and not hasattr(other, "__tensor_function__"):
            return operate(func, a, b)
        return dispatch(OPERATORS[func][0 if mine else 1], (x, other), {})

    def getitem(self, x: Tensor, index: Index) -> Any:
        return dispatch(GETITEM, (x, index), {})

    def method(self, func: Function, args: tuple, kwargs: dict) -> Any:
        return dispatch(func, args, kwargs)

    def property(self, name: str, x: Tensor) -> Any:
        return dispatch(getattr(Tensor, name).__get__, (x,), {})

    def function(self, func: Function, args: tuple, kwargs: dict, relevant: Any = None) -> Any:
        return dispatch(func, args, kwargs, relevant)

    def dispatch(self, cls: Any, func: Function, args: tuple, kwargs: dict) -> Any:
        values = [v._value if type(v) is cls else tree_map(_plain_value, v) for v in args]
        result = func(*values, **(tree_map(_plain_value, kwargs) if kwargs else kwargs))

        def wrap(v: Any) -> Any:
            if not isinstance(v, (np.ndarray, np.generic)) and not hasattr(v, "__array_ufunc__"):
                return v
            x: Any = new(cls)
            x._value = v
            return x

        out = kwargs.get("out")
        if not isinstance(out, tuple):  # a ufunc's is a tuple
            return tree_map(wrap, result) if out is None else out
        results = result if isinstance(result, tuple) else (result,)
        outs = tuple(wrap(r) if o is None else o for o, r in zip(out, results))
        return outs if len(outs) > 1 else outs[0]

    def setitem(self, x: Tensor, index: Index, value: Value) -> Any:
        first = (*classes_in(index, value), Tensor)[0]
        if issubclass(first, Tensor) and first.level.depth:
            check_reach(Tensor, value if type(value) is first else index, x)
        return dispatch(SETITEM, (x, index, value), {})

    def reorder(self, x: Tensor, func: Function, args: tuple, kwargs: dict) -> Tensor:
        y = dispatch(func, (x, *args), kwargs)
        np.copyto(x._value, y._value if isinstance(y, Tensor) else y)
        return x

    def check_shuffle(self, frame: Frame) -> None:
        """A plain tensor may be shuffled."""

    def reshape(self, x: Tensor, shape: Any) -> None:
        """``x.shape = shape``."""
        x._value.shape = shape

    def augment(self, func: Function, x: Tensor, value: Value) -> Any:
        """``x op= value``, which writes to `x` where NumPy has an array."""
        if not isinstance(x._value, np.ndarray):
            return NotImplemented
        if opts_out(value) and not hasattr(value, "__tensor_function__"):
            return NotImplemented
        return dispatch(INPLACE[func], (x, value), {})

    def answers_operators(self, x: Tensor) -> bool:
        """Return whether an operator of another library's matrix is the tensor's to compute."""
        return False  # it is an array

    def convert(self, x: Tensor, how: str | Function, *args: Any) -> Any:
        return convert_to(x._value, how, *args)

    def card(self, x: Tensor) -> str | None:
        """Leave it to `repr`."""
        return None

    def repr(self, x: Tensor) -> str:
        text = np.array2string(x._value, separator=", ", prefix=f"{type(x).__name__}(")
        return f"{type(x).__name__}({text})"


Tensor.level = RootLevel()
