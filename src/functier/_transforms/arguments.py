"""The arguments that a transform differentiates by: argnums, argnames, and their leaves."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.numpy_facts import FLOAT, shape_of
from .._core.pytree import LEAF, flatten, is_value, paths, unflatten
from .._levels.checks import check_inputs, refuse
from .._levels.cotangents import is_inexact
from .._levels.level import Level

float64 = np.float64
ndarray = np.ndarray

NOT_COMPLEX_INPUT = (
    "holomorphic=True is the derivative by a complex input: pass x.astype(complex), or leave "
    "holomorphic out"
)

COMPLEX_INPUT = (
    "forward mode along its real axis is half of the derivative: use jacrev for a real result, "
    "holomorphic=True for a complex one, or differentiate by x and y of x + 1j * y"
)


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


def resolve_argnums(label: str, func: Callable, argnums: Any, argnames: Any) -> Any:
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


def choose(
    level: Level | str, args: tuple, argnums: Any, kwargs: dict, integers: bool = False
) -> tuple[list, Any, Sequence]:
    """The leaves of the differentiated arguments, checked, their tree and their keys.

    `argnums` may be `Names`; with `integers` leaves of an integer dtype are constants.
    """
    if type(argnums) is int and 0 <= argnums < len(args):
        x = args[argnums]
        kind = type(x)
        if kind is float or kind is float64 or (kind is ndarray and x.dtype is FLOAT):
            return [x], LEAF, (argnums,)
        leaves, structure = flatten(x, level, f"args[{argnums}]")
        chosen: Sequence = (argnums,)
    else:
        if type(argnums) is Names:
            chosen, several = argnums.find(level, args, kwargs), not argnums.single
        else:
            chosen, several = positions(level, args, argnums), isinstance(argnums, tuple)
        picked = tuple([kwargs[n] if type(n) is str else args[n] for n in chosen])
        leaves, structure = flatten(picked if several else picked[0], level, "an argument")
    check_inputs(level, leaves, paths_of_chosen, args, chosen, kwargs, integers=integers)
    if integers:
        fixed = {i: x for i, x in enumerate(leaves) if not is_inexact(x)}
        if fixed:
            leaves = [x for i, x in enumerate(leaves) if i not in fixed]
            structure = Mixed(structure, fixed)
    return leaves, structure, chosen


def choose_complex(
    level: Level | str, args: tuple, argnums: Any, kwargs: dict, integers: bool = False
) -> tuple[list, Any, Sequence]:
    """`choose`, of complex leaves only: the derivative is that of complex analysis."""
    found = leaves, _, chosen = choose(level, args, argnums, kwargs)
    refuse(level, leaves, False, NOT_COMPLEX_INPUT, paths_of_chosen, args, chosen, kwargs)
    return found


def choose_real(
    level: Level | str, args: tuple, argnums: Any, kwargs: dict, integers: bool = False
) -> tuple[list, Any, Sequence]:
    """`choose`, of real leaves only: each element is one direction."""
    found = leaves, structure, chosen = choose(level, args, argnums, kwargs, integers)
    if type(structure) is Mixed:  # which knows where the leaves stand
        leaves = flatten(structure.unflatten(leaves))[0]
    refuse(level, leaves, True, COMPLEX_INPUT, paths_of_chosen, args, chosen, kwargs)
    return found


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


def paths_of_chosen(args: tuple, chosen: Sequence, kwargs: dict) -> list[str]:
    """The paths of the leaves of the chosen arguments, as the caller passed them."""
    found = []
    for n in chosen:
        if type(n) is str:
            found += paths(kwargs[n], f"kwargs[{n!r}]")
        else:
            found += paths(args[n], f"args[{n}]")
    return found


def insert_chosen(
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


class Mixed:
    """The structure of a tree some of whose leaves are integers, which are constants.

    Made of the leaves that are differentiated, it gives the tree with the integers in
    their places; of derivatives, the tree with zeros there.
    """

    __slots__ = ("fixed", "structure")

    def __init__(self, structure: Any, fixed: dict[int, Any]):
        self.structure, self.fixed = structure, fixed

    def unflatten(self, leaves: Sequence) -> Any:
        rest = iter(leaves)
        n = len(leaves) + len(self.fixed)
        whole = [self.fixed[i] if i in self.fixed else next(rest) for i in range(n)]
        return unflatten(self.structure, whole)

    def derivatives(self, leaves: Sequence, shape: tuple[int, ...] = ()) -> Any:
        """The tree of derivatives of a value of `shape`."""
        zero = {i: np.zeros(shape + shape_of(x))[()] for i, x in self.fixed.items()}
        return Mixed(self.structure, zero).unflatten(leaves)


def derivatives(structure: Any, leaves: list, shape: tuple[int, ...] = ()) -> Any:
    """The derivatives of a value of `shape` in the structure of what it is derived by."""
    if type(structure) is Mixed:
        return structure.derivatives(leaves, shape)
    return unflatten(structure, leaves)
