"""What forward and reverse mode share: argument selection, checks, and fitting of
(co)tangents to the values they belong to. Written in NumPy on values of any level.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._level import Level
from ._numpy import FLOAT, SCALARS, dtype_of, shape_of
from ._pytree import LEAF, describe, flatten, instead_of, is_value, paths, same_structure, unflatten
from ._tensor import Tensor

float64 = np.float64
ndarray = np.ndarray
Fix = tuple[tuple[int, ...], np.dtype, bool] | None


def fix_for(ans: Any, value: Any, holomorphic: bool) -> Fix:
    """How the cotangent of `value` differs from that of `ans`; None if it does not.

    The shape to sum down to, the dtype to cast to, and whether to conjugate around the
    rule (PyTorch's convention for complex numbers: the gradient of a real function is
    the conjugate Wirtinger derivative).
    """
    kind = type(ans)
    if type(value) is ndarray and (kind is ndarray or kind is float64):
        shape, dtype, own = value.shape, value.dtype, ans.dtype
        if own is dtype is FLOAT:
            return None if ans.shape == shape else (shape, FLOAT, False)
        complex_ = dtype.kind == "c" or own.kind == "c"
        if own == dtype and not complex_ and ans.shape == shape:
            return None
        return shape, dtype, complex_ and holomorphic
    a, v = ans, value
    while (kind := type(a)) is type(v) and kind is not ndarray:
        if kind is float64 or kind is float:
            return None
        if kind in SCALARS or not isinstance(a, Tensor):
            break
        a, v = a._value, v._value  # one level's tensors have equal forms if these do
    if kind is float64 and type(v) is float:
        return None
    if kind is ndarray and type(v) is ndarray:  # both in tensors of one level
        if a.shape == v.shape and a.dtype is v.dtype and v.dtype.kind != "c":
            return None
    shape, dtype = shape_of(value), dtype_of(v)
    if isinstance(ans, (tuple, list)):
        return shape, dtype, False
    own = dtype_of(a)
    if shape == shape_of(ans) and dtype == own and dtype.kind != "c":
        return None
    return shape, dtype, holomorphic and "c" in (dtype.kind, own.kind)


def pull(rule: Callable, g: Any, saved: tuple, fix: Any) -> Any:
    """Apply a complex-linear vjp rule, conjugated around, and fit the result."""
    c = rule(np.conjugate(g), *saved)
    return c if c is None else fit(np.conjugate(c), fix[0], fix[1])


def fit(c: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Sum `c` over what broadcasting added, spread it over what it lacks, and cast it."""
    own = shape_of(c)
    if own != shape:
        extra = len(own) - len(shape)
        if extra > 0 and own[extra:] == shape:
            total = np.add.reduce if type(c) is ndarray else np.sum
            return cast(total(c, axis=0 if extra == 1 else tuple(range(extra))), dtype)
        axes = [i for i in range(len(own)) if i < extra or (shape[i - extra] == 1 != own[i])]
        if axes:
            if type(c) is ndarray:
                c = np.add.reduce(c, axis=tuple(axes), keepdims=True)
            else:
                c = np.sum(c, axis=tuple(axes), keepdims=True)
        if extra > 0:
            c = np.reshape(c, shape_of(c)[extra:])
        if shape_of(c) != shape:
            c = np.broadcast_to(c, shape)
    return cast(c, dtype)


def cast(c: Any, dtype: np.dtype) -> Any:
    own = dtype_of(c)
    if own == dtype:
        return c
    if own.kind == "c" and dtype.kind != "c":
        c = np.real(c)
    if isinstance(c, (Tensor, ndarray)):
        return np.astype(c, dtype)  # type: ignore[arg-type]  # a tensor dispatches
    return dtype.type(c)


def zeros(value: Any) -> Any:
    """The zero (co)tangent of a value."""
    return np.zeros(shape_of(value), dtype_of(value))[()]


def form_like(value: Any) -> ndarray:
    """An array of the form of `value`, which holds no memory."""
    return np.broadcast_to(np.zeros((), dtype_of(value)), shape_of(value))


def add(a: Any, b: Any) -> Any:
    """The sum of two (co)tangents; either may be None, or both tuples of such."""
    if isinstance(a, (tuple, list)):
        return tuple([add(x, y) for x, y in zip(a, b)])
    return b if a is None else a if b is None else a + b


SEEN: dict[type, Callable] = {}
"""The class of arrays that ask modes, which nobody gets, and what makes plain ones of them;
empty until a mode has been on.
"""


def shown(values: list) -> list:
    """`values` with plain arrays for those that ask modes."""
    return [SEEN[type(v)](v) if type(v) in SEEN else v for v in values] if SEEN else values


def owned(grads: list, given: Sequence = ()) -> list:
    """(Co)tangents as arrays that the caller may write to: each has its own memory,
    shared with no other and with none of `given`.
    """
    if SEEN:
        grads[:] = shown(grads)
    return separate(grads, given)


