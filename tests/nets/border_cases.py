"""The cases of the net on borders: odd values, and the places where a value crosses one.

A place runs a program with an odd value in it, and the same program with the plain array that
the value stands for. The outcome is right where both are equal, or where the value is refused
by an error that names it; also where NumPy's own call, without a transform, fails in that way.
"""

import functools
import itertools
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import functier as ft

V = np.array([0.5, 1.5])
M = np.array([[0.5, 1.5], [-2.0, 1.0]])
W = np.array([[3.0, -1.0], [2.0, 0.5]])

# ---- odd values ----


class Harmless(np.ndarray):
    """A subclass that adds nothing."""


class OtherProduct(np.ndarray):
    """A subclass with an operator that means something else."""

    def __mul__(self, other):
        return np.asarray(self) @ np.asarray(other)


class NoProtocol:
    """Something with a shape and a dtype and no protocol of NumPy's."""

    def __init__(self, a):
        self.a, self.shape, self.dtype, self.ndim = a, a.shape, a.dtype, a.ndim

    def __getitem__(self, index):
        return self.a[index]


class ArrayOnly(NoProtocol):
    """Something that NumPy converts."""

    def __array__(self, dtype=None, copy=None):
        return np.array(self.a, dtype)


class Labelled(np.lib.mixins.NDArrayOperatorsMixin):
    """A class that speaks the protocol of ufuncs only, as the arrays of xarray and pandas."""

    def __init__(self, a):
        self.a = a

    def __array__(self, dtype=None, copy=None):
        return np.array(self.a, dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if kwargs.get("out"):
            return NotImplemented
        return Labelled(getattr(ufunc, method)(*[getattr(x, "a", x) for x in inputs], **kwargs))

    shape = property(lambda self: self.a.shape)
    dtype = property(lambda self: self.a.dtype)
    ndim = property(lambda self: self.a.ndim)

    def __getitem__(self, index):
        return Labelled(self.a[index])

    def sum(self, axis=None, **kwargs):
        return Labelled(np.sum(self.a, axis))


def objects(a):
    """An object array of the elements of `a`, which may be tensors."""
    out = np.empty(a.shape[:1] if isinstance(a, ft.Tensor) else a.shape, dtype=object)
    for index in np.ndindex(out.shape):
        out[index] = a[index]
    return out


def single(a):
    """A 0-d object array of `a`."""
    out = np.empty((), dtype=object)
    out[()] = a
    return out


def records(a):
    out = np.zeros(a.shape, [("value", float), ("name", "U3")])
    out["value"] = a
    return out


def mapped(a, path=[]):  # noqa: B006  # one file for all
    if not path:
        import tempfile

        path.append(tempfile.TemporaryFile())
    out = np.memmap(path[0], dtype=a.dtype, mode="w+", shape=a.shape)
    out[:] = a
    return out


def endless(a):
    out = [a]
    out.append(out)
    return out


def attempt(call):
    """The result of a call, or its error."""
    try:
        return call()
    except Exception as error:
        return error


KINDS: dict[str, tuple[Callable, str]] = {
    # what makes it, and what a refusal has to say
    "memmap": (mapped, ""),
    "harmless subclass": (lambda a: a.view(Harmless), ""),
    "float32": (lambda a: a.astype(np.float32).astype(float), ""),
    "not contiguous": (lambda a: np.repeat(a, 2, axis=0)[::2], ""),
    "object array": (objects, "object"),
    "0-d object array": (lambda a: single(a), "object|axis"),
    "matrix": (lambda a: a.view(np.matrix), r"numpy\.matrix"),
    "masked array": (lambda a: np.ma.array(a, mask=a < 1.0), r"numpy\.ma\.MaskedArray"),
    "subclass with operators": (lambda a: a.view(OtherProduct), "OtherProduct.*__mul__"),
    "structured array": (records, "structured|dtype|void"),
    "recarray": (lambda a: records(a).view(np.recarray), "structured|dtype|void"),
    "plain recarray": (lambda a: a.view(np.recarray), ""),
    "chararray": (lambda a: a.astype("U4").view(np.char.chararray), "chararray|<U|StrDType"),
    "strings": (lambda a: a.astype("U4"), "dtype|<U"),
    "bytes": (lambda a: a.astype("S4"), r"dtype|\|S"),
    "dates": (lambda a: a.astype("M8[s]"), "dtype|datetime"),
    "durations": (lambda a: a.astype("m8[s]"), "dtype|timedelta"),
    "None": (lambda a: None, "None"),
    "a str": (lambda a: "text", "str|<U"),
    "a list": (lambda a: a.tolist(), "list"),
    "a set": (lambda a: {1.0, 2.0}, "set"),
    "a generator": (lambda a: (v for v in a), "generator"),
    "a Decimal": (lambda a: Decimal("0.5"), "Decimal"),
    "a Fraction": (lambda a: Fraction(1, 2), "Fraction"),
    "a function": (lambda a: np.sin, "function|ufunc"),
    "a container in itself": (endless, "contains itself"),
    "no protocol": (NoProtocol, "NoProtocol"),
    "__array__ only": (ArrayOnly, "ArrayOnly"),
    "ufuncs only": (Labelled, "Labelled"),
}
CONTAINERS = {"None", "a list"}
"""Pytrees: these are values beside a tensor only."""

RIGHT = {kind for kind, (_, words) in KINDS.items() if not words}
"""Arrays like any other."""


# ---- transforms: each takes a function of one argument ----


def total(f):
    return lambda *args, **kwargs: np.sum(f(*args, **kwargs))


def with_batch(f, x):
    with ft.vmap() as B:
        return B.unwrap(f(B(x)))


def with_gradient(f, x):
    with ft.grad() as G:
        x = G(x)
        return G.gradient(np.sum(f(x)), x)


def with_tangent(f, x):
    with ft.jvp() as J:
        return J.unwrap(f(J(x, np.ones(np.shape(x)))))


def ones(x):
    if isinstance(x, dict):
        return {k: ones(v) for k, v in x.items()}
    return np.ones(np.shape(x))


def loop(f, x):
    """The meaning of `vmap` and `map`, by NumPy alone."""
    leaf = x["a"] if isinstance(x, dict) else x
    parts = ({k: v[i] for k, v in x.items()} if isinstance(x, dict) else x[i]
             for i in range(len(leaf)))  # fmt: skip
    return stacked([f(part) for part in parts])


def first(x):
    """`x` with the last axis of its arrays as the first."""
    return {k: first(v) for k, v in x.items()} if isinstance(x, dict) else np.moveaxis(x, -1, 0)


def stacked(results):
    example = results[0]
    if isinstance(example, dict):
        return {k: stacked([r[k] for r in results]) for k in example}
    if isinstance(example, (list, tuple)):
        return type(example)(map(stacked, zip(*results)))
    return None if example is None else np.stack([np.asarray(r) for r in results])


def loop_of_loops(f, x):
    return loop(lambda part: stacked([f(part)] * 3), x)


LOOPED = dict.fromkeys(("vmap", "vmap in chunks", "with vmap", "map", "scan"), loop)
LOOPED["vmap of vmap"] = loop_of_loops
LOOPED["vmap of an axis"] = lambda f, x: loop(f, first(x))


def sparse(f, x):
    return ft.sparse_jacobian(f, pattern=np.ones((2, 2), bool))(x).toarray()


TRANSFORMS: dict[str, Callable] = {
    "vmap": lambda f, x: ft.vmap(f)(x),
    "vmap of vmap": lambda f, x: ft.vmap(lambda c: ft.vmap(f, None, axis_size=3)(c))(x),
    "vmap in chunks": lambda f, x: ft.vmap(f, chunk_size=1)(x),
    "vmap of an axis": lambda f, x: ft.vmap(f, in_dims=-1, out_dims=0)(x),
    "grad": lambda f, x: ft.grad(total(f))(x),
    "value_and_grad": lambda f, x: ft.value_and_grad(total(f))(x),
    "elementwise_grad": lambda f, x: ft.elementwise_grad(f)(x),
    "vjp": lambda f, x: ft.vjp(f, x)[0],
    "jvp": lambda f, x: ft.jvp(f, (x,), (ones(x),)),
    "linearize": lambda f, x: ft.linearize(f, x)[0],
    "jacrev": lambda f, x: ft.jacrev(f)(x),
    "jacfwd": lambda f, x: ft.jacfwd(f)(x),
    "hessian": lambda f, x: ft.hessian(total(f))(x),
    "hvp": lambda f, x: ft.hvp(total(f), (x,), (ones(x),)),
    "grad of checkpoint": lambda f, x: ft.grad(total(ft.checkpoint(f)))(x),
    "vmap of grad": lambda f, x: ft.vmap(ft.grad(total(f)))(x),
    "with vmap": with_batch,
    "with grad": with_gradient,
    "with jvp": with_tangent,
    "map": lambda f, x: ft.map(f, x),
    "scan": lambda f, x: ft.scan(lambda c, v: (c, f(v)), 0.0, x)[1],
    "sparse_jacobian": sparse,
}


def squared(x):
    return x * x


def weighted(x):
    return x * W[: x.shape[0]] * x if np.ndim(x) == 2 else x * W[0] * x


# ---- places ----


def argument(transform, odd, numbers):
    """The argument that is batched or differentiated."""
    return transform(squared, odd)


def nested(transform, odd, numbers):
    """A leaf of it."""
    return transform(lambda t: t["a"] * t["b"] * t["a"], {"a": odd, "b": numbers})


def operand(transform, odd, numbers):
    """The values that the function closes over."""
    return transform(lambda x: x * odd * 2.0, numbers)


def operand_of_function(transform, odd, numbers):
    return transform(lambda x: np.multiply(odd, x) + np.where(x > 0, x, odd), numbers)


def left_operand(transform, odd, numbers):
    return transform(lambda x: odd * x, numbers)


def result(transform, odd, numbers):
    return transform(lambda x: odd, numbers)


def result_beside(transform, odd, numbers):
    return transform(lambda x: {"a": x * 2.0, "b": [odd]}, numbers)


PLACES = {f.__name__: f for f in (
    argument, nested, operand, operand_of_function, left_operand, result, result_beside,
)}  # fmt: skip


def programs():
    """The name of every program, the program, and what it is compared with: the program itself,
    or a loop. They take an odd value and the numbers that it stands for.
    """
    for transform, place in itertools.product(TRANSFORMS, PLACES):
        if transform.startswith("with") and place == "result_beside":
            continue  # `unwrap` takes one value
        run = PLACES[place]
        program = functools.partial(run, TRANSFORMS[transform])
        reference = functools.partial(run, LOOPED[transform]) if transform in LOOPED else program
        yield f"{transform}, {place}", program, reference
    for name, program in OTHERS.items():
        yield name, program, program


# ---- values that are neither arguments nor results of a transform ----


def keyword(odd, x):
    return ft.vmap(lambda x, c: x * c * 2.0)(x, c=odd)


def keyword_of_grad(odd, x):
    return ft.grad(lambda x, c: np.sum(x * c * 2.0))(x, c=odd)


def by_name(odd, x):
    return ft.grad(lambda x: np.sum(x * x), argnames="x")(x=odd)


def unmapped(odd, x):
    return ft.vmap(lambda c, x: x * c * c, in_dims=(None, 0))(odd, x)


def unmapped_result(odd, x):
    return ft.vmap(lambda x: (x, odd), out_dims=(0, None))(x)


def constant_argument(odd, x):
    return ft.grad(lambda x, c: np.sum(x * c * 2.0))(x, odd)


def aux(odd, x):
    return ft.grad(lambda x: (np.sum(x * x), odd), has_aux=True)(x)


def aux_of_jvp(odd, x):
    return ft.jvp(lambda x: (x * x, {"a": odd}), (x,), (x,), has_aux=True)


def aux_of_jacrev(odd, x):
    return ft.jacrev(lambda x: (x * x, (odd, x)), has_aux=True)(x)


def cotangent(odd, x):
    return ft.vjp(squared, x)[1](odd)


def tangent(odd, x):
    return ft.jvp(squared, (x,), (odd,))


def tangent_of_linearize(odd, x):
    return ft.linearize(squared, x)[1](odd)


def cotangent_of_transpose(odd, x):
    return ft.linear_transpose(lambda v: 3.0 * v, x)(odd)


def tangent_of_hvp(odd, x):
    return ft.hvp(total(lambda x: x * x * x), (x,), (odd,))


def tangent_of_a_block(odd, x):
    with ft.jvp() as J:
        return J.unwrap(squared(J(x, odd)))


def _custom(kind, *rules):
    made = kind(lambda x: x * 2.0)
    {ft.custom_vjp: lambda: made.defvjp(*rules), ft.custom_jvp: lambda: made.defjvp(*rules),
     ft.custom_vmap: lambda: made.def_vmap(*rules)}[kind]()  # fmt: skip
    return made


def backward_rule(odd, x):
    f = _custom(ft.custom_vjp, lambda x: (x * 2.0, None), lambda _, g: (odd,))
    return ft.grad(total(f))(x)


def batched_backward_rule(odd, x):
    f = _custom(ft.custom_vjp, lambda x: (x * 2.0, None), lambda _, g: (odd,))
    return ft.vmap(lambda y: ft.grad(total(f))(y))(np.stack([x, x]))


def transposed_backward_rule(odd, x):
    f = _custom(ft.custom_vjp, lambda x: (x * 2.0, None), lambda _, g: (g * odd,))
    return ft.jvp(f, (x,), (x,))


def residual(odd, x):
    f = _custom(ft.custom_vjp, lambda x: (x * 2.0, odd), lambda c, g: (g * c,))
    return ft.grad(total(f))(x)


def forward_rule(odd, x):
    f = _custom(ft.custom_vjp, lambda x: (odd, None), lambda _, g: (g * 2.0,))
    return ft.grad(total(f))(x)


def tangent_rule(odd, x):
    f = _custom(ft.custom_jvp, lambda p, t: (p[0] * 2.0, odd))
    return ft.jvp(f, (x,), (x,))


def value_of_tangent_rule(odd, x):
    f = _custom(ft.custom_jvp, lambda p, t: (odd, t[0]))
    return ft.jvp(f, (x,), (x,))


def batch_rule(odd, x):
    return ft.vmap(_custom(ft.custom_vmap, lambda size, batched, x: (odd, True)))(x)


def argument_of_custom(odd, x):
    f = ft.custom_vjp(lambda x, c: x * c)
    f.defvjp(lambda x, c: (x * c, c), lambda c, g: (g * c, None))
    return ft.grad(lambda x: np.sum(f(x, odd)))(x)


def _function(**methods):
    return type("Double", (ft.Function,), {
        "forward": staticmethod(lambda x: x * 2.0),
        "setup_context": staticmethod(lambda ctx, inputs, output: None),
        **{name: staticmethod(f) for name, f in methods.items()},
    })  # fmt: skip


def backward_of_function(odd, x):
    return ft.grad(total(_function(backward=lambda ctx, g: odd).apply))(x)


def jvp_of_function(odd, x):
    return ft.jvp(_function(jvp=lambda ctx, t: odd).apply, (x,), (x,))


def forward_of_function(odd, x):
    double = _function(forward=lambda x: odd, backward=lambda ctx, g: g)
    return ft.grad(total(double.apply))(x)


def vmap_of_function(odd, x):
    return ft.vmap(_function(vmap=lambda info, dims, x: (odd, 0)).apply)(x)


def hook(odd, x):
    def f(x):
        y = x * 1.0
        ft.register_hook(y, lambda g: odd)
        return np.sum(y)

    return ft.grad(f)(x)


def solution(odd, x):
    return ft.grad(
        lambda a: np.sum(ft.custom_root(lambda y: y - a * 2.0, x, lambda f, y: a.elem() * 2.0
                                        if isinstance(a, ft.Tensor) else a * 2.0,
                                        lambda g, y: odd))
    )(x)  # fmt: skip


def branch(odd, x):
    rows = np.stack([x, -x])
    return ft.vmap(lambda r: ft.cond(np.sum(r) > 0, lambda r: r * 0.0, lambda r: odd, r))(rows)


def slices(odd, x):
    return ft.scan(lambda c, v: (c + np.sum(v * v), v), 0.0, odd)


def carry(odd, x):
    return ft.vmap(lambda n: ft.fori_loop(0, n, lambda i, c: c * 2.0, odd))(np.array([1, 2]))


def combined(odd, x):
    return ft.associative_scan(np.multiply, odd)


def field(odd, x):
    def f(row):
        records = getattr(getattr(row, "dtype", None), "names", None)
        return (row["value"] if records else row) * 2.0

    return ft.vmap(f)(odd)


def boxed(odd, x):
    return ft.vmap(lambda v: v * v)(ft.Tensor(odd)).elem()


OTHERS = {f.__name__: f for f in (
    keyword, keyword_of_grad, by_name, unmapped, unmapped_result, constant_argument, aux,
    aux_of_jvp, aux_of_jacrev, cotangent, tangent, tangent_of_linearize, cotangent_of_transpose,
    tangent_of_hvp, tangent_of_a_block, backward_rule, batched_backward_rule,
    transposed_backward_rule, residual, forward_rule, tangent_rule, value_of_tangent_rule,
    batch_rule, argument_of_custom, backward_of_function, jvp_of_function, forward_of_function,
    vmap_of_function, hook, solution, branch, slices, carry, combined, boxed, field,
)}  # fmt: skip


# ---- what becomes of a case ----


def dead(value: Any) -> bool:
    """Tell if a tensor of a level is anywhere in what came out."""
    waiting, seen = [value], set()
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, ft.Tensor) and x.level.depth:
            return True
        if isinstance(x, np.ndarray) and x.dtype.hasobject and x.dtype.names is None:
            waiting += list(np.ndarray.flatten(x))
        elif isinstance(x, dict):
            waiting += x.values()
        elif isinstance(x, (list, tuple, set)):
            waiting += x
    return False


