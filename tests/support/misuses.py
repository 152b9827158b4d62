"""The commonest misuses of the transforms themselves, each with the call that its message asks
for. See `mistakes`, for programs that are written for plain arrays.
"""

import json
from collections.abc import Callable
from decimal import Decimal
from io import StringIO
from operator import iadd
from typing import Any, NamedTuple

import numpy as np
import scipy.special

import functier as ft
import functier.numpy as fnp
import functier.scipy.special
import functier.scipy.stats

X = np.arange(6.0).reshape(3, 2)
W = np.arange(4.0)
ROW = np.zeros(2)
I = np.arange(3)  # noqa: E741
DRAWS = ft.random.default_rng(0)
KEPT: list = []


class Misuse(NamedTuple):
    name: str
    wrong: Callable[[], Any]
    error: type[BaseException]
    says: tuple[str, ...]
    right: Callable[[], Any]
    result: Any


def program(x, *rest):
    return x * 2


def loss(x, *rest):
    return np.sum(x * x)


def pair(x):
    return np.sum(x), x


def keep(x):
    KEPT.append(x)
    return np.sum(x) * 2


def with_kept():
    KEPT.clear()
    ft.vmap(keep)(X)
    return KEPT[0]


def block_of_a_function():
    with ft.vmap(np.sum):
        pass


def unwrapped(order):
    """The rest of a tensor of two levels, unwrapped in this order."""
    with ft.vmap() as outer, ft.vmap() as inner:
        z = outer(np.ones(2)) + inner(np.ones(3))
        return order(outer, inner, z)


def gradient_of_block(inside, inputs=True):
    with ft.grad() as G:
        x = G(2.0)
        y = x * x
        if not inputs:
            return G.gradient(y)
        if inside:
            return G.gradient(y, x)
    return G.gradient(y, x)


def added_to(kept):
    return ft.vmap(lambda y: y + kept)


def added(name, *values, make=np.zeros):
    """A program that adds to an array of zeros by a function that writes."""

    def wrong(x):
        a = make(3)
        name(a, *values, x)
        return a

    return wrong


def accumulated(x):
    acc = np.zeros(2)
    acc += x
    return acc


def copied_over(x):
    a = fnp.array(ROW)
    np.copyto(a, x)
    return a


def inner_into_outer(x):
    a = x * 1.0
    ft.vmap(lambda y: a.__setitem__(0, y[0]))(X)
    return np.sum(a)


def doubled(x, y):
    x *= 2.0
    return np.sum(x * y)


def masked(x):
    return np.sum(np.sort(x[x > 1]))


def batched(**options):
    with ft.vmap() as B:
        return B.unwrap(program(B(X, **options)))


def stepped(**options):
    return ft.optim.adam(0.0, 1.0, ft.optim.adam_init(0.0), **options)[0]


def unnamed(x):
    return None


