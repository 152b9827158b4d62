"""Objects that were there before a trace, and facts of them that a program depends on.

NOTE [what was there before]
    An object is one from outside if it was found by a global name, in a cell or a default, or by
    a read of another one from outside. What the function makes by itself needs no check, since the
    same program makes the same.
"""

import functools
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .._core.tensor import Tensor
from .._cpython.allowed import hidden_in, is_foreign
from .._cpython.code import file_of_code
from .._cpython.collector import parts_of as held_by
from .._cpython.functions import EMPTY, contents, original, read_code
from .._cpython.homes import HOME, is_followed, is_of_library, is_of_user
from .._mutation.array import Array
from .arguments import node_of
from .captured import Captured
from .guards import (
    FORMS,
    Fact,
    function_facts,
    is_value,
    same,
    slot_of,
)
from .objects import (
    BOXES,
    CACHES,
    FIXED,
    IMMUTABLE,
    MAPPINGS,
    VIEWS,
    base_of,
    dict_of,
    functions_in,
    is_stream,
    parts_of,
    slots_in,
)

ndarray = np.ndarray
MOST = 10_000
"""The greatest number of items that are looked at in a container."""


class Unwatched(BaseException):
    """The function reads, or changes, what cannot be watched: it has to run itself."""


class Outside(Captured):
    """The objects from outside that a trace has met, and the facts that it has read.

    Parameters
    ----------
    prepare : function
        Makes the code of a function tell what it reads.
    keep : bool
        Whether the trace goes on where something cannot be watched.

    Attributes
    ----------
    outer : dict
        The objects, by their numbers.
    found : dict
        The facts, by their kind, owner and key.
    reason : str or None
        What cannot be watched, if there is something.
    dead : bool
        Whether the trace has been ended; the function may have caught that, and gone on.
    strict : bool
        Whether the trace ends before the function prints, logs, draws or sets a global, too.
    """

    def __init__(self, prepare: Callable, keep: bool = False):
        super().__init__()
        self.prepare, self.keep = prepare, keep
        self.outer: dict[int, Any] = {}
        self.found: dict[tuple, Fact] = {}
        self.known: set = set()  # what has been noted already: see `rewritten`
        self.own_cell: Any = None  # what was read last, and is not from outside
        self.own_array: Any = None
        self.classes: set[type] = set()
        self.open: dict[int, Any] = {}
        self.written: dict[tuple[int, str], tuple[dict, str, Any, str]] = {}
        self.states: dict[int, tuple[Any, Any]] = {}  # of generators, before the first draw
        self.reason: str | None = None
        self.dead = False
        self.strict = False
        self.fresh: set[int] = set()
        self.draws = False  # whether a call may have drawn from a generator of a module
        self.declared = 0  # calls under way of what the user has declared as an operation
        self.level: Any = None  # that of the trace
        self.roots: set[int] = set()  # functions that get the arguments of the compiled one
        self.generators: Any = None  # of NumPy's, which are looked at in the end
        self.seeded = False  # the last call makes one with a seed, and asks the system all the same

    def forget(self) -> None:
        """Let go of the objects: guards hold what they need."""
        self.outer.clear()
        self.found.clear()
        self.known.clear()
        self.classes.clear()
        self.open.clear()
        self.fresh.clear()
        self.memories.clear()
        self.picked.clear()
        self.states.clear()
        self.level = self.own_cell = self.own_array = None

    def unwatched(self, reason: str) -> None:
        """End the trace, or note why later calls cannot be sure."""
        self.reason = self.reason or reason
        if not self.keep:
            self.dead = True
            raise Unwatched(reason)

    def fact(self, kind: str, owner: Any, key: Any, value: Any, words: str) -> Any:
        """Note a fact unless it is known; its value is an object from outside."""
        fact = Fact(kind, owner, key, value, words)
        place = fact.place
        if place not in self.found:
            self.found[place] = fact
            if kind in FORMS and kind != "type":
                self.bring(value, True)
                if place in self.moving:
                    self.inputs.add(id(value))
        return value

    def bring(self, x: Any, read: bool = False) -> None:
        """Note an object that was there before; a fact reads it, or it is in another object."""
        if type(x) is ndarray and not read:
            self.fact("identity", x, "", None, f"which array {x.shape} it is")
        owner = x.__self__ if isinstance(x, BuiltinFunctionType) else x
        if self.generators is not None:
            self.generators.note(owner)  # before it draws
        if isinstance(x, np.void):
            self.outer[id(x)] = x
            return
        if id(x) in self.outer or isinstance(x, IMMUTABLE) or x is EMPTY:
            if not (type(x) not in (int, float, str) and is_of_user(type(x))):
                return
            if id(x) in self.outer:
                return
        if isinstance(x, Tensor) and type(x) is not Array:
            return
        self.outer[id(x)] = x
        self.own_cell = self.own_array = None
        kind = type(x)
        if kind is ndarray:
            self.form(x)
        elif isinstance(x, type):
            for each in x.__mro__:
                self.outer[id(each)] = each
        elif kind is CellType or kind is ModuleType or kind in BOXES:
            return
        else:
            self.bring(kind)

    def entry(self, space: dict, name: str, words: str) -> Any:
        """Note what a dict has for a key."""
        value = dict.get(space, name, EMPTY)
        return self.fact("entry", space, name, value, words)

    def sets(self, space: dict, name: str, value: Any, what: str) -> None:
        """Note a write to a global, which is no effect if the function puts back what was there."""
        place = id(space), name
        if self.strict:
            self.unwatched(what)
        if self.dead and place in self.written:
            return  # as in a finally block: it is taken back
        if not (is_value(value) or id(value) in self.outer):
            self.unwatched(what)  # it may hold a tensor, or be made anew in each call
        if place not in self.written:
            before = self.entry(space, name, f"the global {name}")
            if before is EMPTY:
                self.unwatched(what)
            self.written[place] = space, name, before, what

    def will_draw(self, bits: Any) -> None:
        """Note the state of a bit generator, as a trace that ends early takes its draws back."""
        self.states.setdefault(id(bits), (bits, bits.state))

    def take_back(self) -> None:
        """Undo the writes to globals, and the draws."""
        for space, name, before, _ in self.written.values():
            space[name] = before
        for bits, state in self.states.values():
            bits.state = state

    def settle(self) -> None:
        """Note a write to a global that has not been put back, and elements that were read."""
        self.pick()
        for space, name, before, what in self.written.values():
            if not same(space.get(name, EMPTY), before):
                self.reason = self.reason or what

    def given(self, before: Any, now: Any) -> None:
        """Note what a pytree among the arguments has besides its leaves.

        `now` is a copy of it, with tensors as leaves.
        """
        if now is before:
            self.generators.note(now)
            return self.bring(now)
        if isinstance(now, Tensor):
            return None
        if isinstance(now, dict):
            for key in now.keys() & before.keys():
                self.given(before[key], now[key])
        elif isinstance(now, (list, tuple)):
            for x, y in zip(before, now):
                self.given(x, y)
        else:
            self.bring(type(now))
            self.open_class(type(now))
            node, old = node_of(now), node_of(before)
            if node is not None and old is not None:
                return self.given(old.parts, node.parts)
            had = dict_of(before) or {}
            for name, x in (dict_of(now) or {}).items():
                self.given(had.get(name), x)
        return None

    def enter(self, func: Any, key: str = "") -> None:
        """Let a function tell what it reads; one from outside is a fact.

        Its key is "called" where all calls give it all arguments, and "all" where the function
        itself asks for defaults.
        """
        if type(func) is not FunctionType or file_of_code(original(func)).startswith(HOME):
            return
        if id(func) in self.outer:
            key = "called" if key == "" and id(func) in self.roots else key
            if ("function", id(func), (str, key)) not in self.found:
                code = original(func)
                facts = function_facts(func, code)
                self.fact("function", func, key, facts, f"the function {func.__qualname__}")
                if is_followed(code):
                    for x in (*(func.__closure__ or ()), *facts[1], *facts[3]):
                        self.bring(x)
        if is_followed(read_code(func)):
            self.prepare(func)

    def open_class(self, kind: type) -> None:
        """Let the functions of a class of the user's tell what they read."""
        if id(kind) in self.open:
            return
        self.open[id(kind)] = kind
        for each in kind.__mro__:
            if not is_of_user(each):
                continue
            for x in list(vars(each).values()):
                for func in functions_in(x):
                    self.call_later(func)

    def open_tree(self, x: Any) -> None:
        """Let the classes of a pytree's nodes tell what they read."""
        waiting: list[Any] = [x]
        seen: dict[int, Any] = {}
        while waiting and len(seen) < MOST:
            x = waiting.pop()
            if id(x) not in seen and not isinstance(x, (ndarray, Tensor, type, *IMMUTABLE)):
                seen[id(x)] = x
                if isinstance(x, (list, tuple)):
                    waiting += x
                elif isinstance(x, dict):
                    waiting += dict.values(x)
                elif is_of_user(type(x)):
                    self.open_class(type(x))
                    waiting += parts_of(x)

    def call_later(self, x: Any) -> None:
        """Prepare a function that other code may call."""
        if type(x) is FunctionType:
            self.enter(x)
        elif type(x) is MethodType:
            self.enter(x.__func__)
            self.open_class(x.__self__ if isinstance(x.__self__, type) else type(x.__self__))
        elif type(x) is np.ufunc:
            for inner in held_by(x):  # of numpy.frompyfunc
                self.bring(inner)
                self.call_later(inner)
        elif type(x) is functools.partial:
            self.partial(x)
            self.call_later(x.func)
        elif is_of_user(type(x)):
            self.open_class(type(x))
        elif is_of_library(type(x)) and id(x) not in self.open:
            self.open[id(x)] = x
            if id(x) not in self.outer:
                self.fresh.add(id(x))  # what it has was made in the trace, or is brought by itself
            self.bring(x)
            stands_for = getattr(type(x), "stands_for", None)
            if stands_for:
                self.call_later(getattr(x, stands_for))
            else:
                self.state(x)
        wrapped = getattr(x, "__closure__", None) if type(x) is FunctionType else None
        for cell in wrapped or ():
            inner = contents(cell)
            if callable(inner) and not is_followed(read_code(x)) and inner is not x:
                if id(x) in self.outer:
                    self.bring(inner)
                self.call_later(inner)

    def order(self, kind: type) -> None:
        if is_of_user(kind):
            self.fact("order", kind, "", kind.__mro__, f"the bases of {kind.__name__}")

    def lookup(self, kind: type, name: str, after: type | None = None) -> Any:
        """Return what a class has for a name, which is a fact for each class on the way.

        The way begins `after` one of the bases, as that of ``super()`` does.
        """
        self.order(kind)
        for each in kind.__mro__[kind.__mro__.index(after) + 1 if after else 0 :]:
            found = each.__dict__.get(name, EMPTY)
            if is_of_user(each):
                self.fact("of class", each, name, found, f"{each.__name__}.{name}")
            if found is not EMPTY:
                return found
        return EMPTY

    def operator(self, x: Any) -> None:
        """Note the class of an object that an operation asks by its methods."""
        kind = type(x)
        if not is_of_user(kind):
            return self.state(x)
        self.shown(x)
        if id(x) in self.outer:
            self.fact("type", x, "", kind, f"the class of a {kind.__name__}")
        self.order(kind)
        self.open_class(kind)
        for each in kind.__mro__:
            if is_of_user(each):
                words = f"the methods of {each.__name__}"
                self.fact("class", each, "", dict(each.__dict__), words)

    def state(self, x: Any) -> None:
        """End the trace for an object whose state Python does not show."""
        kind: Any = type(x)
        if isinstance(x, np.void):
            self.hides(kind)
        if isinstance(x, (*IMMUTABLE, FunctionType, MethodType, ModuleType, type, Tensor)):
            return
        if is_stream(x):
            return  # draws are looked for at the end
        inner = held_by(x) if kind in VIEWS else []
        if len(inner) == 1 and type(inner[0]) in MAPPINGS:
            self.bring(inner[0])
            return self.contents(inner[0])
        if is_of_library(kind) and not hidden_in(kind):
            return self.deep(x, True)
        self.hides(kind)

    def shown(self, x: Any) -> None:
        """End the trace for an object from outside that has more than Python shows."""
        kind: Any = type(x)
        if id(x) in self.outer and hidden_in(kind) and not isinstance(x, Tensor):
            if not (self.declared and is_foreign(kind)):
                self.hides(kind)

    def hides(self, kind: type) -> None:
        module = kind.__module__
        name = kind.__name__ if module == "builtins" else f"{module}.{kind.__name__}"
        self.unwatched(f"it uses a {name}, whose state cannot be watched")

    def slots(self, x: Any) -> None:
        for slot in slots_in(type(x)):
            words = f"{slot.__name__} of a {type(x).__name__}"
            self.fact("slot", x, slot, slot_of(slot, x), words)

    def whole_dict(self, x: Any, own: dict | None) -> None:
        if own is not None:
            caches = CACHES if any(map(is_of_library, type(x).__mro__)) else ()
            found = {name: value for name, value in own.items() if name not in caches}
            pairs = tuple(found), tuple(found.values()), caches
            self.fact("pairs", own, "", pairs, f"the attributes of a {type(x).__name__}")
            for value in found.values():
                self.bring(value)

    def take(self, x: Any, found: Any) -> None:
        """Look at what a class has for a name."""
        if found is EMPTY:
            return
        for func in functions_in(found):
            self.bring(func)
            self.enter(func)
        if is_of_user(type(found)):
            self.open_class(type(found))

    def contents(self, x: Any) -> None:
        """Note all items of a container; anything else is asked by its methods."""
        kind = type(x)
        if kind is ndarray:
            return self.array(x)
        if id(x) not in self.outer:
            return None
        if kind is Array:
            return self.unwatched("it reads an array of functier.numpy that was made outside")
        if isinstance(x, BOXES):
            self.box(x)
            if kind in BOXES:
                return None
        return self.operator(x)

    def box(self, x: Any) -> None:
        """Note all items of a container, or of an object that extends one."""
        kind = type(x)
        if (size := base_of(x).__len__(x)) > MOST:  # type: ignore[attr-defined]
            self.unwatched(f"it reads a {kind.__name__} of {size} items")
        if isinstance(x, dict):
            pairs = tuple(dict.keys(x)), tuple(dict.values(x)), ()
            self.fact("pairs", x, "", pairs, f"the items of a {kind.__name__}")
            items: Iterable = pairs[1]
        else:
            items = tuple(x) if kind in BOXES else tuple(base_of(x).__iter__(x))  # type: ignore[attr-defined]
            if not isinstance(x, FIXED):
                self.fact("items", x, "", items, f"the items of a {kind.__name__}")
        for each in items:
            self.bring(each)
        self.slots(x)  # such as the function of a defaultdict

    def partial(self, x: functools.partial) -> None:
        if id(x) not in self.outer:
            return
        self.fact("partial", x, "", (x.func, x.args, x.keywords), "what a partial function has")
        self.bring(x.func)
        self.bring(x.args)
        self.bring(x.keywords)
        self.contents(x.args)
        self.contents(x.keywords)

    def deep(self, x: Any, inside: bool = False) -> None:
        """Note what is in a container, and in the containers in it; or in objects as well."""
        waiting, seen = [x], {}
        while waiting:
            x = waiting.pop()
            if id(x) in seen:
                continue
            seen[id(x)] = x
            if len(seen) > MOST:
                return self.unwatched("it reads a container of too many items")
            if isinstance(x, FunctionType | MethodType):
                self.call_later(x)
                continue
            if isinstance(x, type) and inside:
                waiting += [f for y in x.__dict__.values() for f in functions_in(y)]
            if isinstance(x, type | ModuleType) or is_stream(x):
                continue
            stands_for = getattr(type(x), "stands_for", None)
            if stands_for is not None and is_of_library(type(x)):
                waiting.append(getattr(x, stands_for))
                continue
            if type(x) is ndarray:
                self.array(x, not inside)
            elif not (inside and is_of_library(type(x))):
                self.contents(x)
            elif id(x) in self.outer and isinstance(x, BOXES):
                self.box(x)
            if isinstance(x, BOXES):
                waiting += dict.values(x) if isinstance(x, dict) else x
            elif type(x) in VIEWS:
                waiting += held_by(x)
            if inside and id(x) in self.outer:
                self.whole_dict(x, dict_of(x))
                self.slots(x)
                for part in parts_of(x):
                    if id(x) not in self.fresh:
                        self.bring(part)
                    waiting.append(part)
        return None