def alike(a: Any, b: Any, odd: Any = None) -> bool:
    """Tell if two outcomes are equal, up to the class of arrays; or `a` is the odd value."""
    if a is odd or a is b:
        return True
    if isinstance(b, dict):
        return isinstance(a, dict) and a.keys() == b.keys() and all(
            alike(a[k], b[k], odd) for k in b
        )  # fmt: skip
    if isinstance(b, (list, tuple)):
        return isinstance(a, (list, tuple)) and len(a) == len(b) and all(
            alike(x, y, odd) for x, y in zip(a, b)
        )  # fmt: skip
    try:
        a, b = [np.asarray(x.elem() if isinstance(x, ft.Tensor) else x) for x in (a, b)]
    except ft.LevelError:
        return False  # of something that a tensor is in
    if a.shape != b.shape:
        return False
    try:
        return np.allclose(a.astype(float), b.astype(float), equal_nan=True)
    except (TypeError, ValueError):
        pass
    try:
        return a.dtype == b.dtype and np.array_equal(a, b)
    except ValueError:  # of arrays in an array
        return False


RAW = AttributeError, IndexError, KeyError, RecursionError, AssertionError, SystemError
STRICT = {"matrix", "masked array", "subclass with operators", "ufuncs only"}
"""Kinds of values that have to be named wherever they stand."""
FORM = "shape|structure|function returned|invalid|axis|length|was expected"
REMEDY = r"\b(write|pass|return|give|expected|write it|make)\b"


