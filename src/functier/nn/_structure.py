"""Modules as pytrees.

NOTE [modules as pytrees]
    A module is one node. Its leaves are the arrays of all modules in it, each once however
    often it is registered; the rest is in a `Structure`, from which modules are built again
    without ``__init__``. Buffers and frozen parameters are leaves, too, but a module that is
    built has them without their derivatives, so no gradient flows to them.

    A module keeps its structure until anything but an array changes in any module, since to
    make one takes as long as several operations of a small network. A module with a shared
    array makes it anew.
"""

import copy
from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np

from .._core.tensor import Tensor
from .._transforms.stop_gradient import stop_gradient
from ._parameter import CHANGES, is_parameter, make_parameter, plain_array

PARAMETER, BUFFER, MODULE = "parameter", "buffer", "module"


OWN = {"_kinds", "_pre_hooks", "_hooks"}
"""Attributes of a module whose dicts are replaced and never changed."""


class Structure:
    """All of a module but its arrays; there is one for each module of the tree."""

    __slots__ = (
        "arrays", "cls", "copied", "facts", "frozen", "kinds", "modules", "names", "places",
        "static",
    )  # fmt: skip
    names: tuple[str, ...]  # of the outermost module's leaves
    facts: Any  # what programs compare of it, once one has asked

    def __init__(self, module: Any, prefix: str, found: dict, names: list, forms: dict):
        forms[id(module)] = self
        self.facts = None
        state = vars(module)
        self.cls, self.kinds, self.static = type(module), state.get("_kinds", {}), state.copy()
        self.static.pop("_frozen", None)
        self.static.pop("_structure", None)
        self.arrays: list[tuple[str, int, bool, bool]] = []
        self.modules: list[tuple[str, Structure]] = []
        inside, frozen = [], []
        for name, kind in self.kinds.items():
            value = state[name]
            if value is None:
                continue
            del self.static[name]
            if kind == MODULE:
                inside.append((name, value))
                continue
            key = id(value)
            if key not in found:
                found[key] = len(names), value  # the value too, so that no other object gets its id
                names.append(prefix + name)
            trained = kind == PARAMETER
            if trained and not (
                value.requires_grad if is_parameter(value) else name not in module._frozen
            ):
                frozen.append(name)
                trained = False
            self.arrays.append((name, found[key][0], kind == PARAMETER, trained))
        self.frozen = frozenset(frozen)
        self.places = len(self.arrays)
        self.copied = [
            n for n, x in self.static.items() if isinstance(x, (list, dict)) and n not in OWN
        ]
        for name, value in inside:
            form = forms.get(id(value))
            if form is None:
                form = Structure(value, f"{prefix}{name}.", found, names, forms)
                self.places += form.places
            else:
                self.places += 1 + len(names)  # shared
            self.modules.append((name, form))

    def build(self, leaves: list, modules: dict, as_given: bool = False) -> Any:
        """Build a module of this structure with other arrays.

        Those that are taken `as_given` are of a copy, whose lists and dicts are copies, too.
        """
        new = object.__new__(self.cls)
        modules[id(self)] = new
        state = vars(new)
        state.update(self.static)
        if as_given:
            state.update([(name, copy.copy(state[name])) for name in self.copied])
        if self.frozen:
            state["_frozen"] = self.frozen
        for name, i, parameter, trained in self.arrays:
            x = leaves[i]
            if as_given:
                pass
            elif type(x) is np.ndarray or isinstance(x, np.inexact):
                if parameter:
                    x = leaves[i] = make_parameter(np.asarray(x), trained)
            elif not trained and isinstance(x, Tensor):
                x = stop_gradient(x)
            state[name] = x
        for name, form in self.modules:
            known = id(form) in modules
            state[name] = modules[id(form)] if known else form.build(leaves, modules, as_given)
        return new

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Structure
            and self.cls is other.cls
            and self.arrays == other.arrays
            and self.kinds == other.kinds
            and self.static.keys() == other.static.keys()
            and all(_is_equal(x, other.static[n]) for n, x in self.static.items())
            and self.modules == other.modules
        )

    def __getstate__(self) -> tuple:
        kept = [name for name in self.__slots__ if name != "facts" and hasattr(self, name)]
        return None, {name: getattr(self, name) for name in kept}

    def static_values(self) -> list[Any]:
        """Return the names of the attributes that are not arrays, and what they have."""
        names = [name for name in self.static if name not in OWN]
        found = [*names, *[self.static[name] for name in names]]
        return found + [x for _, form in self.modules for x in form.static_values()]

    def __hash__(self) -> int:
        return hash((self.cls, tuple(self.kinds)))


def _is_equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    try:
        return bool(a == b)
    except (TypeError, ValueError):  # arrays, which no module has registered
        return False


def flatten(module: Any) -> tuple[list, Structure, tuple]:
    """Return the leaves of a module, its structure, and the dotted names of the leaves."""
    count, form = vars(module).get("_structure", (None, None))
    if count == CHANGES[0]:
        leaves: list[Any] = []
        _collect(module, form, leaves)
        return leaves, form, form.names
    count = CHANGES[0]
    found: dict[int, tuple[int, Any]] = {}
    names: list[str] = []
    form = Structure(module, "", found, names, {})
    form.names = tuple(names)
    _remember(module, form, count)
    return [plain_array(x) for _, x in found.values()], form, form.names


def unflatten(form: Structure, leaves: Iterable) -> Any:
    """Return a module of a structure with other leaves."""
    count = CHANGES[0]
    module = form.build(list(leaves), {})
    _remember(module, form, count)
    return module


def replace_arrays(module: Any, given: dict[str, Any], checked: bool = False) -> Any:
    """Return a copy of a module with other arrays, given by name and taken as they are.

    Return None, unless it is `checked`, where `functional_call` has to look at the names: one does
    not exist, or an array has several.
    """
    leaves, form, names = flatten(module)
    places = dict(zip(names, range(len(names))))
    once = form.places == len(names) and given.keys() <= places.keys()
    if not once and not checked:
        return None
    for name, x in given.items() if once else ():
        leaves[places[name]] = x
    new = form.build(leaves, {}, True)
    for name, x in () if once else given.items():
        *owners, last = name.split(".")
        vars(reduce(getattr, owners, new))[last] = x
    return new


def _remember(module: Any, form: Structure, count: int) -> None:
    if form.places == len(form.names):
        vars(module)["_structure"] = count, form


def _collect(module: Any, form: Structure, leaves: list) -> None:
    state = vars(module)
    for name, *_ in form.arrays:
        leaves.append(plain_array(state[name]))
    for name, inner in form.modules:
        _collect(state[name], inner, leaves)
