"""Rules of complex numbers: what a call of them is as one of pairs, by NumPy's formulas."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...._rules import indexing
from ...graph import Form, Node, mapped, replace
from ..lowering.products import MOVES
from .complexes import EXACT, RULES, Pair, Pairing, Unpaired, is_complex, part_of, ufunc_of


def rule(*funcs: Any) -> Callable:
    """Register the rule of some functions."""

    def register(write: Callable) -> Callable:
        RULES.update(dict.fromkeys(funcs, write))
        return write

    return register


def leaves_of(x: Any) -> list[Any]:
    """Return the arguments in containers; for an array one of its elements."""
    found: list[Any] = []

    def note(leaf: Any) -> Any:
        is_array = type(leaf) is np.ndarray
        found.append(leaf.dtype.type() if is_array and leaf.dtype.kind in "biufc" else leaf)

    mapped(x, note)
    return found


SUMS = np.sum, np.mean, np.cumsum, np.trace, indexing.add_at, (np.add, "reduce")


@rule(
    *MOVES, np.reshape, np.ravel, np.copy, np.stack, np.concatenate, np.array, np.diag, np.repeat,
    np.roll, np.take, np.tril, np.triu, operator.getitem, indexing.getitem, indexing.place,
    np.zeros_like, *SUMS,
)  # fmt: skip
def alike(self: Pairing, node: Node) -> Pair:
    """Return the result for both parts, of a call that is linear in its complex operands."""
    constants = {type(x) for x in leaves_of((node.args, node.kwargs))}
    joined = node.args[0] if node.func in (np.array, np.stack, np.concatenate) else ()
    if (
        constants & {float, complex}
        or any([issubclass(x, np.inexact) for x in constants])
        or (not all([type(x) is Node for x in leaves_of(joined)]))
    ):
        raise Unpaired  # a constant belongs to one part alone
    found = []
    for place in (0, 1):

        def part(x: Node, place: int = place) -> Any:
            own = self.new[x]
            if type(own) is Pair:
                return own[place]
            if is_complex(x.form) or (type(x.form) is Form and x.form.dtype is not None):
                raise Unpaired  # an index, or a real operand
            return own

        args, kwargs = replace((node.args, node.kwargs), part)
        found.append(self.add(node.func, args, part_of(node.form), kwargs))  # type: ignore[arg-type]
    return Pair(*found)


EXACT.update(RULES.keys() - {*SUMS})


@rule(np.add, np.subtract)
def _sum(self: Pairing, node: Node) -> Pair:
    a, b = map(self.pair, node.args)
    func = ufunc_of(node)
    return Pair(self.real(func, a.re, b.re), self.real(func, a.im, b.im))


@rule(np.multiply)
def _product(self: Pairing, node: Node) -> Pair:
    return product(self, *map(self.pair, node.args))


@rule(np.square)
def _square(self: Pairing, node: Node) -> Pair:
    x = self.pair(node.args[0])
    return product(self, x, x)


def product(self: Pairing, a: Pair, b: Pair) -> Pair:
    """Return a product, by NumPy's formula."""
    re, im = [
        self.real(func, self.real(np.multiply, x, y), self.real(np.multiply, z, w))
        for func, x, y, z, w in (
            (np.subtract, a.re, b.re, a.im, b.im), (np.add, a.re, b.im, a.im, b.re),
        )
    ]  # fmt: skip
    return Pair(re, im)


@rule(np.divide)
def _quotient(self: Pairing, node: Node) -> Pair:
    """Divide by the larger part first, as NumPy does (Smith, CACM 5, 1962)."""
    (a, b), (c, d) = map(self.pair, node.args)
    real = self.real
    sizes = real(np.absolute, c), real(np.absolute, d)
    large = self.truth(np.greater_equal, *sizes)
    most, least = real(np.where, large, c, d), real(np.where, large, d, c)
    rate = real(np.divide, least, most)
    scale = real(np.divide, 1.0, real(np.add, most, real(np.multiply, least, rate)))
    first, second = real(np.multiply, a, rate), real(np.multiply, b, rate)
    re = real(np.where, large, real(np.add, a, second), real(np.add, first, b))
    im = real(np.where, large, real(np.subtract, b, first), real(np.subtract, second, a))
    zero = self.truth(np.equal, real(np.maximum, *sizes), 0.0)
    return Pair(*[
        real(np.where, zero, real(np.divide, x, sizes[0]), real(np.multiply, y, scale))
        for x, y in ((a, re), (b, im))
    ])  # fmt: skip


@rule(np.negative)
def _negative(self: Pairing, node: Node) -> Pair:
    return Pair(*[self.real(np.negative, x) for x in self.pair(node.args[0])])