def named(kind: str, error: BaseException) -> bool:
    """Tell if an error says what it is about: in words of its kind, or with a remedy."""
    if isinstance(error, RAW):
        return False
    more = "has shape|the shape|structure|dict" if kind in STRICT else REMEDY
    return re.search(f"{KINDS[kind][1]}|{more}", str(error)) is not None


def plainly(odd: Any) -> list[type]:
    """The errors of NumPy alone for the arithmetic of these programs."""
    found = []
    for call in (
        lambda: odd * odd, lambda: V * odd, lambda: odd * V, lambda: np.multiply(odd, 2.0),
        lambda: np.multiply(odd, V), lambda: np.sum(odd) * 1.0, lambda: np.where(V > 0, V, odd) * V,
    ):  # fmt: skip
        try:
            call()
        except Exception as error:
            found.append(type(error))
    return found


# ---- object arrays of tensors ----

OTHER_FORM = "an object array of lists", "an object matrix", "an object array in a list"
"""Places whose result has another form than what is put in: only dead tensors can be found."""

FILLED: dict[str, Callable] = {
    "an object array": objects,
    "a 0-d object array": single,
    "an object array in a list": lambda x: [objects(x)],
    "an object array of lists": lambda x: single([x, x]),
    "an object array in an object array": lambda x: single(objects(x)),
    "an object matrix": lambda x: objects(x).reshape(1, -1) if x.ndim else single(x),
}
RULES = {
    "backward_rule", "batched_backward_rule", "tangent_rule", "backward_of_function",
    "jvp_of_function", "hook", "solution", "cotangent", "tangent", "tangent_of_linearize",
    "cotangent_of_transpose", "tangent_of_hvp", "tangent_of_a_block",
}  # fmt: skip
"""Places at which a (co)tangent of a real value is given."""


