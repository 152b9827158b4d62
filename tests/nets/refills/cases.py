"""The programs of the net: an array of some kind is made, used, refilled and used again.

A use is a text of `x`, the argument of the program, and `w`, the plain array. A refill is a text
that changes `w`. NumPy on plain arrays, which sees `w` as it was at each use, says what is right.
"""

import copy  # noqa: F401, for the programs
import functools
import re
import tempfile
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as ssp  # noqa: F401

import functier as ft
import functier.numpy as fnp
import functier.scipy.interpolate as si  # noqa: F401
from support.differences import slope

X = np.array([0.45, 1.3, 0.8])
D = np.array([0.7, -0.4, 0.55])
"""The direction of derivatives."""


def texts(group: str) -> list[str]:
    return [text.strip() for text in re.split(r";\s", group)]


FLOATS = """
w * x; x * w; w / x; x / w; x ** w; w ** x; np.hypot(x, w); np.arctan2(w, x); np.logaddexp(w, x);
np.maximum(w, x); np.fmin(x, w); np.clip(x, w, w + 1.0); np.where(w > 0.7, x, x * x);
np.multiply(x, w, where=w > 0.7, out=np.zeros_like(x * w)); np.copysign(x, w); np.fmod(w, x);
w @ x; x @ w; np.dot(w, x); np.vdot(x, w); np.inner(w, x); np.outer(w, x); np.convolve(w, x);
np.correlate(x, w); np.kron(x, w); np.cross(x[:3], w[:3]); np.tensordot(w, x, 1);
np.einsum('i,i->', w, x); np.einsum('i,i->i', x, w); np.vecdot(w, x); np.average(x, weights=w);
np.polyval(w, x); np.interp(x, np.sort(w), w); np.trapezoid(x, w); np.sum(x, where=w > 0.7);
np.linalg.solve(np.diag(w), x); np.linalg.solve(np.diag(x), w);
np.linalg.multi_dot([w, x[:, None]]); np.stack([x, w]) * w; np.select([w > 0.7], [x], x * x);
np.piecewise(x, [w > 0.7], [np.sin, np.cos]);
np.gradient(x, np.cumsum(w)); np.cumsum(x * w); np.prod(np.stack([x, w]), 0);
np.var(x * w); np.linalg.norm(np.stack([x, w])); np.apply_along_axis(lambda v: v * w, 0, x);
fnp.vectorize(lambda a, b: a * b)(x, w); fnp.array(w) * x; fnp.where(w > 0.7, x, w) * w;
ft.nn.functional.linear(x, w[None]); custom(x, w); by_jvp(x, w); ft.checkpoint(np.multiply)(x, w);
ft.checkpoint(lambda v: v * w)(x); ft.cond(w[0] > 0.5, lambda v: v * w, np.sin, x);
ft.scan(lambda c, v: (c * v, c + v), x[0], w)[0]; ft.fori_loop(0, 2, lambda i, v: v * w, x);
ft.map(lambda v: v * w[0], x); ft.scipy.special.xlogy(w, x); ft.scipy.linalg.solve(np.diag(w), x);
ft.numpy.linalg.solve(np.diag(w), x); written(x, w); np.square(x * w, out=np.zeros_like(x * w));
np.add.reduce(w * x); np.multiply.reduce(np.stack([w, x])); np.multiply.outer(w, x);
np.multiply.accumulate(x * w); w[:, None] * x; w[::-1] * x; w[:1] * x; w.reshape(-1, 1) @ x[None];
np.broadcast_to(w, (2, *w.shape)) * x; w.astype(complex) * x
"""
"""Each reads a float array of the length of `x` for its derivative."""

