"""Small programs that write into arrays: each is a function of a vector of three numbers.

Outside of all levels `functier.numpy` is NumPy, so a program itself says what its value is.
"""

from collections.abc import Callable

import numpy as np

import functier.numpy as fnp

X = np.array([0.7, -0.4, 1.2])
MASK = np.array([True, False, True])
GRID = np.arange(6.0).reshape(2, 3) / 5 + 0.1


def grid(x):
    """A matrix of values that depend on `x`."""
    return GRID * x + 1.0


def ones(*shape):
    return lambda x: fnp.ones(shape)


def zeros(*shape):
    return lambda x: fnp.zeros(shape)


def program(make: Callable, write: Callable) -> Callable:
    """The program that makes an array, runs ``write(y, x)``, and returns what follows from it."""

    def run(x):
        y = make(x)
        write(y, x)
        return y * y

    return run


# ---- indexes ----

INDEXES = {
    "int": (zeros(3), 1),
    "negative int": (zeros(3), -1),
    "slice": (ones(3), slice(1, 3)),
    "step": (ones(5), slice(0, 5, 2)),
    "backwards": (ones(3), slice(None, None, -1)),
    "nothing": (ones(3), slice(2, 2)),
    "ellipsis": (ones(3), ...),
    "newaxis": (ones(3), (None, slice(1, 3))),
    "two ints": (grid, (1, -1)),
    "row": (grid, 1),
    "column": (grid, (slice(None), 0)),
    "block": (grid, (slice(0, 2), slice(1, 3))),
    "ellipsis and int": (grid, (..., 2)),
    "numpy int": (grid, (np.int64(1), np.uint8(2))),
    "int array": (ones(4), np.array([3, 0, 1])),
    "0-d array": (ones(4), np.array(2)),
    "list": (ones(4), [2, 0]),
    "repeats": (ones(4), np.array([1, 1, 0, 1])),
    "int arrays": (grid, (np.array([0, 1, 0]), np.array([2, 1, 0]))),
    "open mesh": (grid, np.ix_([1, 0], [0, 2])),
    "rows": (grid, [1, 0]),
    "columns": (grid, (slice(None), [2, 0, 2])),
    "int and array": (grid, (0, [2, 0])),
    "array, newaxis and array": (grid, ([0, 1], None, [1, 2])),
    "no places": (ones(3), np.array([], int)),
    "mask": (ones(3), MASK),
    "mask of rows": (grid, np.array([False, True])),
    "mask of a matrix": (grid, GRID > 0.5),
    "slice and mask": (grid, (slice(None), MASK)),
    "empty mask": (ones(3), np.zeros(3, bool)),
    "true": (ones(3), True),
    "false": (ones(3), False),
}
"""A function that makes the array to write into, and an index of it."""


def assign(y, i, v):
    y[i] = v


def add(y, i, v):
    y[i] += v


def subtract(y, i, v):
    y[i] -= v


def multiply(y, i, v):
    y[i] *= v


def divide(y, i, v):
    y[i] /= 3.0 + v


def power(y, i, v):
    y[i] **= 3


OPERATORS = {"=": assign, "+=": add, "-=": subtract, "*=": multiply, "/=": divide, "**=": power}


def values(shape, x):
    """Values of a shape that depend on all of `x`."""
    n = int(np.prod(shape))
    weights = np.cos(np.arange(3.0 * n)).reshape(*shape, 3)
    return np.sum(weights * x * x, axis=-1)


def at_index(name, operator):
    make, index = INDEXES[name]
    shape = np.shape(make(X)[index])
    write = OPERATORS[operator]
    return program(make, lambda y, x: write(y, index, values(shape, x)))


AT_INDEXES = {f"y[{n}] {o} v": at_index(n, o) for n in INDEXES for o in OPERATORS}

# ---- indexes that are values ----


def largest(x):
    y = fnp.zeros(3)
    y[np.argmax(x)] = np.sum(x * x)
    return y


def sorted_places(x):
    y = x * 1.0
    y[np.argsort(x)] = np.sort(x) ** 2 * np.array([1.0, 2.0, 3.0])
    return y


def positive_part(x):
    y = x * x * x
    y[x < 0] = 0.0
    return y


def large_part_of_itself(x):
    y = x * x
    y[y > 0.3] *= 3.0
    return y


def mask_and_scalar(x):
    y = fnp.ones(3)
    y[x > 0] = np.sum(x * x)
    return y


def mask_of_all(x):
    y = fnp.ones(3)
    y[np.sum(x) > 0] = x
    return y


def repeated_places(x):
    y = fnp.ones(3)
    np.add.at(y, np.where(x > 0, 1, 2), x * x)
    return y


