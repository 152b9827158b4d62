"""Eleven useful classes that override NumPy's functions.

The first five are subclasses of `functier.Tensor`: they compute as it does, and add to it. The
others do not inherit from it and implement the protocol themselves. All of them go through vmap,
grad and jvp, as values that a level wraps.

    python examples/subclasses.py
"""

import functools
import logging
import operator
import weakref
from typing import ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

import functier as ft
from functier import Tensor, overrides

log = logging.getLogger("functier.examples")


def mapped(f, tree):
    """Apply `f` to what is in lists, tuples and dicts."""
    if isinstance(tree, (list, tuple)):
        return type(tree)(mapped(f, x) for x in tree)
    if isinstance(tree, dict):
        return {name: mapped(f, x) for name, x in tree.items()}
    return f(tree)


def values(tree, cls):
    """Unwrap the instances of `cls` among the arguments of a call."""
    return mapped(lambda x: x.elem() if isinstance(x, cls) else x, tree)


# ---- subclasses of Tensor ----


class LoggingTensor(Tensor):
    """Logs every call: functions, methods, operators, indexing and properties."""

    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        log.info("func: %s, args: %r, kwargs: %r", func.__name__, args, kwargs or {})
        return super().__tensor_function__(func, types, args, kwargs)


class NanDetector(Tensor):
    """Stops at the first operation that makes a NaN out of operands that have none."""

    @classmethod
    def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
        with np.errstate(invalid="ignore"):
            result = super().__tensor_dispatch__(func, types, args, kwargs)
        given = []
        mapped(lambda x: given.append(has_nan(x)), (args, kwargs or {}))
        if has_nan(result) and not any(given):
            raise FloatingPointError(
                f"{overrides.resolve_name(func)} made a NaN out of operands without one"
            )
        return result


def has_nan(x):
    """Tell if an array or a tensor has a NaN."""
    x = x.elem() if isinstance(x, Tensor) else x
    if isinstance(x, (tuple, list)):
        return any(map(has_nan, x))
    return bool(getattr(x, "dtype", np.dtype(int)).kind in "fc" and np.isnan(x).any())


class Verified(Tensor):
    """Computes everything a second time in long double, to know the rounding error."""

    def __init__(self, data, exact=None):
        self.exact = np.asarray(self.elem(), np.longdouble) if exact is None else exact

    def error(self):
        """The largest difference between the computed and the exact value."""
        return float(np.max(np.abs(self.elem() - self.exact), initial=0.0))

    @classmethod
    def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        exact = mapped(lambda x: x.exact if isinstance(x, cls) else x, (args, kwargs))
        reference = func(*exact[0], **exact[1])
        result = func(*values(args, Tensor), **values(kwargs, Tensor))
        if isinstance(result, tuple):
            return tuple(map(cls, result, reference))
        return cls(result, reference)


class Quantity(Tensor):
    """Has a unit, a dict of exponents: ``Quantity(3.0, m=1, s=-1)`` is 3 metres per second."""

    def __init__(self, data, **unit):
        self.unit = {name: n for name, n in unit.items() if n}

    def __repr__(self):
        unit = " ".join(f"{name}^{n}" for name, n in sorted(self.unit.items()))
        return f"Quantity({np.array2string(self.elem(), separator=', ')} {unit or '1'})"

    def to_base(self):
        """The plain array, if the unit is 1."""
        if self.unit:
            raise TypeError(f"{self!r} has a unit; divide by it first")
        return self.elem()

    @classmethod
    def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        operands = []
        mapped(
            lambda x: operands.append(x) if isinstance(x, (Tensor, np.ndarray, float)) else 0, args
        )
        units = [getattr(x, "unit", {}) for x in operands]
        result = func(*values(args, Tensor), **values(kwargs, Tensor))
        if func in SAME:
            unit = units[0]
            if any(own != unit for own in units):
                raise TypeError(f"{func.__name__} of different units: {units}")
        elif func in POWERS:
            unit = {}
            for own, sign in zip(units, POWERS[func]):
                unit = {k: unit.get(k, 0) + sign * own.get(k, 0) for k in {**unit, **own}}
        elif func is np.power:
            unit = {k: n * args[1] for k, n in units[0].items()}
        elif func in KEEPING:
            unit = units[0]
        elif not any(units) or func in (np.sign, np.ones_like, np.isnan, np.isfinite):
            unit = {}
        else:
            raise TypeError(f"{func.__name__} of a value with a unit: {units}")
        return result if result.dtype == bool else cls(result, **unit)