ROWS = [
    Misuse("too many in_dims", lambda: ft.vmap(program, in_dims=(0, None))(X), ValueError,
           ("vmap(program)", "2 entries for 1 positional", "one entry for each"),
           lambda: ft.vmap(program, in_dims=(0,))(X), X * 2),
    Misuse("batch sizes that differ", lambda: ft.vmap(program)(X, W), ValueError,
           ("vmap(program)", "args[1] has size 4", "batch size 3", "in_dims=(0, None)"),
           lambda: ft.vmap(program, in_dims=(0, None))(X, W), X * 2),
    Misuse("nothing to map over", lambda: ft.vmap(program, in_dims=None)(X), ValueError,
           ("vmap(program)", "no argument is mapped", "axis to map over"),
           lambda: ft.vmap(program, in_dims=0)(X), X * 2),
    Misuse("an axis that is not there", lambda: ft.vmap(program, in_dims=2)(X), ValueError,
           ("vmap(program)", "in_dim 2", "args[0] of shape (3, 2)", "from -2 to 1"),
           lambda: ft.vmap(program, in_dims=1)(X), X.T * 2),
    Misuse("a number to map over", lambda: ft.vmap(program)(X, 3.0), ValueError,
           ("vmap(program)", "args[1] is float 3.0", "in_dims=(0, None)"),
           lambda: ft.vmap(program, in_dims=(0, None))(X, 3.0), X * 2),
    Misuse("a list of numbers to map over", lambda: ft.vmap(program)([1.0, 2.0]), ValueError,
           ("vmap(program)", "args[0][0] is float 1.0", "pass numpy.array(x) for a list"),
           lambda: ft.vmap(program)(np.array([1.0, 2.0])), np.array([2.0, 4.0])),
    Misuse("out_dims None", lambda: ft.vmap(program, out_dims=None)(X), ValueError,
           ("vmap(program)", "out_dims is None for the result", "write the axis"),
           lambda: ft.vmap(program, out_dims=1)(X), X.T * 2),
    Misuse("out_dims out of range", lambda: ft.vmap(program, out_dims=3)(X), ValueError,
           ("vmap(program)", "out_dim 3", "from -2 to 1"),
           lambda: ft.vmap(program, out_dims=1)(X), X.T * 2),
    Misuse("out_dims of another structure", lambda: ft.vmap(program, out_dims=(0, 0))(X),
           ValueError, ("vmap(program)", "out_dims=(0, 0)", "write one int"),
           lambda: ft.vmap(program, out_dims=0)(X), X * 2),
    Misuse("in_dims that are text", lambda: ft.vmap(program, in_dims="lol")(X), TypeError,
           ("vmap(program)", "in_dims of args[0] is str 'lol'", "write the axis as an int"),
           lambda: ft.vmap(program, in_dims=0)(X), X * 2),
    Misuse("a batch of text", lambda: ft.vmap(lambda x: "text")(X), TypeError,
           ("vmap(<lambda>)", "the result is str 'text'", "return arrays"),
           lambda: ft.vmap(lambda x: x)(X), X),
    Misuse("the result and not the function", lambda: ft.vmap(program(X)), TypeError,
           ("vmap", "func is a ndarray", "pass a function"), lambda: ft.vmap(program)(X), X * 2),
    Misuse("gradient of a vector", lambda: ft.grad(program)(X), ValueError,
           ("grad(program)", "shape (3, 2)", "return numpy.sum(y)"),
           lambda: ft.grad(lambda x: np.sum(program(x)))(X), X * 0 + 2),
    Misuse("gradient by integers", lambda: ft.grad(loss)(I), TypeError,
           ("grad(loss)", "args[0] has dtype int64", "pass x.astype(float)"),
           lambda: ft.grad(loss)(I.astype(float)), 2.0 * I),
    Misuse("gradient by an int", lambda: ft.grad(loss)(3), TypeError,
           ("grad(loss)", "args[0] has dtype int64", "pass float(x)"),
           lambda: ft.grad(loss)(float(3)), 6.0),
    Misuse("argnums out of range", lambda: ft.grad(loss, argnums=2)(X), ValueError,
           ("grad(loss)", "argnums=2", "1 positional"), lambda: ft.grad(loss, argnums=0)(X), 2 * X),
    Misuse("an array as argnums", lambda: ft.grad(loss, X), TypeError,
           ("grad(loss)", "argnums is a ndarray", "an int or a tuple of ints", "grad(f)(x)"),
           lambda: ft.grad(loss)(X), 2 * X),
    Misuse("the argument by keyword", lambda: ft.grad(loss)(x=X), ValueError,
           ("grad(loss)", "argnums=0", "by position"), lambda: ft.grad(loss)(X), 2 * X),
    Misuse("has_aux without aux", lambda: ft.grad(loss, has_aux=True)(X), TypeError,
           ("grad(loss)", "has_aux=True", "(output, aux)"),
           lambda: ft.grad(lambda x: (loss(x), 0), has_aux=True)(X)[0], 2 * X),
    Misuse("aux without has_aux", lambda: ft.grad(pair)(X), TypeError,
           ("grad(pair)", "(float64[], float64[3, 2])", "has_aux=True"),
           lambda: ft.grad(pair, has_aux=True)(X)[0], X * 0 + 1),
    Misuse("no return", lambda: ft.grad(unnamed)(X), TypeError,
           ("grad(unnamed)", "returned None", "return one scalar"), lambda: ft.grad(loss)(X),
           2 * X),
    Misuse("a list of one scalar", lambda: ft.grad(lambda x: [loss(x)])(X), TypeError,
           ("grad(<lambda>)", "[float64[]]", "return one scalar"), lambda: ft.grad(loss)(X), 2 * X),
    Misuse("gradient of a complex result", lambda: ft.grad(lambda x: np.sum(x * 1j))(X), TypeError,
           ("grad(<lambda>)", "complex128", "numpy.real(y)"),
           lambda: ft.grad(lambda x: np.real(np.sum(x * (1 + 1j))))(X), X * 0 + 1),
    Misuse("cotangent of another shape", lambda: ft.vjp(program, X)[1](W), ValueError,
           ("vjp(program)", "cotangent of output", "(4,)", "(3, 2)"),
           lambda: ft.vjp(program, X)[1](np.ones((3, 2)))[0], X * 0 + 2),
    Misuse("one cotangent for two outputs", lambda: ft.vjp(lambda x: (x, x), X)[1](X), ValueError,
           ("vjp(<lambda>)", "(float64[3, 2], float64[3, 2]) was expected", "for each value"),
           lambda: ft.vjp(lambda x: (x, x), X)[1]((X, X))[0], 2 * X),
    Misuse("primals that are no tuple", lambda: ft.jvp(program, X, X), TypeError,
           ("jvp(program)", "primals is a ndarray", "jvp(f, (x,), (t,))"),
           lambda: ft.jvp(program, (X,), (X,))[1], 2 * X),
    Misuse("tangent of another shape", lambda: ft.jvp(program, (X,), (W,)), ValueError,
           ("jvp(program)", "tangent of primals[0]", "(4,)", "(3, 2)"),
           lambda: ft.jvp(program, (X,), (np.ones((3, 2)),))[1], X * 0 + 2),
    Misuse("too few tangents", lambda: ft.jvp(program, (X, X), (X,)), ValueError,
           ("jvp(program)", "one tangent for each value"),
           lambda: ft.jvp(program, (X, X), (X, X))[1], 2 * X),
    Misuse("another linear tangent", lambda: ft.linearize(program, X)[1](W), ValueError,
           ("linearize(program)", "tangent of primals[0]", "(3, 2)"),
           lambda: ft.linearize(program, X)[1](X), 2 * X),
    Misuse("a tensor that was kept", lambda: with_kept() + 1, ft.EscapedTensorError,
           ("vmap(keep)", "had ended", "return it from the function"),
           lambda: ft.vmap(lambda x: x)(X) + 1, X + 1),
    Misuse("a tensor kept for another batch",
           lambda: added_to(with_kept())(X), ft.EscapedTensorError,
           ("vmap(keep)", "had ended", "return it from the function"),
           lambda: ft.vmap(lambda y, x: y + x)(X, ft.vmap(lambda x: x)(X)), 2 * X),
    Misuse("a class that takes a tensor out", lambda: ft.vmap(lambda x: x.as_subclass(Sub))(X),
           ft.LevelError, ("vmap(<lambda>)", "pass a Sub to the transform"),
           lambda: np.asarray(ft.vmap(lambda x: x * 1)(Sub(X))), X),
    Misuse("an option that B does not take", lambda: batched(foo=1), TypeError,
           ("vmap()", "B was called with foo=1", "write B(x, in_dim=0)"),
           lambda: batched(in_dim=0), X * 2),
    Misuse("out=", lambda: ft.vmap(lambda x: np.sin(x, out=np.zeros(2)))(X), ft.MutationError,
           ("numpy.sin(..., out=a)", "make a inside the function, with functier.numpy.zeros"),
           lambda: ft.vmap(lambda x: np.sin(x, out=fnp.zeros(2)))(X), np.sin(X)),
    Misuse("out= that is not needed", lambda: ft.vmap(lambda x: np.sum(x, out=np.zeros(())))(X),
           ft.MutationError, ("a = numpy.sum(...) without out=",), lambda: ft.vmap(np.sum)(X),
           X.sum(1)),
    Misuse("acc += x", lambda: ft.vmap(accumulated)(X), ft.MutationError,
           ("functier.numpy.zeros or numpy.zeros_like(x)",),
           lambda: ft.vmap(lambda x: iadd(np.zeros_like(x), x))(X), X),
    Misuse("an argument that is not wrapped", lambda: ft.vmap(iadd, (None, 0))(np.zeros(2), X),
           ft.MutationError, ("plain array", "functier.numpy.zeros"),
           lambda: ft.vmap(lambda a, x: iadd(fnp.array(a), x), (None, 0))(np.zeros(2), X), X),
    Misuse("numpy.add.at", lambda: ft.vmap(added(np.add.at, [0, 2]))(X), ft.MutationError,
           ("vmap(wrong)", "numpy.add.at", "with functier.numpy.zeros"),
           lambda: ft.vmap(added(np.add.at, [0, 2], make=fnp.zeros))(X),
           np.stack([X[:, 0], X[:, 0] * 0, X[:, 1]], 1)),
    Misuse("numpy.maximum.at", lambda: ft.vmap(added(np.maximum.at, [0, 2]))(X), ft.MutationError,
           ("vmap(wrong)", "numpy.maximum.at", "with functier.numpy.zeros"),
           lambda: ft.vmap(added(np.maximum.at, [0, 2], make=fnp.zeros))(X),
           np.stack([X[:, 0], X[:, 0] * 0, X[:, 1]], 1)),
    Misuse("numpy.put", lambda: ft.vmap(added(np.put, [0, 2]))(X), ft.MutationError,
           ("vmap(wrong)", "numpy.put", "with functier.numpy.zeros"),
           lambda: ft.vmap(added(np.put, [0, 2], make=fnp.zeros))(X),
           np.stack([X[:, 0], X[:, 0] * 0, X[:, 1]], 1)),
    Misuse("numpy.place", lambda: ft.vmap(added(np.place, [True, False, True]))(X),
           ft.MutationError, ("vmap(wrong)", "numpy.place", "with functier.numpy.zeros"),
           lambda: ft.vmap(added(np.place, [True, False, True], make=fnp.zeros))(X),
           np.stack([X[:, 0], X[:, 0] * 0, X[:, 1]], 1)),
    Misuse("numpy.copyto", lambda: ft.vmap(lambda x: np.copyto(ROW, x))(X),
           ft.MutationError, ("vmap(<lambda>)", "functier.numpy.array(a)"),
           lambda: ft.vmap(copied_over)(X), X),
    Misuse("numpy.full_like", lambda: ft.vmap(lambda x: np.full_like(np.zeros(2), x[0]))(X),
           ft.MutationError, ("vmap(<lambda>)", "numpy.zeros_like(a) + t"),
           lambda: ft.vmap(lambda x: np.zeros_like(np.zeros(2)) + x[0])(X),
           np.stack([X[:, 0]] * 2, 1)),
    Misuse("an array of an outer level", lambda: ft.grad(inner_into_outer)(X[0]),
           ft.MutationError, ("vmap(", "grad(inner_into_outer)", "or return the value"),
           lambda: ft.grad(lambda x: np.sum(ft.vmap(lambda y: y * x[0])(X)))(X[0]),
           np.array([X.sum(), 0.0])),
    Misuse("one array, two arguments", lambda: ft.grad(doubled, (0, 1))(X[0], X[0]),
           ft.MutationError, ("grad(doubled)", "given twice", "a.copy()"),
           lambda: np.stack(ft.grad(doubled, (0, 1))(X[0], X[0].copy())),
           np.stack([2 * X[0], 2 * X[0]])),
    Misuse("a read-only view", lambda: ft.vmap(lambda x: iadd(np.broadcast_to(x, (2, 2)), 1))(X),
           ValueError, ("vmap(<lambda>)", "read-only", "y = x.copy()"),
           lambda: ft.vmap(lambda x: iadd(np.broadcast_to(x, (2, 2)).copy(), 1))(X),
           np.stack([X + 1, X + 1], 1)),
    Misuse("a mask", lambda: ft.vmap(masked)(X), ft.DataDependentError,
           ("vmap(masked)", "boolean mask", "numpy.sum(x, where=mask)"),
           lambda: ft.vmap(lambda x: np.sum(x, where=x > 1))(X), np.array([0.0, 5.0, 9.0])),
    Misuse("numpy.nonzero", lambda: ft.vmap(lambda x: np.sum(np.nonzero(x)[0]))(X),
           ft.DataDependentError,
           ("vmap(<lambda>)", "numpy.nonzero", "numpy.where(condition, x, y)"),
           lambda: ft.vmap(lambda x: np.sum(np.where(x, np.arange(2), 0)))(X), np.ones(3)),
    Misuse("numpy.where(condition)", lambda: ft.vmap(lambda x: np.sum(np.where(x > 0)[0]))(X),
           ft.DataDependentError, ("vmap(<lambda>)", "numpy.where(condition, x, y)"),
           lambda: ft.vmap(lambda x: np.sum(np.where(x > 0, np.arange(2), 0)))(X), np.ones(3)),
    Misuse("numpy.unique", lambda: ft.vmap(lambda x: np.max(np.unique(x)))(np.tri(2)),
           ft.DataDependentError, ("vmap(<lambda>)", "numpy.unique", "numpy.sort"),
           lambda: ft.vmap(lambda x: np.max(np.sort(x)))(X), X[:, 1]),
    Misuse("numpy.bincount", lambda: ft.vmap(np.bincount)(X.astype(int)), ft.DataDependentError,
           ("vmap(bincount)", "numpy.bincount", "numpy.equal(x[:, None], numpy.arange(n))"),
           lambda: ft.vmap(lambda x: np.sum(np.equal(x[:, None], np.arange(6)), 0))(X.astype(int)),
           np.stack([np.bincount(x, minlength=6) for x in X.astype(int)])),
    Misuse("a draw", lambda: ft.vmap(lambda x: x + DRAWS.uniform(0.0, 0.0))(X), ft.RandomnessError,
           ("vmap(<lambda>)", "randomness is 'error'", "vmap(..., randomness='different')"),
           lambda: ft.vmap(lambda x: x + DRAWS.uniform(0.0, 0.0), randomness="different")(X), X),
    Misuse("a generator of NumPy's",
           lambda: ft.vmap(lambda x, r: x + r.uniform(0.0, 0.0), in_dims=(0, None))(
               X, np.random.default_rng(0)),
           ft.RandomnessError, ("vmap(<lambda>)", "args[1]", "functier.random.default_rng(seed)"),
           lambda: ft.vmap(lambda x, r: x + r.uniform(0.0, 0.0), in_dims=(0, None),
                           randomness="different")(X, ft.random.default_rng(0)), X),
    Misuse("a draw under jacfwd", lambda: ft.jacfwd(lambda x: x + DRAWS.uniform(0.0, 0.0))(X[0]),
           ft.RandomnessError, ("jacfwd(<lambda>)", "jacfwd(..., randomness='same')"),
           lambda: ft.jacfwd(lambda x: x + DRAWS.uniform(0.0, 0.0), randomness="same")(X[0]),
           np.eye(2)),
    Misuse("a function with no derivative",
           lambda: ft.grad(lambda x: np.sum(np.frompyfunc(abs, 1, 1)(x)))(X), ft.NoRuleError,
           ("grad(<lambda>)", "no derivative rule", "other NumPy functions"),
           lambda: ft.grad(lambda x: np.sum(np.abs(x)))(X), np.sign(X)),
    Misuse("a file in the function", lambda: ft.vmap(lambda x: np.save("x.npy", x))(X),
           ft.UnsupportedError, ("numpy.save", "`return x`"), lambda: ft.vmap(lambda x: x)(X), X),
    Misuse("a file under grad", lambda: ft.grad(lambda x: (np.savetxt(StringIO(), [x]), x)[1])(2.0),
           ft.ConversionError, ("numpy.savetxt", "save functier.stop_gradient(x)"),
           lambda: ft.grad(lambda x: (np.savetxt(StringIO(), [ft.stop_gradient(x)]), x)[1])(2.0),
           1.0),
    Misuse("an item to log", lambda: ft.grad(lambda x: (x.item(), x)[1])(2.0), ft.ConversionError,
           ("item(x)", "float(functier.stop_gradient(x)) for a number to print"),
           lambda: ft.grad(lambda x: (float(ft.stop_gradient(x)), x)[1])(2.0), 1.0),
    Misuse("a list to log", lambda: ft.grad(lambda x: (x.tolist(), np.sum(x))[1])(X[0]),
           ft.ConversionError, ("functier.stop_gradient(x).tolist() for numbers to print",),
           lambda: ft.grad(lambda x: (ft.stop_gradient(x).tolist(), np.sum(x))[1])(X[0]),
           np.ones_like(X[0])),
    Misuse("an array to plot", lambda: ft.grad(lambda x: (np.asarray(x), x)[1])(2.0),
           ft.ConversionError, ("functier.stop_gradient(x) for an array to plot",),
           lambda: ft.grad(lambda x: (np.asarray(ft.stop_gradient(x)), x)[1])(2.0), 1.0),
    Misuse("a number in a program", lambda: ft.trace(lambda x: (float(x), x * x)[1])(2.0),
           ft.ConversionError, ("functier.debug.show(x) to print x",),
           lambda: ft.trace(lambda x: (ft.debug.show(x), x * x)[1])(2.0)(2.0), 4.0),
    Misuse("a function of SciPy that has a twin",
           lambda: ft.grad(lambda x: scipy.special.logsumexp(x))(X[0]), ft.ConversionError,
           ("grad(<lambda>)", "write functier.scipy.special.logsumexp for scipy.special.logsumexp"),
           lambda: ft.grad(lambda x: functier.scipy.special.logsumexp(x))(X[0]),
           np.exp(X[0]) / np.sum(np.exp(X[0]))),
    Misuse("an unknown escape", lambda: ft.vmap(program, escape="keep"), ValueError,
           ("escape='keep'", "'dead' or 'passthrough'"),
           lambda: ft.vmap(program, escape="dead")(X), X * 2),
    Misuse("escape that is a list", lambda: ft.vmap(program, escape=[])(X), ValueError,
           ("vmap(program)", "escape=[]", "'dead' or 'passthrough'"),
           lambda: ft.vmap(program, escape="dead")(X), X * 2),
    Misuse("escape that is an array", lambda: ft.grad(loss, escape=W)(X), ValueError,
           ("grad(loss)", "escape is a ndarray", "'dead' or 'passthrough'"),
           lambda: ft.grad(loss, escape="dead")(X), X * 2),
    Misuse("progress that is a list", lambda: ft.vmap(program, chunk_size=1, progress=[])(X),
           TypeError, ("vmap(program)", "progress is a list", "write True or False"),
           lambda: ft.vmap(program, chunk_size=1, progress=False)(X), X * 2),
    Misuse("an empty chunk", lambda: ft.vmap(program, chunk_size=0)(X), ValueError,
           ("chunk_size=0", "at least 1"), lambda: ft.vmap(program, chunk_size=1)(X), X * 2),
    Misuse("an unknown randomness", lambda: ft.vmap(program, randomness="new")(X), ValueError,
           ("randomness='new'", "'error', 'different' or 'same'"),
           lambda: ft.vmap(program, randomness="same")(X), X * 2),
    Misuse("randomness that is an array", lambda: ft.vmap(program, randomness=W)(X), ValueError,
           ("vmap(program)", "randomness is a ndarray", "'error', 'different' or 'same'"),
           lambda: ft.vmap(program, randomness="same")(X), X * 2),
    Misuse("the length of a number", lambda: ft.vmap(lambda x: x * len(x))(W), TypeError,
           ("vmap(<lambda>)", "len() of a 0-d tensor"),
           lambda: ft.vmap(lambda x: x * x.size)(W), W),
    Misuse("a float as a length", lambda: ft.grad(lambda x: x * np.sum(np.linspace(0, 1, x)))(2.0),
           TypeError, ("grad(<lambda>)", "cannot be interpreted as an integer", "write int(x)"),
           lambda: ft.grad(lambda x: x * np.sum(np.linspace(0, 1, int(x))))(2.0), 1.0),
    Misuse("a loop over a float", lambda: ft.grad(lambda x: sum(x for _ in range(x)))(2.0),
           TypeError, ("grad(<lambda>)", "cannot be interpreted as an integer", "range(int(x))"),
           lambda: ft.grad(lambda x: sum(x for _ in range(int(x))))(2.0), 2.0),
    Misuse("x.data", lambda: ft.grad(lambda x: x[0] * x.data[0])(W), AttributeError,
           ("grad(<lambda>)", "x.data", "sliding_window_view(x, n)"),
           lambda: ft.grad(lambda x: np.sum(np.lib.stride_tricks.sliding_window_view(x, 2)))(W),
           np.array([1.0, 2.0, 2.0, 1.0])),
    Misuse("x.flags", lambda: ft.vmap(lambda x: x if x.flags.owndata else x.copy())(W),
           AttributeError, ("vmap(<lambda>)", "x.flags", "x.copy()"),
           lambda: ft.vmap(lambda x: x.copy())(W), W),
    Misuse("x.view(dtype)", lambda: ft.grad(lambda x: np.sum(x.view(float) ** 2))(W), TypeError,
           ("grad(<lambda>)", "x.view(dtype)", "np.stack([x.real, x.imag], -1)"),
           lambda: ft.grad(lambda x: np.sum(x.astype(float) ** 2))(W), 2 * W),
    Misuse("x.getfield(dtype)", lambda: ft.grad(lambda x: np.sum(x.getfield("f4")))(W),
           ft.UnsupportedError, ("grad(<lambda>)", "x.getfield(...)", "x.astype(dtype)"),
           lambda: ft.grad(lambda x: np.sum(x.astype("f4") ** 2))(W), 2 * W),
    Misuse("x.tobytes()", lambda: ft.vmap(lambda x: (x, x.tobytes())[0])(W), ft.ConversionError,
           ("vmap(<lambda>)", "x.tobytes(...)", "store the result of the transform"),
           lambda: ft.vmap(lambda x: x)(W), W),
    Misuse("a block of a function", block_of_a_function, TypeError,
           ("vmap(sum)", "with functier.vmap() as B:"),
           lambda: unwrapped(lambda outer, inner, z: outer.unwrap(inner.unwrap(z))),
           np.full((2, 3), 2.0)),
    Misuse("the outer level unwrapped first", lambda: unwrapped(lambda B, _, z: B.unwrap(z)),
           ft.LevelError, ("unwrap that one first", "B0.unwrap(B1.unwrap(x))"),
           lambda: unwrapped(lambda outer, inner, z: outer.unwrap(inner.unwrap(z))),
           np.full((2, 3), 2.0)),
    Misuse("a gradient after its block", lambda: gradient_of_block(False), ft.EscapedTensorError,
           ("inside the `with` block", "G.gradient(y, x)"), lambda: gradient_of_block(True), 4.0),
    Misuse("a gradient without inputs", lambda: gradient_of_block(True, False), TypeError,
           ("grad()", "gradient(y, x)"), lambda: gradient_of_block(True), 4.0),
    Misuse("lr=", lambda: stepped(lr=0.1), TypeError, ("adam()", "'lr'", "write learning_rate="),
           lambda: stepped(learning_rate=0.1), -0.1),
    Misuse("a float as an index", lambda: ft.grad(lambda x: x * W[x])(2.5), ft.ConversionError,
           ("grad(<lambda>)", "write W[int(x)] for W[x]"),
           lambda: ft.grad(lambda x: x * W[int(x)])(2.5), 2.0),
    Misuse("a batch of floats as an index", lambda: ft.vmap(lambda x: W[x])(W), ft.ConversionError,
           ("vmap(<lambda>)", "functier.tensor(W)[numpy.trunc(x).astype(int)] for W[x]"),
           lambda: ft.vmap(lambda x: ft.tensor(W)[np.trunc(x).astype(int)])(W), W),
    Misuse("a parameter without a rule",
           lambda: ft.grad(lambda d: functier.scipy.stats.nct.sf(2.0, 38.0, d))(1.8),
           ft.NoRuleError, ("scipy.stats.nct.sf", "functier.finite_difference"),
           lambda: np.round(ft.grad(ft.finite_difference(
               lambda d: functier.scipy.stats.nct.sf(2.0, 38.0, d)))(1.8), 5), 0.38255),
    Misuse("a tensor as JSON", lambda: ft.grad(lambda x: (json.dumps(x), x)[1])(2.0), TypeError,
           ("JSON", "write float(functier.stop_gradient(x)) for a number x in json.dumps(...)"),
           lambda: ft.grad(lambda x: (json.dumps(float(ft.stop_gradient(x))), x)[1])(2.0), 1.0),
    Misuse("a program's number as JSON", lambda: ft.compile(lambda x: (json.dumps(x), x)[1])(2.0),
           TypeError, ("JSON", "hand the result of the transform to json.dumps"),
           lambda: json.dumps(ft.compile(lambda x: x)(2.0)) == "2.0", True),
    Misuse("a batch as JSON", lambda: ft.vmap(lambda x: (json.dumps(x), x)[1])(W), TypeError,
           ("JSON", "hand the result of the transform to json.dumps"),
           lambda: json.loads(json.dumps(ft.vmap(lambda x: x)(W).tolist())), W),
    Misuse("a distribution without a twin",
           lambda: ft.grad(lambda a: functier.scipy.stats.levy_stable.pdf(0.3, a, 0.0))(1.5),
           ft.ConversionError, ("scipy.stats.levy_stable.pdf", "functier.finite_difference"),
           lambda: np.round(ft.grad(ft.finite_difference(
               lambda a: functier.scipy.stats.levy_stable.pdf(0.3, a, 0.0)))(1.5), 5), -0.01204),
    Misuse("a decimal", lambda: ft.grad(loss)(Decimal("1.5")), TypeError,
           ("grad(loss)", "Decimal", "float(x)"),
           lambda: ft.grad(loss)(float(Decimal("1.5"))), 3.0),
    Misuse("modules in a list", lambda: ft.nn.Sequential([ft.nn.ReLU()])(W), TypeError,
           ("Sequential", "is a list", "write Sequential(*modules)"),
           lambda: ft.nn.Sequential(*[ft.nn.ReLU()])(W), W),
]  # fmt: skip


class Sub(ft.Tensor):
    """A user's class."""
