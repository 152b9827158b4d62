"""The lineage of levels, and the origin of a tensor: outside of an inner level, or made in it.

NOTE [who can see a write]
    A result of an outer level's tensors is a tensor of the outer level, also where an inner level
    has computed it. It has no mark of where that was. So the first write to it inside asks
    who holds it: a value of the inner level may be written to it where no frame outside of that
    level has it, nor a container that such a frame has. One that is held elsewhere (in a
    container of containers) holds a value of an ended level later, and refuses to be read.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .._core.ambient import AMBIENT
from .._core.numpy_facts import PLAIN, Value
from .._core.tensor import Tensor
from .._cpython.frames import Frame, current_frame, may_have, running, steps_to


def home_of(tensors: list[Any], holders: list[Any]) -> type[Tensor]:
    """Return the class of the innermost level that some views of one array were made in.

    They are of a level around the ambient one, and `holders` refer to them. See NOTE [who can see
    a write].
    """
    own: Any = type(tensors[0])
    wanted = {id(x) for x in (*tensors, *holders)}
    home = own
    frame: Frame | None = current_frame(1)
    for level in levels_of(AMBIENT.get()):
        if level is own.level:
            break
        frame = running(level.made[0], frame)
        if frame is None:
            break
        if not may_have(frame, wanted):
            home = level.cls
            break
    return home


def encloses(outer: type, cls: type) -> bool:
    """Return whether `outer` is the class of plain tensors, or of a live level around `cls`."""
    return issubclass(outer, Tensor) and issubclass(cls, outer) and outer.level.live


def level_in(a: Value, b: Value) -> Any:
    """Return the level of the first tensor of two operands."""
    return a.level if isinstance(a, Tensor) else b.level


def levels_of(cls: type) -> list[Any]:
    """Return the level of a class and those around it, innermost first."""
    classes: tuple[Any, ...] = cls.__mro__
    return [c.level for c in classes if "level" in vars(c) and c.level.depth]


@contextmanager
def forgotten(level: Any) -> Iterator[None]:
    """Have a level and those around it forget an error that ends the block.

    After it functier itself goes on, and not the function.
    """
    levels = levels_of(level.cls)
    before = [level.unanswered for level in levels]
    try:
        yield
    except Exception:
        for level, known in zip(levels, before):
            level.unanswered = known
        raise


def name_beside(level: Any, *others: Any) -> str:
    """Return the label of a level, with its depth if a level beside it has the same label.

    Beside it are `others` of one message, those around it, and those that run. A class that is
    used again has the same depth.
    """
    beside = [*others, *levels_of(level.cls), *levels_of(AMBIENT.get())]
    alike = [one for one in beside if one.label == level.label and one.cls is not level.cls]
    return f"{level.label} at depth {level.depth}" if alike else level.label


def meeting(level: Any, other: Any) -> str:
    """Return what to say of a level that met a tensor of another one, which does not enclose it."""
    met, name = name_beside(level, other), name_beside(other, level)
    text = f"{'another ' * (met == name)}{met} met a tensor of {name}, "
    if issubclass(other.cls, level.cls):
        return f"{text}a level inside of it; unwrap that one first, as in B0.unwrap(B1.unwrap(x))"
    return (
        f"{text}and their levels are not in one chain; pass the value in as an argument, or return "
        f"it from {name} first"
    )


def inward(x: Value) -> Iterator[Tensor]:
    """Yield `x`, the tensor inside it, and so on, up to the innermost one."""
    while isinstance(x, Tensor):
        yield x
        x = x._value


def chain(cls: type) -> str:
    """Return the hierarchy of a level class as text: ``Tensor <- vmap(f) <- grad(g)``."""
    levels = levels_of(cls)[::-1]
    return " <- ".join(["Tensor", *[name_beside(one, *levels) for one in levels]])


def innermost_class(values: Iterable[Any], frame: Frame) -> type[Tensor]:
    """Return the class of the innermost level around `frame`, or of one of `values`.

    A value counts where it came from inside that level to a thread in which no level was made.
    """
    inner = AMBIENT.get()
    if inner.level.in_generator or not inner.level.live:
        inner = enclosing_level(inner, frame)
    for x in values:
        cls = type(x)
        if cls not in PLAIN and issubclass(cls, inner) and cls.level.live:
            inner = cls
    return inner


def enclosing_level(cls: type[Tensor], frame: Frame) -> type[Tensor]:
    """Return the class of the innermost level that surrounds `frame`.

    A level that has ended does not (levels can end out of order), nor does one that a
    suspended generator has entered: its ``with`` block is not on the stack. Where a generator
    goes on inside a later level, the ``with`` block of the generator is the inner one.
    """
    found: type[Tensor] = Tensor
    nearest = sys.maxsize
    while cls is not Tensor:
        level: Any = cls.level
        live, level = level.live, getattr(level, "level", level)
        if live:
            steps = sys.maxsize
            if level.generator is not None:
                steps = steps_to(level.generator, frame)
            if steps >= 0 and (found is Tensor or (steps < nearest and not issubclass(found, cls))):
                found, nearest = cls, steps
                if not level.in_generator:
                    break
        cls = level.outer
    return found