def row_of_a_place(x):
    y = grid(x)
    y[np.argmin(x) - 1, 1:] = x[0] * x[1:]
    return y


def read_at_a_place(x):
    y = fnp.zeros(3)
    y[1:] = x[1:] ** 3
    return y[np.argsort(x)] * x


BY_VALUES = {
    f.__name__: f
    for f in (
        largest, sorted_places, positive_part, large_part_of_itself, mask_and_scalar,
        mask_of_all, repeated_places, row_of_a_place, read_at_a_place,
    )
}  # fmt: skip

# ---- statements ----


def plus(y, x):
    y += x


def minus(y, x):
    y -= x * x


def times(y, x):
    y *= x


def over(y, x):
    y /= 2.0 + x


def squared(y, x):
    y **= 2


def matrix_product(y, x):
    y @= np.outer(x, x)


def from_the_one_before(y, x):
    for i in range(1, 3):
        y[i] = y[i - 1] * x[i] + y[i]


def swap(y, x):
    y[0], y[1] = y[1], y[0]  # scalars: the second is read before the first is written


def swap_slices(y, x):
    y[:1], y[1:2] = y[1:2].copy(), y[:1].copy()


def shifted(y, x):
    y[1:] = x[1:] * y[:-1]


def shifted_by_itself(y, x):
    y[1:] += y[:-1]  # NumPy reads all before it writes


def difference(y, x):
    s = y[1:] - y[:-1]
    y[1:] += s * x[1:]


def overwritten(y, x):
    y[...] = 5.0
    y[1] = x[1] ** 3


def twice(y, x):
    y[0] = x[0] ** 2
    y[0] = y[0] * x[1]
    y[:2] += y[0]


def from_itself(y, x):
    y[:2] = y[1:]


def mask_of_a_matrix_from_itself(y, x):
    y[GRID > 0.5] = y[0, ::-1] * x[0]
    y[GRID > 0.65] = y[0].copy()


def rows_of_an_iteration(y, x):
    for i, row in enumerate(y):
        row *= x[i]
        row[0] += x[2]


STATEMENTS = {
    "y += x": (ones(3), plus),
    "y -= x": (lambda x: x * 2, minus),
    "y *= x": (ones(3), times),
    "y /= x": (np.exp, over),
    "y **= 2": (lambda x: x + 2, squared),
    "y @= x": (lambda x: fnp.eye(3) + x, matrix_product),
    "recurrence": (lambda x: x * 1.0, from_the_one_before),
    "swap": (lambda x: x * 1.0, swap),
    "swap slices": (lambda x: x * 1.0, swap_slices),
    "shift": (lambda x: x * 2.0, shifted),
    "shift by itself": (lambda x: x * 2.0, shifted_by_itself),
    "difference": (lambda x: x * 2.0, difference),
    "overwritten": (lambda x: x * 2.0, overwritten),
    "twice": (ones(3), twice),
    "from itself": (lambda x: x * 2.0, from_itself),
    "mask of a matrix, from itself": (grid, mask_of_a_matrix_from_itself),
    "rows": (grid, rows_of_an_iteration),
}

# ---- functions and methods ----


def sort_rows(y, x):
    y.sort(axis=0)


