"""The states of a level, and all that changes them; no_dispatch, and running again.

NOTE [the state of a level is its class]
    A level is live, dead or passing through. A live one may have layers over its kind: debuggers
    and modes look at its calls. Each state is a class of the level object, so the fast paths,
    which ask for exactly the kind, need not ask for anything else. design/0004 has the diagram.

NOTE [one assignment]
    ``level.__class__ = table[level.__class__]`` calls no Python function. So neither an
    exception nor another thread comes between what is read and what is written, and a level
    that another thread ends meanwhile stays ended. The tables have an entry for each state.
    Three assignments stand elsewhere, as a call would be slow or could be interrupted:
    beginning in `Level.prepare`, ending in `_levels.life.run` and in `Level.end`.

NOTE [a layer is lifted meanwhile]
    The block of another thread may end, and lift a layer, while a method of the layer runs. So
    these methods go on by `next_layer`, and call each other by their class, not by the level's.

NOTE [a level that contexts see differently]
    `no_dispatch` switches a level off, and a backward pass makes an ended one live again: both
    for one context (a thread, a task). While one of them holds somewhere, the attribute `level`
    of the class is a `ContextualLevel`, which asks the context. Where its removal is missed,
    it answers as the level does.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import combinations
from typing import Any
from weakref import WeakSet

from .._core.blocks import User, block
from .._core.observers import LEVELS
from .._core.root import DISABLED
from .._core.tensor import Tensor
from .ended import PassthroughLevel
from .level import ENDED, Level
from .lineage import AMBIENT

_LOCK = threading.RLock()  # the collector may end another block meanwhile

# ---- layers over a live level ----

LAYERS: list["Layer"] = []
"""All layers, from the inside out."""

KNOWN: set[type] = set()
"""The kinds whose states the tables of all layers have."""


class Layer:
    """Behaviour that live levels have over that of their kind, while somebody observes them.

    `mixin` gives the class that comes before that of a level, for a kind. A layer of a higher
    `place` lies further out. `on` and `off` are the tables of the two changes.
    """

    def __init__(self, name: str, place: int, mixin: Callable[[type[Level]], type]):
        self.name, self.place, self.mixin = name, place, mixin
        self.on: dict[type, type] = {ended: ended for ended in ENDED.values()}
        self.off = {**self.on}
        self.levels: WeakSet[Level] = WeakSet()
        LAYERS.append(self)
        LAYERS.sort(key=lambda layer: layer.place)
        KNOWN.clear()

    def lay(self, level: Any) -> bool:
        """Have a level that is live do what the layer says; whether it did not before."""
        level = ContextualLevel.actual(level)
        with _LOCK:
            if level.kind not in KNOWN:
                _learn(level.kind)
            self.levels.add(level)
            before = type(level)
            level.__class__ = self.on[level.__class__]
            return type(level) is not before

    def lift(self) -> None:
        """Have the levels that are live do again what they did without the layer."""
        with _LOCK:
            for level in list(self.levels):
                level.__class__ = self.off[level.__class__]  # type: ignore[assignment]
            self.levels.clear()


def _learn(kind: type) -> None:
    """Make the classes of all states of `kind`, and note where each change leads."""
    for n in range(len(LAYERS) + 1):
        for layers in combinations(LAYERS, n):
            state = state_of(kind, layers)
            for layer in LAYERS:
                more = tuple(one for one in LAYERS if one is layer or one in layers)
                less = tuple(one for one in layers if one is not layer)
                layer.on[state], layer.off[state] = state_of(kind, more), state_of(kind, less)
    KNOWN.add(kind)


@functools.cache
def state_of(kind: type, layers: tuple[Layer, ...]) -> type:
    """The class of live levels of a kind under some layers, which stand from the inside out."""
    if not layers:
        return kind
    inner, layer = state_of(kind, layers[:-1]), layers[-1]
    return type(layer.name + inner.__name__, (layer.mixin(kind), inner), {})


def next_layer(mixin: type, level: Level) -> Any:
    """`level` as what `mixin`, a layer's class, lies over; as it is, where somebody has lifted
    the layer meanwhile.
    """
    try:
        return super(mixin, level)  # type: ignore[misc]
    except TypeError:
        return level


# ---- what one context sees ----

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
        is_resumed = get(level, "again") is not None and get(level, "cls") in RESUMED.get()
        return get(level, "again" if is_resumed else "level")

    def __getattribute__(self, name: str) -> Any:
        get = object.__getattribute__
        if name in OWN or (
            name in PASSING
            and get(self, "cls") in DISABLED.get()
            and not get(self, "level").records  # which notes that it is switched off
        ):
            return get(self, name)
        return getattr(ContextualLevel.actual(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        known = name in OWN or name == "cls"
        target = self if known else ContextualLevel.actual(self)
        object.__setattr__(target, name, value)


OWN = {"again", "level", "users"}
PASSING = {"unary", "binary", "getitem", "method", "property"} | {*vars(PassthroughLevel)}
"""The names that a contextual level answers itself where it is switched off."""


def _differing(
    variable: ContextVar[frozenset[type]],
    classes: list[Any],
    begin: Callable[[], Any] = lambda: None,
) -> Iterator[None]:
    """The body of a block in which `classes` are in `variable`, and `begin` is called."""
    user, before = User(), variable.get()
    levels = [c for c in classes if c is not Tensor and "level" in vars(c)]  # it is their own
    try:
        with _LOCK:
            for c in levels:
                ContextualLevel.of(c).users.add(user)
        variable.set(before | {*classes})
        begin()
        yield
    finally:
        variable.set(before)
        for c in levels:
            _release(c, user)


def _release(cls: Any, user: User) -> None:
    """Give `cls` its level back, where `user` was the last for whom contexts see it differently."""
    with _LOCK:
        level = vars(cls)["level"]
        if type(level) is ContextualLevel:
            level.users.discard(user)
            if not level.users:
                cls.level = level.level


@block
def resume(cls: type[Tensor]) -> Iterator[None]:
    """The level of `cls` and those around it are live here, and ambient, also if they have ended.

    For what runs again in a backward pass. To other threads an ended level stays ended.
    """
    ambient = AMBIENT.get()
    around: list[Any] = [c for c in reversed(cls.__mro__) if "level" in vars(c) and c.level.depth]  # type: ignore[attr-defined]
    ended = [c for c in around if not ContextualLevel.actual(c.level).live]

    def begin() -> None:
        with _LOCK:
            for c in ended:
                if c.level.again is None:
                    c.level.again = _again(c.level.level)
        for c in ended:
            for show in LEVELS[:]:
                show(c.level.again)
        AMBIENT.set(cls)

    try:
        yield from _differing(RESUMED, ended, begin)
    finally:
        AMBIENT.set(ambient)


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
    yield from switch_off([cls])


def switch_off(classes: list[type]) -> Iterator[None]:
    """The body of `no_dispatch`, for several classes at once."""
    return _differing(DISABLED, classes)
