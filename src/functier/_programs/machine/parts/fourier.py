"""Fourier transforms of pairs: products with the matrices that NumPy's own functions give.

A call of `numpy.fft` takes five microseconds, most of them in Python, and machine code has none. A
product of a short row with a matrix takes less, and leaves a loop around it machine code. A longer
row is a table, whose columns and rows are transformed one after the other (Cooley and Tukey).
"""

import operator
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy import fft

from ...graph import Form, Node
from ..lowering.steps import strides_out
from .complex_rules import rule
from .complexes import Pair, Pairing, Unpaired

MOST = 2**18
"""With more multiplications NumPy's own functions are faster."""

FEW = 2**12
"""So many multiplications are a product with one matrix, and not with two smaller ones."""

REAL_RESULT = frozenset({fft.irfft})
INVERSE = frozenset({fft.ifft, fft.irfft})


def sized(shape: tuple[int, ...]) -> Form:
    """Return the form of an array in the order of C."""
    form = Form(shape, np.dtype(float), None, np.ndarray)
    return form._replace(strides=strides_out(form))


class Transform:
    """One call, while it becomes products.

    Attributes
    ----------
    func : callable
        The function of `numpy.fft`.
    x : Pair
        The operand; real numbers have a zero, and not a node, as their imaginary part.
    n, norm : int, str
        The length that the call names, and what is divided by it.
    """

    def __init__(self, pairing: Pairing, node: Node):
        given = dict(zip(("a", "n", "axis", "norm"), node.args), **node.kwargs)
        x, axis, self.norm = given["a"], given.get("axis", -1), given.get("norm") or "backward"
        self.add, self.func, self.node = pairing.add, node.func, node
        if type(x) is not Node or x.form.dtype not in (np.dtype(float), np.dtype(complex)):
            raise Unpaired
        self.x, self.shape = pairing.pair(x), x.form.shape
        if type(axis) is not int or axis % len(self.shape) != len(self.shape) - 1:
            raise Unpaired
        self.n: Any = given.get("n")
        self.is_real = type(self.x.im) is not Node
        self.width, self.wide = self.shape[-1], node.form.shape[-1]

    def made(self) -> Any:
        """Return the result as a pair, or as a node of real numbers."""
        one = self.width * self.wide * (2 - self.is_real) * (2 - (self.func in REAL_RESULT))
        n = self.wide if self.func in REAL_RESULT else self.width
        first = max([i for i in range(1, int(n**0.5) + 1) if n % i == 0])
        two = 4 * n * (first + n // first)
        usual = self.n in (None, n) and self.width == (
            n // 2 + 1 if self.func in REAL_RESULT else n
        )
        is_table = usual and first > 1 and one > FEW and 2 * two < one
        if prod(self.shape[:-1]) * (two if is_table else one) > MOST:
            raise Unpaired
        found = self.by_table(n, first) if is_table else self.by_matrix()
        return found.re if self.func in REAL_RESULT else found

    # ---- calls ----

    def call(self, func: Callable, shape: tuple[int, ...], *args: Any, **options: Any) -> Node:
        """Add a call whose result has a shape."""
        return self.add(func, args, sized((*self.shape[:-1], *shape)), options)  # type: ignore[no-any-return]

    def cut(self, x: Node, part: slice) -> Node:
        """Add a view of some columns."""
        form = x.form._replace(
            shape=(*x.form.shape[:-1], len(range(*part.indices(x.form.shape[-1]))))
        )
        if part.step == -1:
            return self.add(np.flip, (x, -1), form._replace(strides=(*form.strides[:-1], -8)))  # type: ignore[no-any-return]
        return self.add(operator.getitem, (x, (..., part)), form)  # type: ignore[no-any-return]

    def total(self, func: Callable, *terms: Any) -> Any:
        """Add the sum, or difference, of what is there."""
        a, b = terms
        if b is None:
            return a
        if a is None:
            return b if func is np.add else self.add(np.negative, (b,), b.form)
        return self.add(func, (a, b), a.form)

    # ---- one matrix ----

    def by_matrix(self) -> Pair:
        """Return the product with a matrix, which NumPy's function makes of the unit vectors."""
        units = np.eye(self.width)
        options = {"n": self.n, "axis": -1, "norm": self.norm}
        func: Any = self.func
        of_re, of_im = func(units, **options), None
        if not self.is_real:
            of_im = func(1j * units, **options)

        def part(take: Callable) -> Any:
            terms = [
                self.times(x, m)
                for x, m in zip(self.x, (take(of_re), of_im if of_im is None else take(of_im)))
            ]
            found = self.total(np.add, *terms)
            return 0.0 if found is None else found

        return Pair(part(np.real), None if func in REAL_RESULT else part(np.imag))

    def times(self, x: Any, matrix: Any) -> Any:
        """Return a product without the columns that NumPy does not look at."""
        if matrix is None:
            return None
        places = np.flatnonzero(np.any(matrix, axis=1))
        if not places.size:
            return None
        first, last = int(places[0]), int(places[-1]) + 1
        if last - first < self.width:
            x = self.cut(x, slice(first, last))
        return self.call(np.matmul, (self.wide,), x, np.ascontiguousarray(matrix[first:last]))

    # ---- a table ----

    def by_table(self, n: int, first: int) -> Pair:
        """Return the transform of the columns of a table, turned, and then of its rows."""
        other, inverse = n // first, self.func in INVERSE
        scale = {"backward": inverse, "ortho": 0.5, "forward": not inverse}[self.norm]
        unscaled: Callable = (lambda x: fft.ifft(x, norm="forward")) if inverse else fft.fft
        turns = unscaled(np.eye(1, n, 1))[0][np.outer(np.arange(first), np.arange(other)) % n]
        a, b = unscaled(np.eye(first)), unscaled(np.eye(other)) / n ** float(scale)
        re, im = self.full(n) if self.func in REAL_RESULT else self.x
        size = first, other
        x = [
            self.call(np.reshape, size, part, (*self.shape[:-1], *size))
            if type(part) is Node
            else None
            for part in (re, im)
        ]
        x = self.product(x, a, lambda part, m: self.call(np.matmul, size, m, part))
        x = self.product(x, turns, lambda part, m: self.call(np.multiply, size, part, m))
        x = self.product(x, b, lambda part, m: self.call(np.matmul, size, part, m))
        found = []
        for part in x:
            turned = part.form._replace(
                shape=(*self.shape[:-1], other, first),
                strides=(*part.form.strides[:-2], 8, 8 * other),
            )
            y = self.add(np.swapaxes, (part, -1, -2), turned)
            y = self.call(np.reshape, (n,), y, (*self.shape[:-1], n))
            if self.wide < n:
                y = self.call(np.copy, (self.wide,), self.cut(y, slice(0, self.wide)))
            found.append(y)
        return Pair(*found)

    def product(self, x: Any, y: Any, times: Callable) -> Any:
        """Return a product of complex numbers."""
        (a, b), (c, d) = x, (np.ascontiguousarray(y.real), np.ascontiguousarray(y.imag))
        re = self.total(np.subtract, times(a, c), None if b is None else times(b, d))
        return re, self.total(np.add, times(a, d), None if b is None else times(b, c))

    def full(self, n: int) -> Pair:
        """Return the half that is given with the other half, which is its conjugate."""
        half = slice(1, (n + 1) // 2)
        re, im = [self.cut(x, half) for x in self.x]
        back = self.cut(re, slice(None, None, -1))
        conjugate = self.cut(im, slice(None, None, -1))
        conjugate = self.call(np.negative, (conjugate.form.shape[-1],), conjugate)
        zero = np.zeros((*self.shape[:-1], 1))
        middle = [zero] if n % 2 == 0 else []
        parts = (self.x.re, back), (zero, im, *middle, conjugate)
        return Pair(*[self.call(np.concatenate, (n,), own, axis=-1) for own in parts])


@rule(fft.fft, fft.ifft, fft.rfft, fft.irfft)
def _transform(self: Pairing, node: Node) -> Any:
    return Transform(self, node).made()
