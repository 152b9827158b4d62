"""Objects of adopted code through which it reaches NumPy, and those that its containers keep.

NOTE [objects that forward]
    ``np = Backend(numpy)``, where ``Backend.__getattr__`` asks the module that it keeps, is an
    object like any other. What it keeps is bound as a global name is. One that keeps nothing, and
    imports the module when it is asked, stands behind a `Forwarding`.

Objects that an adopted module keeps in containers, partial functions and closures.
``TABLE = {"sin": math.sin}`` is an object that others may have, too. So the dict stays the same
object, and what it holds is replaced: also in lists, in what functions close over, and in the
attributes of the package's instances. A tuple cannot change, so its holder gets another one.

NOTE [containers of others]
    A dict that an unadopted module shares is left alone, because that module would notice.
    So is the namespace of a module, which some keep under a name: ``NAMES = vars(math)``.
"""

import functools
import sys
from collections import deque
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .._core.adopted import ADOPTED
from .calls import BUILTINS
from .memories import DICTS, LONGEST
from .search import import_name, is_of_python
from .twins import dispatches, twin_of, twin_of_object


def attributes_of(value: Any, module: ModuleType) -> dict[str, Any]:
    """Return the attributes of an instance of one of the package's classes; else nothing."""
    kind = type(value)
    if kind is not SimpleNamespace and not _is_of(kind, module):
        return {}
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:  # it has slots
        return {}
    return found if type(found) is dict and found is not vars(module) else {}


def _is_of(kind: type, module: ModuleType) -> bool:
    """Return whether a class is defined in the package of a module."""
    root = getattr(kind, "__module__", None)
    if not isinstance(root, str) or issubclass(kind, type):
        return False
    return root.partition(".")[0] in {
        name.partition(".")[0] for name in (module.__name__, import_name(module))
    }


def for_numpy(method: Callable) -> Callable:
    """Return a method ``__array__`` that gives NumPy's own code an array of NumPy's.

    Adopted code asks `method` itself, which may return a tensor.
    """

    @functools.wraps(method)
    def array(self: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.asarray(method(self, *args, **kwargs))

    array.functier_original = method  # type: ignore[attr-defined]
    return array


class Forwarding:
    """An object that forwards to NumPy; its attributes are the twins of what it would return."""

    def __init__(self, original: Any):
        object.__setattr__(self, "functier_original", original)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.functier_original, name)
        twin = twin_of(value)
        return value if twin is None else twin

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.functier_original, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.functier_original, name)

    def __dir__(self) -> list[str]:
        return dir(self.functier_original)

    def __repr__(self) -> str:
        return repr(self.functier_original)

    def __reduce__(self) -> tuple:
        return Forwarding, (self.functier_original,)


def forwarding(value: Any, module: ModuleType) -> Forwarding | None:
    """Return a `Forwarding` for an object whose ``zeros`` is NumPy's, as its class finds it."""
    kind = type(value)
    if not _is_of(kind, module) or "__getattr__" not in {n for c in kind.__mro__ for n in vars(c)}:
        return None
    if any([twin_of(kept) is not None for kept in attributes_of(value, module).values()]):
        return None  # which is bound instead
    try:
        forwards = value.zeros is np.zeros
    except Exception:  # the package's code
        return None
    return Forwarding(value) if forwards else None


LISTS = list, deque

MOST = 20_000
"""The most objects that are looked at for one module."""

CHOICES: dict[Any, Callable] = {f: BUILTINS[f] for f in (max, min, sorted, round)}
"""Builtins that no code uses as a class: a container may have their twins."""

PLAIN = frozenset({int, float, str, bytes, bool, complex, type(None)})


def twin_inside(value: Any) -> Any:
    """Return the twin that stands for an object in a container, or None."""
    if type(value) is BuiltinFunctionType and value.__module__ == "builtins":
        return CHOICES.get(value)
    return twin_of_object(value)


def needs_twin(value: Any) -> bool:
    """Return whether an object does not take tensors itself, but its twin does."""
    if twin_of(value) is None or isinstance(value, ModuleType) or not callable(value):
        return False
    return not dispatches(value)


class Others:
    """The modules that are not adopted: see NOTE [containers of others].

    Parameters
    ----------
    adopted : iterable of int
        The numbers of the namespaces that are being adopted, beside those that are.
    """

    def __init__(self, adopted: Iterable[int]):
        self.adopted = set(adopted)

    @functools.cached_property
    def spaces(self) -> dict[int, dict]:
        """The namespaces of all modules, by their numbers."""
        modules = [m for m in list(sys.modules.values()) if issubclass(type(m), ModuleType)]
        return {id(vars(m)): vars(m) for m in modules}

    @functools.cached_property
    def containers(self) -> set[int]:
        """The numbers of the containers that these modules have."""
        kinds = {*DICTS, *LISTS, functools.partial}
        return {
            id(value)
            for number, space in self.spaces.items()
            if number not in ADOPTED and number not in self.adopted
            for value in list(space.values())
            if type(value) in kinds
        }


