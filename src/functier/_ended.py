"""Ended levels, the two escape modes, no_dispatch, and running again.

NOTE [a level that contexts see differently]
    `no_dispatch` switches a level off, and a backward pass makes an ended one live again: both
    for one context (a thread, a task). While one of them holds somewhere, the attribute `level`
    of the class is a `ContextualLevel`, which asks the context. Where its removal is missed,
    it answers as the level does.
"""

import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

from ._blocks import User, block
from ._errors import EscapedTensorError
from ._level import AMBIENT, ENDED, WATCHERS, Level, chain
from ._numpy import dtype_of, shape_of
from ._op import Call, Op
from ._root import DISABLED, converted, tree_map
from ._tensor import Tensor


class EndedLevel(Level):
    """A level object after its level has ended; `kind` is the class that it had before."""

    batches, differentiates, records = False, None, False

    @property
    def live(self) -> bool:  # type: ignore[override]  # a property comes before what a level has
        return False

    def end(self) -> None:
        """It has ended already."""

    def elem(self, x: Any) -> Any:
        return self.kind.elem(self, x)

    def repr(self, x: Any) -> str:
        return self.kind.repr(self, x)

    def refuse(self, *args: Any, **kwargs: Any) -> Any:
        transform = self.label.partition("(")[0]
        raise EscapedTensorError(
            f"a tensor of {self} was used after its level ({chain(self.cls)}, made at "
            f"{self.where()}) had ended; return it from the function, or ask for "
            f"{transform}(..., escape='passthrough') to go on with its value (x.elem() shows it)",
            named=True,
        )

    def make(self, cls: type, data: Any, *args: Any, **options: Any) -> Any:
        raise self.refusal(
            EscapedTensorError,
            "a tensor was to be made of a level that had ended; make it inside the `with` block "
            "or the function that the level belongs to, or enter a new level",
        )


class DeadLevel(EndedLevel):
    """Every use raises; `elem` and `repr` still work."""

    unary = binary = getitem = EndedLevel.refuse
    function = method = property = apply = missing = EndedLevel.refuse
    unwrap = gradient = shape = dtype = setitem = write = EndedLevel.refuse
    convert = as_subclass = release = attribute = EndedLevel.refuse


