"""Values that adopted code keeps from one call to the next: its last input, its last result.

NOTE [a kept result has no derivative]
    A function may compare its input with that of an earlier call, and return the result of that
    call where both are near. The result is a plain number: its derivative would be 0. So a function
    of adopted code that writes to places outside of its variables and reads them, itself or by the
    functions that it calls by their names, looks at these places when it returns inside a level.
    Where one has a number as near to a tensor in its variables as a package may ask, and no tensor
    beside it, the function has found the input of an earlier call, as it would else have kept the
    new one. That is refused.

NOTE [plain when the level has ended]
    What is kept inside a level is the value that a plain call would have kept, as soon as the level
    has ended: that of the last example of a batch, as a loop over the examples leaves it. Only a
    level whose class somebody holds is looked at, and only what leads to adopted code is changed.
"""

import builtins
import contextlib
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Set
from functools import lru_cache
from inspect import getattr_static
from types import CellType, FunctionType
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from .._core.adopted import ADOPTED
from .._core.ambient import AMBIENT
from .._core.errors import ConversionError
from .._core.numpy_facts import PLAIN
from .._core.tensor import Tensor
from .._cpython import facts
from .._cpython.code import (
    MUTATORS,
    Code,
    code_behind,
    free_names_of,
    kept_by,
    may_keep,
    name_of_code,
    names_of,
)  # fmt: skip
from .._cpython.collector import holders_of, instances_of
from .._cpython.frames import Frame, code_at, current_frame, frames_of, globals_at, variables_at
from .._mutation.array import Array
from .values import plain_values, settle

ambient = AMBIENT.get
NUMBERS = frozenset({float, complex, np.ndarray, *np.sctypeDict.values()})
DICTS = dict, OrderedDict, defaultdict
LISTS = list, tuple, deque
DEEP, LONGEST = 3, 1000
"""The most containers inside one another, and the most of their last items, that are looked into:
longer ones are tables of numbers."""
OF_OTHERS = {*dir(np.ndarray), *dir(np), *dir(builtins), *MUTATORS}
"""Names by which code reaches no object of its package."""
NEAR = {"rtol": 1e-3, "atol": 1e-6}
"""The distance of two inputs that a package may take for the same one."""
WRITTEN = f"{__name__.partition('.')[0]}._mutation"
"""The room of the classes between an array that was written to and its tensors."""
STEPS = 6
"""The most holders between a tensor and the name or the object of adopted code that keeps it."""


def keeps(code: Code, namespace: dict, others: Set[str] = frozenset()) -> bool:
    """Tell if a function may keep values for a later call, or calls one of the names `others`."""

    def holds(name: str) -> bool:
        if name in namespace:
            return _contains(namespace[name])
        return name not in OF_OTHERS

    return may_keep(code, holds, others)


def keepers(codes: list[Code], namespace: dict) -> set[str]:
    """Return the names of the functions that may keep values."""
    return {name_of_code(code) for code in codes if keeps(code, namespace)}


# ---- a result that an earlier call has kept ----


def returned(value: Any) -> Any:
    """Return what adopted code returns; raise where an earlier call has kept it for another x."""
    if ambient() is not Tensor:
        _check(current_frame(1), value)
    return value


def _check(frame: Frame, value: Any) -> None:
    """Raise where the function of a frame has found an input that an earlier call has kept."""
    names = variables_at(frame)
    given = []
    for v in names.values():
        kind = type(v)
        if kind in PLAIN:
            continue
        parts = (v,) if kind is not list and kind is not tuple and kind is not dict else _parts(v)
        given += [x for x in parts if issubclass(type(x), Tensor)]
    if not given:
        return
    spaces = _kept(frame, names)
    if not spaces:
        return
    given = [x for x in map(settle, given) if _level_of(x) is not None]
    numbers = (
        found for where, space in (spaces if given else ()) for name, kept in space.items()
        for found in _numbers(where + name, kept, [*space.values()], DEEP)
    )  # fmt: skip
    for place, number, beside, around in numbers:
        x = next((x for x in given if _is_near(x, number)), None)
        if x is None and type(value) in NUMBERS and np.array_equal(value, number):
            others = [v for v in beside if v is not number and type(v) in NUMBERS]  # of x, perhaps
            x = next((x for x in given for v in others if np.shape(v) == np.shape(x)), None)
            keys = [v for b in around or () for v in _parts(b) if type(v) in NUMBERS]
            x = next((x for x in given for v in keys if _is_near(x, v)), x)
        if x is None or any([isinstance(v, Tensor) for b in beside for v in _parts(b)]):
            continue
        if type(around) in LISTS and any([_is_kept_anew(row, beside, x) for row in around]):
            continue
        name = name_of_code(code_at(frame))
        level = _level_of(x)
        raise level.refusal(
            ConversionError,
            f"{name} has kept the input of an earlier call in {place}, and compares x with it: "
            f"what it has kept beside it would lose the derivative of x; empty that before the "
            f"call, or write functier.finite_difference({name})(x)",
        )


