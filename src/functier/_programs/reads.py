"""Reads of objects from outside, and changes of them, as the code of a function tells them.

NOTE [the value that was read first]
    A program holds for what was there as it began. A function that changes it is not for a program:
    at the first such statement the trace ends, before it is made, and the function itself runs.
    A global that is set to a value for a while, and put back, is no change. What it was before is a
    fact, and what runs in between reads what the function has set. Where the trace ends early, the
    global is put back; and where code of the user's catches that, the function runs again.

NOTE [code that nobody sees into]
    A function in C, or of a library, may read all that it is given. So exact containers among its
    arguments are taken with all they contain, and arrays with their contents. If an object has a
    state that Python does not show, as a file has, the function itself runs.
"""

import collections
import functools
import itertools
import operator
import sys
import types
import warnings
import weakref
from collections.abc import Iterable
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.reached import Generators
from .._core.tensor import Tensor
from .._cpython.allowed import (
    CLOCKS,
    STATES,
    is_pure_builtin,
    is_pure_function,
    may_be_made,
    may_draw,
)
from .._cpython.events import MISSING
from .._cpython.functions import EMPTY, TELLING, contents, globals_of_teller, original
from .._cpython.homes import file_of, home_of, is_followed, is_of_user, namespace_of
from .._cpython.objects import Slot
from .captured import gives_view, is_view
from .guards import slot_of
from .objects import (
    BOXES,
    DISPATCHER,
    DRAWING,
    IMMUTABLE,
    MAPPINGS,
    changes,
    dict_of,
    holds_tensor,
    is_transform,
    reached_from,
    takes_tensors,
)
from .outside import MOST, Outside

ndarray = np.ndarray

SHALLOW = frozenset({len, iter, enumerate, zip, list, tuple, reversed, isinstance, issubclass, type,
                     callable, id, bool, print, repr, range, slice, dict, set, frozenset,
                     itertools.chain, itertools.product, functools.partial})  # fmt: skip
"""Builtins that look at a container, and not into its items."""

LOGS = frozenset("debug info warning warn error exception critical log".split())
PLAIN = frozenset({int, str, float, bool, type(None), bytes})
"""Types of keys that nobody changes."""

_WAYS = warnings.simplefilter, warnings.filterwarnings, warnings.catch_warnings
WARNINGS = frozenset(map(id, _WAYS))
"""Functions that make warnings errors, or entries of a list. A program drops warnings."""

FORM = frozenset("shape dtype ndim size itemsize nbytes strides T mT".split())
"""Attributes of an array that its form tells, or that give a view of it."""

ASK_FORM = frozenset(map(id, (
    len, isinstance, callable, np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj,
    np.zeros_like, np.ones_like, np.empty_like,
)))  # fmt: skip
"""Functions that ask for no more of an array."""

SEES = frozenset({np.ufunc, DISPATCHER, BuiltinFunctionType})
"""Kinds of functions that see of an array what it shows; others may make it show more."""


def is_seeded(callee: Any, given: tuple) -> bool:
    """Return whether a call makes a `RandomState` from something."""
    kind = getattr(sys.modules.get("numpy.random"), "RandomState", None)
    return callee is kind and any([x is not None for x in given])


