"""The operators, methods and properties of `Tensor`, from one table each."""

import operator
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .border import without_labels
from .errors import ConversionError, EscapedTensorError, UnsupportedError, hide_own
from .hidden import HIDDEN, MEMORY, STORED, Hidden, message_on_memory
from .numpy_facts import PLAIN, SPELLED, UFUNC_OF, Function, Value, name_of
from .python_rules import divide, nearest
from .subclasses import KEPT, OVER_TENSORS, answer, inside
from .tensor import CANONICAL, Tensor, canonical

float64 = np.float64

BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift",
    "and", "or", "xor", "matmul",
)  # fmt: skip
COMPARISON = "lt", "le", "eq", "ne", "gt", "ge"
UNARY = "neg", "pos", "abs", "invert"

METHODS: dict[str, Any] = {
    "all": np.all, "any": np.any, "argmax": np.argmax, "argmin": np.argmin,
    "argpartition": np.argpartition, "argsort": np.argsort,
    "choose": np.choose, "conj": lambda x: _conjugate(x), "conjugate": lambda x: _conjugate(x),
    "cumprod": np.cumprod, "cumsum": np.cumsum,
    "diagonal": np.diagonal, "dot": np.dot, "max": np.max,
    "mean": np.mean, "min": np.min, "nonzero": np.nonzero,
    "prod": np.prod, "ravel": np.ravel, "repeat": np.repeat, "round": np.round,
    "searchsorted": np.searchsorted, "squeeze": np.squeeze,
    "std": np.std, "sum": np.sum, "swapaxes": np.swapaxes, "take": np.take,
    "trace": np.trace, "var": np.var,
    # The method has other parameters than the function: the call that it stands for.
    "astype": lambda x, *args, **k: _astype(x, *args, **k),
    "copy": lambda x, order="C": (
        (np.copy, (x,), {"order": order}) if np.ndim(x) or not isinstance(x, Tensor)
        else (np.astype, (x, x.dtype), {"copy": True})  # a number is copied as a number
    ),
    "reshape": lambda x, *shape, **k: (np.reshape, (x, _several(shape)), k),
    "flatten": lambda x, order="C": (np.reshape, (x, -1), {"order": order, "copy": True}),
    "transpose": lambda x, *axes: (np.transpose, (x, _several(axes) if axes else None), {}),
    "clip": lambda x, min=None, max=None, out=None, **k: (np.clip, (x, min, max, out), k),
    "compress": lambda x, condition, axis=None, out=None: (
        np.compress, (condition, x, axis, out), {}
    ),
    "__divmod__": lambda x, other: divide(x, other),
    "__rdivmod__": lambda x, other: divide(other, x),
    "__round__": lambda x, decimals=None: nearest(x, decimals),
}  # fmt: skip
PROPERTIES: dict[str, Function] = {
    "T": np.transpose, "mT": np.matrix_transpose, "real": np.real, "imag": np.imag,
}  # fmt: skip
SIZES: dict[str, Any] = {"shape": None, "ndim": len, "size": prod}
"""The properties that are functions of the shape; None for the shape itself."""
ORDERING = {"sort": np.sort, "partition": np.partition}
"""Methods that reorder the tensor in place, as those of an array, and also return it."""

INPLACE: dict[Function, Function] = {}
"""The `Tensor` method of a function of `operator` that writes to its first operand."""

OPERATORS: dict[Function, list] = {}
"""The methods of `Tensor` for a function of `operator`: the direct and the reflected one."""


def _conjugate(x: Tensor) -> tuple[Function, tuple, dict]:
    """Return the call of the method, which gives a real array itself."""
    if x.dtype.kind == "c":
        return np.conjugate, (x,), {}
    return (np.asarray, (x,), {}) if x.ndim else (np.astype, (x, x.dtype), {"copy": False})


def _astype(
    x: Value, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True,
    copy: bool = True,
) -> tuple[Callable, tuple, dict]:  # fmt: skip
    """Translate a call of the method, which has more parameters than the function."""
    if casting != "unsafe" and not np.can_cast(x.dtype, dtype, casting):
        raise TypeError(f"cannot cast from {x.dtype} to {np.dtype(dtype)} by the rule {casting!r}")
    if not np.ndim(x) and isinstance(x, Tensor):  # a number stays one, and has no order
        return np.astype, (x, np.dtype(dtype)), {"copy": copy}
    same = x.dtype == dtype
    if not copy and same and (order == "K" or _lies_in(x, order)):
        return np.asarray, (x,), {}
    if order == "K":
        return np.astype, (x, np.dtype(dtype)), {"copy": copy}
    return np.copy, (x if same else np.astype(x, dtype),), {"order": order}


