"""Modules as pytrees.

NOTE [modules as pytrees]
    A module is one node. Its leaves are the arrays of all modules in it, each once however
    often it is registered; the rest is in a `Form`, from which modules are built again
    without ``__init__``. Buffers and frozen parameters are leaves, but a module that is built
    has them without what differentiating levels know of them, so no gradient flows to them.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._stop import stop_gradient
from .._tensor import Tensor
from ._parameter import Parameter, is_parameter, plain

PARAMETER, BUFFER, MODULE = "parameter", "buffer", "module"


class Form:
    """What a module is beside its arrays: one for each module of the tree."""

    __slots__ = ("arrays", "cls", "frozen", "kinds", "modules", "static")

    def __init__(self, module: Any, prefix: str, found: dict, names: list, forms: dict):
        forms[id(module)] = self
        state = vars(module)
        self.cls, self.kinds, self.static = type(module), state.get("_kinds", {}), state.copy()
        self.static.pop("_frozen", None)
        self.arrays: list[tuple[str, int, bool, bool]] = []
        self.modules: list[tuple[str, Form]] = []
        inside, frozen = [], []
        for name, kind in self.kinds.items():
            value = state[name]
            if value is None:
                continue
            del self.static[name]
            if kind is MODULE:
                inside.append((name, value))
                continue
            key = id(value)
            if key not in found:
                found[key] = len(names), value  # the value too, so that no other gets its id
                names.append(prefix + name)
            trained = kind is PARAMETER
            if trained and not (
                value.requires_grad if is_parameter(value) else name not in module._frozen
            ):
                frozen.append(name)
                trained = False
            self.arrays.append((name, found[key][0], kind is PARAMETER, trained))
        self.frozen = frozenset(frozen)
        for name, value in inside:
            form = forms.get(id(value))
            if form is None:
                form = Form(value, f"{prefix}{name}.", found, names, forms)
            self.modules.append((name, form))

    def build(self, leaves: list, made: dict) -> Any:
        """A module of this form with other arrays."""
        new = object.__new__(self.cls)
        made[id(self)] = new
        state = vars(new)
        state.update(self.static)
        if self.frozen:
            state["_frozen"] = self.frozen
        for name, i, parameter, trained in self.arrays:
            x = leaves[i]
            if parameter and isinstance(x, (np.ndarray, np.inexact)):
                if not is_parameter(x):
                    x = leaves[i] = Parameter(x, trained and x.dtype.kind in "fc")
            elif not trained and isinstance(x, Tensor):
                x = stop_gradient(x)
            state[name] = x
        for name, form in self.modules:
            state[name] = made[id(form)] if id(form) in made else form.build(leaves, made)
        return new

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Form
            and self.cls is other.cls
            and self.arrays == other.arrays
            and self.kinds == other.kinds
            and self.static.keys() == other.static.keys()
            and all(_alike(x, other.static[n]) for n, x in self.static.items())
            and self.modules == other.modules
        )

    def __hash__(self) -> int:
        return hash((self.cls, tuple(self.kinds)))


def _alike(a: Any, b: Any) -> bool:
    if a is b:
        return True
    try:
        return bool(a == b)
    except (TypeError, ValueError):  # arrays, which no module has registered
        return False


def flatten(module: Any) -> tuple[list, Form, tuple]:
    """The leaves of a module, its form, and the names of the leaves with dots."""
    found: dict[int, tuple[int, Any]] = {}
    names: list[str] = []
    form = Form(module, "", found, names, {})
    return [plain(x) for _, x in found.values()], form, tuple(names)


def unflatten(form: Form, leaves: Iterable) -> Any:
    """A module of a form with other leaves."""
    return form.build(list(leaves), {})
