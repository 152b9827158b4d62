"""The methods of ufuncs, and the ufuncs and gufuncs that nobody declared.

The methods of declared ufuncs are the NumPy functions they mean. Every other ufunc, be it
SciPy's or a user's own, gets a record on its first use: with a batching rule, and
without derivatives.
"""

import functools
import re

import numpy as np

from .._core.numpy_facts import dtype_of, home_of, name_of
from .._core.op import Op
from .._core.rule import Rule
from .._core.table import MAKERS, OPS, load
from .accumulation import accumulate_rules, differentiable, reduce_rules, reduceat_rules
from .axes import as_array, batch_shape, shift, strong
from .constructors import composite, elementwise_vmap, op, quiet, reduction_vmap
from .reduction import typed
from .writing import ufunc_at, writing

_NoValue = np._NoValue

# ---- reductions and accumulations that have a name of their own ----


def _cast(array, dtype):
    return array if dtype is None else np.astype(as_array(array), dtype)


def _reduce(func, neutral=None, prepared=lambda array, dtype: array):
    """The signature of ``ufunc.reduce``; `neutral` stands where ``where=`` is false, or else
    `initial`, in the dtype of what is reduced, which NumPy casts it to.

    The mask may be the only tensor (`numpy.sum` does not dispatch on it and ends here).
    """

    def body(array, axis=0, dtype=None, out=None, keepdims=False, initial=_NoValue, where=True):
        if np.broadcast_shapes(np.shape(array), np.shape(where)) != np.shape(array):
            raise ValueError("the mask that where= gives has more elements than what is reduced")
        given = {"dtype": dtype} if dtype is not None and prepared is not _cast else {}
        if initial is not _NoValue and initial is not None:
            given["initial"] = initial
        array = prepared(array, dtype)
        if where is not True:
            if hasattr(where, "dtype") and where.dtype.kind != "b":
                raise TypeError(f"where= has to be of dtype bool, and has {where.dtype}")
            fill = neutral
            if fill is None:
                fill = np.astype(as_array(given.get("initial")), dtype_of(array), copy=False)
            array = np.where(where, array, fill)
        return func(array, axis=axis, keepdims=keepdims, **given)

    return body


def _truth(func, pair):
    """`np.any` or `np.all`, which do not know ``initial=`` and ``dtype=``."""

    def reduced(a, axis, keepdims, initial=None, dtype=None):
        if dtype is not None and np.dtype(dtype).kind not in "bO":
            raise TypeError(f"No loop matching dtype={dtype} was found for ufunc {name_of(pair)}")
        value = func(a if dtype is None else np.astype(a, dtype), axis=axis, keepdims=keepdims)
        return value if initial is None else pair(value, initial)

    return reduced


for ufunc, func, neutral in (
    (np.add, np.sum, 0), (np.multiply, np.prod, 1),
    (np.maximum, np.max, None), (np.minimum, np.min, None),
    (np.logical_or, _truth(np.any, np.logical_or), False),
    (np.logical_and, _truth(np.all, np.logical_and), True),
):  # fmt: skip
    cast = {"prepared": _cast} if func in (np.max, np.min) else {}
    composite(ufunc.reduce, _reduce(func, neutral, **cast))


def _log_of_sum(pair, exp, log):
    def prepared(array, dtype):
        """In the dtype of the result: of whole numbers that of their logarithms."""
        one = np.ones((), dtype_of(array))
        dtype = pair(one, one, dtype=dtype).dtype
        return array if dtype_of(array) == dtype else np.astype(array, dtype)

    def reduced(a, axis, keepdims, initial=-np.inf, dtype=None):
        # Any shift gives the same result: this one is a constant for a derivative.
        shift = np.rint(np.max(a, axis=axis, keepdims=True, initial=-np.inf))
        shift = np.where(np.isfinite(shift), shift, 0)
        total = np.sum(exp(a - shift), axis=axis, keepdims=keepdims)
        empty = np.equal(total, 0)
        value = np.where(empty, -np.inf, log(np.where(empty, 1, total)))
        value = value + np.reshape(shift, np.shape(total))
        return value if initial == -np.inf else pair(value, initial)

    return reduced, -np.inf, prepared


composite(np.logaddexp.reduce, _reduce(*_log_of_sum(np.logaddexp, np.exp, np.log)))
composite(np.logaddexp2.reduce, _reduce(*_log_of_sum(np.logaddexp2, np.exp2, np.log2)))


def _accumulate(func):
    def body(array, axis=0, dtype=None, out=None):
        if np.ndim(array) == 0:
            raise TypeError("cannot accumulate on a scalar")
        return func(array, axis=axis, dtype=dtype)

    return body


composite(np.add.accumulate, _accumulate(np.cumsum))
composite(np.multiply.accumulate, _accumulate(np.cumprod))

# ---- the methods of any ufunc ----


def _method(func, owner):
    """The record of a bound method of a ufunc, which its name tells."""
    if func.__name__ == "outer":
        return _composite(func, functools.partial(_outer, owner))
    if func.__name__ == "at":
        return writing(func, ufunc_at(owner))
    record = OPS.get(owner)
    constant = record is not None and record.constant
    known = not constant and differentiable(owner)
    if func.__name__ == "reduceat":
        rules = _in_dtype(reduceat_rules(owner)) if known else {}
        return Op(
            func,
            "array indices axis dtype out",
            "array indices",
            vmap=_reduceat(func),
            constant=constant,
            **rules,
        )
    if func.__name__ == "accumulate":
        rules = _in_dtype(accumulate_rules(owner)) if known else {}
        return Op(func, "array axis dtype out", vmap=_along_axis(func), constant=constant, **rules)
    rules = _in_dtype(reduce_rules(owner)) if known else {}
    return Op(
        func, "array axis dtype out keepdims initial where", "array where",
        vmap=_reduction(func), constant=constant, **rules,
    )  # fmt: skip


