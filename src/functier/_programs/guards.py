"""Facts that a program depends on besides its arguments, and the function that checks them all.

NOTE [guards run no code of the user's]
    A check looks into the dicts of instances, modules and classes, into exact containers and
    cells. It compares numbers and texts of Python's own types by value, and anything else by
    identity.

NOTE [what is held]
    An object of the user's is held weakly where Python allows it. Where it has gone, the program
    no longer holds. Of the contents of a large array a number is kept.

NOTE [arrays that are read again]
    An array that was found by a name, an attribute or an item is the one that is there now, if it
    has the form of before. All ways to it have to give one again. It is the same array as before
    where something besides its form counts: its contents, or which array it is.
"""

import types
import zlib
from collections.abc import Callable, Iterable
from operator import is_
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from .._cpython.code import Code, takes_keywords, takes_places
from .._cpython.functions import EMPTY, HAS_CODE, contents, original, read_code, tells
from .._cpython.objects import has_plain_dict
from .graph import QUIET, exact

ndarray = np.ndarray
VALUES = frozenset({int, float, complex, str, bytes, bool, type(None)})
STRONG = types.MethodType, types.ModuleType, types.BuiltinFunctionType, np.ufunc
"""Kinds of objects that are made anew at each look-up, or live as long as their module."""

plain = object.__getattribute__


class Fact(NamedTuple):
    """Something that was read, and what it was.

    Attributes
    ----------
    kind : str
        The way in which it was read, a key of `FORMS` or `TESTS`; or "identity" of an array that
        no other one stands for.
    owner, key, value : object
        What it was read from, by which name or index, and what there was; `EMPTY` is nothing.
    words : str
        The same for people.
    """

    kind: str
    owner: Any
    key: Any
    value: Any
    words: str

    @property
    def place(self) -> tuple:
        """The kind, the object and the key, which tell it from other facts."""
        key = self.key
        return self.kind, id(self.owner), (type(key), key) if is_value(key) else id(key)


def is_value(x: Any) -> bool:
    """Return whether an object is compared by its value."""
    kind = type(x)
    return kind in VALUES or (
        issubclass(kind, np.generic) and kind.__module__ == "numpy" and kind is not np.void
    )


def same(now: Any, before: Any) -> bool:
    """Return whether an object is the one of before, or a number or text of its value."""
    if now is before:
        return True
    if type(now) is not type(before):
        return False
    if is_value(before):
        return bool(exact(now) == exact(before))
    if type(before) is tuple and len(now) == len(before):
        return all(map(same, now, before))
    return False


def same_items(now: Iterable, before: tuple) -> bool:
    """Return whether the items of a container are those of before."""
    found = tuple(now)
    return len(found) == len(before) and (
        all(map(is_, found, before)) or all(map(same, found, before))
    )


def same_pairs(now: dict, before: tuple) -> bool:
    """Tell if a dict has the keys of before in their order, and their values, but for some keys."""
    keys, values, left_out = before
    if left_out:
        now = {key: value for key, value in now.items() if key not in left_out}
    return same_items(dict.keys(now), keys) and same_items(dict.values(now), values)


def digest(x: ndarray) -> int:
    """Return a number that changes where the contents of an array do."""
    # Along an axis that is broadcast all is alike, and would be copied.
    x = x[tuple([slice(None if step else 1) for step in x.strides])]
    return zlib.crc32(x.tobytes() if not x.flags.c_contiguous else x.data.cast("B"))


def form_of_array(x: ndarray) -> tuple:
    return x.shape, x.dtype, x.strides, x.flags.writeable


def contents_of_array(x: ndarray) -> Any:
    """Return what an array has, in little memory."""
    if x.dtype.hasobject:
        return tuple(x.flat)
    return x.tobytes() if x.nbytes <= 256 else digest(x)


def same_contents(x: ndarray, way: Any, before: Any) -> bool:
    """Return whether an array has the contents of before, or a part of it that functions give."""
    for func, part in way:
        x = func(x, part)
    now = contents_of_array(x)
    return same_items(now, before) if type(before) is tuple else bool(now == before)


def slot_of(descriptor: Any, x: Any) -> Any:
    """Return what an object has in a slot."""
    try:
        return descriptor.__get__(x, type(x))
    except AttributeError:
        return EMPTY


def function_facts(func: types.FunctionType, code: Code | None = None) -> tuple:
    """Return what a call of a function depends on besides its names."""
    given = func.__kwdefaults__ or {}
    return code or read_code(func), func.__defaults__ or (), tuple(given), tuple(given.values())


def same_function(func: types.FunctionType, before: tuple) -> bool:
    code, defaults, names, values = before
    given = func.__kwdefaults__
    return (
        same_code(func, code)
        and same_items(func.__defaults__ or (), defaults)
        and ((not given and not names) or same_items(given or (), names))
        and (not values or same_items((given or {}).values(), values))
    )


