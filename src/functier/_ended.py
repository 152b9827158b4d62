"""What a level becomes when it ends, the two escape modes, and no_dispatch."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._errors import EscapedTensorError
from ._level import AMBIENT, ENDED, WATCHERS, Level, chain, levels_of
from ._numpy import dtype_of, shape_of
from ._op import Call, Op
from ._root import DISABLED, converted, tree_map
from ._tensor import Tensor


class EndedLevel(Level):
    """What a level object becomes when the level has ended; `kind` is what it was."""

    live = False

    def exit(self) -> None:
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


@contextmanager
def resumed(cls: type[Tensor]) -> Iterator[None]:
    """The level of `cls` and those around it are live, and ambient, also if they have ended.

    For what runs again in a backward pass; other threads may do so at the same time.
    """
    levels = [
        MutedLevel.muted(level) if type(level) is MutedLevel else level for level in levels_of(cls)
    ]
    with _LOCK:
        ended = [level for level in levels if vars(level).get("resumed") or not level.live]
        for level in ended:
            level.resumed = vars(level).get("resumed", 0) + 1
            level.__class__ = level.kind
            for watcher in WATCHERS[:]:
                watcher(level)
    token = AMBIENT.set(cls)
    try:
        yield
    finally:
        AMBIENT.reset(token)
        with _LOCK:
            for level in ended:
                level.resumed -= 1
                if not level.resumed:
                    level.__class__ = ENDED[level.escape]


class MutedLevel(PassthroughLevel):
    """A live level while `no_dispatch` holds somewhere; other contexts see the level."""

    def __init__(self, level: Level):
        self.level, self.cls, self.live, self.users = level, level.cls, level.live, 0

    @staticmethod
    def muted(level: Any) -> Any:
        """The level that is muted, in any context."""
        return object.__getattribute__(level, "level")

    def __getattribute__(self, name: str) -> Any:
        get = object.__getattribute__
        own = name in ("level", "users") or get(self, "cls") in DISABLED.get()
        if own and name in MUTED:
            return get(self, name)
        return getattr(get(self, "level"), name)


MUTED = {
    "level",
    "users",
    "live",
    "unary",
    "binary",
    "getitem",
    "method",
    "property",
} | {*vars(PassthroughLevel)}
"""What a muted level answers itself; for the rest it is the level."""

ENDED.update(dead=DeadLevel, passthrough=PassthroughLevel)

_LOCK = threading.Lock()


@contextmanager
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
        raise TypeError(f"no_dispatch: {cls!r} is no class with __tensor_function__")
    token = DISABLED.set(DISABLED.get() | {cls})
    level: Any = cls.__dict__.get("level")  # a level class has its own
    muted: Any = None
    if cls is not Tensor and level is not None:
        with _LOCK:
            if not isinstance(level, MutedLevel):
                level.alone = 0  # a class that is written to is not used again
                cls.level = MutedLevel(level)  # type: ignore[attr-defined]
            muted = cls.level  # type: ignore[attr-defined]
            muted.users += 1
    try:
        yield
    finally:
        if muted is not None:
            with _LOCK:
                muted.users -= 1
                if not muted.users and cls.level is muted:  # type: ignore[attr-defined]
                    cls.level = muted.level  # type: ignore[attr-defined]
        DISABLED.reset(token)