def _lies_in(x: Any, order: Any) -> bool:
    """Return whether the elements of an example lie in an order in memory."""
    window = x.level.window(x) if hasattr(getattr(x, "level", None), "window") else np.asarray(x)
    return np.asarray(window, order=order) is window


def _several(given: tuple) -> Any:
    return given[0] if len(given) == 1 and not isinstance(given[0], int) else given


def _define(name: str, function: Callable, meaning: Any) -> None:
    _name(name, function)
    function.__doc__ = f"See `{name_of(meaning)}`." if meaning in _NUMPY else None
    setattr(Tensor, name, function)
    CANONICAL[function] = _same(meaning) if meaning in _NUMPY else meaning


def _name(name: str, function: Callable) -> None:
    function.__name__, function.__qualname__ = name, f"Tensor.{name}"
    function.__module__ = "functier"


def _same(func: Callable) -> Callable:
    return lambda *args, **kwargs: (func, args, kwargs)


# ---- the functions of each kind; `self` may be a plain value: see `_call_on_plain` ----


def _binary(func: Callable) -> Callable:
    def call(self: Tensor, other: Any) -> Any:
        try:
            level = self.level
        except AttributeError:
            return func(self, other)
        try:
            return level.binary(func, self, other)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    return call


def _reflected(func: Callable) -> Callable:
    def call(self: Tensor, other: Any) -> Any:
        try:
            level = self.level
        except AttributeError:
            return func(other, self)
        try:
            return level.binary(func, other, self)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    return call


def _unary(func: Callable) -> Callable:
    def call(self: Tensor) -> Any:
        try:
            level = self.level
        except AttributeError:
            return func(self)
        try:
            return level.unary(func, self)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    return call


def _reading(self: Any, index: Any) -> Any:
    try:
        level = self.level
    except AttributeError:
        return self[index]
    try:
        return level.getitem(self, index)
    except EscapedTensorError as error:
        hide_own(error)
        raise


def _method(meaning: Function) -> Function:
    same = meaning in _NUMPY

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        try:
            level = self.level
        except AttributeError:
            return _call_on_plain(call, (self, *args), kwargs)
        try:
            if level.forwards_methods:
                return level.method(call, (self, *args), kwargs)
            if same:
                return level.function(meaning, (self, *args), kwargs)
            return level.function(*meaning(self, *args, **kwargs))
        except EscapedTensorError as error:
            hide_own(error)
            raise

    return call


def _getter(name: str, func: Callable) -> property:
    def read(self: Tensor) -> Any:
        try:
            return self.level.property(name, self) if hasattr(self, "level") else func(self)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    def write(self: Any, value: Any) -> None:
        if name == "imag" and self.dtype.kind != "c":
            raise TypeError(f"{self.level}: a tensor of dtype {self.dtype} has no imag to set")
        getattr(self, name)[...] = value

    _name(name, read)
    return property(read, write if name in ("real", "imag") else None)


def _form(of: Callable | None) -> Callable:
    def read(self: Tensor) -> Any:
        try:
            shape = self.level.shape(self)
            return shape if of is None else of(shape)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    return read


def _reshape(self: Any, shape: Any) -> None:
    self.level.reshape(self, shape)


def _dtype(self: Tensor) -> np.dtype:
    try:
        return self.level.dtype(self)
    except EscapedTensorError as error:
        hide_own(error)
        raise


def _ordering() -> Callable:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.level.reorder(self, call, args, kwargs)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    return call


def _augmenting(func: Callable) -> Callable:
    def call(self: Any, other: Any) -> Any:
        level = self.level
        notes = level.notes
        if notes is None or notes.taken is None:  # no write yet: of a number there is a new one
            value = self._value
            if type(value) is float64 or (
                level.batches and value.ndim == level.k and (notes is None or not notes.points)
            ):
                return NotImplemented
        try:
            return level.augment(func, self, inside(other) if OVER_TENSORS else other)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    return call


def _of_memory(name: str) -> Callable:
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        level, inside = self.level, self.level.depth or hasattr(self, "takes_writes")
        if name == "setflags" and inside and not args and kwargs == {"write": False}:
            if not level.guards:  # a program would not set it
                return  # a guard against writes, which a right program does not make
        message = message_on_memory(self, f"{name}(...)", MEMORY[name])
        if name not in STORED or not level.depth:
            raise UnsupportedError(message)
        raise level.note_levels(ConversionError(message, named=True))

    _name(name, call)
    return call