@rule(np.positive)
def _positive(self: Pairing, node: Node) -> Pair:
    return self.pair(node.args[0])


@rule(np.conjugate)
def _conjugate(self: Pairing, node: Node) -> Pair:
    re, im = self.pair(node.args[0])
    return Pair(re, self.real(np.negative, im))


@rule(np.absolute)
def _modulus(self: Pairing, node: Node) -> Any:
    if node.form.dtype is None:
        raise Unpaired
    return self.add(np.hypot, tuple(self.pair(node.args[0])), node.form)


@rule(np.real)
def _real(self: Pairing, node: Node) -> Any:
    return self.pair(node.args[0]).re


@rule(np.imag)
def _imag(self: Pairing, node: Node) -> Any:
    return self.pair(node.args[0]).im


@rule(np.angle)
def _angle(self: Pairing, node: Node) -> Any:
    if len(node.args) > 1 or node.kwargs or node.form.dtype is None:
        raise Unpaired
    re, im = self.pair(node.args[0])
    return self.add(np.arctan2, (im, re), node.form)


@rule(np.equal, np.not_equal)
def _equal(self: Pairing, node: Node) -> Any:
    a, b = map(self.pair, node.args)
    own = ufunc_of(node)
    pairs = [self.add(own, given, node.form) for given in ((a.re, b.re), (a.im, b.im))]
    return self.add(np.bitwise_and if own is np.equal else np.bitwise_or, (*pairs,), node.form)


@rule(np.isfinite, np.isnan, np.isinf)
def _class(self: Pairing, node: Node) -> Any:
    found = [self.add(node.func, (x,), node.form) for x in self.pair(node.args[0])]  # type: ignore[arg-type]
    own = np.bitwise_and if node.func is np.isfinite else np.bitwise_or
    return self.add(own, (*found,), node.form)


@rule(np.where)
def _where(self: Pairing, node: Node) -> Pair:
    if len(node.args) != 3:
        raise Unpaired
    condition = self.plain(node.args[0])
    a, b = map(self.pair, node.args[1:])
    return Pair(*[self.real(np.where, condition, x, y) for x, y in zip(a, b)])


@rule(np.astype)
def _astype(self: Pairing, node: Node) -> Pair:
    if len(node.args) != 2 or not is_complex(node.form):
        raise Unpaired
    x, dtype = self.pair(node.args[0]), part_of(node.form).dtype
    re = self.add(np.astype, (x.re, dtype), part_of(node.form), {**node.kwargs})
    if type(x.im) is not Node:
        return Pair(re, self.add(np.zeros_like, (re,), part_of(node.form), {}))
    return Pair(re, self.add(np.astype, (x.im, dtype), part_of(node.form), {**node.kwargs}))


@rule(np.matmul, np.dot)
def _matmul(self: Pairing, node: Node) -> Pair:
    a, b = map(self.pair, node.args)
    if not all([type(x) is not float for x in (a.im, b.im)]):
        raise Unpaired
    form, func = part_of(node.form), ufunc_of(node)
    ac, bd, ad, bc = [
        self.add(func, given, form, {})  # type: ignore[arg-type]
        for given in ((a.re, b.re), (a.im, b.im), (a.re, b.im), (a.im, b.re))
    ]
    return Pair(self.real(np.subtract, ac, bd), self.real(np.add, ad, bc))


LARGE = 709.0
"""The exponential of a larger number may be too large where the product with a sine is not."""


@rule(np.exp)
def _exp(self: Pairing, node: Node) -> Pair:
    """Return exp(re) times the cosine and the sine of im, with the limits of C99, annex G."""
    re, im = self.pair(node.args[0])
    if part_of(node.form).dtype != float:
        raise Unpaired
    real, truth = self.real, self.truth
    large = truth(np.greater, re, LARGE)
    size = real(np.exp, real(np.subtract, re, real(np.where, large, 300.0, 0.0)))
    more = real(np.where, large, np.exp(300.0), 1.0)
    found = [
        real(np.multiply, real(np.multiply, size, real(f, im)), more) for f in (np.cos, np.sin)
    ]
    whole = real(np.exp, re)
    on_axis = truth(np.equal, im, 0.0)
    found = [real(np.where, on_axis, x, y) for x, y in zip((whole, im), found)]
    away = truth(np.logical_not, truth(np.isfinite, im))
    ends = truth(np.bitwise_and, away, truth(np.equal, re, -np.inf))
    found = [real(np.where, ends, 0.0, x) for x in found]
    ends = truth(np.bitwise_and, away, truth(np.equal, re, np.inf))
    return Pair(real(np.where, ends, np.inf, found[0]), found[1])
