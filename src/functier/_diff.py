"""What forward and reverse mode share: argument selection, checks, and fitting of
(co)tangents to the values they belong to. Written in NumPy on values of any level.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._argnums import Names, positions
from ._core.border import check_leaf, check_objects, without_derivative
from ._core.numpy_facts import FLOAT, SCALARS, dtype_of, shape_of
from ._core.pytree import (
    LEAF,
    describe,
    flatten,
    instead_of,
    is_value,
    paths,
    same_structure,
    unflatten,
)
from ._core.tensor import Tensor
from ._level import Level
from ._spares import COUNTS, getrefcount

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
        if own.kind not in "fciub":
            raise without_derivative(ans)
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
    if own.kind not in "fciub":
        raise without_derivative(a)
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


def cast_given(label: str, what: Callable[[], str], c: Any, dtype: np.dtype) -> Any:
    """`cast`, of a (co)tangent that a user's rule has made; ``what()`` is it in a message."""
    own = dtype_of(c)
    if own is dtype and type(c) is ndarray:
        return c
    check_leaf(label, what, c)
    if own.kind not in "biufc":
        raise TypeError(f"{label}: {what()} has dtype {own}; return an array of numbers")
    if own.kind == "c" and dtype.kind != "c":
        raise TypeError(
            f"{label}: {what()} has dtype {own}, but what it belongs to is real, of dtype {dtype}; "
            f"return its real part, numpy.real(c), where the imaginary part has no meaning"
        )
    return cast(c, dtype)


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
    if len(values) == 1 and not given:
        if type(values[0]) is ndarray and not values[0].flags.writeable:
            values[0] = values[0].copy()
        return values
    owners = {id(owner_of(x)) for x in given if type(x) not in SCALARS} if given else set()
    for i, x in enumerate(values):
        kind = type(x)
        if kind is not ndarray and not isinstance(x, Tensor):
            continue
        owner = x if kind is ndarray and x.base is None else owner_of(x)
        if owner is None:
            continue
        if id(owner) in owners:
            values[i] = x.copy() if kind is ndarray else np.copy(x)
        elif kind is ndarray and not x.flags.writeable:
            values[i] = x.copy()
        owners.add(id(owner))
    return values


def apart(values: list, others: Sequence = ()) -> list:
    """The results of a user's function, as `values` that the caller alone holds.

    An array that somebody else may hold becomes a view that cannot be written to, so that
    `separate` copies it where it comes out as a result. A tensor is copied where it is memory
    of `others`.
    """
    owners = None
    for i in range(len(values)):
        kind = type(values[i])
        if kind is ndarray:
            if not COUNTS or getrefcount(values[i]) > 2 or values[i].base is not None:
                values[i] = values[i].view()
                values[i].flags.writeable = False
        elif kind not in SCALARS and isinstance(values[i], Tensor):
            if owners is None:
                owners = {id(owner_of(v)) for v in others} - {id(None)}
            if id(owner_of(values[i])) in owners:
                values[i] = np.copy(values[i])
    return values


def owner_of(x: Any) -> Any:
    """The array whose memory `x` is, of any level; None for what is no array."""
    if type(x) is ndarray:
        base = x.base
        if base is None or (type(base) is ndarray and base.base is None):
            return x if base is None else base
    while isinstance(x, Tensor):
        x = x._value
    if not isinstance(x, ndarray):
        return None
    owner: Any = x
    base = x
    while base is not None:
        if isinstance(base, ndarray):
            owner = base
        base = getattr(base, "base", None)  # of as_strided an object that is no array
    return owner


def filled(grads: list, values: Sequence) -> list:
    """(Co)tangents with the zeros of their values for None; those of numbers are numbers."""
    for i, g in enumerate(grads):
        if g is None:
            grads[i] = zeros(values[i])
        elif type(g) is ndarray and type(values[i]) in SCALARS and not g.ndim:
            grads[i] = g[()]
    return grads