def separate(values: list, given: Sequence) -> list:
    """`values`, with copies of what is memory of another one or of `given`, and of what
    cannot be written to.

    Of tensors it is the memory of the values that they hold: it comes out with these.
    """
    owners = {id(owner_of(x)) for x in given if type(x) not in SCALARS}
    for i, x in enumerate(values):
        kind = type(x)
        if kind is ndarray or isinstance(x, Tensor):
            owner = owner_of(x)
            if owner is None:
                continue
            if id(owner) in owners:
                values[i] = x.copy() if kind is ndarray else np.copy(x)
            elif kind is ndarray and not x.flags.writeable:
                values[i] = x.copy()
            owners.add(id(owner))
    return values


def apart(values: list, others: Sequence) -> list:
    """`values`, with copies of what is memory of `others`."""
    owners = {id(owner_of(x)) for x in others} - {id(None)}
    return [np.copy(x) if owners and id(owner_of(x)) in owners else x for x in values]


def owner_of(x: Any) -> Any:
    """The array whose memory `x` is, of any level; None for what is no array."""
    while isinstance(x, Tensor):
        x = x._value
    if not isinstance(x, ndarray):
        return None
    owner: Any = x
    base: Any = x
    while base is not None:
        if isinstance(base, ndarray):
            owner = base
        base = getattr(base, "base", None)  # of as_strided an object that is no array
    return owner


def filled(grads: list, values: Sequence) -> list:
    """(Co)tangents with the zeros of their values for None."""
    for i, g in enumerate(grads):
        if g is None:
            grads[i] = zeros(values[i])
    return grads


def is_inexact(value: Any) -> bool:
    if type(value) is float64:
        return True
    while isinstance(value, Tensor):  # every level keeps the dtype of what it wraps
        value = value._value
    return dtype_of(value).kind in "fc"


class Names:
    """Which arguments to differentiate by, by name: what stands in the place of argnums.

    `place` has the position of each parameter that can be passed by position; `single`
    says that one name was given, and no tuple.
    """

    __slots__ = ("names", "place", "single")

    def __init__(self, names: tuple, place: dict, single: bool):
        self.names, self.place, self.single = names, place, single

    def find(self, level: Level | str, args: tuple, kwargs: dict) -> list:
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
    """What `choose` takes: `argnums` as they are, or `argnames` looked up in `func`."""
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
            f"{label}: argnames={argnames!r} names {missing[0]!r}, which is no parameter; the "
            f"function has {', '.join(map(repr, known)) or 'none'}"
        )
    return Names(names, place, single)


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
        leaves, structure = flatten(x)
        chosen: Sequence = (argnums,)
    else:
        if type(argnums) is Names:
            chosen, several = argnums.find(level, args, kwargs), not argnums.single
        else:
            chosen, several = _positions(level, args, argnums), isinstance(argnums, tuple)
        picked = tuple([kwargs[n] if type(n) is str else args[n] for n in chosen])
        leaves, structure = flatten(picked if several else picked[0])
    check_inputs(level, leaves, chosen_paths, args, chosen, kwargs, integers=integers)
    if integers:
        fixed = {i: x for i, x in enumerate(leaves) if not is_inexact(x)}
        if fixed:
            leaves = [x for i, x in enumerate(leaves) if i not in fixed]
            structure = Mixed(structure, fixed)
    return leaves, structure, chosen


def _positions(level: Level | str, args: tuple, argnums: Any) -> list[int]:
    """The positions that `argnums` names, checked."""
    chosen = []
    for n in argnums if isinstance(argnums, tuple) else (argnums,):
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise TypeError(f"{level}: argnums={argnums!r}; write an int or a tuple of ints")
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


def choose_complex(
    level: Level | str, args: tuple, argnums: Any, kwargs: dict, integers: bool = False
) -> tuple[list, Any, Sequence]:
    """`choose`, of complex leaves only: the derivative is that of complex analysis."""
    found = leaves, _, chosen = choose(level, args, argnums, kwargs)
    refuse(level, leaves, False, NOT_COMPLEX_INPUT, chosen_paths, args, chosen, kwargs)
    return found


def choose_real(
    level: Level | str, args: tuple, argnums: Any, kwargs: dict, integers: bool = False
) -> tuple[list, Any, Sequence]:
    """`choose`, of real leaves only: each element is one direction."""
    found = leaves, structure, chosen = choose(level, args, argnums, kwargs, integers)
    if type(structure) is Mixed:  # which knows where the leaves stand
        leaves = flatten(structure.unflatten(leaves))[0]
    refuse(level, leaves, True, COMPLEX_INPUT, chosen_paths, args, chosen, kwargs)
    return found