class Contents:
    """The contents of the containers of a module, and the way back.

    Parameters
    ----------
    module : module
        The module.
    leave : function
        Is given an object that stays, where a container cannot be changed.
    """

    def __init__(self, module: ModuleType, leave: Callable[[Any], None]):
        self.module, self.leave = module, leave
        self.changes: list[tuple[Any, Any, Any, Any]] = []  # holder, place, before, the twin
        self.others = Others(())
        self.seen: dict[int, Any] = {}
        self.alive: list[Any] = []

    def begin(self, others: "Others") -> None:
        """Begin a search, for what is new."""
        self.others = others
        self.seen.clear()
        self.alive.clear()

    def replaced(self, value: Any) -> Any:
        """Return what stands for a value, `value` itself if its holder keeps it."""
        kind = type(value)  # isinstance would ask what a weak proxy refers to
        if kind in PLAIN:
            return value
        twin = twin_inside(value)
        if twin is not None:
            return twin
        if kind is FunctionType or id(value) in self.others.spaces:
            return value  # a function is bound itself; the namespace of a module stays
        if id(value) in self.seen or len(self.seen) > MOST:
            return self.seen.get(id(value), value)
        self.seen[id(value)] = value
        if kind is tuple:
            if len(value) <= LONGEST:
                new = tuple([self.replaced(v) for v in value])
                if any([a is not b for a, b in zip(new, value)]):
                    self.alive.append(value)
                    self.seen[id(value)] = new
            return self.seen[id(value)]
        if kind in DICTS:
            self.bind_items(value, list(dict.items(value)))
        elif kind in LISTS:
            self.bind_items(value, list(enumerate(value)))
        elif kind is functools.partial:
            self.bind_partial(value)
        elif issubclass(kind, (dict, list, tuple, set, frozenset, functools.partial)):
            self.look_into(value)
        else:
            found = attributes_of(value, self.module)
            self.bind_items(found, list(found.items()))
        return value

    def bind_items(self, holder: Any, items: list[tuple[Any, Any]]) -> None:
        """Replace what a dict or a list holds."""
        if len(items) > LONGEST:
            return
        news = [(place, old, self.replaced(old)) for place, old in items]
        news = [(place, old, new) for place, old, new in news if new is not old]
        if news and id(holder) in self.others.containers:
            self.leave(news[0][1])
            return
        for place, old, new in news:
            holder[place] = new
            self.changes.append((holder, place, old, new))

    def bind_partial(self, value: Any) -> None:
        """Replace the function of a partial function, and its arguments."""
        old = value.func, value.args, value.keywords
        words = {name: self.replaced(word) for name, word in value.keywords.items()}
        same = all([words[name] is word for name, word in value.keywords.items()])
        new = self.replaced(value.func), self.replaced(value.args), old[2] if same else words
        if all([a is b for a, b in zip(old, new)]):
            return
        if id(value) in self.others.containers:
            self.leave(value.func)
            return
        value.__setstate__((*new, vars(value)))
        self.changes.append((value, None, old, new))

    def bind_cells(self, func: FunctionType) -> None:
        """Replace what a function closes over, and its attributes."""
        for cell in func.__closure__ or ():
            try:
                old = cell.cell_contents
            except ValueError:  # empty
                continue
            new = self.replaced(old)
            if new is not old:
                cell.cell_contents = new
                self.changes.append((cell, None, old, new))
        if func.__dict__:
            self.bind_items(
                func.__dict__, [i for i in vars(func).items() if not is_of_python(i[0])]
            )

    def look_into(self, value: Any) -> None:
        """Note an object in a container that cannot be changed."""
        parts: list[Any] = []
        if isinstance(value, functools.partial):
            parts = [value.func, *value.args, *value.keywords.values()]
        else:  # the methods of a subclass might run code
            kinds: tuple[Any, ...] = (dict, list, tuple, set, frozenset)
            for kind in kinds:
                if isinstance(value, kind) and kind.__len__(value) <= LONGEST:
                    parts = list(dict.values(value) if kind is dict else kind.__iter__(value))
        for part in parts:
            if needs_twin(part):
                self.leave(part)

    def unbind(self) -> None:
        """Put back what was there, where nobody has changed it since."""
        for holder, place, old, new in reversed(self.changes):
            kind = type(holder)
            if kind is functools.partial:
                now = holder.func, holder.args, holder.keywords
                if all([a is b for a, b in zip(now, new)]):
                    holder.__setstate__((*old, vars(holder)))
            elif kind is CellType:
                if _content(holder) is new:
                    holder.cell_contents = old
            elif kind in DICTS:
                if holder.get(place) is new:
                    holder[place] = old
            else:  # items of a list may have moved
                at = [i for i, v in enumerate(holder) if v is new]
                for i in [place] if place in at else at[:1]:
                    holder[i] = old


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