def _define_all() -> None:
    for name in (*BINARY, *COMPARISON, *UNARY):
        func = getattr(operator, f"__{name}__")
        _define(f"__{name}__", (_unary if name in UNARY else _binary)(func), UFUNC_OF[func])
        if name in BINARY:
            _define(f"__r{name}__", _reflected(func), _swap(UFUNC_OF[func]))
            _define(f"__i{name}__", _augmenting(func), _into(UFUNC_OF[func]))
            INPLACE[func] = getattr(Tensor, f"__i{name}__")
        OPERATORS[func] = [getattr(Tensor, f"__{r}{name}__", None) for r in ("", "r")]
    _define("__getitem__", _reading, operator.getitem)
    CANONICAL[Tensor.__setitem__] = _same(operator.setitem)
    _name("__setitem__", Tensor.__setitem__)
    for name, meaning in METHODS.items():
        _define(name, _method(meaning), meaning)
    for name, meaning in ORDERING.items():
        _define(name, _ordering(), meaning)
    reads = {name: _form(of) for name, of in SIZES.items()} | {"dtype": _dtype}
    for name, read in reads.items():
        setattr(Tensor, name, property(read, _reshape if name == "shape" else None))
    for name in MEMORY:
        setattr(Tensor, name, _of_memory(name))
    for name in HIDDEN:
        setattr(Tensor, name, Hidden(name))
    for name, func in PROPERTIES.items():
        setattr(Tensor, name, _getter(name, func))
        CANONICAL[getattr(Tensor, name).__get__] = _same(func)


def _call_on_plain(call: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a method of `Tensor` on a value that is not a tensor.

    A hook may call the method that it was given on the values that it took out of its tensors.
    """
    cls = type(args[0])
    if hasattr(cls, "__tensor_function__"):
        return Tensor.level.method(call, args, kwargs)
    known = cls in PLAIN or issubclass(cls, (list, tuple)) or hasattr(cls, "__array_ufunc__")
    if not known and not hasattr(cls, "__array__"):
        raise TypeError(
            f"{name_of(call)} takes a tensor or an array first; got a {cls.__name__}, which has "
            f"no __tensor_function__"
        )
    func, args, kwargs = canonical(call, args, kwargs)
    return func(*args, **kwargs)


def call_function(compute: Callable, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
    """Return ``compute(func, args, kwargs)`` for NumPy, where no other class has to answer."""
    if OVER_TENSORS or KEPT:
        found = answer(func, types, args, kwargs)
        if found is not None:
            return found
    try:
        return compute(func, args, kwargs)
    except TypeError as error:
        plain = without_labels(func, args, kwargs) if hasattr(error, "labelled") else None
        if plain is None:
            raise
    return func(*plain[0], **plain[1])


def methods_of(calls: dict[Function, Function]) -> dict[str, Function]:
    """Return methods that use the fast `calls`, for the class of a level."""

    def __array_ufunc__(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        try:
            call = calls.get(ufunc)
            if call is None or kwargs or method != "__call__":
                return Tensor.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)
            return call(self) if len(inputs) == 1 else call(inputs[0], inputs[1])
        except EscapedTensorError as error:
            hide_own(error)
            raise

    def __array_function__(self: Any, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        try:
            return call_function(self.level.function, func, types, args, kwargs)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    found: dict[str, Function] = {
        "__array_ufunc__": __array_ufunc__,
        "__array_function__": __array_function__,
        "__hash__": Tensor.__hash__,  # a class with __eq__ needs one
    }
    for func, (direct, reflected) in OPERATORS.items():
        if func in calls:
            found[direct.__name__] = calls[func]
            if reflected is not None:
                found[reflected.__name__] = _reflecting(calls[func])
    if operator.getitem in calls:
        found["__getitem__"] = calls[operator.getitem]
    return found


def _reflecting(call: Callable) -> Callable:
    def reflected(self: Tensor, other: Any) -> Any:
        try:
            return call(other, self)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    return reflected


def _into(func: Callable) -> Callable[..., tuple]:
    return lambda x, other: (func, (x, other), {"out": (x,)})


def _swap(func: Callable) -> Callable:
    return lambda x, other: (func, (other, x), {})


_NAMED = [f for f in METHODS.values() if getattr(f, "__name__", "") != "<lambda>"]
_NUMPY = {*SPELLED, *ORDERING.values(), operator.getitem, *_NAMED}
_define_all()
