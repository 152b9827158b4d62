"""The idea of functier in 200 lines: a level of a transform is a class.

    python examples/functier_in_200_lines.py

Read it from top to bottom. `vmap`, `jvp` and `grad` work on plain NumPy code that uses the
functions in the tables below, and nest in any order. functier is this idea with all of NumPy,
speed, and helpful messages. The notes in ``design`` begin where this program ends.
"""

import itertools
from contextvars import ContextVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

# ---- 1. A tensor: a value, and a class that says whose it is ----


class Tensor(NDArrayOperatorsMixin):
    """A value that a level wraps. Each level is a subclass, with its rules in `level`."""

    level = None

    def __init__(self, value, extra=None):
        self.value = value  # a plain array, or a tensor of the level around
        self.extra = extra  # an addition of the level: a tangent, or a node of the tape

    @property
    def shape(self):
        return type(self).level.shape(self)

    def __array_ufunc__(self, ufunc, method, *args, **kwargs):
        return self._call(ufunc, args, kwargs) if method == "__call__" else NotImplemented

    def __array_function__(self, func, types, args, kwargs):
        return self._call(func, args, kwargs)

    def _call(self, func, args, kwargs):
        """Let the level compute, if every operand belongs to it or to an enclosing level.

        NumPy first asks the operand whose class is a subclass of the others. The class of an
        inner level is a subclass of those around it, so the innermost level is asked first. This
        needs no stack of interpreters. An operand of an unrelated class has escaped from another
        call: no level answers, and NumPy raises.
        """
        cls = type(self)
        if not all(issubclass(cls, type(x)) for x in args if isinstance(x, Tensor)):
            return NotImplemented
        if func not in OPERATIONS or kwargs.keys() - {"axis"} or (func is np.sum and args[1:]):
            raise NotImplementedError(f"{func.__name__}, so called, has no rule in this file")
        return cls.level.apply(cls, func, args, kwargs)


# ---- 2. The life of a level: a class is minted for one call of a transform ----

AMBIENT = ContextVar("ambient", default=Tensor)  # the class of the innermost level


class Ended:
    """The level of a class whose call is over. Every use of a tensor of it raises."""

    @staticmethod
    def apply(cls, *_):
        raise RuntimeError(f"a tensor of {cls.__name__} was used after its call was over")

    @staticmethod
    def shape(x):
        return Ended.apply(type(x))


def run(kind, body):
    """Return ``body(cls)``, where `cls` is the class of a new level in the ambient one."""
    outer = AMBIENT.get()
    cls = type(kind.__name__, (outer,), {"level": kind()})
    token = AMBIENT.set(cls)
    try:
        return body(cls)
    finally:
        AMBIENT.reset(token)
        cls.level = Ended


def shape_of(x):
    return getattr(x, "shape", ())


