"""The methods of ufuncs, and the ufuncs and gufuncs without a declaration.

The methods of declared ufuncs are the NumPy functions of the same meaning. Every other ufunc,
of SciPy or of a user, gets a record on its first use: with a batching rule, and without
derivatives.
"""

import functools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._core.hooks import at_body
from .._core.numpy_facts import Axis, Function, Shape, Value, dtype_of, home_of, name_of
from .._core.numpy_private import NO_VALUE as _NoValue
from .._core.op import Op
from .._core.rule import Rule
from .._core.table import MAKERS, OPS, load
from .accumulation import accumulate_rules, is_differentiable, reduce_rules, reduceat_rules
from .axes import as_array, as_strong, batch_shape, shift
from .constructors import allow_missing_out, composite, elementwise_vmap, op, reduction_vmap
from .reduction import cast_to

# ---- reductions and accumulations that are NumPy functions, too ----


def _cast(array: Value, dtype: DTypeLike | None) -> Value:
    return array if dtype is None else np.astype(as_array(array), dtype)


def _reduce_body(
    func: Function, neutral: Value = None, prepared: Function = lambda array, dtype: array
) -> Function:
    """Return the body of ``ufunc.reduce``.

    Where ``where=`` is false it takes `neutral`, or else `initial`, in the dtype of the array,
    which NumPy casts it to. The mask may be the only tensor (`numpy.sum` does not dispatch on
    it and calls this).
    """

    def body(
        array: Value,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: Value | None = None,
        keepdims: bool = False,
        initial: Value = _NoValue,
        where: Value = True,
    ) -> Value:
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


def _truth_reduction(func: Function, pair: np.ufunc) -> Function:
    """Return `np.any` or `np.all` with ``initial=`` and ``dtype=``."""

    def reduced(
        a: Value, axis: Axis, keepdims: bool, initial: Value = None, dtype: DTypeLike | None = None
    ) -> Value:
        if dtype is not None and np.dtype(dtype).kind not in "bO":
            raise TypeError(f"No loop matching dtype={dtype} was found for ufunc {name_of(pair)}")
        value = func(a if dtype is None else np.astype(a, dtype), axis=axis, keepdims=keepdims)
        return value if initial is None else pair(value, initial)

    return reduced


for ufunc, func, neutral in (
    (np.add, np.sum, 0), (np.multiply, np.prod, 1),
    (np.maximum, np.max, None), (np.minimum, np.min, None),
    (np.logical_or, _truth_reduction(np.any, np.logical_or), False),
    (np.logical_and, _truth_reduction(np.all, np.logical_and), True),
):  # fmt: skip
    cast = {"prepared": _cast} if func in (np.max, np.min) else {}
    composite(ufunc.reduce, _reduce_body(func, neutral, **cast))


def _log_sum_reduction(pair: np.ufunc, exp: Function, log: Function) -> tuple:
    def prepared(array: Value, dtype: DTypeLike | None) -> Value:
        """Return the array in the dtype of the result: for integers, that of their logarithms."""
        one = np.ones((), dtype_of(array))
        dtype = pair(one, one, dtype=dtype).dtype
        return array if dtype_of(array) == dtype else np.astype(array, dtype)

    def reduced(
        a: Value,
        axis: Axis,
        keepdims: bool,
        initial: Value = -np.inf,
        dtype: DTypeLike | None = None,
    ) -> Value:
        # Any shift gives the same result: this one is a constant for a derivative.
        shift = np.rint(np.max(a, axis=axis, keepdims=True, initial=-np.inf))
        shift = np.where(np.isfinite(shift), shift, 0)
        total = np.sum(exp(a - shift), axis=axis, keepdims=keepdims)
        empty = np.equal(total, 0)
        value = np.where(empty, -np.inf, log(np.where(empty, 1, total)))
        value = value + np.reshape(shift, np.shape(total))
        return value if initial == -np.inf else pair(value, initial)

    return reduced, -np.inf, prepared


composite(np.logaddexp.reduce, _reduce_body(*_log_sum_reduction(np.logaddexp, np.exp, np.log)))
composite(np.logaddexp2.reduce, _reduce_body(*_log_sum_reduction(np.logaddexp2, np.exp2, np.log2)))


def _accumulate_body(func: Function) -> Function:
    def body(
        array: Value, axis: int = 0, dtype: DTypeLike | None = None, out: Value | None = None
    ) -> Value:
        if np.ndim(array) == 0:
            raise TypeError("cannot accumulate on a scalar")
        return func(array, axis=axis, dtype=dtype)

    return body


composite(np.add.accumulate, _accumulate_body(np.cumsum))
composite(np.multiply.accumulate, _accumulate_body(np.cumprod))

# ---- the methods of any ufunc ----


def _method_record(func: Function, owner: np.ufunc) -> Op:
    """Return the record of a bound method of a ufunc, by its name."""
    if func.__name__ == "outer":
        return Op(func, "", "", family="composite", body=functools.partial(_outer, owner))
    if func.__name__ == "at":
        return Op(func, "", "", family="writing", body=at_body(owner))
    record = OPS.get(owner)
    constant = record is not None and record.constant
    known = not constant and is_differentiable(owner)
    params, other, vmap, rules_of = {
        "reduce": ("axis dtype out keepdims initial where", "where", _reduce_vmap, reduce_rules),
        "reduceat": ("indices axis dtype out", "indices", _reduceat_vmap, reduceat_rules),
        "accumulate": ("axis dtype out", "", _accumulate_vmap, accumulate_rules),
    }[func.__name__]
    rules = _cast_rules(rules_of(owner)) if known else {}
    return Op(
        func, f"array {params}", f"array {other}", vmap=vmap(func), constant=constant, **rules
    )