def is_inexact(value: Any) -> bool:
    if type(value) is float64:
        return True
    while isinstance(value, Tensor):  # every level keeps the dtype of what it wraps
        value = value._value
    return dtype_of(value).kind in "fc"


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
        leaves, structure = flatten(x, level, f"args[{argnums}]")
        chosen: Sequence = (argnums,)
    else:
        if type(argnums) is Names:
            chosen, several = argnums.find(level, args, kwargs), not argnums.single
        else:
            chosen, several = positions(level, args, argnums), isinstance(argnums, tuple)
        picked = tuple([kwargs[n] if type(n) is str else args[n] for n in chosen])
        leaves, structure = flatten(picked if several else picked[0], level, "an argument")
    check_inputs(level, leaves, chosen_paths, args, chosen, kwargs, integers=integers)
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
        if not isinstance(leaf, Tensor):
            if not is_value(leaf):
                raise TypeError(
                    f"{level}: {where(*given)[i]} is a {type(leaf).__name__}, not an array; "
                    f"{instead_of(leaf)}, and leave other arguments out of argnums (or argnames)"
                )
            check_leaf(level, lambda i=i: where(*given)[i], leaf)
        if not is_inexact(leaf) and not (integers and dtype_of(leaf).kind in "iub"):
            convert = "float(x)" if kind is int or kind is bool else "x.astype(float)"
            raise TypeError(
                f"{level}: {where(*given)[i]} has dtype {dtype_of(leaf)}; derivatives need a "
                f"floating-point or complex input: pass {convert}, or leave it out "
                f"of argnums (or argnames)"
            )


def split_aux(level: Level, out: Any) -> tuple:
    """The output and the rest of what a function with `has_aux` returned."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            f"{level}: has_aux=True needs a function that returns (output, aux); it "
            f"returned {describe(out)}"
        )
    leaves, structure = flatten(out[1], level, "aux")
    aux = []
    for i, x in enumerate(leaves):
        if isinstance(x, Tensor):
            x = level.lower(x)
        else:
            check_objects(level, lambda i=i: paths(out[1], "aux")[i], x)
        aux.append(x)
    return out[0], unflatten(structure, shown(aux))


def arrays_of(level: Level, out: Any) -> tuple[list, Any]:
    """The leaves and the structure of a result, all of whose leaves must be arrays."""
    if type(out) is level.cls:
        return [out], LEAF
    leaves, structure = flatten(out, level, "the result")
    for i, y in enumerate(leaves):
        if not is_value(y):
            where = paths(out, "the result")[i]
            raise TypeError(f"{level}: {where} is a {type(y).__name__}; {instead_of(y, 'return')}")
        if type(y) is not level.cls:
            check_leaf(level, lambda i=i: paths(out, "the result")[i], y)
            if dtype_of(y).kind not in "biufc":
                raise TypeError(
                    f"{level}: {paths(out, 'the result')[i]} has dtype {dtype_of(y)}, which has no "
                    f"derivative; return arrays of numbers, and what else there is as aux"
                )
    return leaves, structure


def match(
    level: Level | str, primals: list, structure: Any, tangents: Any, noun: str, root: str
) -> list:
    """The leaves of `tangents`, checked against the primals they belong to."""
    leaves, own = flatten(tangents, level, f"the {noun}s")
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
        if type(tangent) is not ndarray or own is not dtype:
            _check_numbers(level, tangent, noun, primals, structure, root, i)
        if own.kind == "c" and dtype.kind != "c":
            raise ValueError(
                f"{level}: the {noun} of {paths(unflatten(structure, primals), root)[i]} has "
                f"dtype {own}, but the value has dtype {dtype}; pass its real part"
            )
        matched.append(tangent if own is dtype else cast(tangent, dtype))
    return matched


def _check_numbers(
    level: Any, tangent: Any, noun: str, primals: list, structure: Any, root: str, i: int
) -> None:
    """Raise where a (co)tangent is no array of numbers."""
    where = f"the {noun} of {paths(unflatten(structure, primals), root)[i]}"
    check_leaf(level, where, tangent)
    if dtype_of(tangent).kind not in "biufc":
        raise TypeError(f"{level}: {where} has dtype {dtype_of(tangent)}; pass an array of numbers")
