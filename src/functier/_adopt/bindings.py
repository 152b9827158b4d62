"""The names of one adopted module: what they were, what they are bound to, and the way back."""

import functools
import warnings
import weakref
from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .._core.adopted import GLOBALS
from .._core.subclasses import KEPT
from . import class_attribute
from .caches import original_of_cached
from .call_sites import Names, loads_in, rewrite, stored_globals
from .objects import attributes_of, forwarding
from .twins import (
    ALIASES,
    alias_of_call,
    alias_of_module,
    alias_of_number_call,
    alias_of_number_owner,
    alias_of_owner,
    alias_of_pattern,
    dispatches,
    original_of,
    twin_of,
    twin_of_object,
)

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
        self.codes: dict[int, tuple[CodeType, CodeType]] = {}  # of a new one: itself, the old one
        self.made: dict[int, tuple[CodeType, CodeType]] = {}  # of an old one: itself, the new one
        self.functions: dict[int, weakref.ref] = {}
        self.defaults: list[tuple[weakref.ref, str, Any, Any]] = []
        self.attributes: list[tuple[weakref.ref, str, Any, Any]] = []
        self.instances: list[tuple[dict, str, Any, Any]] = []
        self.kept: list[weakref.ref] = []  # subclasses of NumPy's array
        self.left: dict[str, str] = {}  # what keeps NumPy's object, and why

    # ---- binding ----

    def bind(self, functions: Iterable[FunctionType], classes: Iterable[type]) -> None:
        """Bind what is not bound yet; warn of what cannot be."""
        functions, classes = list(functions), list(classes)
        before = len(self.left)
        compiled = [name for name, value in self.namespace.items() if _is_of_numba(value)]
        if compiled:
            self.left[", ".join(compiled[:3])] = (
                "and others are compiled by Numba, whose functions take no tensors, so that the "
                "module stays as it is; import it without Numba (NUMBA_DISABLE_JIT=1 does for jit)"
            )
        else:
            GLOBALS.add(id(self.namespace))
            self._rewrite(functions)
            self._bind_names()
            for func in functions:
                self._bind_defaults(func)
            codes = [func.__code__ for func in functions]
            if class_attribute.asks_for_class(codes, [*self.namespace.values(), *classes]):
                class_attribute.install()
            for value in list(self.namespace.values()):
                self._bind_instance(value)
            KEPT.add(np.matrix)
            for cls in classes:
                self._bind_attributes(cls)
                if issubclass(cls, np.ndarray):
                    KEPT.add(cls)
                    self.kept.append(weakref.ref(cls))
        if len(self.left) > before:
            news = list(self.left.items())[before:]
            warnings.warn(
                f"functier.adopt: in {self.module.__name__}, "
                + "; ".join(f"{name} {why}" for name, why in news),
                UserWarning,
                stacklevel=5,
            )

    def _bind_names(self) -> None:
        for name, value in list(self.namespace.items()):
            if name[:2] == "__":
                continue
            twin = twin_of_object(value) or forwarding(value, self.module)
            if twin is not None:
                self.names[name] = value, twin
                self.namespace[name] = twin
            elif original_of_cached(value) is not None:  # imported from a module with its twin
                self.names.setdefault(name, (original_of_cached(value), value))
            elif name not in self.names and original_of(value) is not None:
                self.had.add(name)
            else:
                self._look_inside(name, value)

    def _look_inside(self, name: str, value: Any) -> None:
        """Note a container or a partial function with an object that needs a twin."""
        kind = type(value)  # isinstance would ask what a weak proxy refers to
        parts: Any = ()
        if issubclass(kind, dict):
            parts = dict.values(value)  # that of a subclass might run code
        elif kind in (list, tuple, set, frozenset):
            parts = value
        elif issubclass(kind, functools.partial):
            parts = (value.func, *value.args, *value.keywords.values())
        for part in parts if len(parts) < 1000 else ():
            if _needs_twin(part):
                self.left.setdefault(name, HOLDS.format(_name_of(part)))

    def _bind_instance(self, value: Any) -> None:
        """Bind what an object of the package keeps: one that forwards to NumPy, or has its name."""
        for name, old in list(attributes_of(value, self.module).items()):
            new = twin_of(old)
            if new is not None:
                vars(value)[name] = new
                self.instances.append((vars(value), name, old, new))

    def _rewrite(self, functions: list[FunctionType]) -> None:
        names, few = [
            Names(self.namespace, call, owner, alias_of_module, alias_of_pattern)
            for call, owner in (
                (alias_of_call, alias_of_owner), (alias_of_number_call, alias_of_number_owner),
            )
        ]  # fmt: skip
        fresh = [f for f in functions if id(f.__code__) not in self.codes]
        for func in fresh:
            names.stored |= stored_globals(func.__code__)
        few.stored = names.stored
        for func in fresh:
            code = func.__code__
            if id(code) not in self.made:
                try:
                    new = _rewritten(code, names, few)
                except NotImplementedError as error:
                    self.left[f"the function {func.__qualname__}"] = (
                        f"has code that cannot be changed ({error}), so that its calls of float, "
                        f"int, max and the like meet the builtins"
                    )
                    new = code
                self.made[id(code)] = code, new
                if new is not code:
                    self._note_code(code, new)
            new = self.made[id(code)][1]
            if new is not code:
                func.__code__ = new
                self.functions[id(func)] = weakref.ref(func)

    def _note_code(self, code: CodeType, new: CodeType) -> None:
        """Note the pairs of code objects, those inside included, and the aliases they need."""
        for old, made in zip(loads_in(code), loads_in(new)):
            if made is not old:
                self.codes[id(made)] = made, old
                for alias in set(made.co_names) & ALIASES.keys():
                    self.aliases.add(alias)
                    self.namespace[alias] = ALIASES[alias]

    def _bind_defaults(self, func: FunctionType) -> None:
        values = func.__defaults__
        if values and any([twin_of(v) is not None for v in values]):
            new: Any = tuple([v if twin_of(v) is None else twin_of(v) for v in values])
            func.__defaults__ = new
            self.defaults.append((weakref.ref(func), "__defaults__", values, new))
        words = func.__kwdefaults__
        if words and any([twin_of(v) is not None for v in words.values()]):
            new = {k: v if twin_of(v) is None else twin_of(v) for k, v in words.items()}
            func.__kwdefaults__ = new
            self.defaults.append((weakref.ref(func), "__kwdefaults__", words, new))
        for value in (*(values or ()), *(words or {}).values()):
            if isinstance(value, functools.partial) and _needs_twin(value.func):
                place = f"a default argument of {func.__qualname__}"
                self.left.setdefault(place, HOLDS.format(_name_of(value.func)))

    def _bind_attributes(self, cls: type) -> None:
        for name, value in list(vars(cls).items()):
            wrapped = type(value) in DESCRIPTORS
            inner = value.__func__ if wrapped else value
            twin = twin_of_object(inner)
            if twin is None:
                continue
            new = type(value)(twin) if wrapped else twin
            if inner is value and not hasattr(type(value), "__get__"):
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
        GLOBALS.discard(id(self.namespace))
        KEPT.difference_update([cls() for cls in self.kept])
        if not GLOBALS:
            KEPT.clear()
            class_attribute.remove()
        for func in functions:  # also those that adopted code has made
            pair = self.codes.get(id(func.__code__))
            if pair is not None:
                func.__code__ = pair[1]
        for target, name, old, new in reversed(self.defaults):
            func = target()
            if func is not None and getattr(func, name) is new:
                setattr(func, name, old)
        for target, name, old, new in reversed(self.attributes):
            cls = target()
            if cls is not None and vars(cls).get(name) is new:
                type.__setattr__(cls, name, old)
        for names, name, old, new in self.instances:
            if names.get(name) is new:
                names[name] = old
        for name, (old, new) in self.names.items():
            if self.namespace.get(name) is new:
                self.namespace[name] = old
        for name, value in list(self.namespace.items()):  # what a rewritten import has bound
            if name not in self.names and name not in self.had and name[:2] != "__":
                original = original_of(value)
                if original is not None:
                    self.namespace[name] = original

    def remove_aliases(self, running: set[int]) -> None:
        """Remove the aliases, unless one of the code objects with these numbers needs them."""
        if not running & self.codes.keys():
            for alias in self.aliases:
                self.namespace.pop(alias, None)

    def size(self) -> tuple[int, int]:
        """Return how many names and how many functions are bound or rewritten."""
        names = sum(map(len, (self.names, self.defaults, self.attributes, self.instances)))
        return names, len([f for f in self.functions.values() if f() is not None])


def _rewritten(code: CodeType, names: Names, few: Names) -> CodeType:
    """Return code that looks up other names; only those of `few` where not all have room."""
    try:
        return rewrite(code, names)
    except NotImplementedError:
        return rewrite(code, few)


def _needs_twin(value: Any) -> bool:
    """Tell if an object does not take tensors itself, but its twin does."""
    if twin_of(value) is None or isinstance(value, ModuleType) or not callable(value):
        return False
    return not dispatches(value)


def _is_of_numba(value: Any) -> bool:
    """Tell if an object is a function that Numba compiles: from the source and the globals."""
    return type(value).__module__.partition(".")[0] == "numba" and callable(value)


def _name_of(value: Any) -> str:
    module = getattr(value, "__module__", None) or type(value).__module__
    return f"{module}.{getattr(value, '__name__', type(value).__name__)}"
