"""Reverse mode: the tape, the backward pass, and the transforms on it.

NOTE [a node is a tuple]
    ``(number, edges)``; an edge is ``(parent, rule, saved, fix)``. Numbers grow as the
    forward pass runs, so falling order is a topological order. The tape is what the
    output reaches through its edges: a dead branch is kept by nobody, and a tuple goes
    as soon as the backward pass drops it.
"""

import functools
import sys
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any, ParamSpec, overload

import numpy as np

from . import _diff
from ._diff import check_inputs, choose, fix_for, is_inexact, match, pull
from ._level import Escape, Level, LevelContext, check_escape
from ._op import PARTIALS, Call, Op, dtype_of, no_rule, shape_of
from ._pytree import describe, flatten, is_value, name_of_function, paths, unflatten
from ._tensor import SCALARS, Tensor

P = ParamSpec("P")

new = object.__new__
ndarray = np.ndarray
float64 = np.float64
ONE = float64(1.0)
number = count()
Node = tuple[int, tuple]


class GradLevel(Level):
    """A level of grad, value_and_grad or vjp: each tensor has a value and a node."""

    def track(self, value: Any) -> Any:
        """A tensor to differentiate by: a leaf of the tape."""
        x = new(self.cls)
        x._value, x._extra = value, (next(number), ())
        return x

    # ---- operations ----

    def unary(self, func: Any, x: Any) -> Any:
        record = PARTIALS.get(func)
        if record is None or type(x) is not self.cls:
            return Level.unary(self, func, x)
        value = x._value
        ans = func(value)
        rule, pick, holomorphic = record
        fix = None
        if not (type(ans) is float64 is type(value)):
            fix = fix_for(ans, value, holomorphic)
        y = new(self.cls)
        y._value = ans
        saved = pick((ans, value)) if pick else ()
        y._extra = next(number), ((x._extra, rule, saved, fix),)
        return y

    def binary(self, func: Any, a: Any, b: Any) -> Any:
        cls = self.cls
        record = PARTIALS.get(func)
        if record is None:
            return Level.binary(self, func, a, b)
        if type(a) is cls:
            x = a._value
            kind = type(b)
            rule, pick, holomorphic, rule2, pick2, holomorphic2 = record
            if kind is cls:
                y = b._value
                ans = func(x, y)
                values = ans, x, y
                edges: tuple = (
                    (
                        a._extra,
                        rule,
                        pick(values) if pick else (),
                        None if type(ans) is float64 is type(x) else fix_for(ans, x, holomorphic),
                    ),
                    (
                        b._extra,
                        rule2,
                        pick2(values) if pick2 else (),
                        None if type(ans) is float64 is type(y) else fix_for(ans, y, holomorphic2),
                    ),
                )
            elif kind in SCALARS or kind is ndarray:
                ans = func(x, b)
                saved = pick((ans, x, b)) if pick else ()
                fix = None if type(ans) is float64 is type(x) else fix_for(ans, x, holomorphic)
                edges = ((a._extra, rule, saved, fix),)
            else:
                return Level.binary(self, func, a, b)
        elif type(b) is cls and ((kind := type(a)) in SCALARS or kind is ndarray):
            y = b._value
            ans = func(a, y)
            rule, pick, holomorphic = record[3:]
            saved = pick((ans, a, y)) if pick else ()
            fix = None if type(ans) is float64 is type(y) else fix_for(ans, y, holomorphic)
            edges = ((b._extra, rule, saved, fix),)
        else:
            return Level.binary(self, func, a, b)
        z = new(cls)
        z._value, z._extra = ans, (next(number), edges)
        return z

    def apply(self, op: Op, call: Call) -> Any:
        values = [self.lower(x) for x in call.operands]
        ans = call.run(values)
        if op.constant:
            return ans
        cls, edges = self.cls, []
        for i, operand in enumerate(call.operands):
            if type(operand) is not cls or not is_inexact(values[i]):
                continue
            rule = op.vjp.get(call.names[i])
            if rule is None:
                raise no_rule(str(self), op, call.names[i])
            saved = rule.save(ans, call, values, i)
            fix = fix_for(ans, values[i], rule.holomorphic)
            edges.append((operand._extra, rule.fn, saved, fix))
        if not edges:
            return ans
        if isinstance(ans, (tuple, list)):
            return self.several(ans, edges)
        if not is_inexact(ans):
            return ans
        y = new(cls)
        y._value, y._extra = ans, (next(number), tuple(edges))
        return y

    def several(self, ans: Any, edges: list) -> Any:
        """Tensors for the results of an operation that has more than one."""
        edges = [(p, _with_zeros(rule, ans), saved, fix) for p, rule, saved, fix in edges]
        node = (next(number), tuple(edges))
        outputs = []
        for i, value in enumerate(ans):
            if is_value(value) and is_inexact(value):
                y = new(self.cls)
                edge = (node, _place(i, len(ans)), (), None)
                y._value, y._extra = value, (next(number), (edge,))
                value = y
            outputs.append(value)
        kind = type(ans)
        return kind(*outputs) if hasattr(kind, "_fields") else kind(outputs)

    def missing(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        raise no_rule(str(self), Op(func, "x", "x"), "x")

    # ---- the imperative style ----

    def make(self, cls: type, data: Any) -> Any:
        if not is_value(data):
            data = np.asarray(data)
        check_inputs(self, [data], lambda: [f"{cls.__name__}(x)"])
        return self.track(self.lower(data))

    def gradient(self, output: Any, inputs: Any) -> Any:
        """The gradient of the scalar `output` for `inputs`, a tensor or a pytree."""
        leaves, structure = flatten(inputs)
        for leaf in leaves:
            if type(leaf) is not self.cls:
                raise ValueError(
                    f"{self}: gradient(y, x) needs inputs made by {self.cls.__name__}(x); "
                    f"got {type(leaf).__name__}"
                )
        value, node = self.scalar(output)
        grads = backward([(node, _one(value))], [x._extra for x in leaves])
        return unflatten(structure, [self.filled(g, x._value) for g, x in zip(grads, leaves)])

    def scalar(self, output: Any) -> tuple[Any, Any]:
        """The value and node of a differentiated output, checked to be a real scalar."""
        if not is_value(output):
            raise TypeError(
                f"{self}: the function returned {describe(output)}; return one scalar, or "
                f"(scalar, aux) with has_aux=True"
            )
        mine = type(output) is self.cls
        value = output._value if mine else self.lower(output)
        if type(value) is not float64 and type(value) is not float:
            if shape_of(value) != ():
                raise ValueError(
                    f"{self}: the function returned shape {np.shape(value)}; the gradient is "
                    f"of a scalar: return numpy.sum(y) or numpy.mean(y), or use vjp"
                )
            if dtype_of(value).kind != "f":
                raise TypeError(
                    f"{self}: the function returned dtype {dtype_of(value)}; the gradient is "
                    f"of a real floating-point scalar: return numpy.real(y) or numpy.abs(y)"
                )
        return value, output._extra if mine else (next(number), ())

    def filled(self, grad: Any, value: Any) -> Any:
        if grad is None:
            return _diff.zeros(value)
        if type(grad) is ndarray and not grad.flags.writeable:
            return grad.copy()
        return grad


def backward(roots: list[tuple[Node, Any]], inputs: list[Node]) -> list:
    """The cotangents of `inputs`, given (node, cotangent) of the outputs.

    Visits the nodes that the roots reach in falling order of their numbers, without
    recursion. `roots` is emptied: where the caller holds no node either, each node goes,
    with what it saved, as soon as it is done.
    """
    grads: dict[int, Any] = {}
    waiting: dict[int, tuple] = {}  # the edges of the nodes whose cotangent is under way
    queue: list[int] = []  # their numbers, negative: the heap gives the latest first
    for node, g in roots:
        key, edges = node
        grads[key] = _add(grads[key], g) if key in grads else g
        if edges and key not in waiting:
            waiting[key] = edges
            heappush(queue, -key)
        del node, edges
    roots.clear()
    while queue:
        key = -heappop(queue)
        g = grads.pop(key)
        for parent, rule, saved, fix in waiting.pop(key):
            c = rule(g, *saved) if fix is None else pull(rule, g, saved, fix)
            if c is None:
                continue
            key, edges = parent
            if key in grads:
                grads[key] = _add(grads[key], c)
            else:
                grads[key] = c
                if edges:
                    waiting[key] = edges
                    heappush(queue, -key)
    return [grads.get(node[0]) for node in inputs]


def _add(a: Any, b: Any) -> Any:
    if type(a) is tuple:
        return tuple(
            y if x is None else x if y is None else np.add(x, y) for x, y in zip(a, b)
        )
    return np.add(a, b)


def _place(i: int, n: int) -> Callable:
    """The vjp of taking output `i` of `n`: a tuple with the cotangent in its place."""
    return lambda g: (None,) * i + (g,) + (None,) * (n - i - 1)


def _with_zeros(rule: Callable, ans: Any) -> Callable:
    """A rule for several outputs that sees zeros for the outputs that were not used."""
    forms = [(np.shape(v), dtype_of(v)) for v in ans]

    def filled(g: tuple, *saved: Any) -> Any:
        full = [np.zeros(*form) if c is None else c for c, form in zip(g, forms)]
        return rule(tuple(full), *saved)

    return filled


def _one(value: Any) -> Any:
    return ONE if type(value) is float64 or type(value) is float else dtype_of(value).type(1)


# ---- the transforms ----


def _transform(
    transform: str,
    func: Callable | None,
    argnums: Any,
    has_aux: bool,
    escape: Escape,
    pack: Callable[[Any, Any], Any],
) -> Any:
    """What grad, value_and_grad and grad_and_value share; `pack` orders the results."""
    check_escape(transform, escape)
    if func is None:
        return LevelContext(
            lambda: GradLevel(f"{transform}()", escape),
            lambda f: _transform(transform, f, argnums, has_aux, escape, pack),
        )
    if not callable(func):
        raise TypeError(f"{transform}: func is {func!r}; pass a function as the first argument")
    label = f"{transform}({name_of_function(func)})"

    @functools.wraps(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        level = GradLevel(label, escape)
        leaves, structure, where, chosen = choose(level, args, argnums)
        check_inputs(level, leaves, where)
        level.enter(sys._getframe(1), _outer_tensors(args))
        try:
            tracked = [level.track(level.lower(leaf)) for leaf in leaves]
            nodes = [x._extra for x in tracked]
            picked = unflatten(structure, tracked)
            del tracked
            if not isinstance(argnums, tuple):
                picked = (picked,)
            inner = list(args)
            for n, value in zip(chosen, picked):
                inner[n] = value
            del picked
            out = func(*inner, **kwargs)
            del inner
            aux: Any = None
            if has_aux:
                out, aux = _split_aux(level, out)
                aux = _release(level, aux)
            value, node = level.scalar(out)
            del out
            roots = [(node, _one(value))]
            del node
            grads = backward(roots, nodes)
            grads = [level.filled(g, x) for g, x in zip(grads, leaves)]
        finally:
            level.exit()
        grad = unflatten(structure, grads)
        result = pack(grad, value)
        if has_aux:
            return pack(grad, (value, aux)) if isinstance(result, tuple) else (grad, aux)
        return result

    return transformed


def _outer_tensors(args: tuple) -> list:
    """The tensors among the arguments: a level nests in the levels of all of them."""
    found = []
    for arg in args:
        if isinstance(arg, Tensor):
            found.append(arg)
        elif type(arg) in (list, tuple, dict):
            found += [x for x in flatten(arg)[0] if isinstance(x, Tensor)]
    return found


def _split_aux(level: Level, out: Any) -> tuple:
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            f"{level}: has_aux=True needs a function that returns (output, aux); it "
            f"returned {describe(out)}"
        )
    return out


def _release(level: GradLevel, tree: Any) -> Any:
    """Results that are not differentiated, one level out."""
    leaves, structure = flatten(tree)
    out = [level.lower(x) if isinstance(x, Tensor) else x for x in leaves]
    return unflatten(structure, out)




def grad(
    func: Callable | None = None,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    escape: Escape = "dead",
) -> Any:
    """The gradient of a scalar function.

    Parameters
    ----------
    func : callable, optional
        Returns a real scalar, or ``(scalar, aux)`` with `has_aux`. Without it the
        result is a context manager (``with grad() as G:``, where ``x = G(x0)`` is
        differentiated and ``G.gradient(y, x)`` is the gradient) and a decorator.
    argnums : int or tuple of int
        Which positional arguments to differentiate by; each an array or a pytree.
    has_aux : bool
        Whether `func` returns a second value that is passed out untouched.
    escape : {"dead", "passthrough"}
        What a tensor of this level does once the call is over.

    Returns
    -------
    callable or context manager
        Returns the gradient: the shapes, dtypes and pytree of the differentiated
        argument (a tuple of them where `argnums` is a tuple); ``(gradient, aux)`` with
        `has_aux`. For complex inputs it is the conjugate Wirtinger derivative, so that
        ``z - lr * grad(f)(z)`` descends (PyTorch's convention).

    Raises
    ------
    TypeError
        Where an input is no floating-point array, or the output is no real scalar.
    ValueError
        Where the output is no scalar, or `argnums` does not fit.
    NoRuleError
        Where the function uses an operation that has no derivative rule.

    Examples
    --------
    >>> import numpy as np
    >>> grad(lambda x: np.sum(np.sin(x)))(np.zeros(3))
    array([1., 1., 1.])
    >>> float(grad(grad(lambda x: x**3))(2.0))
    12.0
    """
    return _transform("grad", func, argnums, has_aux, escape, lambda g, v: g)


def value_and_grad(
    func: Callable | None = None,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    escape: Escape = "dead",
) -> Any:
    """The value of a scalar function and its gradient: ``(value, gradient)``.

    With `has_aux`, ``((value, aux), gradient)``, as in JAX. See `grad` for the
    parameters and the errors.

    Examples
    --------
    >>> value, slope = value_and_grad(lambda x: x * x)(3.0)
    >>> float(value), float(slope)
    (9.0, 6.0)
    """
    return _transform("value_and_grad", func, argnums, has_aux, escape, lambda g, v: (v, g))


def grad_and_value(
    func: Callable | None = None,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    escape: Escape = "dead",
) -> Any:
    """The gradient of a scalar function and its value: ``(gradient, value)``.

    With `has_aux`, ``(gradient, (value, aux))``, as in torch.func. See `grad` for the
    parameters and the errors.

    Examples
    --------
    >>> slope, value = grad_and_value(lambda x: x * x)(3.0)
    >>> float(slope), float(value)
    (6.0, 9.0)
    """
    return _transform("grad_and_value", func, argnums, has_aux, escape, lambda g, v: (g, v))


def vjp(
    func: Callable, *primals: Any, has_aux: bool = False, escape: Escape = "dead"
) -> tuple:
    """The value of `func` and a function from cotangents to vector-Jacobian products.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees that returns such.
    *primals : array or pytree of arrays
        Where to evaluate it; floating-point or complex.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.
    escape : {"dead", "passthrough"}
        What a tensor of this level does once the call is over.

    Returns
    -------
    tuple
        ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)``. ``vjp_fn(cotangents)`` takes
        the structure, shapes and dtypes of the output and returns a tuple with one
        result for each primal. It may be called several times, also on batched
        cotangents and after the level has ended; the tape lives as long as it does.

    Raises
    ------
    TypeError, ValueError
        Where a primal is no floating-point array, or the cotangents do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> y, pullback = vjp(lambda x: x**2, np.array([1.0, 2.0]))
    >>> pullback(np.ones(2))
    (array([2., 4.]),)
    """
    check_escape("vjp", escape)
    level = GradLevel(f"vjp({name_of_function(func)})", escape)
    if not primals:
        raise ValueError(f"{level}: no primals were given; call vjp(func, x, ...)")
    leaves, structure = flatten(primals)
    check_inputs(level, leaves, lambda: paths(primals, "primals"))
    level.enter(sys._getframe(1), _outer_tensors(primals))
    try:
        tracked = [level.track(level.lower(leaf)) for leaf in leaves]
        out = func(*unflatten(structure, tracked))
        aux: Any = None
        if has_aux:
            out, aux = _split_aux(level, out)
            aux = _release(level, aux)
        outputs, out_structure = flatten(out)
        for i, y in enumerate(outputs):
            if not is_value(y):
                where = paths(out, "the result")[i]
                raise TypeError(f"{level}: {where} is a {type(y).__name__}; return arrays")
        results = [level.lower(y) for y in outputs]
        roots = [(y._extra if type(y) is level.cls else None) for y in outputs]
        inputs = [x._extra for x in tracked]
    finally:
        level.exit()
    forms = [(np.shape(x), dtype_of(x)) for x in leaves]

    def vjp_fn(cotangents: Any) -> tuple:
        """Vector-Jacobian products for `cotangents`, one for each primal."""
        given = match(level, results, out_structure, cotangents, "cotangent", "output")
        pairs = [(node, g) for node, g in zip(roots, given) if node is not None]
        grads = backward(pairs, inputs)
        full = [np.zeros(*f)[()] if g is None else g for g, f in zip(grads, forms)]
        return unflatten(structure, full)

    value = unflatten(out_structure, results)
    return (value, vjp_fn, aux) if has_aux else (value, vjp_fn)