WHOLE = """
x[w]; np.take(x, w); x * w; x ** w; np.take_along_axis(x, w, 0); np.bincount(w, x * x);
np.choose(w % 2, [x, x * x]); put(x, w); add_at(x, w); x[w, None] * x[0]; x[(w,)]; x[w[:2]];
np.add.reduceat(x[:30], np.sort(w[:30])); np.multiply(w, x); fnp.take(x * x, w);
np.delete(x * x, w[:1]); np.insert(x, w, x * x); np.ldexp(x, w); w @ x; np.where(w > 1, x, x * x)
"""
TRUTHS = """
np.where(w, x, x * x); x * w; x[w]; np.sum(x * x, where=w); np.compress(w, x * x);
np.extract(w, x * x); np.select([w], [x], x * x); put_where(x, w); np.mean(x * x, where=w);
np.multiply(x, x, where=w, out=np.zeros_like(x)); np.piecewise(x, [w], [np.sin, np.cos]);
np.max(x, where=w, initial=0.1); fnp.where(w, x, x * x); np.choose(w, [x, x * x]); w @ x
"""

LONG = """
w * x; x / w; x ** w; np.hypot(x, w); np.maximum(w, x); np.where(w > 0.7, x, x * x); w @ x;
np.dot(x, w); np.vdot(x, w); np.einsum('i,i->', w, x); np.average(x, weights=w); custom(x, w);
by_jvp(x, w); ft.checkpoint(np.multiply)(x, w); ft.checkpoint(lambda v: v * w)(x); written(x, w);
np.interp(x, np.sort(w), w); fnp.where(w > 0.7, x, w) * w;
w[:, None] * x[:1]; w[::-1] * x; w[:2] * x[:2]; np.clip(x, w, w + 1.0); w.astype(complex) * x
"""
"""Those of long arrays."""
MATRIX = """
w @ x; x @ w; np.matmul(w, np.stack([x, x], 1)); np.dot(w, x); np.einsum('ij,j->i', w, x); w * x;
w.T @ x; w[::2] @ x; w[:, :50] @ x[:50]; np.tensordot(w, x, 1); np.linalg.solve(w + OWN, x);
np.linalg.multi_dot([w, x]); np.vecmat(x, w); np.matvec(w, x);
ft.checkpoint(np.matmul)(w, x)
"""
"""Those of a matrix, which a product with a vector reads once."""

AXES = """
np.transpose(np.outer(x, x * x), w); np.roll(np.outer(x, x * x), w, axis=(0, 1));
np.sum(np.outer(x, x * x), axis=w[0]); np.roll(x, w[0]); np.flip(x * np.arange(3.0), w[:1][0] * 0);
np.tile(x, [1 + w[0], 2]); np.moveaxis(np.outer(x, x * x), [0, 1], w); np.pad(x, w);
np.broadcast_to(x, [2, 3])[w]; np.reshape(np.outer(x, x), [1, *w, -1][:1] + [-1]) * x[w[1]]
"""
"""Those of a list of two whole numbers."""
LISTS = """
np.repeat(x * x, [round(v) for v in w]); np.dot(w, x * x); np.linalg.lstsq(np.diag(w), x)[0];
np.polyval(w, x * x); np.select([[v > 0.7 for v in w]], [x * x], x); np.add(x * x, w) * x;
ft.scipy.special.logsumexp(x * x, b=w); ft.scipy.special.xlogy(x, w); x * w; w * x; x**w; w / x
"""
PAIRED = """
np.outer(x, x * x)[w]; np.outer(x, x * x)[w[0], w[1]]; np.stack(w) * x; np.dot(w, x * x); w @ x;
np.einsum('ij,j->i', w, x * x); np.interp(x, np.sort(w[0]) + 0.13, np.square(w[1])); x * w;
np.linalg.multi_dot([w, x[:, None]]); np.where(w, x, x * x); np.kron(w, x);
np.tensordot(w, x, 1); np.average(np.stack([x, x * x]), weights=w); np.concatenate([*w, x]) ** 2
"""
"""Those of a container of two lists."""
SPARSE = """
w @ x; w.dot(x * x); w.T @ x; x @ w; ft.scipy.sparse.linalg.spsolve(w, x); (w * 2) @ x;
ft.scipy.sparse.linalg.gmres(w, x, rtol=1e-12)[0]; ft.scipy.sparse.linalg.aslinearoperator(w) @ x
"""
CONVERTED = "np.where(x > 0.7, x * x, w) * x; np.multiply(x, w); np.dot(w, x * x); np.stack([w, x])"
SPLINE = "w(x); w(x * x); w.derivative()(x); w.antiderivative()(x); w(x, 1)"
FROZEN = "w.pdf(x); w.logpdf(x); w.cdf(x * x); w.logcdf(x); w.ppf(x / 3); w.sf(x)"