def _level_of(x: Any) -> Any:
    """Return the innermost level of a tensor that differentiates, or None."""
    while isinstance(x, Tensor) and x.level.depth:
        if x.level.kind.differentiates:
            return x.level
        x, *_ = x.parts()
    return None


def _parts(x: Any) -> Any:
    """Return what is right in a container of arguments, else the object itself."""
    if type(x) in (list, tuple):
        return x[:LONGEST]
    return list(x.values())[:LONGEST] if type(x) is dict else (x,)


def _is_near(x: Any, number: Any) -> bool:
    if np.shape(x) != np.shape(number):
        return False
    values = np.asarray(plain_values(x))
    near = np.isclose(values, number, **NEAR, equal_nan=True)
    return bool(near.all(tuple(range(near.ndim - x.ndim, near.ndim))).any())


def _is_kept_anew(row: Any, before: Any, x: Any) -> bool:
    """Tell if a row of a record is one for `x` that a call in the level has made, as `before`.

    So a call writes what it has computed, and does not look for it: all numbers are tensors.
    """
    pairs = list(zip(_parts(row), _parts(before)))
    if not len(pairs) == len(_parts(row)) == len(_parts(before)):
        return False
    if not all([isinstance(a, Tensor) if type(b) in NUMBERS else a is b for a, b in pairs]):
        return False
    new, value = [a for a, b in pairs if type(b) in NUMBERS], plain_values(x)
    return any([np.array_equal(plain_values(a), value) for a in new])


class Plan(NamedTuple):
    """The places that a function may keep values in, by its code and the classes of its objects."""

    code: Code
    kinds: tuple[type, ...]
    names: set[str]  # of globals, or of variables of functions around it
    attributes: set[str]
    stored: frozenset[str]
    owners: list[str]  # globals that are functions or classes, which may have attributes


PLANS: dict[tuple[int, ...], Plan] = {}


def _plan(code: Code, kinds: tuple[type, ...], space: dict) -> Plan:
    key = (id(code), *map(id, kinds))
    plan = PLANS.get(key)
    if plan is not None and plan.code is code:
        return plan
    kept, owners = kept_by(code), []
    for name in names_of(code):
        called = [space.get(name), *[getattr_static(kind, name, None) for kind in kinds]]
        if type(called[0]) is FunctionType or _is_adopted(called[0]):
            owners.append(name)
        for f in [getattr(f, "__func__", f) for f in called]:
            if type(f) is FunctionType and id(f.__globals__) in ADOPTED:
                kept = kept.join(kept_by(code_behind(f)))
    places = kept.both() | kept.stored
    attributes = {n[1:] for n in places if n[0] == "."}
    if len(PLANS) > LONGEST:
        PLANS.clear()
    PLANS[key] = plan = Plan(code, kinds, {*places}, attributes, kept.stored, owners)
    return plan