def same_code(func: types.FunctionType, code: Code) -> bool:
    own = read_code(func)
    return own is code or (tells(own) and original(func) is code)


def is_strict() -> bool:
    """Return whether the settings of `numpy.errstate` ask for more than warnings."""
    return not {*np.geterr().values()} <= QUIET


FORMS: dict[str, str] = {
    "entry": "{o}[{k}]",
    "attribute": "{d}[{k}]",
    "of class": "{d}[{k}]",
    "type": "type({o})",
    "order": "{o}.__mro__",
    "index": "{o}[{k}]",
    "slot": "_slot_of({k}, {o})",
    "cell": "_contents({o})",
    "referent": "{o}()",
}
"""The source that reads a fact: of `o`, the owner; of `d`, its dict; by `k`, the key."""

TESTS: dict[str, str] = {
    "items": "_same_items({o}, {v})",
    "pairs": "_same_pairs({o}, {v})",
    "keys": "_same_items({o} if type({o}) is dict else range(len({o})), {v})",
    "class": "_same_pairs({d}.copy(), {v})",
    "function": "_same_function({o}, {v})",
    "partial": "_same_items(({o}.func, {o}.args, {o}.keywords), {v})",
    "form": "({o}.shape, {o}.dtype, {o}.strides, {o}.flags.writeable) == {v}",
    "contents": "_same_contents({o}, {k}, {v})",
}
"""Facts that are checked by a call."""