FUNCTIONS = {
    "add": (zeros(3), lambda y, x: np.add(x, x * x, out=y)),
    "square, positional": (zeros(3), lambda y, x: np.square(x, y)),
    "out in a tuple": (zeros(3), lambda y, x: np.multiply(x, x, out=(y,))),
    "out is an operand": (np.exp, lambda y, x: np.multiply(y, x, out=y)),
    "out is a shifted operand": (np.exp, lambda y, x: np.add(y[:-1], x[1:], out=y[1:])),
    "where and out": (ones(3), lambda y, x: np.multiply(x, x, out=y, where=MASK)),
    "where of values": (ones(3), lambda y, x: np.multiply(x, x, out=y, where=x > 0)),
    "out broadcasts": (zeros(2, 3), lambda y, x: np.multiply(x, x[0], out=y)),
    "two outs": (zeros(2, 3), lambda y, x: np.divmod(x, 5.0, out=(y[0], y[1]))),
    "sum": (zeros(2), lambda y, x: np.sum(grid(x), 1, out=y)),
    "mean": (zeros(3), lambda y, x: np.mean(grid(x), axis=0, out=y)),
    "var": (zeros(3), lambda y, x: np.var(grid(x), axis=0, out=y)),
    "cumsum": (zeros(3), lambda y, x: np.cumsum(x, out=y)),
    "add.reduce": (zeros(), lambda y, x: np.add.reduce(x, out=y)),
    "add.accumulate": (zeros(3), lambda y, x: np.add.accumulate(x, out=y)),
    "multiply.outer": (zeros(3, 3), lambda y, x: np.multiply.outer(x, x, out=y)),
    "max": (zeros(2), lambda y, x: np.max(grid(x), axis=1, out=y)),
    "take": (zeros(2), lambda y, x: np.take(x, [2, 0], out=y, mode="clip")),
    "clip": (zeros(3), lambda y, x: np.clip(x, 0.0, 1.0, out=y)),
    "matmul": (zeros(2), lambda y, x: np.matmul(grid(x), x, out=y)),
    "dot": (zeros(2), lambda y, x: np.dot(grid(x), x, out=y)),
    "einsum": (zeros(3, 3), lambda y, x: np.einsum("i,j->ij", x, x * x, out=y)),
    "concatenate": (zeros(6), lambda y, x: np.concatenate([x, x * x], out=y)),
    "stack": (zeros(2, 3), lambda y, x: np.stack([x, x * x], out=y)),
    "outer": (zeros(3, 3), lambda y, x: np.outer(x, x, out=y)),
    "sum, a method": (zeros(2), lambda y, x: grid(x).sum(axis=1, out=y)),
    "clip, a method": (zeros(3), lambda y, x: x.clip(0.0, 1.0, out=y)),
    "add.at": (ones(3), lambda y, x: np.add.at(y, [0, 0, 2], x)),
    "subtract.at": (lambda x: x * 1.0, lambda y, x: np.subtract.at(y, [2, 0, 2], x * x)),
    "multiply.at": (lambda x: x * 1.0, lambda y, x: np.multiply.at(y, [0, 0, 2], x)),
    "maximum.at": (zeros(3), lambda y, x: np.maximum.at(y, [1, 1, 2], x)),
    "negative.at": (lambda x: x * 1.0, lambda y, x: np.negative.at(y, [0, 2])),
    "add.at of rows": (grid, lambda y, x: np.add.at(y, [1, 1], x)),
    "add.at of a tuple": (grid, lambda y, x: np.add.at(y, (slice(None), [0, 0]), x[0] * x[1])),
    "add.at of a slice": (grid, lambda y, x: np.add.at(y, slice(0, 1), x)),
    "put": (grid, lambda y, x: np.put(y, [0, 5, -2], x)),
    "put, repeated": (grid, lambda y, x: np.put(y, [0, 1, 2, 3, 4], x[:2])),
    "put, clip": (grid, lambda y, x: np.put(y, [0, 99], x[:2], mode="clip")),
    "put, a method": (grid, lambda y, x: y.put([0, 4], x[:2])),
    "place": (grid, lambda y, x: np.place(y, GRID > 0.5, x * x)),
    "putmask": (grid, lambda y, x: np.putmask(y, GRID > 0.5, x * x)),
    "copyto": (grid, lambda y, x: np.copyto(y, x * x)),
    "copyto, where": (grid, lambda y, x: np.copyto(y, x * x, where=GRID > 0.5)),
    "fill_diagonal": (lambda x: np.outer(x, x), lambda y, x: np.fill_diagonal(y, x * x)),
    "fill_diagonal, wrap": (ones(5, 2), lambda y, x: np.fill_diagonal(y, np.sum(x), wrap=True)),
    "fill_diagonal of a cube": (ones(2, 2, 2), lambda y, x: np.fill_diagonal(y, x[1])),
    "put_along_axis": (
        grid,
        lambda y, x: np.put_along_axis(y, np.array([[2], [0]]), x[:2, None], 1),
    ),
    "put_along_axis of all": (
        grid,
        lambda y, x: np.put_along_axis(y, np.array([4, 0]), x[1:], None),
    ),
    "fill": (zeros(3), lambda y, x: y.fill(np.sum(x * x))),
    "sort": (lambda x: x * x, lambda y, x: y.sort()),
    "sort of an axis": (lambda x: np.outer(x, x), sort_rows),
    "partition": (lambda x: x * x, lambda y, x: y.partition(1)),
    "nan_to_num": (
        lambda x: np.where(MASK, x, np.nan),
        lambda y, x: np.nan_to_num(y, copy=False, nan=2.0),
    ),
    "flat, an int": (grid, lambda y, x: assign(y.flat, 4, x[0] * x[1])),
    "flat, a slice": (grid, lambda y, x: assign(y.flat, slice(1, 4), x)),
    "flat, an array": (grid, lambda y, x: assign(y.flat, [5, 0], x[1:])),
    "flat, all": (grid, lambda y, x: setattr(y, "flat", x * x)),
}

WRITES = {
    **{name: program(*row) for name, row in STATEMENTS.items()},
    **{name: program(*row) for name, row in FUNCTIONS.items()},
    **BY_VALUES,
}
