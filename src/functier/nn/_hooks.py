"""Hooks of modules, and the note of an error that names the module it was raised in."""

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from ._parameter import note_change


class RemovableHandle:
    """The handle of a registered hook: `remove` removes it.

    It is a context manager, too. The methods of `Module` that register hooks make it.

    Examples
    --------
    >>> from functier import nn
    >>> layer = nn.ReLU()
    >>> handle = layer.register_forward_hook(lambda module, args, out: out + 1.0)
    >>> float(layer(2.0))
    3.0
    >>> handle.remove()
    >>> float(layer(2.0))
    2.0
    """

    _numbers = itertools.count()

    def __init__(self, module: Any, place: str, hook: Callable, prepend: bool, *options: bool):
        self.id = next(self._numbers)
        self._module, self._place = weakref.ref(module), place
        mine, others = {self.id: (hook, *options)}, getattr(module, place)
        vars(module)[place] = {**mine, **others} if prepend else {**others, **mine}
        note_change()

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        module = self._module()
        if module is not None:
            hooks = getattr(module, self._place)
            vars(module)[self._place] = {n: h for n, h in hooks.items() if n != self.id}
            note_change()

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def note_place(error: Exception, module: Any) -> None:
    """Add a note to the error that names the module it was raised in, from the outermost one."""
    chain = [*getattr(error, "_functier_modules", ()), module]
    error._functier_modules = chain  # type: ignore[attr-defined]
    names: list[str] = []
    for inner, outer in itertools.pairwise(chain):
        names.insert(0, next((n for n, m in outer.named_modules() if m is inner), "?"))
    inner, outer = chain[0], chain[-1]
    place = f"in {type(outer).__name__}"
    if names:
        place += f", its module {'.'.join(names)}, {type(inner).__name__}({inner.extra_repr()})"
    notes = [n for n in getattr(error, "__notes__", ()) if n != getattr(error, "_place", None)]
    error.__notes__ = [*notes, place]
    error._place = place  # type: ignore[attr-defined]
