"""Copies that NumPy has as views: they become views, or neither may be written to.

A few functions (`sliding_window_view`, `as_strided`) give a view in NumPy and are
computed as a copy here. A level notes it with its source, if it can, and both become views at the
first write. Else a write to the one while the other is alive is refused, as that would not see it.
A plain array that somebody asks of a tensor is such a copy, too, or shows the memory until a
tensor is written to that.
"""

import functools
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from .._core.ambient import AMBIENT
from .._core.errors import MutationError
from .._core.hooks import note_copy
from .._core.numpy_facts import Function, Value, name_of
from .._core.root import convert_to, tree_map
from .._core.sharing import may_be_view
from .._core.tensor import Tensor
from .._cpython.frames import asking_frames, asking_line, runs, variables_at
from .array import innermost, is_array, is_scalar, was_written
from .memory import CHOSEN, REGION, Memory, View, notes_of
from .stores import laid_as

ndarray = np.ndarray
OPERAND = object()
Partners = list[tuple[Any, str, str]]
"""Each a weak reference, the name of the function, and the file and line of its call."""


def partners_of(place: Any, level: Any) -> Partners:
    """Return the list of those that share memory with `place` in NumPy.

    The level in which that was noted has the lists, by the numbers of memories and of arrays that
    own memory, each with a weak reference. They go with the level.
    """
    partners = notes_of(level).partners
    found = partners.get(id(place))
    if found is None or found[0]() is not place:
        found = partners[id(place)] = ref(place), []
    return found[1]


def check_partners(place: Any) -> None:
    """Raise where one that shares memory with `place` in NumPy is alive."""
    for level in _with_partners(place):
        for partner, name, line in partners_of(place, level):
            if partner() is not None:
                raise MutationError(
                    f"an array cannot be written to while another one is in use that is its view "
                    f"in NumPy and a copy here, made by {name} at {line}; write y = {name}(...)"
                    f".copy() there"
                )


def inherit(place: Any, memory: Any) -> None:
    """Have `memory` share what the array `place` shares."""
    for level in _with_partners(place):
        for partner, name, line in partners_of(place, level):
            partners_of(memory, level).append((partner, name, line))
            other = partner()
            if other is not None:
                partners_of(other, level).append((ref(memory), name, line))


def _with_partners(place: Any) -> list[Any]:
    """Return the ambient level and those around it that have a list for `place`."""
    found: list[Any] = []
    classes: Any = AMBIENT.get().__mro__
    for cls in classes:
        if cls is Tensor:
            break
        notes = cls.level.notes
        if notes is not None and id(place) in notes.partners:
            found.append(cls.level)
    return found


def watch(func: Function, body: Callable[..., Value]) -> Callable[..., Value]:
    """Return the body of a function whose result may be a view in NumPy."""

    @functools.wraps(body)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = body(*args, **kwargs)
        if may_be_view(func, args):
            note(func, args, kwargs, result)
        return result

    return call


def note(func: Function, args: tuple, kwargs: dict, result: Any) -> None:
    """Note which of the results would share memory with which of the arguments."""
    if AMBIENT.get() is Tensor:
        return
    sources: list[tuple[Any, ndarray]] = []

    def model(value: Any) -> Any:
        if isinstance(value, Tensor) and hasattr(value.level, "window"):
            try:
                window = value.level.window(value).view(ndarray)
            except MutationError:  # of a class that cannot be written to
                return value
            if window.dtype == bool:  # which a function could take for a mask
                window = window.view(np.int8)
            if is_scalar(value):
                return window[()]  # of which NumPy makes a new array
            sources.append((value, window))
            return window
        return value

    models = tree_map(model, args)
    if not sources:
        return
    results: list[Any] = []
    call = func_on(func, args)
    tree_map(results.append, call(*models, **kwargs))
    found: list[Any] = []
    tree_map(found.append, result)
    for at, (y, shown) in enumerate(zip(found, results)):
        if not (isinstance(y, Tensor) and isinstance(shown, ndarray)):
            continue
        for x, window in sources:
            if hasattr(y.level, "place") and np.may_share_memory(shown, window):
                if x.level.place(x) is y.level.place(y):
                    allow_writes(y, shown)
                elif note_copy(
                    y.level, x, y, taking(call, models, kwargs, window, at), shown.strides
                ):
                    break
                else:
                    tie(func, x.level.place(x), y)


def taking(func: Function, models: tuple, kwargs: dict, own: ndarray, at: int) -> Callable:
    """Return how to take the view that a function gives as its result with the number `at`.

    It is given the view of the operand for which `own` is in `models`.
    """
    models = tree_map(lambda value: OPERAND if value is own else value, models)

    def take(view: View) -> View | None:
        window = view.window.view(np.int8) if view.window.dtype == bool else view.window
        results: list[Any] = []
        tree_map(results.append, func(
            *tree_map(lambda value: window if value is OPERAND else value, models), **kwargs
        ))  # fmt: skip
        if not np.may_share_memory(results[at], window):
            return None
        return view.at(results[at].view(view.window.dtype))

    return take


def func_on(func: Function, args: tuple) -> Callable:
    """Return the function of windows of a memory that gives the views which `func` gives of `args`.

    It is `func`, except that strides are in bytes, of which a window has others.
    """
    if func is not np.lib.stride_tricks.as_strided:
        return func
    seen = args[0].strides

    def strided(
        x: ndarray, shape: Any = None, strides: Any = None, subok: bool = False, **options: bool
    ) -> ndarray:
        ratios = {own / s for own, s, n in zip(x.strides, seen, x.shape) if n > 1 and s}
        steps = [s * max(ratios, default=1) for s in (seen if strides is None else strides)]
        if len(ratios) > 1 or any([step % 1 for step in steps]):
            raise MutationError(
                "numpy.lib.stride_tricks.as_strided gives a view of an array whose memory is laid "
                "out differently here; write numpy.lib.stride_tricks.sliding_window_view, or "
                "as_strided(x.copy(), ...)"
            )
        return func(x, shape, [int(step) for step in steps], **options)

    return strided