NOT_COMPLEX_INPUT = (
    "holomorphic=True is the derivative by a complex input: pass x.astype(complex), or leave "
    "holomorphic out"
)
COMPLEX_INPUT = (
    "forward mode along its real axis is half of the derivative: use jacrev for a real result, "
    "holomorphic=True for a complex one, or differentiate by x and y of x + 1j * y"
)
REAL_RESULT = (
    "holomorphic=True is the derivative of a complex result: return it as it is, without "
    "numpy.real and numpy.abs, or leave holomorphic out"
)


def refuse(
    level: Level | str, leaves: list, complex_: bool, reason: str, where: Callable, *given: Any
) -> None:
    """Raise where one of the leaves at the paths ``where(*given)`` is complex, or is not."""
    for i, leaf in enumerate(leaves):
        if (dtype_of(leaf).kind == "c") is complex_:
            raise TypeError(f"{level}: {where(*given)[i]} has dtype {dtype_of(leaf)}; {reason}")


def complex_derivatives(grads: list) -> list:
    """Derivatives of a holomorphic function, of its cotangents: these are conjugated."""
    return [g if g is None else np.conjugate(g) for g in grads]


def chosen_paths(args: tuple, chosen: Sequence, kwargs: dict) -> list[str]:
    """The paths of the leaves of the chosen arguments, as the caller passed them."""
    found = []
    for n in chosen:
        if type(n) is str:
            found += paths(kwargs[n], f"kwargs[{n!r}]")
        else:
            found += paths(args[n], f"args[{n}]")
    return found


def check_inputs(
    level: Level | str, leaves: list, where: Callable[..., list[str]], *given: Any,
    integers: bool = False,
) -> None:  # fmt: skip
    """Differentiated inputs must be arrays of a floating-point or complex dtype, or of an
    integer or boolean one where there are `integers`.

    ``where(*given)`` is the paths of the leaves, which a message needs.
    """
    for i, leaf in enumerate(leaves):
        kind = type(leaf)
        if kind is float or kind is float64 or (kind is ndarray and leaf.dtype is FLOAT):
            continue
        if not is_value(leaf):
            raise TypeError(
                f"{level}: {where(*given)[i]} is a {type(leaf).__name__}, not an array; "
                f"{instead_of(leaf)}, and leave other arguments out of argnums (or argnames)"
            )
        if not is_inexact(leaf) and not (integers and dtype_of(leaf).kind in "iub"):
            raise TypeError(
                f"{level}: {where(*given)[i]} has dtype {dtype_of(leaf)}; derivatives need a "
                f"floating-point or complex input: pass x.astype(float), or leave it out "
                f"of argnums (or argnames)"
            )


def split_aux(level: Level, out: Any) -> tuple:
    """The output and the rest of what a function with `has_aux` returned."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            f"{level}: has_aux=True needs a function that returns (output, aux); it "
            f"returned {describe(out)}"
        )
    leaves, structure = flatten(out[1])
    aux = [level.lower(x) if isinstance(x, Tensor) else x for x in leaves]
    return out[0], unflatten(structure, shown(aux))


def arrays_of(level: Level, out: Any) -> tuple[list, Any]:
    """The leaves and the structure of a result, all of whose leaves must be arrays."""
    if type(out) is level.cls:
        return [out], LEAF
    leaves, structure = flatten(out)
    for i, y in enumerate(leaves):
        if not is_value(y):
            where = paths(out, "the result")[i]
            raise TypeError(f"{level}: {where} is a {type(y).__name__}; {instead_of(y, 'return')}")
    return leaves, structure


def match(
    level: Level | str, primals: list, structure: Any, tangents: Any, noun: str, root: str
) -> list:
    """The leaves of `tangents`, checked against the primals they belong to."""
    leaves, own = flatten(tangents)
    if (own != structure or len(leaves) != len(primals)) and not same_structure(
        unflatten(structure, primals), tangents
    ):
        raise ValueError(
            f"{level}: the {noun}s have the structure {describe(tangents)}, but "
            f"{describe(unflatten(structure, primals))} was expected; pass one {noun} for "
            f"each value"
        )
    matched = []
    for i, (primal, tangent) in enumerate(zip(primals, leaves)):
        if not is_value(tangent) or shape_of(tangent) != shape_of(primal):
            raise ValueError(
                f"{level}: the {noun} of {paths(unflatten(structure, primals), root)[i]} has "
                f"shape {np.shape(tangent)}, but the value has shape {np.shape(primal)}; "
                f"pass an array of that shape"
            )
        dtype, own = dtype_of(primal), dtype_of(tangent)
        if own.kind == "c" and dtype.kind != "c":
            raise ValueError(
                f"{level}: the {noun} of {paths(unflatten(structure, primals), root)[i]} has "
                f"dtype {own}, but the value has dtype {dtype}; pass its real part"
            )
        matched.append(tangent if own is dtype else cast(tangent, dtype))
    return matched