def filled_programs():
    """Programs that put tensors into something, by a function which says into what."""
    for name, transform in TRANSFORMS.items():
        if name in ("map", "scan"):  # which have no tensors
            continue
        yield f"{name}, result", lambda wrap, t=transform: t(lambda x: wrap(x * x), V)
        if not name.startswith("with"):
            yield (
                f"{name}, result beside",
                lambda wrap, t=transform: t(lambda x: {"a": x, "b": [wrap(x * x)]}, V),
            )
        yield (
            f"{name}, checkpoint",
            lambda wrap, t=transform: t(lambda x: ft.checkpoint(lambda x: wrap(x * x))(x), V),
        )
        yield f"{name}, operand", lambda wrap, t=transform: t(lambda x: x * wrap(x), V)
    for name, f in AUX.items():
        yield name, f
    for name, program in OTHERS.items():
        if name != "boxed":
            yield f"{name}, inside of vmap", lambda wrap, p=program: _outer(p, wrap)


def _outer(program, wrap):
    rows = np.stack([V, 2.0 * V])
    return ft.vmap(lambda x: program(wrap(x), V))(rows)


AUX = {
    "aux of grad": lambda wrap: ft.grad(lambda x: (np.sum(x * x), wrap(x)), has_aux=True)(V),
    "aux of vjp": lambda wrap: ft.vjp(lambda x: (x * x, {"a": wrap(x)}), V, has_aux=True)[::2],
    "aux of jvp": lambda wrap: ft.jvp(lambda x: (x * x, wrap(x)), (V,), (V,), has_aux=True),
    "aux of jacrev": lambda wrap: ft.jacrev(lambda x: (x * x, wrap(x)), has_aux=True)(V),
    "aux of hessian": lambda wrap: ft.hessian(
        lambda x: (np.sum(x * x * x), wrap(x)), has_aux=True
    )(V)[0],
    "a branch": lambda wrap: ft.vmap(
        lambda x: ft.cond(np.sum(x) > 2.5, lambda x: wrap(x), lambda x: wrap(2.0 * x), x)
    )(np.stack([V, 2.0 * V])),
    "a custom function": lambda wrap: ft.grad(
        lambda x: np.sum(_doubling()(wrap(x)))
    )(V),
    "the sum of one": lambda wrap: ft.grad(lambda x: np.sum(np.sum(wrap(x * x))))(V),
}  # fmt: skip


def _doubling():
    f = ft.custom_vjp(lambda x: x * 2.0)
    f.defvjp(lambda x: (x * 2.0, None), lambda _, g: (g * 2.0,))
    return f