def _cast_rules(rules: dict) -> Value:
    """Return the rules for operands in the dtype that ``dtype=`` asks for."""
    return {mode: {"array": _cast_rule(given["array"], mode)} for mode, given in rules.items()}


def _cast_rule(rule: Rule | Function, mode: str) -> Rule:
    rule = rule if isinstance(rule, Rule) else Rule(rule, ())
    place = rule.needs.index("array")

    def fn(g: Value, *saved: Value) -> Value:
        *kept, dtype = saved
        kept = [*kept[:place], *cast_to(dtype, kept[place]), *kept[place + 1 :]]
        return rule.fn(*cast_to(dtype if mode == "jvp" else None, g), *kept)

    whole = Rule((fn, *rule.needs, "dtype"), (), rule.holomorphic)
    whole.defaults = {**rule.defaults, "dtype": None}
    return whole


def _outer(owner: np.ufunc, a: Value, b: Value, **kwargs: Any) -> Value:
    a, b = as_strong(as_array(a)), as_strong(as_array(b))
    return owner(np.reshape(a, np.shape(a) + (1,) * np.ndim(b)), b, **kwargs)


def _accumulate_vmap(func: Function) -> Function:
    return lambda k, array, axis=0, **params: func(
        array, axis=shift(axis, k, np.ndim(array) - k), **params
    )


def _reduce_vmap(func: Function) -> Function:
    rule = reduction_vmap(func)
    return lambda k, array, axis=0, **params: rule(k, array, axis=axis, **params)


def _reduceat_vmap(func: Function) -> Function:
    def rule(k: int, array: Value, indices: Value, axis: int = 0, **params: Any) -> Value:
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


def _add_reduceat_vjp(g: Value, array_shape: Shape, indices: Value, axis: int = 0) -> Value:
    """Return, for each element, the sum of the cotangents of the slices that it is in."""
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
    vmap=_reduceat_vmap(np.add.reduceat),
    jvp="linear",
    vjp={"array": _add_reduceat_vjp},
)

# ---- generalized ufuncs: their own axes are the last ones, so a batch may lead ----


def _core_ranks(signature: str) -> Value:
    """Return the number of core axes of operands and results: ``(m,n),(n)->(m)`` is 2, 1, 1."""
    sides = signature.replace(" ", "").split("->")
    return tuple(
        tuple(len([n for n in core.split(",") if n]) for core in re.findall(r"\(([^)]*)\)", side))
        for side in sides
    )


def _negative_axes(axes: int | Sequence[int], ndim: int) -> tuple[int, ...]:
    """Return axes counted from the end, where a batch in front does not move them."""
    axes = axes if isinstance(axes, (tuple, list)) else (axes,)
    return tuple(shift(axis, 0, ndim) - ndim for axis in axes)


def _gufunc_vmap(func: np.ufunc) -> Function:
    ins, outs = _core_ranks(func.signature)  # type: ignore[arg-type]

    def rule(
        k: int,
        *xs: Value,
        axis: int | None = None,
        axes: Sequence | None = None,
        keepdims: bool = False,
        **params: Any,
    ) -> Value:
        ranks = [max(np.ndim(x) - k, 0) for x in xs]
        loop = max(r - core for r, core in zip(ranks, ins))
        if axis is not None:
            axes = [(axis,) if core else () for core in ins]
            axes += [(axis,) if core or keepdims else () for core in outs]
        if axes is not None:
            results = [loop + (core or (ins[0] if keepdims else 0)) for core in outs]
            params["axes"] = [_negative_axes(a, n) for a, n in zip(axes, ranks + results)]
        if keepdims:
            params["keepdims"] = True
        return func(
            *[_insert_loop_axes(x, k, loop - r + core) for x, r, core in zip(xs, ranks, ins)],
            **params,
        )

    return rule


def _insert_loop_axes(x: Value, k: int, missing: int) -> Value:
    """Return `x` with axes of size 1 after its batch axes."""
    shape = np.shape(x)
    return np.reshape(x, (*shape[:k], *(1,) * missing, *shape[k:])) if missing and shape else x


@functools.lru_cache(maxsize=1024)
def _record(func: Any, owner: np.ufunc) -> Op:
    """Return the record of a ufunc without a declaration, or of a method of any ufunc."""
    if func is not owner:
        return _method_record(func, owner)
    load(home_of(func))
    if func in OPS:
        return OPS[func]
    operands = " ".join(f"x{i}" for i in range(func.nin))
    if func.signature is None:
        vmap = elementwise_vmap(allow_missing_out(func))
        return Op(
            func,
            f"{operands} out where",
            f"{operands} where",
            kernel=allow_missing_out(func),
            vmap=vmap,
        )
    # The rank decides whether an optional core axis (``n?``) is there, and a batch changes it.
    batchable = "?" not in func.signature
    return Op(func, operands, operands, vmap=_gufunc_vmap(func) if batchable else None)


MAKERS[np.ufunc] = _record