class Writer:
    """The source of the check of some facts, whose names begin with an underscore."""

    def __init__(self, facts: list[Fact], kept: Iterable[Any], arrays: Iterable[ndarray]):
        self.strong = {id(x) for x in kept}
        self.fixed = {id(fact.owner) for fact in facts if fact.kind in ("contents", "identity")}
        self.space: dict[str, Any] = {
            "same": same, "same_items": same_items, "same_pairs": same_pairs, "contents": contents,
            "same_function": same_function, "same_contents": same_contents, "slot_of": slot_of,
            "plain": plain, "same_code": same_code, "ndarray": ndarray,
        }  # fmt: skip
        self.space = {f"_{name}": x for name, x in self.space.items()}
        self.names: dict[int, str] = {}
        self.dicts: dict[int, str] = {}
        self.lines: list[tuple[int, str]] = []
        self.inputs, self.given = {id(x) for x in arrays}, set[str]()  # of the program, their names
        self.forms: set[str] = set()  # lines that look at the form of such an array
        self.absent: dict[str, list[Any]] = {}
        for i, fact in enumerate(facts):
            self.write(i, fact)
        self.arrays = [self.names[id(x)] for x in arrays]

    def write(self, i: int, fact: Fact) -> None:
        kind, owner, key, value, _ = fact
        if kind == "identity":
            return
        o = self.held(i, owner)
        d = self.dict_of(i, owner, o) if kind in ("attribute", "of class", "class") else ""
        if kind == "function" and not value[2]:
            self.unless(i, self.plain_function(i, o, key, value))
            return
        if kind in TESTS:
            if kind == "class":
                value = tuple(value), tuple(value.values()), ()
            self.space[f"_v{i}"], self.space[f"_k{i}"] = value, key
            line = self.unless(i, TESTS[kind].format(o=o, d=d, k=f"_k{i}", v=f"_v{i}"))
            if kind == "form" and o in self.given:
                self.forms.add(line)
            return
        if value is EMPTY and kind in ("entry", "attribute", "of class"):
            where = d or o
            known = self.absent.get(where)
            if known is None:
                known = self.absent[where] = []
                name = f"_n{i}"
                self.space[name] = known
                self.unless(i, f"{where}.keys().isdisjoint({name})")
            known.append(key)
            return
        k = repr(key) if type(key) in (int, str) else f"_k{i}"
        if k == f"_k{i}":
            self.space[k] = key
        now = FORMS[kind].format(o=o, d=d, k=k)
        if type(owner) is ndarray and owner.dtype.kind != "c" and value == value != 0:
            # Its form tells the type, and no zero has a sign.
            self.space[f"_v{i}"] = value
            self.unless(i, f"{now} == _v{i}")
            return
        self.lines.append((i, f"if {self.differs(i, now, value)}: return False"))

    def unless(self, i: int, test: str) -> str:
        """Add a line that ends the check where a test fails."""
        line = f"if not ({test}): return False"
        self.lines.append((i, line))
        return line

    def plain_function(self, i: int, o: str, key: str, value: tuple) -> str:
        """Return the test for a function without defaults by keyword.

        Defaults matter for some calls alone.
        """
        code, defaults = value[:2]
        self.space[f"_v{i}"], self.space[f"_c{i}"] = value, code
        if key == "called" and not defaults:
            return f"{HAS_CODE.format(o, f'_c{i}')} or _same_code({o}, _c{i})"
        parts = [HAS_CODE.format(o, f"_c{i}")]
        if defaults:
            self.space[f"_f{i}"] = defaults
            parts.append(f"{o}.__defaults__ is _f{i}")
        elif key == "all" or takes_places(code):
            parts.append(f"{o}.__defaults__ is None")
        parts += [f"{o}.__kwdefaults__ is None"] * (key == "all" or takes_keywords(code))
        return f"{' and '.join(parts)} or _same_function({o}, _v{i})"

    def differs(self, i: int, now: str, value: Any) -> str:
        """Return the source of the question whether a value is another one."""
        if type(value) is ndarray and id(value) not in self.fixed and id(value) not in self.names:
            name = self.names[id(value)] = f"_y{i}"
            if id(value) in self.inputs:
                self.given.add(name)
                self.forms.add(f"if type({name}) is not _ndarray: return False")
            self.lines.append((i, f"{name} = {now}"))
            return f"type({name}) is not _ndarray"
        if is_value(value) or type(value) is tuple:
            self.space[f"_v{i}"] = value
            if value is None or type(value) is bool:
                return f"{now} is not {value}"
            return f"(_n := {now}) is not _v{i} and not _same(_n, _v{i})"
        if weak(value) is None:
            self.space[f"_v{i}"] = value
            return f"{now} is not _v{i}"
        name = self.held(i, value)
        return f"{now} is not {name}"

    def held(self, i: int, x: Any) -> str:
        """Return the name of an object in the function."""
        known = self.names.get(id(x))
        if known is not None:
            return known
        name = self.names[id(x)] = f"_x{len(self.names)}"
        link = None if id(x) in self.strong else weak(x)
        if link is None:
            self.space[name] = x
        else:
            self.space[f"_w{name}"] = link
            self.lines.append((i, f"if ({name} := _w{name}()) is None: return False"))
        return name

    def dict_of(self, i: int, x: Any, name: str) -> str:
        """Return the name of the dict of an object."""
        known = self.dicts.get(id(x))
        if known is not None:
            return known
        found = self.dicts[id(x)] = f"_d{name}"
        if isinstance(x, type):
            self.space[found] = x.__dict__  # the function of the class, whatever happens to it
        else:
            own = type(x).__getattribute__ is object.__getattribute__ and has_plain_dict(type(x))
            get = f"{name}.__dict__" if own else f"_plain({name}, '__dict__')"
            self.lines.append((i, f"{found} = {get}"))
        return found

    def function(self, failing: bool = False) -> Callable:
        """Return the check; or one that returns which fact has failed."""
        body = "".join([
            f"        {line.replace('return False', f'return {i}') if failing else line}\n"
            for i, line in self.lines
        ])  # fmt: skip
        result = f"({', '.join(self.arrays)},)" if self.arrays else "True"
        errors = "KeyError, IndexError, ValueError, AttributeError, TypeError"
        source = f"def unchanged():\n    try:\n{body or '        pass'}\n    except ({errors}):\n"
        source += f"        return {'-1' if failing else 'False'}\n    return {result}\n"
        space = dict(self.space)
        exec(source, space)
        return space["unchanged"]

    def inside(self, forms: bool) -> list[str]:
        """Return the lines for another function, which raise Mismatch, or an error.

        Without `forms` they do not look at those of arrays that are read again.
        """
        return [
            line.replace("return False", "raise Mismatch")
            for _, line in self.lines if forms or line not in self.forms
        ]  # fmt: skip


def weak(x: Any) -> Any:
    """Return a weak link to an object, or None where Python has none, or nobody else holds it."""
    if isinstance(x, STRONG):
        return None
    try:
        return ref(x)
    except TypeError:
        return None


class Guards:
    """The facts of a program, which are held as the check needs them: those `kept` not weakly.

    Attributes
    ----------
    unchanged : callable
        Tells if all facts hold: it returns the `arrays` as they are now, or True without any.
    writer : Writer
        The source.
    words : list of str
        The facts for people.
    """

    def __init__(self, facts: list[Fact], kept: Iterable[Any] = (), arrays: Iterable[ndarray] = ()):
        self.writer = Writer(facts, kept, arrays)
        self.unchanged = self.writer.function()
        self.words = [fact.words for fact in facts]
        ways: dict[int, set[tuple]] = {}
        for fact in facts:
            if type(fact.value) is ndarray:
                ways.setdefault(id(fact.value), set()).add(fact.place)
        self.ways = [ways.get(id(x.value), ways.get(id(x.owner), set())) for x in facts]

    def changed(self) -> tuple[str, set[tuple]]:
        """Return which fact no longer holds, in words, and the ways to its array if it has one."""
        found = self.writer.function(failing=True)()
        if type(found) is not int or found < 0:
            return "something that the function reads", set()
        return self.words[found], self.ways[found]
