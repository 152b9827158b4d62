"""The names of one adopted module: what they were, what they are bound to, and the way back."""

import contextlib
import inspect
import warnings
import weakref
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .._core.adopted import ADOPTED
from .._core.subclasses import OVER_TENSORS
from .._cpython.call_sites import stored_globals
from .._cpython.code import Code, loads_in, names_of, title_of_code
from .._cpython.first_calls import is_waiting, may_wait, stop_waiting, wait
from .._cpython.functions import code_now, give_code, read_code
from .._cpython.rewriting import Names, rewrite
from .caches import original_of_cached
from .compiled import LEFT, compiled_in, names_left
from .contents import Contents, Others, for_numpy, forwarding
from .meanings import ALIASES, FIRST, RANGE, is_known, meanings, new_code
from .search import RECORDS, is_of_python
from .twins import original_of, twin_of_object

DESCRIPTORS = (staticmethod, classmethod)


HOLDS = (
    "holds {}, which stays as it is; give it the twin by an assignment from outside, or do not "
    "call it with tensors"
)


class Bindings:
    """The twins in one module; `count` is the number of adoptions that it is in."""

    def __init__(self, module: ModuleType):
        self.module, self.count = module, 0
        self.namespace = vars(module)
        self.names: dict[str, tuple[Any, Any]] = {}  # before, and the twin
        self.had: set[str] = set()  # names that had a twin before
        self.aliases: set[str] = set()
        self.codes: dict[int, tuple[Code, Code]] = {}  # of a new one: itself, the old one
        self.made: dict[int, tuple[Code, Code | None]] = {}  # of an old one: itself, the new one
        self.looked_up: Names | None = None  # what the names of the module mean to its code
        self.functions: dict[int, weakref.ref] = {}
        self.defaults: list[tuple[weakref.ref, str, Any, Any]] = []
        self.attributes: list[tuple[weakref.ref, str, Any, Any]] = []
        self.contents = Contents(module, self._leave)
        self.where = ""  # the name of what is looked into
        self.kept: list[weakref.ref] = []  # subclasses of NumPy's array
        self.left: dict[str, str] = {}  # what keeps NumPy's object, and why
        self.told = 0  # how many of these a warning has named

    # ---- binding ----

    def bind(
        self, functions: Iterable[FunctionType], classes: Iterable[type], others: Others
    ) -> None:
        """Bind what is not bound yet; `others` are the modules that stay, and have their names."""
        functions, classes = list(functions), list(classes)
        self.contents.begin(others)
        unknown = names_left(self.namespace)
        if unknown:
            self.left[", ".join(unknown[:3])] = LEFT
        else:
            ADOPTED.add(id(self.namespace))
            RECORDS[id(self.namespace)] = self
            self._rewrite(functions)
            for func in compiled_in(self.namespace):
                self.take_floats(func)
            self._bind_names()
            for func in functions:
                self.where = func.__qualname__
                self._bind_defaults(func)
                self.contents.bind_cells(func)
            OVER_TENSORS.kept.add(np.matrix)
            for cls in classes:
                self._bind_bases(cls)
                self._bind_attributes(cls)
                if issubclass(cls, np.ndarray):
                    OVER_TENSORS.kept.add(cls)
                    self.kept.append(weakref.ref(cls))

    def warn(self) -> None:
        """Warn of what stays as it is, unless a warning has named it."""
        news, self.told = list(self.left.items())[self.told :], len(self.left)
        if news:
            warnings.warn(
                f"functier.adopt: in {self.module.__name__}, "
                + "; ".join(f"{name} {why}" for name, why in news),
                UserWarning,
                stacklevel=5,
            )

    def _bind_names(self) -> None:
        for name, value in list(self.namespace.items()):
            if is_of_python(name):
                continue
            twin = twin_of_object(value)
            twin = forwarding(value, self.module) if twin is None else twin
            if twin is not None:
                self.names[name] = value, twin
                self.namespace[name] = twin
            elif original_of_cached(value) is not None:  # imported from a module with its twin
                self.names.setdefault(name, (original_of_cached(value), value))
            elif name not in self.names and original_of(value) is not None:
                self.had.add(name)
            else:
                self._bind_inside(name, value)

    def _bind_inside(self, name: str, value: Any) -> None:
        """Bind what a container holds, or an object that forwards to NumPy."""
        self.where = name
        new = self.contents.replaced(value)
        if new is not value:  # a tuple
            self.names[name] = value, new
            self.namespace[name] = new

    def _leave(self, held: Any) -> None:
        """Note an object in a container that cannot be changed."""
        self.left.setdefault(self.where, HOLDS.format(_name_of(held)))

    def _rewrite(self, functions: list[FunctionType]) -> None:
        """Have functions run other code: that is made at the first call, if it can be."""
        fresh = [f for f in functions if id(code_now(f)) not in self.codes]
        self.looked_up = None  # other functions may assign other names
        for func in fresh:
            code = code_now(func)
            self.made.setdefault(id(code), (code, None))
        for func in fresh:
            code = code_now(func)
            made = self.made[id(code)][1]
            if made is None and may_wait(code) and not is_known(code):
                made = wait(code, FIRST, self.code_for)
                self.made[id(code)] = code, made
                self.codes[id(made)] = made, code
                self._note_aliases({FIRST})
            give_code(func, made or self.code_for(code))
            self.functions[id(func)] = weakref.ref(func)

    def code_for(self, code: Code) -> Code:
        """Return the code that runs instead of another one; give it to all who wait for it."""
        waiting = self.made[id(code)][1]
        if waiting is not None and not is_waiting(waiting):
            return waiting
        try:
            if self.looked_up is None:
                self.looked_up = meanings(self.namespace, [old for old, _ in self.made.values()])
            made = new_code(code, self.looked_up)
        except NotImplementedError as error:
            self.left[f"the function {title_of_code(code)}"] = (
                f"has code that cannot be changed ({error}), so its calls of float, int, "
                f"max and similar functions still go to the builtins"
            )
            made = code
        self._note_code(code, made)
        self.made[id(code)] = code, made
        for func in [f() for f in list(self.functions.values())] if waiting else ():
            if func is not None and code_now(func) is waiting:
                give_code(func, made)
        return made

    def take_floats(self, func: FunctionType) -> None:
        """Have a function that Numba compiles call a `range` that takes floats."""
        code = read_code(func)
        names = Names(
            self.namespace, lambda value: RANGE if value is range else None,
            lambda *_: None, lambda _: None,
        )  # fmt: skip
        names.stored |= stored_globals(code)
        with contextlib.suppress(NotImplementedError):  # more names than there is room for
            new = rewrite(code, names)
            if new is not code:
                self._note_code(self.codes.get(id(code), (code, code))[1], new)
                give_code(func, new)
                self.functions[id(func)] = weakref.ref(func)

    def _note_code(self, code: Code, new: Code) -> None:
        """Note the pairs of code objects, those inside included, and the aliases they need."""
        for old, made in zip(loads_in(code), loads_in(new)):
            if made is not old:
                self.codes[id(made)] = made, old
                self._note_aliases(set(names_of(made)) & ALIASES.keys())

    def _note_aliases(self, names: set[str]) -> None:
        self.aliases |= names
        self.namespace.update({name: ALIASES[name] for name in names})

    def _bind_defaults(self, func: FunctionType) -> None:
        values = func.__defaults__
        new: Any = self.contents.replaced(values) if values else values
        if new is not values:
            func.__defaults__ = new
            self.defaults.append((weakref.ref(func), "__defaults__", values, new))
        words = func.__kwdefaults__ or {}
        news = {name: self.contents.replaced(value) for name, value in words.items()}
        if any([news[name] is not value for name, value in words.items()]):
            func.__kwdefaults__ = news
            self.defaults.append((weakref.ref(func), "__kwdefaults__", words, news))

    def _bind_bases(self, cls: type) -> None:
        """Have a class inherit from the twins of classes of SciPy's."""
        old = cls.__bases__
        new = tuple([_twin_of_base(cls, base) for base in old])
        if new != old:
            with contextlib.suppress(TypeError):  # of another layout
                cls.__bases__ = new
                self.defaults.append((weakref.ref(cls), "__bases__", old, cls.__bases__))

    def _bind_attributes(self, cls: type) -> None:
        for name, value in list(vars(cls).items()):
            wrapped = type(value) in DESCRIPTORS
            inner = value.__func__ if wrapped else value
            self.where = f"{cls.__qualname__}.{name}"
            twin = twin_of_object(inner)
            if name == "__array__" and type(value) is FunctionType:
                twin = for_numpy(value)
            if twin is None:
                if wrapped or is_of_python(name):
                    continue
                twin = self.contents.replaced(value)
                if twin is value:
                    continue
            new = type(value)(twin) if wrapped else twin
            if inner is value and callable(value) and not hasattr(type(value), "__get__"):
                new = staticmethod(twin)  # a C function does not become a method
            try:
                type.__setattr__(cls, name, new)
            except (AttributeError, TypeError) as error:
                self.left.setdefault(f"{cls.__qualname__}.{name}", f"cannot be bound ({error})")
                continue
            self.attributes.append((weakref.ref(cls), name, value, vars(cls)[name]))

    # ---- the way back ----

    def unbind(self, functions: Iterable[FunctionType]) -> None:
        """Undo what `bind` did, where nobody has changed it since; the aliases stay."""
        ADOPTED.discard(id(self.namespace))
        OVER_TENSORS.kept.difference_update([cls() for cls in self.kept])
        if not ADOPTED:
            OVER_TENSORS.kept.clear()
        rewritten = [found for func in self.functions.values() if (found := func()) is not None]
        for func in (*rewritten, *functions):  # the others are those that adopted code has made
            pair = self.codes.get(id(code_now(func)))
            if pair is not None:
                give_code(func, pair[1])
        stop_waiting(self.codes)
        for target, name, old, new in reversed(self.defaults):
            func = target()
            if func is not None and getattr(func, name) is new:
                setattr(func, name, old)
        for target, name, old, new in reversed(self.attributes):
            cls = target()
            if cls is not None and vars(cls).get(name) is new:
                type.__setattr__(cls, name, old)
        self.contents.unbind()
        for name, (old, new) in self.names.items():
            if self.namespace.get(name) is new:
                self.namespace[name] = old
        for name, value in list(self.namespace.items()):  # what a rewritten import has bound
            if name not in self.names and name not in self.had and not is_of_python(name):
                original = original_of(value)
                if original is not None:
                    self.namespace[name] = original
        RECORDS.pop(id(self.namespace), None)  # Numba read the names as they were until now

    def remove_aliases(self, running: set[int]) -> None:
        """Remove the aliases, unless one of the code objects with these numbers needs them."""
        if not running & self.codes.keys():
            for alias in self.aliases:
                self.namespace.pop(alias, None)

    def size(self) -> tuple[int, int]:
        """Return how many names are bound, and how many functions run other code."""
        changes = self.names, self.defaults, self.attributes, self.contents.changes
        names = sum(map(len, changes))
        return names, len([f for f in self.functions.values() if f() is not None])


def _twin_of_base(cls: type, base: type) -> type:
    """Return the twin of a class of SciPy's, unless a subclass changes what its methods call."""
    twin = twin_of_object(base) if base.__module__.startswith("scipy.") else None
    if not isinstance(twin, type) or not issubclass(twin, base):
        return base
    names = {name for kind in base.__mro__[:-1] for name in vars(kind)} - {"__init__", "__repr__"}
    for name in names:
        part, own = [inspect.getattr_static(kind, name, None) for kind in (cls, base)]
        if part is not own and (callable(part) or not is_of_python(name)):
            return base
    return twin


def _name_of(value: Any) -> str:
    module = getattr(value, "__module__", None) or type(value).__module__
    return f"{module}.{getattr(value, '__name__', type(value).__name__)}"
