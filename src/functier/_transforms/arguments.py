"""The arguments that a transform differentiates by: argnums, argnames, and their leaves."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._core.ambient import AMBIENT
from .._core.numpy_facts import FLOAT, PLAIN, Function, PyTree, Shape, Structure, Value, shape_of
from .._core.pytree import LEAF, flatten, is_value, paths, unflatten
from .._core.tensor import Tensor
from .._core.tracebacks import second_call
from .._levels.checks import check_inputs, refuse
from .._levels.cotangents import is_inexact
from .._levels.level import Level
from .._levels.memory import fix_shared
from .._levels.runs import outer_tensors

float64 = np.float64
ndarray = np.ndarray

NOT_COMPLEX_INPUT = (
    "holomorphic=True is the derivative with respect to a complex input: pass x.astype(complex), "
    "or leave holomorphic out"
)

COMPLEX_INPUT = (
    "forward mode along its real axis is half of the derivative: use jacrev for a real result, "
    "holomorphic=True for a complex one, or differentiate with respect to x and y of x + 1j * y"
)


class Names:
    """The arguments to differentiate by, named instead of counted.

    `place` has the position of each parameter that can be passed by position; `single`
    is true where one name was given, not a tuple.
    """

    __slots__ = ("names", "place", "single")

    def __init__(self, names: tuple[str, ...], place: dict[str, int], single: bool):
        self.names, self.place, self.single = names, place, single

    def find(self, level: Level | str, args: tuple, kwargs: dict) -> list[int | str]:
        """Return the key of each argument in this call: a position, or a name in `kwargs`."""
        found: list[int | str] = []
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
        """Return the option as the caller wrote it."""
        return repr(self.names[0] if self.single else self.names)


Argnums: TypeAlias = int | tuple[int, ...] | Names
"""The differentiated arguments, as `resolve_argnums` returns them."""

Selection: TypeAlias = tuple[list, Structure, Sequence]
"""The leaves of the differentiated arguments, their structure, and their keys in the call."""


def resolve_argnums(label: str, func: Function, argnums: Any, argnames: Any) -> Argnums:
    """Return `argnums`, or `argnames` looked up in the signature of `func`; both checked."""
    if type(argnums) is not int or argnames is not None:
        _check_argnums(label, argnums)
    if argnames is None:
        return argnums
    if type(argnums) is not int or argnums != 0:
        raise ValueError(
            f"{label}: argnums={argnums!r} and argnames={argnames!r} were both given; choose the "
            f"arguments by one of the two"
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
    except (TypeError, ValueError):  # a builtin without a signature: by keyword only
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
    """Raise an error where `argnums` is neither an int nor a tuple of ints."""
    for n in argnums if isinstance(argnums, tuple) else (argnums,):
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            array = f"argnums is a {type(n).__name__}"
            got = array if hasattr(n, "shape") else f"argnums={argnums!r:.60}"
            raise TypeError(
                f"{label}: {got}; write an int or a tuple of ints"
                + (f", or argnames={argnums!r}" if isinstance(n, str) else "")
                + (f"; {second_call(label)}" if is_value(n) and not isinstance(n, bool) else "")
            )


def choose(
    level: Level | str, args: tuple, argnums: Argnums, kwargs: dict, integers: bool = False
) -> Selection:
    """Return the leaves of the differentiated arguments, checked, their structure and keys.

    With `integers`, leaves of an integer dtype are constants.
    """
    if type(argnums) is int and 0 <= argnums < len(args):
        x = args[argnums]
        kind = type(x)
        if kind is float or kind is float64 or (kind is ndarray and x.dtype is FLOAT):
            return [x], LEAF, (argnums,)
        leaves, structure = flatten(x, level, f"args[{argnums}]")
        keys: Sequence = (argnums,)
    else:
        if isinstance(argnums, Names):
            keys, several = argnums.find(level, args, kwargs), not argnums.single
        else:
            keys, several = positions(level, args, argnums), isinstance(argnums, tuple)
        value = tuple([kwargs[n] if isinstance(n, str) else args[n] for n in keys])
        leaves, structure = flatten(value if several else value[0], level, "an argument")
    check_inputs(level, leaves, paths_of_arguments, args, keys, kwargs, integers=integers)
    if integers:
        leaves, structure = without_integers(leaves, structure)
    return leaves, structure, keys


def without_integers(leaves: list, structure: Structure) -> tuple[list, Structure]:
    """Return the leaves that have derivatives, and a structure that holds the others."""
    fixed = {i: x for i, x in enumerate(leaves) if not is_inexact(x)}
    if not fixed:
        return leaves, structure
    return [x for i, x in enumerate(leaves) if i not in fixed], Mixed(structure, fixed)


def choose_complex(
    level: Level | str, args: tuple, argnums: Argnums, kwargs: dict, integers: bool = False
) -> Selection:
    """Do as `choose`, and refuse real leaves: the derivative is that of complex analysis."""
    found = leaves, _, keys = choose(level, args, argnums, kwargs)
    refuse(level, leaves, False, NOT_COMPLEX_INPUT, paths_of_arguments, args, keys, kwargs)
    return found


def choose_real(
    level: Level | str, args: tuple, argnums: Argnums, kwargs: dict, integers: bool = False
) -> Selection:
    """Do as `choose`, and refuse complex leaves: each element is one direction."""
    found = leaves, structure, keys = choose(level, args, argnums, kwargs, integers)
    if type(structure) is Mixed:  # the paths count the integers too
        leaves = flatten(structure.unflatten(leaves))[0]
    refuse(level, leaves, True, COMPLEX_INPUT, paths_of_arguments, args, keys, kwargs)
    return found


def positions(level: Level | str, args: tuple, argnums: int | tuple[int, ...]) -> list[int]:
    """Return the positions that `argnums` names, checked and counted from the first."""
    keys = []
    for n in argnums if isinstance(argnums, tuple) else (argnums,):
        if not -len(args) <= n < len(args):
            raise ValueError(
                f"{level}: argnums={argnums!r} is out of range for {len(args)} positional "
                f"arguments; pass differentiated arguments by position, or name them with "
                f"argnames"
            )
        keys.append(int(n) % len(args))
    if len(set(keys)) != len(keys) or not keys:
        raise ValueError(
            f"{level}: argnums={argnums!r} names the arguments {keys}; name at least one, "
            f"and each once"
        )
    return keys


def paths_of_arguments(args: tuple, keys: Sequence[int | str], kwargs: dict) -> list[str]:
    """Return the paths of the leaves of the chosen arguments, as the caller passed them."""
    found = []
    for n in keys:
        if isinstance(n, str):
            found += paths(kwargs[n], f"kwargs[{n!r}]")
        else:
            found += paths(args[n], f"args[{n}]")
    return found


def insert_arguments(
    args: tuple, kwargs: dict, argnums: Argnums, keys: Sequence[int | str], value: PyTree
) -> tuple[list, dict]:
    """Return the arguments of a call, with `value` for those chosen by `argnums`."""
    inner = list(args)
    single = argnums.single if isinstance(argnums, Names) else not isinstance(argnums, tuple)
    for key, argument in zip(keys, (value,) if single else value):
        if isinstance(key, str):
            kwargs = {**kwargs, key: argument}
        else:
            inner[key] = argument
    return inner, kwargs


def fix_arguments(
    args: list, kwargs: dict, keys: Sequence[int | str], leaves: Sequence[Value]
) -> tuple[list, dict]:
    """Return the arguments of a call; those that share memory with `leaves` cannot be written to.

    `leaves` are those of the differentiated arguments, which are at `keys`.
    """
    for i, x in enumerate(args):
        if i not in keys and (type(x) in PLAIN or not isinstance(x, Tensor)):
            args[i] = fix_shared(x, leaves)
    if kwargs:
        kwargs = {k: x if k in keys else fix_shared(x, leaves) for k, x in kwargs.items()}
    return args, kwargs


class Mixed:
    """The structure of a tree with integer leaves, which are constants.

    `fixed` holds these leaves by their positions among all leaves of the tree.
    """

    __slots__ = ("fixed", "structure")

    def __init__(self, structure: Structure, fixed: dict[int, Value]):
        self.structure, self.fixed = structure, fixed

    def unflatten(self, leaves: Sequence[Value]) -> PyTree:
        """Return the tree of `leaves`, which are those that are differentiated, and integers."""
        rest = iter(leaves)
        n = len(leaves) + len(self.fixed)
        whole = [self.fixed[i] if i in self.fixed else next(rest) for i in range(n)]
        return unflatten(self.structure, whole)

    def derivatives(self, leaves: Sequence[Value], shape: Shape = ()) -> PyTree:
        """Return the tree of derivatives of a value of `shape`, with zeros for the integers."""
        zero = {i: np.zeros(shape + shape_of(x))[()] for i, x in self.fixed.items()}
        return Mixed(self.structure, zero).unflatten(leaves)


def derivatives(structure: Structure, leaves: list, shape: Shape = ()) -> PyTree:
    """Return the derivatives of a value of `shape` as a tree of the differentiated arguments."""
    if type(structure) is Mixed:
        return structure.derivatives(leaves, shape)
    return unflatten(structure, leaves)


def nest(
    outer: Structure, inner: Structure, table: Iterable, values: list, batched: bool = False
) -> PyTree:
    """Return a pytree of structure `outer` with a pytree of structure `inner` for each leaf.

    `table` has the inner leaves for each outer one, and `values` have the shapes of the outer
    leaves; where they are `batched`, after their first axis.
    """
    if type(inner) is Mixed:
        shapes = [shape_of(x)[batched:] for x in values]
        return unflatten(outer, [derivatives(inner, list(r), s) for r, s in zip(table, shapes)])
    return unflatten(outer, [unflatten(inner, list(row)) for row in table])


def split_call(
    label: str,
    func: Function,
    args: tuple,
    kwargs: dict,
    argnums: Argnums,
    select: Callable[..., Selection],
    allow_int: bool = False,
) -> tuple[list, Structure, list[Tensor], Callable[[list], PyTree]]:
    """Return the leaves of the differentiated arguments, their structure, the tensors among
    all arguments, and `func` as a function of the leaves.
    """
    leaves, structure, keys = select(label, args, argnums, kwargs, allow_int)
    given = (*args, kwargs) if kwargs else args

    def call(inner: list) -> PyTree:
        value = unflatten(structure, inner)
        if type(argnums) is int:
            full, named = list(args), kwargs
            full[keys[0]] = value
        else:
            full, named = insert_arguments(args, kwargs, argnums, keys, value)
        full, named = fix_arguments(full, named, keys, leaves)
        AMBIENT.get().level.arguments = [(full, named), None, None]
        return func(*full, **named)

    outer = outer_tensors(leaves, given, () if type(structure) is Mixed else keys, label)
    return leaves, structure, outer, call