USES = {
    "converted": texts(CONVERTED),
    "list": texts(FLOATS + "; " + LISTS), "axes": texts(AXES), "whole list": texts(WHOLE),
    "truth list": texts(TRUTHS), "paired": texts(PAIRED), "sparse": texts(SPARSE),
    "spline": texts(SPLINE), "frozen": texts(FROZEN),
    "float": texts(FLOATS), "int": texts(WHOLE), "bool": texts(TRUTHS), "long": texts(LONG),
    "matrix": texts(MATRIX), "none": [],
}  # fmt: skip

REFILLS = {
    "array": {
        "all": "w[...] = {new}",
        "one": "w[1] = {new}[1]",
        "ufunc": "np.{ufunc}(w, {new}, out=w)",
        "order": "w[...] = w[::-1].copy()",
        "copyto": "np.copyto(w, {new})",
        "older": "owner[{at}] = {new}",
        "restored": "w[...] = {new} // w[...] = old",
    },
    "list": {
        "all": "w[:] = {new}",
        "one": "w[1] = {new}[1]",
        "order": "w.reverse()",
        "restored": "w[:] = {new} // w[:] = old",
    },
    "pair": {
        "all": "w[0][:], w[1][:] = {new}",
        "one": "w[1][1] = {new}[1][1]",
        "order": "w[0][:] = [*w[0]][::-1]",
        "restored": "w[0][:], w[1][:] = {new} // w[0][:], w[1][:] = old",
    },
    "object": {
        "all": "w.{at}[...] = {new}",
        "one": "w.{at}[1] = {new}[1]",
        "attribute": "w.{at} = {new}",
        "restored": "w.{at}[...] = {new} // w.{at}[...] = old.{at}",
    },
    "frozen": {
        "all": "owner[0][...] = {new}",
        "one": "owner[0][1] = {new}[1]",
        "attribute": "w.kwds = {{'loc': {new}}}",
        "restored": "owner[0][...] = {new} // owner[0][...] = old.kwds['loc']",
    },
}
"""By the form of `w`; `older` writes by the array that it is a view of. ``//`` puts it back."""


class Kind(NamedTuple):
    """A kind of array: its uses, how one is made, the part of it, and other contents."""

    uses: str
    owner: str
    at: str
    new: str
    ufunc: str = ""
    form: str = "array"


