"""The states of a level and their changes; levels that have ended, in the two escape modes.

NOTE [the state of a level is its class]
    A level is live, dead or passing through. A live one may have layers over its kind, by which
    debuggers and modes see its calls. Each state is a class of the level object. The fast paths
    ask for exactly the kind, so they need no other question. design/0006 has the diagram.

NOTE [one assignment]
    ``level.__class__ = table[level.__class__]`` calls no Python function. So neither an
    exception nor another thread comes between the read and the write, and a level that another
    thread ends meanwhile stays ended. The tables have an entry for each state. Three assignments
    are elsewhere, as a call would be slow or a signal could interrupt it: the beginning in
    `Level.prepare`, the end in `_levels.runs.run` and in `Level.end`.

NOTE [a layer is lifted meanwhile]
    The block of another thread may end, and lift a layer, while a method of the layer runs. So
    these methods go on with `next_layer`, and call each other by their class, not by that of
    the level.

NOTE [a level that contexts see differently]
    `no_dispatch` switches a level off, and a backward pass makes an ended one live again: both
    for one context (a thread, a task). While one of them is in force in any context, the
    attribute `level` of the class is a `ContextualLevel`, which asks the context. Code that
    keeps it for longer gets the answers of the level.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import combinations
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np

from .._core.blocks import LEVELS, User, block
from .._core.errors import EscapedTensorError
from .._core.hooks import place_of
from .._core.numpy_facts import UFUNC_OF, Function, Index, Shape, Value, dtype_of, shape_of
from .._core.op import Call, Op
from .._core.root import DISABLED, convert_to, tree_map
from .._core.tensor import Tensor
from .level import ENDED, Level
from .lineage import AMBIENT

OF_EQUALITY = (
    "if a cache or a dict has found it, empty that before the call (f.cache_clear() for "
    "functools.lru_cache), or keep no tensors in it: f.__wrapped__(x) bypasses the cache; else "
)
"""The cause of a comparison that nobody has written: Python's, of a key."""


OF_A_BLOCK = (
    "inside the `with` block, take out of the level what is needed after it, as B.unwrap(x), or "
    "G.gradient(y, x) of a block of grad"
)


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

    def class_of(self, x: Tensor) -> type:
        return type(x)

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
        place = "" if cause else place_of(self.cls)
        if place:
            cause = (
                f"{place} has kept one: empty that before the call, or keep no tensors in it; else "
            )
        transform = self.label.partition("(")[0]
        text = f"a tensor of {self} was used after its level had ended; {cause}"
        way = OF_A_BLOCK if self.label == f"{transform}()" else "return it from the function"
        instead = self.kind.instead.format(way=way, transform=transform)
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


_LOCK = threading.RLock()  # the collector may end another block meanwhile

# ---- layers over a live level ----

LAYERS: list["Layer"] = []
"""All layers, from the inside out."""

KNOWN: set[type] = set()
"""The kinds whose states are in the tables of all layers."""


class Layer:
    """Behaviour of live levels over that of their kind, while somebody observes them.

    ``mixin(kind)`` is the class that comes before that of a level. A layer of a higher `place`
    is further out. `on` and `off` are the tables of the two changes.
    """

    def __init__(self, name: str, place: int, mixin: Callable[[type[Level]], type]):
        self.name, self.place, self.mixin = name, place, mixin
        self.on: dict[type, type] = {ended: ended for ended in ENDED.values()}
        self.off = {**self.on}
        self.levels: WeakSet[Level] = WeakSet()
        LAYERS.append(self)
        LAYERS.sort(key=lambda layer: layer.place)
        KNOWN.clear()

    def lay(self, level: Level) -> bool:
        """Put the layer over a live level; tell if it was not there before."""
        level = ContextualLevel.actual(level)
        if level.kind.guards and level.live:
            level.refuse_observer()  # type: ignore[attr-defined]
        with _LOCK:
            if level.kind not in KNOWN:
                _learn(level.kind)
            self.levels.add(level)
            before = type(level)
            level.__class__ = self.on[level.__class__]
            return type(level) is not before

    def lift(self) -> None:
        """Take the layer off all live levels."""
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
    """Return the class of live levels of a kind under `layers`, from the inside out."""
    if not layers:
        return kind
    inner, layer = state_of(kind, layers[:-1]), layers[-1]
    return type(layer.name + inner.__name__, (layer.mixin(kind), inner), {})