def allow_writes(y: Any, shown: ndarray) -> None:
    """Let a view be written to where NumPy's, `shown`, can be."""
    value = None if was_written(y) else innermost(y)
    if type(value) is ndarray and not value.flags.writeable:
        value.flags.writeable = shown.flags.writeable


def tie(func: Function | str, a: Any, y: Any) -> None:
    """Note that `y`, a result of a function, shares memory with the place `a` in NumPy."""
    b, line = y.level.place(y) if isinstance(y, Tensor) else y, asking_line()
    name = func if isinstance(func, str) else name_of(func)
    if a is not b:
        classes: Any = AMBIENT.get().__mro__
        outermost = classes.index(Tensor) - 1  # whose tensors may outlive the levels inside
        level = classes[outermost if isinstance(y, Tensor) else 0].level
        partners_of(a, level).append((ref(b), name, line))
        partners_of(b, level).append((ref(a), name, line))


def tie_to(level: Any, func: Function, x: Any, y: Any) -> None:
    """Note that `y`, a result of a function, shares memory with `x`, a tensor of the level."""
    tie(func, level.place(x), y)


# ---- plain arrays that somebody asked for ----

SHOWN = {"numpy.asarray": "numpy.asarray", "__dlpack__": "numpy.from_dlpack"}
"""The conversions whose result shares the memory of an array in NumPy, and who asks for them."""


class Owner:
    """The memory of an array that is exposed, which all views of that keep alive."""

    def __init__(self, window: ndarray, readonly: bool):
        self.window = window
        place, _ = window.__array_interface__["data"]
        self.__array_interface__ = {**window.__array_interface__, "data": (place, readonly)}


class Lent(Owner):
    """The memory of a copy of `value`, which stands for the memory of a tensor.

    Writes to it would not come back, and are refused at the next chance: when the function asks for
    another array, or returns. It is not read-only, as code in C either does not ask, or copies it.
    """

    def __init__(self, made: ndarray, value: ndarray, level: Any, line: str):
        super().__init__(made, False)
        self.value, self.line = value, line
        self.level = level if level.depth else None

    def __del__(self) -> None:
        level = self.level
        if level is not None and level.live and self.window.tobytes() != self.value.tobytes():
            level.unanswered = level.refusal(
                MutationError,
                f"the plain array that numpy.asarray(x) made at {self.line} was written to, and x "
                f"does not see it; write functier.numpy.asarray(x), or, for code in C, "
                f"a = numpy.array(x) before it and x[...] = a after it",
            )


def check_lent(level: Any) -> None:
    """Raise where a copy that stands for a tensor was written to, alive or not."""
    for place, _ in level.notes.partners.values():
        owner = place()
        if isinstance(owner, Lent):
            owner.__del__()
            owner.level = None  # it may outlive the level, and be written to then
    level.check_answered()


def expose(view: View, dtype: Any) -> ndarray:
    """Return the memory of a plain view as an array, and noted; writes to it are writes to that."""
    if dtype is not None and np.dtype(dtype) != view.dtype:
        return view.snapshot().astype(dtype)  # type: ignore[union-attr]
    if CHOSEN.get() or view.memory.time < REGION.get():  # where not every write is one to that
        value = view.snapshot()
        return lent("numpy.asarray", view.memory, laid_as(view.window, value), value)
    owner = Owner(view.window, view.readonly)
    check_request()
    alive = [other for other in view.memory.exposed if other() is not None]
    view.memory.exposed = (*alive, ref(owner))
    shown = np.asarray(owner)
    return shown if view.whole else shown.imag if view.imaginary else shown.real


def check_exposed(memory: Memory) -> None:
    """Raise where somebody has a plain array of the memory, who would not see the write."""
    if any([owner() is not None for owner in memory.exposed]):
        raise MutationError(
            "a tensor cannot be written to this array while numpy.asarray(a), a plain array of its "
            "memory, is in use and would not see it; write numpy.asarray(a).copy() there"
        )
    memory.exposed = ()


def lend(how: Any, x: Any, value: Any, *args: Any) -> Any:
    """Convert `value`, what `x` shows in each example; an array of it is a view of `x` in NumPy.

    It lies in memory as that does, so that NumPy itself tells what is a copy, and is tied to it.
    """
    if how not in SHOWN or not is_array(x):
        return convert_to(value.copy(), how, *args)
    made = laid_as(x.level.window(x), value)
    shown = convert_to(made, how, *args)
    return lent(SHOWN[how], x.level.place(x), made, value) if shown is made else shown


def lent(name: str, place: Any, made: ndarray, value: Any) -> ndarray:
    """Return `made`, a copy of `value` that stands for the memory of `place`."""
    check_request()
    level = AMBIENT.get().level
    if level.depth:
        level.check_answered()
    owner = Lent(made, value, level, asking_line())
    tie(name, place, owner)
    return np.asarray(owner)


def check_request() -> None:
    """Raise where `numpy.require` asks for an array that owns its memory: it would copy ours."""
    inside = asking_frames()[1]
    if not inside or not runs(inside[-1], np.require):
        return
    if "O" in (variables_at(inside[-1]).get("requirements", "O") or ()):
        level: Any = AMBIENT.get().level
        text = (
            "numpy.require(x, ...) would make a plain copy of x, which writes to x do not reach; "
            "write functier.numpy.require(x, ...), or numpy.array(x) for a copy"
        )
        raise level.refusal(MutationError, text) if level.depth else MutationError(text)