def axes_of(x, axis=None):
    """Return the axes that a sum of `x` runs over."""
    ndim = len(shape_of(x))
    axes = range(ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    return [a % ndim for a in axes]


def lowered(cls, args):
    """Unwrap the operands that are tensors of exactly this class."""
    return [x.value if type(x) is cls else x for x in args]


# ---- 3. What operations are: the derivative by each operand, of elementwise functions ----

PARTIALS = {
    np.add: (lambda y, a, b: 1.0, lambda y, a, b: 1.0),
    np.subtract: (lambda y, a, b: 1.0, lambda y, a, b: -1.0),
    np.multiply: (lambda y, a, b: b, lambda y, a, b: a),
    np.divide: (lambda y, a, b: 1.0 / b, lambda y, a, b: -y / b),
    np.negative: (lambda y, a: -1.0,),
    np.exp: (lambda y, a: y,),
    np.log: (lambda y, a: 1.0 / a,),
    np.sin: (lambda y, a: np.cos(a),),
    np.cos: (lambda y, a: -np.sin(a),),
    np.tanh: (lambda y, a: 1.0 - y * y,),
}
LINEAR = {np.sum, np.reshape}  # the tangent goes through the function itself
OPERATIONS = PARTIALS.keys() | LINEAR

# ---- 4. vmap: the value has one more axis, the first, for the examples ----


class Batch:
    def shape(self, x):
        return shape_of(x.value)[1:]

    def apply(self, cls, func, args, kwargs):
        values, mine = lowered(cls, args), [type(x) is cls for x in args]
        if func is np.sum:
            return cls(np.sum(values[0], axis=tuple(a + 1 for a in axes_of(args[0], **kwargs))))
        if func is np.reshape:
            return cls(np.reshape(values[0], (shape_of(values[0])[0], *args[1])))
        ndim = max(len(shape_of(x)) for x in args)  # align the axes of the examples
        for i, x in enumerate(args):
            if mine[i]:
                missing = (1,) * (ndim - len(x.shape))
                values[i] = np.reshape(values[i], (shape_of(x.value)[0], *missing, *x.shape))
        return cls(func(*values))


def vmap(f):
    """Apply `f`, written for one example, to a batch: the first axis of each argument."""

    def batched(*args):
        def body(cls):
            y = f(*[cls(x) for x in args])
            if type(y) is cls:
                return y.value
            return np.ones((shape_of(args[0])[0], *(1 for _ in shape_of(y)))) * y  # does not vary

        return run(Batch, body)

    return batched


# ---- 5. jvp: each value goes with its tangent ----


class Forward:
    def shape(self, x):
        return shape_of(x.value)

    def apply(self, cls, func, args, kwargs):
        values = lowered(cls, args)
        y = func(*values, **kwargs)
        if func in LINEAR:
            return cls(y, func(args[0].extra, *args[1:], **kwargs))
        terms = [
            x.extra * partial(y, *values)
            for x, partial in zip(args, PARTIALS[func])
            if type(x) is cls
        ]
        return cls(y, sum(terms[1:], terms[0]) + 0.0 * y)  # of the shape of the result


def jvp(f, x, tangent):
    """Return the value of `f` at `x`, and its derivative along `tangent`."""

    def body(cls):
        y = f(cls(x, tangent))
        return (y.value, y.extra) if type(y) is cls else (y, 0.0 * y)

    return run(Forward, body)


# ---- 6. grad: each value has a node, which knows how cotangents get to its operands ----

NUMBERS = itertools.count()


class Reverse:
    def shape(self, x):
        return shape_of(x.value)

    def apply(self, cls, func, args, kwargs):
        values = lowered(cls, args)
        y = func(*values, **kwargs)
        edges = [
            (x.extra, pullback(func, i, y, values, kwargs))
            for i, x in enumerate(args)
            if type(x) is cls
        ]
        return cls(y, (next(NUMBERS), edges))


def pullback(func, i, y, values, kwargs):
    """Return the cotangent of operand `i` from that of the result `y`."""
    shape = shape_of(values[i])
    if func is np.reshape:
        return lambda g: np.reshape(g, shape)
    if func is np.sum:  # each element gets the cotangent of the sum that it is in
        over = axes_of(values[0], **kwargs)
        kept = tuple(1 if a in over else n for a, n in enumerate(shape))
        return lambda g: np.reshape(g, kept) * np.ones(shape)
    return lambda g: unbroadcast(g * PARTIALS[func][i](y, *values), shape)


def unbroadcast(g, shape):
    """Sum over the axes that broadcasting has added or stretched."""
    extra = len(shape_of(g)) - len(shape)
    axes = [i for i, n in enumerate(shape_of(g)) if i < extra or shape[i - extra] != n]
    return np.reshape(np.sum(g, axis=tuple(axes)), shape) if axes else g


def grad(f):
    """Return the function that computes the gradient of a scalar function `f`."""

    def gradient(x):
        def body(cls):
            leaf = (next(NUMBERS), [])
            y = f(cls(x, leaf))
            waiting = {y.extra[0]: (y.extra, 1.0)} if type(y) is cls else {}
            found = np.zeros(shape_of(x))
            while waiting:  # the latest node first: its cotangent is complete
                (number, edges), g = waiting.pop(max(waiting))
                found = g if number == leaf[0] else found
                for node, pull in edges:
                    before = waiting.get(node[0], (node, 0.0))[1]
                    waiting[node[0]] = node, before + pull(g)
            return found

        return run(Reverse, body)

    return gradient


# ---- 7. Nesting, and what cannot go wrong ----

if __name__ == "__main__":
    xs = np.linspace(-1.0, 1.0, 6).reshape(3, 2)
    w = np.array([0.5, -2.0])

    def loss(w, x):
        return np.log(1.0 + np.exp(-np.sum(w * x)))

    print("One gradient for each example:")
    print(vmap(lambda x: grad(lambda w: loss(w, x))(w))(xs))

    print("A Hessian, forward over reverse, all columns at once:")
    print(vmap(lambda t: jvp(grad(lambda w: loss(w, xs[0])), w, t)[1])(np.eye(2)))

    # Derivatives with respect to two variables belong to two classes, so they cannot be confused.
    print("No perturbation confusion:", grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0))

    kept = []
    vmap(lambda x: kept.append(x) or x)(xs)
    try:
        kept[0] + 1.0
    except RuntimeError as error:
        print("An escaped tensor:", error)

    def chain(x):
        return [c.__name__ for c in type(x).__mro__[:-2]]

    print("Levels:", vmap(lambda x: grad(lambda w: (print(chain(w)), np.sum(w * x))[1])(w))(xs)[0])