A, B, C = "[0.6, 0.9, 1.2]", "[7.0, 8.0, 9.0]", "[1.1, 0.5, 0.75]"
FLOAT = f"T(np.array({C}))", "add"
KINDS = {
    "float": Kind("float", f"T(np.array({A}))", "...", *FLOAT),
    "row": Kind("float", f"T(np.array([{A}, {B}]))", "0", *FLOAT),
    "column": Kind("float", f"T(np.array([{A}, {B}])).T.copy()", ":, 0", *FLOAT),
    "of x": Kind("float", f"np.where(np.isnan(x), 2.0, T(np.array({A})))", "...", *FLOAT),
    "int": Kind("int", "T(np.array([0, 2, 1]))", "...", "T(np.array([1, 1, 2]))", "maximum"),
    "int row": Kind("int", "T(np.array([[0, 2, 1], [2, 1, 0]]))", "0", "T(np.array([1, 1, 2]))",
                    "maximum"),
    "bool": Kind("bool", "T(np.array([True, False, True]))", "...",
                 "T(np.array([False, False, True]))", "logical_and"),
    "compared": Kind("bool", "x > 0.7", "...", "(x > 1.0)", "logical_xor"),
}  # fmt: skip
LARGE = {
    "large float": KINDS["float"]._replace(uses="long"),
    "large row": KINDS["row"]._replace(uses="long"),
    "large column": KINDS["column"]._replace(uses="long"),
    "large of x": KINDS["of x"]._replace(uses="long"),
    "large int": KINDS["int"], "large bool": KINDS["bool"], "large compared": KINDS["compared"],
    "matrix": Kind("matrix", "np.cos(np.arange(90000.0)).reshape(300, 300)", "...",
                   "np.sin(np.arange(90000.0)).reshape(300, 300)", "add"),
    "columns": Kind("matrix", "np.cos(np.arange(90000.0)).reshape(300, 300).T", "...",
                    "np.sin(np.arange(90000.0)).reshape(300, 300)", "add"),
}  # fmt: skip
PAIR = "[[1.1, 0.5, 0.75], [0.3, 0.2, 0.9]]"
OTHERS = {
    "list": Kind("list", A, "...", C, form="list"),
    "axes": Kind("axes", "[0, 1]", "...", "[1, 0]", form="list"),
    "whole list": Kind("whole list", "[0, 2, 1]", "...", "[1, 1, 2]", form="list"),
    "truth list": Kind("truth list", "[True, False, True]", "...", "[False, False, True]",
                       form="list"),
    "list of lists": Kind("paired", f"[{A}, {B}]", "...", PAIR, form="pair"),
    "tuple of lists": Kind("paired", f"({A}, {B})", "...", PAIR, form="pair"),
    "whole lists": Kind("paired", "([0, 2, 1], [1, 0, 2])", "...", "[[1, 1, 2], [2, 0, 0]]",
                        form="pair"),
    "tuple of arrays": Kind("paired", f"(np.array({A}), np.array({B}))", "...", PAIR, form="pair"),
    "memmap": Kind("float", f"mapped({A})", "...", *FLOAT),
    "recarray": Kind("float", f"np.array({A}).view(np.recarray)", "...", *FLOAT),
    "own class": Kind("float", f"np.array({A}).view(Own)", "...", *FLOAT),
    "whole own class": Kind("int", "np.array([0, 2, 1]).view(Own)", "...", "np.array([1, 1, 2])",
                            "maximum"),
    "sparse": Kind("sparse", "ssp.csr_array(np.diag([0.6, 0.9, 1.2]) + np.eye(3, k=1))", "data",
                   "np.array([1.1, 0.5, 0.75, 0.4, 0.8])", form="object"),
    "sparse places": Kind("sparse", "ssp.csr_array(np.diag([0.6, 0.9, 1.2]) + np.eye(3, k=1))",
                          "indices", "np.array([0, 2, 0, 2, 1])", form="object"),
    "converted": Kind("converted", f"Converted(np.array({A}))", "a", f"np.array({C})",
                      form="object"),
    "spline": Kind("spline", f"si.CubicSpline([0.0, 0.5, 2.0], {A}, bc_type='natural')", "c",
                   "np.cos(np.arange(8.0).reshape(4, 2))", form="object"),
    "frozen": Kind("frozen", f"fresh(np.array({A}))", "0", f"np.array({C})", form="frozen"),
}  # fmt: skip
"""Containers, arrays of subclasses, and objects with a state."""
WIDE = Kind("none", "np.cos(np.arange(60000.0)).reshape(600, 100)", "...",
            "np.sin(np.arange(60000.0)).reshape(600, 100)", "add")  # fmt: skip
KINDS |= LARGE | OTHERS | {"wide": WIDE}
LENGTHS = {"matrix": 100, "columns": 100, "wide": 34} | dict.fromkeys(
    [k for k in LARGE if k[:5] == "large"], 12_000
)
"""How many times the argument of a large program is repeated."""
OWN = 30.0 * np.eye(300)


class Own(np.ndarray):
    pass