class PassthroughLevel(EndedLevel):
    """Operations act on the wrapped value."""

    def function(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        args, kwargs = tree_map(self.through, (args, kwargs))
        return func(*args, **kwargs)

    missing = function

    def apply(self, op: Op, call: Call) -> Any:
        return call.run([self.through(x) for x in call.operands])

    def reorder(self, x: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
        return self.method(func, (x, *args), kwargs)

    def through(self, x: Any) -> Any:
        return self.elem(x) if type(x) is self.cls else x

    def release(self, x: Any, other: Level) -> Any:
        return self.elem(x)

    def unwrap(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self.through(x)

    def shape(self, x: Any) -> tuple[int, ...]:
        return shape_of(self.elem(x))

    def dtype(self, x: Any) -> Any:
        return dtype_of(self.elem(x))

    def attribute(self, x: Any, name: str) -> Any:
        return getattr(self.elem(x), name)

    def setitem(self, x: Any, index: Any, value: Any) -> None:
        self.elem(x)[self.through(index)] = self.through(value)

    def convert(self, x: Any, how: Any, *args: Any) -> Any:
        value = self.elem(x)
        if isinstance(value, Tensor):
            return value.level.convert(value, how, *args)
        return converted(value, how, *args)


RESUMED: ContextVar[frozenset[type]] = ContextVar("resumed", default=frozenset())
"""The classes of ended levels that are live in this context."""


class ContextualLevel(PassthroughLevel):
    """The level of a class of which some context sees another state than the others.

    See NOTE [a level that contexts see differently].
    """

    def __init__(self, level: Level):
        self.level, self.cls, self.again = level, level.cls, None
        self.users: WeakSet[User] = WeakSet()

    @staticmethod
    def of(cls: Any) -> Any:
        """The contextual level of `cls`, which it has from now on, if it had none."""
        level = vars(cls)["level"]
        if type(level) is not ContextualLevel:
            level = cls.level = ContextualLevel(level)
        return level

    @staticmethod
    def actual(level: Any) -> Any:
        """The level that a contextual one stands for here, switched off or not; itself for
        another.
        """
        if type(level) is not ContextualLevel:
            return level
        get = object.__getattribute__
        resumed = get(level, "again") is not None and get(level, "cls") in RESUMED.get()
        return get(level, "again" if resumed else "level")

    def __getattribute__(self, name: str) -> Any:
        get = object.__getattribute__
        if name in OWN or (name in PASSING and get(self, "cls") in DISABLED.get()):
            return get(self, name)
        return getattr(ContextualLevel.actual(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        known = name in OWN or name == "cls"
        target = self if known else ContextualLevel.actual(self)
        object.__setattr__(target, name, value)


OWN = {"again", "level", "users"}
PASSING = {"unary", "binary", "getitem", "method", "property"} | {*vars(PassthroughLevel)}
"""The names that a contextual level answers itself where it is switched off."""

ENDED.update(dead=DeadLevel, passthrough=PassthroughLevel)

_LOCK = threading.Lock()


def _release(cls: Any, user: User) -> None:
    """Give `cls` its level back, where `user` was the last for whom contexts see it differently."""
    with _LOCK:
        level = vars(cls)["level"]
        if type(level) is ContextualLevel:
            level.users.discard(user)
            if not level.users:
                cls.level = level.level


@block
def resumed(cls: type[Tensor]) -> Iterator[None]:
    """Make the level of `cls` and those around it live and ambient, also if they have ended.

    A backward pass that runs a function again needs this. To other threads an ended level
    stays ended.
    """
    user, before, ambient = User(), RESUMED.get(), AMBIENT.get()
    around: list[Any] = [c for c in reversed(cls.__mro__) if "level" in vars(c) and c.level.depth]  # type: ignore[attr-defined]
    ended = [c for c in around if not ContextualLevel.actual(c.level).live]
    try:
        with _LOCK:
            for c in ended:
                level = ContextualLevel.of(c)
                level.users.add(user)
                if level.again is None:
                    level.again = _again(level.level)
        try:
            RESUMED.set(before | {*ended})
            for c in ended:
                for watcher in WATCHERS[:]:
                    watcher(c.level.again)
            AMBIENT.set(cls)
            yield
        finally:
            RESUMED.set(before)
    finally:
        AMBIENT.set(ambient)
        for c in ended:
            _release(c, user)


def _again(level: Any) -> Any:
    """A live level like the one that `level` was, for its class."""
    twin: Any = object.__new__(level.kind)
    vars(twin).update(vars(level))
    vars(twin).pop("live", None)
    twin.again = True
    parent = vars(level).get("parent")  # of a batch level, whose tensors they share
    if parent is not None and not parent.live:
        twin.parent = ContextualLevel.of(parent.cls).again
    return twin


@block
def no_dispatch(cls: type) -> Iterator[None]:
    """Switch the hooks of `cls`, that class alone, off in this context.

    Inside, instances of `cls` are seen as the values they wrap. It is what keeps a
    hook that runs NumPy operations on its own instances from recursing.

    Parameters
    ----------
    cls : type
        A subclass of `Tensor`, or a level class.

    Examples
    --------
    >>> import numpy as np
    >>> class S(Tensor):
    ...     pass
    >>> with no_dispatch(S):
    ...     type(np.add(S([1.0]), 1.0)).__name__
    'ndarray'
    """
    if not (isinstance(cls, type) and hasattr(cls, "__tensor_function__")):
        raise TypeError(f"no_dispatch: {cls!r} is not a class with __tensor_function__")
    yield from switched_off([cls])


def switched_off(classes: list[type]) -> Iterator[None]:
    """The body of `no_dispatch`, for several classes at once."""
    user, before = User(), DISABLED.get()
    levels = [c for c in classes if c is not Tensor and "level" in vars(c)]  # it is their own
    try:
        with _LOCK:
            for c in levels:
                ContextualLevel.of(c).users.add(user)
        DISABLED.set(before | {*classes})
        yield
    finally:
        DISABLED.set(before)
        for c in levels:
            _release(c, user)