def next_layer(mixin: type, level: Level) -> Any:
    """Return `level` as the class under `mixin` sees it, for a call of the next method.

    Where somebody has lifted the layer meanwhile, return `level` itself.
    """
    try:
        return super(mixin, level)  # type: ignore[misc]
    except TypeError:
        return level


# ---- what one context sees ----

RESUMED: ContextVar[frozenset[type]] = ContextVar("resumed", default=frozenset())
"""The classes of ended levels that are live in this context."""


class ContextualLevel(PassthroughLevel):
    """The level of a class whose state differs between contexts.

    See NOTE [a level that contexts see differently].
    """

    def __init__(self, level: Level):
        self.level, self.cls, self.again = level, level.cls, None
        self.users: WeakSet[User] = WeakSet()

    @property
    def off(self) -> bool:  # type: ignore[override]  # as `live` of an ended level
        return self.cls in DISABLED.get()

    @staticmethod
    def of(cls: Any) -> Any:
        """Return the contextual level of `cls`; give it one where it has none."""
        level = vars(cls)["level"]
        if type(level) is not ContextualLevel:
            level = cls.level = ContextualLevel(level)
        return level

    @staticmethod
    def actual(level: Any) -> Any:
        """Return the level that a contextual one stands for here, or `level` itself."""
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
            and not get(self, "level").records  # it records that it is switched off
        ):
            return get(self, name)
        return getattr(ContextualLevel.actual(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        known = name in OWN or name == "cls"
        target = self if known else ContextualLevel.actual(self)
        object.__setattr__(target, name, value)


OWN = {"again", "level", "off", "users"}
PASSING = {"unary", "binary", "getitem", "method", "property"} | {*vars(PassthroughLevel)}
"""The attributes that a contextual level has itself where it is switched off."""


def _differing(
    variable: ContextVar[frozenset[type]],
    classes: list[Any],
    begin: Callable[[], Any] = lambda: None,
) -> Iterator[None]:
    """Run the body of a block in which `classes` are in `variable`; call `begin` at its start."""
    user, before = User(), variable.get()
    levels = [c for c in classes if c is not Tensor and "level" in vars(c)]  # not inherited
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
    """Give `cls` its level back, if `user` was the last with another state for it."""
    with _LOCK:
        level = vars(cls)["level"]
        if type(level) is ContextualLevel:
            level.users.discard(user)
            if not level.users:
                cls.level = level.level


@block
def resume(cls: type[Tensor]) -> Iterator[None]:
    """Make the level of `cls` and those around it live and ambient in this context.

    A function that runs again in a backward pass needs it. For other threads an ended level
    stays ended.
    """
    ambient = AMBIENT.get()
    around: list[Any] = [c for c in reversed(cls.__mro__) if "level" in vars(c) and c.level.depth]  # type: ignore[attr-defined]
    ended = [c for c in around if not ContextualLevel.actual(c.level).live]

    def begin() -> None:
        with _LOCK:
            for c in ended:
                if c.level.again is None:
                    c.level.again = _revive(c.level.level)
        for c in ended:
            for show in LEVELS[:]:
                show(c.level.again)
        AMBIENT.set(cls)

    try:
        yield from _differing(RESUMED, ended, begin)
    finally:
        AMBIENT.set(ambient)


def _revive(level: Any) -> Any:
    """Return a live copy of `level`, which has ended, for its class."""
    twin: Any = object.__new__(level.kind)
    vars(twin).update(vars(level))
    vars(twin).pop("live", None)
    twin.again = True
    parent = vars(level).get("parent")  # of a batch level, which has the same tensors
    if parent is not None and not parent.live:
        twin.parent = ContextualLevel.of(parent.cls).again
    return twin


@block
def no_dispatch(cls: type) -> Iterator[None]:
    """Switch off the hooks of `cls`, and of no other class, in this context.

    Inside, instances of `cls` count as the values that they wrap. So a hook can call NumPy
    functions on instances of its class without recursion.

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
    """Run the body of `no_dispatch` for several classes at once."""
    return _differing(DISABLED, classes)
