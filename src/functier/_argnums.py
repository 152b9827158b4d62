"""The arguments that a transform differentiates by: argnums and argnames."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._core.pytree import is_value


class Names:
    """The arguments to differentiate by, named instead of counted.

    `place` has the position of each parameter that can be passed by position; `single`
    says that one name was given, and no tuple.
    """

    __slots__ = ("names", "place", "single")

    def __init__(self, names: tuple, place: dict, single: bool):
        self.names, self.place, self.single = names, place, single

    def find(self, level: Any, args: tuple, kwargs: dict) -> list:
        """The key of each argument in this call: a position, or a name in `kwargs`."""
        found: list = []
        for name in self.names:
            place = self.place.get(name)
            if name in kwargs:
                found.append(name)
            elif place is not None and place < len(args):
                found.append(place)
            else:
                given = [n for n, i in self.place.items() if i < len(args)]
                raise ValueError(
                    f"{level}: argnames={self.text()}, but {name!r} was not passed; the call "
                    f"passed {', '.join([*map(repr, given), *map(repr, kwargs)]) or 'nothing'}: "
                    f"pass {name}=..., also where it has a default"
                )
        return found

    def text(self) -> str:
        """The option as it was given."""
        return repr(self.names[0] if self.single else self.names)


def wanted(label: str, func: Callable, argnums: Any, argnames: Any) -> Any:
    """`argnums` as they are, or `argnames` looked up in `func`, for `choose`."""
    if type(argnums) is not int or argnames is not None:
        _check_argnums(label, argnums)
    if argnames is None:
        return argnums
    if type(argnums) is not int or argnums != 0:
        raise ValueError(
            f"{label}: argnums={argnums!r} and argnames={argnames!r} were both given; name the "
            f"arguments by one of them"
        )
    single = isinstance(argnames, str)
    names = (argnames,) if single else argnames
    if not isinstance(names, tuple) or not all(isinstance(n, str) for n in names):
        raise TypeError(f"{label}: argnames={argnames!r}; write a str or a tuple of str")
    if len(set(names)) != len(names) or not names:
        raise ValueError(f"{label}: argnames={argnames!r}; name at least one, and each once")
    place: dict[str, int] = {}
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):  # a builtin tells nothing: by keyword only
        return Names(names, place, single)
    known, several = [], False
    for i, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_KEYWORD:
            several = True
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            known.append(parameter.name)
            if parameter.kind is not parameter.KEYWORD_ONLY:
                place[parameter.name] = i
    missing = [name for name in names if name not in known]
    if missing and not several:
        raise ValueError(
            f"{label}: argnames={argnames!r} names {missing[0]!r}, which is not a parameter; the "
            f"function has {', '.join(map(repr, known)) or 'none'}"
        )
    return Names(names, place, single)


def _check_argnums(label: str, argnums: Any) -> None:
    """Raise where `argnums` is neither an int nor a tuple of ints."""
    for n in argnums if isinstance(argnums, tuple) else (argnums,):
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            array = f"argnums is a {type(n).__name__}"
            got = array if hasattr(n, "shape") else f"argnums={argnums!r:.60}"
            raise TypeError(
                f"{label}: {got}; write an int or a tuple of ints"
                + (
                    f"; the arguments of the function go into a call of their own, "
                    f"{label.partition('(')[0]}(f)(x)"
                    if is_value(n) and not isinstance(n, bool)
                    else ""
                )
            )


def positions(level: Any, args: tuple, argnums: Any) -> list[int]:
    """The positions that `argnums` names, checked."""
    chosen = []
    for n in argnums if isinstance(argnums, tuple) else (argnums,):
        if not -len(args) <= n < len(args):
            raise ValueError(
                f"{level}: argnums={argnums!r} is out of range for {len(args)} positional "
                f"arguments; pass differentiated arguments by position, or name them with "
                f"argnames"
            )
        chosen.append(int(n) % len(args))
    if len(set(chosen)) != len(chosen) or not chosen:
        raise ValueError(
            f"{level}: argnums={argnums!r} names the arguments {chosen}; name at least one, "
            f"and each once"
        )
    return chosen


def placed(
    args: tuple, kwargs: dict, argnums: Any, chosen: Sequence, picked: Any
) -> tuple[list, dict]:
    """The arguments of a call, with `picked` in the places of those chosen by `argnums`."""
    inner = list(args)
    single = argnums.single if type(argnums) is Names else not isinstance(argnums, tuple)
    for key, value in zip(chosen, (picked,) if single else picked):
        if type(key) is str:
            kwargs = {**kwargs, key: value}
        else:
            inner[key] = value
    return inner, kwargs