def _in_dtype(rules):
    """Rules of what is computed in the dtype that ``dtype=`` asks for."""
    return {mode: {"array": _typed_rule(given["array"], mode)} for mode, given in rules.items()}


def _typed_rule(rule, mode):
    rule = rule if isinstance(rule, Rule) else Rule(rule, ())
    place = rule.needs.index("array")

    def fn(g, *saved):
        *kept, dtype = saved
        kept = [*kept[:place], *typed(dtype, kept[place]), *kept[place + 1 :]]
        return rule.fn(*typed(dtype if mode == "jvp" else None, g), *kept)

    whole = Rule((fn, *rule.needs, "dtype"), (), rule.holomorphic)
    whole.defaults = {**rule.defaults, "dtype": None}
    return whole


def _composite(func, body):
    return Op(func, "", "", family="composite", body=body)


def _outer(owner, a, b, **kwargs):
    a, b = strong(as_array(a)), strong(as_array(b))
    return owner(np.reshape(a, np.shape(a) + (1,) * np.ndim(b)), b, **kwargs)


def _along_axis(func):
    return lambda k, array, axis=0, **params: func(
        array, axis=shift(axis, k, np.ndim(array) - k), **params
    )


def _reduction(func):
    rule = reduction_vmap(func)
    return lambda k, array, axis=0, **params: rule(k, array, axis=axis, **params)


def _reduceat(func):
    def rule(k, array, indices, axis=0, **params):
        logical = np.shape(indices)[k:]
        batch = np.shape(indices)[:k]
        if all(n == 1 for n in batch):
            axis = shift(axis, k, np.ndim(array) - k)
            return func(array, np.reshape(indices, logical), axis=axis, **params)
        batch = batch_shape(k, array, indices)
        array = np.broadcast_to(array, batch + np.shape(array)[k:])
        indices = np.broadcast_to(indices, batch + logical)
        if 0 in batch:
            one = np.zeros(np.shape(array)[k:], array.dtype)
            form = func(one, np.zeros(logical, int), axis=axis, **params)
            return np.zeros(batch + np.shape(form), form.dtype)
        rows = [func(array[i], indices[i], axis=axis, **params) for i in np.ndindex(*batch)]
        return np.reshape(np.stack(rows), batch + np.shape(rows[0]))

    return rule


def _add_reduceat_vjp(g, array_shape, indices, axis=0):
    """Each element gets the cotangents of the slices that it is in."""
    axis = shift(axis, 0, len(array_shape))
    n = array_shape[axis]
    start = np.reshape(indices, (-1, 1))
    stop = np.concatenate([start[1:], np.full((1, 1), n)])
    element = np.arange(n)
    member = np.equal(element, start) | (element >= start) & (element < stop)
    given = np.tensordot(member.astype(g.dtype), np.moveaxis(g, axis, 0), (0, 0))
    return np.moveaxis(given, 0, axis)


op(
    np.add.reduceat,
    "array indices axis dtype out",
    "array indices",
    vmap=_reduceat(np.add.reduceat),
    jvp="linear",
    vjp={"array": _add_reduceat_vjp},
)

# ---- generalized ufuncs: their own axes are the last ones, so a batch may lead ----


def _core_ranks(signature):
    """The number of core axes of each operand and result: ``(m,n),(n)->(m)`` is 2, 1, 1."""
    sides = signature.replace(" ", "").split("->")
    return tuple(
        tuple(len([n for n in core.split(",") if n]) for core in re.findall(r"\(([^)]*)\)", side))
        for side in sides
    )


def _negative(axes, ndim):
    """Axes counted from the end, where a batch in front does not move them."""
    axes = axes if isinstance(axes, (tuple, list)) else (axes,)
    return tuple(shift(axis, 0, ndim) - ndim for axis in axes)


def _gufunc_vmap(func):
    ins, outs = _core_ranks(func.signature)

    def rule(k, *xs, axis=None, axes=None, keepdims=False, **params):
        ranks = [max(np.ndim(x) - k, 0) for x in xs]
        loop = max(r - core for r, core in zip(ranks, ins))
        if axis is not None:
            axes = [(axis,) if core else () for core in ins]
            axes += [(axis,) if core or keepdims else () for core in outs]
        if axes is not None:
            results = [loop + (core or (ins[0] if keepdims else 0)) for core in outs]
            params["axes"] = [_negative(a, n) for a, n in zip(axes, ranks + results)]
        if keepdims:
            params["keepdims"] = True
        return func(
            *[_loop_axes(x, k, loop - r + core) for x, r, core in zip(xs, ranks, ins)], **params
        )

    return rule


def _loop_axes(x, k, missing):
    """`x` with axes of size 1 after its batch axes."""
    shape = np.shape(x)
    return np.reshape(x, (*shape[:k], *(1,) * missing, *shape[k:])) if missing and shape else x


@functools.lru_cache(maxsize=1024)
def _record(func, owner):
    """The record of a ufunc that nobody declared, or of a method of any ufunc."""
    if func is not owner:
        return _method(func, owner)
    load(home_of(func))
    if func in OPS:
        return OPS[func]
    operands = " ".join(f"x{i}" for i in range(func.nin))
    if func.signature is None:
        vmap = elementwise_vmap(quiet(func))
        return Op(func, f"{operands} out where", f"{operands} where", kernel=quiet(func), vmap=vmap)
    # An optional core axis (``n?``) is told by the rank, which a batch changes.
    batchable = "?" not in func.signature
    return Op(func, operands, operands, vmap=_gufunc_vmap(func) if batchable else None)


MAKERS[np.ufunc] = _record
