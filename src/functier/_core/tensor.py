"""Tensor: two slots and two hooks; `_core.methods` gives it operators and methods.

A tensor passes everything on to ``self.level``, an attribute of its class. For plain tensors
and users' subclasses it is the `RootLevel` of `_core.root`; for the classes that
`_levels.level` creates it is the level object of a transform.
"""

from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._cpython.code import names_of
from .._cpython.frames import code_at, computes, current_frame
from .adopted import ADOPTED, CLASS, is_called_by_percent
from .blocks import OPERATIONS
from .errors import EscapedTensorError, hide_own
from .flat import Flat
from .foreign_operators import array_for_operator
from .hooks import array_namespace
from .numpy_facts import Function, Index, Value
from .peers import ATTRIBUTES
from .subclasses import KEPT, OVER_TENSORS, answer, inside, inside_index, view_as
from .table import find

if TYPE_CHECKING:
    from .declared import Operators
else:
    Operators = object


class Tensor(Operators):
    """An array-like whose every operation can be overridden.

    Parameters
    ----------
    data : array_like
        It is wrapped without a copy if it is an array or supports NumPy's protocols.

    Examples
    --------
    >>> import numpy as np
    >>> class Logged(Tensor):
    ...     @classmethod
    ...     def __tensor_function__(cls, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return super().__tensor_function__(func, types, args, kwargs)
    >>> np.sum(Logged([1.0, 2.0]))
    sum
    Logged(3.)
    """

    __slots__ = ("__weakref__", "_cell", "_extra", "_kept", "_moves", "_value")
    __class__ = CLASS
    level: ClassVar[Any]
    _value: Value
    _extra: Any
    _cell: Any  # once it was written to: see `_mutation`

    def __new__(cls, data: Any, *args: Any, **kwargs: Any) -> Any:
        return cls.level.make(cls, data, *args, **kwargs)

    # ---- the two hooks, and NumPy's, which only forward to them ----

    @classmethod
    def __tensor_function__(
        cls, func: Function, types: Iterable, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Handle functions, methods, operators, indexing and properties: the upper hook.

        Return ``NotImplemented`` where a class in `types` has the hook and is not a superclass
        of `cls`. Else replace methods and operators by the NumPy functions that they stand for,
        and composite functions by their parts where a class overrides the lower hook, and call
        the lower hook.
        """
        for other in types:
            if not issubclass(cls, other) and hasattr(other, "__tensor_function__"):
                return NotImplemented
        kwargs = kwargs or {}
        meaning = CANONICAL.get(func)
        if meaning is not None:
            func, args, kwargs = meaning(*args, **kwargs)
        elif type(func) is FunctionType and hasattr(func, "_implementation"):
            # Of another library: what it does inside is dispatched, and its result is ours.
            return as_class(cls, func._implementation(*args, **kwargs))
        lower: Any = cls.__tensor_dispatch__
        default: Any = Tensor.__tensor_dispatch__
        if OPERATIONS or lower.__func__ is not default.__func__:
            op = find(func)
            if op is not None and op.body is not None and op.body is not func:
                result = op.body(*args, **kwargs)
                if type(result) is np.ndarray and not cls.level.depth:  # as of like=
                    return Tensor(result).as_subclass(cls)
                return result
        if OPERATIONS:
            return OPERATIONS[0](cls, func, types, args, kwargs)
        return cls.__tensor_dispatch__(func, types, args, kwargs)

    @classmethod
    def __tensor_dispatch__(
        cls, func: Function, types: Iterable, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Compute a canonical operation on the wrapped values: the lower hook."""
        return cls.level.dispatch(cls, func, args, kwargs or {})

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if OVER_TENSORS or KEPT:
            found = answer(getattr(ufunc, method), map(type, inputs), inputs, kwargs)
            if found is not None:
                return found
        func = ufunc if method == "__call__" else getattr(ufunc, method)
        return self.level.function(func, inputs, kwargs)

    def __array_function__(self, func: Function, types: Iterable, args: tuple, kwargs: dict) -> Any:
        # Level classes override this. `self` may come from like=, and not be in `args`.
        if OVER_TENSORS or KEPT:
            found = answer(func, types, args, kwargs)
            if found is not None:
                return found
        return self.level.function(func, args, kwargs, (args, kwargs, self))

    # ---- for code of the array API standard ----

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the functions of `functier.numpy`, whose results are tensors."""
        versions: Any = np.empty(0).__array_namespace__
        versions(api_version=api_version)  # raises for an unknown one
        return array_namespace()

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> Any:  # fmt: skip
        """Export the values of a plain tensor to another library; raise inside a level."""
        values = self.level.convert(self, "__dlpack__", None, copy)
        return values.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.empty(0).__dlpack_device__()

    # ---- asking for the value, its form, and its parts ----

    def elem(self) -> Value:
        """Return the value one level out, also after the level has ended."""
        return self.level.elem(self)

    def parts(self) -> tuple:
        """Return the value one level out, followed by what the level stores beside it, if anything.

        That is the tangent for a jvp level, and a node for a grad level (on its tape) and for a
        program that is being recorded.
        """
        return (self._value, self._extra) if hasattr(self, "_extra") else (self._value,)

    @classmethod
    def join(cls, value: Value, *extra: Any) -> Any:
        """Return the tensor of this class that has these parts: see `parts`."""
        x: Any = object.__new__(cls)
        x._value = value
        if extra:
            (x._extra,), x._moves = extra, None
        return x

    def as_subclass(self, cls: type["Tensor"]) -> Any:
        """Return the same memory as an instance of `cls`, a subclass of `Tensor`."""
        return self.level.as_subclass(self, cls)

    @classmethod
    def unwrap(cls, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Take a value out of the level `cls`; see the transform that made it."""
        return cls.level.unwrap(x, *args, **kwargs)

    @classmethod
    def gradient(cls, output: Any, inputs: Any = None) -> Any:
        """Compute the gradient of a scalar `output` of a ``grad()`` level for its `inputs`."""
        return cls.level.gradient(output, inputs)

    @property
    def device(self) -> Any:
        """Device of the value: ``"cpu"`` for NumPy's arrays."""
        return self.level.dtype(self) and getattr(self._value, "device", "cpu")

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Return the tensor itself; raise for another device."""
        if device != self.device or stream is not None:
            raise ValueError(
                f"to_device({device!r}): the value is on the device {self.device!r}, which a "
                f"transform does not change; move it before"
            )
        return self

    @property
    def flat(self) -> Flat:
        return Flat(self)

    @flat.setter
    def flat(self, value: Value) -> None:
        Flat(self)[:] = value

    def __len__(self) -> int:
        frame = current_frame(1)
        names = names_of(code_at(frame))
        if "len" not in names or "shuffle" in names:  # which asks for the length
            self.level.check_shuffle(frame)
        shape = self.level.shape(self)
        if not shape:
            raise TypeError(f"{type(self).__name__}: len() of a 0-d tensor")
        return shape[0]

    def view(self, *args: Any, **kwargs: Any) -> "Tensor":
        """Another tensor that shares the memory; it has to keep the dtype."""
        if kwargs or (args and args != (np.ndarray,)):
            return view_as(self, *args, **kwargs)
        if issubclass(self.level.class_of(self), np.generic):
            return self  # a number, to which nobody writes
        return self[...]  # type: ignore[index]  # `methods` gives it

    def fill(self, value: Value) -> None:
        """Write `value` to all elements."""
        self[...] = value

    def put(self, indices: Index, values: Value, mode: str = "raise") -> None:
        """Write `values` at positions of the flattened array; see `numpy.put`."""
        np.put(self, indices, values, mode)  # type: ignore[arg-type]  # a tensor dispatches

    def __iter__(self) -> Iterator:
        shape = self.level.shape(self)
        if not shape:
            raise TypeError(f"{type(self).__name__}: iteration over a 0-d tensor")
        return (self[i] for i in range(shape[0]))  # type: ignore[index]

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())  # type: ignore[attr-defined]

    def __setitem__(self, index: Index, value: Value) -> None:
        try:
            if OVER_TENSORS:
                index, value = inside_index(index), inside(value)
            return self.level.setitem(self, index, value)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    # ---- leaving: the level decides whether that may be ----

    def __hash__(self) -> int:
        return self.level.convert(self, hash)  # the value's own, as NumPy's numbers have

    def __bool__(self) -> bool:
        try:
            return self.level.convert(self, bool)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    def __int__(self) -> int:
        return self.level.convert(self, int)

    def __index__(self) -> int:
        if self.level.depth and computes(current_frame(1), "**"):
            raise TypeError("an exponent")  # NumPy before 2.3 asks for one, and then the tensor
        return self.level.convert(self, "__index__")

    def __float__(self) -> float:
        try:
            if self.level.depth and is_called_by_percent() and self.dtype.kind != "c":  # type: ignore[attr-defined]
                asked = ADOPTED.text_for(self, float, ".17g")
                return float(asked or self.level.convert(self, "format", ".17g"))
            return self.level.convert(self, float)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    def __complex__(self) -> complex:
        return self.level.convert(self, complex)

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        try:
            if self.level.answers_operators(self):
                asked = array_for_operator()
                if asked is not None:
                    return asked
            return self.level.convert(self, "numpy.asarray", dtype, copy)
        except EscapedTensorError as error:
            hide_own(error)
            raise

    def item(self, *args: Any) -> Any:
        method = ADOPTED.method_for_caller("item")
        return method(self, *args) if method else self.level.convert(self, "item", *args)

    def tolist(self) -> Any:
        method = ADOPTED.method_for_caller("tolist")
        return method(self) if method else self.level.convert(self, "tolist")

    def as_integer_ratio(self) -> tuple[int, int]:
        return self.level.convert(self, "as_integer_ratio")  # `statistics` asks for it

    def __copy__(self) -> Any:
        return self.copy("K")  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict) -> Any:
        return self.copy("K")  # type: ignore[attr-defined]

    def __getnewargs__(self) -> tuple:
        return (self.level.convert(self, "pickle.dumps"),)

    def __format__(self, spec: str) -> str:
        """Return a text of the value; without a `spec` it may be a description.

        The text is the value of all examples: it has no derivative, and is refused where examples
        differ, and in a program that is recorded.
        """
        level = self.level
        asked = ADOPTED.text_for(self, str, spec)
        if asked is None and (spec or (level.depth and level.live and not self.ndim)):
            asked = level.convert(self, "format", spec) if spec or level.has_text(self) else None
        return str(self) if asked is None else asked

    def __str__(self) -> str:
        return ADOPTED.text_for(self, str) or repr(self)

    def __repr__(self) -> str:
        return ADOPTED.text_for(self, repr) or self.level.repr(self)

    def _repr_html_(self) -> str | None:
        return self.level.card(self)

    def __dir__(self) -> list[str]:
        """Return the names of the attributes, without those that only answer with a message."""
        return [name for name in super().__dir__() if name not in ATTRIBUTES]


def as_class(cls: type[Tensor], result: Any) -> Any:
    """Return a result, or a tuple or list of these, as `cls` where it is a tensor of level 0."""
    if isinstance(result, Tensor) and not result.level.depth and not isinstance(result, cls):
        return result.as_subclass(cls)
    if type(result) in (tuple, list):
        return type(result)(as_class(cls, r) for r in result)
    return result


def innermost(x: Any) -> Any:
    """Return the value inside all levels of `x`; of an array, a snapshot."""
    while isinstance(x, Tensor):
        x = x._value
    return x


CANONICAL: dict[Function, Callable[..., tuple[Function, tuple, dict]]] = {}
"""The call that a method, an operator or the getter of a property stands for."""


def canonical(func: Function, args: tuple, kwargs: dict) -> tuple[Function, tuple, dict]:
    """Return the NumPy call that a method, an operator or a property stands for."""
    meaning = CANONICAL.get(func)
    return (func, args, kwargs) if meaning is None else meaning(*args, **kwargs)
