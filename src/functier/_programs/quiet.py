"""The watch of a trace is off while levels inside it compute: they call no code of the user's.

NOTE [quiet operations]
    Most of what Python tells the watch are calls of functier's own. So the methods of the tensors
    of a trace run without it where no operand has code of its own: these are numbers, arrays, and
    tensors of functier's kinds of level. A backward pass does where all rules on the tape are
    functier's. In all other cases the watch stays on.
"""

from collections.abc import Callable
from operator import itemgetter
from types import FunctionType
from typing import Any

import numpy as np

from .._core.numpy_facts import PLAIN
from .._core.tensor import Tensor
from .._cpython.frames import current_frame
from .._cpython.functions import hook, set_hook
from .._mutation.array import Array
from .watching import ANYWHERE, is_known, is_of_rooms

LOUD = frozenset("__class__ __str__ __repr__ __format__ __hash__ __getattr__ _writes".split())
"""Methods that answer questions, and other attributes."""

OPERANDS: dict[str, Callable] = {
    "__array_ufunc__": lambda x, ufunc, method, *inputs: (
        (x, *inputs) if is_known(ufunc) else (ufunc,)
    ),
    "__array_function__": lambda x, func, types, args, kwargs: (
        (x, args, [*kwargs.values()]) if is_known(func) else (func,)
    ),
}
"""The operands of methods that have other arguments, too. A function is one that has code."""

OPERANDS_ALONE = PLAIN - {np.object_}


def is_quiet(x: Any) -> bool:
    """Return whether an operand has no code of the user's."""
    kind = type(x)
    if kind in OPERANDS_ALONE:
        return True
    if kind is tuple or kind is list:
        return all(map(is_quiet, x))
    return kind is Array or (issubclass(kind, Tensor) and kind.level.quiet is not None)


class Quiet:
    """Computing of the levels inside a trace without its watch; `level` is that of the trace."""

    def __init__(self, level: Any):
        self.level = level
        self.operate = self.method(lambda call, *args: call(*args), lambda call, *args: args)

    def methods(self, methods: dict[str, Any]) -> dict[str, Any]:
        """Return the methods of a class of tensors as those that run without the watch."""
        return {
            name: method if name in LOUD or isinstance(method, property)
            else self.method(method, OPERANDS.get(name))
            for name, method in methods.items()
        }  # fmt: skip

    def method(self, method: Callable, operands: Callable | None = None) -> Callable:
        level = self.level

        def run(*args: Any, **kwargs: Any) -> Any:
            note = level.note
            if note is None or hook() is not note:
                return method(*args, **kwargs)
            try:
                set_hook(None)
                level.here = current_frame(1)
                for x in args if operands is None else operands(*args):
                    if type(x) not in OPERANDS_ALONE and not is_quiet(x):
                        break
                else:
                    if not kwargs or all(map(is_quiet, kwargs.values())):
                        return method(*args, **kwargs)
            finally:
                level.here = ANYWHERE
                set_hook(note)
            return method(*args, **kwargs)

        return run

    def begin(self, roots: list) -> Any:
        """Switch the watch off for a backward pass, and return it; None where it stays as it is."""
        level = self.level
        note = level.note
        if note is None or hook() is not note:
            return None
        known = False
        try:
            set_hook(None)
            level.here = current_frame(1)
            known = all(map(is_of_rooms, rules_on(roots)))
        finally:
            if not known:
                self.end(note)
        return note if known else None

    def end(self, note: Any) -> None:
        self.level.here = ANYWHERE
        set_hook(note)


def rules_on(roots: list) -> set[Any]:
    """Return the rules on the tape of some nodes, each with its cotangent: see `_levels.tape`."""
    found: set[Any] = set()
    seen: set[int] = set()
    waiting = [node for node, _ in roots]
    while waiting:
        number, *rest = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        while rest[0] is not None:
            parent, rule, _, _, more = rest
            found.add(rule if type(rule) in HASHED else type(rule))
            waiting.append(parent)
            if more is None:
                break
            rest = more
    return found


HASHED = frozenset({FunctionType, itemgetter})
