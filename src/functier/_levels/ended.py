"""Levels that have ended, in the two escape modes."""

from typing import Any, NoReturn

import numpy as np

from .._core.errors import EscapedTensorError
from .._core.numpy_facts import UFUNC_OF, Function, Index, Shape, Value, dtype_of, shape_of
from .._core.op import Call, Op
from .._core.root import convert_to, tree_map
from .._core.table import later
from .._core.tensor import Tensor
from .level import ENDED, Level

OF_EQUALITY = (
    "if a cache or a dict has found it, empty that before the call (f.cache_clear() for "
    "functools.lru_cache), or keep no tensors in it: f.__wrapped__(x) bypasses the cache; else "
)
"""The cause of a comparison that nobody has written: Python's, of a key."""


class EndedLevel(Level):
    """A level object after its level has ended; `kind` is the class that it had before."""

    batches, differentiates, records, guards = False, None, False, False

    @property
    def live(self) -> bool:  # type: ignore[override]  # a property takes precedence over the attribute of a level
        return False

    def end(self) -> None:
        """Do nothing: the level has already ended."""

    def elem(self, x: Tensor) -> Value:
        return self.kind.elem(self, x)

    def repr(self, x: Tensor) -> str:
        return self.kind.repr(self, x)

    def card(self, x: Tensor) -> str:
        return self.kind.card(self, x)

    def refuse(self, *args: Any, **kwargs: Any) -> Any:
        """Raise the error for a use after the end."""
        self.refuse_with("")

    def refuse_with(self, cause: str) -> NoReturn:
        """Raise the error for a use after the end, of which `cause` says more, or the place where
        a module keeps tensors of the level.
        """
        place = "" if cause else later("debug._leaks").place_of(self.cls)
        if place:
            cause = (
                f"{place} has kept one: empty that before the call, or keep no tensors in it; else "
            )
        transform = self.label.partition("(")[0]
        text = f"a tensor of {self} was used after its level had ended; {cause}"
        instead = self.kind.instead.format(transform)
        raise self.note_levels(EscapedTensorError(text + instead, named=True))

    def make(self, cls: type, data: Any, *args: Any, **options: Any) -> Any:
        raise self.refusal(
            EscapedTensorError,
            "a level that had ended was asked to make a tensor; make it inside the `with` block "
            "or the function that the level belongs to, or enter a new level",
        )


class DeadLevel(EndedLevel):
    """An ended level with ``escape="dead"``: every use raises except `elem` and `repr`."""

    unary = getitem = EndedLevel.refuse
    function = method = property = apply = missing = EndedLevel.refuse
    unwrap = gradient = shape = dtype = setitem = EndedLevel.refuse
    augment = add_at = reshape = snapshot = reorder = EndedLevel.refuse
    convert = as_subclass = release = attribute = EndedLevel.refuse

    def binary(self, func: Function, a: Value, b: Value) -> NoReturn:
        self.refuse_with(OF_EQUALITY if UFUNC_OF.get(func, func) is np.equal else "")


class PassthroughLevel(EndedLevel):
    """An ended level with ``escape="passthrough"``: operations act on the wrapped value."""

    def function(self, func: Function, args: tuple, kwargs: dict) -> Any:
        args, kwargs = tree_map(self.through, (args, kwargs))
        return func(*args, **kwargs)

    missing = function

    def apply(self, op: Op, call: Call) -> Value:
        return call.run([self.through(x) for x in call.operands])

    def reorder(self, x: Tensor, func: Function, args: tuple, kwargs: dict) -> Any:
        return self.method(func, (x, *args), kwargs)

    def through(self, x: Any) -> Any:
        """Return the value of a tensor of this level; anything else as it is."""
        return self.elem(x) if type(x) is self.cls else x

    def release(self, x: Tensor, other: Level) -> Value:
        return self.elem(x)

    def unwrap(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self.through(x)

    def shape(self, x: Tensor) -> Shape:
        return shape_of(self.elem(x))

    def dtype(self, x: Tensor) -> np.dtype:
        return dtype_of(self.elem(x))

    def attribute(self, x: Tensor, name: str) -> Any:
        return getattr(self.elem(x), name)

    def setitem(self, x: Tensor, index: Index, value: Value) -> None:
        self.elem(x)[self.through(index)] = self.through(value)

    def convert(self, x: Tensor, how: str | Function, *args: Any) -> Any:
        value = self.elem(x)
        if isinstance(value, Tensor):
            return value.level.convert(value, how, *args)
        return convert_to(value, how, *args)


ENDED.update(dead=DeadLevel, passthrough=PassthroughLevel)