SAME = {
    np.add, np.subtract, np.maximum, np.minimum, np.less, np.greater, np.less_equal,
    np.greater_equal, np.equal, np.not_equal, np.concatenate, np.stack, np.hypot,
}  # fmt: skip
POWERS = {
    np.multiply: (1, 1), np.matmul: (1, 1), np.dot: (1, 1), np.divide: (1, -1), np.sqrt: (0.5,),
    np.square: (2,), np.reciprocal: (-1,),
}  # fmt: skip
KEEPING = {
    np.sum, np.mean, np.max, np.min, np.negative, np.positive, np.absolute, np.reshape,
    np.transpose, np.broadcast_to, np.moveaxis, np.expand_dims, np.squeeze, np.cumsum, np.copy,
    np.swapaxes, np.zeros_like, np.astype, np.real, np.conjugate, operator.getitem,
}  # fmt: skip


class Tracked(Tensor):
    """Counts the bytes of its live instances, now and at the peak."""

    alive = peak = 0

    @classmethod
    def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
        result = super().__tensor_dispatch__(func, types, args, kwargs)
        mapped(cls.note, result)
        return result

    @classmethod
    def note(cls, x):
        """Count an instance until it is gone."""
        if isinstance(x, Tensor) and x.elem().base is None:
            n = x.elem().nbytes
            Tracked.alive += n
            Tracked.peak = max(Tracked.peak, Tracked.alive)
            weakref.finalize(x, cls.forget, n)

    @staticmethod
    def forget(n):
        Tracked.alive -= n


# ---- classes that are no tensors ----


class Lazy(overrides.TensorLike, NDArrayOperatorsMixin):
    """An array that is not stored element by element: the base of the classes below.

    A subclass converts itself in ``dense``, and has the functions that it can do better in
    ``handled``. All other functions get the dense array.
    """

    handled: ClassVar[dict] = {}

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape))

    @property
    def T(self):
        return np.transpose(self)

    def reshape(self, *shape):
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def astype(self, dtype, copy=True):
        return np.astype(self, dtype, copy=copy)

    def sum(self, axis=None):
        return np.sum(self, axis=axis)

    def __getitem__(self, index):
        return self.dense()[index]

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.dense(), dtype)

    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(t, (Lazy, Tensor)) for t in types):
            return NotImplemented
        kwargs = kwargs or {}
        for handled in {id(c.handled): c.handled for c in types if issubclass(c, Lazy)}.values():
            result = handled[func](*args, **kwargs) if func in handled else NotImplemented
            if result is not NotImplemented:
                return result
        args, kwargs = mapped(lambda x: x.dense() if isinstance(x, Lazy) else x, (args, kwargs))
        return func(*args, **kwargs)


def implements(table, *funcs):
    """Register a function as the implementation of `funcs`."""

    def register(f):
        table.update(dict.fromkeys(funcs, f))
        return f

    return register