def _kept(frame: Frame, names: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return what the function of a frame may have kept: where, and the values by their names.

    Only places with numbers are among them.
    """
    code, space = code_at(frame), globals_at(frame)
    owners = [x for x in names.values() if type(x) not in PLAIN and _is_owner(x)]
    kinds = tuple([x if isinstance(x, type) else type(x) for x in owners])
    plan = _plan(code, kinds, space)
    found = []
    for values, known in ((space, space), (names, free_names_of(code))):
        here = {
            n: values[n] for n in plan.names
            if n in known and n in values and (n in plan.stored or _contains(values[n]))
        }  # fmt: skip
        if here:
            _note(space if values is space else here, {*here})
            found.append((space, here))
    for owner in (*owners, *[space[n] for n in plan.owners if n in space]):
        values = getattr(owner, "__dict__", {})
        here = {n: values[n] for n in plan.attributes if n in values}
        if here:
            _note(owner, plan.attributes)
            found.append((owner, here))
    return [
        (_name(owner, space), here) for owner, here in found
        if any([type(v) in NUMBERS or _contains(v) for v in here.values()])
    ]  # fmt: skip


def _name(owner: Any, space: dict) -> str:
    title = f"{space.get('__name__')}."
    if owner is space:
        return title
    return f"{title}{getattr(owner, '__qualname__', type(owner).__qualname__)}."


def _is_owner(x: Any) -> bool:
    """Tell if an object is an instance or a class of an adopted module."""
    kind = type(x)
    if issubclass(kind, Tensor):
        return False
    known = _is_of_adopted(kind, len(ADOPTED))  # type: ignore[arg-type]
    return known or (issubclass(kind, type) and _is_adopted(x))


@lru_cache(256)
def _is_of_adopted(kind: type, n: int) -> bool:
    return _is_adopted(kind)


def _contains(x: Any) -> bool:
    return type(x) in (*DICTS, *LISTS)


def _note(holder: Any, names: set[str]) -> None:
    """Note the names by which an object may keep tensors of a level."""
    row = KEEPING.get(id(holder))
    if row is not None and row[1] >= names and (row[0] is holder or row[0]() is holder):
        return
    if len(KEEPING) > LONGEST:
        KEEPING.clear()  # then the collector searches
    with contextlib.suppress(TypeError):  # an object without weak references
        made = holder if type(holder) is dict else ref(holder)
        KEEPING[id(holder)] = made, names | (row[1] if row else set())


def _numbers(
    place: str, value: Any, beside: Any, deep: int, around: Any = None
) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the numbers in a value that is kept, also in containers, with their places.

    With each are the values beside it, and the container that these are in, if there is one.
    """
    kind = type(value)
    if kind in NUMBERS:
        if np.asarray(value).dtype.kind in "fc":
            yield place, value, beside, around
    elif deep and kind in DICTS:
        for key, item in list(value.items())[-LONGEST:]:
            yield from _numbers(f"{place}[{key!r:.40}]", key, [item], deep - 1)
            yield from _numbers(f"{place}[{key!r:.40}]", item, [*value.values()], deep - 1, beside)
    elif deep and kind in LISTS:
        if value and {*map(type, value)} <= NUMBERS and len(value) <= LONGEST:
            if len({np.shape(x) for x in value}) == 1:
                yield place, np.array(value), beside, around
        for i, item in enumerate(list(value)[-LONGEST:]):
            yield from _numbers(f"{place}[{i}]", item, value, deep - 1, beside)


def _is_adopted(x: Any) -> bool:
    """Tell if a class, or a function, is one of an adopted module."""
    if type(x) is FunctionType:
        return id(x.__globals__) in ADOPTED
    if not isinstance(x, type) or issubclass(x, (Tensor, np.ndarray)):
        return False
    module = sys.modules.get(x.__module__)
    return id(getattr(module, "__dict__", None)) in ADOPTED or any([
        id(getattr(getattr(f, "__func__", f), "__globals__", None)) in ADOPTED
        for f in [*vars(x).values()]
    ])  # fmt: skip


# ---- what a level has left behind ----


KEEPING: dict[int, tuple[Any, set[str]]] = {}
"""Objects, by weak references, and namespaces to which functions may have written in a level."""


def take_back(level: Any, is_held: Callable, error: BaseException | None) -> None:
    """Replace what adopted code keeps of a level that has ended by the plain values.

    The collector searches in all objects for what nobody has noted. Where a call has raised, the
    frames that it has passed are still there, and tell what they keep.
    """
    for frame in frames_of(error) if error else ():
        if id(globals_at(frame)) in ADOPTED and keeps(code_at(frame), globals_at(frame)):
            _kept(frame, variables_at(frame))
    classes = [level.cls]
    for holder, names in [*KEEPING.values()]:
        spaces = holder if type(holder) is dict else getattr(holder(), "__dict__", {})
        for name in names & spaces.keys():
            new = _made_plain(spaces[name], classes, DEEP)
            if new is not spaces[name] and type(spaces) is dict:
                spaces[name] = new
            elif new is not spaces[name]:
                type.__setattr__(holder(), name, new)
    classes.clear()
    if not level.outer.level.depth:
        KEEPING.clear()
    if error is None and facts.referrers.holds and is_held(level):
        left: list[Any] = [(x, _plain(x, [level.cls])) for x in instances_of(level.cls)]
        for _ in range(STEPS if left else 0):
            left = _replaced(left, [level.cls])
            if not left:
                break


def _made_plain(x: Any, classes: list[Any], deep: int) -> Any:
    """Return a value that is kept, with the plain values of tensors, also in its containers."""
    kind = type(x)
    if kind is Array:
        found = _plain(settle(x), classes)
        return x if isinstance(found, Tensor) and found.level.depth else found
    if not deep or kind not in (*DICTS, *LISTS) or len(x) > LONGEST:
        return _plain(x, classes) if kind in classes else x
    items = list(x.items() if kind in DICTS else enumerate(x))
    news = [(key, v, _made_plain(v, classes, deep - 1)) for key, v in items]
    if kind is tuple:
        return tuple([new for _, _, new in news]) if any([v is not w for _, v, w in news]) else x
    keys = [_made_plain(key, classes, deep - 1) for key, _, _ in news] if kind in DICTS else []
    if any([key is not before for key, (before, _, _) in zip(keys, news)]):
        x.clear()
        x.update(zip(keys, [new for _, _, new in news]))
        return x
    for key, v, new in news:
        if new is not v:
            x[key] = new
    return x


def _plain(x: Any, classes: list[Any]) -> Any:
    """Return the value of a tensor of ended levels, of a batch that of the last example."""
    if type(x) in classes and hasattr(x, "_value"):
        level = x.level
        x = _plain(x._value, classes)  # which all levels of a batch share
        if level.kind.batches and 0 not in np.shape(x)[: level.k]:
            x = x[(-1,) * level.k]
    return x[()] if type(x) is np.ndarray and not x.ndim else x


def _replaced(left: list[tuple[Any, Any]], classes: list[Any]) -> list[tuple[Any, Any]]:
    """Replace objects where adopted code keeps them; return those that hold some and cannot."""
    new = {id(old): value for old, value in left}
    wanted = [old for old, _ in left]
    own = {id(left), *map(id, left), id(new), id(wanted)}
    more: list[tuple[Any, Any]] = []
    for holder in holders_of(wanted):
        kind = type(holder)
        if id(holder) in own or isinstance(holder, Frame):
            continue
        if kind is tuple and len(holder) <= LONGEST:
            more.append((holder, tuple([new.get(id(x), x) for x in holder])))
        elif kind is Array:
            more.append((holder, _plain(settle(holder), classes)))
        elif kind.__module__.startswith(WRITTEN):
            more.append((holder, None))
        elif _leads_to_adopted(holder):
            _replace_in(holder, new)
    return more


def _replace_in(holder: Any, new: dict[int, Any]) -> None:
    kind = type(holder)
    if kind is CellType:
        holder.cell_contents = new.get(id(holder.cell_contents), holder.cell_contents)
    elif kind in (list, deque):
        for i, x in enumerate(holder):
            holder[i] = new.get(id(x), x)
    elif isinstance(holder, dict) or hasattr(holder, "__dict__"):
        items = holder if isinstance(holder, dict) else vars(holder)
        # Python remembers what a class has, which only the class may therefore change.
        mine = (
            (holder,)
            if items is not holder
            else holders_of([items])
            if "__module__" in items
            else ()
        )
        owners = [x for x in mine if isinstance(x, type)]
        for name, x in list(items.items()):
            if id(x) in new and owners:
                type.__setattr__(owners[0], name, new[id(x)])
            elif id(x) in new:
                items[name] = new[id(x)]


def _leads_to_adopted(x: Any) -> bool:
    """Tell if adopted code has an object, by a name, an attribute or a closure."""
    found, seen = [x], {id(x)}
    for _ in range(STEPS):
        for one in found:
            if id(one) in ADOPTED or _is_adopted(one) or _is_adopted(type(one)):
                return True
        found = [
            one for one in holders_of(found)
            if id(one) not in seen and not isinstance(one, Frame) and one is not found
        ]  # fmt: skip
        if not found:
            return False
        seen.update(map(id, found))
    return False
