"""Constructors of operations: each takes facts about one and derives its rules.

NOTE [rules stay inside the protocol]
    A rule is plain NumPy on values one level down, which may be tensors of an outer
    level. So no item assignment, and none of the functions that do not dispatch
    (`asarray`, `array`, `full`, `arange` of a value, ``ndarray.method(value)``).

NOTE [batch axes lead]
    A batching rule gets `k` and operands with `k` leading batch axes, each of the
    batch's size or 1; Python scalars come as they are. The result has `k` leading batch
    axes too. Logical axis ``i`` is physical axis ``i + k``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.errors import DataDependentError, MutationError, UnsupportedError
from .._core.numpy_facts import (
    PLAIN,
    SIMPLE,
    SPELLED,
    Axis,
    Function,
    Value,
    align,
    dtype_of,
    name_of,
)
from .._core.op import Op
from .._core.own_code import note_code
from .._core.rule import SQUARED, STEEP, ZEROS, Kind, Rule, declare_zeros, unchanged
from .._core.sharing import declare_memory
from .._core.table import MAKERS, OPS, PARTIALS, UNSUPPORTED
from .axes import batch_shape, flatten_examples, ignore_scalar_axis, shift, shift_all
from .primitives import NUMBERS, primitive

__all__ = [
    "MAKERS",
    "NUMBERS",
    "OPS",
    "PLAIN",
    "DataDependentError",
    "MutationError",
    "Op",
    "Rule",
    "UnsupportedError",
    "align",
    "allow_missing_out",
    "check_values",
    "composite",
    "constant",
    "data_dependent_vmap",
    "dtype_of",
    "elementwise",
    "elementwise_vmap",
    "linear",
    "name_of",
    "one_axis_vmap",
    "op",
    "primitive",
    "reduce_kernel",
    "reduction_vmap",
    "unsupported",
]


def reduce_kernel(func: Callable, ufunc: np.ufunc) -> Callable:
    """Return `func` without its wrapper, a third of its time, where ``ufunc.reduce`` is enough."""

    def kernel(a: Value, axis: Axis = None, keepdims: bool = False, **params: Any) -> Value:
        if type(a) is np.ndarray and not params:
            return ufunc.reduce(a, axis, None, None, keepdims)  # type: ignore[call-arg]
        if axis is not None:  # as given: the first call of an op comes here, and later ones do not
            params["axis"] = axis
        if keepdims:
            params["keepdims"] = keepdims
        return func(a, **params)

    kernel.passes_on = func  # type: ignore[attr-defined]  # what a tensor gets
    return kernel


# ---- batching rules that several families share ----


def elementwise_vmap(func: Callable) -> Callable:
    """Return the rule of an operation that broadcasts: align the ranks, and call it once."""

    def rule(k: int, *xs: Value, **params: Any) -> Value:
        if hasattr(params.get("where"), "shape"):
            *xs, params["where"] = align(k, (*xs, params["where"]))  # type: ignore[assignment]
            return func(*xs, **params)
        return func(*align(k, xs), **params)

    return rule


def reduction_vmap(func: Callable, scalars: bool = True) -> Callable:
    """Return the rule of a reduction, where ``axis=None`` stands for all axes.

    `scalars`: the reduction takes axis 0 of an array without axes; see `ignore_scalar_axis`.
    """

    def rule(k: int, a: Value, axis: Any = None, **params: Any) -> Value:
        if params and hasattr(params.get("where"), "shape"):
            a, where = align(k, (a, params["where"]))
            params["where"] = where
            if np.shape(a)[:k] != np.shape(where)[:k]:  # a reduction does not broadcast `a`
                a = np.broadcast_to(a, batch_shape(k, a, where) + np.shape(a)[k:])
        if type(axis) is not int or not k - a.ndim <= axis < 0:  # counted from the last one
            if a.ndim == k and (scalars or "where" in params):
                axis = ignore_scalar_axis(axis, 0)
            axis = shift_all(axis, k, a.ndim - k)
        return func(a, axis=axis, **params)

    return rule


def one_axis_vmap(func: Callable, default: int | None = -1, scalars: bool = False) -> Callable:
    """Return the rule of an operation along one axis; ``axis=None`` is the flattened array.

    `scalars`: an array without axes counts as one of one element.
    """

    def rule(k: int, a: Value, *args: Value, axis: int | None = default, **params: Any) -> Value:
        if axis is None or (scalars and ignore_scalar_axis(axis, np.ndim(a) - k) is None):
            a, axis = flatten_examples(k, a), -1
        axis = shift(axis, k, np.ndim(a) - k)
        return func(a, *args, axis=axis, **params)

    return rule


def data_dependent_vmap(
    func: Callable, remedy: str, constant: bool = False, pattern: Callable | None = None,
    name: str = "",
) -> Callable:  # fmt: skip
    """Return the rule of an operation whose result has no fixed shape: it raises.

    Where the result is a `constant`, it is that of all examples if these are equal. The truth
    values of `pattern`, by default those of the operand, tell which examples are alike.
    """

    def rule(k: int, *args: Value, **params: Any) -> Value:
        if constant and 0 not in args[0].shape[:k]:
            first = args[0][(slice(1),) * k]
            if are_alike(args[0], first):
                result = func(np.reshape(first, first.shape[k:]), **params)
                if isinstance(result, tuple):
                    return tuple([r[(None,) * k] for r in result])
                return result[(None,) * k]
        error = DataDependentError(refusal_of(func, remedy, name))
        if constant:
            told = pattern or (lambda x, **params: np.not_equal(x, 0))
            error.pattern = told(args[0], **params)
        raise error

    return rule


def are_alike(x: Value, first: Value) -> bool:
    """Return whether all examples equal the first one."""
    return bool(np.all(x == first))


def refusal_of(func: Callable, remedy: str, name: str = "") -> str:
    """Return the message for a result whose shape would differ from example to example."""
    return (
        f"the shape of the result of {name or name_of(func)} depends on the data, which "
        f"differs from example to example; {remedy}"
    )


def _check_values(x: Value, passes: Callable, message: str) -> Value:
    """Return `x`, or raise where its values, those of all examples, do not pass a check."""
    if not passes(x):
        raise ValueError(message)
    return x


check_values = primitive(_check_values)
check_values.checks = True  # type: ignore[attr-defined]  # a program makes it for its error alone


# ---- the constructors ----


def op(func: Callable, params: str, arrays: str = "", **facts: Any) -> Op:
    """Declare an operation by its rules; the other constructors call this one.

    Parameters
    ----------
    func : callable
        The function that users call.
    params, arrays : str
        The names of its parameters, and of the ones that are operands (by default the first).
    **facts
        The rules and facts of `Op`: ``vmap``, ``jvp``, ``vjp``, ``kernel`` and others. A rule of
        ``jvp`` or ``vjp`` is ``lambda g, x, ans: ...``: the (co)tangent, then any operands,
        parameters and the result ``ans`` by their names. It is NumPy code.

    Returns
    -------
    Op
        The record, which is found by `func`.

    Examples
    --------
    >>> import functier as ft
    >>> swap = primitive(lambda x: x[::-1].copy())
    >>> record = op(
    ...     swap, "x", vmap=lambda k, x: np.flip(x, k), jvp={"x": lambda t: swap(t)},
    ...     vjp={"x": lambda g: swap(g)},
    ... )
    >>> ft.grad(lambda x: swap(x)[0])(np.zeros(3))
    array([0., 0., 1.])
    """
    zeros = facts.pop("zeros", None)
    record = OPS[func] = Op(func, params, arrays, **facts)
    if zeros:
        for rules in (record.jvp, record.vjp):
            if isinstance(rules, dict):
                declare_zeros(zeros, [rule.fn for rule in rules.values()])
    return record


def elementwise(
    func: Callable,
    *partials: Function | Rule | tuple | None,
    params: str = "",
    holomorphic: bool = True,
    vmap: Callable | None = None,
    zeros: Kind = "each",
    steep: bool = False,
    **facts: Any,
) -> Op:
    """Declare an operation that works on each element by itself.

    Parameters
    ----------
    func : callable
        A ufunc, or another function that broadcasts.
    *partials : callable, Rule, tuple or None
        A rule for each operand: ``lambda g, x: g * cos(x)``, multiplication by the derivative. It
        is the jvp and, with conjugation by the engine, the vjp. None is a zero derivative.
        ``(times, "y")`` is a function that several rules share, and the names of the values it
        needs.
    params : str
        The names of the parameters; by default x, y, z and w for the operands.
    holomorphic : bool
        False for a function without a complex derivative, with ``jvp=`` and ``vjp=`` as of `op`.
    vmap : callable, optional
        The batching rule; by default the operands are aligned, and `func` is called once.
    zeros : str
        The kind of all rules, which says where zero times infinity is zero: see `Zeros`.
    steep : bool
        Whether the derivative is infinite at a point.
    **facts
        As of `op`.

    Returns
    -------
    Op
        The record.

    Examples
    --------
    >>> import functier as ft
    >>> cube = primitive(lambda x: x * x * x)
    >>> record = elementwise(cube, lambda g, x: g * 3 * x * x)
    >>> float(ft.grad(cube)(2.0)), float(ft.grad(ft.grad(cube))(2.0))
    (12.0, 12.0)
    """
    ufunc = isinstance(func, np.ufunc)
    names = ("x", "y", "z", "w")[: getattr(func, "nin", len(partials) or 1)]
    params = params or " ".join(names)
    operands = params.split()[: len(names)]
    rules = {n: Rule(p, operands, holomorphic) for n, p in zip(operands, partials) if p}
    declare_zeros(zeros, [r.fn for r in rules.values()])
    if steep:
        STEEP.update((func, SPELLED.get(func, func)))
    if not facts.get("constant"):
        shared = _mask_rules(rules, operands) if ufunc else rules  # by both modes
        for mode in ("jvp", "vjp"):
            given = facts.setdefault(mode, shared)
            if ufunc and given is not shared:
                facts[mode] = _mask_rules(given, operands)
    record = op(
        func,
        f"{params} out where" if ufunc else params,
        f"{' '.join(operands)} where" if ufunc else " ".join(operands),
        family="elementwise",
        zeros=zeros,
        kernel=allow_missing_out(func) if ufunc else func,
        vmap=vmap or elementwise_vmap(allow_missing_out(func) if ufunc else func),
        **facts,
    )
    whole = len(rules) == len(names) and isinstance(func, np.ufunc) and func.nout == 1
    if whole and all(r.pick or not r.needs for r in rules.values()):
        if func in SIMPLE:
            # Others have no fast paths: these are made before their rules are imported, or not, and
            # forward mode's want tangents of the result's dtype (``wofz(float32)`` is double).
            row = tuple(x for r in rules.values() for x in (r.fn, r.pick, r.holomorphic))
            PARTIALS[func] = PARTIALS[SPELLED.get(func, func)] = row
        declare_memory("fresh", [r.fn for r in rules.values() if r.fn is not unchanged])
    return record


def allow_missing_out(func: Callable) -> Callable:
    """Return `func` for callers that give ``where=`` without ``out=``, which warns.

    They wrote ``out=None``, but NumPy drops it from the calls that it dispatches.
    """

    def kernel(*args: Value, **params: Any) -> Value:
        if "where" in params:
            params.setdefault("out", None)
        return func(*args, **params)

    return kernel


def _mask_rules(rules: dict, operands: list[str]) -> dict[str, Rule]:
    return {n: _mask_rule(r, operands) for n, r in rules.items()}


def _mask_rule(rule: Rule | Function | tuple, operands: list[str]) -> Rule:
    """Return the rule of a ufunc with ``where=`` and ``dtype=``: zero where nothing was computed.

    With a complex ``dtype=`` the rule gets complex operands. Where nothing was computed it
    gets 0.5, so that no bad or uninitialized number reaches a derivative of any order; nearly
    every ufunc has a derivative at 0.5.
    """
    rule = rule if isinstance(rule, Rule) else Rule(rule, operands)
    fn = _masked(rule.fn)
    if rule.fn in SQUARED:
        SQUARED.update({fn: _masked(SQUARED[rule.fn])})
    masked = Rule((fn, *rule.needs, "where", "dtype"), (), rule.holomorphic)
    masked.defaults = {**rule.defaults, "where": True, "dtype": None}
    declare_zeros(ZEROS[rule.fn].kind if rule.fn in ZEROS else "each", [fn], masked=True)
    return masked


def _masked(rule: Function) -> Function:
    def fn(g: Value, *saved: Value) -> Value:
        *saved, where, dtype = saved  # type: ignore[assignment]
        if dtype is not None and np.dtype(dtype).kind == "c":
            one = np.dtype(dtype).type(1)
            saved = [v * one if _is_real(v) else v for v in saved]  # type: ignore[assignment]
        if where is True:
            return rule(g, *saved)
        c = rule(g, *[np.where(where, v, 0.5) if _is_inexact(v) else v for v in saved])
        if isinstance(c, tuple):
            return tuple(None if v is None else np.where(where, v, 0) for v in c)
        return np.where(where, c, 0)

    return fn


def _is_real(value: Value) -> bool:
    return hasattr(value, "dtype") and value.dtype.kind in "fiu"


def _is_inexact(value: Value) -> bool:
    return hasattr(value, "dtype") and value.dtype.kind in "fc"


def linear(
    func: Callable, params: str, arrays: str = "", *, jvp: str = "linear", **facts: Any
) -> Op:
    """Declare an operation that is linear in the operands that `vjp` names: its jvp is itself.

    Parameters
    ----------
    func, params, arrays, **facts
        As of `op`; ``vjp=`` has a rule for each operand, and ``vmap=`` the batching rule.
    jvp : {"linear", "multilinear"}
        Whether it is linear in all of them at once, or in each with the others held fixed.

    Returns
    -------
    Op
        The record.

    Examples
    --------
    >>> import functier as ft
    >>> half = primitive(lambda x: x / 2)
    >>> record = linear(half, "x", vmap=lambda k, x: half(x), vjp={"x": lambda g: half(g)})
    >>> value, tangent = ft.jvp(half, (3.0,), (1.0,))
    >>> float(tangent)
    0.5
    """
    facts.setdefault("zeros", "product" if jvp == "multilinear" else "linear")
    return op(func, params, arrays, family="linear", jvp=jvp, **facts)


def constant(func: Callable, params: str, arrays: str = "", **facts: Any) -> Op:
    """Declare an operation whose derivative is zero; its result leaves grad and jvp levels.

    Parameters
    ----------
    func, params, arrays, **facts
        As of `op`.

    Returns
    -------
    Op
        The record.

    Examples
    --------
    >>> import functier as ft
    >>> sign = primitive(lambda x: 1.0 if x > 0 else -1.0)
    >>> record = constant(sign, "x")
    >>> float(ft.grad(lambda x: sign(x) * x)(-3.0))
    -1.0
    """
    return op(func, params, arrays, family="constant", constant=True, **facts)


def composite(func: Callable, body: Callable) -> Op:
    """Declare an operation that is made of others and needs no rules.

    Parameters
    ----------
    func : callable
        The function that users call.
    body : callable
        NumPy code with the same signature, which is run on tensors instead.

    Returns
    -------
    Op
        The record.

    Examples
    --------
    >>> import functier as ft
    >>> distance = primitive(lambda a, b: abs(a - b))
    >>> record = composite(distance, lambda a, b: np.abs(a - b))
    >>> float(ft.grad(distance)(1.0, 3.0))
    -1.0
    """
    note_code(getattr(func, "_implementation", None))  # runs where no operand is a tensor
    return op(func, "", "", family="composite", body=body)


op(
    check_values,
    "x passes message",
    vmap=lambda k, x, passes, message: check_values(x, passes, message),
    jvp={"x": lambda t: t},
    vjp={"x": lambda g: g},
    zeros="linear",
)


def unsupported(func: Callable, reason: str) -> None:
    """Declare a function that is not supported.

    Parameters
    ----------
    func : callable
        The function that users call; a call with a tensor raises `UnsupportedError`.
    reason : str
        The rest of the message, which says what to write instead.

    Examples
    --------
    >>> import functier as ft
    >>> draw = primitive(lambda x: x)
    >>> unsupported(draw, "write functier.random")
    >>> ft.grad(draw)(1.0)
    Traceback (most recent call last):
    ...
    functier.UnsupportedError: ... is not supported: write functier.random
    """
    UNSUPPORTED[func] = reason