class Negated(Lazy):
    """An array with the sign reversed: made without a copy, and undone for free."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def dense(self):
        return np.negative(self.array)

    handled: ClassVar[dict] = {np.negative: lambda x: x.array}


def _of_negated(func):
    return lambda x, *args, **kwargs: Negated(func(x.array, *args, **kwargs))


for _func in (np.reshape, np.transpose, np.moveaxis, np.expand_dims, np.squeeze, np.sum):
    Negated.handled[_func] = _of_negated(_func)


@implements(Negated.handled, np.multiply, np.matmul)
def _product(x, y):
    if isinstance(x, Negated) and isinstance(y, Negated):
        return x.array * y.array
    return NotImplemented


class Diagonal(Lazy):
    """A diagonal matrix that stores only its diagonal."""

    def __init__(self, diagonal):
        n = diagonal.shape[0]
        self.diagonal, self.shape, self.dtype = diagonal, (n, n), diagonal.dtype

    def dense(self):
        return np.diag(self.diagonal)

    def __repr__(self):
        return f"Diagonal({self.diagonal!r})"

    handled: ClassVar[dict] = {}


@implements(Diagonal.handled, np.matmul, np.dot)
def _matmul(a, b):
    if isinstance(a, Diagonal) and isinstance(b, Diagonal):
        return Diagonal(a.diagonal * b.diagonal)
    if isinstance(a, Diagonal) and np.ndim(b) in (1, 2) and not isinstance(b, Lazy):
        return a.diagonal * b if np.ndim(b) == 1 else a.diagonal[:, None] * b
    if isinstance(b, Diagonal) and np.ndim(a) in (1, 2) and not isinstance(a, Lazy):
        return a * b.diagonal
    return NotImplemented


@implements(Diagonal.handled, np.transpose, np.matrix_transpose)
def _transpose(a, axes=None):
    return a


@implements(Diagonal.handled, np.multiply)
def _scale(a, b):
    scalar, d = (b, a) if isinstance(a, Diagonal) else (a, b)
    both = isinstance(scalar, Diagonal)
    if not both and np.ndim(scalar):
        return NotImplemented
    return Diagonal(d.diagonal * (scalar.diagonal if both else scalar))


@implements(Diagonal.handled, np.add)
def _add(a, b):
    both = isinstance(a, Diagonal) and isinstance(b, Diagonal)
    return Diagonal(a.diagonal + b.diagonal) if both else NotImplemented


Diagonal.handled.update({
    np.trace: lambda a: a.diagonal.sum(),
    np.sum: lambda a, axis=None: a.diagonal.sum() if axis is None else NotImplemented,
    np.diagonal: lambda a: a.diagonal, np.linalg.det: lambda a: a.diagonal.prod(),
    np.linalg.inv: lambda a: Diagonal(1 / a.diagonal),
    np.linalg.solve: lambda a, b: Diagonal(1 / a.diagonal) @ b,
})  # fmt: skip


class LowRank(Lazy):
    """The matrix ``left @ right``, stored as its factors, which make products cheap."""

    def __init__(self, left, right):
        self.left, self.right = left, right
        self.shape, self.dtype = (left.shape[0], right.shape[1]), np.result_type(left, right)

    def dense(self):
        return self.left @ self.right

    handled: ClassVar[dict] = {}


@implements(LowRank.handled, np.matmul, np.dot)
def _low_matmul(a, b):
    if isinstance(a, LowRank) and np.ndim(b) == 1:
        return a.left @ (a.right @ b)
    if isinstance(a, LowRank):
        return LowRank(a.left, a.right @ b)
    return (a @ b.left) @ b.right if np.ndim(a) == 1 else LowRank(a @ b.left, b.right)


LowRank.handled.update({
    np.transpose: lambda a: LowRank(a.right.T, a.left.T),
    np.matrix_transpose: lambda a: LowRank(a.right.T, a.left.T),
    np.trace: lambda a: np.sum(a.left.T * a.right),
    np.sum: lambda a, axis=None: a.left.sum(0) @ a.right.sum(1) if axis is None else NotImplemented,
})  # fmt: skip


class ScalarTensor(overrides.TensorLike):
    """A multiple of the identity, stored as two numbers."""

    handled: ClassVar[dict] = {}

    def __init__(self, n, value):
        self.n, self.value = n, value

    def __repr__(self):
        return f"ScalarTensor(N={self.n}, value={self.value})"

    def tensor(self):
        return self.value * np.eye(self.n)

    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        known = all(issubclass(t, (Tensor, ScalarTensor)) for t in types)
        if func not in cls.handled or not known:
            return NotImplemented
        return cls.handled[func](*args, **(kwargs or {}))

    @classmethod
    def implements(cls, func):
        """Register a function as the implementation of `func` for this class."""

        def register(f):
            functools.update_wrapper(f, func)
            cls.handled[func] = f
            return f

        return register


@ScalarTensor.implements(np.mean)
def scalar_mean(a):
    return float(a.value) / a.n


@ScalarTensor.implements(np.add)
def add(x1, x2):
    if isinstance(x1, ScalarTensor) and isinstance(x2, ScalarTensor):
        if x1.n != x2.n:
            raise ValueError("Shape mismatch!")
        return ScalarTensor(x1.n, x1.value + x2.value)
    return np.add(*[x.tensor() if isinstance(x, ScalarTensor) else x for x in (x1, x2)])


class MetadataTensor(overrides.TensorLike, NDArrayOperatorsMixin):
    """An array with a dict of metadata, which every result inherits."""

    def __init__(self, data, metadata=None):
        self.data, self.metadata = np.asarray(data), metadata

    def __repr__(self):
        return f"Metadata:\n{self.metadata}\n\ndata:\n{self.data}"

    def __getattr__(self, name):  # shape, dtype, reshape...
        if name.startswith("__") or name in ("data", "metadata"):
            raise AttributeError(name)
        member = getattr(self.data, name)
        if not callable(member):
            return member
        return lambda *args, **kwargs: MetadataTensor(member(*args, **kwargs), self.metadata)

    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(t, (Tensor, cls)) for t in types):
            return NotImplemented
        metadata = []

        def taken(x):
            if isinstance(x, cls):
                metadata.append(x.metadata)
            return x.data if isinstance(x, cls) else x

        args, kwargs = mapped(taken, (args, kwargs or {}))
        return mapped(lambda x: cls(x, metadata[0]), func(*args, **kwargs))


class WrappedTensor(overrides.TensorLike, NDArrayOperatorsMixin):
    """Holds a tensor, passes everything on to it, and wraps the results."""

    def __init__(self, wrapped):
        self._wrapped = wrapped if isinstance(wrapped, Tensor) else Tensor(wrapped)

    def __repr__(self):
        return f"WrappedTensor({self._wrapped!r})"

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        base = getattr(Tensor, name)
        if callable(base):
            return functools.partial(wrapping(base), self)
        return wrapping(base.__get__)(self)  # a property

    def __getitem__(self, index):
        return wrapping(Tensor.__getitem__)(self, index)

    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(t, (Tensor, cls)) for t in types):
            return NotImplemented
        return wrapping(func)(*args, **(kwargs or {}))


def wrapping(func):
    """Call `func` on the wrapped tensors, and wrap tensors among the results."""

    @functools.wraps(func, assigned=("__name__",))
    def inner(*args, **kwargs):
        args, kwargs = mapped(
            lambda x: x._wrapped if isinstance(x, WrappedTensor) else x, (args, kwargs)
        )
        result = func(*args, **kwargs)
        return mapped(lambda x: WrappedTensor(x) if isinstance(x, Tensor) else x, result)

    return inner


# ---- a look at each ----


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s", force=True)
    x = np.array([[1.0, 2.0], [3.0, 4.0]])

    print("LoggingTensor")
    ft.vmap(lambda row: np.sin(row).sum())(LoggingTensor(x))

    print("NanDetector")
    try:
        ft.grad(lambda t: np.sum(np.log(np.sin(t) - 1)))(NanDetector(x))
    except FloatingPointError as error:
        print(f"  {error}")

    print("Verified")
    total = ft.vmap(np.sum)(Verified(np.full((2, 10_000), 0.1, "f")))
    print(f"  in single precision {total.elem()}, off by {total.error():.0e}")

    print("Quantity")
    speed = Quantity([3.0, 4.0], m=1, s=-1)
    energy = ft.vmap(lambda v: Quantity(0.5, kg=1) * v**2)(speed)
    print(f"  {energy}, its derivative with respect to the speed", end=" ")
    print(ft.grad(lambda v: np.sum(Quantity(0.5, kg=1) * v**2))(speed))

    print("Tracked")
    ft.grad(lambda t: np.sum(np.sin(np.sin(t))))(Tracked(np.ones(1000)))
    print(f"  at most {Tracked.peak} bytes, alive {Tracked.alive}")

    print("Negated, Diagonal, LowRank")
    print(f"  -(-a) is a: {-Negated(x) is x}")
    d = Diagonal(np.arange(1.0, 1001.0))
    print(f"  {type(d @ d).__name__}, solved to {np.linalg.solve(d, np.ones(1000))[-1]}")
    low = LowRank(np.ones((1000, 1)), np.ones((1, 1000)))
    print(f"  trace {np.trace(low @ d)}")
    print(f"  gradient of |d v|^2 {ft.grad(lambda v: np.sum((d @ v) ** 2))(np.ones(1000))[:3]}")

    print("ScalarTensor")
    s = ScalarTensor(2, 2)
    print(f"  {np.mean(ScalarTensor(5, 2))}, {np.add(s, s)}, {np.add(s, x).tolist()}")

    print("MetadataTensor")
    m = MetadataTensor(x, {"owner": "Ministry of Silly Walks"})
    print(f"  {ft.vmap(lambda row: row / row.sum())(m).metadata}")

    print("WrappedTensor")
    w = WrappedTensor(x)
    print(f"  {w.sum(axis=0)}, {w.T.shape}, {1 + w[0]}")


if __name__ == "__main__":
    main()