class Converted:
    """An object that NumPy converts, with the part of an array that programs refill."""

    def __init__(self, a):
        self.a = a

    def __array__(self, dtype=None, **options):
        return np.asarray(self.a, dtype)


def mapped(values):
    made = np.memmap(tempfile.TemporaryFile(), float, "w+", shape=3)
    made[:] = values
    return made


def fresh(loc):
    return loc, ft.scipy.stats.norm(loc=loc)


@ft.custom_vjp
def custom(x, w):
    return x * w


custom.defvjp(lambda x, w: (x * w, w), lambda w, g: (g * w, None))


@ft.custom_jvp
def by_jvp(x, w):
    return x * w


by_jvp.defjvp(lambda primals, tangents: (
    primals[0] * primals[1], 0.0 if tangents[0] is None else tangents[0] * primals[1],
))  # fmt: skip


def put(x, w):
    y = fnp.zeros(x.shape)
    y[w] = x * x
    return y


def add_at(x, w):
    y = fnp.zeros(x.shape)
    np.add.at(y, w, x * x)
    return y


def put_where(x, w):
    y = x * 1.0
    y[w] = 0.5
    return y * y


def written(x, w):
    y = fnp.zeros(x.shape)
    y[...] = x
    y *= w
    return y


def weigh(y, k):
    """A number that depends on all elements of `y`."""
    weights = 1.0 + 0.5 * np.cos(k + np.arange(1.0, 1.0 + np.size(y))).reshape(np.shape(y))
    return np.sum(np.real(weights * y)) / np.size(y)


HELD: dict[int, Any] = {}
"""For each thread how to refill what its last program used, after the function has returned."""


def hold(w, refill):
    HELD[get_ident()] = refill if not isinstance(w, ft.Tensor) else lambda: None


class Program(NamedTuple):
    """A use of an array of some kind, and its refill."""

    use: str
    kind: str
    refill: str

    def function(self):
        """The function of the program; each call makes the array anew."""
        kind = KINDS[self.kind]
        times = LENGTHS.get(self.kind, 1)
        texts = REFILLS[kind.form]
        refill, _, back = texts[self.refill].format(**kind._asdict()).partition(" // ")
        lines = (
            "def f(x):",
            f"    x = np.tile(x, {times})" if times > 1 else "    x = x * 1.0",
            f"    owner = {kind.owner}",
            {"array": f"    w = owner[{kind.at}]", "frozen": "    w = owner[1]"}.get(
                kind.form if kind.at != "..." else "", "    w = owner"
            ),
            f"    new = {kind.new}",
            "    def late():",
            f"        {texts['all'].format(**kind._asdict() | {'new': 'new'})}",
            "    hold(w, late)",
            f"    use = lambda: {self.use}",
            "    a, old = use(), w.copy() if kind == 'array' else copy.deepcopy(w)",
            f"    {refill}",
            "    b = use()",
            f"    {back}",
            "    return weigh(a, 0) * weigh(b, 1) + weigh(a, 2) ** 2",
        )
        space = {**globals(), "kind": kind.form, "T": (lambda a: np.tile(a, times))}
        exec("\n".join(lines), space)
        return space["f"]


def programs(full: bool):
    """All programs: of a slice each use of each kind has one refill, in turn."""
    number = 0
    for kind, facts in KINDS.items():
        for use in USES[facts.uses]:
            names = [*REFILLS[facts.form]]
            for refill in names if full else [names[number % len(names)]]:
                yield Program(use, kind, refill)
            number += 1


class Plain:
    """NumPy's derivatives of a program, by differences; None where NumPy refuses it."""

    def __init__(self, program: Program):
        self.f = program.function()

    @functools.cached_property
    def fits(self) -> bool:
        try:
            return bool(np.isfinite(self.f(X)))
        except Exception:
            return False

    def gradient(self, x):
        return np.array([slope(self.f, x, e) for e in np.eye(x.size)])

    @functools.cached_property
    def first(self):
        return self.gradient(X)

    @functools.cached_property
    def second(self):
        return slope(self.gradient, X, D)