class Reads(Outside):
    """The events of code that tells what it reads: see `observed`."""

    def attribute(self, owner: Any, name: str) -> None:
        kind = type(owner)
        if kind is ModuleType or isinstance(owner, ModuleType):
            if id(owner) in self.outer:
                lazy = "__mirror__" in vars(owner) or home_of(file_of(owner)) == "library"
                if lazy and name not in vars(owner):
                    getattr(owner, name, None)  # which may load it
                self.entry(vars(owner), name, f"{owner.__name__}.{name}")
                if kind is ModuleType:  # else it may hash in another way
                    self.known.add((owner, name))
            return
        if kind is ndarray:
            if name in ("base", "flags"):
                self.identity(owner)
                self.bring(owner.base) if name == "base" else None
            elif name not in FORM and not gives_view(owner, name):
                self.array(owner, callable(getattr(ndarray, name, None)))
            return
        if id(owner) not in self.outer:
            if id(kind) in self.outer and is_of_user(kind):
                self.open_class(kind)
                self.take(owner, self.lookup(kind, name))
            elif kind is super:
                self.super_attribute(owner.__thisclass__, owner.__self__, name)
            return
        if isinstance(owner, type):
            self.class_attribute(owner, name)
        elif kind is FunctionType:
            if name in TELLING:
                self.enter(owner, "all")
                self.bring(owner.__defaults__)
                self.bring(owner.__kwdefaults__)
                self.bring(owner.__closure__)
            else:
                self.entry(vars(owner), name, f"{owner.__qualname__}.{name}")
        elif kind is MethodType:
            self.bring(owner.__self__)
            self.bring(owner.__func__)
            self.attribute(owner.__func__, name)
        elif kind is functools.partial:
            self.partial(owner)
            self.whole_dict(owner, vars(owner))
        elif kind in BOXES:
            self.contents(owner)
        elif is_of_user(kind) or kind is types.SimpleNamespace:
            self.shown(owner)
            self.instance_attribute(owner, name)
        else:
            self.state(owner)
            if Generators.have(owner) and not callable(getattr(owner, name, None)):
                self.unwatched(f"it reads {name} of a generator of random numbers")

    def instance_attribute(self, x: Any, name: str) -> None:
        kind = type(x)
        self.fact("type", x, "", kind, f"the class of a {kind.__name__}")
        self.open_class(kind)
        found = self.lookup(kind, name)
        if kind.__getattribute__ is not object.__getattribute__:
            self.lookup(kind, "__getattribute__")
        own = dict_of(x)
        if name == "__dict__":
            self.bring(own)
            return self.whole_dict(x, own)
        if isinstance(found, Slot):
            self.fact("slot", x, found, slot_of(found, x), f"{kind.__name__}.{name}")
            return None
        if found is not EMPTY and hasattr(type(found), "__set__"):
            return self.take(x, found)
        if own is not None:
            value = dict.get(own, name, EMPTY)
            self.fact("attribute", x, name, value, f"{name} of a {kind.__name__}")
            if value is not EMPTY:
                return None
        if found is EMPTY:
            self.lookup(kind, "__getattr__")
            if not is_of_user(kind.__mro__[0]):
                self.state(x)
        return self.take(x, found)

    def class_attribute(self, owner: type, name: str) -> None:
        meta = type(owner)
        if is_of_user(meta):
            self.open_class(meta)
            self.lookup(meta, name)
        if is_of_user(owner):
            self.open_class(owner)
            self.take(owner, self.lookup(owner, name))

    def super_attribute(self, kind: type, owner: Any, name: str) -> None:
        of = owner if isinstance(owner, type) else type(owner)
        self.open_class(of)
        self.take(owner, self.lookup(of, name, kind))

    def cell(self, cell: CellType) -> None:
        if id(cell) in self.outer:
            self.fact("cell", cell, "", contents(cell), "a variable that the function closes over")
            self.known.add(id(cell))

    def key(self, key: Any) -> None:
        """Note the contents of an index, or of a key, unless it is a plain number or text."""
        for x in (key.start, key.stop, key.step) if type(key) is slice else (key,):
            if type(x) in (list, tuple, dict, set, ndarray) or id(x) in self.outer:
                self.deep(x)

    def item(self, owner: Any, key: Any) -> tuple | None:
        kind = type(owner)
        if kind is ndarray:
            if self.level.samples.grows(key):  # the elements of all steps of a loop
                return self.level.whole_array(owner), key
            if self.moves(owner):
                owner = self.lifted(owner)
                if type(owner) is not ndarray:
                    return owner, key
            if self.those_of(owner) and not is_view(owner, key):
                self.selected(owner, key)
            return None
        if id(owner) not in self.outer:
            return None
        if kind in MAPPINGS:
            if type(key) in (str, int, bytes, bool, type(None), float):
                if kind is not collections.defaultdict or key in owner:
                    words = f"the item {key!r} of a {kind.__name__}"
                    self.fact("entry", owner, key, dict.get(owner, key, EMPTY), words)
                    return None
                self.unwatched("it puts an item into a defaultdict")
            self.contents(owner)
        elif kind is tuple:
            self.contents(owner)
        elif kind is list and type(key) is int and -len(owner) <= key < len(owner):
            self.fact("index", owner, key, owner[key], f"the item {key} of a list")
        else:
            self.contents(owner)
        return None

    truth = Outside.contents

    def same(self, a: Any, b: Any) -> None:
        """Look at ``a is b``: a tensor of the trace is never the array that it stands for."""
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Tensor) and x is not y and isinstance(y, (ndarray, Tensor)):
                self.unwatched("it asks if an array is another one")
            if type(x) is type(y) is ndarray:
                self.identity(x)

    def operands(self, *values: Any) -> tuple:
        if any([isinstance(x, Tensor) or self.moves(x) for x in values]):
            values = tuple(map(self.lifted, values))
        for x in values:
            if type(x) is ndarray or id(x) in self.outer:
                self.deep(x)
        return values

    def lifted(self, x: Any, read: bool = False) -> Any:
        """Return a tensor of the trace for an array of floats from outside, also in a new box.

        `read`: a transform takes the arrays out of boxes from outside, and makes boxes of its own.
        """
        kind = type(x)
        if not issubclass(AMBIENT.get(), self.level.cls):  # in a step with plain values
            return x
        if kind is ndarray and self.those_of(x):
            found = self.level.lift(x)
            return x if found is None else found
        outside = id(x) in self.outer
        if kind in (list, tuple, dict) and (read or not outside) and len(x) <= MOST:
            if outside and kind is not tuple:
                keys = tuple(x if kind is dict else range(len(x)))
                self.fact("keys", x, "", keys, f"which items a {kind.__name__} has")
                for key in keys:
                    self.item(x, key)
            items = x.values() if kind is dict else x
            found = [self.lifted(y, read) for y in items]
            if not all(map(operator.is_, found, items)):
                return dict(zip(x, found)) if kind is dict else kind(found)
        return x

    def served(self, values: Iterable) -> bool:
        """Tell whether the level of the trace takes part in an operation of some values itself."""
        return all([type(x) is self.level.cls for x in values if isinstance(x, Tensor)])

    def called(self, callee: Any, args: Any, kwargs: Any) -> tuple:
        if type(args) is tuple and type(kwargs) is dict and takes_tensors(callee):
            given = [callee, args, *kwargs.values()]
            if holds_tensor(given) or (self.inputs and any(map(self.moves, reached_from(given)))):
                read = is_transform(callee)
                args = tuple([self.lifted(x, read) for x in args])
                kwargs = {name: self.lifted(x, read) for name, x in kwargs.items()}
        try:
            self.calls(callee, args, kwargs)
        except BaseException:
            if getattr(callee, "__name__", "") == "__exit__":  # what was entered has to be left
                callee(*args, **kwargs)
            raise
        return args, kwargs

    def calls(self, callee: Any, args: Any, kwargs: Any) -> None:
        """Look at a call."""
        kind = type(callee)
        given = (*args, *kwargs.values()) if kwargs else args
        self.seeded = is_seeded(callee, given)
        if id(callee) in WARNINGS and given and given[0] not in ("ignore", False):
            self.unwatched("it asks for warnings, as errors or in a list")
        for x in given:
            if callable(x):
                if isinstance(x, BuiltinFunctionType) and not is_pure_builtin(x):
                    self.asks(x)
                self.call_later(x)
            elif type(x) is str and x in CLOCKS:
                self.unwatched(f"it gives {x!r} to a function that nobody sees into")
            elif isinstance(x, ModuleType):
                self.module(x)
        if kind is FunctionType:
            self.enter(callee)
            if not is_followed(original(callee)):
                if not is_pure_function(callee):
                    self.asks(callee)
                self.opaque(callee, given, shallow=False)
        elif kind is MethodType:
            if callee.__name__ in LOGS and type(callee.__self__).__module__ == "logging":
                return self.tells("logs")
            if id(callee) in self.outer:
                self.bring(callee.__self__)
                self.bring(callee.__func__)
            self.calls(callee.__func__, (callee.__self__, *args), kwargs)
        elif kind is functools.partial:
            self.partial(callee)
            self.calls(callee.func, (*callee.args, *args), callee.keywords | (kwargs or {}))
        elif isinstance(callee, type):
            self.made(callee, given)
        elif hasattr(kind, "stands_for") and not is_of_user(kind):
            inner = getattr(callee, kind.stands_for)
            if id(callee) in self.outer or id(kind) in self.outer:
                self.attribute(callee, kind.stands_for)
                self.bring(inner)
            self.calls(inner, args, kwargs)
        elif isinstance(callee, IMMUTABLE) or kind.__module__.startswith("_cython"):
            self.call_later(callee)
            self.native(callee, given)
        elif id(callee) in self.outer or id(kind) in self.outer:
            self.instance(callee, given)

    def instance(self, callee: Any, given: tuple) -> None:
        """Look at the call of an object from outside."""
        if isinstance(callee, weakref.ref):
            return self.fact("referent", callee, "", callee(), "what a weak reference refers to")
        if is_of_user(type(callee)):
            return self.operator(callee)
        self.state(callee)
        self.opaque(callee, given, shallow=False)

    def takes_seed(self) -> bool:
        """Return whether a request to the system is the one of a generator that has a seed."""
        seeded, self.seeded = self.seeded, False
        return seeded

    def made(self, kind: Any, given: tuple) -> None:
        """Look at the call of a class."""
        if is_of_user(kind):
            self.open_class(kind)
            if id(kind) in self.outer:
                for name in ("__new__", "__init__"):
                    self.take(kind, self.lookup(kind, name))
            if is_of_user(type(kind)):
                self.operator(kind)
            return
        if kind in (type, super):
            for x in given:
                if type(x) is self.level.cls and kind is type:
                    self.unwatched("it asks for type(x), which may differ in later calls")
                if id(x) in self.outer and is_of_user(type(x)):
                    self.fact("type", x, "", type(x), f"the class of a {type(x).__name__}")
            return
        if not may_be_made(kind):
            self.unwatched(f"it makes a {kind.__module__}.{kind.__name__}, which may have a state")
        self.opaque(kind, given, kind in SHALLOW)

    def native(self, callee: Any, given: tuple) -> None:
        """Look at the call of a function in C."""
        if callee is print or callee is warnings.warn:
            self.tells("prints")
        name = getattr(callee, "__name__", "")
        owner = getattr(callee, "__self__", None)
        bound = owner is not None and not isinstance(owner, ModuleType)
        if bound:
            given = (owner, *given)
        if given and type(given[0]).__module__.startswith(DRAWING):
            self.tells("draws")
        if given and self.is_outside(given[0]) and changes(given[0], name):
            self.unwatched(f"it changes a {type(given[0]).__name__} by its method {name}")
        if callee is __import__ and given and type(given[0]) is str:
            return self.imports(given[0], given[3:4], *given[4:])
        if callee in (getattr, hasattr) or name == "__getattribute__":
            if len(given) > 1 and type(given[1]) is str:
                return self.attribute(given[0], given[1])
        elif callee in (setattr, delattr) or name in ("__setattr__", "__delattr__"):
            if given and id(given[0]) in self.outer:
                self.unwatched(f"it sets an attribute of an object, {type(given[0]).__name__}(...)")
        elif callee is vars and given:
            self.shown(given[0])
            self.bring(dict_of(given[0])) if id(given[0]) in self.outer else None
            return self.whole_dict(given[0], dict_of(given[0]))
        elif type(callee) is operator.attrgetter:
            for path in callee.__reduce__()[1]:
                x = given[0]
                for part in path.split("."):
                    self.attribute(x, part)
                    x = getattr(x, part)
            return
        elif callee in (globals, locals, vars):
            self.bring(globals_of_teller())
            return
        fresh = callee is id and given and not self.is_outside(given[0])
        if isinstance(callee, BuiltinFunctionType) and (fresh or not is_pure_builtin(callee)):
            self.asks(callee)
        if bound and type(owner) is ndarray and gives_view(owner, name):
            given = given[1:]
        elif bound:
            self.contents(owner)
        elif callee in (next,) and given and id(given[0]) in self.outer:
            self.state(given[0])
        self.opaque(callee, given, callee in SHALLOW)

    def asks(self, callee: Any) -> None:
        """End the trace for a call that nobody sees into, and that `allowed` does not have."""
        owner = getattr(callee, "__self__", None)
        module = getattr(owner, "__qualname__", None) or callee.__module__
        name = f"{module}.{callee.__name__}"
        self.unwatched(f"it calls {name}, which depends on more than its arguments")

    def opaque(self, callee: Any, given: Iterable, shallow: bool) -> None:
        """Note all that a call may read of its arguments."""
        if getattr(callee, "__name__", "") in STATES and type(callee) is DISPATCHER:
            self.asks(callee)
        self.draws = self.draws or may_draw(callee)
        given = tuple(given)
        tensors = any([isinstance(x, Tensor) for x in given])
        for x in given:
            if type(x) is ndarray:
                if id(callee) not in ASK_FORM and not (tensors and self.served(given)):
                    self.array(x, type(callee) in SEES)
            elif id(x) in self.outer:
                self.contents(x) if shallow else self.deep(x, type(callee) is FunctionType)
            elif type(x) in (list, tuple, dict) and not shallow:
                self.deep(x, type(callee) is FunctionType)

    def imports(self, name: str, fromlist: Any, level: int = 0) -> None:
        if level:
            package = globals_of_teller().get("__package__")
            if type(package) is not str:
                return self.unwatched("it imports from an unknown package")
            parts = package.split(".")
            name = ".".join([*parts[: len(parts) + 1 - level], *([name] if name else [])])
        elif sys.modules.get(name) is not None and not fromlist:
            name = name.partition(".")[0]
        if name in sys.modules:
            found = self.entry(sys.modules, name, f"the module {name}")
            if not isinstance(found, ModuleType):  # an object there, whose code the import runs
                self.attribute(found, "__spec__")
        return None

    def module(self, x: ModuleType) -> None:
        """Note a module that an import has found otherwise, such as one that was not loaded."""
        name = namespace_of(x).get("__name__")
        if id(x) not in self.outer and type(name) is str and sys.modules.get(name) is x:
            self.entry(sys.modules, name, f"the module {name}")

    # ---- effects ----

    def tells(self, what: str) -> None:
        """Look at an effect that a trace may have, where no other call follows it."""
        if self.strict:
            self.unwatched(f"it {what}")

    def is_outside(self, x: Any) -> bool:
        """Return whether an object is one from outside, or an array that shares memory with one."""
        return id(x) in self.outer or (type(x) is ndarray and bool(self.those_of(x)))

    def stores_attribute(self, owner: Any, name: str, value: Any = MISSING) -> None:
        if id(owner) in self.outer:
            what = f"it sets {name} of an object, {type(owner).__name__}(...)"
            if type(owner) is ModuleType:
                self.sets(vars(owner), name, value, what)
            else:
                self.unwatched(what)

    deletes_attribute = stores_attribute

    def stores_item(self, owner: Any, key: Any, value: Any = None) -> None:
        self.key(key)
        if isinstance(owner, (Tensor, ndarray)):
            self.key(value)
        if self.is_outside(owner):
            self.unwatched(f"it writes to a {type(owner).__name__} that was made outside")

    deletes_item = stores_item

    def stores_global(self, name: str, value: Any = MISSING) -> None:
        self.sets(globals_of_teller(), name, value, f"it assigns to the global {name}")

    def stores_cell(self, cell: CellType, value: Any = None) -> None:
        if id(cell) in self.outer:
            self.unwatched("it assigns to a variable of a function around it")
